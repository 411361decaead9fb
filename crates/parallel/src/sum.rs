//! Sums of the vectors of several processes, by default in an order that does not depend on the number of processes.
//!
//! Each process adds one segment of all vectors: the others send it their parts of this segment, it adds them in the
//! order of the parts, and at the end all segments are gathered. With vectors of L bytes a process sends and receives L
//! for each of its parts and L for the sum, independent of the number of processes, while gathering all vectors
//! everywhere would take L for every part of every process. A reduction of the MPI library does not guarantee an order;
//! [`Reduce::Fast`] uses it nevertheless.

use candle_core::{DType, Device, Tensor};

use super::carrier::Carrier;
use super::{ParallelError, Peers};
use crate::config::Reduce;

/// A sum of f32 vectors, one for each part of the work.
pub struct VectorSum<'a> {
    carrier: &'a dyn Carrier,
    reduce: Reduce,
    rank: usize,
    size: usize,
    /// The number of elements of each bucket. Vectors are given in these pieces.
    lengths: Vec<usize>,
    /// The sum of each bucket so far: of this process's segment if the order matters, of the whole bucket otherwise.
    sums: Vec<Option<Tensor>>,
}

impl<'a> VectorSum<'a> {
    /// A sum of vectors that are given in buckets of these lengths; none for a single process.
    pub fn new(peers: &'a Peers, lengths: Vec<usize>) -> Option<VectorSum<'a>> {
        let (reduce, carrier) = peers.route()?;
        Some(VectorSum::by(carrier, reduce, peers.rank(), peers.size(), lengths))
    }

    fn by(carrier: &'a dyn Carrier, reduce: Reduce, rank: usize, size: usize, lengths: Vec<usize>) -> VectorSum<'a> {
        let sums = vec![None; lengths.len()];
        VectorSum { carrier, reduce, rank, size, lengths, sums }
    }

    /// Whether each process adds its own vectors itself and contributes one vector.
    pub fn is_of_sums(&self) -> bool {
        self.reduce == Reduce::Fast
    }

    /// Adds bucket number `bucket` of some parts. Part p was computed by rank `owners[p]`; `own` has the vectors of
    /// this process, on `device`, or its one vector if each process [contributes one](VectorSum::is_of_sums).
    pub fn add(
        &mut self,
        bucket: usize,
        owners: &[usize],
        own: &[Tensor],
        device: &Device,
    ) -> Result<(), ParallelError> {
        let (size, segment) = (self.size, self.lengths[bucket].div_ceil(self.size));
        if self.is_of_sums() {
            let none = || Tensor::zeros(self.lengths[bucket], DType::F32, device);
            let own = own.first().map_or_else(none, |own| own.contiguous())?;
            self.sums[bucket] = Some(self.carrier.sum(&own)?);
            return Ok(());
        }
        // All segments have the same length. The last ones are padded with zeros, which `total` removes.
        let whole = |vector: &Tensor| vector.pad_with_zeros(0, 0, size * segment - self.lengths[bucket]);
        let own = own.iter().map(whole).collect::<Result<Vec<_>, _>>()?;
        let pieces = (0..size).flat_map(|to| own.iter().map(move |vector| vector.narrow(0, to * segment, segment)));
        let mine = match own.is_empty() {
            true => Tensor::zeros(1, DType::F32, device)?.narrow(0, 0, 0)?,
            false => Tensor::cat(&pieces.collect::<Result<Vec<_>, _>>()?, 0)?.contiguous()?,
        };
        let of_rank = |rank: usize| owners.iter().filter(|owner| **owner == rank).count() * segment;
        let taken: Vec<usize> = (0..size).map(of_rank).collect();
        let all = self.carrier.exchange(&mine, &vec![of_rank(self.rank); size], &taken)?;
        let mut next: Vec<usize> = taken.iter().scan(0, |at, count| Some(std::mem::replace(at, *at + count))).collect();
        for owner in owners {
            let numbers = all.narrow(0, next[*owner], segment)?;
            next[*owner] += segment;
            self.sums[bucket] = Some(match &self.sums[bucket] {
                Some(sum) => (sum + numbers)?,
                // The first vector is not added to zero, because this would change -0 to 0.
                None => numbers,
            });
        }
        Ok(())
    }

    /// The sum of bucket number `bucket`, on every process.
    ///
    /// # Panics
    /// If nothing was added.
    pub fn total(&mut self, bucket: usize) -> Result<Tensor, ParallelError> {
        let sum = self.sums[bucket].take().expect("some part was added");
        match self.is_of_sums() {
            true => Ok(sum),
            false => Ok(self.carrier.gather(&sum.contiguous()?)?.narrow(0, 0, self.lengths[bucket])?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

    use super::*;

    /// Threads that stand for processes: the numbers that each sends to each other.
    struct Threads {
        given: Mutex<Vec<Vec<Vec<f32>>>>,
        meet: Barrier,
    }

    struct Rank<'a>(usize, &'a Threads);

    impl Carrier for Rank<'_> {
        fn exchange(&self, mine: &Tensor, given: &[usize], taken: &[usize]) -> Result<Tensor, ParallelError> {
            let Rank(rank, Threads { given: board, meet }) = *self;
            let mut numbers = mine.to_vec1::<f32>()?.into_iter();
            board.lock().unwrap()[rank] = given.iter().map(|count| numbers.by_ref().take(*count).collect()).collect();
            meet.wait();
            let all: Vec<Vec<f32>> = board.lock().unwrap().iter().map(|of_rank| of_rank[rank].clone()).collect();
            assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), taken);
            meet.wait();
            let all = all.concat();
            Ok(Tensor::from_slice(&all, all.len(), &Device::Cpu)?)
        }

        fn gather(&self, mine: &Tensor) -> Result<Tensor, ParallelError> {
            let size = self.1.given.lock().unwrap().len();
            let count = mine.elem_count();
            self.exchange(&mine.repeat(size)?, &vec![count; size], &vec![count; size])
        }

        fn sum(&self, mine: &Tensor) -> Result<Tensor, ParallelError> {
            let (count, all) = (mine.elem_count(), self.gather(mine)?);
            Ok(all.reshape(((), count))?.sum(0)?)
        }
    }

    /// Numbers whose sum depends on the order of addition.
    fn vectors(parts: usize, length: usize) -> Vec<Vec<f32>> {
        let number = |part: usize, at: usize| match (part * 31 + at * 17) % 7 {
            0 => -0.0,
            1 => 1e7,
            2 => -1e7,
            other => (other as f32).sqrt() * 1e-3,
        };
        (0..parts).map(|part| (0..length).map(|at| number(part, at)).collect()).collect()
    }

    fn bits(numbers: &[f32]) -> Vec<u32> {
        numbers.iter().map(|number| number.to_bits()).collect()
    }

    /// The sum on each of `size` ranks, of parts that come in rounds, each with the owners of its parts.
    fn summed(reduce: Reduce, vectors: &[Vec<f32>], rounds: &[&[usize]], size: usize) -> Vec<Vec<f32>> {
        let threads = Threads { given: Mutex::new(vec![Vec::new(); size]), meet: Barrier::new(size) };
        let work = |rank: usize| {
            let (carrier, length) = (Rank(rank, &threads), vectors[0].len());
            let mut sum = VectorSum::by(&carrier, reduce, rank, size, vec![length]);
            let mut first = 0;
            for owners in rounds {
                let parts = &vectors[first..first + owners.len()];
                let mine = parts.iter().zip(*owners).filter(|(_, owner)| **owner == rank);
                let mut own: Vec<Tensor> =
                    mine.map(|(vector, _)| Tensor::from_slice(vector, length, &Device::Cpu).unwrap()).collect();
                if sum.is_of_sums() {
                    own = own.into_iter().reduce(|sum, vector| (sum + vector).unwrap()).into_iter().collect();
                }
                sum.add(0, owners, &own, &Device::Cpu).unwrap();
                first += owners.len();
            }
            sum.total(0).unwrap().to_vec1().unwrap()
        };
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..size).map(|rank| scope.spawn(move || work(rank))).collect();
            running.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }

