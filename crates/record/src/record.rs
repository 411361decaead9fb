//! The metrics of one step, under the names that TRL uses where it has the same metric.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use grpo_base::stats;
use grpo_environment::Labels;

use super::parts::{EliteRecord, UpdateRecord};

/// One line of `metrics.jsonl`: a flat object with its keys in this order, then the families of keys (`rewards/`,
/// `verdict/`, `ending/`, `guard/`, `gpu/`, `parallel/`, `turns/`, `repair/`,
/// `curriculum/`, `honeypot/`) by name. Shares are from 0 to 1.
///
/// Its parts are returned by those who compute them, and are lines of one object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Number of steps done, including this one.
    pub step: usize,
    /// What the policy learnt.
    #[serde(flatten)]
    pub update: UpdateRecord,
    /// Tokens of prompts and completions since the run began.
    pub num_tokens: u64,
    /// Duration of the step, in seconds.
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
    /// Share of completions that were truncated at the maximum length.
    #[serde(rename = "completions/clipped_ratio")]
    pub clipped_ratio: f64,
    /// Mean reward.
    pub reward: f64,
    /// Standard deviation of the rewards over the batch.
    pub reward_std: f64,
    /// Share of groups that are tied.
    pub frac_reward_zero_std: f64,
    /// Mean policy lag of the completions, in steps; only with `steps_ahead`.
    #[serde(rename = "sampling/policy_lag", skip_serializing_if = "Option::is_none")]
    pub policy_lag: Option<f64>,
    /// Mean over completions of the mean score of their games. A completion without a program counts as 0, and a game that
    /// a fault of the program ended with the score that it had. For games only.
    #[serde(rename = "game/mean_score", skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    /// Largest tile of any game. For 2048 only.
    #[serde(rename = "game/max_tile", skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
    /// Share of completions that play: all their games go on to their end, or until the budget is used up.
    /// `verdict/succeeded` counts them. For games only.
    #[serde(rename = "game/frac_played", skip_serializing_if = "Option::is_none")]
    pub frac_played: Option<f64>,
    /// Mean over completions of the share of tests that each passes. For tasks only.
    #[serde(rename = "tasks/frac_tests", skip_serializing_if = "Option::is_none")]
    pub frac_tests: Option<f64>,
    /// Share of completions that pass all tests. For tasks only.
    #[serde(rename = "tasks/frac_passed", skip_serializing_if = "Option::is_none")]
    pub frac_passed: Option<f64>,
    /// Number of distinct programs, compared by their syntax trees, without layout and comments.
    #[serde(rename = "programs/unique")]
    pub programs_unique: usize,
    /// Share of distinct programs among those that parse; 0 if none does.
    #[serde(rename = "programs/frac_unique", default)]
    pub frac_unique: f64,
    /// Share of completions with a program that parses.
    #[serde(rename = "programs/frac_parsed", default)]
    pub frac_parsed: f64,
    /// Number of completions, those of all turns, whose evaluation was taken from the cache: the program was there before, in
    /// this conversation or in another.
    #[serde(rename = "programs/cache_hits")]
    pub cache_hits: usize,
    /// Number of groups that are not tied.
    #[serde(rename = "groups/trainable")]
    pub groups_trainable: usize,
    /// Number of groups that are tied after resampling.
    #[serde(rename = "groups/tied", default)]
    pub groups_tied: usize,
    /// Number of groups that were sampled again because they were tied; a group counts once for each round.
    #[serde(rename = "groups/resampled", default)]
    pub groups_resampled: usize,
    /// What became of the elites.
    #[serde(flatten)]
    pub elites: EliteRecord,
    /// Correlation of the rewards with the shuffled rewards, -1 to 1; only in a control run.
    #[serde(rename = "control/reward_correlation", skip_serializing_if = "Option::is_none")]
    pub control_correlation: Option<f64>,
    /// Level of the guard: 0 no symptom, 1 a warning, 2 the run cannot learn any more. `guard/{symptom}` has the level
    /// of each symptom.
    #[serde(rename = "guard/level", default)]
    pub guard_level: u8,
    /// Share of games whose program ran compiled from the first call to the last; the others were interpreted.
    #[serde(rename = "sandbox/compiled", default)]
    pub compiled: f64,
    /// Number of completions on whose programs compiled code and CPython differ; CPython judged them.
    #[serde(rename = "sandbox/tier_differences", default)]
    pub tier_differences: usize,
    /// Mean fuel per game, in instructions.
    #[serde(rename = "sandbox/fuel_mean")]
    pub fuel_mean: f64,
    /// Median time of a game, in milliseconds.
    #[serde(rename = "sandbox/p50_ms")]
    pub p50_ms: f64,
    /// 99th percentile of the time of a game, in milliseconds.
    #[serde(rename = "sandbox/p99_ms")]
    pub p99_ms: f64,
    /// Number of failures of the machine and not of a program; each was tried again.
    #[serde(rename = "sandbox/infra_faults")]
    pub infra_faults: usize,
    /// Time of sampling in this step, in seconds; with `steps_ahead`, that of the next step's completions.
    #[serde(rename = "time/generate")]
    pub time_generate: f64,
    /// Part of it for loading adapters on servers, in seconds; only with servers.
    #[serde(rename = "time/adapter", skip_serializing_if = "Option::is_none")]
    pub time_adapter: Option<f64>,
    /// Time that was waited for rewards after sampling had ended, in seconds.
    #[serde(rename = "time/reward_wait")]
    pub time_reward_wait: f64,
    /// Completion tokens per second while those of this step were sampled, without tokens that were read from a checkpoint;
    /// 0 if all were.
    #[serde(rename = "generate/tokens_per_s")]
    pub tokens_per_s: f64,
    /// Families of keys: `rewards/{name}/mean`, `rewards/{name}/std`, `verdict/{verdict}` (completions), `ending/{kind}`
    /// (games), `guard/{symptom}`, `parallel/wait` and `parallel/slowest` with several processes, `gpu/{quantity}`
    /// with a GPU, `turns/mean`, `turns/succeeded/{turn}`, `repair/fixed`, `repair/broken` with several turns, and
    /// `curriculum/{pool}`, `curriculum/never_solved` (prompts) with pools of prompts, and `honeypot/asked`,
    /// `honeypot/passed`, `honeypot/passed/{task}` (completions) where honeypots are asked.
    #[serde(flatten)]
    pub families: BTreeMap<String, f64>,
}

