//! Judges completions of any policy.
//!
//! Takes [`Item`]s, each a name and a text; gives one [`Judgement`] for each, in their order, along the path of
//! training: the program in the text, played in the arena, rewarded by the rule. The same item always gets the same
//! judgement, whoever asks, through whichever interface, and whatever else is judged. Input that is not an item is an
//! error, never a reward of 0.

mod calls;
mod completion;
mod id;
mod lines;
mod object;
pub mod server;
#[cfg(test)]
mod tests;

pub use calls::judge_calls;
pub use id::Id;
pub use lines::{ITEM_BYTES_MAX, LinesError, judge_lines};

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use crate::arena::{Arena, ArenaError, Evaluation, Scoring};
use crate::config::{Feedback, RewardConfig, nearest};
use crate::environment::tasks::Tasks;
use crate::environment::{Case, Ending, Outcome, TestsTrace, Verdict, points};
use crate::feedback::feedback;
use crate::json_line;
use crate::program::{Program, Rejection};
use crate::reward::{Judged, Rule};
use crate::seed::Seed;

/// Bytes of the longest completion: far more than a policy writes, and still quick to search for a program.
pub const COMPLETION_BYTES_MAX: usize = 4 << 20;

/// A completion to be judged.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Item {
    /// The task that it answers. In a game any name will do; the judgement repeats it.
    pub id: Id,
    /// The policy's text, with a program somewhere in it; also read from a list of messages.
    #[serde(deserialize_with = "completion::text")]
    pub completion: String,
}

/// The reward of a completion, with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    pub id: Id,
    pub reward: f32,
    pub verdict: Verdict,
    pub passed: u32,
    /// Tests of the task; 0 in a game.
    pub tests: u32,
    /// Mean score of the games; in a task, the share of tests passed.
    #[serde(serialize_with = "points")]
    pub score: f64,
    /// Instructions used.
    pub fuel: u64,
    /// The parts of the reward, in order.
    #[serde(serialize_with = "as_map")]
    pub parts: Vec<(&'static str, f32)>,
    /// Why the program failed, if it did.
    pub reason: Option<String>,
    /// What its author may be told before writing again: of hidden tests only that some fail, unlike in `reason`.
    pub feedback: String,
}

