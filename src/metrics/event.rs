//! What the loop tells while it runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::StepRecord;
use crate::environment::Labels;

/// One thing that happened in a run, in the order of happening.
///
/// What sampling and games tell carries the step it belongs to: 0 in an evaluation, and the one after the step at hand
/// where that is written ahead.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The run begins, or goes on from a checkpoint.
    RunStarted(&'a RunHeader),
    /// Step `step` begins; the first one is 1.
    StepStarted {
        /// Number of the step.
        step: usize,
    },
    /// Sampling goes on.
    Decoding {
        /// Number of the step.
        step: usize,
        /// Completion tokens sampled so far in this step.
        tokens: usize,
        /// Completions that have ended.
        finished: usize,
        /// Completions of the step.
        total: usize,
    },
    /// A completion has ended and is handed to those who play.
    Written {
        /// Number of the step.
        step: usize,
        /// Its position in the step, group after group.
        index: usize,
        /// Its length.
        tokens: usize,
    },
    /// A game of a completion or of an elite was played. Told with the evaluation that it belongs to.
    GamePlayed(&'a GamePlayed<'a>),
    /// Something that takes its time is over.
    ActivityDone {
        /// Number of the step.
        step: usize,
        /// What took it.
        activity: Activity,
        /// From when to when.
        period: Period,
    },
    /// One more completion has its reward.
    Scored {
        /// Number of the step.
        step: usize,
        /// Completions scored so far in this step.
        done: usize,
        /// Completions of the step.
        total: usize,
    },
    /// What one completion turned out to be.
    CompletionScored(&'a ScoredCompletion),
    /// The update goes on.
    Updating {
        /// Micro-batches done.
        done: usize,
        /// Micro-batches in all.
        total: usize,
    },
    /// The best programs of the run play held-out games, to be chosen from; when all have, the best plays others.
    Settling {
        /// Programs that have played.
        done: usize,
        /// Programs that are chosen from.
        total: usize,
    },
    /// A step is complete.
    StepDone(&'a StepRecord),
    /// A held-out evaluation is complete.
    Evaluated(&'a EvaluationRecord),
    /// A checkpoint is on disk, whole.
    Saved {
        /// Its directory.
        path: &'a Path,
    },
    /// Something worth a line.
    Message(&'a str),
}

/// From when to when, on the machine's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// When it began.
    pub begin: Instant,
    /// When it ended.
    pub end: Instant,
}

/// What the loop itself spends time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Sampling a batch, from the first token to the last.
    Decoding,
    /// One of the parts that a batch is decoded in, side by side.
    DecodingPart(usize),
    /// Waiting for games after sampling had ended.
    RewardWait,
    /// The update of the policy.
    Update,
}

/// Whose game it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Player<'a> {
    /// A program of this step.
    Completion {
        /// Its position in the step, group after group.
        index: usize,
        /// Digest of its syntax tree.
        digest: &'a [u8; 32],
    },
    /// A program of an earlier one, that plays again.
    Elite {
        /// Its position among those that do.
        index: usize,
        /// Digest of its syntax tree, in hex.
        digest: &'a str,
    },
}

/// One game: who played it when, and how it went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GamePlayed<'a> {
    /// Number of the step.
    pub step: usize,
    /// Whose it is.
    pub player: Player<'a>,
    /// Its place among the games of the program.
    pub game: usize,
    /// The worker thread that played it; none when it was the loop's own.
    pub worker: Option<usize>,
    /// From when to when.
    pub period: Period,
    /// Its score.
    pub score: f64,
    /// How it ended, or that the program was rejected or the sandbox failed.
    pub ending: &'static str,
    /// Instructions spent.
    pub fuel: u64,
}

