//! A task: what is asked, and the tests that an answer must pass.

use std::ops::Range;
use std::sync::OnceLock;

use super::{ExceptionTypes, exceptions, output};
use crate::program::Entry;
use crate::value::{Equality, Value};

/// Most tests of a task.
pub const TESTS_MAX: usize = 10_000;

/// Most seconds of the reference machine that a task may give a program.
pub const SECONDS_MAX: f64 = 60.0;

/// Default number of tests that a prompt shows.
pub(super) const SHOWN: usize = 2;

#[derive(Debug, Clone)]
pub struct Task {
    /// Its name, which is unique in its file.
    pub id: String,
    /// Line of the file, from 1, for messages.
    pub line: usize,
    /// Whether it is for training or evaluation.
    pub split: Split,
    /// Tasks of one group are summarised together in reports.
    pub group: Option<String>,
    /// The author's text.
    pub prompt: String,
    pub kind: Kind,
    /// The beginning of the program, if it is more than the line that defines the function.
    pub opening: Option<String>,
    /// Python that runs before every program, as if it stood in its text; no prompt shows it.
    pub prelude: Option<String>,
    /// Tests in their order: those that the prompt shows, other public ones, hidden ones.
    pub tests: Vec<Test>,
    /// Number of tests that the prompt shows.
    pub shown: usize,
    /// Number of tests that may be told of where a program fails one: those that the prompt shows, and more.
    pub public: usize,
    /// How values are compared; for a script's output only the tolerance counts.
    pub equality: Equality,
    /// Whether types and shapes of numpy's arrays are compared too, not their items alone.
    pub array_types: bool,
    /// Whether programs have numpy though their text does not say so.
    pub numpy: bool,
    /// Seconds of the reference machine for all tests together, if the task sets a limit.
    pub seconds: Option<f64>,
    /// A program that passes.
    pub reference: Option<String>,
    /// Whether its hidden tests expect what nobody can know, so that only a program that cheats passes one of them. It
    /// pays nothing, and is for training alone.
    pub is_honeypot: bool,
    /// Cache of [`Task::constant`].
    pub(super) constant: OnceLock<usize>,
}

/// The use of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    Train,
    /// For evaluation only.
    HeldOut,
}

/// The kind of program that a task requests.
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
    /// A name for each argument of the test with the fewest arguments.
    pub parameters: Vec<String>,
    /// Python with a generator `check()` that yields calls and returns whether the answers were right. It counts as
    /// one more test.
    pub checker: Option<String>,
    /// Whether each call of the checker has an instance of the program of its own, in which nothing is known of others.
    pub apart: bool,
    /// Whether a program may be nothing but a function without parameters that returns a literal.
    pub literal: bool,
    /// The checker as a function `check(answers)` that returns its next call in a list, or its verdict, where it can be
    /// written so.
    pub replayed: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Test {
    /// Arguments of a function as JSON with tags for the sandbox, or standard input of a script.
    pub input: String,
    /// The right answer; `None` until the reference has computed it.
    pub expected: Option<Answer>,
}

