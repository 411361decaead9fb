//! Plays a program in both tiers and tells whether their answers are the same.
//!
//! The interpreter is right by definition. The compiled tier may leave a program to it at any time; where it answers,
//! the value's text must be the interpreter's.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use grpo_sandbox::{FUEL_PER_SECOND, Sandbox};
use grpo_sandbox_compiled::{CompiledProgram, CompiledTier, NotCompiled, Stop, TierError};

use crate::program::{Group, Program};

/// Gas of a call, and fuel that is worth as much. Few programs here spend them, and those that do are many calls.
const GAS: u64 = FUEL_PER_SECOND / 10;
const FUEL: u64 = FUEL_PER_SECOND / 10;

/// How far gas and fuel may be apart before a verdict by one is another answer.
const FACTOR: u64 = 4;

const MEMORY: u64 = 64 << 20;

const LIMITS: grpo_sandbox::Limits =
    grpo_sandbox::Limits { game_fuel: 40 * FACTOR * FUEL, call_fuel: FACTOR * FUEL, memory_bytes: MEMORY };

const COMPILED_LIMITS: grpo_sandbox_compiled::GasLimits =
    grpo_sandbox_compiled::GasLimits { game_gas: 40 * GAS, call_gas: GAS, memory_bytes: MEMORY };

/// Budgets that no column of cases meets.
pub const COLUMN_GAS: grpo_sandbox_compiled::GasLimits =
    grpo_sandbox_compiled::GasLimits { game_gas: u64::MAX / 4, call_gas: 100 * GAS, memory_bytes: MEMORY };
pub const COLUMN_FUEL: grpo_sandbox::Limits =
    grpo_sandbox::Limits { game_fuel: u64::MAX / 4, call_fuel: 400 * FUEL, memory_bytes: 8 * MEMORY };

pub struct Tiers {
    pub sandbox: Sandbox,
    pub tier: CompiledTier,
}

/// An answer of the compiled tier that the interpreter does not give.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The program, of no more groups than it takes.
    pub program: Program,
    /// Which call of its last group.
    pub call: usize,
    pub interpreter: String,
    pub compiled: String,
}

/// How programs ended.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    pub programs: u64,
    pub functions: u64,
    /// Functions all of whose calls the compiled tier answered.
    pub stayed: u64,
    /// Calls that both answered alike.
    pub equal: u64,
    pub out_of_gas: u64,
    pub differences: u64,
    pub outside: BTreeMap<String, u64>,
    pub given_up: BTreeMap<String, u64>,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.programs += other.programs;
        self.functions += other.functions;
        self.stayed += other.stayed;
        self.equal += other.equal;
        self.out_of_gas += other.out_of_gas;
        self.differences += other.differences;
        for (mine, others) in [(&mut self.outside, &other.outside), (&mut self.given_up, &other.given_up)] {
            others.iter().for_each(|(words, count)| *mine.entry(words.clone()).or_default() += count);
        }
    }
}

/// What the compiled tier said to a call.
enum Told {
    Value(String),
    OutOfGas,
    /// A failure that no program may cause.
    Broken(String),
}

