//! Distributes the parts of a batch over several processes, so that each takes about equally long. All processes get
//! all results, in the order of the parts.

use std::collections::BTreeMap;
use std::ops::Range;

use candle_core::{Device, Tensor, Var};

use super::batch::Part;
use super::gradients::{Gradients, accumulate, parallel_parts};
use super::{Batch, LearnError};
use crate::parallel::{ParallelError, Peers, VectorSum, assign, share};

/// Count of f32 numbers of its gradients that a process sends at once, 16 MiB.
const BUCKET: usize = 4 << 20;

/// The parts of a batch, and the device of its model.
pub(super) struct Shared<'a> {
    pub batch: &'a Batch,
    pub parts: &'a [Part],
    pub device: &'a Device,
}

impl Shared<'_> {
    /// Computes the parts in rounds, in each of which a process has at most `held` parts. An error of any process is
    /// returned by all.
    ///
    /// * `work` computes a part.
    /// * `keep` adds the result of a part to those of this process; its last argument estimates the parts that all
    ///   processes have finished since the last call; progress alone uses it.
    /// * `take` gets the parts of a round, the rank that computed each, and the results of this process.
    fn in_rounds<R: Send, K: Default>(
        &self,
        held: usize,
        work: impl Fn(&Part) -> Result<R, LearnError> + Sync,
        mut keep: impl FnMut(&mut K, R, usize) -> Result<(), LearnError>,
        mut take: impl FnMut(&[Part], &[usize], K) -> Result<(), LearnError>,
    ) -> Result<(), LearnError> {
        let Batch { peers, division, .. } = self.batch;
        for round in self.parts.chunks(held.saturating_mul(peers.size()).max(1)) {
            let costs: Vec<usize> = round.iter().map(|part| part.tokens.ids.len()).collect();
            let owners = assign(&costs, peers.size(), held);
            let mine = round.iter().zip(&owners).filter(|(_, owner)| **owner == peers.rank());
            let own: Vec<&Part> = mine.map(|(part, _)| part).collect();
            let (mut kept, mut done) = (K::default(), 0);
            let worked = parallel_parts(
                division.at_once,
                self.device,
                &own,
                |part| work(part),
                |result| {
                    done += 1;
                    keep(&mut kept, result, share(round.len(), done - 1, own.len()).len())
                },
            );
            agree_on_success(peers, worked)?;
            take(round, &owners, kept)?;
        }
        Ok(())
    }

    /// Computes a list of numbers for each part, one per completion token.
    pub fn lists(
        &self,
        work: impl Fn(&Part) -> Result<Vec<f32>, LearnError> + Sync,
    ) -> Result<Vec<Vec<f32>>, LearnError> {
        let mut all = Vec::with_capacity(self.parts.len());
        let keep = |own: &mut Vec<f64>, list: Vec<f32>, _| {
            own.extend(list.into_iter().map(f64::from));
            Ok(())
        };
        self.in_rounds(self.parts.len(), work, keep, |parts, owners, own| {
            let lengths = parts.iter().map(|part| part.targets.len());
            let lists = gather_by_part(&self.batch.peers, owners, &own, lengths)?;
            all.extend(lists.iter().map(|list| list.iter().map(|number| *number as f32).collect()));
            Ok(())
        })?;
        Ok(all)
    }

    /// The gradients of all parts, added in the order of the parts. `take` gets the figures of each part in the same
    /// order; `done` gets the number of parts that are done since the last call. A process that runs out of memory while
    /// gradients are exchanged does not try again, since the others are past the place where all agree on that.
    pub fn sums<const FIGURES: usize>(
        &self,
        trainable: &BTreeMap<String, Var>,
        work: impl Fn(&Part) -> Result<([f64; FIGURES], Gradients), LearnError> + Sync,
        mut take: impl FnMut([f64; FIGURES]),
        mut done: impl FnMut(usize),
    ) -> Result<Gradients, LearnError> {
        let Batch { peers, division, .. } = self.batch;
        // A single process adds its gradients immediately. So do several if the order of addition does not matter.
        let in_order = peers.adds_in_order();
        let held = if in_order { division.held.min(self.parts.len()) } else { self.parts.len() };
        let buckets = buckets(trainable, if in_order { BUCKET.div_ceil(held.max(1)) } else { BUCKET });
        let length = |bucket: &Vec<Piece>| bucket.iter().map(|piece| piece.range.len()).sum();
        let mut sum = VectorSum::new(peers, buckets.iter().map(length).collect());
        let mut whole = Gradients::new();
        let keep =
            |(figures, own): &mut (Vec<f64>, Vec<Gradients>), (of_part, gradients): ([f64; FIGURES], _), parts| {
                figures.extend(of_part);
                done(parts);
                match own.last_mut() {
                    Some(sum) if !in_order => accumulate(sum, gradients)?,
                    _ => own.push(gradients),
                }
                Ok(())
            };
        self.in_rounds(held, work, keep, |parts, owners, (figures, mut own)| {
            let figures = gather_by_part(peers, owners, &figures, parts.iter().map(|_| FIGURES))?.concat();
            figures.as_chunks::<FIGURES>().0.iter().for_each(|figures| take(*figures));
            let Some(sum) = &mut sum else {
                whole = own.pop().unwrap_or_default();
                return Ok(());
            };
            for (number, bucket) in buckets.iter().enumerate() {
                let own = own.iter().map(|gradients| flattened(gradients, bucket)).collect::<Result<Vec<_>, _>>();
                sum.add(number, owners, &own.map_err(ParallelError::from)?, self.device)?;
            }
            Ok(())
        })?;
        let Some(mut sum) = sum else { return Ok(whole) };
        let mut all: BTreeMap<&str, Vec<Tensor>> = BTreeMap::new();
        for (number, bucket) in buckets.iter().enumerate() {
            let total = sum.total(number)?.to_device(self.device).map_err(ParallelError::from)?;
            let mut at = 0;
            for Piece { name, range } in bucket {
                all.entry(name).or_default().push(total.narrow(0, at, range.len())?);
                at += range.len();
            }
        }
        let whole = all.into_iter().map(|(name, pieces)| {
            // The gradient is copied, because a view would keep its whole bucket in memory, and `copy` would copy the
            // bucket.
            let numbers = match pieces.as_slice() {
                [piece] => piece.force_contiguous(),
                pieces => Tensor::cat(pieces, 0),
            };
            Ok((name.to_owned(), numbers.map_err(ParallelError::from)?.reshape(trainable[name].shape())?))
        });
        whole.collect()
    }
}

