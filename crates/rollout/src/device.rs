//! Samples one batch on a GPU in chunks of tokens. The GPU computes a chunk while the host processes the one before.

use std::sync::Arc;

use rand::Rng;

use crate::config::RolloutConfig;
use crate::policy::{
    CHUNK, Device, DeviceBatch, Drawing, Drawn, Policy, PolicyError, Snapshot, Tokenizer, explained, is_out_of_memory,
    trim_memory,
};

use super::decoding::{IDLE_SHARE, Row, copies, longest, release};
use super::{Assignment, Completion, GroupRequest, RolloutError, RolloutEvent};

/// The number of rows is a multiple of this after removing some, so that CUDA graphs are recorded for few batch sizes.
const ROWS_STEP: usize = 8;

/// The settings for drawing tokens on the GPU; none if the configuration needs the logits on the host.
pub(super) fn drawing(requests: &[GroupRequest<'_>], config: &RolloutConfig) -> Option<Drawing> {
    needs_logits(config).is_none().then(|| Drawing {
        copies: copies(requests),
        longest: longest(requests, config),
        temperature: config.temperature,
        record: config.cuda_graphs,
    })
}

/// The setting by which the host needs the logits of every token.
fn needs_logits(config: &RolloutConfig) -> Option<String> {
    let RolloutConfig { top_k, top_p, min_p, .. } = config;
    match () {
        () if *top_k != 0 => Some(format!("rollout.top_k = {top_k}")),
        () if *top_p < 1.0 => Some(format!("rollout.top_p = {top_p}")),
        () if *min_p != 0.0 => Some(format!("rollout.min_p = {min_p}")),
        () => None,
    }
}

/// What keeps tokens from being drawn by the kernels of the GPU that the policy is on, and what it costs, after prompts of
/// so many tokens; `None` where nothing does, and on a processor.
pub fn slow_on_gpu(policy: &Policy, config: &RolloutConfig, prompt: usize) -> Option<String> {
    let decoder = policy.decoder();
    if decoder.device().is_cpu() {
        return None;
    }
    let why = needs_logits(config).or_else(|| decoder.config().unserved(prompt + config.max_completion_length))?;
    Some(format!(
        "{why}: logits cross to the host for every token, and layers are many launches; sampling takes about ten times as \
         long as with the GPU's own kernels"
    ))
}

/// Samples the requests on the GPU that holds the weights; `None` if no GPU does, or not by these settings. Where it has no
/// memory for all of them, half of them are sampled after the other half: completions do not depend on one another.
pub(super) fn decode(
    asked: Assignment<'_>,
    weights: &Arc<Snapshot>,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<Option<Vec<Completion>>, RolloutError> {
    let Assignment { policy, config, requests } = asked;
    let Some(drawing) = drawing(requests, config) else { return Ok(None) };
    let ids: Vec<&[u32]> = requests.iter().map(|request| request.prompt.ids.as_slice()).collect();
    match policy.decoder().device_batch(weights, &ids, drawing) {
        Ok(None) => Ok(None),
        Ok(Some(batch)) => DeviceDecoding::begin(policy, batch, requests, config).run(IDLE_SHARE, observer).map(Some),
        Err(error) if requests.len() > 1 && lacks_memory(&error, policy.decoder().device()) => {
            trim_memory(policy.decoder().device())?;
            let count = requests.len() * drawing.copies;
            let words = format!("no memory for {count} completions at once on the GPU: sampled in two parts");
            observer(RolloutEvent::Trouble(&words));
            in_halves(asked, weights, observer)
        }
        Err(error) => Err(error.into()),
    }
}

/// Samples the first half of the requests, then the other. What is told of the second counts what the first has done.
fn in_halves(
    asked: Assignment<'_>,
    weights: &Arc<Snapshot>,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<Option<Vec<Completion>>, RolloutError> {
    let (first, rest) = asked.requests.split_at(asked.requests.len() / 2);
    let (mut before, mut all) = ((0, 0), Vec::new());
    for requests in [first, rest] {
        let mut told = before;
        let mut added = |event: RolloutEvent<'_>| match event {
            RolloutEvent::Tokens { tokens, finished } => {
                told = (before.0 + tokens, before.1 + finished);
                observer(RolloutEvent::Tokens { tokens: told.0, finished: told.1 });
            }
            other => observer(other),
        };
        match decode(Assignment { requests, ..asked }, weights, &mut added)? {
            Some(completions) => all.extend(completions),
            None => return Ok(None),
        }
        before = told;
    }
    Ok(Some(all))
}

fn lacks_memory(error: &PolicyError, device: &Device) -> bool {
    let PolicyError::Tensor(error) = error else { return false };
    is_out_of_memory(&explained(candle_core::Error::Msg(error.to_string()), device).to_string())
}

/// A batch of sequences. Its rows have the order of the GPU's.
pub(super) struct DeviceDecoding<'a> {
    tokenizer: &'a Tokenizer,
    batch: DeviceBatch,
    /// Maximum number of tokens of any completion.
    longest: usize,
    rows: Vec<Row>,
    finished: Vec<Option<Completion>>,
    /// Number of tokens sampled so far.
    tokens: usize,
    /// Number of tokens per row that the GPU has been asked for.
    asked: usize,
}

impl<'a> DeviceDecoding<'a> {
    /// `batch` has a row for each completion, in the order of the completions.
    pub fn begin(
        policy: &'a Policy,
        batch: DeviceBatch,
        requests: &[GroupRequest<'_>],
        config: &RolloutConfig,
    ) -> Self {
        let rows: Vec<Row> = Row::all(requests, config);
        let finished = vec![None; rows.len()];
        let longest = longest(requests, config);
        DeviceDecoding { tokenizer: policy.tokenizer(), batch, longest, rows, finished, tokens: 0, asked: 0 }
    }

    /// Samples until every row has ended. Rows that have ended are removed once they are `idle_share` of the batch.
    pub fn run(
        mut self,
        idle_share: f64,
        observer: &mut dyn FnMut(RolloutEvent<'_>),
    ) -> Result<Vec<Completion>, RolloutError> {
        self.ask()?;
        loop {
            let crowded = !self.worth_thinning(idle_share);
            if crowded {
                self.ask()?;
            }
            let Some(drawn) = self.batch.collect()? else { break };
            self.take(&drawn)?;
            release(&mut self.rows, &mut self.finished, self.tokenizer, self.tokens, observer);
            if self.rows.iter().all(|row| row.ended) {
                break;
            }
            if !crowded {
                self.thin()?;
                self.ask()?;
            }
        }
        Ok(self.finished.into_iter().flatten().collect())
    }

    /// Enqueues one more chunk, unless rows have reached their maximum length.
    fn ask(&mut self) -> Result<(), RolloutError> {
        let count = CHUNK.min(self.longest - self.asked);
        if count == 0 {
            return Ok(());
        }
        let mut uniforms = Vec::with_capacity(count * self.rows.len());
        for row in &mut self.rows {
            uniforms.extend((0..count).map(|_| row.rng.random::<f64>()));
        }
        self.batch.enqueue(count, &uniforms)?;
        self.asked += count;
        Ok(())
    }

    /// Adds the tokens of a chunk to the rows, up to the end of each.
    fn take(&mut self, drawn: &Drawn) -> Result<(), RolloutError> {
        for ((row, tokens), logprobs) in self.rows.iter_mut().zip(&drawn.tokens).zip(&drawn.logprobs) {
            for (token, logp) in tokens.iter().zip(logprobs) {
                if row.ended {
                    break;
                }
                let Some(token) = *token else {
                    return Err(RolloutError::NotFinite { index: row.id.index, token: row.ids.len() });
                };
                row.push(token, *logp, self.tokenizer);
                self.tokens += 1;
            }
        }
        Ok(())
    }

    /// Number of rows that would remain, a multiple of [`ROWS_STEP`].
    fn kept(&self) -> usize {
        let live = self.rows.iter().filter(|row| !row.ended).count();
        live.next_multiple_of(ROWS_STEP).min(self.rows.len())
    }

    fn worth_thinning(&self, idle_share: f64) -> bool {
        let idle = self.rows.len() - self.kept();
        idle > 0 && idle as f64 >= idle_share * self.rows.len() as f64
    }

    /// Removes rows that have ended. Some of them remain so that the number of rows is a multiple of [`ROWS_STEP`].
    fn thin(&mut self) -> Result<(), RolloutError> {
        let kept = self.kept();
        let mut spare = kept - self.rows.iter().filter(|row| !row.ended).count();
        let mut stay = |row: &Row| {
            let fills = row.ended && spare > 0;
            spare -= usize::from(fills);
            !row.ended || fills
        };
        let live: Vec<usize> = (0..self.rows.len()).filter(|slot| stay(&self.rows[*slot])).collect();
        let order = self.batch.keep(&live)?;
        let mut old: Vec<Option<Row>> = std::mem::take(&mut self.rows).into_iter().map(Some).collect();
        self.rows = order.iter().filter_map(|slot| old[*slot].take()).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_setting_that_needs_logits_is_named() {
        let of = |change: fn(&mut RolloutConfig)| {
            let mut config = Config::preset("llm").unwrap().rollout;
            change(&mut config);
            let needed = needs_logits(&config);
            assert_eq!(drawing(&[], &config).is_none(), needed.is_some(), "a GPU draws only whole distributions");
            needed
        };
        assert_eq!(of(|config| (config.top_k, config.top_p, config.min_p) = (0, 1.0, 0.0)), None);
        assert_eq!(of(|config| (config.top_k, config.top_p) = (0, 0.9)).as_deref(), Some("rollout.top_p = 0.9"));
        assert_eq!(of(|config| config.top_k = 50).as_deref(), Some("rollout.top_k = 50"));
        assert_eq!(of(|config| (config.top_k, config.min_p) = (0, 0.1)).as_deref(), Some("rollout.min_p = 0.1"));
    }
}
