//! What an evaluation is worth.
//!
//! Takes the evidence of the arena; gives one number with its parts. Pure: the same evidence is worth the same, always.
//!
//! A game that went its way is worth `v(s) = (s / scale)^p` for its score `s`, whether it ended because no move was
//! left or because its budget was used up: slowness costs moves already. A game that the program broke off is worth
//! `0.6 v(s)` and a penalty. What never played has values of its own below all of that, so that no failure outranks
//! play. There is no other term: no bonus for form, length, or reaching a tile.
//!
//! The failures are stated for `p = 1/2` and a scale of 40000. For another shape they are multiplied by
//! `v(2500) / (2500 / 40000)^0.5`, that is `4 (2500 / scale)^p`, which keeps their ratio to what the simplest good
//! program earns (a fixed cycle of moves scores about 2300): the step from failing to playing is as steep as ever. For
//! `p = 1` this divides them by 4.

use serde::Serialize;

use crate::arena::{Evaluation, Verdict};
use crate::config::RewardConfig;
use crate::environment::{Ending, Outcome};
use crate::program::Rejection;

/// No function `strategy` in the completion.
const NO_FUNCTION: f64 = -0.40;
/// Does not compile, with the first error in the first line.
const NOT_COMPILED: f64 = -0.32;
/// What an error in the last line is better than one in the first.
const COMPILED_SHARE: f64 = 0.04;
/// The first call raised, hung or exhausted memory.
const FIRST_CALL_FAILED: f64 = -0.24;
/// The first call returned something other than a move.
const FIRST_CALL_NO_MOVE: f64 = -0.20;
/// A game that the program broke off, by a failure or by freezing.
const BROKEN_OFF: f64 = -0.12;
/// Share of the score's worth that such a game keeps.
const BROKEN_OFF_SHARE: f64 = 0.6;
/// Score that failures are measured against, about that of a fixed cycle of moves.
const ANCHOR_SCORE: f64 = 2500.0;
/// What the anchor is worth in the shape that the failures are stated for.
const ANCHOR_WORTH: f64 = 0.25;

/// One number, and what it is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reward {
    /// The sum of the parts.
    pub value: f32,
    /// Part by name: `game`, what scores are worth (never negative); `failure`, what failing costs (never positive).
    pub parts: Vec<(&'static str, f32)>,
}

/// What an evaluation is worth: the mean over its games, or the value of its failure.
pub fn score(evaluation: &Evaluation, config: &RewardConfig) -> Reward {
    let unit = worth(ANCHOR_SCORE, config) / ANCHOR_WORTH;
    let (game, failure) = match &evaluation.verdict {
        Verdict::Played => mean_of_games(&evaluation.games, config),
        Verdict::Rejected(Rejection::NoFunction { .. }) => (0.0, NO_FUNCTION),
        Verdict::Rejected(Rejection::NotCompiled { line, lines, .. }) => {
            let share = f64::from(*line) / f64::from((*lines).max(1));
            (0.0, NOT_COMPILED + COMPILED_SHARE * share.min(1.0))
        }
        Verdict::Faulted(fault) if fault.ending == Ending::BadMove => (0.0, FIRST_CALL_NO_MOVE),
        Verdict::Faulted(_) => (0.0, FIRST_CALL_FAILED),
    };
    let (game, failure) = (game as f32, (unit * failure) as f32);
    Reward { value: game + failure, parts: vec![("game", game), ("failure", failure)] }
}

/// `v(s)`.
fn worth(score: f64, config: &RewardConfig) -> f64 {
    (score / config.scale).powf(config.exponent)
}

