//! Estimators against cases worked by hand or by enumeration, and the list of boards against its derivation.

use std::collections::BTreeSet;
use std::path::Path;

use super::boards::{FILE, ROOT};
use super::estimators::{best_of_weights, expected_best, pass_at};
use super::*;
use crate::arena::{Arena, FirstCallFault, Usage, Workers};
use crate::environment::game2048::{Baseline, GameLimits, entry, play, replay, scored, unplayed};
use crate::environment::tasks::Tasks;
use crate::environment::{Case, Ending, Labels, Outcome, TestsTrace, Trace};
use crate::seed::{Purpose, Seed};

mod intervals;

#[test]
fn the_committed_boards_are_those_that_are_derived_and_the_file_is_whole() {
    let derived: Vec<Seed> = (0..200).map(|index| Seed::root(ROOT).child(Purpose::HeldOut, index)).collect();
    assert_eq!(held_out_boards(), derived);
    let (head, list) = FILE.split_once("blake3 ").unwrap().1.split_once('\n').unwrap();
    assert_eq!(head, blake3::hash(list.as_bytes()).to_hex().as_str());
    assert_eq!(list, derived.iter().map(|seed| format!("{seed}\n")).collect::<String>());
}

#[test]
fn boards_that_choose_and_boards_that_report_share_nothing() {
    let published = HeldOut::published();
    assert_eq!(published.selection(3), &held_out_boards()[..3]);
    assert_eq!(published.report(2), &held_out_boards()[8..10]);
    for boards in [published, HeldOut::salted(&"5".repeat(32))] {
        let all: BTreeSet<&Seed> = boards.selection(SELECTION).iter().chain(boards.report(REPORT)).collect();
        assert_eq!((all.len(), held_out_boards().len()), (200, 200));
        let known = all.iter().filter(|board| held_out_boards().contains(board)).count();
        assert_eq!(known, if boards.salt().is_empty() { 200 } else { 0 });
    }
}

#[test]
fn the_configuration_allows_as_many_games_as_there_are_boards_to_choose_on() {
    let set = |games: usize| {
        let mut layers = crate::config::Layers::default();
        layers.assignment(&format!("train.eval_games={games}")).unwrap();
        layers.resolve()
    };
    assert_eq!(set(SELECTION).unwrap().train.eval_games, SELECTION);
    assert!(set(SELECTION + 1).unwrap_err().to_string().contains("train.eval_games"));
}

#[test]
fn i4_no_training_step_plays_a_held_out_board() {
    let held_out: BTreeSet<&Seed> = held_out_boards().iter().collect();
    for run in (0..50).chain([ROOT]) {
        for step in 0..100 {
            let step = Seed::root(run).child(Purpose::Step, step);
            assert!((0..8).all(|game| !held_out.contains(&step.child(Purpose::Game, game))), "run {run}");
        }
        // `score` and `play` with that seed.
        assert!((0..100).all(|game| !held_out.contains(&Seed::root(run).child(Purpose::Game, game))), "seed {run}");
    }
}

/// Share of all n-subsets in which each item has the first score; equal firsts share the subset.
fn by_enumeration(scores: &[f64], n: u32) -> Vec<f64> {
    let mut weights = vec![0.0; scores.len()];
    let subsets: Vec<u32> = (0..1_u32 << scores.len()).filter(|subset| subset.count_ones() == n).collect();
    for subset in &subsets {
        let members: Vec<usize> = (0..scores.len()).filter(|item| subset >> item & 1 == 1).collect();
        let top = members.iter().map(|&item| scores[item]).fold(f64::NEG_INFINITY, f64::max);
        let firsts: Vec<usize> = members.into_iter().filter(|&item| scores[item] == top).collect();
        firsts.iter().for_each(|&item| weights[item] += 1.0 / firsts.len() as f64 / subsets.len() as f64);
    }
    weights
}

#[test]
fn chances_of_being_the_best_agree_with_enumeration() {
    let cases: [&[f64]; 4] =
        [&[7.0], &[5.0, 1.0, 9.0, 3.0, 2.0], &[4.0, 4.0, 1.0, 0.0, 0.0, 0.0, 9.0], &[2.0, 2.0, 2.0, 2.0]];
    for scores in cases {
        for n in 1..=scores.len() {
            let (found, expected) = (best_of_weights(scores, n), by_enumeration(scores, n as u32));
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-12, "best of {n} of {scores:?}: {found} is not {expected}");
            }
        }
    }
}

