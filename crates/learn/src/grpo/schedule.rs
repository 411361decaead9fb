//! The schedule of the learning rate.

use std::f64::consts::PI;

use crate::config::{GrpoConfig, LrScheduler};

/// The learning rate of the step after `step` finished steps, of `max_steps` in total.
///
/// Warm-up is linear, with a positive rate at the first step and the peak at its last. The linear and cosine schedules
/// would reach zero at `max_steps`, one step after the last.
pub fn learning_rate(config: &GrpoConfig, step: usize, max_steps: usize) -> f64 {
    if step < config.warmup_steps {
        return config.learning_rate * (step + 1) as f64 / config.warmup_steps as f64;
    }
    let done = (step - config.warmup_steps) as f64 / max_steps.saturating_sub(config.warmup_steps).max(1) as f64;
    let left = match config.lr_scheduler_type {
        LrScheduler::Constant => 1.0,
        LrScheduler::Linear => 1.0 - done,
        LrScheduler::Cosine => 0.5 * (1.0 + (PI * done).cos()),
    };
    config.learning_rate * left.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_rate_rises_then_follows_its_course() {
        let check = |lr_scheduler_type, expected: [f64; 6]| {
            let grpo = Config::preset("builtin").unwrap().grpo;
            let config = GrpoConfig { learning_rate: 1.0, warmup_steps: 2, lr_scheduler_type, ..grpo };
            for (step, expected) in expected.into_iter().enumerate() {
                let found = learning_rate(&config, step, 6);
                assert!((found - expected).abs() < 1e-12, "{lr_scheduler_type:?}, step {step}: {found}");
            }
        };
        let half_root = 0.5f64.sqrt();
        check(LrScheduler::Constant, [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]);
        check(LrScheduler::Linear, [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]);
        check(LrScheduler::Cosine, [0.5, 1.0, 1.0, 0.5 + half_root / 2.0, 0.5, 0.5 - half_root / 2.0]);
    }
}
