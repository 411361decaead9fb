//! The check passes what runs use, and finds each way of getting a reward wrong that has cost somebody a run.

use std::sync::LazyLock;

use super::*;
use crate::arena::{Arena, Evaluation, Rules, Start, Workers};
use crate::config::RewardConfig;
use crate::environment::game2048::{Board, Game, Move, unplayed};
use crate::environment::{BoardTrace, Case, Ending, Environment, Outcome, Trace};
use crate::preflight::planted::SANDBOX;
use crate::preflight::{Check, JudgedTrial, Level, TrainingPath, Trial};
use crate::reward::{Reward, Rule};
use crate::seed::Seed;

/// The defaults, which give every player time to end its games.
static CONFIG: LazyLock<Config> = LazyLock::new(|| Config::preset("builtin").unwrap());
/// What the real path makes of the trials under the defaults.
static HONEST: LazyLock<Vec<JudgedTrial>> = LazyLock::new(|| play(&CONFIG, &trials(&CONFIG)));

fn score(evaluation: &Evaluation, config: &RewardConfig) -> Reward {
    Rule::new(config, &Environment::Game2048).score(evaluation)
}

fn play(config: &Config, trials: &[Trial]) -> Vec<JudgedTrial> {
    let rules = Rules::training(config);
    let arena = Arena::new(SANDBOX.clone(), Environment::Game2048, rules, Workers::new(2)).unwrap();
    TrainingPath { arena: &arena, reward: &config.reward }.judge(trials).unwrap()
}

/// Results that are there already.
struct Fixed(Vec<JudgedTrial>);

