//! Advantages: rewards relative to their group.

use crate::config::{GrpoConfig, ScaleRewards};
use crate::groups::Groups;
use crate::stats;

/// The advantage of each turn of each completion, `(reward - mean) / divisor` with the mean of its group, in which the
/// turns of all completions are compared with each other; a completion of one turn has one reward. The divisor is by
/// `scale_rewards` the standard deviation (with `n - 1` degrees of freedom, as in TRL) of the group or of the whole
/// batch, but at least `advantage_std_floor`; 1; or the mean of the group, for which negative rewards count as 0, so
/// that advantages are from -1 to `n - 1`. `Entropic` has no divisor: it is
/// `exp(b r)` over the mean of `exp(b r)` of the others, less 1 (docs/losses.md).
///
/// A tied group has advantages of exactly zero, independent of rounding.
///
/// Source: Shao et al. 2024, section 4.1.2; Liu et al. 2025 for a divisor of 1; MaxRL (2602.02710) for the mean.
pub fn advantages(rewards: &Groups<Vec<f32>>, config: &GrpoConfig) -> Groups<Vec<f32>> {
    let all = rewards.items().concat();
    let of_batch = stats::deviation(as_f64(&all));
    rewards.map_groups(|group| {
        let mut found = in_group(&group.concat(), of_batch, config).into_iter();
        group.iter().map(|turns| found.by_ref().take(turns.len()).collect()).collect()
    })
}

/// The places of the completions that an update learns from: all of them, or the best `learn_from_best` and the worst
/// `learn_from_worst` of each group, in their order; of equal ones the earlier count as better.
///
/// Source: Xu et al. 2025, Not All Rollouts are Useful (2504.13818).
pub fn learnt_from(rewards: &Groups<f32>, config: &GrpoConfig) -> Groups<usize> {
    let (best, worst, size) = (config.learn_from_best, config.learn_from_worst, rewards.size());
    let places: Vec<usize> = (0..rewards.items().len()).collect();
    if best + worst == 0 || best + worst >= size {
        return Groups::new(size, places);
    }
    let of_group = |group: &[usize]| {
        let mut order = group.to_vec();
        order.sort_by(|a, b| rewards.items()[*b].total_cmp(&rewards.items()[*a]));
        order.drain(best..size - worst);
        order.sort_unstable();
        order
    };
    Groups::new(best + worst, places.chunks_exact(size).flat_map(of_group).collect())
}

/// The advantages of one group. `of_batch`: the standard deviation of all groups' rewards.
fn in_group(group: &[f32], of_batch: f64, config: &GrpoConfig) -> Vec<f32> {
    let (scale, floor) = (config.scale_rewards, config.advantage_std_floor);
    if is_tied(group, scale) {
        return vec![0.0; group.len()];
    }
    let group: Vec<f32> = group.iter().map(|reward| effective(*reward, scale)).collect();
    let centre = stats::mean(as_f64(&group));
    let divisor = match scale {
        ScaleRewards::Group => stats::deviation(as_f64(&group)).max(floor),
        ScaleRewards::Batch => of_batch.max(floor),
        ScaleRewards::Mean => centre,
        ScaleRewards::Entropic => return entropic(&group),
        ScaleRewards::None => 1.0,
    };
    group.iter().map(|reward| ((f64::from(*reward) - centre) / divisor) as f32).collect()
}

/// The largest steepness of weights, for rewards that are 1 apart: enough to tell the best from one that differs in its last
/// digit.
const STEEPEST: f64 = 1e12;
/// Halvings of the interval in which the steepness is searched for: it is above ln 2, and is found with all the digits of an
/// f64.
const HALVINGS: usize = 100;