fn as_map<S: Serializer>(parts: &[(&'static str, f32)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(parts.iter().copied())
}

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    #[error("no task {id:?} in {environment}; {hint}")]
    UnknownTask { id: String, environment: String, hint: String },
    #[error("{id:?}: a completion of {bytes} bytes; expected at most {COMPLETION_BYTES_MAX}")]
    TooLong { id: String, bytes: usize },
    #[error("{error} (item {place} of {count})")]
    Listed { place: usize, count: usize, error: Box<JudgeError> },
    #[error(transparent)]
    Arena(#[from] ArenaError),
}

/// Judges completions in one environment under one configuration.
pub struct Judge {
    arena: Arena,
    rule: Rule,
    /// What authors are told.
    told: Feedback,
    /// Tasks by name; empty if cases are random games.
    tasks: BTreeMap<String, Case>,
    /// The games that every program plays, if there are no tasks.
    games: Vec<Seed>,
    /// Where programs are kept on which the tiers of the sandbox differ.
    differences: Option<Mutex<File>>,
}

impl Judge {
    /// A judge for the arena's environment. If cases are random, a program plays one game for each of `games`.
    pub fn new(arena: Arena, reward: &RewardConfig, games: Vec<Seed>) -> Judge {
        let rule = Rule::new(reward, arena.environment());
        let tasks = arena.environment().tasks().map(Tasks::tasks).unwrap_or_default();
        let tasks = tasks.iter().zip(0..).map(|(task, number)| (task.id.clone(), Case::Task(number))).collect();
        Judge { arena, rule, told: Feedback::Shown, tasks, games, differences: None }
    }

    /// The same with one more part of the reward, a pure function of the evidence.
    pub fn with_part(mut self, name: &'static str, part: impl Fn(&Judged<'_>) -> f64 + Send + Sync + 'static) -> Judge {
        self.rule = self.rule.with_part(name, part);
        self
    }

    /// The same with another kind of feedback.
    pub fn telling(self, told: Feedback) -> Judge {
        Judge { told, ..self }
    }

    /// The same, which writes to `file` a line of JSON for each item on whose program the tiers of the sandbox differ.
    pub fn keeping_differences(self, file: File) -> Judge {
        Judge { differences: Some(Mutex::new(file)), ..self }
    }

    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// One judgement for each item, in their order. Equal programs are played once.
    pub fn judge(&self, items: Vec<Item>) -> Result<Vec<Judgement>, JudgeError> {
        // A list with a mistake is refused before anything is played. While it waits, each text is kept as its program alone.
        let count = items.len();
        let listed = |(place, item)| {
            self.entry(item).map_err(|error| match count {
                1 => error,
                _ => JudgeError::Listed { place, count, error: Box::new(error) },
            })
        };
        let entries: Vec<Entry> = (1..).zip(items).map(listed).collect::<Result<_, _>>()?;
        let programs = entries.iter().map(|entry| (entry.program.clone(), entry.cases.as_slice()));
        let evaluations = self.arena.evaluate_all(programs, &mut |_, _| ())?;
        let judged = entries.into_iter().zip(&evaluations);
        Ok(judged.map(|(entry, evaluation)| self.judgement(entry, evaluation)).collect())
    }

    /// Starts to judge one item beside others; items of lower turns are played first.
    fn begin(&self, item: Item, turn: usize) -> Result<Pending, JudgeError> {
        let entry = self.entry(item)?;
        let mut scoring = self.arena.begin(turn);
        scoring.submit(0, entry.program.clone(), &entry.cases);
        Ok(Pending { entry, scoring })
    }

    /// Waits for a judgement.
    fn finish(&self, pending: Pending) -> Result<Judgement, JudgeError> {
        let evaluations = pending.scoring.finish(&mut |_, _| ())?;
        Ok(self.judgement(pending.entry, &evaluations[&0]))
    }

    fn entry(&self, Item { id, completion }: Item) -> Result<Entry, JudgeError> {
        let bytes = completion.len();
        if bytes > COMPLETION_BYTES_MAX {
            return Err(JudgeError::TooLong { id: id.to_string(), bytes });
        }
        let cases = match self.arena.environment().has_tests() {
            true => {
                let name = id.to_string();
                vec![*self.tasks.get(&name).ok_or_else(|| self.unknown(name))?]
            }
            false => self.games.iter().map(|&seed| seed.into()).collect(),
        };
        Ok(Entry { id, program: self.arena.program(&completion, cases[0]), cases })
    }

    fn unknown(&self, id: String) -> JudgeError {
        let near = nearest(&id, self.tasks.keys().map(String::as_str));
        let hint = match (near, self.tasks.keys().next()) {
            (Some(near), _) => format!("did you mean {near:?}?"),
            (None, Some(first)) => match self.tasks.len() {
                1 => format!("there is {first:?} alone"),
                tasks => format!("there are {tasks} tasks, such as {first:?}"),
            },
            (None, None) => "it has none".to_owned(),
        };
        JudgeError::UnknownTask { id, environment: self.arena.environment().name().to_owned(), hint }
    }

    fn judgement(&self, Entry { id, program, cases }: Entry, evaluation: &Evaluation) -> Judgement {
        let reward = self.rule.score(Judged { evaluation, tokens: None, program: program.as_ref().ok() });
        let tests = self.tests(&cases, evaluation);
        self.keep_difference(&id, evaluation);
        Judgement {
            id,
            reward: reward.value,
            verdict: evaluation.verdict(false),
            passed: tests.iter().map(|tests| tests.passed).sum(),
            tests: tests.iter().map(|tests| tests.tests).sum(),
            score: evaluation.mean_score(),
            fuel: evaluation.games.iter().map(|outcome| outcome.fuel).sum(),
            parts: reward.parts,
            reason: evaluation.reason().or_else(|| first_failure(&tests)),
            feedback: feedback(self.arena.environment(), &cases, evaluation, self.told),
        }
    }

    fn keep_difference(&self, id: &Id, evaluation: &Evaluation) {
        let (Some(file), Some(difference)) = (&self.differences, &evaluation.usage.difference) else { return };
        let mut line = difference.to_json();
        line["id"] = json!(id);
        let kept =
            json_line(&line).map_err(std::io::Error::from).and_then(|line| file.lock().write_all(line.as_bytes()));
        // The reward is right all the same.
        if let Err(error) = kept {
            tracing::error!("a difference between the sandbox's tiers is not kept: {error}");
        }
    }

    /// Results of the tests. A completion without a program has tests too, and passes none of them.
    fn tests(&self, cases: &[Case], evaluation: &Evaluation) -> Vec<TestsTrace> {
        let unplayed = |&case: &Case| self.arena.environment().unplayed(case, Ending::Raised);
        let outcomes: Vec<Outcome> = match evaluation.games.is_empty() {
            false => evaluation.games.clone(),
            true => cases.iter().map(unplayed).collect(),
        };
        outcomes.iter().filter_map(Outcome::tests).cloned().collect()
    }
}

fn first_failure(tests: &[TestsTrace]) -> Option<String> {
    let failed = tests.iter().find_map(|tests| tests.failed.as_ref())?;
    Some(format!("test {}: {}", failed.test, failed.reason))
}

/// The program of an item, and the cases that it is tried on.
struct Entry {
    id: Id,
    program: Result<Program, Rejection>,
    cases: Vec<Case>,
}

/// An item that is being judged. Dropping it cancels the games that have not started.
struct Pending {
    entry: Entry,
    scoring: Scoring,
}