/// What several turns did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnFigures {
    /// Mean number of turns.
    pub mean: f64,
    /// Share of the first programs that failed whose conversation ends in one that succeeds: that passes all tests, or
    /// plays. None if no first program failed.
    pub fixed: Option<f64>,
    /// Share of conversations with several turns whose last program earned less than the first; none without any.
    pub broken: Option<f64>,
    /// For each turn, the share of completions whose newest program by then succeeds.
    pub succeeded: Vec<f64>,
}

impl StepRecord {
    /// Sets the results of programs under the names of their environment: the mean of their scores (with tasks, of
    /// their shares of tests), the share that succeeds, and the largest tile.
    pub fn set_results(&mut self, labels: Labels, score: f64, succeeded: f64, max_tile: u32) {
        match labels {
            Labels::Board | Labels::Game => (self.mean_score, self.frac_played) = (Some(score), Some(succeeded)),
            // Adding 0 turns the -0 of an empty sum into 0.
            Labels::Tests => (self.frac_tests, self.frac_passed) = (Some(score + 0.0), Some(succeeded)),
        }
        self.max_tile = labels.has_tiles().then_some(max_tile);
    }

    /// Mean of the scores; with tasks, of the shares of tests.
    pub fn score(&self) -> f64 {
        self.mean_score.or(self.frac_tests).unwrap_or(0.0)
    }

    /// Share of programs that play; with tasks, that pass all tests.
    pub fn succeeded(&self) -> f64 {
        self.frac_played.or(self.frac_passed).unwrap_or(0.0)
    }

    /// Sets `rewards/{name}/mean` and `rewards/{name}/std` from the values of one part of the reward.
    pub fn set_reward_part(&mut self, name: &str, values: &[f32]) {
        let values = values.iter().copied().map(shortest);
        self.families.insert(format!("rewards/{name}/mean"), stats::mean(values.clone()));
        self.families.insert(format!("rewards/{name}/std"), stats::deviation(values));
    }

    /// Sets `reward` and `reward_std` (over the batch, with n - 1 degrees of freedom as in TRL).
    pub fn set_rewards(&mut self, values: &[f32]) {
        let values = values.iter().copied().map(shortest);
        (self.reward, self.reward_std) = (stats::mean(values.clone()), stats::deviation(values));
    }

    /// Sets the seconds that each process waited for the others in this step. `parallel/wait` is their mean,
    /// `parallel/slowest` the rank that the others waited for most, which waited least itself. With up to 64 processes,
    /// `parallel/wait/{rank}` has the seconds of each.
    pub fn set_waits(&mut self, by_rank: &[f64]) {
        let least = (0..by_rank.len()).min_by(|a, b| by_rank[*a].total_cmp(&by_rank[*b])).unwrap_or(0);
        self.families.insert("parallel/slowest".into(), least as f64);
        self.families.insert("parallel/wait".into(), stats::mean(by_rank.iter().copied()));
        for (rank, seconds) in by_rank.iter().enumerate().take_while(|_| by_rank.len() <= 64) {
            self.families.insert(format!("parallel/wait/{rank}"), *seconds);
        }
    }