    #[test]
    fn a_sum_is_that_of_one_process_to_the_last_bit_whoever_owns_the_parts() {
        for length in [1, 2, 11, 24] {
            let vectors = vectors(7, length);
            let expected = vectors[1..].iter().fold(vectors[0].clone(), |sum, vector| {
                sum.iter().zip(vector).map(|(sum, number)| sum + number).collect()
            });
            for (rounds, size) in [
                (&[&[0, 1, 2, 2, 1, 0, 0][..]][..], 3),
                (&[&[3, 3, 3, 3, 3, 3, 3]], 4),
                (&[&[1, 0], &[0, 1], &[1, 0], &[0]], 2),
                (&[&[0; 7]], 1),
            ] {
                for (rank, sum) in summed(Reduce::Exact, &vectors, rounds, size).iter().enumerate() {
                    assert_eq!(bits(sum), bits(&expected), "rank {rank} of {size}, {length} numbers, {rounds:?}");
                }
            }
        }
    }

    #[test]
    fn a_fast_sum_is_the_same_everywhere_and_need_not_be_that_of_one_process() {
        let vectors = vectors(7, 24);
        let exact = summed(Reduce::Exact, &vectors, &[&[0; 7]], 1).remove(0);
        let fast = summed(Reduce::Fast, &vectors, &[&[0, 1, 2, 2, 1, 0, 0]], 4);
        assert!(fast.iter().all(|sum| bits(sum) == bits(&fast[0])));
        assert_ne!(bits(&exact), bits(&fast[0]), "these numbers show another order");
        // The sums of seven numbers up to 1e7 are each rounded by at most half a unit of the last place.
        assert!(exact.iter().zip(&fast[0]).all(|(exact, fast)| (exact - fast).abs() <= 7.0));
        assert_eq!(bits(&summed(Reduce::Fast, &vectors, &[&[0; 7]], 1)[0]), bits(&exact));
    }
}
