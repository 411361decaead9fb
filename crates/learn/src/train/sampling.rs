//! Sampling of the completions of a batch by the processes of a run, each its own, by the policy or by servers.

use crate::config::RolloutConfig;
use crate::prompt::Prompt;
use crate::rollout::{self, Assignment, Completion, FinishReason, LoadedAdapter, Numbers, RolloutEvent, Streams};

use super::TrainError;
use super::divided::OwnRows;
use super::scoring::Stage;

/// A completion as it is sent to other processes, without its text, which follows from the ids.
type SentCompletion = (Vec<u32>, Vec<f32>, FinishReason);

impl Stage<'_> {
    /// Samples this process's completions of a batch and returns those of all processes, in the order of their indices.
    /// Events are about its own completions, by their index in the batch.
    pub(super) fn sample_own(
        &self,
        own: &OwnRows,
        prompts: &[Prompt],
        rollout: &RolloutConfig,
        streams: Streams<'_>,
        observer: &mut dyn FnMut(RolloutEvent<'_>),
    ) -> Result<Vec<Completion>, TrainError> {
        let Stage { policy, servers, peers, .. } = *self;
        let size = rollout.num_generations;
        let asked: Vec<Prompt> = own.rows.iter().step_by(own.together).map(|row| prompts[row / size].clone()).collect();
        let rollout = RolloutConfig { num_generations: own.together, ..rollout.clone() };
        let numbers: Vec<u64> = own.rows.iter().map(|row| streams.number(*row)).collect();
        let streams = Streams { numbers: Numbers::Listed(&numbers), ..streams };
        let mut in_batch = |event: RolloutEvent<'_>| match event {
            RolloutEvent::Finished { index, completion } => {
                observer(RolloutEvent::Finished { index: own.rows[index], completion });
            }
            other => observer(other),
        };
        let loaded = self.loaded_adapter(&mut in_batch)?;
        let written = match (servers, &loaded) {
            _ if asked.is_empty() => Vec::new(),
            (Some(servers), Some(loaded)) => {
                let request = Assignment { policy, config: &rollout, prompts: &asked, streams };
                servers.generate(loaded, request, &mut in_batch)?.into_items()
            }
            _ => rollout::generate(policy, &asked, &rollout, streams, &mut in_batch)?.into_items(),
        };
        if peers.size() == 1 {
            return Ok(written);
        }
        let to_send = |(row, one): (&usize, Completion)| (*row, (one.ids, one.logprobs, one.finish));
        let mut all: Vec<(usize, SentCompletion)> =
            peers.gather_lists(own.rows.iter().zip(written).map(to_send).collect())?;
        all.sort_by_key(|(row, _)| *row);
        let received = |(_, (ids, logprobs, finish))| Completion::new(ids, logprobs, finish, policy.tokenizer());
        Ok(all.into_iter().map(received).collect())
    }

    /// Has the first process load the current adapter on the servers, if there are servers, while the others wait.
    fn loaded_adapter(&self, observer: &mut dyn FnMut(RolloutEvent<'_>)) -> Result<Option<LoadedAdapter>, TrainError> {
        let Stage { policy, servers: Some(servers), peers, .. } = *self else { return Ok(None) };
        let loaded = if peers.leads() { Some(servers.load_adapter(policy, observer)?) } else { None };
        Ok(peers.gather_values(loaded)?.into_iter().next().flatten())
    }
}
