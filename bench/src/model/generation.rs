//! Measures sampling, with the same code as training.

use std::time::Duration;

use super::count::{NumberBytes, decoded_bytes};
use super::{BenchError, Column, Measurement, ModelWork, Rates, Round, Way, rated};
use crate::table::Show;
use grpo_2048::rollout::{self, RolloutEvent};

pub(super) const COLUMNS: &[Column] = &[
    Column::of_all("tokens/s", "tokens_per_s", Show::Rate),
    Column::of_all("tokens/CPU s", "tokens_per_cpu_s", Show::Rate),
    Column::of_all("against the first", "ratio", Show::Ratio),
    Column::of_all("against the peer", "peer_ratio", Show::Ratio),
    Column::of_all("prefill", "prefill_s", Show::Seconds),
    Column::own("decode", "decode_s", Show::Seconds),
    Column::own("sampling", "sampling_s", Show::Seconds),
    Column::of_all("peak memory", "peak_bytes", Show::Bytes),
    Column::own("of the roofline", "roofline", Show::Share),
    Column::own("GPU busy", "gpu_percent", Show::Percent),
];

/// The times of the phases of sampling, from the events of the rollout.
#[derive(Debug, Default)]
pub(super) struct Phases {
    begin: Duration,
    /// When the logits of the first token were there.
    prefilled: Option<Duration>,
    /// When the newest logits were there.
    predicted: Option<Duration>,
    /// Time of drawing tokens so far.
    sampling: Option<Duration>,
    /// Whether the batch was sampled in parallel parts, whose phases cannot be distinguished.
    is_divided: bool,
}

impl Phases {
    pub fn new(begin: Duration) -> Phases {
        Phases { begin, ..Phases::default() }
    }

    /// Adds an event that came at `now`.
    pub fn hear(&mut self, event: &RolloutEvent<'_>, now: Duration) {
        match event {
            RolloutEvent::Predicted => {
                self.prefilled.get_or_insert(now);
                self.predicted = Some(now);
            }
            RolloutEvent::Tokens { .. } => {
                // Without separate events for logits, the prefill ends with the first token.
                self.prefilled.get_or_insert(now);
                if let Some(predicted) = self.predicted.take() {
                    *self.sampling.get_or_insert_default() += now - predicted;
                }
            }
            RolloutEvent::PartDone { .. } => self.is_divided = true,
            RolloutEvent::Finished { .. } | RolloutEvent::Trouble(_) => {}
        }
    }

    /// Seconds of prefill, decoding and drawing of tokens, of a rollout that ended at `end`.
    pub fn seconds(&self, end: Duration) -> [Option<f64>; 3] {
        let Some(prefilled) = self.prefilled.filter(|_| !self.is_divided) else { return [None; 3] };
        let decode = (end - prefilled).saturating_sub(self.sampling.unwrap_or_default());
        [Some(prefilled - self.begin), Some(decode), self.sampling].map(|phase| phase.map(|time| time.as_secs_f64()))
    }
}

/// Measures one batch of completions.
pub(super) fn round(measurement: &Measurement<'_>, way: &Way, rates: Option<&Rates>) -> Result<Round, BenchError> {
    let (policy, rollout, device) = (&way.policy, &way.config.rollout, way.policy.decoder().device());
    let prompts = measurement.prompts(way);
    let clock = measurement.clock();
    let mut phases = Phases::new(clock());
    let (completions, cost) = measurement.clocks.time(|| {
        let mut observer = |event: RolloutEvent<'_>| phases.hear(&event, clock());
        let completions = rollout::generate(policy, &prompts, rollout, measurement.seed, &mut observer);
        device.synchronize().map(|()| completions)
    });
    let end = clock();
    let completions = completions??.into_items();
    let expected = measurement.tokens(ModelWork::Generate, way);
    let found: usize = completions.iter().map(|completion| completion.ids.len()).sum();
    if found != expected {
        return Err(BenchError::Tokens { found, expected });
    }
    let mut round = rated(expected, cost);
    let [prefill, decode, sampling] = phases.seconds(end);
    let named = [("prefill_s", prefill), ("decode_s", decode), ("sampling_s", sampling)];
    round.extend(named.into_iter().filter_map(|(key, seconds)| Some((key, seconds?))));
    if let (Some(seconds), Some(rates)) = (decode, rates) {
        let dtype = policy.decoder().dtype().size_in_bytes();
        let (rows, longest) = (completions.len(), rollout.max_completion_length);
        let shape = policy.decoder().config();
        let packed = policy.packed_bytes().map(|bytes| bytes as f64 / shape.parameters() as f64);
        let bytes = NumberBytes { weight: packed.unwrap_or(dtype as f64), cache: dtype };
        let bytes = decoded_bytes(shape, bytes, rows, measurement.prompt_tokens, longest);
        if seconds > 0.0 {
            round.insert("roofline", bytes / seconds / rates.copied_bytes_per_s);
        }
    }
    Ok(round)
}
