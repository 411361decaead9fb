//! The events of a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::StepRecord;
use grpo_environment::{Labels, Verdict};

/// An event of a run.
///
/// Events of sampling and of games have the number of the step that they belong to. It is 0 in an evaluation, and the
/// number of the next step if that is sampled ahead.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The run starts, or continues from a checkpoint.
    RunStarted(&'a RunHeader),
    /// Step `step` starts; the first one is 1.
    StepStarted { step: usize },
    /// More tokens have been sampled.
    Decoding {
        step: usize,
        /// The turn of conversations that is being written, from 1. Each later turn begins with an event, as does each round
        /// in which tied groups are sampled again.
        turn: usize,
        /// Completion tokens sampled so far in this step, those of earlier turns and rounds included.
        tokens: usize,
        /// Number of completions that have ended, with those that are not sampled in this turn or round.
        finished: usize,
        /// Number of completions of the step.
        total: usize,
    },
    /// A completion has ended and is submitted to the arena.
    CompletionEnded {
        step: usize,
        /// Its index in the step, group after group.
        index: usize,
        /// Its length in tokens.
        tokens: usize,
    },
    /// A game of a completion or of an elite was played. The event comes with the evaluation that the game belongs to.
    GamePlayed(&'a GamePlayed<'a>),
    /// An activity of the loop has ended.
    ActivityDone { step: usize, activity: Activity, period: Period },
    /// One more completion has its reward: `done` of the `total` of the step.
    Scored { step: usize, done: usize, total: usize },
    /// A completion was scored, with its verdict and reward.
    CompletionScored(&'a ScoredCompletion),
    /// So many micro-batches of the update are done.
    Updating { done: usize, total: usize },
    /// The best programs of the run play held-out games, by which they are ranked: `done` of them have played. When all have,
    /// the best of them plays other games.
    Settling { done: usize, total: usize },
    /// A step is complete.
    StepDone(&'a StepRecord),
    /// A held-out evaluation is complete.
    Evaluated(&'a EvaluationRecord),
    /// A checkpoint was written completely.
    Saved { path: &'a Path },
    /// A message for the user.
    Message(&'a str),
}

/// A period of time on the machine's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub begin: Instant,
    pub end: Instant,
}

/// An activity of the loop that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Sampling a batch, from the first token to the last.
    Decoding,
    /// Sampling one of the parts of a batch, which are sampled in parallel.
    DecodingPart(usize),
    /// Waiting for games after sampling has ended.
    RewardWait,
    /// The update of the policy.
    Update,
}

/// The program that played a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Player<'a> {
    /// A program of this step.
    Completion {
        /// The index of its completion in the step, group after group.
        index: usize,
        /// Digest of its syntax tree.
        digest: &'a [u8; 32],
    },
    /// A program of an earlier step, which plays again.
    Elite {
        /// Its index among the elites that play again in this step.
        index: usize,
        /// Digest of its syntax tree, in hexadecimal.
        digest: &'a str,
    },
}

/// One game: its player, time and outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GamePlayed<'a> {
    pub step: usize,
    pub player: Player<'a>,
    /// Its index among the games of the program.
    pub game: usize,
    /// The index of the worker thread that played it; none if the thread of the loop did.
    pub worker: Option<usize>,
    pub period: Period,
    pub score: f64,
    /// The name of its ending, or that the program was rejected or the sandbox failed.
    pub ending: &'static str,
    /// Instructions that the program executed.
    pub fuel: u64,
}

/// The properties of a run that do not change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunHeader {
    pub environment: String,
    /// How the environment names its figures.
    pub labels: Labels,
    /// The model, by the name that the user gave.
    pub model: String,
    /// Number of weights of the model.
    pub parameters: usize,
    /// Number of trained weights.
    pub trainable: usize,
    /// Description of the device that holds tensors.
    pub device: String,
    /// Last step of the run.
    pub max_steps: usize,
    /// Number of steps before the resumption; 0 in a new run.
    pub resumed_from: usize,
    /// Prompts per step.
    pub groups: usize,
    /// Completions per prompt.
    pub num_generations: usize,
    /// Number of worker threads that play; 0 if games are played by the loop itself.
    pub parallel_rewards: usize,
    /// Number of steps that are sampled before the update of the current one.
    pub steps_ahead: usize,
    /// Games per program.
    pub games: usize,
    pub output_dir: PathBuf,
    pub seed: u64,
    /// Whether this is a control run with shuffled rewards.
    pub control: bool,
    /// Number of steps between held-out evaluations, 0 for that after the last step alone, which has one in any case; none in a
    /// run without evaluations.
    pub evaluations: Option<usize>,
    /// Duration of the newest evaluation before the resumption, in seconds; 0 if there was none.
    pub evaluation_time: f64,
}