/// Returns the error of this process, or else that of another. If one process runs out of memory, all return this
/// error, so that all try again.
pub(super) fn agree_on_success<T>(peers: &Peers, own: Result<T, LearnError>) -> Result<T, LearnError> {
    let outcome = match &own {
        Ok(_) => 0.0,
        Err(error) if error.is_out_of_memory() => 1.0,
        Err(_) => 2.0,
    };
    let all = peers.gather_numbers(&[outcome])?;
    let own = own?;
    let worst = (0..all.len()).max_by(|a, b| all[*a][0].total_cmp(&all[*b][0])).unwrap_or(0);
    if all[worst][0] == 0.0 {
        return Ok(own);
    }
    Err(LearnError::Elsewhere { rank: worst, out_of_memory: all[worst][0] == 1.0 })
}

/// Gathers the numbers of all parts, in the order of the parts. `own` has the numbers of this process's parts, one
/// after the other; part p was computed by rank `owners[p]` and has as many numbers as the p-th of `lengths` says.
fn gather_by_part(
    peers: &Peers,
    owners: &[usize],
    own: &[f64],
    lengths: impl Iterator<Item = usize>,
) -> Result<Vec<Vec<f64>>, ParallelError> {
    let mut by_rank: Vec<_> = peers.gather_numbers(own)?.into_iter().map(Vec::into_iter).collect();
    Ok(owners.iter().zip(lengths).map(|(owner, length)| by_rank[*owner].by_ref().take(length).collect()).collect())
}

/// A range of the flattened numbers of a variable.
struct Piece {
    name: String,
    range: Range<usize>,
}

/// Divides all variables into buckets of at most `most` numbers.
fn buckets(trainable: &BTreeMap<String, Var>, most: usize) -> Vec<Vec<Piece>> {
    let (mut buckets, mut left) = (Vec::<Vec<Piece>>::new(), 0);
    for (name, var) in trainable {
        let (mut at, count) = (0, var.elem_count());
        while at < count {
            if left == 0 {
                buckets.push(Vec::new());
                left = most;
            }
            let range = at..(at + left).min(count);
            (at, left) = (range.end, left - range.len());
            buckets.last_mut().expect("one was pushed").push(Piece { name: name.clone(), range });
        }
    }
    buckets
}

fn flattened(gradients: &Gradients, bucket: &[Piece]) -> candle_core::Result<Tensor> {
    let piece = |Piece { name, range }: &Piece| gradients[name].flatten_all()?.narrow(0, range.start, range.len());
    Tensor::cat(&bucket.iter().map(piece).collect::<Result<Vec<_>, _>>()?, 0)
}
