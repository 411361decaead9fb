//! Distributes the completions of a batch over the processes that train together.
//!
//! A completion depends on its identity but not on the rows that are sampled with it, so any process can
//! sample it. A process samples a part of each group, or whole groups if prompts are long, and starts to play these
//! programs. Programs whose games have not begun when all are sampled are distributed again. Completions and
//! evaluations are gathered in the order of their indices.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::arena::{Evaluation, Start, Usage};
use crate::config::{Config, Reduce};
use crate::grpo::Division;
use crate::parallel::{ParallelError, Peers};
use crate::program::Rejection;
use crate::prompt::Prompt;
use crate::rollout::{CompletionId, GroupRequest};
use crate::seed::Seed;

/// Every process reads the prompts of all groups if this costs at most one token per so many that completions may have.
/// On a processor, reading a token takes about as long as sampling one: with long prompts and short completions it doubled
/// the time of sampling (docs/scale.md).
const READ_ONE_IN: usize = 16;

/// The completions of a batch that one process samples.
#[derive(Debug, Clone)]
pub struct OwnRequests<'a> {
    /// They are requested together where they are of one prompt, which is then read once.
    pub requests: Vec<GroupRequest<'a>>,
    /// Their indices in the step.
    pub indices: BTreeSet<usize>,
}

