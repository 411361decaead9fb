//! A program that is asked for the answers to a task's tests, by the task or by its checker.

use std::cell::OnceCell;
use std::path::Path;

use grpo_sandbox::{Failure, Fault, FuelScope, Limits, Sandbox, Session, Unloaded};
use serde_json::json;

use super::Rules;
use super::loaded::Loaded;
use super::play::{GameError, Unplayed, unplayed};
use crate::environment::Value;
use crate::environment::tasks::{Answer, ExceptionTypes, Kind, Task, Tasks};
use crate::program::Program;

/// What a program's `random` is seeded with: a task is no game of chance.
const SEED: u64 = 0;

/// The function of `typed.py` that calls another one.
const CALL_TYPED: &str = "__call_typed";

/// What a program answers to one test, or how it fails.
pub(super) type Answered = Result<Answer, Fault>;

/// A program, loaded as often as it must be.
pub(super) struct Solver<'a> {
    pub sandbox: Sandbox,
    pub task: &'a Task,
    path: &'a Path,
    program: &'a Program,
    loaded: Loaded<'a>,
    lineage: OnceCell<ExceptionTypes>,
    limits: Limits,
    session: Option<Session>,
    /// Whether the instance that is alive has been called.
    is_called: bool,
    /// Fuel of instances that are gone.
    spent: u64,
}

impl<'a> Solver<'a> {
    /// For task number `number`.
    pub fn new(sandbox: &'a Sandbox, rules: &Rules, program: &'a Program, tasks: &'a Tasks, number: usize) -> Self {
        let (path, task) = (tasks.path(), &tasks.tasks()[number]);
        let sandbox = if task.numpy { sandbox.with_numpy() } else { sandbox.clone() };
        let loaded = Loaded::new(program, task);
        let (limits, lineage) = (rules.of_task(task), OnceCell::new());
        Solver { sandbox, task, path, program, loaded, lineage, limits, session: None, is_called: false, spent: 0 }
    }

    pub fn task_limits(&self) -> Limits {
        self.limits
    }

    /// What the exceptions of the program are under.
    pub fn lineage(&self) -> &ExceptionTypes {
        self.lineage.get_or_init(|| ExceptionTypes::of(&self.loaded.source))
    }

    /// Whether the program is the task's own.
    pub fn is_reference(&self) -> bool {
        let reference = self.task.reference.as_deref().map(|source| Program::from_text(source, &self.task.entry()));
        matches!(reference, Some(Ok(reference)) if reference == *self.program)
    }

    /// A mistake in the task, for which no program is to blame.
    pub fn mistake(&self, what: &str) -> Unplayed {
        let message = format!("line {} ({}): {what}", self.task.line, self.task.id);
        Unplayed::Broken(GameError::Environment { game: self.path.to_owned(), message })
    }

    /// What is left of the budget.
    fn limits(&self) -> Limits {
        let game_fuel = self.limits.game_fuel.saturating_sub(self.fuel());
        Limits { game_fuel, call_fuel: self.limits.call_fuel.min(game_fuel), ..self.limits }
    }

    /// Instructions spent so far.
    pub fn fuel(&self) -> u64 {
        self.spent + self.session.as_ref().map_or(0, Session::fuel_used)
    }

    /// A fault of this program in words; where a call has met the limit of one call, with the key of that limit.
    pub fn told(&self, fault: &Fault) -> String {
        match fault {
            Fault::OutOfFuel { scope: FuelScope::Call } => match self.fuel() >= self.limits.game_fuel {
                // The last instance had less left than one call may use.
                true => Fault::OutOfFuel { scope: FuelScope::Game }.to_string(),
                false => format!("{fault}, `sandbox.call_share` of the budget"),
            },
            _ => fault.to_string(),
        }
    }

    /// Whether the instance that is alive runs compiled code.
    pub fn is_compiled(&self) -> bool {
        self.session.as_ref().is_some_and(Session::is_compiled)
    }

    /// The answer to a test. A new instance is loaded where there is none.
    pub fn answer(&mut self, test: usize) -> Result<Answered, Unplayed> {
        let input = &self.task.tests[test].input;
        match &self.task.kind {
            Kind::Function(function) => Ok(self.call(&function.entry_point, input)?.map(Answer::Value)),
            Kind::Script => self.run(input),
        }
    }

    /// The answer to a call of the checker, which may want none of what other calls have left behind.
    pub fn ask(&mut self, function: &str, arguments: &str) -> Result<Result<Value, Fault>, Unplayed> {
        if self.task.keeps_calls_apart() && self.is_called {
            self.drop_session();
        }
        self.call(function, arguments)
    }

