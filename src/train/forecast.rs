//! What a run will take, before it starts: memory by its plan, time by a probe.
//!
//! Takes what [`Run::start`] takes and writes nothing. The probe samples from the real model on the real prompts, with
//! completions cut short where they would take long, and makes an update on some of them; what it did not do is
//! extrapolated, in proportion to tokens. The model has moved when it is over.

use std::time::Instant;

use crate::config::RolloutConfig;
use crate::groups::Groups;
use crate::grpo::{self, Batch};
use crate::metrics::Event;
use crate::prompt::Prompt;
use crate::rollout::{self, Completion, FinishReason, RolloutEvent};
use crate::seed::{Purpose, Seed};

use super::memory::{self, MemoryPlan};
use super::{Run, TrainError};

/// Seconds after which a part of the probe has seen enough.
const ENOUGH_S: f64 = 2.0;
/// Tokens of a completion that the probe begins with.
const FIRST_TOKENS: usize = 16;
/// Moves nothing that anybody keeps.
const LEARNING_RATE: f64 = 1e-9;

/// What would have begun.
#[derive(Debug)]
pub struct Rehearsal {
    /// Its memory.
    pub plan: MemoryPlan,
    /// How updates are cut to fit, if they are.
    pub notice: Option<String>,
    /// Its time.
    pub forecast: Forecast,
}

/// Seconds that a run will take, as far as a probe can tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// What the probe took.
    pub probe_s: f64,
    /// Longest completion of the probe, in tokens.
    pub tokens: usize,
    /// Share of its completions that had ended by then.
    pub ended: f64,
    /// Completions that its update was made on.
    pub rows: usize,
    /// Sampling of a step.
    pub generate: Seconds,
    /// Updates of a step.
    pub update: Seconds,
    /// One held-out evaluation.
    pub evaluate: Seconds,
}

/// Seconds of something whose length the model decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds {
    /// With completions as long as they are now; those that the probe cut count with what it saw of them.
    pub now: f64,
    /// With every completion as long as it may become.
    pub most: f64,
}

/// Completions of the probe, and the time they took.
struct Sampled {
    prompts: Vec<Prompt>,
    completions: Groups<Completion>,
    tokens: usize,
    /// Share that had ended.
    ended: f64,
    seconds: Seconds,
}

impl Run<'_> {
    /// Does everything that comes before the output directory is made, then a little of a step; alone, of a run that
    /// `processes` train together.
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
        let notice = memory::notice(self.config, plan.division);
        Ok(Rehearsal { plan, notice, forecast })
    }

    /// A step's completions, longer each time until writing them takes long enough to tell.
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
            // What the probe cut would have gone on: it is no truncated completion, which an update may leave out.
            let completions = completions.map(|one| match cut {
                true => Completion { finish: FinishReason::Stop, ..one },
                false => one,
            });
            return Ok(Sampled { prompts, completions, tokens, ended, seconds });
        }
    }

    /// Seconds of the updates of a step, and how many completions one was made on: a group, or all if that is quick.
    fn probe_update(&mut self, plan: &MemoryPlan, sampled: &Sampled) -> Result<(Seconds, usize), TrainError> {
        let (mut optimizer, reference) = (self.optimizer()?, self.reference()?);
        let size = sampled.completions.size();
        let mut update = |groups: usize| {
            let completions = Groups::new(size, sampled.completions.items()[..groups * size].iter().collect());
            let spread = |place: usize| (place % size) as f32 - (size - 1) as f32 / 2.0;
            let advantages = Groups::new(size, (0..groups * size).map(spread).collect());
            let prompts = &sampled.prompts[..groups];
            let batch = Batch::new(prompts, completions, advantages, &self.config.rollout, &self.config.grpo);
            let begin = Instant::now();
            let batch = self.referred(batch.divided(plan.division), reference.as_ref())?;
            grpo::update(self.policy, &mut optimizer, &batch, LEARNING_RATE, &mut |_, _| ())?;
            Ok::<_, TrainError>(begin.elapsed().as_secs_f64())
        };
        let all = self.config.rollout.groups;
        let (mut groups, mut seconds) = (1, update(1)?);
        if groups < all && seconds * (all as f64) < 2.0 * ENOUGH_S {
            (groups, seconds) = (all, update(all)?);
        } else if seconds < ENOUGH_S {
            // The first one asks for memory that the next one has.
            seconds = update(1)?;
        }
        let rows = groups * size;
        let asked = |rows: usize| -> usize {
            (0..rows)
                .map(|row| sampled.prompts[row / size].ids.len() + sampled.completions.items()[row].ids.len())
                .sum()
        };
        let longest = self.config.rollout.max_completion_length;
        let most: usize = sampled.prompts.iter().map(|prompt| size * (prompt.ids.len() + longest)).sum();
        let a_token = seconds / asked(rows) as f64;
        let all = asked(sampled.completions.items().len());
        Ok((Seconds { now: a_token * all as f64, most: a_token * most as f64 }, rows))
    }
}

impl Seconds {
    /// Both of several.
    pub fn plus(self, other: Seconds) -> Seconds {
        Seconds { now: self.now + other.now, most: self.most + other.most }
    }

    /// The same so many times.
    pub fn times(self, count: f64) -> Seconds {
        Seconds { now: self.now * count, most: self.most * count }
    }
}

impl Forecast {
    /// One step: sampling and its update.
    pub fn step(&self) -> Seconds {
        self.generate.plus(self.update)
    }
}