/// The answer of a program to a test.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The value that a function returned.
    Value(Value),
    /// The exception that a function raised, by the name of its type.
    Raised(String),
    /// The output of a script.
    Printed(String),
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
            Kind::Script if self.tests.iter().all(|test| test.input.trim().is_empty()) => Entry::InputlessScript,
            Kind::Script => Entry::Script,
            Kind::Function(Function { entry_point, literal: true, .. }) => Entry::Literal { name: entry_point.clone() },
            Kind::Function(Function { entry_point, parameters, .. }) => match entry_point.split_once('.') {
                Some((class, _)) => Entry::Class { name: class.to_owned() },
                None => Entry::Function { name: entry_point.clone(), parameters: parameters.clone() },
            },
        }
    }

    /// Whether this is the right answer to a test. A test without an expected answer is never passed.
    pub fn passes(&self, test: usize, answer: &Answer) -> bool {
        match (answer, &self.tests[test].expected) {
            (Answer::Value(value), Some(Answer::Value(expected))) => value.equals(expected, &self.equality),
            (Answer::Printed(text), Some(Answer::Printed(expected))) => {
                output::same(text, expected, self.equality.tolerance)
            }
            (Answer::Raised(kind), Some(Answer::Raised(expected))) => exceptions::is_a(kind, expected),
            _ => false,
        }
    }

    /// The first line of an output that is wrong: its number, what was printed, and what is expected; one of these two may be
    /// missing.
    pub fn first_wrong_line<'t>(
        &'t self,
        test: usize,
        printed: &'t str,
    ) -> Option<(usize, Option<&'t str>, Option<&'t str>)> {
        match &self.tests[test].expected {
            Some(Answer::Printed(expected)) => output::first_wrong_line(printed, expected, self.equality.tolerance),
            _ => None,
        }
    }

    /// The answer that an exception of the type `kind` is to a test which expects one; none where it is a failure. What the
    /// program's classes are under is in `lineage`.
    pub fn raised<'l>(&self, test: usize, kind: &str, lineage: impl FnOnce() -> &'l ExceptionTypes) -> Option<Answer> {
        let Some(Answer::Raised(expected)) = &self.tests[test].expected else { return None };
        // Most exceptions are Python's own, for which no program has to be parsed.
        let is_answer = exceptions::is_a(kind, expected) || lineage().is_a(kind, expected);
        is_answer.then(|| Answer::Raised(expected.clone()))
    }

    /// Whether a program that always has this answer may pass a test. One exception may be under all types that tests
    /// expect, as of `class Any(TypeError, ValueError)`: raising is one answer, whatever type each of them names.
    fn can_pass(&self, test: usize, answer: &Answer) -> bool {
        match (answer, &self.tests[test].expected) {
            (Answer::Raised(_), Some(Answer::Raised(_))) => true,
            _ => self.passes(test, answer),
        }
    }

    /// Tests whose expected answer the reference has not given yet.
    pub fn unanswered(&self) -> impl Iterator<Item = usize> {
        self.tests.iter().enumerate().filter(|(_, test)| test.expected.is_none()).map(|(place, _)| place)
    }

    /// Tests that the prompt shows.
    pub fn examples(&self) -> Range<usize> {
        0..self.shown.min(self.tests.len())
    }

    /// Tests that only decide: neither does the prompt show them, nor is anything told of them.
    pub fn hidden(&self) -> Range<usize> {
        self.public.min(self.tests.len())..self.tests.len()
    }

    /// Whether a literal is asked for: a constant is then what solves the task.
    pub fn is_literal(&self) -> bool {
        matches!(&self.kind, Kind::Function(Function { literal: true, .. }))
    }

    /// Most tests that a program with the same answer to each of them passes without solving the task. Call this only
    /// when all answers are known.
    pub fn constant(&self) -> u32 {
        let best = || if self.is_literal() { 0 } else { self.best_constant(0..self.tests.len()) };
        *self.constant.get_or_init(best) as u32
    }

    /// Most of these tests that a program with the same answer to all of them passes.
    pub fn best_constant(&self, tests: Range<usize>) -> usize {
        self.commonest_answer(tests).map_or(0, |(_, passed)| passed)
    }

    /// The answer that passes most of these tests, with their number; `None` if no answer is known.
    pub fn commonest_answer(&self, tests: Range<usize>) -> Option<(&Answer, usize)> {
        let mut counted: Vec<&Answer> = Vec::new();
        let mut best: Option<(&Answer, usize)> = None;
        for test in tests.clone() {
            let Some(answer) = &self.tests[test].expected else { continue };
            // An answer that passes this test has been counted at its first occurrence, unless the tolerance makes
            // equality intransitive.
            if self.equality.tolerance > 0.0 || !counted.iter().any(|counted| self.can_pass(test, counted)) {
                let passed = tests.clone().filter(|&other| self.can_pass(other, answer)).count();
                if best.is_none_or(|(_, most)| passed > most) {
                    best = Some((answer, passed));
                }
                counted.push(answer);
            }
        }
        best
    }
}
