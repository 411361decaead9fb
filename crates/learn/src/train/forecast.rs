//! Forecasts the memory and the time of a run before it starts: memory from its plan, time from a probe.
//!
//! Needs what [`Run::start`] needs and writes nothing. The probe samples from the real model with the real prompts,
//! with shorter completions if full ones would take long, and makes an update on some of them. The rest is extrapolated
//! in proportion to tokens. The probe changes the weights of the model slightly.

use std::time::Instant;

use crate::config::RolloutConfig;
use crate::groups::Groups;
use crate::grpo::{self, Batch};
use crate::metrics::Event;
use crate::prompt::Prompt;
use crate::rollout::{self, Completion, FinishReason, RolloutEvent};
use crate::seed::{Purpose, Seed};

use super::memory::{self, MemoryPlan};
use super::reference::Reference;
use super::{Run, TrainError, optimizer};

/// A part of the probe that has taken so many seconds is not repeated with more tokens or completions.
const ENOUGH_S: f64 = 2.0;
/// Maximum number of tokens of a completion in the first round of the probe.
const FIRST_TOKENS: usize = 16;
/// Learning rate of the probe's update, small because the update is not wanted.
const LEARNING_RATE: f64 = 1e-9;

#[derive(Debug)]
pub struct Rehearsal {
    pub plan: MemoryPlan,
    /// How updates are divided so that they fit into memory, if they are.
    pub notice: Option<String>,
    pub forecast: Forecast,
}

/// The times of the parts of a run, extrapolated from a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Duration of the probe, in seconds.
    pub probe_s: f64,
    /// Maximum length of the probe's completions, in tokens.
    pub tokens: usize,
    /// Share of its completions that ended within this length, 0 to 1.
    pub ended: f64,
    /// Number of completions that its update was made on.
    pub rows: usize,
    /// Sampling the completions of one step.
    pub generate: Seconds,
    /// The updates of one step.
    pub update: Seconds,
    /// One held-out evaluation.
    pub evaluate: Seconds,
}

/// A time in seconds, for two lengths of completions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds {
    /// With completions as long as they are now; those that the probe truncated count with their truncated length.
    pub now: f64,
    /// With all completions of the maximum length.
    pub most: f64,
}

/// The completions of the probe and the time of sampling them.
struct Sampled {
    prompts: Vec<Prompt>,
    completions: Groups<Completion>,
    /// Maximum length of the completions, in tokens.
    tokens: usize,
    /// Share of completions that ended within `tokens`.
    ended: f64,
    seconds: Seconds,
}