/// One completion with its verdict and reward, for display.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredCompletion {
    /// The step that it belongs to; 0 in an evaluation.
    pub step: usize,
    /// Its index in the step, group after group.
    pub index: usize,
    /// Source of the program, or the text of the whole completion if no program was found in it.
    pub source: String,
    /// What came of it.
    pub verdict: Verdict,
    /// Why it never played, or how its games ended. May be empty.
    pub reason: String,
    pub reward: f64,
    /// Name and value of each part of the reward.
    pub parts: Vec<(String, f64)>,
    /// Mean score over its games; 0 without games.
    pub mean_score: f64,
    /// Largest tile of its games; 0 without games.
    pub max_tile: u32,
    /// Number of games that it played.
    pub games: usize,
    /// The last board of its first game.
    pub final_board: Option<[[u32; 4]; 4]>,
}

/// A held-out evaluation of the policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRecord {
    /// Number of steps before it; 0 for the untrained model.
    pub step: usize,
    /// Number of completions.
    #[serde(rename = "eval_samples")]
    pub samples: usize,
    /// Temperature at which they were sampled. Records of earlier versions do not have it.
    #[serde(rename = "eval_temperature", skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Games per completion. This and the next fields are for games only.
    #[serde(rename = "eval_games", skip_serializing_if = "Option::is_none")]
    pub games: Option<usize>,
    /// Mean reward.
    #[serde(rename = "eval_reward")]
    pub reward: f64,
    /// Mean over completions of the mean score of their games. A completion without a program counts as 0, and a game that
    /// a fault of the program ended with the score that it had.
    #[serde(rename = "eval_game/mean_score", skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    /// Lower end of its 95 % interval. Records of earlier versions do not have this and the next fields.
    #[serde(rename = "eval_game/mean_score_low", skip_serializing_if = "Option::is_none")]
    pub mean_score_low: Option<f64>,
    /// Upper end of this interval.
    #[serde(rename = "eval_game/mean_score_high", skip_serializing_if = "Option::is_none")]
    pub mean_score_high: Option<f64>,
    /// Median over completions of the mean score of their games.
    #[serde(rename = "eval_game/median_score", skip_serializing_if = "Option::is_none")]
    pub median_score: Option<f64>,
    /// Number of distinct programs divided by the number of completions, 0 to 1. Layout and names do not count.
    #[serde(rename = "eval_game/frac_unique", skip_serializing_if = "Option::is_none")]
    pub frac_unique: Option<f64>,
    /// Mean negative log-probability of the sampled tokens, in nats per token. For all environments.
    #[serde(rename = "eval_entropy", skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// Largest tile of any game. For 2048 only.
    #[serde(rename = "eval_game/max_tile", skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
    /// Share of completions that play, 0 to 1.
    #[serde(rename = "eval_game/frac_played", skip_serializing_if = "Option::is_none")]
    pub frac_played: Option<f64>,
    /// Number of tasks. This and the next fields are for tasks only.
    #[serde(rename = "eval_tasks/count", skip_serializing_if = "Option::is_none")]
    pub tasks: Option<usize>,
    /// Number of these that are held out from training: 0 where a file holds none out, so that those of training are asked.
    /// Records of earlier versions do not have it.
    #[serde(rename = "eval_tasks/held_out", skip_serializing_if = "Option::is_none")]
    pub held_out: Option<usize>,
    /// Mean over tasks of the share of completions that pass all tests: pass@1.
    #[serde(rename = "eval_tasks/frac_passed", skip_serializing_if = "Option::is_none")]
    pub frac_passed: Option<f64>,
    /// Lower end of its 95 % interval, over tasks.
    #[serde(rename = "eval_tasks/frac_passed_low", skip_serializing_if = "Option::is_none")]
    pub frac_passed_low: Option<f64>,
    /// Upper end of this interval.
    #[serde(rename = "eval_tasks/frac_passed_high", skip_serializing_if = "Option::is_none")]
    pub frac_passed_high: Option<f64>,
    /// Mean over tasks of the share of tests that completions pass.
    #[serde(rename = "eval_tasks/frac_tests", skip_serializing_if = "Option::is_none")]
    pub frac_tests: Option<f64>,
    /// Lower end of its 95 % interval, over tasks.
    #[serde(rename = "eval_tasks/frac_tests_low", skip_serializing_if = "Option::is_none")]
    pub frac_tests_low: Option<f64>,
    /// Upper end of this interval.
    #[serde(rename = "eval_tasks/frac_tests_high", skip_serializing_if = "Option::is_none")]
    pub frac_tests_high: Option<f64>,
    /// Duration, in seconds.
    #[serde(rename = "eval_runtime")]
    pub runtime: f64,
    /// Keys `eval_style/{style}`: mean score of the completions for one style of prompt; with tasks, the share of tests
    /// by the name of the task, if there are few. With several turns and tasks, `eval_turns/passed/{turn}`: pass@1 of the
    /// programs up to each turn.
    #[serde(flatten)]
    pub families: BTreeMap<String, f64>,
}

