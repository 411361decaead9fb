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

/// What to say of a run that goes on after `done` steps to the step `max_steps`, where it was to end with the step `had`: its
/// schedule falls otherwise from here on. None if it does not, or if no step was made by the old one or is made by the
/// new one. `step`: what a step is called, which is a round in a search.
pub fn rescheduled(config: &GrpoConfig, step: &str, done: usize, had: usize, max_steps: usize) -> Option<String> {
    let name = match config.lr_scheduler_type {
        LrScheduler::Constant => return None,
        LrScheduler::Linear => "linear",
        LrScheduler::Cosine => "cosine",
    };
    let (last, next) = (learning_rate(config, done.checked_sub(1)?, had), learning_rate(config, done, max_steps));
    (had != max_steps && done < max_steps).then(|| {
        format!(
            "grpo.lr_scheduler_type = {name}: the learning rate falls to zero at {step} {max_steps} now, no longer at {step} \
             {had}: {last:.2e} in {step} {done}, {next:.2e} in {step} {}",
            done + 1
        )
    })
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

    #[test]
    fn a_schedule_that_is_stretched_is_told_with_the_rates_before_and_after() {
        let grpo = Config::preset("builtin").unwrap().grpo;
        let told = |lr_scheduler_type, done, max_steps| {
            let config = GrpoConfig { learning_rate: 1.0, warmup_steps: 0, lr_scheduler_type, ..grpo.clone() };
            rescheduled(&config, "step", done, 4, max_steps)
        };
        // The last of four steps has a quarter of the peak, and the fifth of eight a half.
        let words = told(LrScheduler::Linear, 4, 8).unwrap();
        assert!(words.contains("= linear: ") && words.contains("at step 8 now, no longer at step 4: "), "{words}");
        assert!(words.ends_with("2.50e-1 in step 4, 5.00e-1 in step 5"), "{words}");
        assert!(told(LrScheduler::Cosine, 1, 2).is_some());
        for (done, max_steps) in [(2, 4), (0, 8), (3, 2)] {
            assert_eq!(told(LrScheduler::Linear, done, max_steps), None, "{done} of {max_steps}");
        }
        assert_eq!(told(LrScheduler::Constant, 4, 8), None);
    }
}
