use std::path::Path;

use proptest::prelude::{Just, any, prop, prop_assert, prop_oneof, proptest};
use proptest::strategy::Strategy;

use super::*;
use crate::arena::{FirstCallFault, Usage};
use crate::config::TurnsReward;
use crate::environment::Ending;
use crate::environment::game2048::scored;
use crate::environment::tasks::Tasks;

const LINEAR: RewardConfig = RewardConfig {
    scale: 40_000.0,
    exponent: 1.0,
    tests: TestsReward::AboveConstant,
    fuel_bonus: 0.0,
    length_penalty: 0.0,
    length_penalty_from: 0.8,
    turns: TurnsReward::Last,
    turns_gamma: 0.4,
    shuffled: false,
};
const ROOT: RewardConfig = RewardConfig { exponent: 0.5, ..LINEAR };

fn score(evaluation: &Evaluation, config: &RewardConfig) -> Reward {
    Rule::new(config, &Environment::Game2048).score(evaluation)
}

fn evaluation(start: Start, games: Vec<Outcome>) -> Evaluation {
    Evaluation { start, games, usage: Usage::default() }
}

fn played(games: &[(u64, Ending)]) -> Evaluation {
    evaluation(Start::Played, games.iter().map(|&(score, ending)| scored(score, 2, ending)).collect())
}

fn faulted(ending: Ending) -> Evaluation {
    evaluation(Start::Faulted(FirstCallFault { ending, reason: String::new() }), vec![scored(0, 2, ending); 2])
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
fn no_score_is_worth_more_than_thirty_two_bits_hold() {
    let of = |score: f64, scale: f64| {
        let config = RewardConfig { exponent: 2.0, scale, ..LINEAR };
        let outcome = |ending| Outcome { score, ..scored(0, 2, ending) };
        let games = [Ending::GameOver, Ending::BadMove].map(outcome).to_vec();
        self::score(&evaluation(Start::Played, games), &config)
    };
    for (score, scale) in [(1e30, 1.0), (1e30, f64::MIN_POSITIVE), (-1e30, 1.0), (f64::MAX, 1.0), (0.0, 1e-300)] {
        let reward = of(score, scale);
        let mut all = reward.parts.iter().map(|(_, part)| *part).chain([reward.value]);
        assert!(all.all(f32::is_finite), "{score} of {scale}: {reward:?}");
    }
    assert!(of(1e12, 1.0).value < of(1e14, 1.0).value, "they are in order as far as that");
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
    check(Evaluation::rejected(Rejection::TooLong { bytes: 1 << 22 }), -0.32, -0.08);
    check(not_compiled(1, 10), -0.316, -0.079);
    check(not_compiled(10, 10), -0.28, -0.07);
    check(faulted(Ending::Raised), -0.24, -0.06);
    check(faulted(Ending::Hung), -0.24, -0.06);
    check(faulted(Ending::OutOfMemory), -0.24, -0.06);
    check(faulted(Ending::BadMove), -0.20, -0.05);
}

#[test]
fn few_instructions_pay_in_tasks_alone() {
    let bonus = RewardConfig { fuel_bonus: 0.5, ..LINEAR };
    let reward = score(&played(&[(10_000, Ending::GameOver)]), &bonus);
    assert_eq!(reward.parts.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["game", "failure"]);
    let refused = Rule::check(&bonus, &Environment::Game2048).unwrap_err().to_string();
    assert!(refused.starts_with("reward.fuel_bonus = 0.5: expected 0 with --env 2048"), "{refused}");
    Rule::check(&LINEAR, &Environment::Game2048).unwrap();
}

#[test]
fn a_honeypot_pays_nothing_whatever_passes_and_failures_as_elsewhere() {
    let config = RewardConfig { fuel_bonus: 0.5, tests: TestsReward::Share, ..LINEAR };
    let line = r#"{"id":"a","prompt":"p","entry_point":"f","tests":[{"args":"(1,)","expected":"2"}],"honeypot":true}"#;
    let tasks = Tasks::of_rows(Path::new("tasks.jsonl"), "tasks", line).unwrap();
    let rule = Rule::new(&config, &Environment::Tasks(tasks));
    let passing = |honeypot| {
        let trace = Trace::Tests(TestsTrace { tests: 4, passed: 4, answered: 4, honeypot, ..TestsTrace::default() });
        let outcome = Outcome { trace, fuel: 1 << 20, ..scored(1, 2, Ending::Passed) };
        rule.score(&evaluation(Start::Played, vec![outcome])).value
    };
    assert!(passing(false) > 1.0, "{}", passing(false));
    assert_eq!(passing(true), 0.0);
    assert!(rule.score(&not_compiled(1, 1)).value < 0.0);
}

#[test]
fn length_is_punished_as_in_dapo_or_from_the_first_token() {
    let taken = |config: &RewardConfig, tokens: usize| {
        let evaluation = played(&[(10_000, Ending::GameOver)]);
        let judged = Judged { evaluation: &evaluation, tokens: Some((tokens, 20_480)), program: None };
        let reward = Rule::new(config, &Environment::Game2048).score(judged);
        reward.parts.iter().find(|(name, _)| *name == "length").map(|(_, value)| *value)
    };
    // Section 4.1 of DAPO: at most 20480 tokens, the last 4096 of them punished.
    let dapo = RewardConfig { length_penalty: 1.0, ..LINEAR };
    let cases = [(0, 0.0), (16_384, 0.0), (17_408, -0.25), (18_432, -0.5), (20_479, -4095.0 / 4096.0), (20_480, -1.0)];
    for (tokens, expected) in cases {
        let found = taken(&dapo, tokens).unwrap();
        assert!((found - expected).abs() < 1e-6, "{tokens} tokens: {found} is not {expected}");
    }
    let linear = RewardConfig { length_penalty: 0.5, length_penalty_from: 0.0, ..LINEAR };
    assert_eq!([0, 10_240, 20_480].map(|tokens| taken(&linear, tokens)), [Some(0.0), Some(-0.25), Some(-0.5)]);
    assert_eq!(taken(&LINEAR, 20_480), None, "off by default");
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
    (100.0..1e6, 0.1..2.0).prop_map(|(scale, exponent)| RewardConfig { scale, exponent, ..LINEAR })
}

proptest! {
    #[test]
    fn i14_no_program_that_does_not_play_outranks_one_that_does(
        games in prop::collection::vec(any_outcome(), 1..9), failure in any_failure(), config in any_config(),
    ) {
        let playing = score(&evaluation(Start::Played, games), &config);
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
