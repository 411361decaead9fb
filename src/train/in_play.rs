//! Completions whose games are on.
//!
//! Takes completions as they end, hands their programs to the arena, and tells of every evaluation when asked to; gives
//! episodes once all have come. What is played, and when, does not depend on anybody looking.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::arena::{Evaluation, Scoring};
use crate::environment::{Case, Outcome};
use crate::groups::Groups;
use crate::metrics::{Activity, Event, Period, Player, ScoredCompletion, shortest};
use crate::parallel::Peers;
use crate::program::{Program, Rejection};
use crate::reward::{Judged, Reward, Rule};
use crate::rollout::Completion;

use super::TrainError;
use super::divided::{dealt, in_order};
use super::scoring::{Episode, Timing, tell_games};

/// A batch of completions, all of them written, not all of them played.
pub struct InPlay {
    completions: Groups<Completion>,
    games: Games,
    generate: Duration,
}

impl InPlay {
    /// `games` has been given every one of the completions, which took `generate` to sample.
    pub(super) fn new(completions: Groups<Completion>, games: Games, generate: Duration) -> Self {
        InPlay { completions, games, generate }
    }

    /// What was sampled.
    pub fn completions(&self) -> &Groups<Completion> {
        &self.completions
    }

    /// What sampling took.
    pub fn generate(&self) -> Duration {
        self.generate
    }

    /// Tells of what has been evaluated meanwhile, without waiting.
    pub fn tell(&mut self, observer: &mut dyn FnMut(Event<'_>)) {
        self.games.tell(observer);
    }

    /// Waits for the rest.
    pub fn finish(self, observer: &mut dyn FnMut(Event<'_>)) -> Result<(Groups<Episode>, Timing), TrainError> {
        let InPlay { completions, games: Games { scoring, mut ledger, peers, own }, generate } = self;
        let begin = Instant::now();
        let evaluations = scoring.finish(&mut |index, evaluation| ledger.tell(index, evaluation, observer))?;
        let evaluations = in_order(&peers, own.iter().copied().zip(evaluations))?;
        for (index, evaluation) in evaluations.iter().enumerate().filter(|(index, _)| !own.contains(index)) {
            ledger.tell(index, evaluation, observer);
        }
        let end = Instant::now();
        let (step, activity, period) = (ledger.step, Activity::RewardWait, Period { begin, end });
        observer(Event::ActivityDone { step, activity, period });
        let mut rest = ledger.written.into_values().zip(ledger.rewards.into_values()).zip(evaluations);
        let episodes = completions.map(|completion| {
            let ((written, reward), evaluation) = rest.next().expect("an evaluation for every completion");
            Episode { completion, program: written.program, evaluation, reward }
        });
        Ok((episodes, Timing { generate, reward_wait: end - begin }))
    }
}

/// The games of a batch that is being written.
pub(super) struct Games {
    scoring: Scoring,
    ledger: Ledger,
    peers: Peers,
    /// Indices of the completions that play here; the others do with the peers.
    own: BTreeSet<usize>,
}

/// What is known of each completion, by its index.
struct Ledger {
    step: usize,
    total: usize,
    rule: Rule,
    written: BTreeMap<usize, Written>,
    /// Of those that have been told of.
    rewards: BTreeMap<usize, Reward>,
}

/// A completion that has ended.
pub(super) struct Written {
    /// The text that a program was looked for in.
    pub text: String,
    /// What was found.
    pub program: Result<Program, Rejection>,
    /// What it is tried on.
    pub cases: Vec<Case>,
    /// Tokens of the completion, and the most that it could have.
    pub tokens: (usize, usize),
}

impl Games {
    /// Of `total` completions of a step.
    pub fn new(scoring: Scoring, step: usize, total: usize, rule: Rule) -> Self {
        let (written, rewards) = (BTreeMap::new(), BTreeMap::new());
        let ledger = Ledger { step, total, rule, written, rewards };
        Games { scoring, ledger, peers: Peers::alone(), own: (0..total).collect() }
    }

    /// Has only those in `own` play here, and the others with the peers.
    pub fn among(self, peers: &Peers, own: impl IntoIterator<Item = usize>) -> Self {
        Games { peers: peers.clone(), own: own.into_iter().collect(), ..self }
    }

    /// Has completion `index` tried, here or elsewhere.
    pub fn submit(&mut self, index: usize, written: Written) {
        if self.own.contains(&index) {
            self.scoring.submit(index, written.program.clone(), &written.cases);
        }
        self.ledger.written.insert(index, written);
    }

    /// Deals out anew what none of the peers has begun to play: programs that one prompt asks for take about as long as
    /// each other, and were all with one of them. All peers call it together, when all completions have been submitted.
    pub fn deal(&mut self) -> Result<(), TrainError> {
        let Games { scoring, ledger, peers, own } = self;
        if peers.size() == 1 {
            return Ok(());
        }
        let recalled = scoring.recall();
        own.retain(|index| !recalled.contains(index));
        let mut unbegun = peers.gather_lists(recalled)?;
        unbegun.sort_unstable();
        let programs = unbegun.into_iter().map(|index| {
            let Written { program, cases, .. } = &ledger.written[&index];
            (index, (program.as_ref().ok().map(Program::source), cases))
        });
        for index in dealt(programs, peers.size()).swap_remove(peers.rank()) {
            let Written { program, cases, .. } = &ledger.written[&index];
            scoring.submit(index, program.clone(), cases);
            own.insert(index);
        }
        Ok(())
    }

    /// See [`InPlay::tell`].
    pub fn tell(&mut self, observer: &mut dyn FnMut(Event<'_>)) {
        let Games { scoring, ledger, .. } = self;
        scoring.tell(&mut |index, evaluation| ledger.tell(index, evaluation, observer));
    }
}

impl Ledger {
    fn tell(&mut self, index: usize, evaluation: &Evaluation, observer: &mut dyn FnMut(Event<'_>)) {
        let (step, total) = (self.step, self.total);
        let Written { program, tokens, .. } = &self.written[&index];
        let reward = self.rule.score(Judged { evaluation, tokens: Some(*tokens) });
        if let Ok(program) = program {
            tell_games(step, Player::Completion { index, digest: &program.digest() }, evaluation, observer);
        }
        observer(Event::CompletionScored(&self.shown(index, evaluation, &reward)));
        self.rewards.insert(index, reward);
        observer(Event::Scored { step, done: self.rewards.len(), total });
    }

    /// A completion as a reader wants it.
    fn shown(&self, index: usize, evaluation: &Evaluation, reward: &Reward) -> ScoredCompletion {
        let Written { text, program, .. } = &self.written[&index];
        let endings = evaluation.games.iter().map(Outcome::in_words).collect::<Vec<_>>().join(", ");
        ScoredCompletion {
            step: self.step,
            index,
            source: program.as_ref().map_or(text.as_str(), Program::source).to_owned(),
            verdict: evaluation.verdict.name().to_owned(),
            reason: evaluation.verdict.reason().unwrap_or(endings),
            reward: shortest(reward.value),
            parts: reward.parts.iter().map(|(name, value)| ((*name).to_owned(), shortest(*value))).collect(),
            mean_score: evaluation.mean_score(),
            max_tile: evaluation.max_tile(),
            games: evaluation.games.len(),
            final_board: evaluation.games.first().and_then(|game| Some(game.board()?.final_board)),
        }
    }
}
