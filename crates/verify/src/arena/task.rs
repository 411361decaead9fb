//! A program on the tests of a task.
//!
//! A function is loaded once and called for each test, with fresh arguments; a script runs anew for each test. What
//! comes out is a value, which the host compares; a program that raises on one test may pass the next. An instance that
//! has trapped is of no more use: the next test gets a new one. All of them share the budget of the task.
//!
//! Which tier runs the program changes no verdict: compiled code has the part of the budget within which CPython is
//! certain to stay, and beyond it the program is CPython's, with the whole budget ([`Sandbox::load_exact`]).

use grpo_sandbox::{Fault, FuelScope, Limits, Sandbox};

use super::checker::{self, Checked};
use super::play::{Play, Unplayed, ending, to_be_done};
use super::solver::{Answered, Solver};
use super::{FUEL_PER_SECOND, Rules};
use crate::environment::tasks::{Answer, Kind, Split, Task, Tasks};
use crate::environment::{Case, Ending, Equality, FailedTest, Outcome, TestsTrace, Trace, Value};
use crate::plural::{cut, cut_display};
use crate::program::Program;

/// Characters of a value that a reason shows.
const SHOWN: usize = 80;
/// What stands for what is [`cut`].
const CUT: &str = "...";
/// Bytes of a word that a reason shows before the place where two words begin to differ: so few that this place is shown, even if
/// all before it is written as escapes.
const SHOWN_BEFORE: usize = 12;

/// Tries a program on task number `number`. What passes compiled is tried in the interpreter where `rules` ask for it.
pub(super) fn solve(
    sandbox: &Sandbox,
    rules: &Rules,
    program: &Program,
    tasks: &Tasks,
    number: u32,
) -> Result<Play, Unplayed> {
    let play = solve_in(sandbox, rules, program, tasks, number)?;
    match &play {
        Play::Game { outcome, compiled: true, .. } if rules.interprets_passing && outcome.ending == Ending::Passed => {
            solve_in(&sandbox.interpreting(), rules, program, tasks, number)
        }
        _ => Ok(play),
    }
}

fn solve_in(sandbox: &Sandbox, rules: &Rules, program: &Program, tasks: &Tasks, number: u32) -> Result<Play, Unplayed> {
    let task = &tasks.tasks()[number as usize];
    let mut solver = Solver::new(sandbox, rules, program, tasks, number as usize);
    if matches!(task.kind, Kind::Function(_)) {
        // What does not compile, or fails as it is loaded, answers no test.
        solver.session()?;
    }
    let mut tally = Tally::default();
    for test in 0..task.tests.len() {
        let answer = solver.answer(test)?;
        tally.take_in(&solver, test, answer);
    }
    if let Some(checked) = checker::check(&mut solver)? {
        tally.check(checked);
    }
    let case = Case::Task(number);
    Ok(tally.play(task, case, &solver))
}

/// What came of the tests so far.
#[derive(Default)]
struct Tally {
    passed: u32,
    /// Of those that the prompt does not show.
    passed_hidden: u32,
    answered: u32,
    tests: u32,
    /// The first failure, and how it ends the task.
    failed: Option<(Ending, FailedTest)>,
}

impl Tally {
    fn take_in(&mut self, solver: &Solver<'_>, test: usize, answered: Answered) {
        self.tests += 1;
        let task = solver.task;
        let expected = &task.tests[test].expected;
        let answered = answered.or_else(|fault| match &fault {
            // Where an exception is expected, it is an answer.
            Fault::Raised { kind, .. } => task.raised(test, kind, || solver.lineage()).ok_or(fault),
            _ => Err(fault),
        });
        self.answered += u32::from(answered.is_ok());
        match &answered {
            Ok(answer) if task.passes(test, answer) => {
                self.passed += 1;
                self.passed_hidden += u32::from(task.hidden().contains(&test));
            }
            Ok(answer) => self.fail(Ending::WrongAnswer, || wrong(task, test, answer)),
            Err(fault) => self.fail(ending(fault), || {
                let wanted = match expected {
                    Some(answer @ Answer::Raised(_)) => format!(", expected {}", shown(answer)),
                    _ => String::new(),
                };
                format!("{}: {}{wanted}", asked(task, test), failure(solver, fault))
            }),
        }
    }

    /// Takes in what the checker of the task says: one more test, which no prompt shows.
    fn check(&mut self, Checked { answered, failed }: Checked) {
        self.tests += 1;
        self.answered += u32::from(answered);
        match failed {
            None => (self.passed, self.passed_hidden) = (self.passed + 1, self.passed_hidden + 1),
            Some((ending, reason)) => self.fail(ending, || format!("checker: {reason}")),
        }
    }

    /// Takes in a failure, of which only the first has its reason written: an answer may be long.
    fn fail(&mut self, ending: Ending, reason: impl FnOnce() -> String) {
        let test = self.tests;
        self.failed.get_or_insert_with(|| (to_be_done(ending), FailedTest { test, reason: reason() }));
    }

    fn play(self, task: &Task, case: Case, solver: &Solver<'_>) -> Play {
        // What the prompt shows, or feedback tells, never counts alone: it can be copied into the answer.
        let hides_any = !task.hidden().is_empty() || task.has_checker();
        let passed = if hides_any && self.passed_hidden == 0 { 0 } else { self.passed };
        let (ending, failed) = match self.failed {
            None => (Ending::Passed, None),
            Some((ending, failed)) => (ending, Some(failed)),
        };
        let reason = failed.as_ref().filter(|_| self.answered == 0).map(|failed| failed.reason.clone());
        let score = f64::from(passed) / f64::from(self.tests.max(1));
        let trace = TestsTrace {
            tests: self.tests,
            passed,
            answered: self.answered,
            constant: task.constant(),
            honeypot: task.is_honeypot,
            failed,
        };
        let (fuel, trace) = (solver.fuel(), Trace::Tests(trace));
        let outcome = Outcome { case, score, ending, fuel, trace, reason: None };
        Play::Game { outcome, reason, compiled: solver.is_compiled() }
    }
}

