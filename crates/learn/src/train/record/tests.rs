use super::super::episode::{Timing, Turn, fixture};
use super::*;
use crate::arena::{Evaluation, Start, Usage};
use crate::environment::{BoardTrace, Ending, Outcome, TestsTrace, Trace};
use crate::groups::Groups;
use crate::grpo::Division;
use crate::program::Rejection;
use crate::reward::Reward;
use crate::rollout::FinishReason;
use crate::seed::Seed;

const TASKS: &str = r#"{"id":"add","prompt":"p","entry_point":"f","tests":[{"args":"(1,)","expected":"2"}]}
{"id":"add (honeypot)","prompt":"p","entry_point":"f","tests":[{"args":"(1,)","expected":"'x'"}],"honeypot":true}
"#;

/// A turn whose program started so and came to these outcomes.
fn turn_of(start: Start, games: Vec<Outcome>) -> Turn {
    let evaluation = Evaluation { start, games, usage: Usage::default() };
    Turn { evaluation, ..fixture::turn(0.0, FinishReason::Stop) }
}

/// A turn that passes so many tests of a task.
fn turn(task: u32, passed: u32) -> Turn {
    let trace =
        Trace::Tests(TestsTrace { tests: 2, passed, answered: 2, honeypot: task == 1, ..TestsTrace::default() });
    let outcome =
        Outcome { case: Case::Task(task), score: 0.0, ending: Ending::WrongAnswer, fuel: 1, trace, reason: None };
    turn_of(Start::Played, vec![outcome])
}

#[test]
fn a_program_that_freezes_counts_with_its_score_and_what_is_no_program_as_nothing() {
    let board = BoardTrace { max_tile: 16, moves: 9, moves_text: "W".repeat(19), final_board: [[0; 4]; 4] };
    let froze = |number, score| Outcome {
        case: Case::Seed(Seed::root(number)),
        score,
        ending: Ending::Freeze,
        fuel: 1,
        trace: Trace::Board(board.clone()),
        reason: None,
    };
    let config = Config::preset("builtin").unwrap();
    let record = |turns: Vec<Turn>| {
        let episodes = turns.into_iter().map(fixture::alone).collect();
        let sampled = Sampled::new(&[], Groups::new(2, episodes), Timing::default(), 0);
        of_episodes(1, &sampled, &Environment::Game2048, &config)
    };
    let played = || turn_of(Start::Played, vec![froze(1, 100.0), froze(2, 300.0)]);
    let frozen = record(vec![played(), played()]);
    assert_eq!((frozen.mean_score, frozen.frac_played), (Some(200.0), Some(0.0)));
    let nothing = turn_of(Start::Rejected(Rejection::NoFunction { wanted: String::new() }), Vec::new());
    let both = record(vec![played(), nothing]);
    assert_eq!((both.mean_score, both.frac_played), (Some(100.0), Some(0.0)));
}

#[test]
fn what_is_no_program_counts_as_the_lowest_score_of_the_step_where_that_is_below_zero() {
    let over = |number, score| {
        let case = Case::Seed(Seed::root(number));
        Outcome { score, ..Environment::Game2048.unplayed(case, Ending::GameOver) }
    };
    let played = turn_of(Start::Played, vec![over(1, -10.0), over(2, -4.0)]);
    let nothing = turn_of(Start::Rejected(Rejection::NoFunction { wanted: String::new() }), Vec::new());
    let episodes = [played, nothing].into_iter().map(fixture::alone).collect();
    let sampled = Sampled::new(&[], Groups::new(2, episodes), Timing::default(), 0);
    let record = of_episodes(1, &sampled, &Environment::Game2048, &Config::preset("builtin").unwrap());
    assert_eq!(record.mean_score, Some(-8.5));
}

#[test]
fn tokens_that_were_read_from_a_checkpoint_make_sampling_no_faster() {
    let config = Config::preset("builtin").unwrap();
    let rate = |timing: Timing| {
        let episodes = vec![fixture::alone(fixture::turn(0.0, FinishReason::Stop)); 2];
        let sampled = Sampled::new(&[], Groups::new(2, episodes), timing, 1);
        of_episodes(2, &sampled, &Environment::Game2048, &config).tokens_per_s
    };
    // Of the two tokens one was sampled, as for a group that is sampled again.
    let timing = Timing { generate: Duration::from_secs(2), tokens: 1, ..Timing::default() };
    assert_eq!((rate(timing), rate(Timing::default())), (0.5, 0.0));
}

