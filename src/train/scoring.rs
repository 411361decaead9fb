//! From prompts to scored completions: the one path by which training and evaluation sample and play.
//!
//! Completions go to the arena the moment they end, while the rest of the batch still decodes.

use std::time::{Duration, Instant};

use crate::arena::{Arena, Evaluation};
use crate::config::{Config, RewardConfig, RolloutConfig};
use crate::groups::Groups;
use crate::metrics::{CompletionScored, Event};
use crate::policy::Policy;
use crate::program::{Program, Rejection};
use crate::prompt::Prompt;
use crate::reward::{self, Reward};
use crate::rollout::{self, Completion, RolloutEvent};
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

impl Stage<'_> {
    /// Samples `rollout.num_generations` completions for each prompt and plays each on `boards`.
    pub fn episodes(
        &self,
        prompts: &[Prompt],
        rollout: &RolloutConfig,
        seed: Seed,
        boards: &[Seed],
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Groups<Episode>, Timing), TrainError> {
        let total = prompts.len() * rollout.num_generations;
        let mut programs: Vec<Option<Result<Program, Rejection>>> = vec![None; total];
        let mut scoring = self.arena.begin(total);
        let mut submitted = Ok(());
        let start = Instant::now();
        let (decoder, tokenizer) = (self.policy.decoder(), self.policy.tokenizer());
        let completions = rollout::generate(decoder, tokenizer, prompts, rollout, seed, &mut |event| match event {
            RolloutEvent::Finished { index, completion } => {
                let prompt = &prompts[index / rollout.num_generations];
                let program = Program::from_text(&prompt.program_text(&completion.text));
                if submitted.is_ok() {
                    submitted = scoring.submit(index, program.clone(), boards);
                    report(&mut scoring, &programs, &self.config.reward, total, observer);
                }
                programs[index] = Some(program);
            }
            RolloutEvent::Tokens { tokens, finished } => observer(Event::Decoding { tokens, finished, total }),
        })?;
        let generate = start.elapsed();
        submitted?;
        let evaluations = scoring.finish()?;
        let timing = Timing { generate, reward_wait: start.elapsed() - generate };
        let mut rest = programs.into_iter().zip(evaluations);
        let episodes = completions.map(|completion| {
            let (program, evaluation) = rest.next().expect("an evaluation for every completion");
            let program = program.expect("every completion ends");
            let reward = reward::score(&evaluation, &self.config.reward);
            Episode { completion, program, evaluation, reward }
        });
        Ok((episodes, timing))
    }
}