impl<'a> OwnRequests<'a> {
    /// The share of this process of a batch of completions of at most `longest` tokens each.
    pub fn of(peers: &Peers, requests: &[GroupRequest<'a>], longest: usize) -> OwnRequests<'a> {
        let completions = completions(requests);
        let read: usize = requests.iter().map(|request| request.prompt.ids.len()).sum();
        let reads_all = READ_ONE_IN * read * (peers.size() - 1) <= completions * longest;
        OwnRequests::of_rank(peers.rank(), peers.size(), requests, reads_all)
    }

    /// Those of the completions with these indices.
    pub fn among(indices: &BTreeSet<usize>, requests: &[GroupRequest<'a>]) -> OwnRequests<'a> {
        let is_own = |request: &&GroupRequest<'a>| request.ids.iter().all(|id| indices.contains(&id.index));
        OwnRequests::with(requests.iter().filter(is_own).cloned().collect())
    }

    fn with(requests: Vec<GroupRequest<'a>>) -> OwnRequests<'a> {
        let indices = requests.iter().flat_map(|request| request.ids.iter().map(|id| id.index)).collect();
        OwnRequests { requests, indices }
    }

    /// Units are assigned to processes in turn. A unit is as large as possible without giving the busiest process more
    /// rows than units of one would: 8 completions of a prompt on 3 processes are units of 1, so 3, 3 and 2. If every process
    /// reads all prompts (`reads_all`), groups are also divided over all processes as far as their size allows, because
    /// completions of one prompt take about equally long to sample and to play.
    fn of_rank(rank: usize, processes: usize, requests: &[GroupRequest<'a>], reads_all: bool) -> OwnRequests<'a> {
        let (all, size) = (completions(requests), requests.first().map_or(1, |request| request.ids.len()));
        let longest = |together: usize| (all / together).div_ceil(processes) * together;
        let divisors = (1..=size).rev().filter(|together| size.is_multiple_of(*together));
        let cost = |together: &usize| (longest(*together), reads_all && size / together < processes);
        let together = divisors.min_by_key(cost).unwrap_or(1);
        let units = requests.iter().flat_map(|request| {
            let units = request.ids.chunks(together);
            units.map(|unit| GroupRequest { prompt: request.prompt, ids: unit.to_vec() })
        });
        OwnRequests::with(units.skip(rank).step_by(processes).collect())
    }

    pub fn has(&self, id: CompletionId) -> bool {
        self.indices.contains(&id.index)
    }
}

fn completions(requests: &[GroupRequest<'_>]) -> usize {
    requests.iter().map(|request| request.ids.len()).sum()
}

/// The indices of the programs that each of `size` processes plays. Distinct programs are assigned in turn; equal
/// programs go to the same process.
pub(super) fn distribute<P: Ord>(programs: impl IntoIterator<Item = (usize, P)>, size: usize) -> Vec<Vec<usize>> {
    let (mut of_each, mut known) = (vec![Vec::new(); size], BTreeMap::new());
    for (index, program) in programs {
        let next = known.len() % size;
        of_each[*known.entry(program).or_insert(next)].push(index);
    }
    of_each
}

/// The indices of the programs that this process plays of `count` that are all known from the start.
pub(super) fn own_indices(peers: &Peers, count: usize) -> impl Iterator<Item = usize> + use<> {
    (peers.rank()..count).step_by(peers.size())
}

/// Gathers the evaluations of all processes, by their indices. `own` has those of this process.
pub(super) fn gather_evaluations(
    peers: &Peers,
    own: BTreeMap<usize, Evaluation>,
) -> Result<BTreeMap<usize, Evaluation>, ParallelError> {
    if peers.size() == 1 {
        return Ok(own);
    }
    let gathered =
        peers.gather_lists(own.iter().map(|(&index, one)| SentEvaluation::of(index, one)).collect())?.into_iter();
    let mut all: BTreeMap<_, _> = gathered.map(SentEvaluation::received).collect();
    all.extend(own);
    Ok(all)
}

/// An evaluation as processes send it: with what it cost and with the entry that was wanted, neither of which is written of it. The
/// policy is told of the entry before it writes again, so that without it each process would sample another turn.
#[derive(Serialize, Deserialize)]
struct SentEvaluation {
    index: usize,
    evaluation: Evaluation,
    usage: Usage,
    wanted: String,
}

impl SentEvaluation {
    fn of(index: usize, evaluation: &Evaluation) -> SentEvaluation {
        let wanted = match &evaluation.start {
            Start::Rejected(Rejection::NoFunction { wanted }) => wanted.clone(),
            _ => String::new(),
        };
        SentEvaluation { index, evaluation: evaluation.clone(), usage: evaluation.usage.clone(), wanted }
    }

    fn received(self) -> (usize, Evaluation) {
        let start = match self.evaluation.start {
            Start::Rejected(Rejection::NoFunction { .. }) => {
                Start::Rejected(Rejection::NoFunction { wanted: self.wanted })
            }
            start => start,
        };
        (self.index, Evaluation { start, usage: self.usage, ..self.evaluation })
    }
}

/// Says in lines of comments which work is divided among the processes and how many bytes they exchange; empty for one
/// process. `trained` is the number of trained weights.
pub fn forecast(config: &Config, division: Division, trained: usize, peers: &Peers) -> String {
    let (processes, rollout) = (peers.size(), &config.rollout);
    if processes == 1 {
        return String::new();
    }
    let all = config.completions_per_step();
    let prompts = vec![Prompt::default(); rollout.groups];
    let requests = GroupRequest::all(&prompts, rollout.num_generations, Seed::root(0));
    let own = (0..processes).map(|rank| OwnRequests::of_rank(rank, processes, &requests, true));
    let most = own.map(|own| own.indices.len()).max().unwrap_or(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What each process samples of `groups` groups of `size` completions: the indices, unit by unit.
    fn shares(groups: usize, size: usize, processes: usize, reads_all: bool) -> Vec<Vec<Vec<usize>>> {
        let prompts: Vec<Prompt> = (0..groups as u32).map(|id| Prompt { id, ..Prompt::default() }).collect();
        let requests = GroupRequest::all(&prompts, size, Seed::root(0));
        let share = |rank| {
            let own = OwnRequests::of_rank(rank, processes, &requests, reads_all);
            let units = own.requests.iter();
            units
                .map(|unit| {
                    let group = unit.prompt.id as usize;
                    assert!(unit.ids.iter().all(|id| id.index / size == group && own.has(*id)), "{own:?}");
                    unit.ids.iter().map(|id| id.index).collect()
                })
                .collect()
        };
        (0..processes).map(share).collect()
    }

    #[test]
    fn every_completion_falls_to_one_process_and_every_process_has_a_part_of_each_group() {
        for (groups, size, processes) in [(8, 8, 4), (3, 8, 2), (3, 4, 8), (2, 4, 3), (5, 6, 7), (1, 2, 4), (16, 1, 3)]
        {
            let shares: Vec<Vec<usize>> =
                shares(groups, size, processes, true).iter().map(|units| units.concat()).collect();
            let mut all = shares.concat();
            all.sort_unstable();
            assert_eq!(all, (0..groups * size).collect::<Vec<_>>(), "{groups} x {size} on {processes}");
            assert!(shares.iter().all(|own| own.len() <= (groups * size).div_ceil(processes)), "{shares:?}");
        }
        assert_eq!(shares(2, 8, 4, true)[1], [[2, 3], [10, 11]], "a quarter of each group");
        assert_eq!(shares(2, 4, 3, true)[2], [[2], [5]], "one of each group and two of one");
        assert_eq!(shares(1, 2, 4, true)[2], [[0; 0]; 0], "somebody has nothing");
    }

    #[test]
    fn where_prompts_are_long_every_process_has_whole_groups_if_that_is_even() {
        assert_eq!(shares(4, 2, 2, false)[1], [[2, 3], [6, 7]]);
        assert_eq!(shares(3, 4, 2, false)[1], [[2, 3], [6, 7], [10, 11]], "three groups are not even for two");
    }

    #[test]
    fn programs_that_wait_are_dealt_out_one_by_one_and_equal_ones_to_one_process() {
        let waiting = [(1, "a"), (2, "b"), (5, "a"), (8, "c"), (9, "d"), (12, "e"), (13, "c")];
        assert_eq!(distribute(waiting, 3), [vec![1, 5, 9], vec![2, 12], vec![8, 13]]);
        assert_eq!(distribute(waiting, 1), [vec![1, 2, 5, 8, 9, 12, 13]]);
        assert_eq!(distribute::<&str>([], 2), vec![Vec::<usize>::new(); 2], "all have begun");
        // Programs of one prompt are about equally slow; they must not all go to one process.
        let slow = |index: usize| usize::from(index < 16);
        let of_each = distribute((0..64).map(|index| (index, index)), 4);
        let seconds = of_each.iter().map(|own| own.iter().map(|index| slow(*index)).sum::<usize>());
        assert_eq!(seconds.collect::<Vec<_>>(), [4; 4]);
    }

    #[test]
    fn what_is_told_of_an_evaluation_is_the_same_in_the_process_that_receives_it() {
        let rejection = Rejection::NoFunction { wanted: "Python program".into() };
        let evaluation = Evaluation::rejected(rejection);
        let sent = serde_json::to_string(&SentEvaluation::of(7, &evaluation)).unwrap();
        let (index, received) = serde_json::from_str::<SentEvaluation>(&sent).unwrap().received();
        assert_eq!((index, received.start.reason()), (7, Some("no Python program found".into())));
    }
}
