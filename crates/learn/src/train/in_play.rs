//! Completions whose games are being played.
//!
//! Takes completions as they end, submits their programs to the arena, and emits an event for every evaluation when
//! asked to. Returns turns when all games have ended. The order of play does not depend on when events are asked
//! for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::arena::{Evaluation, Scoring};
use crate::environment::{Case, Outcome};
use crate::groups::Groups;
use crate::metrics::{Activity, Event, Period, Player, ScoredCompletion, shortest};
use crate::parallel::Peers;
use crate::program::{Program, Rejection};
use crate::reward::{Judged, Reward, Rule};
use crate::rollout::{Caches, Completion, CompletionId};

use super::TrainError;
use super::divided::{distribute, gather_evaluations};
use super::episode::{Reply, Timing, Turn, emit_games};

/// A batch of completions that are all sampled; some of their games may still be running.
pub struct InPlay {
    pub(super) completions: Groups<Completion>,
    pub(super) games: Games,
    /// Wall-clock time of sampling.
    pub(super) generate: Duration,
    /// Number of tokens that were sampled in this time; 0 if the completions were read from a checkpoint.
    pub(super) tokens: u64,
    /// None if there is no next turn.
    pub(super) kept: Option<Kept>,
}

/// A step whose completions are sampled and whose games are being played.
pub struct StepInPlay {
    pub in_play: InPlay,
    /// Steps that the policy had learnt from when it sampled the completions.
    pub policy_step: usize,
}

/// What the next turn of a batch goes on from. Conversations stay with the process that sampled their first turn.
#[derive(Debug)]
pub(super) struct Kept {
    /// Indices of the completions that this process sampled.
    pub own: BTreeSet<usize>,
    /// Their caches, if they can be kept.
    pub caches: Option<Caches>,
}

impl InPlay {
    /// Waits for all games.
    pub fn finish(self, observer: &mut dyn FnMut(Event<'_>)) -> Result<(Groups<Turn>, Timing), TrainError> {
        let InPlay { completions, games: Games { scoring, mut ledger, peers, own }, generate, tokens, .. } = self;
        let begin = Instant::now();
        let evaluations = scoring.finish(&mut |index, evaluation| ledger.emit(index, evaluation, observer))?;
        let mut evaluations = gather_evaluations(&peers, evaluations)?;
        for (index, evaluation) in evaluations.iter().filter(|(index, _)| !own.contains(index)) {
            ledger.emit(*index, evaluation, observer);
        }
        let end = Instant::now();
        let (step, activity, period) = (ledger.step, Activity::RewardWait, Period { begin, end });
        observer(Event::ActivityDone { step, activity, period });
        let turns = completions.map(|completion| {
            let index = &completion.id.index;
            let (ended, evaluation) = (ledger.ended.remove(index), evaluations.remove(index));
            let program = ended.expect("every completion was submitted").program;
            let evaluation = evaluation.expect("every completion has been evaluated");
            let reward = ledger.rewards.remove(index).expect("every evaluation was rewarded");
            Turn { told: Reply::default(), completion, program, evaluation, reward }
        });
        Ok((turns, Timing { generate, tokens, reward_wait: end - begin }))
    }
}

/// The progress that was made before a batch, in earlier batches, turns or rounds. It is added to the events of the batch.
pub(super) struct EarlierProgress {
    /// Number of earlier turns of the conversations that go on in the batch.
    pub turns: usize,
    /// Number of completions that are done and not in the batch.
    pub completions: usize,
    /// Number of tokens that were sampled before.
    pub tokens: usize,
    /// Number of all completions.
    pub of: usize,
}

impl EarlierProgress {
    /// Shows that the batch begins, while its prompts are read.
    pub fn begin(&self, step: usize, observer: &mut dyn FnMut(Event<'_>)) {
        let total = self.of;
        self.emit(Event::Decoding { step, turn: 1, tokens: 0, finished: 0, total }, observer);
    }

    pub fn emit(&self, event: Event<'_>, observer: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::Decoding { step, turn, tokens, finished, .. } => observer(Event::Decoding {
                step,
                turn: self.turns + turn,
                tokens: self.tokens + tokens,
                finished: self.completions + finished,
                total: self.of,
            }),
            Event::Scored { step, done, .. } => {
                observer(Event::Scored { step, done: self.completions + done, total: self.of });
            }
            other => observer(other),
        }
    }
}

/// The games of a batch whose completions may still be sampled.
pub(super) struct Games {
    scoring: Scoring,
    ledger: Ledger,
    peers: Peers,
    /// Indices of the completions that this process plays; the peers play the others.
    own: BTreeSet<usize>,
}

