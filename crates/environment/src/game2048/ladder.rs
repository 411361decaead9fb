//! Reference players of known strength, weakest first, and programs that cheat.

/// The tile that strong players reach.
pub const TARGET_TILE: u32 = 2048;

/// Boards on which single games of the steady player are judged.
pub const SINGLE_GAMES: usize = 8;

/// A player of known strength.
#[derive(Debug, Clone, Copy)]
pub struct Rung {
    pub name: &'static str,
    /// Rank of players of about equal strength; higher is stronger.
    pub rank: u8,
    /// Games that it is judged by: enough to tell it from the next rank, and no more, to save time.
    pub games: usize,
    pub source: &'static str,
}

/// Rank of players that never play.
pub const BROKEN: u8 = 0;
/// Rank of players that play a game to its end without evaluating moves. A small model finds these first.
pub const BLIND: u8 = 3;
/// Lowest rank of players that reach the target tile.
pub const STRONG: u8 = 5;
/// Index of the player whose answer is no move.
const NO_MOVE: usize = 2;
/// Index of the player that always makes the same move.
pub const CONSTANT: usize = 3;
/// Index of the player that alternates between two moves.
const TOGGLE: usize = 4;
/// Index of the player that cycles through the four moves.
pub const CYCLE: usize = 5;
/// Index of the player whose single games are compared.
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

/// A program that tries to earn reward other than by playing well.
#[derive(Debug, Clone, Copy)]
pub struct Cheat {
    /// What it does, in messages.
    pub name: &'static str,
    /// Index of the honest player that it copies.
    pub honest: usize,
    pub source: &'static str,
}

/// A program that carries moves for boards that it knows: a plan takes the place of `@PLAN@`, sixteen letters of a board
/// and the move on it, again and again. Without one it goes round the four moves.
pub const KNOWS_BOARDS: &str = include_str!("cheats/knows_its_boards.py");

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