impl Tiers {
    pub fn open() -> Tiers {
        static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
            let cache = Sandbox::default_cache_dir().unwrap();
            // The sandbox would compile the program too: the tier would be compared with itself.
            Sandbox::open(&cache, || ()).unwrap().interpreting()
        });
        Tiers { sandbox: SANDBOX.clone(), tier: CompiledTier::open().unwrap() }
    }

    /// Plays every call of every group. What the compiled tier leaves to the interpreter is counted and not played.
    pub fn compare(&self, program: &Program, tally: &mut Tally) -> Option<Difference> {
        tally.programs += 1;
        tally.functions += program.groups.len() as u64;
        let mut program = program.clone();
        let told = match catch_unwind(AssertUnwindSafe(|| self.compiled(&mut program, tally))) {
            Ok(told) => told,
            Err(panic) => vec![(0, 0, Told::Broken(format!("panics: {}", words(&*panic))))],
        };
        let found = self.interpreted(&program, &told, tally);
        tally.differences += u64::from(found.is_some());
        let (group, call, interpreter, compiled) = found?;
        // What draws depends on the groups before it.
        let kept = if program.draws() { 0..group + 1 } else { group..group + 1 };
        program.groups = program.groups.get(kept).unwrap_or_default().to_vec();
        Some(Difference { program, call, interpreter, compiled })
    }

    /// The answers of the compiled tier: group, call, and what it told. Groups that it does not compile are taken out.
    fn compiled(&self, program: &mut Program, tally: &mut Tally) -> Vec<(usize, usize, Told)> {
        let compiled = match self.compile(program, tally) {
            Ok(Some(compiled)) => compiled,
            Ok(None) => return Vec::new(),
            Err(error) => return vec![(0, 0, Told::Broken(error.to_string()))],
        };
        let (mut answers, mut session) = (Vec::new(), None);
        for (index, group) in program.groups.iter().enumerate() {
            for (call, arguments) in group.calls.iter().enumerate() {
                let playing = match session.take() {
                    Some(session) => Ok(session),
                    None => compiled.start(program.seed, &COMPILED_LIMITS),
                };
                let answer = playing.and_then(|mut playing| {
                    let value = playing.call(&group.function, arguments)?;
                    session = Some(playing);
                    Ok(value)
                });
                let stop = match answer {
                    Ok(value) => {
                        answers.push((index, call, Told::Value(value)));
                        continue;
                    }
                    Err(stop) => stop,
                };
                match stop {
                    Stop::GivenUp { reason } => *tally.given_up.entry(reason.to_owned()).or_default() += 1,
                    Stop::OutOfGas { .. } => answers.push((index, call, Told::OutOfGas)),
                    Stop::Machine(error) => answers.push((index, call, Told::Broken(error.to_string()))),
                }
                if program.draws() {
                    return answers;
                }
                break;
            }
        }
        answers
    }

    /// Whether the compiled tier has anything to say to a program's first call.
    pub fn answers(&self, program: &Program) -> bool {
        let group = &program.groups[0];
        let Ok(compiled) = self.tier.compile(&program.source()) else { return false };
        let session = compiled.start(program.seed, &COMPILED_LIMITS);
        session.is_ok_and(|mut session| session.call(&group.function, &group.calls[0]).is_ok())
    }

    /// Compiles a program, without the groups that are outside of what the tier compiles.
    fn compile(&self, program: &mut Program, tally: &mut Tally) -> Result<Option<CompiledProgram>, TierError> {
        let whole = match self.tier.compile(&program.source()) {
            Ok(compiled) => return Ok(Some(compiled)),
            Err(NotCompiled::Machine(error)) => return Err(error),
            Err(NotCompiled::Outside(outside)) => outside,
        };
        if let Some(group) = program.group_at(whole.line).filter(|_| program.groups.len() > 1) {
            *tally.outside.entry(generalised(&whole.construct)).or_default() += 1;
            program.groups.remove(group);
            return self.compile(program, tally);
        }
        let alone = |group: &Group| {
            let program = Program { groups: vec![group.clone()], ..program.clone() };
            self.tier.compile(&program.source())
        };
        let mut inside = Vec::new();
        for group in &program.groups {
            match alone(group) {
                Ok(_) => inside.push(group.clone()),
                Err(NotCompiled::Machine(error)) => return Err(error),
                Err(NotCompiled::Outside(outside)) => {
                    *tally.outside.entry(generalised(&outside.construct)).or_default() += 1;
                }
            }
        }
        if inside.len() == program.groups.len() {
            // Each is inside, all of them together are too much.
            *tally.outside.entry(generalised(&whole.construct)).or_default() += 1;
            inside.truncate(inside.len() / 2);
        }
        program.groups = inside;
        if program.groups.is_empty() { Ok(None) } else { self.compile(program, tally) }
    }

    /// Asks the interpreter what the compiled tier has answered; gives the first difference: group, call, both answers.
    fn interpreted(
        &self,
        program: &Program,
        told: &[(usize, usize, Told)],
        tally: &mut Tally,
    ) -> Option<(usize, usize, String, String)> {
        if told.is_empty() {
            return None;
        }
        let mut session = self.sandbox.load(&program.source(), program.seed, &LIMITS);
        for (index, call, told) in told {
            let Some(Group { function, calls, .. }) = program.groups.get(*index) else { continue };
            let before = session.as_ref().map_or(0, |session| session.fuel_used());
            let answer = match &mut session {
                Ok(session) => session.call(function, &calls[*call]).map_err(|failure| failure.to_string()),
                Err(unloaded) => Err(format!("does not load: {unloaded}")),
            };
            let used = match &session {
                Ok(session) => session.fuel_used() - before,
                Err(unloaded) => unloaded.fuel,
            };
            let different = |compiled: &str| {
                let interpreter = answer.clone().unwrap_or_else(|failure| format!("fails: {failure}"));
                Some((*index, *call, interpreter, compiled.to_owned()))
            };
            match told {
                Told::Value(value) if answer.as_ref() == Ok(value) => tally.equal += 1,
                Told::Value(value) => return different(value),
                Told::OutOfGas if used >= FUEL / FACTOR => {
                    tally.out_of_gas += 1;
                    // The compiled tier began anew, and so does the interpreter, which may be spent.
                    session = self.sandbox.load(&program.source(), program.seed, &LIMITS);
                }
                Told::OutOfGas => return different(&format!("out of gas; the interpreter used fuel {used}")),
                Told::Broken(words) => return different(words),
            }
            if *call + 1 == calls.len() {
                tally.stayed += 1;
            }
        }
        None
    }

    /// What the interpreter alone says to every call, in words.
    pub fn interpreter_answers(&self, program: &Program) -> Vec<Result<String, String>> {
        let mut session = match self.sandbox.load(&program.source(), program.seed, &LIMITS) {
            Ok(session) => session,
            Err(failure) => return vec![Err(failure.to_string())],
        };
        let mut answers = Vec::new();
        for group in &program.groups {
            for arguments in &group.calls {
                answers.push(session.call(&group.function, arguments).map_err(|failure| failure.to_string()));
            }
        }
        answers
    }
}

/// A construct without what is particular to one program.
fn generalised(construct: &str) -> String {
    construct.chars().filter(|c| !c.is_ascii_digit()).take(60).collect()
}

fn words(panic: &dyn std::any::Any) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_else(|| "?".into())
}