/// What is fixed for a whole run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunHeader {
    /// What programs are written for.
    pub environment: String,
    /// What its figures are called.
    pub labels: Labels,
    /// The model, as the user named it.
    pub model: String,
    /// Weights of the model.
    pub parameters: usize,
    /// Weights that are trained.
    pub trainable: usize,
    /// Where tensors live, in words.
    pub device: String,
    /// Last step of the run.
    pub max_steps: usize,
    /// Steps that were done before, when resumed; otherwise 0.
    pub resumed_from: usize,
    /// Prompts a step.
    pub groups: usize,
    /// Completions a prompt.
    pub num_generations: usize,
    /// Worker threads that play; 0 is sequential.
    pub parallel_rewards: usize,
    /// Steps whose completions are sampled before the update of the step at hand.
    pub steps_ahead: usize,
    /// Games a program.
    pub games: usize,
    /// Where the run writes.
    pub output_dir: PathBuf,
    /// Root of all chance.
    pub seed: u64,
    /// Whether this is a control with shuffled rewards.
    pub control: bool,
}

/// One completion with its verdict, as a reader wants it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScoredCompletion {
    /// Step it belongs to; 0 in an evaluation.
    pub step: usize,
    /// Position in the step, group after group.
    pub index: usize,
    /// Text of the program, or of the whole completion when no program was found in it.
    pub source: String,
    /// One of `played`, `rejected`, `faulted`.
    pub verdict: String,
    /// Why it was rejected, faulted, or how its games ended; may be empty.
    pub reason: String,
    /// The reward.
    pub reward: f64,
    /// What the reward is made of.
    pub parts: Vec<(String, f64)>,
    /// Mean score over the games played; 0 when none was.
    pub mean_score: f64,
    /// Best tile over its games; 0 when none was played.
    pub max_tile: u32,
    /// Games played.
    pub games: usize,
    /// Last board of the first game.
    pub final_board: Option<[[u32; 4]; 4]>,
}

/// A held-out evaluation of the policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRecord {
    /// Steps done when it was made; 0 is the untrained model.
    pub step: usize,
    /// Completions sampled.
    #[serde(rename = "eval_samples")]
    pub samples: usize,
    /// Games each of them played. Of games only, as are the next ones.
    #[serde(rename = "eval_games", default, skip_serializing_if = "Option::is_none")]
    pub games: Option<usize>,
    /// Mean reward.
    #[serde(rename = "eval_reward")]
    pub reward: f64,
    /// Mean over completions of the mean score of their games; 0 for one that does not play.
    #[serde(rename = "eval_game/mean_score", default, skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    /// Lower end of its 95 % interval; absent, like the next ones, from records of earlier versions.
    #[serde(rename = "eval_game/mean_score_low", default, skip_serializing_if = "Option::is_none")]
    pub mean_score_low: Option<f64>,
    /// Upper end.
    #[serde(rename = "eval_game/mean_score_high", default, skip_serializing_if = "Option::is_none")]
    pub mean_score_high: Option<f64>,
    /// Median over completions of the mean score of their games.
    #[serde(rename = "eval_game/median_score", default, skip_serializing_if = "Option::is_none")]
    pub median_score: Option<f64>,
    /// Distinct programs over completions, layout and names aside.
    #[serde(rename = "eval_game/frac_unique", default, skip_serializing_if = "Option::is_none")]
    pub frac_unique: Option<f64>,
    /// Mean negative log-probability of a token, in nats. Of all environments.
    #[serde(rename = "eval_entropy", default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// Best tile of any game. Of 2048 only.
    #[serde(rename = "eval_game/max_tile", default, skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
    /// Share of completions that play.
    #[serde(rename = "eval_game/frac_played", default, skip_serializing_if = "Option::is_none")]
    pub frac_played: Option<f64>,
    /// Tasks that were asked. Of tasks only, as are the next ones.
    #[serde(rename = "eval_tasks/count", default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<usize>,
    /// Mean over tasks of the share of completions that pass all tests: pass@1.
    #[serde(rename = "eval_tasks/frac_passed", default, skip_serializing_if = "Option::is_none")]
    pub frac_passed: Option<f64>,
    /// Lower end of its 95 % interval, over tasks.
    #[serde(rename = "eval_tasks/frac_passed_low", default, skip_serializing_if = "Option::is_none")]
    pub frac_passed_low: Option<f64>,
    /// Upper end.
    #[serde(rename = "eval_tasks/frac_passed_high", default, skip_serializing_if = "Option::is_none")]
    pub frac_passed_high: Option<f64>,
    /// Mean over tasks of the share of tests that completions pass.
    #[serde(rename = "eval_tasks/frac_tests", default, skip_serializing_if = "Option::is_none")]
    pub frac_tests: Option<f64>,
    /// Lower end of its 95 % interval, over tasks.
    #[serde(rename = "eval_tasks/frac_tests_low", default, skip_serializing_if = "Option::is_none")]
    pub frac_tests_low: Option<f64>,
    /// Upper end.
    #[serde(rename = "eval_tasks/frac_tests_high", default, skip_serializing_if = "Option::is_none")]
    pub frac_tests_high: Option<f64>,
    /// Seconds it took.
    #[serde(rename = "eval_runtime")]
    pub runtime: f64,
    /// The open family `eval_style/{style}`: mean score of the answers to one style of prompt; of tasks, share of tests by
    /// name of the task, where they are few.
    #[serde(flatten)]
    pub families: BTreeMap<String, f64>,
}

