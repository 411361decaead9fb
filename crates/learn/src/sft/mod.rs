//! Supervised warm start: a model learns to write programs of the corpus, or references of tasks and how to repair a
//! program, before it is trained with rewards.
//!
//! Takes settings, a seed and a model with what it reads, or no model to create the built-in one; writes a model
//! directory in Hugging Face layout or a PEFT adapter. A step depends only on the seed and its number, so a run that was
//! killed continues from its last checkpoint with the same results. Does not know rewards or games.

mod batches;
mod builtin;
mod error;
mod left_out;
mod lessons;
mod memory;
mod options;
mod saving;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use candle_core::DType;

use crate::config::SftConfig;
use crate::corpus::Mix;
use crate::grpo::{self, AdamW, Gradients, Optimizer};
use crate::policy::{Adapters, Dropout, Policy};
use crate::prompt::PromptSet;
use crate::seed::{Purpose, Seed};
use crate::train::run_dir::{self, Fingerprint};

use batches::{Example, Writer, micro_batches};
pub use builtin::builtin_shape;
pub use error::SftError;
pub use left_out::{LeftOut, Unread};
pub use lessons::{LessonSource, Lessons};
pub use memory::parts_at_once;
pub use options::{Learner, SftOptions};
use saving::{Saved, State};
pub use saving::{SftSummary, check_dir, is_done, keep_tried};

/// How often a run measures its loss and saves, and the format of its result.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Number of tokens of held-out programs on which the loss is measured.
    held_out_tokens: usize,
    /// Number of steps between checkpoints, at which the held-out loss is also measured.
    save_steps: usize,
    /// Number format of the weights of a whole model. Adapters keep their format.
    format: DType,
}

/// For the built-in model, whose steps are short. F16 is precise enough as the start of further training.
const BUILTIN_PACE: Pace = Pace { held_out_tokens: 32_000, save_steps: 100, format: DType::F16 };
/// For language models, which are about a hundred times slower per token.
const MODEL_PACE: Pace = Pace { held_out_tokens: 8_000, save_steps: 20, format: DType::F32 };

/// The progress after a step.
#[derive(Debug, Clone)]
pub struct SftProgress {
    /// Number of steps done.
    pub step: usize,
    pub steps: usize,
    /// Number of tokens so far, including prompts.
    pub tokens: usize,
    /// Mean negative log-probability of this step's target tokens, in nats per token.
    pub loss: f64,
    /// The same on held-out programs, if it was measured after this step.
    pub held_out_loss: Option<f64>,
    pub learning_rate: f64,
    /// Global norm of the gradient before clipping; infinite if it left the range of f16 and the update was skipped.
    pub grad_norm: f64,
    /// Mean number of tokens per second since training began or was resumed.
    pub tokens_per_second: f64,
    /// Estimated time until the last step.
    pub remaining: Duration,
}

/// Trains `learner`, or a new built-in model, saves it, and returns it. `begin` is called before anything is written but the lock,
/// when all that is read is prepared; `observe` is called after every step and may stop the run. One that is done is made again:
/// [`SftOptions::check_dir`] tells whether it is.
pub fn run(
    options: &SftOptions,
    learner: Option<Learner>,
    begin: &mut dyn FnMut(),
    observe: &mut dyn FnMut(&SftProgress) -> ControlFlow<()>,
) -> Result<(SftSummary, Policy), SftError> {
    check_dir(&options.output_dir)?;
    let _lock = run_dir::lock(&options.output_dir)?;
    run_dir::sweep(&options.output_dir)?;
    let mut training = Training::begin(options, learner)?;
    begin();
    if training.step == 0 {
        training.state(None).write(&options.output_dir)?;
    }
    let started = (Instant::now(), training.tokens);
    let mut held_out_loss = None;
    while training.step < training.steps {
        let (loss, grad_norm, learning_rate) = training.advance()?;
        let (step, last) = (training.step, training.step == training.steps);
        held_out_loss = match last || step.is_multiple_of(training.pace.save_steps) {
            true => Some(training.held_out_loss()?),
            false => None,
        };
        let elapsed = started.0.elapsed().as_secs_f64();
        let tokens_per_second = (training.tokens - started.1) as f64 / elapsed.max(1e-9);
        let tokens_left = (training.steps - step) * options.config.batch_tokens;
        let remaining = Duration::try_from_secs_f64(tokens_left as f64 / tokens_per_second).unwrap_or(Duration::MAX);
        let progress = SftProgress {
            step,
            steps: training.steps,
            tokens: training.tokens,
            loss,
            held_out_loss,
            learning_rate,
            grad_norm,
            tokens_per_second,
            remaining,
        };
        let stop = observe(&progress).is_break() && !last;
        if stop || held_out_loss.is_some() {
            training.saved()?.write(&options.output_dir)?;
        }
        if stop {
            return Ok((training.summary(true, held_out_loss)?, training.policy));
        }
    }
    saving::write_model(&training.policy, training.pace.format, &options.output_dir)?;
    let summary = training.summary(false, held_out_loss)?;
    training.state(Some([summary.first_loss, summary.held_out_loss])).write(&options.output_dir)?;
    saving::remove_checkpoints(&options.output_dir, None)?;
    Ok((summary, training.policy))
}