/// The completions and rewards of a batch, by their index in the step.
struct Ledger {
    step: usize,
    /// Number of completions of the batch.
    total: usize,
    rule: Rule,
    ended: BTreeMap<usize, EndedCompletion>,
    /// Rewards of the completions whose events have been emitted.
    rewards: BTreeMap<usize, Reward>,
}

/// A completion that has ended, ready to be played.
pub(super) struct EndedCompletion {
    /// The text that was searched for a program.
    pub text: String,
    pub program: Result<Program, Rejection>,
    pub cases: Vec<Case>,
    /// Whether it ended at the longest length allowed.
    pub cut: bool,
    /// Number of tokens of the completion and of those of earlier turns, and the maximum.
    pub tokens: (usize, usize),
}

impl Games {
    /// For `total` completions of a step, of which this process plays `own` and the peers play the others.
    pub fn new(scoring: Scoring, step: usize, total: usize, rule: Rule, peers: &Peers, own: &BTreeSet<usize>) -> Self {
        let (ended, rewards) = (BTreeMap::new(), BTreeMap::new());
        let ledger = Ledger { step, total, rule, ended, rewards };
        Games { scoring, ledger, peers: peers.clone(), own: own.clone() }
    }

    /// Records a completion, and submits it to the arena if this process plays it.
    pub fn submit(&mut self, id: CompletionId, ended: EndedCompletion) {
        if self.own.contains(&id.index) {
            self.scoring.submit(id.index, ended.program.clone(), &ended.cases);
        }
        self.ledger.ended.insert(id.index, ended);
    }

    /// Distributes the programs that no process has begun to play over all processes again. Without it the load is
    /// uneven, because programs for one prompt take about equally long and are all with the process that sampled them.
    /// All processes call this together, after all completions have been submitted.
    pub fn redistribute(&mut self) -> Result<(), TrainError> {
        let Games { scoring, ledger, peers, own } = self;
        if peers.size() == 1 {
            return Ok(());
        }
        let recalled = scoring.recall();
        own.retain(|index| !recalled.contains(index));
        let mut unbegun = peers.gather_lists(recalled)?;
        unbegun.sort_unstable();
        let programs = unbegun.into_iter().map(|index| {
            let EndedCompletion { program, cases, .. } = &ledger.ended[&index];
            (index, (program.as_ref().ok().map(Program::source), cases))
        });
        for index in distribute(programs, peers.size()).swap_remove(peers.rank()) {
            let EndedCompletion { program, cases, .. } = &ledger.ended[&index];
            scoring.submit(index, program.clone(), cases);
            own.insert(index);
        }
        Ok(())
    }

    /// Emits events for the evaluations that have ended since the last call, without waiting for others.
    pub fn emit(&mut self, observer: &mut dyn FnMut(Event<'_>)) {
        let Games { scoring, ledger, .. } = self;
        scoring.tell(&mut |index, evaluation| ledger.emit(index, evaluation, observer));
    }
}

impl Ledger {
    fn emit(&mut self, index: usize, evaluation: &Evaluation, observer: &mut dyn FnMut(Event<'_>)) {
        let (step, total) = (self.step, self.total);
        let EndedCompletion { program, tokens, .. } = &self.ended[&index];
        let reward = self.rule.score(Judged { evaluation, tokens: Some(*tokens), program: program.as_ref().ok() });
        if let Ok(program) = program {
            emit_games(step, Player::Completion { index, digest: &program.digest() }, evaluation, observer);
        }
        observer(Event::CompletionScored(&self.shown(index, evaluation, &reward)));
        self.rewards.insert(index, reward);
        observer(Event::Scored { step, done: self.rewards.len(), total });
    }

    /// The completion as an event shows it.
    fn shown(&self, index: usize, evaluation: &Evaluation, reward: &Reward) -> ScoredCompletion {
        let EndedCompletion { text, program, cut, .. } = &self.ended[&index];
        let endings = evaluation.games.iter().map(Outcome::in_words).collect::<Vec<_>>().join(", ");
        ScoredCompletion {
            step: self.step,
            index,
            source: program.as_ref().map_or(text.as_str(), Program::source).to_owned(),
            verdict: evaluation.verdict(*cut),
            reason: evaluation.reason().unwrap_or(endings),
            reward: shortest(reward.value),
            parts: reward.parts.iter().map(|(name, value)| ((*name).to_owned(), shortest(*value))).collect(),
            mean_score: evaluation.mean_score(),
            max_tile: evaluation.max_tile(),
            games: evaluation.games.len(),
            final_board: evaluation.games.first().and_then(|game| Some(game.board()?.final_board)),
        }
    }
}