/// Advantages for which the best counts: `exp(b r) / mean of exp(b r) over the others - 1`, with `b` so that the weights
/// `exp(b r)`, made to sum to 1, have a divergence of ln 2 from equal ones; at most [`STEEPEST`] over the distance of the best
/// from the worst, where so many are the best that no weights have it. At least three rewards, not all equal.
///
/// Source: the objective `entropic_adaptive_beta` of TTT-Discover (2026).
fn entropic(group: &[f32]) -> Vec<f32> {
    let (best, worst) = (as_f64(group).fold(f64::MIN, f64::max), as_f64(group).fold(f64::MAX, f64::min));
    let below = |reward: f64| (reward - best) / (best - worst);
    let weights = |b: f64| -> Vec<f64> { as_f64(group).map(|reward| (b * below(reward)).exp()).collect() };
    let divergence = |b: f64| -> f64 {
        let weights = weights(b);
        let sum: f64 = weights.iter().sum();
        let shares = weights.iter().map(|weight| weight / sum).filter(|share| *share > 0.0);
        shares.map(|share| share * (group.len() as f64 * share).ln()).sum()
    };
    let (mut low, mut high) = (0.0, STEEPEST);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        *(if divergence(middle) < std::f64::consts::LN_2 { &mut low } else { &mut high }) = middle;
    }
    let weights = weights(high);
    let sum: f64 = weights.iter().sum();
    let others = |weight: f64| (sum - weight) / (group.len() - 1) as f64;
    weights.iter().map(|weight| (weight / others(*weight) - 1.0) as f32).collect()
}

/// Whether all rewards of a group count as equal, so that there is nothing to learn from it.
pub fn is_tied(group: &[f32], scale: ScaleRewards) -> bool {
    group.windows(2).all(|pair| effective(pair[0], scale) == effective(pair[1], scale))
}

/// The reward as advantages use it. If the mean is the divisor, negative rewards count as 0, so that it is not
/// negative.
fn effective(reward: f32, scale: ScaleRewards) -> f32 {
    if scale == ScaleRewards::Mean { reward.max(0.0) } else { reward }
}

