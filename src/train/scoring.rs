//! From prompts to scored completions: the one path by which training and evaluation sample and play.
//!
//! Completions go to the arena the moment they end, while the rest of the batch still decodes.

use std::time::{Duration, Instant};

use crate::arena::{Arena, Evaluation};
use crate::config::{Config, RolloutConfig, ScaleRewards};
use crate::groups::Groups;
use crate::grpo;
use crate::metrics::{Activity, Event, GamePlayed, Period, Player};
use crate::parallel::Peers;
use crate::policy::Policy;
use crate::program::{Program, Rejection};
use crate::prompt::Prompt;
use crate::reward::{Reward, Rule};
use crate::rollout::{Completion, RolloutEvent, Servers, Streams};
use crate::seed::{Purpose, Seed};

use super::TrainError;
use super::divided::Own;
use super::in_play::{Games, InPlay, Written};

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

/// Whether all rewards of a group count the same.
pub fn is_tied(group: &[Episode], scale: ScaleRewards) -> bool {
    grpo::is_tied(&group.iter().map(|episode| episode.reward.value).collect::<Vec<_>>(), scale)
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
    /// Write them in its place, if there are any.
    pub servers: Option<&'a Servers>,
    /// Plays them.
    pub arena: &'a Arena,
    /// The run's settings.
    pub config: &'a Config,
    /// Among whom completions are divided.
    pub peers: &'a Peers,
}

/// What the completions of a batch draw from and play.
#[derive(Debug, Clone, Copy)]
pub struct Draw<'a> {
    /// Their chance.
    pub streams: Streams,
    /// Boards that each of them plays.
    pub boards: &'a [Seed],
    /// Number of the step, 0 in an evaluation. Games of a lower one are played first.
    pub step: usize,
}

/// Boards that every completion of a step plays: common to the whole step, so that equal programs tie exactly.
pub fn boards(seed: Seed, purpose: Purpose, games: usize) -> Vec<Seed> {
    (0..games as u64).map(|game| seed.child(purpose, game)).collect()
}

/// Tells of every game that this process played for an evaluation.
pub fn tell_games(step: usize, player: Player<'_>, evaluation: &Evaluation, observer: &mut dyn FnMut(Event<'_>)) {
    for usage in &evaluation.usage.games {
        let Some(begin) = usage.begin else { continue };
        let outcome = evaluation.games.get(usage.game).filter(|_| !usage.failed);
        let ending = match outcome {
            Some(outcome) => outcome.ending.name(),
            None if usage.failed => "sandbox_failed",
            None => evaluation.verdict.name(),
        };
        observer(Event::GamePlayed(&GamePlayed {
            step,
            player,
            game: usage.game,
            worker: usage.worker,
            period: Period { begin, end: begin + usage.wall },
            score: outcome.map_or(0.0, |outcome| outcome.score),
            ending,
            fuel: outcome.map_or(0, |outcome| outcome.fuel),
        }));
    }
}

impl Stage<'_> {
    /// Samples `rollout.num_generations` completions for each prompt; the games of each begin when it ends.
    pub fn begin(
        &self,
        prompts: &[Prompt],
        rollout: &RolloutConfig,
        draw: Draw<'_>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<InPlay, TrainError> {
        let asked = Groups::repeat(rollout.num_generations, prompts).into_items();
        let (step, total) = (draw.step, asked.len());
        let own = Own::of(self.peers, prompts, rollout.num_generations, rollout.max_completion_length);
        let mut games = self.games(total, &own, draw);
        let begin = Instant::now();
        let mut hear = |event: RolloutEvent<'_>| match event {
            RolloutEvent::Finished { index, completion } => {
                observer(Event::Written { step, index, tokens: completion.ids.len() });
                self.submit(&mut games, index, asked[index], completion, draw.boards);
                games.tell(observer);
            }
            RolloutEvent::Predicted => {}
            RolloutEvent::Tokens { tokens, finished } => {
                games.tell(observer);
                observer(Event::Decoding { step, tokens, finished, total });
            }
            RolloutEvent::PartDone { part, begin, end } => {
                let (activity, period) = (Activity::DecodingPart(part), Period { begin, end });
                observer(Event::ActivityDone { step, activity, period });
            }
            RolloutEvent::Trouble(text) => observer(Event::Message(&format!("warning, --rollouts {text}"))),
        };
        let completions = self.written(&own, prompts, rollout, draw.streams, &mut hear)?;
        let end = Instant::now();
        for (index, completion) in completions.iter().enumerate().filter(|(index, _)| !own.has(*index)) {
            self.submit(&mut games, index, asked[index], completion, draw.boards);
        }
        games.deal()?;
        let completions = Groups::new(rollout.num_generations, completions);
        observer(Event::ActivityDone { step, activity: Activity::Decoding, period: Period { begin, end } });
        Ok(InPlay::new(completions, games, end - begin))
    }

    /// Has completions play that were sampled earlier.
    pub fn play(
        &self,
        prompts: &[Prompt],
        completions: Groups<Completion>,
        draw: Draw<'_>,
    ) -> Result<InPlay, TrainError> {
        let own = Own::of(self.peers, prompts, completions.size(), self.config.rollout.max_completion_length);
        let mut games = self.games(completions.items().len(), &own, draw);
        for (index, (prompt, completion)) in completions.with(prompts).enumerate() {
            self.submit(&mut games, index, prompt, completion, draw.boards);
        }
        games.deal()?;
        Ok(InPlay::new(completions, games, Duration::ZERO))
    }

    /// [`begin`](Stage::begin), and waits for the games.
    pub fn episodes(
        &self,
        prompts: &[Prompt],
        rollout: &RolloutConfig,
        draw: Draw<'_>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Groups<Episode>, Timing), TrainError> {
        self.begin(prompts, rollout, draw, observer)?.finish(observer)
    }

    fn games(&self, total: usize, own: &Own, draw: Draw<'_>) -> Games {
        let scoring = self.arena.begin(draw.step);
        Games::new(scoring, draw.step, total, self.rule()).among(self.peers, own.rows.iter().copied())
    }

    /// How what programs do is rewarded.
    pub fn rule(&self) -> Rule {
        Rule::new(&self.config.reward, self.arena.environment())
    }

    /// Has completion `index`, if it falls to this process, tried on the task it was asked to solve, or on these boards.
    fn submit(&self, games: &mut Games, index: usize, prompt: &Prompt, completion: &Completion, boards: &[Seed]) {
        let cases = self.arena.environment().cases(prompt.task, boards);
        let text = prompt.program_text(&completion.text);
        let program = self.arena.program(&text, cases[0]);
        let tokens = (completion.ids.len(), self.config.rollout.max_completion_length);
        games.submit(index, Written { text, program, cases, tokens });
    }
}
