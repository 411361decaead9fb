//! Sums of vectors of many processes, in an order that does not depend on how many there are.
//!
//! Every process adds a segment of its own: the others give it that segment of all their vectors, it adds them in the
//! order of the parts, and in the end the segments are gathered. Of a vector of L bytes a process thereby sends and
//! receives L for each of its parts and L for the sum, whatever the number of processes, where gathering all vectors
//! everywhere would take L for every part of everybody. A reduction of the library is not promised to keep an order.

use super::{ParallelError, Peers, share};

const WIDTH: usize = size_of::<f32>();

/// A sum of vectors of f32 in the order of the parts that they belong to.
pub struct OrderedSum {
    peers: Peers,
    /// Length of each bucket, that of a vector in pieces.
    lengths: Vec<usize>,
    /// Of each bucket, the sum so far of this process's segment; empty before the first part.
    sums: Vec<Vec<f32>>,
}

impl OrderedSum {
    /// Of vectors that are given in buckets of these lengths, one after the other.
    pub fn new(peers: &Peers, lengths: Vec<usize>) -> OrderedSum {
        let sums = vec![Vec::new(); lengths.len()];
        OrderedSum { peers: peers.clone(), lengths, sums }
    }

    /// Adds bucket number `bucket` of some parts, of which number p was worked on by rank `owners[p]`; `own` are those of
    /// this process. All processes call it together.
    pub fn add(&mut self, bucket: usize, owners: &[usize], own: &[Vec<f32>]) -> Result<(), ParallelError> {
        let (rank, size, length) = (self.peers.rank(), self.peers.size(), self.lengths[bucket]);
        let segment = share(length, rank, size).len() * WIDTH;
        let of_rank = |rank: usize| owners.iter().filter(|owner| **owner == rank).count();
        let given: Vec<usize> = (0..size).map(|to| own.len() * share(length, to, size).len() * WIDTH).collect();
        let taken: Vec<usize> = (0..size).map(|from| of_rank(from) * segment).collect();
        let mut mine = Vec::with_capacity(given.iter().sum());
        for to in 0..size {
            let pieces = own.iter().flat_map(|vector| &vector[share(length, to, size)]);
            pieces.for_each(|number| mine.extend_from_slice(&number.to_le_bytes()));
        }
        let all = self.peers.exchange(&mine, &given, &taken)?;
        let mut next: Vec<usize> = taken.iter().scan(0, |at, bytes| Some(std::mem::replace(at, *at + bytes))).collect();
        for owner in owners {
            let numbers = numbers(&all[next[*owner]..next[*owner] + segment]);
            next[*owner] += segment;
            match &mut self.sums[bucket] {
                // Not added to zero, which would take the sign of a zero away.
                sum if sum.is_empty() => *sum = numbers.collect(),
                sum => sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number),
            }
        }
        Ok(())
    }

    /// The sum of bucket number `bucket`, on every process.
    pub fn total(&mut self, bucket: usize) -> Result<Vec<f32>, ParallelError> {
        let size = self.peers.size();
        let lengths: Vec<usize> = (0..size).map(|rank| share(self.lengths[bucket], rank, size).len() * WIDTH).collect();
        let own = std::mem::take(&mut self.sums[bucket]);
        let bytes: Vec<u8> = own.iter().flat_map(|number| number.to_le_bytes()).collect();
        Ok(numbers(&self.peers.gather_known(&bytes, &lengths)?).collect())
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes.chunks_exact(WIDTH).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}