fn as_f64(values: &[f32]) -> impl Iterator<Item = f64> + Clone {
    values.iter().map(|value| f64::from(*value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn config(scale_rewards: ScaleRewards) -> GrpoConfig {
        GrpoConfig { scale_rewards, advantage_std_floor: 0.02, ..Config::preset("builtin").unwrap().grpo }
    }

    /// Those of completions of one turn each.
    fn of_one_turn(size: usize, rewards: &[f32], scale: ScaleRewards) -> Vec<f32> {
        let rewards = Groups::new(size, rewards.iter().map(|reward| vec![*reward]).collect());
        advantages(&rewards, &config(scale)).items().concat()
    }

    fn check(scale: ScaleRewards, size: usize, rewards: &[f32], expected: &[f32]) {
        for (found, expected) in of_one_turn(size, rewards, scale).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{scale:?}: {found} is not {expected}");
        }
    }

    #[test]
    fn advantages_are_those_calculated_by_hand() {
        // The means are 2 and 6. The squared deviations of the groups sum to 2 and 8, which gives standard deviations
        // of 1 and 2 with n - 1. Over the batch, whose mean is 4, they sum to 9 + 4 + 1 + 0 + 4 + 16 = 34, which is
        // divided by 5.
        let rewards = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
        check(ScaleRewards::Group, 3, &rewards, &[-1.0, 0.0, 1.0, -1.0, 0.0, 1.0]);
        check(ScaleRewards::None, 3, &rewards, &[-1.0, 0.0, 1.0, -2.0, 0.0, 2.0]);
        let deviation = 6.8f32.sqrt();
        check(ScaleRewards::Batch, 3, &rewards, &[-1.0, 0.0, 1.0, -2.0, 0.0, 2.0].map(|a: f32| a / deviation));
        // The standard deviation is sqrt(2) / 2 * 0.002 = 0.0014, below the floor of 0.02.
        check(ScaleRewards::Group, 2, &[0.500, 0.502], &[-0.05, 0.05]);
    }

    #[test]
    fn divided_by_the_mean_a_rare_success_weighs_its_inverse_rate_and_failures_count_as_zero() {
        // One success of four: (1 - 1/4) / (1/4) = 3. Three of four: (1 - 3/4) / (3/4) = 1/3. A failure is always -1.
        let rewards = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0];
        let third = 1.0 / 3.0;
        check(ScaleRewards::Mean, 4, &rewards, &[3.0, -1.0, -1.0, -1.0, third, third, -1.0, third]);
        // Negative rewards count as 0, so the mean of the first group is 1/2.
        check(ScaleRewards::Mean, 4, &[0.5, -0.1, 1.5, -0.07], &[0.0, -1.0, 2.0, -1.0]);
        check(ScaleRewards::Mean, 3, &[-0.1, 0.0, -0.06], &[0.0; 3]);
    }

    /// Steepness and advantages were computed in Python by bisection: 2.5532449, 3.7522998, the limit where two of three are
    /// the best, and 15,208,507 where one of them is better by the last digit of an f32.
    #[test]
    fn entropic_advantages_are_those_of_the_paper() {
        let check = |rewards: &[f32], expected: &[f32]| {
            let found = of_one_turn(rewards.len(), rewards, ScaleRewards::Entropic);
            assert!(found.iter().zip(expected).all(|(found, one)| (found - one).abs() < 1e-5), "{found:?}");
        };
        let (low, of_six) =
            (-0.797_962_5, [-0.822_905_4, -0.738_045, -0.609_453_5, 10.043_021, -0.410_667_8, -0.738_045]);
        check(&[1.0, 0.0, 0.0, 0.0], &[11.848_729, low, low, low]);
        check(&[0.1, 0.2, 0.3, 0.9, 0.4, 0.2], &of_six);
        check(&[1.0, 1.0, 0.0], &[1.0, 1.0, -1.0]);
        check(&[1.0, 0.999_999_9, 0.0], &[11.257_555, -0.673_670_65, -1.0]);
        // A shift or another unit of the rewards changes nothing, down to the smallest and up to the largest that there are.
        check(&[3.0, 5.0, 7.0, 19.0, 9.0, 5.0], &of_six);
        for unit in [1e-30f32, 1e-9, 1e-3, 1e6, 1e12, 1e20, 1e30] {
            check(&[0.1, 0.2, 0.3, 0.9, 0.4, 0.2].map(|reward: f32| reward * unit), &of_six);
        }
    }

    #[test]
    fn a_group_is_tied_when_its_rewards_count_the_same() {
        for scale in [ScaleRewards::Group, ScaleRewards::Batch, ScaleRewards::None] {
            assert!(is_tied(&[0.1, 0.1], scale) && !is_tied(&[-0.1, -0.2], scale) && !is_tied(&[0.0, 0.1], scale));
        }
        let mean = ScaleRewards::Mean;
        assert!(is_tied(&[0.1, 0.1], mean) && is_tied(&[-0.1, -0.2, 0.0], mean) && !is_tied(&[-0.1, 0.1], mean));
    }

    #[test]
    fn i11_a_tied_group_has_exactly_zero_advantage() {
        use ScaleRewards::{Batch, Entropic, Group, Mean, None};
        for scale in [Group, Batch, Mean, Entropic, None] {
            let mut rewards = vec![0.1f32; 8];
            rewards.extend([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
            let found = of_one_turn(8, &rewards, scale);
            assert!(found[..8].iter().all(|advantage| *advantage == 0.0), "{scale:?}");
            assert!(found[8..].iter().all(|advantage| *advantage != 0.0), "{scale:?}");
        }
    }

    #[test]
    fn the_best_and_the_worst_are_learnt_from_and_of_equal_ones_the_first() {
        let rewards = Groups::new(4, vec![0.5, 0.9, 0.1, 0.2, 0.3, 0.3, 0.3, 0.3]);
        let places = |best, worst| {
            let config = GrpoConfig { learn_from_best: best, learn_from_worst: worst, ..config(ScaleRewards::Group) };
            learnt_from(&rewards, &config)
        };
        assert_eq!(places(2, 1), Groups::new(3, vec![0, 1, 2, 4, 5, 7]));
        assert_eq!(places(0, 2), Groups::new(2, vec![2, 3, 6, 7]));
        for (best, worst) in [(0, 0), (3, 1), (9, 9)] {
            assert_eq!(places(best, worst), Groups::new(4, (0..8).collect()));
        }
    }

    #[test]
    fn turns_of_a_group_are_compared_with_each_other() {
        let config = config(ScaleRewards::None);
        // The first group has the mean (0 + 3 + 3) / 3 = 2, the second is tied.
        let found = advantages(&Groups::new(2, vec![vec![0.0, 3.0], vec![3.0], vec![0.1; 3], vec![0.1]]), &config);
        assert_eq!(found.items(), [vec![-2.0, 1.0], vec![1.0], vec![0.0; 3], vec![0.0]]);
    }
}
