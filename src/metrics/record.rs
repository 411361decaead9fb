//! The numbers of one step, under the names that users of TRL already plot.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::environment::Labels;
use crate::stats;

/// One line of `metrics.jsonl`: a flat object, its keys always in this order, then the open families
/// (`rewards/`, `became/`, `ending/`, `guard/`, `gpu/`, `parallel/`) by name.
///
/// Numbers of the update are absent from a step that made none because no group had a signal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Steps done, this one included.
    pub step: usize,
    /// Value of the loss.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss: Option<f64>,
    /// Global norm of the gradient before clipping.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grad_norm: Option<f64>,
    /// Learning rate of this step.
    pub learning_rate: f64,
    /// Tokens seen since the run began, prompts and completions.
    pub num_tokens: u64,
    /// Seconds the step took.
    pub step_time: f64,
    /// Mean completion length, in tokens.
    #[serde(rename = "completions/mean_length")]
    pub mean_length: f64,
    /// Shortest completion, in tokens.
    #[serde(rename = "completions/min_length")]
    pub min_length: usize,
    /// Longest completion, in tokens.
    #[serde(rename = "completions/max_length")]
    pub max_length: usize,
    /// Share of completions cut at the longest length allowed.
    #[serde(rename = "completions/clipped_ratio")]
    pub clipped_ratio: f64,
    /// Mean reward.
    pub reward: f64,
    /// Standard deviation of the rewards over the batch.
    pub reward_std: f64,
    /// Share of groups whose rewards all count the same.
    pub frac_reward_zero_std: f64,
    /// Mean entropy of the sampling distribution at completion tokens, in nats.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entropy: Option<f64>,
    /// Weight of the entropy bonus in this step.
    #[serde(default)]
    pub entropy_coef: f64,
    /// Entropy that the bonus is moved to hold, in nats; only with `entropy_target`, after the first update.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entropy_target: Option<f64>,
    /// Estimated KL divergence from the reference, in nats; only when `beta` is not 0.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kl: Option<f64>,
    /// Share of tokens whose ratio was clipped from below.
    #[serde(rename = "clip_ratio/low_mean", skip_serializing_if = "Option::is_none", default)]
    pub clip_ratio_low: Option<f64>,
    /// Share of tokens whose ratio was clipped from above, by `epsilon_high` or `delta`, whatever their advantage.
    #[serde(rename = "clip_ratio/high_mean", skip_serializing_if = "Option::is_none", default)]
    pub clip_ratio_high: Option<f64>,
    /// Mean absolute difference of sampling and scoring log-probabilities, in nats.
    #[serde(rename = "sampling/sampling_logp_difference/mean", skip_serializing_if = "Option::is_none", default)]
    pub logp_difference_mean: Option<f64>,
    /// Largest such difference.
    #[serde(rename = "sampling/sampling_logp_difference/max", skip_serializing_if = "Option::is_none", default)]
    pub logp_difference_max: Option<f64>,
    /// Mean of the weights that correct for it, as they count in the loss; only with servers.
    #[serde(rename = "sampling/importance_sampling_ratio/mean", skip_serializing_if = "Option::is_none", default)]
    pub importance_ratio: Option<f64>,
    /// Share of tokens whose weight was truncated, or who were masked; only with servers.
    #[serde(rename = "sampling/frac_corrected", skip_serializing_if = "Option::is_none", default)]
    pub frac_corrected: Option<f64>,
    /// Mean over completions of the steps between the policy that sampled them and the one that is updated; only with
    /// `steps_ahead`.
    #[serde(rename = "sampling/policy_lag", skip_serializing_if = "Option::is_none", default)]
    pub policy_lag: Option<f64>,
    /// Estimated KL divergence of the policy that sampled from the one that is updated (k3), before the update, in nats;
    /// only with `steps_ahead`.
    #[serde(rename = "sampling/kl", skip_serializing_if = "Option::is_none", default)]
    pub sampling_kl: Option<f64>,
    /// Mean over completions of the mean score of their games; 0 for one that does not play. Of games only.
    #[serde(rename = "game/mean_score", skip_serializing_if = "Option::is_none", default)]
    pub mean_score: Option<f64>,
    /// Best tile of any game. Of 2048 only.
    #[serde(rename = "game/max_tile", skip_serializing_if = "Option::is_none", default)]
    pub max_tile: Option<u32>,
    /// Share of completions that play: every game to its end, or until its budget is used up. `became/succeeded` counts
    /// them. Of games only.
    #[serde(rename = "game/frac_played", skip_serializing_if = "Option::is_none", default)]
    pub frac_played: Option<f64>,
    /// Mean over completions of the share of its task's tests that each passes. Of tasks only.
    #[serde(rename = "tasks/frac_tests", skip_serializing_if = "Option::is_none", default)]
    pub frac_tests: Option<f64>,
    /// Share of completions that pass all tests. Of tasks only.
    #[serde(rename = "tasks/frac_passed", skip_serializing_if = "Option::is_none", default)]
    pub frac_passed: Option<f64>,
    /// Distinct programs by their syntax trees: layout and comments aside.
    #[serde(rename = "programs/unique")]
    pub programs_unique: usize,
    /// Share of distinct programs among those that parse; 0 when none does.
    #[serde(rename = "programs/frac_unique", default)]
    pub frac_unique: f64,
    /// Share of completions that hold a program that parses.
    #[serde(rename = "programs/frac_parsed", default)]
    pub frac_parsed: f64,
    /// Completions whose evaluation was known already.
    #[serde(rename = "programs/cache_hits")]
    pub cache_hits: usize,
    /// Groups with a signal.
    #[serde(rename = "groups/trainable")]
    pub groups_trainable: usize,
    /// Groups that are tied, after resampling.
    #[serde(rename = "groups/tied", default)]
    pub groups_tied: usize,
    /// Groups that were sampled anew because they were tied, once for each round.
    #[serde(rename = "groups/resampled", default)]
    pub groups_resampled: usize,
    /// Elites that are kept.
    #[serde(rename = "elites/count", default)]
    pub elites_count: usize,
    /// Their mean reward, each over all its games.
    #[serde(rename = "elites/reward", skip_serializing_if = "Option::is_none", default)]
    pub elites_reward: Option<f64>,
    /// Elites that played the games of this step again.
    #[serde(rename = "elites/replayed", default)]
    pub elites_replayed: usize,
    /// Elites that the update imitated.
    #[serde(rename = "elites/imitated", default)]
    pub elites_imitated: usize,
    /// Mean negative log-likelihood of their tokens, in nats.
    #[serde(rename = "elites/nll", skip_serializing_if = "Option::is_none", default)]
    pub elites_nll: Option<f64>,
    /// Correlation of the rewards with those that were learnt from; only in a control with shuffled rewards.
    #[serde(rename = "control/reward_correlation", skip_serializing_if = "Option::is_none", default)]
    pub control_correlation: Option<f64>,
    /// What the guard says: 0 nothing, 1 a warning, 2 that nothing can be learnt any more. By symptom in `guard/{symptom}`.
    #[serde(rename = "guard/level", default)]
    pub guard_level: u8,
    /// Share of the games played that ran compiled from the first call to the last; the others were interpreted.
    #[serde(rename = "sandbox/compiled", default)]
    pub compiled: f64,
    /// Mean fuel of a game.
    #[serde(rename = "sandbox/fuel_mean")]
    pub fuel_mean: f64,
    /// Median time of an evaluation, in milliseconds.
    #[serde(rename = "sandbox/p50_ms")]
    pub p50_ms: f64,
    /// 99th percentile of the time of an evaluation, in milliseconds.
    #[serde(rename = "sandbox/p99_ms")]
    pub p99_ms: f64,
    /// Faults of the machine, not of a program; each was tried again.
    #[serde(rename = "sandbox/infra_faults")]
    pub infra_faults: usize,
    /// Seconds of sampling in this step; with `steps_ahead`, of the next step's completions.
    #[serde(rename = "time/generate")]
    pub time_generate: f64,
    /// Seconds of that for bringing adapters to servers; only with servers.
    #[serde(rename = "time/adapter", skip_serializing_if = "Option::is_none", default)]
    pub time_adapter: Option<f64>,
    /// Seconds the trainer waited for rewards after sampling had ended.
    #[serde(rename = "time/reward_wait")]
    pub time_reward_wait: f64,
    /// Seconds of the update.
    #[serde(rename = "time/update")]
    pub time_update: f64,
    /// Completion tokens sampled a second, while those of this step were; 0 where a checkpoint held them.
    #[serde(rename = "generate/tokens_per_s")]
    pub tokens_per_s: f64,
    /// The open families: `rewards/{name}/mean`, `rewards/{name}/std`, `became/{fate}`, `ending/{kind}`,
    /// `guard/{symptom}`, and `gpu/{quantity}` where one is watched.
    #[serde(flatten)]
    pub families: BTreeMap<String, f64>,
}

