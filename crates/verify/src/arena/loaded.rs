//! What is loaded of a program: its text, with what its task puts before and after it.

use std::borrow::Cow;

use grpo_sandbox::Fault;

use crate::environment::tasks::Task;
use crate::program::Program;

/// What calls a function so that arrays and scalars of numpy come out with their types and shapes.
const TYPED: &str = include_str!("typed.py");

pub(super) struct Loaded<'a> {
    pub source: Cow<'a, str>,
    /// Lines of the program that stand before the prelude of its task.
    before: u32,
    prelude: u32,
    /// The last line that can be one of the program.
    own: u32,
}

impl<'a> Loaded<'a> {
    /// The program after the prelude of the task, and before what writes its arrays where the task compares their types.
    pub fn new(program: &'a Program, task: &Task) -> Loaded<'a> {
        let mut loaded = Loaded { source: Cow::Borrowed(program.source()), before: 0, prelude: 0, own: u32::MAX };
        if let Some(prelude) = &task.prelude {
            let (first, rest) = program.source().split_at(program.first_place());
            let prelude = format!("{}\n", prelude.trim_end());
            (loaded.before, loaded.prelude) = (lines(first), lines(&prelude));
            loaded.source = format!("{first}{prelude}{rest}").into();
        }
        if task.array_types {
            loaded.own = lines(program.source()) + 1;
            loaded.source = format!("{}\n\n{TYPED}", loaded.source).into();
        }
        loaded
    }

    /// The fault with the line that its author knows; one of the prelude is said to be of it.
    pub fn own(&self, fault: Fault) -> Fault {
        let of_prelude =
            |message: String, line: u32| format!("{message} (line {line} of the prelude)").trim_start().to_owned();
        match fault {
            Fault::Raised { kind, full_name, message, line: Some(line) } => match self.place(line) {
                Place::Program(line) => Fault::Raised { kind, full_name, message, line: self.own_line(line) },
                Place::Prelude(line) => {
                    Fault::Raised { kind, full_name, message: of_prelude(message, line), line: None }
                }
            },
            Fault::StackOverflow { line: Some(line) } => match self.place(line) {
                Place::Program(line) => Fault::StackOverflow { line: self.own_line(line) },
                Place::Prelude(_) => Fault::StackOverflow { line: None },
            },
            Fault::NotCompiled { line, message } => match self.place(line) {
                Place::Program(line) => Fault::NotCompiled { line, message },
                // A program that does not compile has a line to name.
                Place::Prelude(line) => Fault::NotCompiled { line: 1, message: of_prelude(message, line) },
            },
            fault => fault,
        }
    }

    /// Whether the prelude raised.
    pub fn is_of_prelude(&self, fault: &Fault) -> bool {
        matches!(fault, Fault::Raised { line: Some(line), .. } if matches!(self.place(*line), Place::Prelude(_)))
    }

    /// A line of the program; none of what follows it.
    fn own_line(&self, line: u32) -> Option<u32> {
        Some(line).filter(|line| *line <= self.own)
    }

    fn place(&self, line: u32) -> Place {
        let after = line.saturating_sub(self.before);
        if after == 0 {
            Place::Program(line)
        } else if after <= self.prelude {
            Place::Prelude(after)
        } else {
            Place::Program(line - self.prelude)
        }
    }
}

/// Where a line that was loaded comes from, and which of its lines it is.
enum Place {
    Program(u32),
    Prelude(u32),
}

fn lines(text: &str) -> u32 {
    text.matches('\n').count() as u32
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::OnceLock;

    use grpo_sandbox::{Sandbox, TierChoice};
    use serde_json::json;

    use super::*;
    use crate::arena::Rules;
    use crate::arena::play::{GameError, Unplayed};
    use crate::arena::solver::Solver;
    use crate::config::Config;
    use crate::environment::tasks::{Answer, Tasks};

    const PRELUDE: &str =
        "from math import *\nfrom operator import *\n\ndef half(x):\n    return x / 2 if x else None.x\n";

    /// The task of a function `f(x)`, or of a script where `entry_point` is none, that is asked for 0 and for 4.
    fn task(entry_point: Option<&str>, prelude: &str) -> Tasks {
        let of = |x: &str| match entry_point {
            Some(_) => json!({"args": format!("({x},)"), "expected": "0"}),
            None => json!({"stdin": x, "stdout": "0"}),
        };
        let line = json!({"id": "t", "prompt": "Do.", "entry_point": entry_point, "prelude": prelude, "tests": [of("0"), of("4")]});
        Tasks::of_rows(Path::new("t.jsonl"), "t", &line.to_string()).unwrap()
    }

    fn program(source: &str, tasks: &Tasks) -> Program {
        Program::from_text(source, &tasks.tasks()[0].entry()).unwrap()
    }

    /// What a program answers for 0 and for 4, which is the same in both tiers; and whether it ran compiled.
    fn answers(tasks: &Tasks, source: &str) -> ([String; 2], bool) {
        static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
        let open = || Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
        let (program, rules) = (program(source, tasks), Rules::training(&Config::preset("llm").unwrap()));
        let [auto, interpreted] = [TierChoice::Auto, TierChoice::Interpreter].map(|choice| {
            let sandbox = SANDBOX.get_or_init(open).with_tiers(choice, 0);
            let mut solver = Solver::new(&sandbox, &rules, &program, tasks, 0);
            let answers = [0, 1].map(|test| match solver.answer(test) {
                Ok(Ok(Answer::Value(value))) => value.to_string(),
                Ok(Ok(Answer::Printed(text))) => text,
                Ok(Err(fault)) | Err(Unplayed::Faulted { fault, .. }) => fault.to_string(),
                Err(Unplayed::Broken(GameError::Environment { message, .. })) => message,
                Ok(Ok(Answer::Raised(_))) | Err(_) => "no answer".to_owned(),
            });
            (answers, solver.is_compiled())
        });
        assert_eq!(auto.0, interpreted.0, "{source}");
        auto
    }

    #[test]
    fn a_program_has_the_names_of_the_prelude_and_faults_have_its_own_lines() {
        let function = task(Some("f"), PRELUDE);
        let ([zero, four], _) = answers(&function, "def f(x):\n    return sqrt(x) + half(x + 1)\n");
        assert_eq!([zero, four], ["0.5", "4.5"]);
        // The last import counts, and the program's own definition after it.
        assert_eq!(answers(&function, "def f(x):\n    return pow(x, 2)\n").0, ["0", "16"]);
        assert_eq!(
            answers(&function, "def pow(x, y):\n    return 7\n\ndef f(x):\n    return pow(x, 2)\n").0,
            ["7", "7"]
        );
        let none = "AttributeError: 'NoneType' object has no attribute 'x' (line 5 of the prelude)";
        assert_eq!(answers(&function, "def f(x):\n    return half(x)\n").0, [none, "2.0"]);
        let own = "def f(x):\n    if not x:\n        return [][0]\n    return x\n";
        assert_eq!(answers(&function, own).0, ["IndexError: list index out of range (line 3)", "4"]);
        let loading = answers(&function, "x = 1\n1 / 0\ndef f(x):\n    return x\n").0;
        assert_eq!(loading[0], "ZeroDivisionError: division by zero (line 2)");
        let plain = program("def f(x):\n    return x\n", &function);
        let refused = |line| {
            let fault = Fault::NotCompiled { line, message: "'return' outside function".into() };
            Loaded::new(&plain, &function.tasks()[0]).own(fault).to_string()
        };
        assert_eq!(refused(5), "does not compile: line 1: 'return' outside function (line 5 of the prelude)");
        assert_eq!(refused(7), "does not compile: line 2: 'return' outside function");
        let mut typed = function.tasks()[0].clone();
        typed.array_types = true;
        let overflow = |line| {
            let fault = Fault::StackOverflow { line: Some(line) };
            Loaded::new(&plain, &typed).own(fault).to_string()
        };
        let follows = "what follows the program is not its own";
        assert_eq!([7, 12].map(overflow), ["stack overflow (line 2)", "stack overflow"], "{follows}");
        let script = task(None, PRELUDE);
        let own = "x = int(input())\nprint(int(sqrt(x)))\nprint(1 // x)\n";
        assert_eq!(answers(&script, own).0[0], "ZeroDivisionError: division by zero (line 3)");
        assert_eq!(answers(&script, own).0[1], "2\n0\n");
    }

    #[test]
    fn a_prelude_that_fails_by_itself_is_a_mistake_of_the_task_and_no_programs_doing() {
        let said = "line 1 (t): the prelude fails by itself: ZeroDivisionError: division by zero (line 2)";
        for entry_point in [Some("f"), None] {
            let broken = task(entry_point, "import math\n1 / 0");
            assert_eq!(answers(&broken, "def f(x):\n    return x\n").0, [said, said], "{entry_point:?}");
        }
        // A program that has the prelude's function raise while it is loaded fails by itself.
        let own = "AttributeError: 'NoneType' object has no attribute 'x' (line 5 of the prelude)";
        let called = "y = half(0)\ndef f(x):\n    return x\n";
        assert_eq!(answers(&task(Some("f"), PRELUDE), called).0, [own, own]);
        assert_eq!(answers(&task(None, PRELUDE), called).0, [own, own]);
    }

    #[test]
    fn a_prelude_that_the_compiled_tier_takes_leaves_a_program_compiled() {
        let (answers, is_compiled) =
            answers(&task(Some("f"), "import math"), "def f(x):\n    return math.floor(x / 3)\n");
        assert_eq!((answers, is_compiled), (["0".to_owned(), "1".to_owned()], true));
    }

    #[test]
    fn imports_of_the_future_stay_first() {
        let (function, whole) = (task(Some("f"), PRELUDE), task(None, PRELUDE));
        for future in [
            "from __future__ import annotations\n",
            "\"\"\"Words of the\nprogram.\"\"\"\n\nfrom __future__ import annotations\nfrom __future__ import division\n\n",
            "from __future__ import annotations; y = 1\n",
        ] {
            let source = format!("{future}@lambda f: f\ndef f(x):\n    return [sqrt(x)][-x]\n");
            let line = source.lines().count();
            let raised = format!("IndexError: list index out of range (line {line})");
            assert_eq!(answers(&function, &source).0, ["0.0".to_owned(), raised], "{source}");
        }
        assert_eq!(program("from __future__ import annotations\n", &whole).first_place(), 35);
        assert_eq!(program("x = '__future__'\n", &whole).first_place(), 0);
    }
}
