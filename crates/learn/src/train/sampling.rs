//! Sampling of the completions of a batch by the processes of a run, each its own, by the policy or by servers.

use std::collections::BTreeMap;

use crate::rollout::{
    self, Assignment, Caches, Completion, CompletionId, FinishReason, GroupRequest, LoadedAdapter, RolloutEvent,
};

use super::TrainError;
use super::divided::OwnRequests;
use super::scoring::Stage;

/// A completion as it is sent to other processes: its index, its tokens, and why it ended. The text follows from these.
type SentCompletion = (usize, (Vec<u32>, Vec<f32>, FinishReason));

impl Stage<'_> {
    /// Samples this process's completions of a batch and returns those of all processes, in the order of `requests`.
    /// Events are about its own completions. `caches` are those of the turn before; what becomes of them takes their place.
    pub(super) fn sample_own(
        &self,
        own: &OwnRequests<'_>,
        requests: &[GroupRequest<'_>],
        caches: &mut Option<Caches>,
        observer: &mut dyn FnMut(RolloutEvent<'_>),
    ) -> Result<Vec<Completion>, TrainError> {
        let Stage { policy, servers, peers, .. } = *self;
        let (config, asked) = (&self.config.rollout, &own.requests[..]);
        let loaded = self.loaded_adapter(observer)?;
        let before = caches.take();
        let written = match (servers, &loaded) {
            _ if asked.is_empty() => Vec::new(),
            (Some(servers), Some(loaded)) => {
                servers.sample(loaded, Assignment { policy, config, requests: asked }, observer)?
            }
            _ => {
                let (written, after) =
                    rollout::converse(Assignment { policy, config, requests: asked }, before, observer)?;
                *caches = after;
                written
            }
        };
        if peers.size() == 1 {
            return Ok(written);
        }
        let to_send = |one: Completion| (one.id.index, (one.ids, one.logprobs, one.finish));
        let sent: Vec<SentCompletion> = peers.gather_lists(written.into_iter().map(to_send).collect())?;
        let mut sent: BTreeMap<usize, _> = sent.into_iter().collect();
        let ids = requests.iter().flat_map(|request| &request.ids);
        let received = |id: &CompletionId| {
            let (ids, logprobs, finish) = sent.remove(&id.index).expect("every completion is some process's own");
            Completion::new(*id, ids, logprobs, finish, policy.tokenizer())
        };
        Ok(ids.map(received).collect())
    }

    /// Has the first process load the current adapter on the servers, if there are servers, while the others wait.
    fn loaded_adapter(&self, observer: &mut dyn FnMut(RolloutEvent<'_>)) -> Result<Option<LoadedAdapter>, TrainError> {
        let Stage { policy, servers: Some(servers), peers, .. } = *self else { return Ok(None) };
        let loaded = if peers.leads() { Some(servers.load_adapter(policy, observer)?) } else { None };
        Ok(peers.gather_values(loaded)?.into_iter().next().flatten())
    }
}
