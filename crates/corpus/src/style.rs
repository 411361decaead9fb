//! The styles of players.

/// Kinds of players, which prompts ask for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// A few lines that hardly look at the board.
    Short,
    /// Takes the first legal move in an order of preference.
    Legal,
    /// Looks one move ahead, for merges and empty cells.
    Merge,
    /// Looks one move ahead, and keeps the largest tile in a corner.
    Corner,
    /// Looks one move ahead, and orders tiles along a winding path of weights.
    Snake,
    /// Looks one move ahead, and keeps neighbours equal or in order.
    Smooth,
    /// Looks two own moves ahead.
    Ahead,
    /// Looks two moves ahead, with the new tile between them.
    Chance,
    /// Looks three moves ahead, with new tiles between them, at least where the board is nearly full.
    Deep,
}

impl Style {
    /// All styles, from the simplest.
    pub const ALL: [Style; 9] = {
        use Style::*;
        [Short, Legal, Merge, Corner, Snake, Smooth, Ahead, Chance, Deep]
    };

    /// The name in prompts and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Style::Short => "short",
            Style::Legal => "legal",
            Style::Merge => "merge",
            Style::Corner => "corner",
            Style::Snake => "snake",
            Style::Smooth => "smooth",
            Style::Ahead => "ahead",
            Style::Chance => "chance",
            Style::Deep => "deep",
        }
    }

    /// Whether its players look further than the next move.
    pub(super) fn searches(self) -> bool {
        matches!(self, Style::Ahead | Style::Chance | Style::Deep)
    }

    /// Relative frequency of mistakes in this style. Long programs have few, because a model that breaks half of them
    /// learns to avoid them.
    pub(super) fn proneness(self) -> f64 {
        match self {
            Style::Short => 4.0,
            Style::Legal => 2.0,
            _ => 0.3,
        }
    }
}