impl StepRecord {
    /// Sets what programs came to, under the names of their kind of environment: the mean of their scores (of tasks, of
    /// the shares of tests they pass), the share of them that succeed, and the best tile.
    pub fn came_to(&mut self, labels: Labels, score: f64, succeeded: f64, max_tile: u32) {
        match labels {
            Labels::Board | Labels::Game => (self.mean_score, self.frac_played) = (Some(score), Some(succeeded)),
            // Zero has a sign, and sums of nothing are negative.
            Labels::Tests => (self.frac_tests, self.frac_passed) = (Some(score + 0.0), Some(succeeded)),
        }
        self.max_tile = labels.has_tiles().then_some(max_tile);
    }

    /// Mean of the scores; of tasks, of the shares of tests.
    pub fn score(&self) -> f64 {
        self.mean_score.or(self.frac_tests).unwrap_or(0.0)
    }

    /// Share of programs that play; of tasks, that pass all tests.
    pub fn succeeded(&self) -> f64 {
        self.frac_played.or(self.frac_passed).unwrap_or(0.0)
    }

    /// Sets `rewards/{name}/mean` and `rewards/{name}/std` from the values of one part of the reward.
    pub fn reward_part(&mut self, name: &str, values: &[f32]) {
        let values = values.iter().copied().map(shortest);
        self.families.insert(format!("rewards/{name}/mean"), stats::mean(values.clone()));
        self.families.insert(format!("rewards/{name}/std"), stats::deviation(values));
    }

