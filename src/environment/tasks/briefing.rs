//! What is said to a policy that is to solve tasks.

use super::{Directory, Function, Kind, Split, Task, Tasks};
use crate::environment::{Briefing, Case, Ending, Example, Outcome, Request, TestsTrace, Trace};

/// Opens every chat where the author says nothing else.
const SYSTEM: &str = include_str!("../../../prompts/tasks/system.md");
/// The worked example of functions.
const FUNCTION: (&str, &str) =
    (include_str!("../../../prompts/tasks/function.md"), include_str!("../../../prompts/tasks/function.py"));
/// The worked example of whole programs.
const SCRIPT: (&str, &str) =
    (include_str!("../../../prompts/tasks/script.md"), include_str!("../../../prompts/tasks/script.py"));

impl Tasks {
    /// The same tasks under the name and with the words of their directory.
    pub fn described(self, directory: &Directory) -> Tasks {
        let example = directory.example.as_ref();
        let example =
            example.map(|example| Example { request: example.request.clone(), program: example.program.clone() });
        Tasks {
            name: directory.name.clone(),
            system: directory.system.clone().or(self.system),
            example: example.or(self.example),
            ..self
        }
    }

    /// All that is said to a policy.
    pub fn briefing(&self) -> Briefing {
        let requests = self.tasks.iter().zip(0..).map(|(task, number)| Request {
            style: task.id.clone(),
            example: Some(self.example.clone().unwrap_or_else(|| example(&task.kind))),
            words: task.words(),
            opening: task.opening(),
            task: Some(number),
            held_out: task.split == Split::HeldOut,
        });
        Briefing {
            system: self.system.clone().unwrap_or_else(|| SYSTEM.trim().to_owned()),
            requests: requests.collect(),
        }
    }
}

/// The worked example of this kind of task.
fn example(kind: &Kind) -> Example {
    let (request, program) = match kind {
        Kind::Function(_) => FUNCTION,
        Kind::Script => SCRIPT,
    };
    Example { request: request.trim().to_owned(), program: program.trim_end().to_owned() }
}

impl Task {
    /// Whether Python of the author decides beside the tests.
    pub fn has_checker(&self) -> bool {
        matches!(&self.kind, Kind::Function(Function { checker: Some(_), .. }))
    }

    /// What a program is tried on: its tests, and the checker as one more.
    pub fn tests_and_checker(&self) -> u32 {
        self.tests.len() as u32 + u32::from(self.has_checker())
    }

    /// Of a program that answered nothing.
    pub(crate) fn unanswered_outcome(&self, case: Case, ending: Ending) -> Outcome {
        let tests = self.tests_and_checker();
        let trace = TestsTrace { tests, constant: self.constant(), ..TestsTrace::default() };
        Outcome { case, score: 0.0, ending, fuel: 0, trace: Trace::Tests(trace) }
    }
}
