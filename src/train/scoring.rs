//! From prompts to scored completions: the one path by which training and evaluation sample and play.
//!
//! Completions go to the arena the moment they end, while the rest of the batch still decodes.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crate::arena::{Arena, Evaluation};
use crate::config::{Config, RolloutConfig};
use crate::groups::Groups;
use crate::metrics::{Activity, Event, GamePlayed, Period, Player, ScoredCompletion, shortest};
use crate::policy::Policy;
use crate::program::{Program, Rejection};
use crate::prompt::Prompt;
use crate::reward::{self, Reward};
use crate::rollout::{self, Completion, RolloutEvent, Streams};
use crate::seed::{Purpose, Seed};

use super::TrainError;

/// One completion with everything that became of it.
#[derive(Debug, Clone)]
pub struct Episode {
    /// What was sampled.
    pub completion: Completion,
    /// The program in it, if there is one.
    pub program: Result<Program, Rejection>,
    /// How it played.
    pub evaluation: Evaluation,
    /// What that is worth.
    pub reward: Reward,
}

impl Episode {
    /// Whether every game went on to an ending that is no fault of the program: no move left, or budget used up.
    pub fn plays(&self) -> bool {
        self.evaluation.plays()
    }
}

/// Whether all rewards of a group are the same number.
pub fn is_tied(group: &[Episode]) -> bool {
    group.windows(2).all(|pair| pair[0].reward.value == pair[1].reward.value)
}

/// A completion between its end and its evaluation.
#[derive(Debug, Clone)]
struct Written {
    text: String,
    program: Result<Program, Rejection>,
}

/// What sampling and scoring took, wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timing {
    /// Sampling, games that ran meanwhile included.
    pub generate: Duration,
    /// What was waited for games after sampling had ended.
    pub reward_wait: Duration,
}

/// Who samples and who plays.
pub struct Stage<'a> {
    /// Writes the programs.
    pub policy: &'a Policy,
    /// Plays them.
    pub arena: &'a Arena,
    /// The run's settings.
    pub config: &'a Config,
}

/// Boards that every completion of a step plays: common to the whole step, so that equal programs tie exactly.
pub fn boards(seed: Seed, purpose: Purpose, games: usize) -> Vec<Seed> {
    (0..games as u64).map(|game| seed.child(purpose, game)).collect()
}

/// Tells of every game that was played for an evaluation.
pub fn tell_games(player: Player<'_>, evaluation: &Evaluation, observer: &mut dyn FnMut(Event<'_>)) {
    for usage in &evaluation.usage.games {
        let outcome = evaluation.games.get(usage.game).filter(|_| !usage.failed);
        let ending = match outcome {
            Some(outcome) => outcome.ending.name(),
            None if usage.failed => "sandbox_failed",
            None => evaluation.verdict.name(),
        };
        observer(Event::GamePlayed(&GamePlayed {
            player,
            game: usage.game,
            worker: usage.worker,
            period: Period { begin: usage.begin, end: usage.end },
            score: outcome.map_or(0, |outcome| outcome.score),
            ending,
            fuel: outcome.map_or(0, |outcome| outcome.fuel),
        }));
    }
}

impl Stage<'_> {
    /// Samples `rollout.num_generations` completions for each prompt and plays each on `boards`.
    pub fn episodes(
        &self,
        prompts: &[Prompt],
        rollout: &RolloutConfig,
        (streams, boards): (impl Into<Streams>, &[Seed]),
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Groups<Episode>, Timing), TrainError> {
        let total = prompts.len() * rollout.num_generations;
        let written: RefCell<Vec<Option<Written>>> = RefCell::new(vec![None; total]);
        let observer = RefCell::new(observer);
        let mut scored = 0;
        let on_evaluated = |index: usize, evaluation: &Evaluation| {
            scored += 1;
            let mut tell = observer.borrow_mut();
            if let Some(written) = &written.borrow()[index] {
                tell(Event::CompletionScored(&self.shown(index, written, evaluation)));
            }
            tell(Event::Scored { done: scored, total });
        };
        let mut scoring = self.arena.begin_with(on_evaluated);
        let start = Instant::now();
        let completions = rollout::generate(self.policy, prompts, rollout, streams, &mut |event| match event {
            RolloutEvent::Finished { index, completion } => {
                let text = prompts[index / rollout.num_generations].program_text(&completion.text);
                observer.borrow_mut()(Event::Written { index, tokens: completion.ids.len() });
                let program = Program::from_text(&text);
                written.borrow_mut()[index] = Some(Written { text, program: program.clone() });
                scoring.submit(index, program, boards);
            }
            RolloutEvent::Predicted => {}
            RolloutEvent::Tokens { tokens, finished } => {
                scoring.poll();
                observer.borrow_mut()(Event::Decoding { tokens, finished, total });
            }
            RolloutEvent::PartDone { part, begin, end } => {
                observer.borrow_mut()(Event::ActivityDone(Activity::DecodingPart(part), Period { begin, end }));
            }
        })?;
        let decoded = Instant::now();
        let evaluations = scoring.finish()?;
        let scored = Instant::now();
        let timing = Timing { generate: decoded - start, reward_wait: scored - decoded };
        let observer = observer.into_inner();
        observer(Event::ActivityDone(Activity::Decoding, Period { begin: start, end: decoded }));
        observer(Event::ActivityDone(Activity::RewardWait, Period { begin: decoded, end: scored }));
        let mut rest = written.into_inner().into_iter().flatten().zip(evaluations);
        let episodes = completions.map(|completion| {
            let (written, evaluation) = rest.next().expect("an evaluation for every completion");
            let reward = reward::score(&evaluation, &self.config.reward);
            Episode { completion, program: written.program, evaluation, reward }
        });
        for (index, episode) in episodes.items().iter().enumerate() {
            if let Ok(program) = &episode.program {
                tell_games(Player::Completion { index, digest: &program.digest() }, &episode.evaluation, observer);
            }
        }
        Ok((episodes, timing))
    }

    /// A completion as a reader wants it.
    fn shown(&self, index: usize, written: &Written, evaluation: &Evaluation) -> ScoredCompletion {
        let reward = reward::score(evaluation, &self.config.reward);
        let endings = evaluation.games.iter().map(|game| game.ending.name()).collect::<Vec<_>>().join(", ");
        ScoredCompletion {
            step: 0,
            index,
            source: written
                .program
                .as_ref()
                .map_or_else(|_| written.text.clone(), |program| program.source().to_owned()),
            verdict: evaluation.verdict.name().to_owned(),
            reason: evaluation.verdict.reason().unwrap_or(endings),
            reward: shortest(reward.value),
            parts: reward.parts.iter().map(|(name, value)| ((*name).to_owned(), shortest(*value))).collect(),
            mean_score: evaluation.mean_score(),
            max_tile: evaluation.max_tile(),
            games: evaluation.games.len(),
            final_board: evaluation.games.first().map(|game| game.final_board),
        }
    }
}