impl Run<'_> {
    /// Makes the checks of [`Run::start`] up to the creation of the output directory, then runs the probe. It runs in
    /// one process, also for a run that `processes` will train together.
    pub fn rehearse(mut self, processes: usize, observer: &mut dyn FnMut(Event<'_>)) -> Result<Rehearsal, TrainError> {
        let plan = self.plan(None, processes, observer)?;
        self.compare_servers()?;
        let begin = Instant::now();
        let sampled = self.probe_sampling()?;
        let (update, rows) = self.probe_update(&plan, &sampled)?;
        let evaluated = self.config.train.eval_samples as f64 / self.config.completions_per_step() as f64;
        let forecast = Forecast {
            probe_s: begin.elapsed().as_secs_f64(),
            tokens: sampled.tokens,
            ended: sampled.ended,
            rows,
            generate: sampled.seconds,
            update,
            evaluate: sampled.seconds.times(evaluated),
        };
        let notice = memory::notice(self.config, self.policy.decoder().kernels(), plan.division, None);
        Ok(Rehearsal { plan, notice, forecast })
    }

    /// Samples the completions of a step, with a larger maximum length each time until sampling takes [`ENOUGH_S`].
    fn probe_sampling(&self) -> Result<Sampled, TrainError> {
        let seed = Seed::root(self.config.train.seed).child(Purpose::Sample, 0);
        let prompts = self.prompts.draw(seed, self.config.rollout.groups);
        let longest = self.config.rollout.max_completion_length;
        let mut tokens = FIRST_TOKENS.min(longest);
        loop {
            let config = RolloutConfig { max_completion_length: tokens, ..self.config.rollout.clone() };
            let (begin, mut first) = (Instant::now(), None);
            let mut hear = |event: RolloutEvent<'_>| {
                if let RolloutEvent::Tokens { .. } = event {
                    first.get_or_insert_with(Instant::now);
                }
            };
            let completions = rollout::generate(self.policy, &prompts, &config, seed, &mut hear)?;
            let decode = first.unwrap_or(begin).elapsed().as_secs_f64();
            let now = begin.elapsed().as_secs_f64();
            if tokens < longest && decode < ENOUGH_S {
                let enough = (ENOUGH_S / decode * tokens as f64) as usize;
                tokens = enough.max(2 * tokens).min(longest);
                continue;
            }
            let sampled: usize = completions.items().iter().map(|one| one.ids.len()).sum();
            let all = (completions.items().len() * longest) as f64;
            let seconds = Seconds { now, most: now - decode + decode * all / sampled as f64 };
            let stopped = completions.items().iter().filter(|one| one.finish == FinishReason::Stop).count();
            let ended = stopped as f64 / completions.items().len() as f64;
            let cut = tokens < longest;
            // Completions that only the probe truncated must not count as truncated, because updates may leave those
            // out.
            let completions = completions.map(|one| match cut {
                true => Completion { finish: FinishReason::Stop, ..one },
                false => one,
            });
            return Ok(Sampled { prompts, completions, tokens, ended, seconds });
        }
    }

    /// Seconds of the updates of a step, and the number of completions that the probe's update was made on: one group,
    /// or all of them if that is quick.
    fn probe_update(&mut self, plan: &MemoryPlan, sampled: &Sampled) -> Result<(Seconds, usize), TrainError> {
        let mut optimizer = optimizer(self.policy, self.config)?;
        let reference = Reference::of(self.policy, self.config)?;
        // As many of each group as an update learns from.
        let size = self.config.learnt_per_group();
        let learnt: Vec<&Completion> = sampled.completions.iter().flat_map(|group| &group[..size]).collect();
        let mut update = |groups: usize| {
            let completions = Groups::new(size, learnt[..groups * size].to_vec());
            let spread = |place: usize| (place % size) as f32 - (size - 1) as f32 / 2.0;
            let advantages = Groups::new(size, (0..groups * size).map(spread).collect());
            let prompts = &sampled.prompts[..groups];
            let batch = Batch::new(prompts, completions, advantages, &self.config.rollout, &self.config.grpo);
            let begin = Instant::now();
            let batch = Reference::added(reference.as_ref(), batch.divided(plan.division), self.policy)?;
            grpo::update(self.policy, &mut optimizer, &batch, LEARNING_RATE, &mut |_, _| ())?;
            Ok::<_, TrainError>(begin.elapsed().as_secs_f64())
        };
        let all = self.config.rollout.groups;
        let (mut groups, mut seconds) = (1, update(1)?);
        if groups < all && seconds * (all as f64) < 2.0 * ENOUGH_S {
            (groups, seconds) = (all, update(all)?);
        } else if seconds < ENOUGH_S {
            // The first update also allocates memory, which the second reuses.
            seconds = update(1)?;
        }
        let rows = groups * size;
        let asked = |rows: usize| -> usize {
            (0..rows).map(|row| sampled.prompts[row / size].ids.len() + learnt[row].ids.len()).sum()
        };
        let longest = self.config.rollout.max_completion_length;
        let most: usize = sampled.prompts.iter().map(|prompt| size * (prompt.ids.len() + longest)).sum();
        let a_token = seconds / asked(rows) as f64;
        // Elites are as long as completions.
        let elites = if self.config.grpo.elite_coef > 0.0 { self.config.grpo.elites_per_step } else { 0 };
        let a_step = a_token * (1.0 + elites as f64 / learnt.len() as f64);
        Ok((Seconds { now: a_step * asked(learnt.len()) as f64, most: a_step * most as f64 }, rows))
    }
}

impl Seconds {
    pub fn plus(self, other: Seconds) -> Seconds {
        Seconds { now: self.now + other.now, most: self.most + other.most }
    }

    pub fn times(self, count: f64) -> Seconds {
        Seconds { now: self.now * count, most: self.most * count }
    }
}

impl Forecast {
    /// One step: sampling and updates.
    pub fn step(&self) -> Seconds {
        self.generate.plus(self.update)
    }
}
