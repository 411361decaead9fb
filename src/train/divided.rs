//! Which completions of a batch fall to which of the processes that train together.
//!
//! Chance follows a completion's index in the batch, and each is a row of its own of the decoder. So a process samples a
//! stretch of the batch and begins to play what it has written; what it has not begun when all is written is dealt out to
//! all. What they have written and played is put together in the order of the indices.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::arena::Evaluation;
use crate::config::{Config, Reduce, RolloutConfig};
use crate::grpo::Division;
use crate::parallel::{ParallelError, Peers};
use crate::prompt::Prompt;
use crate::rollout::{self, Completion, FinishReason, RolloutEvent, Streams};

use super::TrainError;
use super::scoring::Stage;

/// The stretch of a batch that falls to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// Indices of its completions.
    pub range: Range<usize>,
    /// Completions of one prompt that are sampled together: all of a group, or an even part of it where that leaves
    /// nobody without work. A prompt is read once for each of them.
    together: usize,
}

impl Own {
    /// Of a batch of `groups` groups of `size` completions.
    pub fn of(peers: &Peers, groups: usize, size: usize) -> Own {
        Own::of_rank(peers.rank(), peers.size(), groups, size)
    }

    fn of_rank(rank: usize, processes: usize, groups: usize, size: usize) -> Own {
        let longest = |together: usize| (groups * size / together).div_ceil(processes) * together;
        let divisors = (1..=size).rev().filter(|together| size.is_multiple_of(*together));
        let together = divisors.min_by_key(|together| longest(*together)).unwrap_or(1);
        let units = groups * size / together;
        let range = units * rank / processes * together..units * (rank + 1) / processes * together;
        Own { range, together }
    }
}

/// Who of `size` processes plays which programs, by their indices: one after the other gets the next that is new, and equal
/// programs go together.
pub(super) fn dealt<P: Ord>(programs: impl IntoIterator<Item = (usize, P)>, size: usize) -> Vec<Vec<usize>> {
    let (mut of_each, mut known) = (vec![Vec::new(); size], BTreeMap::new());
    for (index, program) in programs {
        let next = known.len() % size;
        of_each[*known.entry(program).or_insert(next)].push(index);
    }
    of_each
}

/// Indices of those of `count` programs that this process plays where all are there from the start.
pub(super) fn own_of(peers: &Peers, count: usize) -> impl Iterator<Item = usize> + use<> {
    (peers.rank()..count).step_by(peers.size())
}

/// Evaluations of all processes in the order of their indices, of which `own` has those of this one. Only these know what
/// they cost.
pub(super) fn in_order(
    peers: &Peers,
    own: impl IntoIterator<Item = (usize, Evaluation)>,
) -> Result<Vec<Evaluation>, ParallelError> {
    let (own, mut all) = (own.into_iter().collect::<BTreeMap<_, _>>(), BTreeMap::new());
    peers.gather_values(own.clone())?.into_iter().for_each(|of_one| all.extend(of_one));
    all.extend(own);
    Ok(all.into_values().collect())
}

/// What of a run is divided among processes, and what they tell each other, as lines of comments; empty for one process.
/// `trained` is the number of weights that are trained.
pub fn forecast(config: &Config, division: Division, trained: usize, peers: &Peers) -> String {
    let (processes, rollout) = (peers.size(), &config.rollout);
    if processes == 1 {
        return String::new();
    }
    let all = config.completions_per_step();
    let own = (0..processes).map(|rank| Own::of_rank(rank, processes, rollout.groups, rollout.num_generations));
    let most = own.map(|own| own.range.len()).max().unwrap_or(0);
    let parts = all.div_ceil(division.micro_batch);
    let of_one = parts.div_ceil(processes);
    let vectors = if config.parallel.reduce == Reduce::Exact { of_one + 1 } else { 2 };
    let gradients = vectors * size_of::<f32>() * trained * config.grpo.num_iterations;
    format!(
        "# processes: {processes}, each with the memory above\n\
         # divided: {all} completions and their games a step, at most {most} a process; {parts} parts of the update, at \
         most {of_one} a process; evaluations\n\
         # not divided: the step of the optimiser, the reward check, files; the time below is that of one process\n\
         # gradients: each process sends and receives up to {:.1} MB a step\n",
        gradients as f64 / 1e6
    )
}

