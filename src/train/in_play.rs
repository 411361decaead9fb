//! Completions whose games are on.
//!
//! Takes completions as they end, hands their programs to the arena, and tells of every evaluation when it comes; gives
//! episodes once all have come. What is played does not depend on when anybody looks.

use std::time::{Duration, Instant};

use crate::arena::{Evaluation, Scoring};
use crate::config::RewardConfig;
use crate::environment::game2048::entry;
use crate::groups::Groups;
use crate::metrics::{Activity, Event, Period, Player, ScoredCompletion, shortest};
use crate::program::{Program, Rejection};
use crate::prompt::Prompt;
use crate::reward;
use crate::rollout::Completion;
use crate::seed::Seed;

use super::TrainError;
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

    /// Tells of what has been evaluated meanwhile, without waiting, and lets the next games of a program begin.
    pub fn poll(&mut self, observer: &mut dyn FnMut(Event<'_>)) {
        self.games.poll(observer);
    }

    /// Waits for the rest.
    pub fn finish(self, observer: &mut dyn FnMut(Event<'_>)) -> Result<(Groups<Episode>, Timing), TrainError> {
        let InPlay { completions, games: Games { scoring, mut ledger }, generate } = self;
        let begin = Instant::now();
        let evaluations = scoring.finish_with(&mut |index, evaluation| ledger.tell(index, evaluation, observer))?;
        let end = Instant::now();
        observer(Event::ActivityDone(Activity::RewardWait, Period { begin, end }));
        let mut rest = ledger.written.into_iter().flatten().zip(evaluations);
        let episodes = completions.map(|completion| {
            let (written, evaluation) = rest.next().expect("an evaluation for every completion");
            let reward = reward::score(&evaluation, &ledger.reward);
            Episode { completion, program: written.program, evaluation, reward }
        });
        Ok((episodes, Timing { generate, reward_wait: end - begin }))
    }
}

/// The games of a batch that is being written.
pub(super) struct Games {
    scoring: Scoring,
    ledger: Ledger,
}

/// What is known of each completion before its evaluation.
struct Ledger {
    written: Vec<Option<Written>>,
    scored: usize,
    reward: RewardConfig,
}

/// A completion between its end and its evaluation.
#[derive(Debug, Clone)]
struct Written {
    text: String,
    program: Result<Program, Rejection>,
}

impl Games {
    /// Of `total` completions.
    pub fn new(scoring: Scoring, total: usize, reward: &RewardConfig) -> Self {
        Games { scoring, ledger: Ledger { written: vec![None; total], scored: 0, reward: reward.clone() } }
    }

    /// Has completion `index` play `boards`.
    pub fn submit(&mut self, index: usize, (prompt, completion): (&Prompt, &Completion), boards: &[Seed]) {
        let text = prompt.program_text(&completion.text);
        let program = Program::from_text(&text, &entry());
        self.ledger.written[index] = Some(Written { text, program: program.clone() });
        self.scoring.submit(index, program, boards);
    }

    /// See [`InPlay::poll`].
    pub fn poll(&mut self, observer: &mut dyn FnMut(Event<'_>)) {
        let Games { scoring, ledger } = self;
        scoring.poll(&mut |index, evaluation| ledger.tell(index, evaluation, observer));
    }
}

impl Ledger {
    fn tell(&mut self, index: usize, evaluation: &Evaluation, observer: &mut dyn FnMut(Event<'_>)) {
        self.scored += 1;
        if let Some(written) = &self.written[index] {
            if let Ok(program) = &written.program {
                tell_games(Player::Completion { index, digest: &program.digest() }, evaluation, observer);
            }
            observer(Event::CompletionScored(&shown(index, written, (evaluation, &self.reward))));
        }
        observer(Event::Scored { done: self.scored, total: self.written.len() });
    }
}

/// A completion as a reader wants it.
fn shown(index: usize, written: &Written, (evaluation, reward): (&Evaluation, &RewardConfig)) -> ScoredCompletion {
    let reward = reward::score(evaluation, reward);
    let endings = evaluation.games.iter().map(|game| game.ending.name()).collect::<Vec<_>>().join(", ");
    ScoredCompletion {
        step: 0,
        index,
        source: written.program.as_ref().map_or_else(|_| written.text.clone(), |program| program.source().to_owned()),
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