impl TrialJudge for Fixed {
    fn judge(&self, _: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError> {
        Ok(self.0.clone())
    }
}

/// What is found under `config` where `bug` is done to each result of the real path.
fn planted_in(config: &Config, bug: impl Fn(&Trial, &mut JudgedTrial)) -> Report {
    let mut judged = HONEST.clone();
    trials(config).iter().zip(&mut judged).for_each(|(trial, judged)| bug(trial, judged));
    examine(config, &Fixed(judged)).unwrap()
}

fn planted(bug: impl Fn(&Trial, &mut JudgedTrial)) -> Report {
    planted_in(&CONFIG, bug)
}

/// The text of a problem that `check` must have found.
fn problem(report: &Report, check: Check) -> String {
    let finding = report.finding(check).unwrap();
    assert_eq!(finding.level, Level::Problem, "{:?}", report.findings);
    finding.text.clone()
}

/// The honest games, scored again in another shape.
fn reshaped(config: &RewardConfig) -> Report {
    let changed = Config { reward: config.clone(), ..CONFIG.clone() };
    planted_in(&changed, |_, judged| judged.reward = score(&judged.evaluation, config))
}

#[test]
fn players_of_known_strength_pass_every_check() {
    let report = planted(|_, _| {});
    assert_eq!(report.level(), Level::Ok, "{:#?}", report);
    let target = &report.finding(Check::Target).unwrap().text;
    assert!(!target.contains("cuts"), "the budget is enough: {target}");
    let order = &report.finding(Check::Order).unwrap().text;
    assert!(order.starts_with("cycle 0.") && order.matches(" < ").count() == 3, "{order}");
    // A rank more is worth more than the chance of drawing such boards: two standard errors where games are short.
    let reward = |name: &str| report.players.iter().find(|player| player.name == name).unwrap().reward;
    assert!(reward("toggle") - reward("constant") > 0.001, "{:?}", report.players);
    assert!(reward("cycle") - reward("toggle") > 0.06, "{:?}", report.players);
    assert!(reward("greedy") - reward("cycle") > 0.01, "{:?}", report.players);
    assert!(reward("monotone") - reward("greedy") > 0.2, "{:?}", report.players);
    assert!(reward("two moves") - reward("monotone") > 0.2, "{:?}", report.players);
}

#[test]
fn every_exponent_that_makes_sense_passes() {
    for exponent in [0.5, 0.75, 1.0] {
        let report = reshaped(&RewardConfig { exponent, ..CONFIG.reward.clone() });
        assert_eq!(report.level(), Level::Ok, "{exponent}: {:#?}", report.findings);
    }
    for exponent in [0.2, 2.0] {
        let report = reshaped(&RewardConfig { exponent, ..CONFIG.reward.clone() });
        assert_ne!(report.level(), Level::Problem, "{exponent}: {:#?}", report.findings);
    }
}

#[test]
fn a_tight_budget_is_a_warning_with_the_figure() {
    let mut config = CONFIG.clone();
    config.train.game_seconds = 0.2;
    let mut judged = play(&config, &trials(&config));
    for exponent in [0.5, 1.0] {
        config.reward.exponent = exponent;
        // The exponent changes what games earn, and no game.
        judged.iter_mut().for_each(|judged| judged.reward = score(&judged.evaluation, &config.reward));
        let report = examine(&config, &Fixed(judged.clone())).unwrap();
        assert_eq!(report.level(), Level::Warning, "{:#?}", report);
        let finding = report.finding(Check::Target).unwrap();
        assert!(finding.text.contains("train.game_seconds cuts two moves in "), "{}", finding.text);
        assert_eq!(
            finding.setting.as_ref().map(|setting| (setting.key, &*setting.found)),
            Some(("train.game_seconds", "0.2"))
        );
    }
}

#[test]
fn a_score_read_from_a_fresh_board_is_found() {
    let report = planted(|_, judged| {
        for game in &mut judged.evaluation.games {
            let (fresh, moves_text) = (unplayed(game.seed().unwrap(), game.ending), game.moves_text().to_owned());
            let board = BoardTrace { moves: game.moves(), moves_text, ..fresh.board().unwrap().clone() };
            (game.score, game.trace) = (fresh.score, Trace::Board(board));
        }
        judged.reward = score(&judged.evaluation, &CONFIG.reward);
    });
    let text = problem(&report, Check::Replay);
    assert!(text.contains("0 points, tile 2 ") || text.contains("0 points, tile 4 "), "{text}");
    assert!(problem(&report, Check::Target).contains("the best tile is 4"));
}

#[test]
fn a_reward_read_from_a_fresh_board_is_found_though_the_evidence_is_right() {
    let report = planted(|_, judged| {
        if let (Start::Played, Some(game)) = (&judged.evaluation.start, judged.evaluation.games.first()) {
            judged.reward.value = if Game::new(game.seed().unwrap()).board().max_tile() == 4 { 0.5 } else { 0.2 };
        }
    });
    assert_eq!(report.finding(Check::Replay).unwrap().level, Level::Ok);
    assert!(problem(&report, Check::Games).contains("the better game does not earn more"));
    problem(&report, Check::Order);
}

/// A game in which every push drops a tile, whether it changed anything or not.
fn push_left_for_ever(case: Case) -> Outcome {
    let Case::Seed(seed) = case else { unreachable!("2048 has no tasks") };
    let mut board = Game::new(seed).board();
    let outcome = unplayed(seed, Ending::GameOver);
    let (mut score, mut moves_text) = (0, String::new());
    while board.empty_cells() > 0 {
        let (pushed, gain) = board.slide(Move::A);
        let mut cells = pushed.cells();
        if let Some(cell) = cells.as_flattened_mut().iter_mut().find(|cell| **cell == 0) {
            *cell = 2;
        }
        board = Board::from_cells(&cells).unwrap();
        score += gain;
        moves_text.push('A');
    }
    let (max_tile, moves) = (board.max_tile(), moves_text.len() as u32);
    let trace = Trace::Board(BoardTrace { max_tile, moves, moves_text, final_board: board.cells() });
    Outcome { score: f64::from(score), trace, ..outcome }
}

#[test]
fn a_move_without_effect_that_counts_as_progress_is_found() {
    let report = planted(|trial, judged| {
        if trial.text.contains("    return \"A\"") {
            judged.evaluation.games = trial.cases.iter().map(|&case| push_left_for_ever(case)).collect();
            judged.reward = score(&judged.evaluation, &CONFIG.reward);
        }
    });
    assert!(problem(&report, Check::NoOp).contains("freeze in 0 of 12 games"));
    assert!(problem(&report, Check::Replay).contains("constant, game 1: "));
}

#[test]
fn freezing_that_pays_is_found() {
    let report = planted(|trial, judged| {
        if trial.text.contains("    return \"A\"") {
            judged.reward.value = 0.3;
        }
    });
    assert!(problem(&report, Check::NoOp).contains("freezing pays: constant earns 0.300"));
}

#[test]
fn a_flat_reward_is_found() {
    let flat = |_: &Trial, judged: &mut JudgedTrial| {
        let played = matches!(judged.evaluation.start, Start::Played);
        judged.reward.value = if played { 2.0 } else { -1.0 };
    };
    let report = planted(flat);
    let text = problem(&report, Check::Spread);
    assert!(text.contains("flat") && text.contains("0% of the range"), "{text}");
    assert_eq!(report.finding(Check::Spread).unwrap().setting, None, "no setting is at fault");
}

#[test]
fn a_reward_that_overflows_or_vanishes_is_laid_to_its_scale() {
    for scale in [1e-90, 1e200] {
        let report = reshaped(&RewardConfig { scale, ..CONFIG.reward.clone() });
        let finding = report.finding(Check::Spread).unwrap();
        assert_eq!(finding.level, Level::Problem, "{scale}: {:?}", finding);
        assert_eq!(finding.setting.as_ref().map(|setting| setting.key), Some("reward.scale"));
    }
}

#[test]
fn a_cheat_that_pays_is_found() {
    let report = planted(|trial, judged| {
        if trial.text.contains("board[0][0] = 2048") {
            judged.reward.value += 20.0;
        }
    });
    let text = problem(&report, Check::Cheats);
    assert!(text.contains("1 of 4 cheats") && text.contains("writing a 2048 tile into its board earns 19.9"), "{text}");
    let mut others = report.findings.iter().filter(|finding| finding.check != Check::Cheats);
    assert!(others.all(|finding| finding.level == Level::Ok), "{:?}", report.findings);
}

#[test]
fn moves_for_published_boards_pay_on_these_and_earn_nothing_on_boards_with_a_salt() {
    let both = |judged: &[JudgedTrial]| judged.split_last_chunk::<2>().unwrap().1.clone();
    let [honest, cheat] = both(&HONEST);
    assert!(cheat.reward.value > honest.reward.value + 0.05, "{} {}", cheat.reward.value, honest.reward.value);
    let published = planted(|_, _| {});
    let finding = published.finding(Check::Boards).unwrap();
    assert!(finding.level == Level::Ok && finding.text.starts_with("boards are published"), "{finding:?}");
    // `check`, which tells of it too, has no such flag.
    assert!(finding.text.ends_with("`train` without --seed draws others, which nobody knows"), "{finding:?}");

    let mut salted = CONFIG.clone();
    salted.train.board_salt = "0123456789abcdef".repeat(2);
    let trials = boards::trials(&salted);
    let [honest, cheat] = both(&play(&salted, &trials));
    assert!(cheat.reward.value <= honest.reward.value, "{} {}", cheat.reward.value, honest.reward.value);
    let finding = boards::finding(&salted, &[honest, cheat]);
    assert!(finding.level == Level::Ok && finding.text.starts_with("a program that carries"), "{finding:?}");
    // A salt that does nothing.
    let finding = boards::finding(&salted, &both(&HONEST));
    assert!(finding.level == Level::Problem && finding.text.starts_with("4 of 4 boards are known"), "{finding:?}");
}

#[test]
fn a_tile_that_a_program_wrote_itself_is_found_in_the_evidence_too() {
    let report = planted(|trial, judged| {
        if trial.text.contains("board[0][0] = 2048") {
            for game in &mut judged.evaluation.games {
                let mut board = game.board().unwrap().clone();
                (board.max_tile, board.final_board[0][0]) = (2048, 2048);
                (game.score, game.trace) = (20_000.0, Trace::Board(board));
            }
            judged.reward = score(&judged.evaluation, &CONFIG.reward);
        }
    });
    assert!(problem(&report, Check::Replay).contains("writing a 2048 tile into its board, game 1: 20000 points"));
    assert!(problem(&report, Check::Cheats).contains("toggle earns -0.0"));
}

#[test]
fn a_limit_that_keeps_the_target_out_of_reach_is_found() {
    let (mut few_moves, mut short) = (CONFIG.clone(), CONFIG.clone());
    // As in the Python original: two tiles and 500 more, all of them fours, add up to 2008.
    few_moves.arena.moves_max = 500;
    short.train.game_seconds = 0.03;
    for (config, key, found, default) in
        [(few_moves, "arena.moves_max", "500", "100000"), (short, "train.game_seconds", "0.03", "1.0")]
    {
        let report = examine(&config, &Fixed(play(&config, &trials(&config)))).unwrap();
        let text = problem(&report, Check::Target);
        assert!(text.contains("no reference player reaches 2048 in 10 games"), "{text}");
        let setting = report.finding(Check::Target).unwrap().setting.as_ref().unwrap();
        assert_eq!((setting.key, &*setting.found, &*setting.default), (key, found, default));
    }
}

#[test]
fn a_broken_program_that_outranks_play_is_found() {
    let report = planted(|_, judged| {
        if matches!(judged.evaluation.start, Start::Rejected(_)) {
            judged.reward.value = 0.5;
        }
    });
    let text = problem(&report, Check::Failures);
    assert!(text.contains("syntax error earns 0.500 against constant earns -0.0"), "{text}");
}

#[test]
fn an_inverted_exponent_is_found() {
    let inverted = RewardConfig { exponent: -0.5, ..CONFIG.reward.clone() };
    let report = planted(|_, judged| judged.reward = score(&judged.evaluation, &inverted));
    let text = problem(&report, Check::Order);
    assert!(text.contains("pairs of players are out of order"), "{text}");
}

#[test]
fn a_reward_that_is_no_number_is_found() {
    let report = planted(|_, judged| judged.reward.value = f32::NAN);
    for check in [Check::Failures, Check::Order, Check::Spread, Check::Games] {
        problem(&report, check);
    }
}

#[test]
fn boards_are_the_checks_own_and_the_same_in_every_run() {
    assert_eq!(trials(&CONFIG), trials(&CONFIG));
    let training = Seed::root(CONFIG.train.seed);
    let board = trials(&CONFIG)[0].cases[0];
    for purpose in [crate::seed::Purpose::Game, crate::seed::Purpose::HeldOut] {
        assert!((0..1000).all(|index| Case::Seed(training.child(purpose, index)) != board));
    }
}