const STYLE: &str = "eval_style/";

impl EvaluationRecord {
    /// Sets the mean score of a style.
    pub fn style(&mut self, style: &str, mean_score: f64) {
        self.families.insert(format!("{STYLE}{style}"), mean_score);
    }

    /// The mean score; of tasks, the mean share of tests.
    pub fn score(&self) -> f64 {
        self.mean_score.or(self.frac_tests).unwrap_or(0.0)
    }

    /// Its 95 % interval.
    pub fn score_interval(&self) -> Option<(f64, f64)> {
        Some((self.mean_score_low.or(self.frac_tests_low)?, self.mean_score_high.or(self.frac_tests_high)?))
    }

    /// Share of programs that play; of tasks, that pass all tests.
    pub fn succeeded(&self) -> f64 {
        self.frac_played.or(self.frac_passed).unwrap_or(0.0)
    }

    /// Mean scores by style, in the order of their names.
    pub fn styles(&self) -> impl Iterator<Item = (&str, f64)> {
        self.families.iter().filter_map(|(key, &score)| Some((key.strip_prefix(STYLE)?, score)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evaluation_is_one_flat_object_and_reads_one_of_earlier_versions() {
        let mut record = EvaluationRecord { step: 3, median_score: Some(7.5), ..EvaluationRecord::default() };
        record.style("snake", 12.5);
        let line = serde_json::to_string(&record).unwrap();
        assert!(
            line.contains("\"eval_style/snake\":12.5") && line.contains("\"eval_game/median_score\":7.5"),
            "{line}"
        );
        assert!(!line.contains("frac_unique"), "{line}");
        assert_eq!(serde_json::from_str::<EvaluationRecord>(&line).unwrap(), record);
        assert_eq!(record.styles().collect::<Vec<_>>(), [("snake", 12.5)]);

        let earlier = r#"{"step":0,"eval_samples":96,"eval_games":3,"eval_reward":0.25,"eval_game/mean_score":4071.5,
            "eval_game/max_tile":2048,"eval_game/frac_played":0.8125,"eval_runtime":41.5}"#;
        let record: EvaluationRecord = serde_json::from_str(earlier).unwrap();
        assert_eq!((record.mean_score, record.median_score, record.families.len()), (Some(4071.5), None, 0));
        assert_eq!((record.score(), record.succeeded(), record.games), (4071.5, 0.8125, Some(3)));
    }

    #[test]
    fn an_evaluation_on_tasks_has_names_of_its_own() {
        let record = EvaluationRecord {
            tasks: Some(8),
            frac_passed: Some(0.25),
            frac_tests: Some(0.5),
            frac_tests_low: Some(0.375),
            frac_tests_high: Some(0.625),
            ..EvaluationRecord::default()
        };
        let line = serde_json::to_string(&record).unwrap();
        assert!(line.contains(r#""eval_tasks/frac_passed":0.25"#) && !line.contains("game"), "{line}");
        let read: EvaluationRecord = serde_json::from_str(&line).unwrap();
        assert_eq!(read, record);
        assert_eq!((read.score(), read.score_interval(), read.succeeded()), (0.5, Some((0.375, 0.625)), 0.25));
    }
}
