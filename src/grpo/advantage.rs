//! Rewards relative to their group.

use crate::config::{GrpoConfig, ScaleRewards};
use crate::groups::Groups;

/// Advantage of each completion: its reward less the mean of its group, divided by a standard deviation (of `n - 1`
/// degrees of freedom, as in TRL) that counts as at least `advantage_std_floor`.
///
/// A group whose rewards are all the same has advantages of exactly zero, whatever rounding would say.
///
/// Source: Shao et al. 2024, section 4.1.2; Liu et al. 2025 for no scaling.
pub fn advantages(rewards: &Groups<f32>, config: &GrpoConfig) -> Groups<f32> {
    let of_batch = std_dev(rewards.items());
    rewards.map_groups(|group| {
        if group.windows(2).all(|pair| pair[0] == pair[1]) {
            return vec![0.0; group.len()];
        }
        let divisor = match config.scale_rewards {
            ScaleRewards::Group => std_dev(group).max(config.advantage_std_floor),
            ScaleRewards::Batch => of_batch.max(config.advantage_std_floor),
            ScaleRewards::None => 1.0,
        };
        let centre = mean(group);
        group.iter().map(|reward| ((f64::from(*reward) - centre) / divisor) as f32).collect()
    })
}

fn mean(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len() as f64
}

fn std_dev(values: &[f32]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (f64::from(*value) - centre).powi(2)).sum();
    (squares / (values.len().max(2) - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn config(scale_rewards: ScaleRewards) -> GrpoConfig {
        GrpoConfig { scale_rewards, advantage_std_floor: 0.02, ..Config::preset("builtin").unwrap().grpo }
    }

    fn check(scale: ScaleRewards, size: usize, rewards: &[f32], expected: &[f32]) {
        let found = advantages(&Groups::new(size, rewards.to_vec()), &config(scale));
        for (found, expected) in found.items().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{scale:?}: {found} is not {expected}");
        }
    }

    #[test]
    fn advantages_are_those_calculated_by_hand() {
        // Means 2 and 6; the squares of each group sum to 2 and 8, so n - 1 gives deviations of 1 and 2; over the
        // batch of mean 4 they sum to 9 + 4 + 1 + 0 + 4 + 16 = 34, over 5.
        let rewards = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
        check(ScaleRewards::Group, 3, &rewards, &[-1.0, 0.0, 1.0, -1.0, 0.0, 1.0]);
        check(ScaleRewards::None, 3, &rewards, &[-1.0, 0.0, 1.0, -2.0, 0.0, 2.0]);
        let deviation = 6.8f32.sqrt();
        check(ScaleRewards::Batch, 3, &rewards, &[-1.0, 0.0, 1.0, -2.0, 0.0, 2.0].map(|a: f32| a / deviation));
    }

    #[test]
    fn i11_a_tied_group_has_exactly_zero_advantage() {
        for scale in [ScaleRewards::Group, ScaleRewards::Batch, ScaleRewards::None] {
            let mut rewards = vec![0.1f32; 8];
            rewards.extend([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
            let found = advantages(&Groups::new(8, rewards), &config(scale));
            assert!(found.items()[..8].iter().all(|advantage| *advantage == 0.0), "{scale:?}");
            assert!(found.items()[8..].iter().all(|advantage| *advantage != 0.0), "{scale:?}");
        }
    }

    #[test]
    fn a_small_spread_is_divided_by_the_floor() {
        // Deviation sqrt(2) / 2 * 0.002 = 0.0014, below the floor of 0.02.
        check(ScaleRewards::Group, 2, &[0.500, 0.502], &[-0.05, 0.05]);
    }
}