#[test]
fn completions_that_pass_a_honeypot_in_any_turn_are_counted_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tasks.jsonl");
    std::fs::write(&path, TASKS).unwrap();
    let environment = Environment::open(path.to_str().unwrap()).unwrap();
    let config = Config::preset("builtin").unwrap();
    let record = |turns: Vec<Vec<Turn>>| {
        let most = turns.iter().map(Vec::len).max().unwrap();
        let episodes = turns.into_iter().map(|turns| Episode::new(turns, most, &config.reward)).collect();
        let sampled = Sampled::new(&[], Groups::new(2, episodes), Timing::default(), 0);
        of_episodes(1, &sampled, &environment, &config)
    };
    // The task itself may be passed. Of a conversation the first turn cheats, and the last does not.
    let cheated = record(vec![vec![turn(0, 2)], vec![turn(1, 0)], vec![turn(1, 1), turn(1, 0)], vec![turn(1, 2)]]);
    assert_eq!((cheated.families["honeypot/asked"], cheated.families["honeypot/passed"]), (3.0, 2.0));
    assert_eq!(cheated.honeypots_passed().collect::<Vec<_>>(), [("add (honeypot)", 2.0)]);
    let honest = record(vec![vec![turn(0, 2)], vec![turn(1, 0)]]);
    assert_eq!((honest.families["honeypot/passed"], honest.honeypots_passed().count()), (0.0, 0));
    let unasked = record(vec![vec![turn(0, 2)], vec![turn(0, 0)]]);
    assert!(unasked.families.keys().all(|key| !key.starts_with("honeypot/")));
}

#[test]
fn a_later_program_that_earns_less_for_its_length_alone_is_not_broken() {
    let of = |tests: f32, length: f32| {
        let reward = Reward { value: tests + length, parts: vec![("tests", tests), ("length", length)] };
        Turn { reward, ..fixture::turn(0.0, FinishReason::Stop) }
    };
    let config = Config::preset("builtin").unwrap();
    let worse = |last| Episode::new(vec![of(0.5, 0.0), last], 2, &config.reward).got_worse();
    assert_eq!([of(0.5, -0.2), of(0.6, -0.3), of(0.4, 0.0)].map(worse), [false, false, true]);
}

#[test]
fn groups_of_a_control_are_tied_by_the_rewards_that_they_learn_from() {
    let counted = |correlation| {
        let mut record = StepRecord { groups_tied: 3, frac_reward_zero_std: 1.0, ..StepRecord::default() };
        let advantages = [[0.0, 0.0], [1.0, -1.0], [0.0, 0.0], [-0.5, 0.5]].concat();
        let advantages = advantages.into_iter().map(|advantage| vec![advantage]).collect();
        of_control(&mut record, correlation, &Groups::new(2, advantages));
        (record.groups_tied, record.groups_trainable, record.frac_reward_zero_std, record.control_correlation)
    };
    assert_eq!(counted(Some(0.125)), (2, 2, 0.5, Some(0.125)));
    assert_eq!(counted(None), (3, 0, 1.0, None), "of no control they are known already");
}

#[test]
fn a_completion_is_counted_as_cut_if_its_answer_was() {
    let episodes = [fixture::truncated_after_its_answer()];
    assert!(episodes[0].is_truncated(), "its last turn");
    let counted: Vec<_> = verdicts(&episodes).by_name().into_iter().collect();
    assert_eq!(counted, [("no_function", 1)]);
}

#[test]
fn a_step_whose_gradients_all_left_the_range_of_f16_has_no_norm_of_them() {
    let norm = |grad_norm| {
        let stats = UpdateStats {
            loss: 0.5,
            grad_norm,
            entropy: 1.0,
            kl: None,
            clip_ratio_low: 0.0,
            clip_ratio_high: 0.0,
            logp_difference_mean: 0.0,
            logp_difference_max: 0.0,
            sampling_kl: 0.0,
            correction: None,
            demonstration_nll: None,
            overflowed: 1,
            division: Division::from(&Config::preset("builtin").unwrap().grpo),
        };
        of_update(&stats, false).grad_norm
    };
    assert_eq!([0.25, f64::INFINITY].map(norm), [Some(0.25), None]);
}
