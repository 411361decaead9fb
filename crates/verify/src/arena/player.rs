//! One program on one case, in a fresh sandbox.

use grpo_sandbox::{Failure, HostError, Sandbox, Session};

use super::play::{GameError, Numbered, Play, Unplayed, ended, ending, python, unplayed};
use super::script::{LoadedPlayer, play_script};
use super::{Rules, evaluator, task};
use crate::environment::game2048::{Board, Choice, Move, Strategy, play};
use crate::environment::{Case, Ending, Environment, Outcome, wrong_case};
use crate::program::Program;
use crate::seed::{Purpose, Seed};

/// Characters of a wrong value that are shown.
const SHOWN: usize = 40;

/// Sessions that one case keeps alive at once.
pub(super) fn sessions(environment: &Environment) -> usize {
    match environment {
        Environment::Game2048 => 1,
        // The rules of a game, or the checker of a task, have one of their own.
        Environment::Script(_) | Environment::Tasks(_) => 2,
        // The program is in that of the evaluator.
        Environment::Evaluator(_) => 1,
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
            load().and_then(|session| play_script(sandbox, rules, game, LoadedPlayer { program, session }, seed))
        }
        (Environment::Evaluator(it), Case::Seed(seed)) => evaluator::evaluate(sandbox, rules, it, program, seed),
        (Environment::Tasks(tasks), Case::Task(task)) => task::solve(sandbox, rules, program, tasks, task),
        (Environment::Game2048 | Environment::Script(_) | Environment::Evaluator(_), Case::Task(_))
        | (Environment::Tasks(_), Case::Seed(_)) => wrong_case(),
    };
    match played {
        Ok(play) => Ok(play),
        Err(Unplayed::Rejected(rejection)) => Ok(Play::Rejected(rejection)),
        Err(Unplayed::Faulted { fault, fuel }) => {
            let outcome = Outcome { fuel, ..environment.unplayed(case, ending(&fault)) };
            Ok(Play::Game { outcome, reason: Some(fault.to_string()), compiled: false })
        }
        Err(Unplayed::Broken(GameError::Host(HostError::TiersDiffer(difference)))) => Ok(Play::Differs(difference)),
        Err(Unplayed::Broken(error)) => Err(error),
    }
}

/// A fresh instance with the program in it, its `random` seeded by the program and the number of the case, which tell
/// nothing of the case itself.
fn load(sandbox: &Sandbox, rules: &Rules, program: &Program, number: usize) -> Result<Session, Unplayed> {
    let seed = Seed::of_program(program.source()).child(Purpose::Player, number as u64);
    sandbox.load(program.source(), seed.get(), &rules.limits).map_err(|unloaded| unplayed(unloaded, program))
}

/// Plays the game whose tiles draw from the stream of `seed`.
fn play_2048(session: Session, rules: &Rules, seed: Seed) -> Result<Play, Unplayed> {
    let mut player = SandboxedPlayer { session, reason: None };
    let outcome = play(&mut player, seed, &rules.game)?;
    let SandboxedPlayer { session, reason } = player;
    let outcome = Outcome { fuel: session.fuel_used(), ..outcome };
    Ok(Play::Game { outcome, reason, compiled: session.is_compiled() })
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
    format!("returned {}; expected 'W', 'A', 'S' or 'D'", python(value, SHOWN))
}
