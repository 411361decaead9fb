//! Names of an environment's figures, the format of its scores, and what they are measured by.

use std::collections::BTreeSet;

use grpo_base::plural::{decimal, percent, small};

/// Most decimals that are added to tell scores apart.
const FINER_MAX: usize = 4;

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
    /// The word for games, or the one for tasks.
    fn either(self, of_games: &'static str, of_tasks: &'static str) -> &'static str {
        match self {
            Labels::Board | Labels::Game => of_games,
            Labels::Tests => of_tasks,
        }
    }

    /// Verb for a successful program: it `plays`, or `passes` all tests.
    pub fn succeeds(self) -> &'static str {
        self.either("plays", "passes")
    }

    /// The plural of [`Labels::succeeds`].
    pub fn succeed(self) -> &'static str {
        self.either("play", "pass")
    }

    /// Participle for a program's trial: it is `played`, or `tested`.
    pub fn tried(self) -> &'static str {
        self.either("played", "tested")
    }

    pub fn score(self) -> &'static str {
        self.either("score", "tests passed")
    }

    pub fn mean_score(self) -> &'static str {
        self.either("mean score", "tests passed")
    }

    /// Name of held-out cases.
    pub fn cases(self) -> &'static str {
        self.either("games", "tasks")
    }

    /// Name of what distinguishes requests.
    pub fn group(self) -> &'static str {
        self.either("style", "task")
    }

    /// Formats a score.
    pub fn written(self, score: f64) -> String {
        self.written_finer(score, 0)
    }

    /// Formats a score with so many decimals more, where it is one of a game other than 2048.
    pub fn written_finer(self, score: f64, more: usize) -> String {
        let decimals = match self {
            Labels::Tests => return percent(score),
            Labels::Game if score.abs() < 10.0 => 2 + more,
            Labels::Game if score.abs() < 100.0 => 1 + more,
            Labels::Game => more,
            Labels::Board => 0,
        };
        // Of a score that its decimals would round away, as an evaluator's may be; the last bits of a sum are none.
        let is_below = 1e-12 < score.abs() && score.abs() < 0.995 * 10_f64.powi(-(decimals as i32));
        if self == Labels::Game && is_below { format!("{score:.1e}") } else { decimal(score, decimals) }
    }

    /// `410 to 610`; none where all that is drawn from came to the same, as a single game does: a point is no interval.
    pub fn range(self, low: f64, high: f64) -> Option<String> {
        (low < high).then(|| format!("{} to {}", self.written(low), self.written(high)))
    }

    /// The same as it stands behind a score, ` (410 to 610)`; nothing for a point.
    pub fn bracketed(self, low: f64, high: f64) -> String {
        self.range(low, high).map(|ends| format!(" ({ends})")).unwrap_or_default()
    }

    /// Formats a score with the digits by which one program is told from another that is a little better, wherever the other
    /// one stands.
    pub fn written_closely(self, score: f64) -> String {
        match self {
            Labels::Game => small(score).unwrap_or_else(|| ((1e4 * score).round() / 1e4).to_string()),
            // Searches show it to models, so that another digit would make another search of it.
            Labels::Board => format!("{score:.0}"),
            Labels::Tests => self.written(score),
        }
    }

    /// Decimals to add so that scores beside each other look different where they are. What an evaluator gives is often just
    /// below 1.
    pub fn finer(self, scores: &[f64]) -> usize {
        let different =
            |more| scores.iter().map(|score| self.written_finer(*score, more)).collect::<BTreeSet<_>>().len();
        let most = different(FINER_MAX);
        (0..FINER_MAX).find(|more| different(*more) >= most).unwrap_or(FINER_MAX)
    }

    pub fn has_tiles(self) -> bool {
        self == Labels::Board
    }
}

/// The scale of an environment's scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// Score that earns a reward of 1.
    pub scale: f64,
    /// Score of a simple player that plays to the end; the penalties for failures are relative to it.
    pub anchor: f64,
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
        // As the page of a run rounds them.
        assert_eq!([3140.5, 3141.5].map(|score| Labels::Board.written(score)), ["3141", "3142"]);
        assert_eq!([0.125, -0.0].map(|score| Labels::Game.written(score)), ["0.13", "0.00"]);
        let small = [0.01, 0.00996, 0.0042, -0.001, 1e-17].map(|score| Labels::Game.written(score));
        assert_eq!(small, ["0.01", "0.01", "4.2e-3", "-1.0e-3", "0.00"]);
        assert_eq!([0.0, 0.625, 1.0].map(|share| Labels::Tests.written(share)), ["0%", "63%", "100%"]);
    }

    #[test]
    fn ends_that_are_a_point_are_no_interval() {
        let ends = [(410.0, 610.0), (900.0, 900.0)].map(|(low, high)| Labels::Board.range(low, high));
        assert_eq!(ends, [Some("410 to 610".to_owned()), None]);
        assert_eq!([0.75, 0.25].map(|high| Labels::Tests.bracketed(0.25, high)), [" (25% to 75%)", ""]);
    }

    #[test]
    fn a_score_is_told_from_one_that_is_a_little_better() {
        let scores = [0.99124, 0.9949, 12.5, 834.25, 1e6, -2.0].map(|score| Labels::Game.written_closely(score));
        assert_eq!(scores, ["0.9912", "0.9949", "12.5", "834.25", "1000000", "-2"]);
        let small = [0.0, 0.001, 4.13e-4, 1.3e-5, 1.34e-5, -2e-7].map(|score| Labels::Game.written_closely(score));
        assert_eq!(small, ["0", "0.001", "4.130e-4", "1.300e-5", "1.340e-5", "-2.000e-7"]);
        assert_eq!(Labels::Board.written_closely(2310.4), "2310");
    }

    #[test]
    fn scores_beside_each_other_have_the_digits_by_which_they_differ() {
        for (scores, expected) in [
            (vec![0.9912, 0.9948, 0.0], vec!["0.991", "0.995", "0.000"]),
            (vec![2310.4, 2310.4, 47.3], vec!["2310", "2310", "47.3"]),
            (vec![2310.41, 2310.44], vec!["2310.41", "2310.44"]),
            // The last bits of a sum are no difference.
            (vec![0.3, 0.1 + 0.2], vec!["0.30", "0.30"]),
            (vec![], vec![]),
        ] {
            let more = Labels::Game.finer(&scores);
            let written: Vec<String> = scores.iter().map(|score| Labels::Game.written_finer(*score, more)).collect();
            assert_eq!(written, expected);
        }
        assert_eq!([Labels::Board, Labels::Tests].map(|labels| labels.finer(&[0.991, 0.992])), [0, 0]);
    }
}
