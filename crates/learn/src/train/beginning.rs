//! Begins a step: its inputs, its samples and its games, now or ahead of the update of the step before.

use std::path::Path;

use rand::Rng;

use crate::config::{PromptDraw, StepsAhead};
use crate::metrics::Event;
use crate::prompt::Prompt;
use crate::seed::{Purpose, Seed};

use super::Run;
use super::ahead::{load, unreadable};
use super::curriculum::Curriculum;
use super::error::TrainError;
use super::in_play::StepInPlay;
use super::scoring::{StepInputs, step_boards};

impl Run<'_> {
    /// The inputs of step number `step`, where earlier steps have led to `curriculum`.
    pub(super) fn step_inputs(&self, step: usize, curriculum: &Curriculum) -> StepInputs {
        let (seed, boards) = step_boards(self.config, step);
        let groups = self.config.rollout.groups;
        let prompts = match self.config.rollout.draw {
            PromptDraw::All if self.arena.environment().has_tests() => {
                let seed_of = |pass: usize| step_boards(self.config, pass + 1).0;
                in_passes(self.prompts.prompts(), (step - 1) * groups, groups, seed_of)
            }
            PromptDraw::All => self.prompts.draw(seed, groups),
            PromptDraw::Pools => curriculum.draw(self.prompts.prompts(), seed, groups),
        };
        StepInputs { step, seed, prompts, boards }
    }

    /// Samples the current step, when the policy has learnt from all earlier ones.
    pub(super) fn begin(
        &self,
        inputs: &StepInputs,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<StepInPlay, TrainError> {
        let requests = inputs.requests(self.config.rollout.num_generations);
        let in_play = self.stage().begin(&requests, inputs.draw(), None, observer)?;
        Ok(StepInPlay { in_play, policy_step: inputs.step - 1 })
    }

    /// Samples the step after `step` while the games of `step`, `now`, are played, if `train.steps_ahead` asks for it
    /// and there is a next step. A request to stop does not prevent it, so that a resumed run finds the same
    /// completions as a run without interruption.
    pub(super) fn begin_ahead(
        &self,
        step: usize,
        now: &mut StepInPlay,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<StepInPlay>, TrainError> {
        if self.config.train.steps_ahead == StepsAhead::None || step >= self.config.train.max_steps {
            return Ok(None);
        }
        // No pools: the configuration refuses them here.
        let inputs = self.step_inputs(step + 1, &Curriculum::default());
        let requests = inputs.requests(self.config.rollout.num_generations);
        let in_play = self.stage().begin(&requests, inputs.draw(), None, &mut |event| {
            // Games of the current step that end meanwhile are reported in between.
            now.in_play.games.emit(observer);
            observer(event);
        })?;
        Ok(Some(StepInPlay { in_play, policy_step: step - 1 }))
    }

    /// Starts the games of the step after `done`, if the checkpoint `path` holds completions that were sampled ahead
    /// for it.
    pub(super) fn restore_ahead(&self, path: &Path, done: usize) -> Result<Option<StepInPlay>, TrainError> {
        if self.config.train.steps_ahead == StepsAhead::None || done >= self.config.train.max_steps {
            return Ok(None);
        }
        let (inputs, size) = (self.step_inputs(done + 1, &Curriculum::default()), self.config.rollout.num_generations);
        let Some(completions) = load(path, self.policy.tokenizer(), size, inputs.seed)? else {
            return Ok(None);
        };
        if completions.count() != inputs.prompts.len() {
            let (found, expected) = (completions.count(), inputs.prompts.len());
            return Err(unreadable(path, format!("holds {found} groups, expected {expected}")));
        }
        let in_play = self.stage().play(&inputs.requests(size), completions, inputs.draw())?;
        Ok(Some(StepInPlay { in_play, policy_step: done - 1 }))
    }
}

/// Prompts number `first` to `first + count` of a run, from 0: all of them in random order, whichever steps ask them, before
/// any of them again. So a run of as many prompts as there are tasks asks each of them once. `seed_of` has the seed of each
/// pass over them.
fn in_passes(prompts: &[Prompt], first: usize, count: usize, seed_of: impl Fn(usize) -> Seed) -> Vec<Prompt> {
    let mut drawn = Vec::with_capacity(count);
    while drawn.len() < count {
        let next = first + drawn.len();
        let mut rng = seed_of(next / prompts.len()).child(Purpose::Prompt, 0).rng();
        let mut left: Vec<usize> = (0..prompts.len()).collect();
        let order = (0..prompts.len()).map(|_| left.swap_remove(rng.random_range(0..left.len())));
        let asked = order.skip(next % prompts.len()).take(count - drawn.len());
        drawn.extend(asked.map(|place| prompts[place].clone()));
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_asked_before_any_is_asked_again_whichever_steps_ask() {
        let prompts: Vec<Prompt> = (0..7).map(|id| Prompt { id, ..Prompt::default() }).collect();
        let seed_of = |pass: usize| Seed::root(pass as u64);
        let ids = |first, count| -> Vec<u32> {
            in_passes(&prompts, first, count, seed_of).into_iter().map(|prompt| prompt.id).collect()
        };
        // Steps of three prompts: seven of them are three passes.
        let asked: Vec<u32> = (0..7).flat_map(|step| ids(3 * step, 3)).collect();
        assert_eq!(asked, ids(0, 21));
        let passes: Vec<&[u32]> = asked.chunks(7).collect();
        for pass in &passes {
            let mut sorted = pass.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6]);
        }
        assert_ne!(passes[0], passes[1], "each pass has an order of its own");
        assert_ne!(asked[..7], [0, 1, 2, 3, 4, 5, 6]);
    }
}