const STYLE: &str = "eval_style/";
const BY_TURN: &str = "eval_turns/passed/";

impl EvaluationRecord {
    /// Sets the mean score of a style.
    pub fn set_style(&mut self, style: &str, mean_score: f64) {
        self.families.insert(format!("{STYLE}{style}"), mean_score);
    }

    /// Sets pass@1 of the programs up to each turn.
    pub fn set_passed_by_turn(&mut self, shares: impl IntoIterator<Item = f64>) {
        let by_turn = shares.into_iter().zip(1..);
        self.families.extend(by_turn.map(|(share, turn)| (format!("{BY_TURN}{turn}"), share)));
    }

    /// Pass@1 of the programs up to each turn; nothing if there is one.
    pub fn by_turn(&self) -> Vec<f64> {
        (1..).map_while(|turn| self.families.get(&format!("{BY_TURN}{turn}")).copied()).collect()
    }

    /// The mean score; with tasks, the mean share of tests.
    pub fn score(&self) -> f64 {
        self.mean_score.or(self.frac_tests).unwrap_or(0.0)
    }

    /// Lower and upper end of its 95 % interval.
    pub fn score_interval(&self) -> Option<(f64, f64)> {
        Some((self.mean_score_low.or(self.frac_tests_low)?, self.mean_score_high.or(self.frac_tests_high)?))
    }

    /// Whether another evaluation was sampled at another temperature, so that the figures of the two do not compare.
    pub fn is_sampled_otherwise(&self, other: &EvaluationRecord) -> bool {
        self.temperature.zip(other.temperature).is_some_and(|(one, other)| one != other)
    }

    /// Share of programs that play; with tasks, that pass all tests.
    pub fn succeeded(&self) -> f64 {
        self.frac_played.or(self.frac_passed).unwrap_or(0.0)
    }

    /// Style and mean score, in the order of the styles' names.
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
        record.set_style("snake", 12.5);
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