#[test]
fn the_expected_best_counts_with_what_was_measured_apart() {
    // Ranks by score: item 2 (9), 0 (5), 1 (1). The best of two is item 2 in two subsets of three, item 0 in one.
    let (scores, values) = ([5.0, 1.0, 9.0], [60.0, 30.0, 90.0]);
    assert!((expected_best(&scores, &values, 2) - (2.0 * 90.0 + 60.0) / 3.0).abs() < 1e-12);
    assert!((expected_best(&scores, &values, 1) - 60.0).abs() < 1e-12);
    assert_eq!(expected_best(&scores, &values, 3), 90.0);
    let many: Vec<f64> = (0..256).map(f64::from).collect();
    assert!((best_of_weights(&many, 64).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(best_of_weights(&many, 64)[255], 0.25);
}

fn sample(style: &str, source: &str, start: Start, games: &[(u64, Ending)]) -> Sample {
    let games = games.iter().map(|&(score, ending)| scored(score, 64, ending)).collect();
    Sample {
        style: style.into(),
        program: Program::from_text(source, &entry()),
        reward: 0.5,
        tokens: 10,
        cut: false,
        surprise: 2.0,
        turns: vec![matches!(start, Start::Played)],
        selection: Evaluation { start, games, usage: Usage::default() },
        report: Vec::new(),
    }
}

/// Four programs: one good, one that differs from it by a comment only, one that breaks off, one that fails at once;
/// and no program.
fn five() -> Vec<Sample> {
    let code = "def strategy(board):\n    return 'W'\n";
    let over = Ending::GameOver;
    let fault = Start::Faulted(FirstCallFault { ending: Ending::Raised, reason: "no".into() });
    let rejected = Start::Rejected(Rejection::NoFunction { wanted: String::new() });
    vec![
        sample("snake", code, Start::Played, &[(6000, over), (5000, Ending::OutOfFuel)]),
        sample("snake", &format!("# W\n{code}"), Start::Played, &[(2000, over), (3000, over)]),
        sample("merge", &code.replace('W', "A"), Start::Played, &[(100, over), (300, Ending::Freeze)]),
        sample("merge", &code.replace('W', "S"), fault, &[(0, Ending::Raised), (0, Ending::Raised)]),
        sample("merge", "nothing", rejected, &[]),
    ]
}

#[test]
fn a_summary_counts_every_completion() {
    let summary = summarise(&five(), &[1, 4], Labels::Board);
    assert_eq!(summary.samples, 5);
    assert_eq!((summary.mean_score.value, summary.median_score.value), (1640.0, 200.0));
    assert_eq!((summary.plays.value, summary.parses.value, summary.unique), (0.4, 0.8, 0.75));
    assert_eq!(
        summary.reaches.iter().map(|(&at, share)| (at, share.value)).collect::<Vec<_>>(),
        [(2324, 0.4), (5000, 0.2), (14815, 0.0)]
    );
    let snake = StyleSummary { samples: 2, mean_score: 4000.0, plays: 1.0 };
    assert_eq!(summary.styles["snake"], snake);
    assert_eq!(summary.styles["merge"].samples, 3);
    assert_eq!((summary.entropy, summary.reward, summary.max_tile), (0.2, 0.5, Some(64)));
    let mean = summary.mean_score.interval;
    assert!(mean.low < 1640.0 && mean.high > 1640.0 && mean.high <= 5500.0, "{mean:?}");
}

#[test]
fn the_best_of_n_is_reported_on_other_boards_and_the_best_of_one_is_the_mean() {
    let mut samples = five();
    samples[0].report = vec![scored(4000, 64, Ending::GameOver), scored(1000, 64, Ending::GameOver)];
    let summary = summarise(&samples, &[1, 4], Labels::Board);
    assert_eq!(summary.best_of[&1], summary.mean_score);
    // Of the five 4-subsets four hold the best, with 2500 on the report boards; the fifth has the second, with 2500
    // on the selection boards.
    assert!((summary.best_of[&4].value - 2500.0).abs() < 1e-9);
    samples[0].report.truncate(1);
    assert!((summarise(&samples, &[4], Labels::Board).best_of[&4].value - (0.8 * 4000.0 + 0.2 * 2500.0)).abs() < 1e-9);
}

#[test]
fn nothing_sampled_is_nothing_found() {
    let summary = summarise(&[], &sizes_up_to(0), Labels::Board);
    assert_eq!((summary.samples, summary.mean_score.value, summary.best_of.len()), (0, 0.0, 0));
    assert_eq!(sizes_up_to(64), [1, 4, 16, 64]);
}

#[test]
fn programs_that_never_are_the_best_play_no_report_games() {
    let scores: Vec<f64> = (0..256).map(f64::from).collect();
    let games = report_games(&scores, &[1, 4, 16, 64, 256], 32);
    assert_eq!(games[255], 32);
    // Of the last 81 all are absent from a 4-subset with probability above 99 %: C(81, 4) / C(256, 4) = 0.0095.
    assert_eq!(games.iter().filter(|&&games| games == 0).count(), 81);
    assert!(games.is_sorted() && games[81..].iter().all(|&games| games == 8 || games == 32), "{games:?}");
    assert_eq!(report_games(&scores, &[1], 32), vec![0; 256]);
    assert_eq!(report_games(&[3.0, 1.0], &[1], 32), [0, 0]);
}

#[test]
fn a_baseline_plays_the_boards_it_is_given() {
    let limits = GameLimits { freeze_after: 4, moves_max: 100_000 };
    let single = play_baseline(Baseline::Greedy, HeldOut::published().selection(8), &limits);
    let Ok(first) = play(&mut Baseline::Greedy.player(held_out_boards()[0]), held_out_boards()[0], &limits);
    assert_eq!((single.name.as_str(), single.scores.len(), single.scores[0]), ("greedy", 8, first.score));
    assert_eq!(replay(held_out_boards()[0], first.moves_text()).unwrap().0 as f64, single.scores[0]);
    let total: f64 = single.scores.iter().sum();
    assert_eq!(single.mean_score.value, total / 8.0);
    assert!(single.mean_score.interval.low < single.mean_score.value);
}

#[test]
fn a_game_of_ones_own_has_no_thresholds_and_no_tiles() {
    let summary = summarise(&five(), &[1], Labels::Game);
    assert_eq!((summary.reaches.len(), summary.max_tile, summary.mean_score.value), (0, None, 1640.0));
    assert_eq!(summary.best_of[&1], summary.mean_score);
}

/// A sample whose selection games came to these scores.
fn with_scores(source: &str, start: Start, games: &[(f64, Ending)]) -> Sample {
    let games = games.iter().map(|&(score, ending)| Outcome { score, ..scored(0, 64, ending) }).collect();
    let selection = Evaluation { start: start.clone(), games, usage: Usage::default() };
    Sample { selection, ..sample("plain", source, start, &[]) }
}

#[test]
fn a_program_that_fails_counts_as_the_lowest_score_where_that_is_below_zero() {
    let (code, over, raised) = ("def strategy(board):\n    return 'W'\n", Ending::GameOver, Ending::Raised);
    let fault = Start::Faulted(FirstCallFault { ending: raised, reason: "no".into() });
    let rejected = Start::Rejected(Rejection::NoFunction { wanted: String::new() });
    let failing = [with_scores(code, fault, &[(0.0, raised), (0.0, raised)]), with_scores("nothing", rejected, &[])];
    let playing = [
        with_scores(code, Start::Played, &[(-10.0, over), (-4.0, over)]),
        with_scores(code, Start::Played, &[(-1.0, raised), (-4.0, over)]),
    ];
    let all = [playing, failing.clone()].concat();
    let summary = summarise(&all, &[1, 4], Labels::Game);
    // Twice -7 and twice -10.
    assert_eq!((summary.mean_score.value, summary.median_score.value), (-8.5, -8.5));
    assert_eq!((summary.styles["plain"].mean_score, summary.best_of[&4].value), (-8.5, -7.0));
    // Among programs that fail nothing is known of how low a score may be.
    assert_eq!(summarise(&failing, &[1], Labels::Game).mean_score.value, 0.0);
    assert_eq!(summarise_on(floor(&all), &failing, &[1], Labels::Game).mean_score.value, -10.0);
}

#[test]
fn no_program_that_fails_is_chosen_before_one_that_plays_below_zero() {
    let code = "def strategy(board):\n    return 'W'\n";
    let arena = Arena::stand_in(
        |program: &Program, seed| match program.source().contains("'W'") {
            true => Outcome { score: -5.0, ..unplayed(seed, Ending::GameOver) },
            false => unplayed(seed, Ending::Raised),
        },
        Workers::Inline,
    )
    .unwrap();
    let fault = Start::Faulted(FirstCallFault { ending: Ending::Raised, reason: "no".into() });
    let samples = [
        with_scores(&code.replace('W', "S"), fault, &[(0.0, Ending::Raised)]),
        with_scores(code, Start::Played, &[(-5.0, Ending::GameOver)]),
    ];
    let boards = HeldOut::published();
    // Nor with the points of games that it failed in.
    let failed = [FailedGames { games: 64, mean_score: 18.0 }, FailedGames::default()];
    for earlier in [EarlierGames::default(), EarlierGames { mean_scores: &[18.0, -2.5], failed: &failed, games: 64 }] {
        let chosen = choose_best(&arena, &boards, &mut samples.clone(), earlier, &mut |_, _| ()).unwrap().unwrap();
        assert_eq!(chosen.winner, 1);
    }
}

#[test]
fn earlier_games_count_beside_those_that_choose() {
    // On the held-out boards the first comes to 12 and the second to 10.
    let score = |program: &Program| if program.source().contains("'W'") { 12.0 } else { 10.0 };
    let play = move |program: &Program, seed| Outcome { score: score(program), ..unplayed(seed, Ending::GameOver) };
    let arena = Arena::stand_in(play, Workers::Inline).unwrap();
    let winner = |mean_scores: &[f64], games| {
        let mut samples = ["W", "S"].map(|letter| {
            let code = format!("def strategy(board):\n    return '{letter}'\n");
            let first = if letter == "W" { 12.0 } else { 10.0 };
            with_scores(&code, Start::Played, &[(first, Ending::GameOver)])
        });
        let earlier = EarlierGames { mean_scores, games, ..EarlierGames::default() };
        let chosen = choose_best(&arena, &HeldOut::published(), &mut samples, earlier, &mut |_, _| ());
        chosen.unwrap().unwrap().winner
    };
    assert_eq!(winner(&[], 0), 0);
    // Eight games in which the second was better by 3 weigh as much as the eight that choose, and one does not.
    assert_eq!((winner(&[9.0, 12.0], 8), winner(&[9.0, 12.0], 1)), (1, 0));
}

#[test]
fn earlier_games_count_below_zero_too_and_those_that_failed_as_the_lowest_score() {
    // On the held-out boards the first comes to 12, the second to 10 and the third below zero.
    let score = |source: &str| {
        [("'W'", 12.0), ("'S'", 10.0)]
            .into_iter()
            .find(|(letter, _)| source.contains(letter))
            .map_or(-1.0, |(_, score)| score)
    };
    let play =
        move |program: &Program, seed| Outcome { score: score(program.source()), ..unplayed(seed, Ending::GameOver) };
    let arena = Arena::stand_in(play, Workers::Inline).unwrap();
    let winner = |failed: &[FailedGames]| {
        let mut samples = ["W", "S", "A"].map(|letter| {
            let code = format!("def strategy(board):\n    return '{letter}'\n");
            with_scores(&code, Start::Played, &[(score(&code), Ending::GameOver)])
        });
        let earlier = EarlierGames { mean_scores: &[9.0, 12.0, -1.0], failed, games: 8 };
        let chosen = choose_best(&arena, &HeldOut::published(), &mut samples, earlier, &mut |_, _| ());
        chosen.unwrap().unwrap().winner
    };
    assert_eq!(winner(&[]), 1);
    // Six points are seven more than the lowest score: the second stays the better one with one game that failed, and not with two.
    let failed = |games| [FailedGames::default(), FailedGames { games, mean_score: 6.0 }];
    assert_eq!([1, 2].map(|games| winner(&failed(games))), [1, 0]);
    let ended = [(4.0, Ending::GameOver), (2.0, Ending::Raised), (1.0, Ending::Freeze)];
    let games = with_scores("", Start::Played, &ended).selection.games;
    assert_eq!(FailedGames::among(&games), FailedGames { games: 2, mean_score: 1.5 });
    assert!(FailedGames::among(&games[..1]).is_none());
}

#[test]
fn pass_at_k_is_the_share_of_draws_that_hold_one_that_passes() {
    // Of the ten pairs out of five, three are pairs of the three that fail.
    assert!((pass_at(2, 2, 5) - 0.7).abs() < 1e-12);
    assert_eq!([pass_at(1, 3, 4), pass_at(4, 1, 4), pass_at(3, 2, 4), pass_at(2, 0, 4)], [0.75, 1.0, 1.0, 0.0]);
    // The same order statistics as those of the best of n.
    for passed in 0..=7 {
        let passes: Vec<f64> = (0..7).map(|program| if program < passed { 1.0 } else { 0.0 }).collect();
        for k in 1..=7 {
            assert!((pass_at(k, passed, 7) - expected_best(&passes, &passes, k)).abs() < 1e-12, "{k} {passed}");
        }
    }
}

/// Three tasks, two of them of one group.
fn three_tasks() -> Tasks {
    let line = |id: &str, group: &str| {
        format!(r#"{{"id":"{id}",{group}"prompt":"p","entry_point":"f","tests":[{{"args":"(1,)","expected":"1"}}]}}"#)
    };
    let lines = [line("a", r#""group":"easy","#), line("b", r#""group":"easy","#), line("c", "")];
    Tasks::of_rows(Path::new("three.jsonl"), "three", &lines.join("\n")).unwrap()
}

/// A program for a task that passes so many of four tests.
fn tried(task: u32, name: &str, passed: u32) -> Sample {
    let trace = TestsTrace { tests: 4, passed, answered: 4, ..TestsTrace::default() };
    let ending = if passed == 4 { Ending::Passed } else { Ending::WrongAnswer };
    let trace = Trace::Tests(trace);
    let outcome =
        Outcome { case: Case::Task(task), score: f64::from(passed) / 4.0, ending, fuel: 1, trace, reason: None };
    let selection = Evaluation { start: Start::Played, games: vec![outcome], usage: Usage::default() };
    let code = format!("def strategy(board):\n    return {passed}\n");
    Sample { selection, ..sample(name, &code, Start::Played, &[]) }
}

#[test]
fn tasks_count_alike_however_many_programs_were_written_for_them() {
    let rejected = Start::Rejected(Rejection::NoFunction { wanted: String::new() });
    let samples = [
        tried(0, "a", 4),
        tried(1, "b", 2),
        tried(0, "a", 4),
        tried(0, "a", 0),
        tried(0, "a", 1),
        sample("b", "nothing", rejected, &[]),
    ];
    let summary = summarise_tasks(&three_tasks(), &samples, 1);
    // Two of four programs solve a, none solves b; two were written for b, and c was not asked.
    assert_eq!(summary.samples_per_task, 2);
    let pass_at: Vec<(usize, f64)> = summary.pass_at.iter().map(|(&k, share)| (k, share.value)).collect();
    assert_eq!(pass_at[0], (1, 0.25));
    assert_eq!(pass_at.len(), 2);
    // One of six pairs for a holds none that passes.
    assert!((pass_at[1].1 - 5.0 / 12.0).abs() < 1e-12, "{pass_at:?}");
    assert_eq!(summary.tests.value, (9.0 / 16.0 + 0.25) / 2.0);
    assert_eq!((summary.parses.value, summary.unique), (0.75, 0.8));
    // Two tasks say next to nothing of others.
    assert_eq!(summary.pass_at[&1].interval, Interval { low: 0.0, high: 1.0 });
    let worst_first: Vec<(&str, usize, usize)> =
        summary.tasks.iter().map(|task| (task.task.as_str(), task.passed, task.samples)).collect();
    assert_eq!(worst_first, [("b", 0, 2), ("a", 2, 4)]);
    assert_eq!(summary.tasks[0].endings, [("no_function", 1), ("wrong_answer", 1)].into());
    assert_eq!(summary.tasks[1].endings, [("passed", 2), ("wrong_answer", 2)].into());
    assert_eq!(summary.tasks[1].verdicts, [("succeeded", 2), ("wrong_answer", 2)].into());
    let easy = GroupSummary { tasks: 2, pass_at_1: 0.25, tests: summary.tests.value };
    assert_eq!(summary.groups, [("easy".to_owned(), easy)].into());
}

#[test]
fn each_turn_that_was_allowed_has_its_share_whether_a_conversation_needed_it_or_not() {
    let after = |task, name, turns: &[bool]| Sample { turns: turns.to_vec(), ..tried(task, name, 4) };
    let shares = |samples: &[Sample], turns| -> Vec<f64> {
        summarise_tasks(&three_tasks(), samples, turns).pass_by_turn.iter().map(|share| share.value).collect()
    };
    let samples = [after(0, "a", &[true]), after(1, "b", &[false, true])];
    assert_eq!(shares(&samples, 3), [0.5, 1.0, 1.0]);
    assert_eq!(shares(&samples[..1], 3), [1.0; 3], "all passed at once");
    assert!(shares(&samples[..1], 1).is_empty());
}

#[test]
fn no_programs_for_tasks_are_nothing_found() {
    let summary = summarise_tasks(&three_tasks(), &[], 1);
    assert_eq!((summary.samples_per_task, summary.pass_at.len(), summary.tasks.len()), (0, 0, 0));
    assert_eq!((summary.tests.value, summary.groups.len()), (0.0, 0));
}