    /// Calls a function of the program. A fault in loading a new instance is a fault of the call; so is a text that stands
    /// for no value, since a program may have taken over what writes its values.
    fn call(&mut self, function: &str, arguments: &str) -> Result<Result<Value, Fault>, Unplayed> {
        let typed = self.task.array_types;
        let called = match self.session() {
            Ok(session) if typed => session.call(CALL_TYPED, &format!("[{},{arguments}]", json!(function))),
            Ok(session) => session.call(function, arguments),
            Err(Unplayed::Faulted { fault, .. }) => return Ok(Err(fault)),
            Err(other) => return Err(other),
        };
        self.is_called = true;
        if self.session.as_ref().is_some_and(Session::is_spent) {
            self.drop_session();
        }
        match called {
            Ok(text) => Ok(Value::from_json(&text).map_err(|error| Fault::BadValue { found: error.to_string() })),
            Err(Failure::Program(fault)) => Ok(Err(self.loaded.own(fault))),
            Err(Failure::Host(error)) => Err(error.into()),
        }
    }

    pub fn session(&mut self) -> Result<&mut Session, Unplayed> {
        if self.session.is_none() {
            let interpreting = self.interprets().then(|| self.sandbox.interpreting());
            let sandbox = interpreting.as_ref().unwrap_or(&self.sandbox);
            match sandbox.load_exact(&self.loaded.source, SEED, &self.limits()) {
                Ok(session) => (self.session, self.is_called) = (Some(session), false),
                Err(unloaded) => {
                    self.spent += unloaded.fuel;
                    let failure = match unloaded.failure {
                        Failure::Program(fault) => {
                            self.refuse_prelude(&fault, "")?;
                            Failure::Program(self.loaded.own(fault))
                        }
                        host => host,
                    };
                    return Err(unplayed(Unloaded { failure, fuel: self.spent }, self.program));
                }
            }
        }
        Ok(self.session.as_mut().expect("it has just been loaded"))
    }

    /// Whether the next instance is interpreted from its start.
    ///
    /// One that is gone met a limit in the interpreter: nothing says that compiled code fares better on the next test, and
    /// then it would be given up test after test. Where calls are kept apart, many instances share a budget, and of compiled
    /// code no more is known than a bound of what the interpreter spends: bounds add up, and so would what is unknown.
    fn interprets(&self) -> bool {
        self.spent > 0 || self.task.keeps_calls_apart()
    }

    /// Refuses the task where its prelude raises by itself. A program may make the prelude's functions raise, too, so that the
    /// line of a fault says nothing.
    fn refuse_prelude(&self, fault: &Fault, stdin: &str) -> Result<(), Unplayed> {
        let Some(prelude) = self.task.prelude.as_deref().filter(|_| self.loaded.is_of_prelude(fault)) else {
            return Ok(());
        };
        let alone = match self.task.kind {
            Kind::Function(_) => match self.sandbox.interpreting().load_exact(prelude, SEED, &self.limits) {
                Ok(_) => None,
                Err(Unloaded { failure: Failure::Program(fault), .. }) => Some(fault),
                Err(Unloaded { failure: Failure::Host(error), .. }) => return Err(error.into()),
            },
            Kind::Script => {
                let limits = Limits { call_fuel: self.limits.game_fuel, ..self.limits };
                self.sandbox.run(prelude, stdin, SEED, &limits)?.printed.err()
            }
        };
        match alone {
            Some(fault @ Fault::Raised { .. }) => Err(self.mistake(&format!("the prelude fails by itself: {fault}"))),
            _ => Ok(()),
        }
    }

    fn drop_session(&mut self) {
        self.spent = self.fuel();
        self.session = None;
    }

    fn run(&mut self, stdin: &str) -> Result<Answered, Unplayed> {
        let limits = self.limits();
        let limits = Limits { call_fuel: limits.game_fuel, ..limits };
        let run = self.sandbox.run(&self.loaded.source, stdin, SEED, &limits)?;
        self.spent += run.fuel;
        match run.printed {
            Ok(printed) => Ok(Ok(Answer::Printed(printed))),
            Err(fault) => {
                self.refuse_prelude(&fault, stdin)?;
                match self.loaded.own(fault) {
                    // The interpreter refuses the program whatever its input: it is no answer.
                    fault @ Fault::NotCompiled { .. } => Err(unplayed(Failure::Program(fault).into(), self.program)),
                    fault => Ok(Err(fault)),
                }
            }
        }
    }
}