/// A completion as it crosses to other processes: its text follows from the ids.
type Told = (Vec<u32>, Vec<f32>, FinishReason);

impl Stage<'_> {
    /// Samples the completions of a batch that fall to this process and gives those of all, in order. Events tell of its
    /// own, by their index in the batch.
    pub(super) fn written(
        &self,
        own: &Own,
        prompts: &[Prompt],
        rollout: &RolloutConfig,
        streams: Streams,
        observer: &mut dyn FnMut(RolloutEvent<'_>),
    ) -> Result<Vec<Completion>, TrainError> {
        let Stage { policy, servers, peers, .. } = *self;
        let (first, size) = (own.range.start, rollout.num_generations);
        let asked: Vec<Prompt> =
            own.range.clone().step_by(own.together).map(|row| prompts[row / size].clone()).collect();
        let rollout = RolloutConfig { num_generations: own.together, ..rollout.clone() };
        let streams = Streams { first: streams.first + first as u64, ..streams };
        let mut in_batch = |event: RolloutEvent<'_>| match event {
            RolloutEvent::Finished { index, completion } => {
                observer(RolloutEvent::Finished { index: first + index, completion });
            }
            other => observer(other),
        };
        let written = match servers {
            _ if asked.is_empty() => Vec::new(),
            Some(servers) => servers.generate(policy, &asked, &rollout, streams, &mut in_batch)?.into_items(),
            None => rollout::generate(policy, &asked, &rollout, streams, &mut in_batch)?.into_items(),
        };
        if peers.size() == 1 {
            return Ok(written);
        }
        let told = written.into_iter().map(|one| (one.ids, one.logprobs, one.finish)).collect();
        let all: Vec<Told> = peers.gather_lists(told)?;
        let heard = |(ids, logprobs, finish)| Completion::new(ids, logprobs, finish, policy.tokenizer());
        Ok(all.into_iter().map(heard).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_completion_falls_to_one_process_and_groups_are_cut_only_where_that_helps() {
        for (groups, size, processes) in [(8, 8, 4), (3, 8, 2), (3, 4, 8), (2, 4, 3), (5, 6, 7), (1, 2, 4), (16, 1, 3)]
        {
            let owns: Vec<Own> = (0..processes).map(|rank| Own::of_rank(rank, processes, groups, size)).collect();
            let rows: Vec<usize> = owns.iter().flat_map(|own| own.range.clone()).collect();
            assert_eq!(rows, (0..groups * size).collect::<Vec<_>>(), "{groups} x {size} on {processes}");
            for own in &owns {
                let bounds = [own.range.start, own.range.end].map(|edge| edge % own.together);
                assert_eq!((bounds, size % own.together), ([0, 0], 0), "{own:?}");
            }
        }
        let together = |groups, size, processes| Own::of_rank(0, processes, groups, size).together;
        assert_eq!(together(8, 8, 4), 8, "whole groups");
        assert_eq!(together(3, 8, 2), 4, "12 and 12, and not 8 and 16");
        assert_eq!(together(1, 2, 4), 1, "somebody has nothing");
    }

    #[test]
    fn programs_that_wait_are_dealt_out_one_by_one_and_equal_ones_to_one_process() {
        let waiting = [(1, "a"), (2, "b"), (5, "a"), (8, "c"), (9, "d"), (12, "e"), (13, "c")];
        assert_eq!(dealt(waiting, 3), [vec![1, 5, 9], vec![2, 12], vec![8, 13]]);
        assert_eq!(dealt(waiting, 1), [vec![1, 2, 5, 8, 9, 12, 13]]);
        assert_eq!(dealt::<&str>([], 2), vec![Vec::<usize>::new(); 2], "all have begun");
        // All that a prompt asks for takes as long: the slow ones do not stay together.
        let slow = |index: usize| usize::from(index < 16);
        let of_each = dealt((0..64).map(|index| (index, index)), 4);
        let seconds = of_each.iter().map(|own| own.iter().map(|index| slow(*index)).sum::<usize>());
        assert_eq!(seconds.collect::<Vec<_>>(), [4; 4]);
    }
}
