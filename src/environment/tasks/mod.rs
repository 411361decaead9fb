//! Tasks that anybody brings: words that ask for a program, and tests that the program has to pass.
//!
//! Takes a file with one task a line and says of each answer of a program whether a test is passed. The expected
//! answers stay on the host. Runs nothing: answers that a reference has to compute come from who can run it.

mod briefing;
pub mod convert;
mod directory;
mod error;
mod file;
mod output;
mod row;
mod source;
#[cfg(test)]
mod tests;
mod words;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use directory::{Directory, DirectoryError, RulesFile};
pub use error::{Problem, TasksError};

use super::value::{Equality, Value};
use crate::program::Entry;

/// Tests of the largest task.
pub const TESTS_MAX: usize = 10_000;
/// Seconds of the reference machine that a task may give a program at most.
pub const SECONDS_MAX: f64 = 60.0;
/// Tests that a prompt shows where a task does not say.
const SHOWN: usize = 2;

/// All tasks of a file, in its order.
#[derive(Debug, Clone)]
pub struct Tasks {
    path: PathBuf,
    name: String,
    tasks: Vec<Task>,
    /// The author's words before every request, where there are any.
    system: Option<String>,
    /// The author's worked example, where there is one.
    example: Option<super::Example>,
}

/// One task.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name, the only one of that name in its file.
    pub id: String,
    /// Line of the file, from 1, for messages.
    pub line: usize,
    /// What it is for.
    pub split: Split,
    /// Tasks that are counted together in reports.
    pub group: Option<String>,
    /// What is asked, in the author's words.
    pub prompt: String,
    /// What kind of program answers.
    pub kind: Kind,
    /// In their order; the first are shown.
    pub tests: Vec<Test>,
    /// How many tests the prompt shows.
    pub shown: usize,
    /// How values are compared; of it a script's output knows only the tolerance.
    pub equality: Equality,
    /// Seconds of the reference machine for all tests together, where the task has an opinion.
    pub seconds: Option<f64>,
    /// A program that passes.
    pub reference: Option<String>,
    /// Of [`Task::constant`].
    pub(super) constant: OnceLock<usize>,
}

/// What a task is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Trained on.
    Train,
    /// Only evaluated.
    HeldOut,
}

/// What kind of program answers a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A function that is called with arguments.
    Function(Function),
    /// A whole program that reads standard input and prints.
    Script,
}

/// The function that a task asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// `name`, or `Class.method` on a fresh object.
    pub entry_point: String,
    /// Parameters as the reference writes them, with defaults and annotations.
    pub signature: Option<String>,
    /// A name for each argument of the test that has fewest.
    pub parameters: Vec<String>,
    /// Python with a generator `check()` that yields calls and returns whether the answers were right: one more test.
    pub checker: Option<String>,
}

/// One test.
#[derive(Debug, Clone)]
pub struct Test {
    /// A function's arguments as JSON with tags, ready to cross; a script's standard input.
    pub input: String,
    /// The right answer; `None` until the reference has computed it.
    pub expected: Option<Answer>,
}

/// What a program gives for a test.
#[derive(Debug, Clone)]
pub enum Answer {
    /// What a function returned.
    Value(Value),
    /// What a script printed.
    Printed(String),
}

impl Tasks {
    /// Reads and checks a whole file.
    pub fn open(path: &Path) -> Result<Tasks, TasksError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Tasks { path: path.to_owned(), name, tasks: file::read(path)?, system: None, example: None })
    }

    /// Where they came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What they are called together.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In the order of the file.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The same, to be given the answers of their references.
    pub fn tasks_mut(&mut self) -> &mut [Task] {
        self.tasks.iter_mut().for_each(|task| task.constant = OnceLock::new());
        &mut self.tasks
    }

    /// How many are trained on.
    pub fn trained(&self) -> usize {
        self.tasks.iter().filter(|task| task.split == Split::Train).count()
    }

    /// Whether any is never trained on.
    pub fn holds_out(&self) -> bool {
        self.tasks.iter().any(|task| task.split == Split::HeldOut)
    }
}

impl Split {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::HeldOut => "held_out",
        }
    }
}

impl Task {
    /// What a program must define.
    pub fn entry(&self) -> Entry {
        match &self.kind {
            Kind::Script => Entry::Script,
            Kind::Function(Function { entry_point, parameters, .. }) => match entry_point.split_once('.') {
                Some((class, _)) => Entry::Class { name: class.to_owned() },
                None => Entry::Function { name: entry_point.clone(), parameters: parameters.clone() },
            },
        }
    }

    /// Whether this is the right answer to that test. A test without an answer yet is passed by nothing.
    pub fn passes(&self, test: usize, answer: &Answer) -> bool {
        match (answer, &self.tests[test].expected) {
            (Answer::Value(value), Some(Answer::Value(expected))) => value.equals(expected, &self.equality),
            (Answer::Printed(text), Some(Answer::Printed(expected))) => {
                output::same(text, expected, self.equality.tolerance)
            }
            _ => false,
        }
    }

    /// Tests whose answers the reference has yet to give.
    pub fn unanswered(&self) -> impl Iterator<Item = usize> {
        self.tests.iter().enumerate().filter(|(_, test)| test.expected.is_none()).map(|(place, _)| place)
    }

    /// Tests that the prompt does not show.
    pub fn hidden(&self) -> Range<usize> {
        self.shown.min(self.tests.len())..self.tests.len()
    }

    /// How many of all tests the best program passes that gives the same answer to each; asked first when all answers are
    /// known.
    pub fn constant(&self) -> u32 {
        *self.constant.get_or_init(|| self.best_constant(0..self.tests.len())) as u32
    }

    /// How many of these tests the best program passes that gives the same answer to all of them.
    pub fn best_constant(&self, tests: Range<usize>) -> usize {
        self.commonest_answer(tests).map_or(0, |(_, passed)| passed)
    }

    /// The answer that passes most of these tests, and how many; none where no answer is known.
    pub fn commonest_answer(&self, tests: Range<usize>) -> Option<(&Answer, usize)> {
        let mut counted: Vec<&Answer> = Vec::new();
        let mut best: Option<(&Answer, usize)> = None;
        for test in tests.clone() {
            let Some(answer) = &self.tests[test].expected else { continue };
            // What passes this test has been counted where it came up first, unless a tolerance blurs the answers.
            if self.equality.tolerance > 0.0 || !counted.iter().any(|counted| self.passes(test, counted)) {
                let passed = tests.clone().filter(|&other| self.passes(other, answer)).count();
                if best.is_none_or(|(_, most)| passed > most) {
                    best = Some((answer, passed));
                }
                counted.push(answer);
            }
        }
        best
    }
}
