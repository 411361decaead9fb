//! One program in one game, in a fresh sandbox.

use grpo_sandbox::{Failure, Fault as SandboxFault, FuelScope, HostError, Sandbox, Session};

use super::Rules;
use crate::environment::{Board, Choice, Ending, Move, Outcome, Strategy, play};
use crate::program::{Program, Rejection};
use crate::seed::{Purpose, Seed};

/// Characters of a wrong value that are shown.
const SHOWN: usize = 40;

/// How a program is played once; a pure function of its arguments.
pub(super) type PlayGame = dyn Fn(&Rules, &Program, Seed) -> Result<Play, GameError> + Send + Sync;

/// What playing a program once shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Play {
    /// The interpreter does not take it.
    Rejected(Rejection),
    /// It was loaded.
    Game {
        outcome: Outcome,
        /// Why it ended, when the program failed.
        reason: Option<String>,
    },
}

/// The machine's fault in one game.
#[derive(Debug)]
pub(super) enum GameError {
    /// The sandbox failed, perhaps for want of memory; worth another try.
    Host(HostError),
    /// Our own code panicked.
    Panicked(String),
}

/// Plays the game of `seed` with a fresh instance. The tiles draw from the seed's own stream, the program's `random`
/// from a child of it.
pub(super) fn play_in_sandbox(
    sandbox: &Sandbox,
    rules: &Rules,
    program: &Program,
    seed: Seed,
) -> Result<Play, GameError> {
    let guest_seed = seed.child(Purpose::Game, 0).get();
    let session = match sandbox.load(program.source(), guest_seed, &rules.limits) {
        Ok(session) => session,
        Err(Failure::Program(fault)) => return Ok(load_fault(fault, program, seed)),
        Err(Failure::Host(error)) => return Err(GameError::Host(error)),
    };
    let mut player = SandboxedPlayer { session, reason: None };
    let outcome = play(&mut player, seed, &rules.game).map_err(GameError::Host)?;
    Ok(Play::Game { outcome: Outcome { fuel: player.session.fuel_used(), ..outcome }, reason: player.reason })
}

fn load_fault(fault: SandboxFault, program: &Program, seed: Seed) -> Play {
    match fault {
        SandboxFault::NotCompiled { line, message } => {
            let lines = program.lines();
            Play::Rejected(Rejection::NotCompiled { line: line.clamp(1, lines), lines, message })
        }
        fault => Play::Game { outcome: Outcome::unplayed(seed, ending(&fault)), reason: Some(fault.to_string()) },
    }
}

fn ending(fault: &SandboxFault) -> Ending {
    match fault {
        SandboxFault::OutOfFuel { scope: FuelScope::Call } => Ending::Hung,
        SandboxFault::OutOfFuel { scope: FuelScope::Game } => Ending::OutOfFuel,
        SandboxFault::OutOfMemory => Ending::OutOfMemory,
        SandboxFault::StackOverflow => Ending::StackOverflow,
        SandboxFault::BadValue { .. } => Ending::BadMove,
        SandboxFault::Raised { .. } | SandboxFault::NotCompiled { .. } => Ending::Raised,
    }
}

/// A program in an instance of its own.
struct SandboxedPlayer {
    session: Session,
    reason: Option<String>,
}

impl Strategy for SandboxedPlayer {
    type Error = HostError;

    fn choose(&mut self, board: &Board) -> Result<Choice, HostError> {
        let board = serde_json::to_string(&[board.cells()]).expect("numbers are JSON");
        let (ending, reason) = match self.session.call("strategy", &board) {
            Ok(value) => match direction(&value) {
                Some(direction) => return Ok(Choice::Move(direction)),
                None => (Ending::BadMove, bad_move(&value)),
            },
            Err(Failure::Program(fault)) => (ending(&fault), fault.to_string()),
            Err(Failure::Host(error)) => return Err(error),
        };
        self.reason = Some(reason);
        Ok(Choice::End(ending))
    }
}

/// The move that a value stands for: one of four texts, as JSON writes them.
fn direction(value: &str) -> Option<Move> {
    value.strip_prefix('"')?.strip_suffix('"').and_then(Move::from_text)
}

fn bad_move(value: &str) -> String {
    let shown: String = value.chars().take(SHOWN).collect();
    let cut = if shown.len() < value.len() { "..." } else { "" };
    format!("returned {shown}{cut}; expected \"W\", \"A\", \"S\" or \"D\"")
}