struct Training<'a> {
    options: &'a SftOptions,
    policy: Policy,
    prompts: PromptSet,
    lessons: Option<Lessons>,
    settings: Fingerprint,
    pace: Pace,
    mix: Mix,
    held_out: Vec<Vec<Example>>,
    optimizer: Optimizer,
    step: usize,
    steps: usize,
    /// Number of tokens so far, including prompts.
    tokens: usize,
    /// The loss on held-out programs before the first step, in nats per token.
    first_loss: f64,
}

impl<'a> Training<'a> {
    fn begin(options: &'a SftOptions, learner: Option<Learner>) -> Result<Self, SftError> {
        let settings = options.settings(learner.as_ref());
        let (pace, (policy, prompts), lessons) = match learner {
            Some(Learner { policy, prompts, lessons, .. }) => (MODEL_PACE, (policy, prompts), lessons),
            None => (BUILTIN_PACE, builtin::begin(options)?, None),
        };
        let mix = Mix { error_rate: options.config.error_rate, ..Mix::default() };
        let held_out_seed = options.seed.child(Purpose::HeldOut, 0);
        let held_out = match &lessons {
            Some(lessons) => lessons.held_out(held_out_seed, pace.held_out_tokens),
            None => Writer::new(&policy, &prompts, &mix).batch(held_out_seed, pace.held_out_tokens)?,
        };
        let shares_beginnings = policy.decoder().shares_beginnings();
        let held_out = micro_batches(held_out, shares_beginnings);
        let optimizer = Optimizer::new(policy.trainable(), optimizer_settings(&options.config))?
            .in_precision(policy.decoder().precision());
        let steps = options.config.total_tokens.div_ceil(options.config.batch_tokens);
        let mut training = Training {
            options,
            policy,
            prompts,
            lessons,
            settings,
            pace,
            mix,
            held_out,
            optimizer,
            step: 0,
            steps,
            tokens: 0,
            first_loss: f64::NAN,
        };
        training.first_loss = training.held_out_loss()?;
        if let Some(saved) = Saved::read_latest(&options.output_dir, &training.settings)? {
            training.restore(saved)?;
        }
        Ok(training)
    }

    /// Makes one update. Returns its loss in nats per token, gradient norm and learning rate.
    fn advance(&mut self) -> Result<(f64, f64, f64), SftError> {
        let config = &self.options.config;
        let seed = self.options.seed.child(Purpose::Step, self.step as u64);
        let examples = match &self.lessons {
            Some(lessons) => lessons.batch(seed, config.batch_tokens),
            None => Writer::new(&self.policy, &self.prompts, &self.mix).batch(seed, config.batch_tokens)?,
        };
        let tokens: usize = examples.iter().map(Example::tokens).sum();
        let (loss, gradients) = self.gradients(examples, seed.child(Purpose::Dropout, 0))?;
        if !loss.is_finite() {
            return Err(SftError::Diverged { step: self.step, loss });
        }
        let learning_rate = learning_rate(config, self.step, self.steps);
        let grad_norm = self.optimizer.apply(self.policy.trainable(), &gradients, learning_rate)?;
        let grad_norm = grad_norm.unwrap_or(f64::INFINITY);
        self.step += 1;
        self.tokens += tokens;
        Ok((loss, grad_norm, learning_rate))
    }