fn wrong(task: &Task, test: usize, answer: &Answer) -> String {
    let wanted = task.tests[test].expected.as_ref();
    let (gave, expected) = (shown(answer), wanted.map(shown).unwrap_or_default());
    let line = match answer {
        Answer::Printed(text) => task.first_wrong_line(test, text),
        _ => None,
    };
    // Where an output is wrong only behind what is shown of it, its line is shown instead. Right lines need not look alike.
    let seen = lines_of(&gave).min(lines_of(&expected));
    if let Some((line, printed, right)) = line.filter(|&(line, ..)| gave == expected || line > seen) {
        let (gave, expected) = shown_lines(printed, right);
        return format!("{} gave {gave} in line {line}, expected {expected}", asked(task, test));
    }
    let why = match gave == expected {
        _ if is_near(answer, wanted) => "; they agree to 1e-9 (a task may set `tolerance`)",
        true if gave.contains("nan") => "; nan equals nothing, itself included",
        true if gave.ends_with(CUT) => "; they differ further on",
        _ => "",
    };
    format!("{} gave {gave}, expected {expected}{why}", asked(task, test))
}

/// The number of lines that are seen, in whole or in part, in what is [`shown`] of an output; no limit where all of it is.
fn lines_of(shown: &str) -> usize {
    if shown.ends_with(CUT) { 1 + shown.matches("\\n").count() } else { usize::MAX }
}

/// Two lines that differ, one of which may be missing; of those that differ only behind what is shown of them, what follows.
fn shown_lines(printed: Option<&str>, right: Option<&str>) -> (String, String) {
    let shown = |line: Option<&str>| match line {
        Some(line) => cut_display(&format_args!("{:?}", line.trim()), SHOWN),
        None => "nothing".to_owned(),
    };
    let lines = (shown(printed), shown(right));
    let (Some(printed), Some(right), true) = (printed, right, lines.0 == lines.1) else { return lines };
    let (printed, right) = (printed.trim(), right.trim());
    let same = printed.chars().zip(right.chars()).take_while(|(a, b)| a == b);
    let same: usize = same.map(|(character, _)| character.len_utf8()).sum();
    let word = printed[..same].rfind(' ').map_or(0, |space| space + 1);
    let from = if same - word <= SHOWN_BEFORE { word } else { same };
    let shown = |line: &str| cut(&format!("{:?}", format!("{CUT}{}", &line[from..])), SHOWN);
    (shown(printed), shown(right))
}

/// Why a program gave no answer to a test. A whole program is not called: it runs once for each test.
fn failure(solver: &Solver<'_>, fault: &Fault) -> String {
    match (fault, &solver.task.kind) {
        (Fault::OutOfFuel { scope: FuelScope::Call }, Kind::Script) => {
            "took too long: one run used more than a run may".to_owned()
        }
        (Fault::OutOfFuel { .. }, _) => format!("took too long: {}", solver.told(fault)),
        _ => fault.to_string(),
    }
}

/// Whether an answer differs from what is expected in the last digits of floats alone, as mathematical libraries do.
fn is_near(answer: &Answer, expected: Option<&Answer>) -> bool {
    let near = Equality { tolerance: 1e-9, ..Equality::PYTHON };
    matches!((answer, expected), (Answer::Value(a), Some(Answer::Value(b))) if a.equals(b, &near) && a != b)
}

/// What a test asks, as a person would write it.
fn asked(task: &Task, test: usize) -> String {
    let input = &task.tests[test].input;
    match (&task.kind, Value::from_json(input)) {
        (Kind::Function(function), Ok(Value::List(arguments))) => {
            let arguments: Vec<String> = arguments.iter().map(Value::to_string).collect();
            cut(&format!("{}({})", function.entry_point, arguments.join(", ")), SHOWN)
        }
        _ => format!("input {}", cut_display(&format_args!("{:?}", input.trim_end()), SHOWN)),
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Value(value) => cut_display(value, SHOWN),
        Answer::Raised(kind) => format!("a {kind}"),
        Answer::Printed(text) => cut_display(&format_args!("{:?}", text.trim_end()), SHOWN),
    }
}

impl Rules {
    /// The limits of this task: the budget that it has an opinion of, or the usual one.
    pub fn of_task(&self, task: &Task) -> Limits {
        let usual = self.held_out.filter(|_| task.split == Split::HeldOut).unwrap_or(self.limits);
        let Some(seconds) = task.seconds else { return usual };
        let game_fuel = (seconds * FUEL_PER_SECOND as f64) as u64;
        let share = usual.call_fuel as f64 / usual.game_fuel.max(1) as f64;
        Limits { game_fuel, call_fuel: (game_fuel as f64 * share) as u64, ..usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_failure_has_its_reason_written() {
        let mut tally = Tally { tests: 1, ..Tally::default() };
        tally.fail(Ending::WrongAnswer, || "f(1) gave 2".into());
        tally.fail(Ending::WrongAnswer, || unreachable!("the reason of a later one"));
        assert_eq!(tally.failed.unwrap().1.reason, "f(1) gave 2");
    }
}
