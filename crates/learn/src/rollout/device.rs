//! Samples one batch on a GPU in chunks of tokens. The GPU computes a chunk while the host processes the one before.

use rand::Rng;

use crate::config::RolloutConfig;
use crate::policy::{CHUNK, DeviceBatch, Drawing, Drawn, Policy, Tokenizer};

use super::decoding::{Row, copies, longest, release};
use super::{Completion, GroupRequest, RolloutError, RolloutEvent};

/// The number of rows is a multiple of this after removing some, so that CUDA graphs are recorded for few batch sizes.
const ROWS_STEP: usize = 8;

/// The settings for drawing tokens on the GPU; none if the configuration needs the logits on the host.
pub(super) fn drawing(requests: &[GroupRequest<'_>], config: &RolloutConfig) -> Option<Drawing> {
    let whole = config.top_k == 0 && config.top_p >= 1.0 && config.min_p == 0.0;
    whole.then_some(Drawing {
        copies: copies(requests),
        longest: longest(requests, config),
        temperature: config.temperature,
        record: config.cuda_graphs,
    })
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