/// Mean worth of the scores, and mean penalty before its unit.
fn mean_of_games(games: &[Outcome], config: &RewardConfig) -> (f64, f64) {
    let (mut game, mut failure) = (0.0, 0.0);
    for outcome in games {
        let value = worth(outcome.score, config);
        let (share, penalty) = if outcome.ending.is_well() { (1.0, 0.0) } else { (BROKEN_OFF_SHARE, BROKEN_OFF) };
        game += share * value;
        failure += penalty;
    }
    let count = games.len().max(1) as f64;
    (game / count, failure / count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, any, prop, prop_assert, prop_oneof, proptest};
    use proptest::strategy::Strategy;

    use super::*;
    use crate::arena::{Fault, Usage};
    use crate::environment::Ending;
    use crate::environment::game2048::scored;

    const ROOT: RewardConfig = RewardConfig { scale: 40_000.0, exponent: 0.5, shuffled: false };
    const LINEAR: RewardConfig = RewardConfig { scale: 40_000.0, exponent: 1.0, shuffled: false };

    fn evaluation(verdict: Verdict, games: Vec<Outcome>) -> Evaluation {
        Evaluation { verdict, games, usage: Usage::default() }
    }

    fn played(games: &[(u64, Ending)]) -> Evaluation {
        evaluation(Verdict::Played, games.iter().map(|&(score, ending)| scored(score, 2, ending)).collect())
    }

    fn faulted(ending: Ending) -> Evaluation {
        evaluation(Verdict::Faulted(Fault { ending, reason: String::new() }), vec![scored(0, 2, ending); 2])
    }

    fn not_compiled(line: u32, lines: u32) -> Evaluation {
        Evaluation::rejected(Rejection::NotCompiled { line, lines, message: String::new() })
    }

    fn check(evaluation: Evaluation, root: f32, linear: f32) {
        for (config, expected) in [(ROOT, root), (LINEAR, linear)] {
            let reward = score(&evaluation, &config);
            assert!((reward.value - expected).abs() < 1e-6, "{} is not {expected}: {evaluation:?}", reward.value);
            assert_eq!(reward.value, reward.parts.iter().map(|part| part.1).sum::<f32>());
        }
    }

    #[test]
    fn a_game_is_worth_its_score_however_it_ran_out() {
        check(played(&[(10_000, Ending::GameOver)]), 0.5, 0.25);
        check(played(&[(10_000, Ending::OutOfFuel)]), 0.5, 0.25);
        check(played(&[(40_000, Ending::GameOver), (0, Ending::GameOver)]), 0.5, 0.5);
        check(played(&[(160_000, Ending::GameOver)]), 2.0, 4.0);
    }

    #[test]
    fn a_game_broken_off_keeps_six_tenths_and_pays() {
        for ending in [Ending::Freeze, Ending::BadMove, Ending::Raised, Ending::Hung, Ending::OutOfMemory] {
            check(played(&[(10_000, ending)]), 0.3 - 0.12, 0.15 - 0.03);
            check(played(&[(0, ending)]), -0.12, -0.03);
        }
        check(played(&[(10_000, Ending::Freeze), (10_000, Ending::GameOver)]), 0.4 - 0.06, 0.2 - 0.015);
    }

    #[test]
    fn failures_stand_on_a_ladder_and_a_linear_shape_divides_them_by_four() {
        check(Evaluation::rejected(Rejection::NoFunction { wanted: String::new() }), -0.40, -0.10);
        check(not_compiled(1, 10), -0.316, -0.079);
        check(not_compiled(10, 10), -0.28, -0.07);
        check(faulted(Ending::Raised), -0.24, -0.06);
        check(faulted(Ending::Hung), -0.24, -0.06);
        check(faulted(Ending::OutOfMemory), -0.24, -0.06);
        check(faulted(Ending::BadMove), -0.20, -0.05);
    }

    fn any_outcome() -> impl Strategy<Value = Outcome> {
        (0..200_000u64, prop::sample::select(&Ending::ALL[..])).prop_map(|(score, ending)| scored(score, 2, ending))
    }

    fn any_failure() -> impl Strategy<Value = Evaluation> {
        let ending = prop::sample::select(&Ending::ALL[..]);
        prop_oneof![
            Just(Evaluation::rejected(Rejection::NoFunction { wanted: String::new() })),
            (any::<u32>(), any::<u32>()).prop_map(|(line, lines)| not_compiled(line, lines)),
            ending.prop_map(faulted),
        ]
    }

    fn any_config() -> impl Strategy<Value = RewardConfig> {
        (100.0..1e6, 0.1..2.0).prop_map(|(scale, exponent)| RewardConfig { scale, exponent, shuffled: false })
    }

    proptest! {
        #[test]
        fn no_program_that_does_not_play_outranks_one_that_does(
            games in prop::collection::vec(any_outcome(), 1..9), failure in any_failure(), config in any_config(),
        ) {
            let playing = score(&evaluation(Verdict::Played, games), &config);
            prop_assert!(playing.value > score(&failure, &config).value);
        }

        #[test]
        fn a_better_game_earns_more_and_ending_it_well_more_still(
            low in 0..100_000u64, more in 1..100_000u64, config in any_config(),
        ) {
            let value = |score_of, ending| score(&played(&[(score_of, ending)]), &config).value;
            prop_assert!(value(low, Ending::GameOver) < value(low + more, Ending::GameOver));
            prop_assert!(value(low, Ending::Freeze) < value(low + more, Ending::Freeze));
            prop_assert!(value(low, Ending::Freeze) < value(low, Ending::GameOver));
        }
    }
}
