//! The parts of a batch, worked on by several processes: each has every N-th of them, all get every result, in the
//! order of the parts.

use std::collections::BTreeMap;
use std::ops::Range;

use candle_core::{Device, Tensor, Var};

use super::batch::Part;
use super::gradients::{Gradients, cores, parallel_parts};
use super::{Batch, LearnError};
use crate::parallel::{OrderedSum, Peers};

/// Numbers of gradients that cross between processes at once, 16 MB of each part.
const BUCKET: usize = 4 << 20;

/// Parts of a batch, and where its model computes.
pub(super) struct Shared<'a> {
    pub batch: &'a Batch,
    pub parts: &'a [Part],
    pub device: &'a Device,
}

impl Shared<'_> {
    /// Works on the parts in rounds, in each of which this process has at most `width` of them, and hands on the parts of
    /// the round and what came of its own. An error of any process is one of all.
    fn in_rounds<R: Send>(
        &self,
        width: usize,
        work: impl Fn(&Part) -> Result<R, LearnError> + Sync,
        mut take: impl FnMut(&[Part], Vec<R>) -> Result<(), LearnError>,
    ) -> Result<(), LearnError> {
        let Batch { peers, division, .. } = self.batch;
        for round in self.parts.chunks((width * peers.size()).max(1)) {
            let own: Vec<&Part> = round.iter().skip(peers.rank()).step_by(peers.size()).collect();
            let mut results = Vec::with_capacity(own.len());
            let mut keep = |result| {
                results.push(result);
                Ok(())
            };
            let worked = parallel_parts(division.at_once, self.device, &own, |part| work(part), &mut keep);
            well_everywhere(peers, worked)?;
            take(round, results)?;
        }
        Ok(())
    }

    /// A list of numbers of each part, one for each of its completion tokens.
    pub fn lists(
        &self,
        work: impl Fn(&Part) -> Result<Vec<f32>, LearnError> + Sync,
    ) -> Result<Vec<Vec<f32>>, LearnError> {
        let (mut all, size) = (Vec::with_capacity(self.parts.len()), self.batch.peers.size());
        self.in_rounds(self.parts.len(), work, |parts, own: Vec<Vec<f32>>| {
            if size == 1 {
                all = own;
                return Ok(());
            }
            let own: Vec<f64> = own.iter().flatten().map(|number| f64::from(*number)).collect();
            let of_rank = |(rank, numbers): (usize, Vec<f64>)| {
                let mut numbers = numbers.into_iter().map(|number| number as f32);
                let own = parts.iter().skip(rank).step_by(size);
                own.map(|part| numbers.by_ref().take(part.targets.len()).collect()).collect()
            };
            let by_rank = self.batch.peers.gather_numbers(&own)?.into_iter().enumerate().map(of_rank);
            all = in_order(by_rank.collect()).collect();
            Ok(())
        })?;
        Ok(all)
    }

    /// Figures and gradients of all parts. The figures of each are handed to `take` in the order of the parts, in which
    /// the gradients are added.
    pub fn sums<const FIGURES: usize>(
        &self,
        trainable: &BTreeMap<String, Var>,
        work: impl Fn(&Part) -> Result<([f64; FIGURES], Gradients), LearnError> + Sync,
        mut take: impl FnMut([f64; FIGURES]),
    ) -> Result<Gradients, LearnError> {
        let peers = &self.batch.peers;
        // Rounds are as wide as the narrowest process; a gradient is kept until its round has been added.
        let width = self.batch.division.at_once.min(cores(self.device)).max(1);
        let widths = peers.gather_numbers(&[width as f64])?;
        let width = widths.iter().map(|width| width[0] as usize).min().unwrap_or(1);
        let buckets = buckets(trainable);
        let length = |bucket: &Vec<Piece>| bucket.iter().map(|piece| piece.range.len()).sum();
        let mut sum = OrderedSum::new(peers, buckets.iter().map(length).collect());
        self.in_rounds(width, work, |parts, own| {
            let figures: Vec<f64> = own.iter().flat_map(|(figures, _)| *figures).collect();
            let of_rank = |figures: Vec<f64>| figures.as_chunks::<FIGURES>().0.to_vec();
            in_order(peers.gather_numbers(&figures)?.into_iter().map(of_rank).collect()).for_each(&mut take);
            for (number, bucket) in buckets.iter().enumerate() {
                let numbers = own.iter().map(|(_, gradients)| flattened(gradients, bucket));
                sum.add(number, parts.len(), &numbers.collect::<Result<Vec<_>, _>>()?)?;
            }
            Ok(())
        })?;
        let mut all: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
        for (number, bucket) in buckets.iter().enumerate() {
            let mut total = sum.total(number)?.into_iter();
            for Piece { name, range } in bucket {
                all.entry(name).or_default().extend(total.by_ref().take(range.len()));
            }
        }
        let whole = all.into_iter().map(|(name, numbers)| {
            Ok((name.to_owned(), Tensor::from_vec(numbers, trainable[name].shape(), self.device)?))
        });
        whole.collect()
    }
}

/// The error of this process, or that of another: memory runs out for all or for none, so that all try again.
fn well_everywhere(peers: &Peers, own: Result<(), LearnError>) -> Result<(), LearnError> {
    let told = match &own {
        Ok(()) => 0.0,
        Err(error) if error.is_out_of_memory() => 1.0,
        Err(_) => 2.0,
    };
    let all = peers.gather_numbers(&[told])?;
    own?;
    let worst = (0..all.len()).max_by(|a, b| all[*a][0].total_cmp(&all[*b][0])).unwrap_or(0);
    if all[worst][0] == 0.0 {
        return Ok(());
    }
    Err(LearnError::Elsewhere { rank: worst, out_of_memory: all[worst][0] == 1.0 })
}

/// Brings what processes have of every N-th item into the order of the items.
fn in_order<T>(by_rank: Vec<Vec<T>>) -> impl Iterator<Item = T> {
    let mut ranks: Vec<_> = by_rank.into_iter().map(Vec::into_iter).collect();
    (0..).map_while(move |item| {
        let rank = item % ranks.len();
        ranks[rank].next()
    })
}

/// Numbers of a variable, as they lie.
struct Piece {
    name: String,
    range: Range<usize>,
}

/// All variables, cut into pieces that together are at most [`BUCKET`] numbers.
fn buckets(trainable: &BTreeMap<String, Var>) -> Vec<Vec<Piece>> {
    let (mut buckets, mut left) = (Vec::<Vec<Piece>>::new(), 0);
    for (name, var) in trainable {
        let (mut at, count) = (0, var.elem_count());
        while at < count {
            if left == 0 {
                buckets.push(Vec::new());
                left = BUCKET;
            }
            let range = at..(at + left).min(count);
            (at, left) = (range.end, left - range.len());
            buckets.last_mut().expect("one was pushed").push(Piece { name: name.clone(), range });
        }
    }
    buckets
}

fn flattened(gradients: &Gradients, bucket: &[Piece]) -> Result<Vec<f32>, LearnError> {
    let mut numbers = Vec::new();
    for Piece { name, range } in bucket {
        let flat = gradients[name].flatten_all()?.narrow(0, range.start, range.len())?;
        numbers.extend(flat.to_vec1::<f32>()?);
    }
    Ok(numbers)
}