    /// The mean loss of a batch and its gradients.
    fn gradients(&self, examples: Vec<Example>, seed: Seed) -> Result<(f64, Gradients), SftError> {
        let targets: usize = examples.iter().map(Example::targets).sum();
        let (trainable, scale) = (self.policy.trainable(), self.optimizer.loss_scale());
        let (mut loss, mut sum) = (0.0, Gradients::new());
        let parts: Vec<(u64, Vec<Example>)> =
            (0..).zip(micro_batches(examples, self.policy.decoder().shares_beginnings())).collect();
        let work = |(index, rows): &(u64, Vec<Example>)| {
            let of_part = seed.child(Purpose::Dropout, *index);
            let of_rows = (0..rows.len() as u64).map(|row| of_part.child(Purpose::Dropout, row));
            let adapters = Adapters::Thinned(Dropout::new(of_rows));
            let (part, tokens) = batches::loss(&self.policy, rows, adapters)?;
            let part = (part / targets as f64)?;
            let value = f64::from(part.to_scalar::<f32>()?);
            let scaled = if scale == 1.0 { part } else { (part * scale)? };
            Ok((value, grpo::gradients_kept(&scaled, tokens, trainable)?))
        };
        let (at_once, device) = (self.options.at_once, &self.options.device);
        grpo::parallel_parts(at_once, device, &parts, work, |(part, gradients)| {
            loss += part;
            Ok(grpo::accumulate(&mut sum, gradients)?)
        })?;
        Ok((loss, sum))
    }

    fn held_out_loss(&self) -> Result<f64, SftError> {
        let (mut loss, mut targets) = (0.0, 0);
        let work = |rows: &Vec<Example>| {
            let part = batches::loss(&self.policy, rows, Adapters::On)?.0.to_scalar::<f32>()?;
            Ok((f64::from(part), rows.iter().map(Example::targets).sum::<usize>()))
        };
        let (at_once, device) = (self.options.at_once, &self.options.device);
        grpo::parallel_parts(at_once, device, &self.held_out, work, |(part, count)| {
            (loss, targets) = (loss + part, targets + count);
            Ok(())
        })?;
        Ok(loss / targets as f64)
    }

    /// `measured`: the loss on held-out programs after the last step, if it is known.
    fn summary(&self, interrupted: bool, measured: Option<f64>) -> Result<SftSummary, SftError> {
        let held_out_loss = measured.map_or_else(|| self.held_out_loss(), Ok)?;
        let (steps, tokens, first_loss) = (self.step, self.tokens, self.first_loss);
        Ok(SftSummary { steps, tokens, first_loss, held_out_loss, interrupted, tried: None })
    }

    fn state(&self, losses: Option<[f64; 2]>) -> State {
        let settings = self.settings.named.clone().into();
        State { settings, step: self.step, tokens: self.tokens, losses, tried: None }
    }

    fn saved(&self) -> Result<Saved, SftError> {
        let variables = self.policy.trainable().iter();
        Ok(Saved {
            state: self.state(None),
            weights: variables.map(|(name, var)| (name.clone(), var.as_detached_tensor())).collect(),
            optimizer: self.optimizer.state()?,
        })
    }

    fn restore(&mut self, saved: Saved) -> Result<(), SftError> {
        self.policy.set_trainable(&saved.weights)?;
        self.optimizer.load_state(&saved.optimizer)?;
        (self.step, self.tokens) = (saved.state.step, saved.state.tokens);
        Ok(())
    }
}

fn optimizer_settings(config: &SftConfig) -> AdamW {
    let SftConfig { weight_decay, max_grad_norm, .. } = *config;
    AdamW { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weight_decay, max_grad_norm }
}

/// The learning rate after `step` of `steps` steps: linear warm-up, then half a cosine down to a tenth of the peak.
fn learning_rate(config: &SftConfig, step: usize, steps: usize) -> f64 {
    if step < config.warmup_steps {
        return config.learning_rate * (step + 1) as f64 / config.warmup_steps as f64;
    }
    let done = (step - config.warmup_steps) as f64 / (steps - config.warmup_steps).max(1) as f64;
    config.learning_rate * (0.55 + 0.45 * (std::f64::consts::PI * done).cos())
}

#[cfg(test)]
mod tests;
