//! What a program's turn on one case comes to.

use serde::{Deserialize, Serialize};

/// Why a game stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// No move was legal any more.
    GameOver,
    /// The budget of the game was used up between two moves or within one.
    OutOfFuel,
    /// One call used more than a call may.
    Hung,
    /// Too many moves in a row that changed nothing.
    Freeze,
    /// Something other than exactly "W", "A", "S" or "D".
    BadMove,
    /// An exception.
    Raised,
    /// More memory than a strategy may have.
    OutOfMemory,
    /// Deeper calls than the stack holds.
    StackOverflow,
    /// As many moves as a game may have.
    MoveLimit,
}

impl Ending {
    /// All of them, in the order of their declaration.
    pub const ALL: [Ending; 9] = [
        Ending::GameOver,
        Ending::OutOfFuel,
        Ending::Hung,
        Ending::Freeze,
        Ending::BadMove,
        Ending::Raised,
        Ending::OutOfMemory,
        Ending::StackOverflow,
        Ending::MoveLimit,
    ];

    /// The name in logs, metrics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Ending::GameOver => "game_over",
            Ending::OutOfFuel => "out_of_fuel",
            Ending::Hung => "hung",
            Ending::Freeze => "freeze",
            Ending::BadMove => "bad_move",
            Ending::Raised => "raised",
            Ending::OutOfMemory => "out_of_memory",
            Ending::StackOverflow => "stack_overflow",
            Ending::MoveLimit => "move_limit",
        }
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
