//! Measures one GRPO update on synthetic episodes, with the same code as training.

use std::time::Duration;

use parking_lot::Mutex;
use rand::Rng;

use super::count::{Trained, update_flops};
use super::{BenchError, Column, Measurement, ModelWork, Rates, Round, Way, rated};
use crate::table::Show;
use grpo_2048::groups::Groups;
use grpo_2048::grpo::{Batch, Division, Optimizer, UpdateStage, UpdateWatch, cores, update_watched};
use grpo_2048::rollout::{Completion, CompletionId, FinishReason};
use grpo_2048::seed::Purpose;

pub(super) const COLUMNS: &[Column] = &[
    Column::of_all("tokens/s", "tokens_per_s", Show::Rate),
    Column::of_all("tokens/CPU s", "tokens_per_cpu_s", Show::Rate),
    Column::of_all("against the first", "ratio", Show::Ratio),
    Column::of_all("against the peer", "peer_ratio", Show::Ratio),
    Column::of_all("forward", "forward_s", Show::Seconds),
    Column::of_all("backward", "backward_s", Show::Seconds),
    Column::of_all("optimiser", "optimiser_s", Show::Seconds),
    Column::of_all("peak memory", "peak_bytes", Show::Bytes),
    Column::own("MFU", "mfu", Show::Share),
    Column::own("GPU busy", "gpu_percent", Show::Percent),
];

/// Small, so that the weights hardly change over any number of rounds.
const LEARNING_RATE: f64 = 1e-6;
/// The sampling log-probability of every token, in nats. With one update per rollout the loss does not depend on it.
const SAMPLED: f32 = -10.0;

/// The updates of one way.
#[derive(Default)]
pub(super) struct Updates {
    /// Created when it is first needed, because its state is twice as large as the trained weights.
    optimizer: Option<Optimizer>,
}

impl Updates {
    /// Measures one update.
    pub fn round(
        &mut self,
        measurement: &Measurement<'_>,
        way: &Way,
        rates: Option<&Rates>,
    ) -> Result<Round, BenchError> {
        let (policy, device) = (&way.policy, way.policy.decoder().device());
        let batch = episodes(measurement, way);
        let optimizer = match &mut self.optimizer {
            Some(optimizer) => optimizer,
            none => {
                let (settings, trainable) = (&way.config.grpo, policy.trainable());
                none.insert(Optimizer::new(trainable, settings)?.fused(settings.fused_adamw))
            }
        };
        // Parts may run in parallel; their times are added.
        let stages = Mutex::new([Duration::ZERO; 3]);
        let failed = Mutex::new(None);
        let clock = measurement.clock();
        let stopwatch = |stage: UpdateStage, work: &mut dyn FnMut()| {
            let begin = clock();
            work();
            if let Err(error) = device.synchronize() {
                failed.lock().get_or_insert(error);
            }
            stages.lock()[place(stage)] += clock() - begin;
        };
        let watch = UpdateWatch { progress: &mut |_, _| (), stopwatch: &stopwatch };
        let begin = clock();
        let (stats, cost) = measurement.clocks.time(|| update_watched(policy, optimizer, &batch, LEARNING_RATE, watch));
        let seconds = (clock() - begin).as_secs_f64();
        if let Some(error) = failed.into_inner() {
            return Err(error.into());
        }
        stats?.ok_or(BenchError::NoSignal)?;
        let mut round = rated(measurement.tokens(ModelWork::Update, way), cost);
        let stages = stages.into_inner();
        round.extend(["forward_s", "backward_s", "optimiser_s"].into_iter().zip(stages.map(|time| time.as_secs_f64())));
        round.extend(rates.map(|rates| ("mfu", flops(measurement, way) / seconds / rates.matmul_flops_per_s)));
        Ok(round)
    }
}

fn place(stage: UpdateStage) -> usize {
    match stage {
        UpdateStage::Forward => 0,
        UpdateStage::Backward => 1,
        UpdateStage::Optimiser => 2,
    }
}

/// Number of operations of the updates of a rollout.
fn flops(measurement: &Measurement<'_>, way: &Way) -> f64 {
    let (model, rollout) = (&way.config.model, &way.config.rollout);
    let trained = match model.lora_r == 0 && model.adapter.is_empty() {
        true => Trained::All,
        false => Trained::Adapters(way.policy.trainable().values().map(|var| var.elem_count()).sum()),
    };
    let shape = way.policy.decoder().config();
    let rows = way.config.completions_per_step();
    let updates = way.config.grpo.num_iterations as f64;
    updates * update_flops(shape, trained, rows, measurement.prompt_tokens, rollout.max_completion_length)
}

/// A batch of completions of random tokens, with different advantages within each group.
fn episodes(measurement: &Measurement<'_>, way: &Way) -> Batch {
    let (rollout, grpo) = (&way.config.rollout, &way.config.grpo);
    let vocabulary = way.policy.decoder().config().vocab_size as u32;
    let (rows, length) = (way.config.completions_per_step(), rollout.max_completion_length);
    let completion = |index: usize| {
        let mut rng = measurement.seed.child(Purpose::Sample, index as u64).rng();
        Completion {
            id: CompletionId::new(measurement.seed, index),
            ids: (0..length).map(|_| rng.random_range(0..vocabulary)).collect(),
            logprobs: vec![SAMPLED; length],
            text: String::new(),
            finish: FinishReason::Stop,
        }
    };
    let completions = Groups::new(rollout.num_generations, (0..rows).map(completion).collect());
    let spread = |size: usize| (0..size).map(move |place| place as f32 - (size - 1) as f32 / 2.0);
    let advantages = completions.map_groups(|group| spread(group.len()).collect());
    let batch = Batch::new(&measurement.prompts(way), completions.each_ref(), advantages, rollout, grpo);
    let at_once = cores(way.policy.decoder().device());
    let division = Division::from(grpo).for_kernels(way.policy.decoder().kernels());
    batch.divided(Division { at_once, ..division })
}
