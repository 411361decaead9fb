//! The reference model of the KL penalty: the policy as it was before training.

use crate::config::Config;
use crate::grpo::{self, Batch};
use crate::policy::{Adapters, Decoder, Policy};

use super::TrainError;

/// The reference model of the KL penalty.
pub(crate) enum Reference {
    /// The policy with its adapters switched off.
    AdaptersOff,
    /// A copy of the policy from before training, used when all weights are trained.
    Frozen(Box<Decoder>),
}

impl Reference {
    /// The reference of `policy` as it is now; none without a KL penalty.
    pub fn of(policy: &Policy, config: &Config) -> Result<Option<Reference>, TrainError> {
        Ok(match (config.grpo.beta > 0.0, config.model.lora_r > 0) {
            (false, _) => None,
            (true, true) => Some(Reference::AdaptersOff),
            (true, false) => Some(Reference::Frozen(Box::new(policy.frozen_decoder()?))),
        })
    }

    /// Adds the reference's log-probabilities to a batch of `policy`, if there is a reference.
    pub fn added(reference: Option<&Reference>, batch: Batch, policy: &Policy) -> Result<Batch, TrainError> {
        let decoder = match reference {
            None => return Ok(batch),
            Some(Reference::AdaptersOff) => policy.decoder(),
            Some(Reference::Frozen(decoder)) => decoder,
        };
        let logprobs = grpo::reference_logprobs(decoder, Adapters::Off, &batch)?;
        Ok(batch.with_reference(logprobs))
    }
}
