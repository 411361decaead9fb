//! Whether a program can know the boards of a run: a cheat is shown to it that knows all that anybody can.
//!
//! Boards that follow from a seed are published: their tiles can be computed, and the best moves on them be written down.
//! The cheat carries such moves for the boards that the run would play without a salt. On a run's own boards it must be no
//! better than the same program without them.

use crate::config::Config;
use crate::environment::game2048::ladder::KNOWS_BOARDS;
use crate::environment::game2048::{Game, Move};
use crate::preflight::finding::{Check, CheckFinding};
use crate::preflight::{JudgedTrial, Trial};
use crate::seed::{Purpose, Seed};

/// The salt of the boards that anybody can compute.
const PUBLISHED: &str = "";
/// Steps of a run whose first board is looked at.
const STEPS: u64 = 4;
/// Moves that are planned on each: they leave the player behind that goes on without a plan.
const MOVES: usize = 400;
/// Moves that a plan looks ahead. No chance is in them.
const DEPTH: usize = 3;
/// What an empty cell is worth to a plan, in points.
const EMPTY: u64 = 16;

/// The program without a plan and with it, on boards of the run.
pub fn trials(config: &Config) -> [Trial; 2] {
    let cases = || boards(config, &config.train.board_salt).map(Into::into).collect();
    let plan: String = boards(config, PUBLISHED).map(|board| written(board, &planned(board))).collect();
    ["", &plan].map(|plan| Trial::new(&KNOWS_BOARDS.replace("@PLAN@", plan), cases()))
}

/// What became of both.
pub fn finding(config: &Config, [honest, cheat]: &[JudgedTrial; 2]) -> CheckFinding {
    let plans =
        boards(config, PUBLISHED).map(|board| planned(board).iter().map(|step| step.letter()).collect::<String>());
    let follows = |plan: String| cheat.evaluation.games.iter().any(|game| game.moves_text().starts_with(&plan));
    let known = plans.filter(|plan| follows(plan.clone())).count();
    let earns = format!("{:.3}, {:.3} without", cheat.reward.value, honest.reward.value);
    let published = config.train.board_salt.is_empty();
    match (known, published) {
        (0, _) => CheckFinding::ok(
            Check::Boards,
            format!("a program that carries moves for published boards earns {earns} them"),
        ),
        (_, true) => {
            let text = "boards are published, since they follow from train.seed alone: figures compare, and a program that \
                        was written for them can carry their moves";
            let others = "`train` without --seed draws others, which nobody knows";
            CheckFinding::ok(Check::Boards, format!("{text} (here {earns}); {others}"))
        }
        (_, false) => {
            let text =
                format!("{known} of {STEPS} boards are known in spite of train.board_salt: a program earns {earns}");
            CheckFinding::problem(Check::Boards, format!("{text} its knowledge"))
        }
    }
}

/// The first boards of the first steps under this salt.
fn boards(config: &Config, salt: &str) -> impl Iterator<Item = Seed> {
    let seed = Seed::root(config.train.seed);
    (0..STEPS).flat_map(move |step| seed.child(Purpose::Step, step).salted(salt).games(1))
}

/// Good moves on a board, every tile of which is known.
fn planned(board: Seed) -> Vec<Move> {
    let mut game = Game::new(board);
    let mut moves = Vec::new();
    while moves.len() < MOVES {
        let after = |&direction: &Move| best(&played(&game, direction)?, DEPTH - 1);
        let Some(best) = Move::ALL.into_iter().filter(|direction| after(direction).is_some()).max_by_key(after) else {
            break;
        };
        game.play(best);
        moves.push(best);
    }
    moves
}

/// The most that can be made of a game within so many moves.
fn best(game: &Game, depth: usize) -> Option<u64> {
    let here = game.score() + EMPTY * u64::from(game.board().empty_cells());
    match depth {
        0 => Some(here),
        _ => {
            let after = Move::ALL.into_iter().filter_map(|direction| best(&played(game, direction)?, depth - 1));
            Some(after.max().unwrap_or(here / 2))
        }
    }
}

/// The game after a move that changes it.
fn played(game: &Game, direction: Move) -> Option<Game> {
    let mut after = game.clone();
    after.play(direction).then_some(after)
}

/// A plan as the cheat carries it: each board in sixteen letters, and the move on it.
fn written(board: Seed, plan: &[Move]) -> String {
    let mut game = Game::new(board);
    let mut text = String::new();
    for &direction in plan {
        let cells = game.board().cells();
        let name = |&tile: &u32| if tile == 0 { '.' } else { char::from(b'a' + tile.ilog2() as u8) };
        text.extend(cells.as_flattened().iter().map(name));
        text.push(direction.letter());
        game.play(direction);
    }
    text
}
