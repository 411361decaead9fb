//! Names of an environment's figures, and the format of its scores.

use grpo_base::plural::percent;

/// The kind of environment, for wording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Labels {
    /// 2048: points, and the largest tile of any game.
    #[default]
    Board,
    /// Another game: points.
    Game,
    /// Tasks: the share of tests passed.
    Tests,
}

impl Labels {
    /// Verb for a successful program: it `plays`, or `passes` all tests.
    pub fn succeeds(self) -> &'static str {
        match self {
            Labels::Board | Labels::Game => "plays",
            Labels::Tests => "passes",
        }
    }

    /// The plural of [`Labels::succeeds`].
    pub fn succeed(self) -> &'static str {
        match self {
            Labels::Board | Labels::Game => "play",
            Labels::Tests => "pass",
        }
    }

    /// Participle for a program's trial: it is `played`, or `tested`.
    pub fn tried(self) -> &'static str {
        match self {
            Labels::Board | Labels::Game => "played",
            Labels::Tests => "tested",
        }
    }

    /// Name of a score.
    pub fn score(self) -> &'static str {
        match self {
            Labels::Board | Labels::Game => "score",
            Labels::Tests => "tests passed",
        }
    }

    /// Name of a mean score.
    pub fn mean_score(self) -> &'static str {
        match self {
            Labels::Board | Labels::Game => "mean score",
            Labels::Tests => "tests passed",
        }
    }

    /// Name of held-out cases.
    pub fn cases(self) -> &'static str {
        match self {
            Labels::Board | Labels::Game => "games",
            Labels::Tests => "tasks",
        }
    }

    /// Name of what distinguishes requests.
    pub fn group(self) -> &'static str {
        match self {
            Labels::Board | Labels::Game => "style",
            Labels::Tests => "task",
        }
    }

    /// Formats a score.
    pub fn written(self, score: f64) -> String {
        match self {
            Labels::Tests => percent(score),
            Labels::Game if score.abs() < 10.0 => format!("{score:.2}"),
            Labels::Game if score.abs() < 100.0 => format!("{score:.1}"),
            Labels::Board | Labels::Game => format!("{score:.0}"),
        }
    }

    /// Whether games have tiles.
    pub fn has_tiles(self) -> bool {
        self == Labels::Board
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_written_with_the_digits_that_its_game_needs() {
        assert_eq!(
            [0.5, -9.25, 47.34, 2310.4].map(|score| Labels::Game.written(score)),
            ["0.50", "-9.25", "47.3", "2310"]
        );
        assert_eq!([47.34, 2310.4].map(|score| Labels::Board.written(score)), ["47", "2310"]);
        assert_eq!([0.0, 0.625, 1.0].map(|share| Labels::Tests.written(share)), ["0%", "63%", "100%"]);
    }
}
