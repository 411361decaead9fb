//! One program on one case, in a fresh sandbox.

use std::path::PathBuf;

use grpo_sandbox::{Failure, Fault, FuelScope, HostError, Sandbox, Session, Unloaded};

use super::script::play_script;
use super::{Rules, task};
use crate::environment::game2048::{Board, Choice, Move, Strategy, play};
use crate::environment::{Case, Ending, Environment, Outcome, wrong_case};
use crate::program::{Program, Rejection};
use crate::seed::{Purpose, Seed};

/// Characters of a wrong value that are shown.
const SHOWN: usize = 40;

/// Calls like the one in which the budget of a game ended that a program must have answered before: whose budget lasts for
/// fewer has not played until it was used up. It hung, or broke off.
const LIKE_LAST: u64 = 16;
/// Halvings within which calls are alike: a search may take several times longer on one board than on another.
const HALVINGS: usize = 5;

/// How a program is played once; a pure function of its arguments.
pub(super) type PlayGame = dyn Fn(&Rules, &Program, Numbered) -> Result<Play, GameError> + Send + Sync;

/// A case, and which of the program's cases it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbered {
    pub number: usize,
    pub case: Case,
}

/// What playing a program once shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Play {
    /// The interpreter does not take it.
    Rejected(Rejection),
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

/// Sessions that one case keeps alive at once.
pub(super) fn sessions(environment: &Environment) -> usize {
    match environment {
        Environment::Game2048 => 1,
        // The rules of a game, or the checker of a task, have one of their own.
        Environment::Script(_) | Environment::Tasks(_) => 2,
    }
}

/// Tries a program on a case, in a fresh instance.
pub(super) fn try_on(
    sandbox: &Sandbox,
    environment: &Environment,
    rules: &Rules,
    program: &Program,
    Numbered { number, case }: Numbered,
) -> Result<Play, GameError> {
    let load = || load(sandbox, rules, program, number);
    let played = match (environment, case) {
        (Environment::Game2048, Case::Seed(seed)) => load().and_then(|player| play_2048(player, rules, seed)),
        (Environment::Script(game), Case::Seed(seed)) => {
            load().and_then(|player| play_script(sandbox, rules, game, player, seed))
        }
        (Environment::Tasks(tasks), Case::Task(task)) => task::solve(sandbox, rules, program, tasks, task),
        (Environment::Game2048 | Environment::Script(_), Case::Task(_)) | (Environment::Tasks(_), Case::Seed(_)) => {
            wrong_case()
        }
    };
    match played {
        Ok(play) => Ok(play),
        Err(Unplayed::Rejected(rejection)) => Ok(Play::Rejected(rejection)),
        Err(Unplayed::Faulted { fault, fuel }) => {
            let outcome = Outcome { fuel, ..environment.unplayed(case, ending(&fault)) };
            Ok(Play::Game { outcome, reason: Some(fault.to_string()), compiled: false })
        }
        Err(Unplayed::Broken(error)) => Err(error),
    }
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

/// A fresh instance with the program in it, its `random` seeded by the program and the number of the case, which tell
/// nothing of the case itself.
fn load(sandbox: &Sandbox, rules: &Rules, program: &Program, number: usize) -> Result<Session, Unplayed> {
    let seed = Seed::of_program(program.source()).child(Purpose::Player, number as u64);
    sandbox.load(program.source(), seed.get(), &rules.limits).map_err(|unloaded| unplayed(unloaded, program))
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

/// Plays the game whose tiles draw from the stream of `seed`.
fn play_2048(session: Session, rules: &Rules, seed: Seed) -> Result<Play, Unplayed> {
    let mut player = SandboxedPlayer { session, reason: None };
    let outcome = play(&mut player, seed, &rules.game)?;
    let SandboxedPlayer { session, reason } = player;
    let outcome = Outcome { fuel: session.fuel_used(), ..outcome };
    Ok(Play::Game { outcome, reason, compiled: session.is_compiled() })
}

/// How a case ends for a program with this fault.
pub(super) fn ending(fault: &Fault) -> Ending {
    match fault {
        Fault::OutOfFuel { scope: FuelScope::Call } => Ending::Hung,
        Fault::OutOfFuel { scope: FuelScope::Game } => Ending::OutOfFuel,
        Fault::OutOfMemory => Ending::OutOfMemory,
        Fault::StackOverflow => Ending::StackOverflow,
        Fault::BadValue { .. } => Ending::BadMove,
        Fault::Raised { .. } | Fault::NotCompiled { .. } => Ending::Raised,
    }
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
            Err(Failure::Program(fault)) => ended(&fault, &self.session),
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