    /// Sets `reward` and `reward_std` (over the batch, with n - 1 as in TRL).
    pub fn rewards(&mut self, values: &[f32]) {
        let values = values.iter().copied().map(shortest);
        (self.reward, self.reward_std) = (stats::mean(values.clone()), stats::deviation(values));
    }

    /// Sets the seconds that each process waited for the others in this step: `parallel/wait` is their mean, and
    /// `parallel/slowest` who was waited for most. Of up to 64 processes, also `parallel/wait/{rank}`.
    pub fn waited(&mut self, by_rank: &[f64]) {
        let least = (0..by_rank.len()).min_by(|a, b| by_rank[*a].total_cmp(&by_rank[*b])).unwrap_or(0);
        self.families.insert("parallel/slowest".into(), least as f64);
        self.families.insert("parallel/wait".into(), stats::mean(by_rank.iter().copied()));
        for (rank, seconds) in by_rank.iter().enumerate().take_while(|_| by_rank.len() <= 64) {
            self.families.insert(format!("parallel/wait/{rank}"), *seconds);
        }
    }

    /// Counts completions of which this became.
    pub fn count_fate(&mut self, fate: &str, count: usize) {
        self.families.insert(format!("became/{fate}"), count as f64);
    }

    /// Sets `guard/{symptom}`, 1 for a warning and 2 for the end.
    pub fn symptom(&mut self, name: &str, level: u8) {
        self.families.insert(format!("guard/{name}"), f64::from(level));
    }

    /// Names of the symptoms that stand.
    pub fn symptoms(&self) -> Vec<&str> {
        self.families.keys().filter_map(|key| key.strip_prefix("guard/")).collect()
    }

    /// Counts games that ended this way.
    pub fn count_ending(&mut self, kind: &str) {
        *self.families.entry(format!("ending/{kind}")).or_default() += 1.0;
    }
}

/// The number that an f32 stands for in print: the f64 with its shortest digits, 0.1 where a cast gives
/// 0.10000000149011612.
pub fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_flat_in_a_fixed_order_and_reads_back() {
        let mut record = StepRecord { step: 3, loss: Some(0.25), learning_rate: 3e-4, ..StepRecord::default() };
        record.rewards(&[0.0, 1.0]);
        record.reward_part("game", &[0.0, 1.0]);
        record.count_fate("succeeded", 2);
        record.count_ending("game_over");
        let line = serde_json::to_string(&record).unwrap();
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&line).unwrap();
        let keys: Vec<&str> = object.keys().map(String::as_str).collect();
        assert_eq!(keys[..5], ["step", "loss", "learning_rate", "num_tokens", "step_time"]);
        assert_eq!(
            keys[keys.len() - 4..],
            ["became/succeeded", "ending/game_over", "rewards/game/mean", "rewards/game/std"]
        );
        assert!(object.values().all(|value| value.is_number()), "{line}");
        assert_eq!(object["became/succeeded"], 2.0);
        assert_eq!(serde_json::from_str::<StepRecord>(&line).unwrap(), record);
    }

    #[test]
    fn games_and_tasks_have_names_of_their_own_and_both_are_read() {
        let written = |labels| {
            let mut record = StepRecord::default();
            record.came_to(labels, 0.5, 0.25, 64);
            let line = serde_json::to_string(&record).unwrap();
            let read: StepRecord = serde_json::from_str(&line).unwrap();
            assert_eq!((read.score(), read.succeeded()), (0.5, 0.25));
            let keys: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&line).unwrap();
            let ours = keys.keys().filter(|key| key.starts_with("game/") || key.starts_with("tasks/"));
            ours.cloned().collect::<Vec<_>>()
        };
        assert_eq!(written(Labels::Board), ["game/mean_score", "game/max_tile", "game/frac_played"]);
        assert_eq!(written(Labels::Game), ["game/mean_score", "game/frac_played"]);
        assert_eq!(written(Labels::Tests), ["tasks/frac_tests", "tasks/frac_passed"]);
    }

    #[test]
    fn rewards_are_printed_with_the_digits_they_have() {
        let mut record = StepRecord::default();
        record.rewards(&[0.1, 0.1]);
        assert_eq!((record.reward, record.reward_std), (0.1, 0.0));
        assert_eq!([-0.35_f32, 1e-8, 3.0, f32::MAX].map(shortest), [-0.35, 1e-8, 3.0, 3.402_823_5e38]);
        assert!(shortest(f32::NAN).is_nan() && shortest(f32::INFINITY) == f64::INFINITY);
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let mut record = StepRecord::default();
        record.rewards(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(record.reward, 5.0);
        assert!((record.reward_std - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
