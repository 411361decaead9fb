//! The reference model of the KL penalty: the policy as it was before training.

use crate::config::Config;
use crate::grpo::{self, Batch};
use crate::policy::{Adapters, Decoder, Policy};

use super::TrainError;

/// The reference model of the KL penalty.
pub(crate) enum Reference {
    /// The policy with its adapters switched off, which is what fresh adapters begin as.
    AdaptersOff,
    /// A copy of the policy from before training: of all weights, or of the adapters that it starts from.
    Frozen(Box<Decoder>),
}

impl Reference {
    /// The reference of `policy` as it is now, before training; none without a KL penalty.
    pub fn of(policy: &Policy, config: &Config) -> Result<Option<Reference>, TrainError> {
        let are_fresh = config.model.lora_r > 0 && config.model.adapter.is_empty();
        Ok(match (config.grpo.beta > 0.0, are_fresh) {
            (false, _) => None,
            (true, true) => Some(Reference::AdaptersOff),
            (true, false) => Some(Reference::Frozen(Box::new(policy.frozen_decoder()?))),
        })
    }

    /// Adds the reference's log-probabilities to a batch of `policy`, if there is a reference and something to learn.
    pub fn added(reference: Option<&Reference>, batch: Batch, policy: &Policy) -> Result<Batch, TrainError> {
        let (decoder, adapters) = match reference {
            None => return Ok(batch),
            Some(Reference::AdaptersOff) => (policy.decoder(), Adapters::Off),
            Some(Reference::Frozen(decoder)) => (decoder.as_ref(), Adapters::On),
        };
        Ok(grpo::score_reference(decoder, adapters, batch)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Device;
    use crate::seed::Seed;

    #[test]
    fn the_reference_is_the_policy_from_before_training_with_the_adapter_that_it_starts_from() {
        let mut config = Config::preset("builtin").unwrap();
        (config.model.lora_r, config.grpo.beta) = (2, 0.1);
        let fresh = Policy::load(&config.model, Seed::root(0), &Device::Cpu).unwrap();
        assert!(matches!(Reference::of(&fresh, &config).unwrap(), Some(Reference::AdaptersOff)));
        let warm = tempfile::tempdir().unwrap();
        fresh.save(warm.path()).unwrap();
        config.model.adapter = warm.path().display().to_string();
        let policy = Policy::load(&config.model, Seed::root(1), &Device::Cpu).unwrap();
        let Some(Reference::Frozen(frozen)) = Reference::of(&policy, &config).unwrap() else { panic!("it is a copy") };
        let hidden = |decoder: &Decoder| {
            let ids = candle_core::Tensor::new(&[[1u32, 2, 3]], &Device::Cpu).unwrap();
            decoder.hidden(&ids, Adapters::On).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap()
        };
        let before = hidden(policy.decoder());
        assert_eq!(hidden(&frozen), before);
        for var in policy.trainable().values() {
            var.set(&var.ones_like().unwrap()).unwrap();
        }
        assert_ne!(hidden(policy.decoder()), before);
        assert_eq!(hidden(&frozen), before);
        config.grpo.beta = 0.0;
        assert!(Reference::of(&policy, &config).unwrap().is_none());
    }
}
