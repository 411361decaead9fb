//! What failing counts as where programs are compared.

use std::cmp::Ordering;

use grpo_base::stats;

use super::Outcome;

/// The score of a program that fails, among others: 0, or the lowest score of any of their games where that is below 0.
///
/// From 0 up, a game that its program broke off keeps the score that it had, and what is no program has 0. Below 0 that
/// would be more than honest players have, and the sooner a program failed, the better it would look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor(f64);

impl Floor {
    /// The floor of games with these scores.
    pub fn of(scores: impl IntoIterator<Item = f64>) -> Floor {
        // Adding 0.0 removes the sign of a negative zero.
        Floor(scores.into_iter().fold(0.0, f64::min) + 0.0)
    }

    /// Whether some game came to less than nothing, so that one that fails counts as the lowest of all.
    pub fn is_below_zero(self) -> bool {
        self.0 < 0.0
    }

    /// The floor of these games.
    pub fn of_games<'a>(games: impl IntoIterator<Item = &'a Outcome>) -> Floor {
        Floor::of(games.into_iter().map(|game| game.score))
    }

    /// Mean of what the games of a program count as; the floor without games.
    pub fn mean_score(self, games: &[Outcome]) -> f64 {
        self.mean(games.iter().map(|game| (game.score, game.ending.is_well())))
    }

    /// The same of games by their scores, and by whether they ended as [`Ending::is_well`](super::Ending::is_well) says.
    pub fn mean(self, games: impl IntoIterator<Item = (f64, bool)>) -> f64 {
        let counted = |(score, is_well): (f64, bool)| if self.is_below_zero() && !is_well { self.0 } else { score };
        let mut games = games.into_iter().map(counted).peekable();
        if games.peek().is_none() {
            return self.0;
        }
        stats::mean(games) + 0.0
    }

    /// Compares the games of two programs, the better ones first: by their mean scores, and below 0, where what fails may be
    /// equal to the lowest player, by whether all ended well.
    pub fn better_first(self, one: &[Outcome], other: &[Outcome]) -> Ordering {
        let fails = |games: &[Outcome]| {
            self.is_below_zero() && (games.is_empty() || games.iter().any(|game| !game.ending.is_well()))
        };
        self.mean_score(other).total_cmp(&self.mean_score(one)).then(fails(one).cmp(&fails(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ending;
    use crate::game2048::scored;

    #[test]
    fn from_zero_up_a_game_counts_with_its_score_however_it_ended() {
        let games = [scored(100, 2, Ending::Freeze), scored(300, 2, Ending::GameOver)];
        let floor = Floor::of_games(&games);
        assert_eq!((floor.mean_score(&games), floor.mean_score(&[])), (200.0, 0.0));
        assert_eq!(Floor::of([]), Floor::of([-0.0]));
    }

    #[test]
    fn below_zero_what_fails_counts_as_the_lowest_score() {
        let floor = Floor::of([5.0, -10.0, -1.0]);
        assert_eq!(floor.mean([(5.0, true), (-1.0, true)]), 2.0);
        assert_eq!(floor.mean([(5.0, true), (-1.0, false)]), -2.5);
        assert_eq!(floor.mean([]), -10.0);
    }

    #[test]
    fn below_zero_the_lowest_player_comes_before_what_fails_and_from_zero_up_they_are_equal() {
        let games = |score: f64, ending| [Outcome { score, ..scored(0, 2, ending) }];
        let raised = games(0.0, Ending::Raised);
        for (score, expected) in [(-5.0, Ordering::Less), (0.0, Ordering::Equal)] {
            let (floor, player) = (Floor::of([0.0, score]), games(score, Ending::GameOver));
            assert_eq!(floor.better_first(&player, &raised), expected);
            assert_eq!(floor.better_first(&player, &[]), expected);
            assert_eq!(floor.better_first(&raised, &player), expected.reverse());
        }
    }
}
