//! Begins a step: its inputs, its samples and its games, now or ahead of the update of the step before.

use std::path::Path;

use crate::config::{PromptDraw, StepsAhead};
use crate::metrics::Event;

use super::Run;
use super::ahead::{StepInPlay, StepInputs, load, unreadable};
use super::curriculum::Curriculum;
use super::error::TrainError;
use super::scoring::step_boards;

impl Run<'_> {
    /// The inputs of step number `step`, where earlier steps have led to `curriculum`.
    pub(super) fn step_inputs(&self, step: usize, curriculum: &Curriculum) -> StepInputs {
        let (seed, boards) = step_boards(self.config, step);
        let groups = self.config.rollout.groups;
        let prompts = match self.config.rollout.draw {
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
        let in_play = self.stage().begin(&requests, inputs.draw(), observer)?;
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
        let in_play = self.stage().begin(&requests, inputs.draw(), &mut |event| {
            // Games of the current step that end meanwhile are reported in between.
            now.in_play.emit(observer);
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
