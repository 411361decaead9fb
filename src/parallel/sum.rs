//! Sums of vectors of many processes, by default in an order that does not depend on how many there are.
//!
//! Every process adds a segment of its own: the others give it that segment of all their vectors, it adds them in the
//! order of the parts, and in the end the segments are gathered. Of a vector of L bytes a process thereby sends and
//! receives L for each of its parts and L for the sum, whatever the number of processes, where gathering all vectors
//! everywhere would take L for every part of everybody. A reduction of the library is not promised to keep an order;
//! [`Reduce::Fast`] takes it nevertheless.

use candle_core::{DType, Device, Tensor};

use super::carrier::Carrier;
use super::{ParallelError, Peers};
use crate::config::Reduce;

/// A sum of vectors of f32, each of which belongs to a part.
pub struct VectorSum<'a> {
    carrier: &'a dyn Carrier,
    reduce: Reduce,
    rank: usize,
    size: usize,
    /// Length of each bucket, that of a vector in pieces.
    lengths: Vec<usize>,
    /// Of each bucket, the sum so far: of this process's segment where it is added in order, of all of it otherwise.
    sums: Vec<Option<Tensor>>,
}

impl<'a> VectorSum<'a> {
    /// Of vectors that are given in buckets of these lengths, one after the other; none of a process that is alone.
    pub fn new(peers: &'a Peers, lengths: Vec<usize>) -> Option<VectorSum<'a>> {
        let (reduce, carrier) = peers.route()?;
        Some(VectorSum::by(carrier, reduce, peers.rank(), peers.size(), lengths))
    }

    fn by(carrier: &'a dyn Carrier, reduce: Reduce, rank: usize, size: usize, lengths: Vec<usize>) -> VectorSum<'a> {
        let sums = vec![None; lengths.len()];
        VectorSum { carrier, reduce, rank, size, lengths, sums }
    }

    /// Whether each process adds up its own vectors, and gives one.
    pub fn is_of_sums(&self) -> bool {
        self.reduce == Reduce::Fast
    }

    /// Adds bucket number `bucket` of some parts, of which number p was worked on by rank `owners[p]`; `own` are those of
    /// this process, on `device`. Where each process [gives one](VectorSum::is_of_sums), that is it.
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
        // Segments are equally long; the last ones end in zeros that are left out in the end.
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
                // Not added to zero, which would take the sign of a zero away.
                None => numbers,
            });
        }
        Ok(())
    }

    /// The sum of bucket number `bucket`, on every process.
    ///
    /// # Panics
    /// When nothing was added.
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

    /// Threads in the place of processes: what each has given to whom.
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

    /// Numbers whose sum depends on the order that they are added in.
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

    /// What each of `size` ranks has of the sum when the parts come in rounds, each with its owners.
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
        // Seven numbers of at most 1e7, each sum of which is rounded by at most half a unit of the last place.
        assert!(exact.iter().zip(&fast[0]).all(|(exact, fast)| (exact - fast).abs() <= 7.0));
        assert_eq!(bits(&summed(Reduce::Fast, &vectors, &[&[0; 7]], 1)[0]), bits(&exact));
    }
}
