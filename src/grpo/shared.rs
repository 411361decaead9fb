//! The parts of a batch, worked on by several processes: each has parts that together take about as long, all get every
//! result, in the order of the parts.

use std::collections::BTreeMap;
use std::ops::Range;

use candle_core::{Device, Tensor, Var};

use super::batch::Part;
use super::gradients::{Gradients, accumulate, parallel_parts};
use super::{Batch, LearnError};
use crate::parallel::{ParallelError, Peers, VectorSum, assigned, share};

/// Numbers of its parts' gradients that a process gives to the others at once, 16 MB.
const BUCKET: usize = 4 << 20;

/// Parts of a batch, and where its model computes.
pub(super) struct Shared<'a> {
    pub batch: &'a Batch,
    pub parts: &'a [Part],
    pub device: &'a Device,
}

impl Shared<'_> {
    /// Works on the parts in rounds, in each of which a process has at most `held` of them. What comes of its own goes to
    /// `keep`, with the number of parts that are done since, and at the end of the round to `take`, with the parts and
    /// whose each was. An error of any process is one of all.
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
            let owners = assigned(&costs, peers.size(), held);
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
            well_everywhere(peers, worked)?;
            take(round, &owners, kept)?;
        }
        Ok(())
    }

    /// A list of numbers of each part, one for each of its completion tokens.
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
            let lists = of_parts(&self.batch.peers, owners, &own, lengths)?;
            all.extend(lists.iter().map(|list| list.iter().map(|number| *number as f32).collect()));
            Ok(())
        })?;
        Ok(all)
    }

    /// Gradients of all parts, added in the order of the parts, in which the figures of each are handed to `take`; `done` is
    /// told how many parts are done since it was told last.
    pub fn sums<const FIGURES: usize>(
        &self,
        trainable: &BTreeMap<String, Var>,
        work: impl Fn(&Part) -> Result<([f64; FIGURES], Gradients), LearnError> + Sync,
        mut take: impl FnMut([f64; FIGURES]),
        mut done: impl FnMut(usize),
    ) -> Result<Gradients, LearnError> {
        let Batch { peers, division, .. } = self.batch;
        // One process adds its gradients as they come, and so do several that add up sums.
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
            let figures = of_parts(peers, owners, &figures, parts.iter().map(|_| FIGURES))?.concat();
            figures.as_chunks::<FIGURES>().0.iter().for_each(|figures| take(*figures));
            let Some(sum) = &mut sum else {
                whole = own.pop().unwrap_or_default();
                return Ok(());
            };
            for (number, bucket) in buckets.iter().enumerate() {
                let own = own.iter().map(|gradients| flattened(gradients, bucket));
                sum.add(number, owners, &own.collect::<Result<Vec<_>, _>>()?, self.device)?;
            }
            Ok(())
        })?;
        let Some(mut sum) = sum else { return Ok(whole) };
        let mut all: BTreeMap<&str, Vec<Tensor>> = BTreeMap::new();
        for (number, bucket) in buckets.iter().enumerate() {
            let (total, mut at) = (sum.total(number)?.to_device(self.device)?, 0);
            for Piece { name, range } in bucket {
                all.entry(name).or_default().push(total.narrow(0, at, range.len())?);
                at += range.len();
            }
        }
        let whole = all.into_iter().map(|(name, pieces)| {
            // In memory of its own: a view would keep its whole bucket, and `copy` would copy all of it.
            let numbers = match pieces.as_slice() {
                [piece] => piece.force_contiguous()?,
                pieces => Tensor::cat(pieces, 0)?,
            };
            Ok((name.to_owned(), numbers.reshape(trainable[name].shape())?))
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

/// The numbers that processes tell of their `own` parts, in the order of the parts, of which number p has the p-th of
/// `lengths` and was worked on by rank `owners[p]`.
fn of_parts(
    peers: &Peers,
    owners: &[usize],
    own: &[f64],
    lengths: impl Iterator<Item = usize>,
) -> Result<Vec<Vec<f64>>, ParallelError> {
    let mut by_rank: Vec<_> = peers.gather_numbers(own)?.into_iter().map(Vec::into_iter).collect();
    Ok(owners.iter().zip(lengths).map(|(owner, length)| by_rank[*owner].by_ref().take(length).collect()).collect())
}

/// Numbers of a variable, as they lie.
struct Piece {
    name: String,
    range: Range<usize>,
}

/// All variables, cut into pieces that together are at most `most` numbers.
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