    /// Sets `turns/` and `repair/`.
    pub fn set_turns(&mut self, figures: TurnFigures) {
        let TurnFigures { mean, fixed, broken, succeeded } = figures;
        self.families.insert("turns/mean".into(), mean);
        let repairs = [("repair/fixed", fixed), ("repair/broken", broken)];
        self.families.extend(repairs.into_iter().filter_map(|(key, share)| Some((key.to_owned(), share?))));
        let by_turn = succeeded.into_iter().zip(1..);
        self.families.extend(by_turn.map(|(share, turn)| (format!("turns/succeeded/{turn}"), share)));
    }

    /// Sets `honeypot/`: completions that answered honeypots, those that passed a hidden test, and these by task. Nothing
    /// where none answered.
    pub fn set_honeypots(&mut self, asked: usize, passed: &[&str]) {
        if asked > 0 {
            self.families.insert("honeypot/asked".into(), asked as f64);
            self.families.insert("honeypot/passed".into(), passed.len() as f64);
        }
        for task in passed {
            *self.families.entry(format!("honeypot/passed/{task}")).or_default() += 1.0;
        }
    }

    /// The honeypots that completions passed a hidden test of, with the number of these completions.
    pub fn honeypots_passed(&self) -> impl Iterator<Item = (&str, f64)> {
        self.families.iter().filter_map(|(key, count)| Some((key.strip_prefix("honeypot/passed/")?, *count)))
    }

    /// Sets `curriculum/`: numbers of prompts.
    pub fn set_curriculum(&mut self, counts: Vec<(&str, usize)>) {
        self.families.extend(counts.into_iter().map(|(name, count)| (format!("curriculum/{name}"), count as f64)));
    }

    /// Shares of completions whose newest program by each turn succeeds; empty if there is one turn.
    pub fn succeeded_by_turn(&self) -> Vec<f64> {
        (1..).map_while(|turn| self.families.get(&format!("turns/succeeded/{turn}")).copied()).collect()
    }

    /// Sets the number of completions with this verdict.
    pub fn count_verdict(&mut self, verdict: &str, count: usize) {
        self.families.insert(format!("verdict/{verdict}"), count as f64);
    }

    /// Number of completions, each of which has one verdict.
    pub fn completions(&self) -> f64 {
        let counts = self.families.iter().filter(|(name, _)| name.starts_with("verdict/"));
        counts.map(|(_, count)| count).sum()
    }

    /// Sets `guard/{symptom}`: 1 is a warning, 2 ends the run.
    pub fn set_symptom(&mut self, name: &str, level: u8) {
        self.families.insert(format!("guard/{name}"), f64::from(level));
    }

    /// Names of the symptoms that are present.
    pub fn symptoms(&self) -> Vec<&str> {
        self.families.keys().filter_map(|key| key.strip_prefix("guard/")).collect()
    }

    /// Counts a game with this kind of ending.
    pub fn count_ending(&mut self, kind: &str) {
        *self.families.entry(format!("ending/{kind}")).or_default() += 1.0;
    }
}

/// The f64 with the shortest decimal digits of an f32, for printing: 0.1, while a cast gives 0.10000000149011612.
pub fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_flat_in_a_fixed_order_and_reads_back() {
        let update = UpdateRecord { loss: Some(0.25), learning_rate: 3e-4, ..UpdateRecord::default() };
        let mut record = StepRecord { step: 3, update, ..StepRecord::default() };
        record.set_rewards(&[0.0, 1.0]);
        record.set_reward_part("game", &[0.0, 1.0]);
        record.count_verdict("succeeded", 2);
        record.count_ending("game_over");
        let line = serde_json::to_string(&record).unwrap();
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&line).unwrap();
        let keys: Vec<&str> = object.keys().map(String::as_str).collect();
        assert_eq!(keys[..5], ["step", "loss", "learning_rate", "entropy_coef", "elites/imitated"]);
        assert_eq!(
            keys[keys.len() - 4..],
            ["ending/game_over", "rewards/game/mean", "rewards/game/std", "verdict/succeeded"]
        );
        assert!(object.values().all(|value| value.is_number()), "{line}");
        assert_eq!(object["verdict/succeeded"], 2.0);
        assert_eq!(serde_json::from_str::<StepRecord>(&line).unwrap(), record);
        record.count_verdict("program_error", 3);
        assert_eq!(record.completions(), 5.0);
    }

    #[test]
    fn games_and_tasks_have_names_of_their_own_and_both_are_read() {
        let written = |labels| {
            let mut record = StepRecord::default();
            record.set_results(labels, 0.5, 0.25, 64);
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
        record.set_rewards(&[0.1, 0.1]);
        assert_eq!((record.reward, record.reward_std), (0.1, 0.0));
        assert_eq!([-0.35_f32, 1e-8, 3.0, f32::MAX].map(shortest), [-0.35, 1e-8, 3.0, 3.402_823_5e38]);
        assert!(shortest(f32::NAN).is_nan() && shortest(f32::INFINITY) == f64::INFINITY);
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let mut record = StepRecord::default();
        record.set_rewards(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(record.reward, 5.0);
        assert!((record.reward_std - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
