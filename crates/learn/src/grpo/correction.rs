//! Importance weights for tokens that servers sampled, whose number formats and kernels differ from the trainer's.
//!
//! Source: truncated importance sampling, Espeholt et al. 2018 after Munos et al. 2016 (1606.02647); masking,
//! 2510.18855. The same as TRL's `vllm_importance_sampling_*`.

use crate::config::{self, ImportanceSamplingLevel, RolloutConfig};

/// How tokens are weighted by their probability under the trainer's policy divided by that under the sampler's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImportanceWeights {
    /// Whether weights out of bounds are 0, and not truncated.
    masks: bool,
    level: ImportanceSamplingLevel,
    floor: f32,
    cap: f32,
}

/// Statistics of a correction, over the tokens in the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectionStats {
    /// Mean of the weights after truncation or masking.
    pub weight_mean: f64,
    /// Share of tokens whose weight was truncated or masked, 0 to 1.
    pub share: f64,
}

/// The weight of a token, and whether it was truncated or masked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weight {
    pub value: f32,
    pub is_bounded: bool,
}

impl ImportanceWeights {
    /// The weights of the configuration; none without servers or without a correction.
    pub fn of(config: &RolloutConfig) -> Option<Self> {
        let masks = match config.correction {
            _ if config.servers.is_empty() => return None,
            config::Correction::None => return None,
            config::Correction::Mask => true,
            config::Correction::Truncate => false,
        };
        let (floor, cap) = (config.correction_floor as f32, config.correction_cap as f32);
        Some(ImportanceWeights { masks, level: config.correction_level, floor, cap })
    }

    /// The weights of tokens, with those of one completion after those of another.
    ///
    /// * `old`, `sampled`: `(N,)`, log-probabilities under the trainer's policy before the update and under the
    ///   sampler's, in nats.
    /// * `lengths`: number of tokens of each completion.
    pub(super) fn weights(&self, old: &[f32], sampled: &[f32], lengths: &[usize]) -> Vec<Weight> {
        let differences: Vec<f32> = old.iter().zip(sampled).map(|(old, sampled)| old - sampled).collect();
        let mut rest = differences.as_slice();
        let mut weights = Vec::with_capacity(old.len());
        for length in lengths {
            let (row, after) = rest.split_at(*length);
            rest = after;
            match self.level {
                ImportanceSamplingLevel::Token => weights.extend(row.iter().map(|difference| self.weight(*difference))),
                ImportanceSamplingLevel::Sequence => {
                    weights.extend(std::iter::repeat_n(self.weight(row.iter().sum()), *length));
                }
            }
        }
        weights
    }

    fn weight(&self, log_ratio: f32) -> Weight {
        let ratio = log_ratio.exp();
        let is_bounded = !(self.floor..=self.cap).contains(&ratio);
        let value = match is_bounded {
            false => ratio,
            true if self.masks => 0.0,
            true => ratio.clamp(self.floor, self.cap),
        };
        Weight { value, is_bounded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn values(kind: config::Correction, level: ImportanceSamplingLevel, bounds: (f64, f64)) -> Vec<(f32, bool)> {
        let rollout = Config::preset("builtin").unwrap().rollout;
        let config = RolloutConfig {
            servers: vec!["http://localhost".into()],
            correction: kind,
            correction_level: level,
            correction_floor: bounds.0,
            correction_cap: bounds.1,
            ..rollout
        };
        // The ratios are 1, 4 and 1/2 in one completion, and 2 and 8 in another.
        let old = [1f32, 4.0, 0.5, 2.0, 8.0].map(|ratio| ratio.ln() - 3.0);
        let weights = ImportanceWeights::of(&config).unwrap().weights(&old, &[-3.0; 5], &[3, 2]);
        weights.iter().map(|weight| ((weight.value * 1e4).round() / 1e4, weight.is_bounded)).collect()
    }

    #[test]
    fn tokens_and_sequences_are_weighed_as_calculated_by_hand() {
        use ImportanceSamplingLevel::{Sequence, Token};
        use config::Correction::{Mask, Truncate};
        let truncated = [(1.0, false), (3.0, true), (0.5, false), (2.0, false), (3.0, true)];
        assert_eq!(values(Truncate, Token, (0.0, 3.0)), truncated);
        let both = [(1.0, false), (3.0, true), (0.75, true), (2.0, false), (3.0, true)];
        assert_eq!(values(Truncate, Token, (0.75, 3.0)), both);
        let masked = [(1.0, false), (0.0, true), (0.0, true), (2.0, false), (0.0, true)];
        assert_eq!(values(Mask, Token, (0.75, 3.0)), masked);
        // The ratios of the sequences are 1 * 4 / 2 = 2 and 2 * 8 = 16.
        let sequences = [[(2.0, false); 3].as_slice(), &[(3.0, true); 2]].concat();
        assert_eq!(values(Truncate, Sequence, (0.0, 3.0)), sequences);
        let masked = [[(2.0, false); 3].as_slice(), &[(0.0, true); 2]].concat();
        assert_eq!(values(Mask, Sequence, (0.0, 3.0)), masked);
    }

    #[test]
    fn what_no_number_can_hold_is_bounded_and_who_samples_alone_needs_nothing() {
        let rollout = Config::preset("builtin").unwrap().rollout;
        assert_eq!(ImportanceWeights::of(&rollout), None);
        let served = RolloutConfig { servers: vec!["http://localhost".into()], ..rollout };
        assert_eq!(
            ImportanceWeights::of(&RolloutConfig { correction: config::Correction::None, ..served.clone() }),
            None
        );
        let weights = ImportanceWeights::of(&served).unwrap().weights(&[0.0, -500.0], &[-500.0, 0.0], &[2]);
        assert_eq!(weights.iter().map(|weight| weight.value).collect::<Vec<_>>(), [3.0, 0.0]);
    }
}
