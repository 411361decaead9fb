//! The control run with shuffled rewards: the same as a training run, except that rewards are independent of
//! completions.

use rand::seq::SliceRandom;

use crate::groups::Groups;
use crate::seed::{Purpose, Seed};
use crate::stats;

/// The rewards of a step in random order, shuffled across its groups. `seed` is the step's.
pub fn shuffled(rewards: &Groups<f32>, seed: Seed) -> Groups<f32> {
    let mut items = rewards.items().to_vec();
    items.shuffle(&mut seed.child(Purpose::Control, 0).rng());
    Groups::new(rewards.size(), items)
}

/// Pearson's correlation coefficient, -1 to 1; 0 if either side is constant.
pub fn correlation(left: &Groups<f32>, right: &Groups<f32>) -> f64 {
    let deviations = |groups: &Groups<f32>| -> Vec<f64> {
        let mean = stats::mean(groups.items().iter().map(|value| f64::from(*value)));
        groups.items().iter().map(|value| f64::from(*value) - mean).collect()
    };
    let (left, right) = (deviations(left), deviations(right));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = (product(&left, &left) * product(&right, &right)).sqrt();
    if scale > 0.0 { product(&left, &right) / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffled_rewards_are_the_same_rewards_and_say_nothing() {
        let rewards = Groups::new(8, (0..64u8).map(f32::from).collect());
        assert!((correlation(&rewards, &rewards) - 1.0).abs() < 1e-12);
        let mut total = 0.0;
        for step in 0..200 {
            let seed = Seed::root(1).child(Purpose::Step, step);
            let control = shuffled(&rewards, seed);
            assert_eq!(control, shuffled(&rewards, seed), "the same step, the same order");
            let mut sorted = control.items().to_vec();
            sorted.sort_by(f32::total_cmp);
            assert_eq!(sorted, rewards.items());
            total += correlation(&rewards, &control);
        }
        // The correlation of 64 pairs has a standard deviation of 1 / sqrt(63), the mean of 200 such correlations of
        // 0.009.
        assert!((total / 200.0).abs() < 0.04, "{}", total / 200.0);
    }

    #[test]
    fn the_correlation_is_that_calculated_by_hand() {
        let groups = |values: [f32; 4]| Groups::new(2, values.to_vec());
        // Deviations -1.5 -0.5 0.5 1.5 and -1 1 -1 1: (1.5 - 0.5 - 0.5 + 1.5) / sqrt(5 * 4).
        let found = correlation(&groups([1.0, 2.0, 3.0, 4.0]), &groups([0.0, 2.0, 0.0, 2.0]));
        assert!((found - 2.0 / 20f64.sqrt()).abs() < 1e-12);
        assert_eq!(correlation(&groups([1.0; 4]), &groups([0.0, 2.0, 0.0, 2.0])), 0.0);
    }
}
