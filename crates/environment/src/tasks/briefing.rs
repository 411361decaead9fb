//! The instructions for a policy that solves tasks.

use super::{Directory, Function, Kind, Module, Split, Task, Tasks};
use crate::{Briefing, Case, Ending, Example, Outcome, Request, TestsTrace, Trace};

/// System text of every chat, unless the author gives another.
const SYSTEM: &str = include_str!("../../prompts/tasks/system.md");
/// Worked example for function tasks.
const FUNCTION: (&str, &str) =
    (include_str!("../../prompts/tasks/function.md"), include_str!("../../prompts/tasks/function.py"));
/// Worked example for script tasks.
const SCRIPT: (&str, &str) =
    (include_str!("../../prompts/tasks/script.md"), include_str!("../../prompts/tasks/script.py"));

impl Tasks {
    /// The same tasks with the name and the texts of their directory.
    pub fn described(mut self, directory: &Directory) -> Tasks {
        let numpy = directory.modules.contains(&Module::Numpy);
        self.tasks.iter_mut().for_each(|task| task.numpy |= numpy);
        Tasks {
            name: directory.name.clone(),
            system: directory.system.clone().or(self.system),
            example: directory.example.clone().or(self.example),
            ..self
        }
    }

    pub fn briefing(&self) -> Briefing {
        let requests = self.tasks.iter().zip(0..).map(|(task, number)| Request {
            style: task.id.clone(),
            example: Some(self.example.clone().unwrap_or_else(|| example(&task.kind))),
            words: task.words(),
            opening: task.opening(),
            task: Some(number),
            held_out: task.split == Split::HeldOut,
            honeypot: task.is_honeypot,
        });
        Briefing {
            system: self.system.clone().unwrap_or_else(|| SYSTEM.trim().to_owned()),
            requests: requests.collect(),
        }
    }
}

/// The worked example for this kind of task.
fn example(kind: &Kind) -> Example {
    let (request, program) = match kind {
        Kind::Function(_) => FUNCTION,
        Kind::Script => SCRIPT,
    };
    Example { request: request.trim().to_owned(), program: program.trim_end().to_owned() }
}

impl Task {
    /// Whether the task has a checker in Python beside its tests.
    pub fn has_checker(&self) -> bool {
        matches!(&self.kind, Kind::Function(Function { checker: Some(_), .. }))
    }

    /// Whether the checker asks another instance of the program with each call.
    pub fn keeps_calls_apart(&self) -> bool {
        matches!(&self.kind, Kind::Function(Function { apart: true, .. }))
    }

    /// Number of tests, counting the checker as one.
    pub fn tests_and_checker(&self) -> u32 {
        self.tests.len() as u32 + u32::from(self.has_checker())
    }

    /// The outcome of a program that gave no answer.
    pub(crate) fn unanswered_outcome(&self, case: Case, ending: Ending) -> Outcome {
        let tests = self.tests_and_checker();
        let trace = TestsTrace { tests, constant: self.constant(), ..TestsTrace::default() };
        Outcome { case, score: 0.0, ending, fuel: 0, trace: Trace::Tests(trace), reason: None }
    }
}
