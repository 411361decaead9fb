//! What playing a program on one case shows, and how a fault ends it.

use std::path::PathBuf;

use grpo_sandbox::{Difference, Failure, Fault, FuelScope, HostError, Session, Unloaded};

use super::Rules;
use crate::environment::{Case, Ending, Outcome, Value};
use crate::program::{Program, Rejection};

/// Calls like the one in which the budget of a game ended that a program must have answered before: whose budget lasts for
/// fewer has not played until it was used up. It hung, or broke off.
const LIKE_LAST: u64 = 16;
/// Halvings within which calls are alike: a search may take several times longer on one board than on another.
const HALVINGS: usize = 5;

/// How a program is played once; a pure function of its arguments.
pub(super) type PlayGame = dyn Fn(&Rules, &Program, Numbered, Runner) -> Result<Play, GameError> + Send + Sync;

/// What runs a program, and whatever else is Python in its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    /// The tier that the sandbox chooses.
    Chosen,
    /// The interpreter alone, because the tiers have differed.
    Interpreter,
}

/// A case, and which of the program's cases it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Numbered {
    pub number: usize,
    pub case: Case,
}

/// What playing a program once shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Play {
    /// The interpreter does not take it.
    Rejected(Rejection),
    /// The interpreter answers otherwise than compiled code did, so that nothing of this counts.
    Differs(Box<Difference>),
    /// It was loaded.
    Game {
        outcome: Outcome,
        /// Why it ended, when the program failed.
        reason: Option<String>,
        /// Whether the program ran compiled from the first call to the last.
        compiled: bool,
    },
}

/// The machine's fault in one game.
#[derive(Debug)]
pub(super) enum GameError {
    /// The sandbox failed, perhaps for want of memory; worth another try.
    Host(HostError),
    /// The game itself is at fault, whose rules a user wrote.
    Environment {
        /// Its file.
        game: PathBuf,
        /// What it was asked, and what it did.
        message: String,
    },
    /// Our own code panicked.
    Panicked(String),
}

/// Why a case did not begin.
pub(super) enum Unplayed {
    /// The interpreter does not take the program.
    Rejected(Rejection),
    /// It failed while it was loaded, having spent so much fuel.
    Faulted { fault: Fault, fuel: u64 },
    /// Not its doing.
    Broken(GameError),
}

impl From<HostError> for Unplayed {
    fn from(error: HostError) -> Self {
        Unplayed::Broken(GameError::Host(error))
    }
}

/// What the sandbox said of a program that it could not load.
pub(super) fn unplayed(Unloaded { failure, fuel }: Unloaded, program: &Program) -> Unplayed {
    match failure {
        Failure::Program(Fault::NotCompiled { line, message }) => {
            let lines = program.lines();
            Unplayed::Rejected(Rejection::NotCompiled { line: line.clamp(1, lines), lines, message })
        }
        Failure::Program(fault) => Unplayed::Faulted { fault, fuel },
        Failure::Host(error) => error.into(),
    }
}

/// How a case ends for a program with this fault.
pub(super) fn ending(fault: &Fault) -> Ending {
    match fault {
        Fault::OutOfFuel { scope: FuelScope::Call } => Ending::Hung,
        Fault::OutOfFuel { scope: FuelScope::Game } => Ending::OutOfFuel,
        Fault::OutOfMemory => Ending::OutOfMemory,
        Fault::StackOverflow { .. } => Ending::StackOverflow,
        Fault::BadValue { .. } => Ending::BadMove,
        Fault::Raised { .. } | Fault::NotCompiled { .. } => Ending::Raised,
    }
}

/// The ending of a test or an evaluation that ended like this. A game goes well until its budget ends; these have to be done by
/// then.
pub(super) fn to_be_done(ending: Ending) -> Ending {
    if ending == Ending::OutOfFuel { Ending::Hung } else { ending }
}

/// How a game ends by a fault in a call, and why in words.
///
/// A budget that is used up ends a game well, and slowness costs moves already. But a loop without end uses up any budget:
/// it is told apart by the calls before, of which enough must have been like it.
pub(super) fn ended(fault: &Fault, session: &Session) -> (Ending, String) {
    let ending = ending(fault);
    let like_last = session.calls_like_last(HALVINGS);
    if ending == Ending::OutOfFuel && like_last < LIKE_LAST {
        let words = format!("one call used up what was left of the budget, and only {like_last} before were like it");
        return (Ending::Hung, words);
    }
    (ending, fault.to_string())
}

/// The first characters of a value that has crossed as JSON, as Python writes it.
pub(super) fn python(json: &str, most: usize) -> String {
    shown(&Value::from_json(json).map_or_else(|_| json.to_owned(), |value| value.to_string()), most)
}

/// The first characters of a program's value, for messages. JSON leaves some control characters as they are.
pub(super) fn shown(value: &str, most: usize) -> String {
    let plain = |one: char| if one.is_control() { one.escape_default().to_string() } else { one.to_string() };
    let cut = if value.chars().nth(most).is_some() { "..." } else { "" };
    value.chars().take(most).map(plain).collect::<String>() + cut
}
