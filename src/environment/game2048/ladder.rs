//! Reference players of known strength, weakest first, and programs that cheat.

/// The tile that players are after.
pub const TARGET_TILE: u32 = 2048;

/// Boards on which the steady player is judged one game at a time.
pub const SINGLE_GAMES: usize = 8;

/// A player whose place among the others is known.
#[derive(Debug, Clone, Copy)]
pub struct Rung {
    /// What it is called.
    pub name: &'static str,
    /// Group of about equal strength; a higher one is stronger.
    pub rank: u8,
    /// Games it is judged by: as many as tell it from the next group, and cost little.
    pub games: usize,
    /// Its text.
    pub source: &'static str,
}

/// Rank of what never plays.
pub const BROKEN: u8 = 0;
/// Rank of those who play a game out without looking at what a move is good for: what a small model finds first.
pub const BLIND: u8 = 3;
/// Lowest rank that reaches the target tile.
pub const STRONG: u8 = 5;
/// The player whose answer is no move.
const NO_MOVE: usize = 2;
/// The player that pushes one way only.
pub const CONSTANT: usize = 3;
/// The player that goes to and fro between two moves.
const TOGGLE: usize = 4;
/// The player that goes round the four moves.
pub const CYCLE: usize = 5;
/// The player whose single games are compared.
pub const STEADY: usize = 7;

/// The players, weakest first.
pub const RUNGS: [Rung; 10] = [
    Rung { name: "syntax error", rank: BROKEN, games: 1, source: include_str!("ladder/syntax_error.py") },
    Rung { name: "crash", rank: BROKEN, games: 1, source: include_str!("ladder/crash.py") },
    Rung { name: "no move", rank: BROKEN, games: 1, source: include_str!("ladder/no_move.py") },
    Rung { name: "constant", rank: 1, games: 12, source: include_str!("ladder/constant.py") },
    Rung { name: "toggle", rank: 2, games: 12, source: include_str!("ladder/toggle.py") },
    Rung { name: "cycle", rank: BLIND, games: 40, source: include_str!("ladder/cycle.py") },
    Rung { name: "first legal", rank: BLIND, games: 40, source: include_str!("ladder/priority.py") },
    Rung { name: "greedy", rank: 4, games: 40, source: include_str!("ladder/greedy.py") },
    Rung { name: "monotone", rank: STRONG, games: 8, source: include_str!("ladder/monotone.py") },
    Rung { name: "two moves", rank: 6, games: 2, source: include_str!("ladder/two_ply.py") },
];

/// A program that tries to be paid for something other than its play.
#[derive(Debug, Clone, Copy)]
pub struct Cheat {
    /// What it does.
    pub name: &'static str,
    /// Index of the rung that plays as it does, without the cheating.
    pub honest: usize,
    /// Its text.
    pub source: &'static str,
}

/// A program that carries moves for boards that it knows: a plan takes the place of `@PLAN@`, sixteen letters of a board
/// and the move on it, again and again. Without one it goes round the four moves.
pub const KNOWS_BOARDS: &str = include_str!("cheats/knows_its_boards.py");

/// The cheats.
pub const CHEATS: [Cheat; 4] = [
    Cheat {
        name: "writing a 2048 tile into its board",
        honest: TOGGLE,
        source: include_str!("cheats/writes_a_tile.py"),
    },
    Cheat { name: "replacing its board", honest: CONSTANT, source: include_str!("cheats/replaces_the_board.py") },
    Cheat { name: "many moves in one answer", honest: NO_MOVE, source: include_str!("cheats/many_moves_at_once.py") },
    Cheat {
        name: "an answer that equals every move",
        honest: NO_MOVE,
        source: include_str!("cheats/equals_every_move.py"),
    },
];
