//! Adapts the weight of the entropy bonus so that the policy keeps a share of its initial entropy.

use serde::{Deserialize, Serialize};

use crate::config::GrpoConfig;

/// If the entropy differs from the target by less than this share of it, the weight changes by less than a full step,
/// so that it converges.
const NEAR: f64 = 0.1;

/// Keeps the policy's entropy at `entropy_target` times that of the first update.
///
/// It is an integrating controller: in each step the weight of the bonus grows by `entropy_coef_step` if the entropy is
/// below the target, and shrinks if it is above; within a tenth of the target the change is proportional. The weight
/// stays between 0 and `entropy_coef_max`.
///
/// Source: the adaptive coefficient of Skywork-OR1 (He et al. 2025), which changes by whole steps.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EntropyController {
    /// Entropy of the first update, in nats; none before it.
    start: Option<f64>,
    /// The sum of all changes to `entropy_coef`.
    added: f64,
    /// Whether the entropy of the last update was below the target.
    #[serde(default)]
    below: bool,
}

impl EntropyController {
    /// The weight of the bonus in the next update, in advantage per nat. Without a target it is always `entropy_coef`.
    pub fn coefficient(&self, config: &GrpoConfig) -> f64 {
        config.entropy_coef + self.added
    }

    /// The settings of the next update: those of `config` with the weight that the bonus has by now. Elites are imitated
    /// in all their tokens unless the entropy is below the target, for it is imitation that takes most of it.
    pub fn settings(&self, config: &GrpoConfig) -> GrpoConfig {
        let elite_free_nats = if config.entropy_target > 0.0 && !self.below { 0.0 } else { config.elite_free_nats };
        GrpoConfig { entropy_coef: self.coefficient(config), elite_free_nats, ..config.clone() }
    }

    /// The target, in nats; none without `entropy_target` or before the first update.
    pub fn target(&self, config: &GrpoConfig) -> Option<f64> {
        self.start.filter(|_| config.entropy_target > 0.0).map(|start| config.entropy_target * start)
    }

    /// Adapts the weight to the entropy of an update, in nats per token.
    pub fn observe(&mut self, entropy: f64, config: &GrpoConfig) {
        self.start.get_or_insert(entropy);
        let Some(target) = self.target(config).filter(|target| *target > 0.0) else { return };
        self.below = entropy < target;
        let short = ((target - entropy) / (NEAR * target)).clamp(-1.0, 1.0);
        let wanted = self.coefficient(config) + config.entropy_coef_step * short;
        self.added = wanted.clamp(0.0, config.entropy_coef_max) - config.entropy_coef;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn config(entropy_target: f64) -> GrpoConfig {
        GrpoConfig {
            entropy_target,
            entropy_coef: 0.01,
            entropy_coef_step: 0.004,
            entropy_coef_max: 0.1,
            ..Config::preset("builtin").unwrap().grpo
        }
    }

    /// A softmax policy over eight actions, one of which is slightly better, trained by the exact gradients of the
    /// expected reward and of the bonus.
    struct Bandit {
        logits: [f64; 8],
    }

    impl Bandit {
        fn probabilities(&self) -> [f64; 8] {
            let total: f64 = self.logits.iter().map(|logit| logit.exp()).sum();
            self.logits.map(|logit| logit.exp() / total)
        }

        fn entropy(&self) -> f64 {
            -self.probabilities().iter().map(|p| p * p.ln()).sum::<f64>()
        }

        fn climb(&mut self, bonus: f64) {
            const REWARDS: [f64; 8] = [0.3, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1];
            const RATE: f64 = 2.0;
            let (probabilities, entropy) = (self.probabilities(), self.entropy());
            let mean: f64 = probabilities.iter().zip(REWARDS).map(|(p, reward)| p * reward).sum();
            for (action, p) in probabilities.into_iter().enumerate() {
                let reward = p * (REWARDS[action] - mean);
                self.logits[action] += RATE * (reward - bonus * p * (p.ln() + entropy));
            }
        }
    }

    fn train_bandit(config: &GrpoConfig, steps: usize) -> (f64, Vec<f64>, EntropyController) {
        let mut bandit = Bandit { logits: [0.0; 8] };
        let mut controller = EntropyController::default();
        let mut entropies = Vec::new();
        for _ in 0..steps {
            let entropy = bandit.entropy();
            entropies.push(entropy);
            bandit.climb(controller.coefficient(config));
            controller.observe(entropy, config);
        }
        (entropies[0], entropies, controller)
    }

    #[test]
    fn a_policy_that_would_collapse_is_held_at_its_target() {
        let (start, free, _) = train_bandit(&config(0.0), 800);
        assert!((start - 8f64.ln()).abs() < 1e-12);
        assert!(free[799] < 0.1 * start, "without a target it collapses: {}", free[799]);
        let (start, held, controller) = train_bandit(&config(0.7), 800);
        let target = 0.7 * start;
        for entropy in &held[400..] {
            assert!((entropy - target).abs() < 0.05 * target, "{entropy} is not {target}");
        }
        let coefficient = controller.coefficient(&config(0.7));
        assert!(coefficient > 0.01 && coefficient < 0.1, "{coefficient}");
    }

    #[test]
    fn the_coefficient_moves_as_calculated_by_hand() {
        let (config, mut controller) = (config(0.5), EntropyController::default());
        // The first entropy is 2, so the target is 1. Far above it the weight falls by a full step, but not below 0.
        let cases = [(2.0, 0.006), (1.5, 0.002), (1.5, 0.0), (0.8, 0.004), (0.95, 0.006), (1.0, 0.006), (1.05, 0.004)];
        for (entropy, expected) in cases {
            controller.observe(entropy, &config);
            let found = controller.coefficient(&config);
            assert!((found - expected).abs() < 1e-12, "at {entropy}: {found} is not {expected}");
        }
        for _ in 0..100 {
            controller.observe(0.1, &config);
        }
        assert!((controller.coefficient(&config) - 0.1).abs() < 1e-12, "not above entropy_coef_max");
        assert_eq!(controller.target(&config), Some(1.0));
    }

    #[test]
    fn elites_are_imitated_whole_unless_the_entropy_is_below_the_target() {
        let free = |config: &GrpoConfig, entropies: &[f64]| {
            let mut controller = EntropyController::default();
            entropies.iter().for_each(|entropy| controller.observe(*entropy, config));
            controller.settings(config).elite_free_nats
        };
        let held = GrpoConfig { elite_free_nats: 0.7, ..config(0.5) };
        // The first entropy is 2, so the target is 1.
        for (entropies, expected) in
            [(&[][..], 0.0), (&[2.0], 0.0), (&[2.0, 0.9], 0.7), (&[2.0, 0.9, 1.1], 0.0), (&[2.0, 1.0], 0.0)]
        {
            assert_eq!(free(&held, entropies), expected, "after {entropies:?}");
        }
        let without_target = GrpoConfig { entropy_target: 0.0, ..held };
        assert_eq!(free(&without_target, &[2.0, 2.0]), 0.7);
    }

    #[test]
    fn without_a_target_the_coefficient_is_fixed() {
        let (config, mut controller) = (config(0.0), EntropyController::default());
        for entropy in [2.0, 0.1, 0.0] {
            controller.observe(entropy, &config);
            assert_eq!((controller.coefficient(&config), controller.target(&config)), (0.01, None));
        }
    }
}
