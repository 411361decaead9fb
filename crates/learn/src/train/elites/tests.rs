use std::collections::BTreeSet;

use super::super::episode::fixture;
use super::*;
use crate::arena::{Start, Usage, Workers};
use crate::environment::game2048::{entry, scored, unplayed};
use crate::environment::{Case, Ending, Outcome, TestsTrace, Trace};
use crate::rollout::Completion;

const GAMES: usize = 2;

fn evaluation(score: u64, ending: Ending) -> Evaluation {
    let game = scored(score, 64, ending);
    Evaluation { start: Start::Played, games: vec![game; GAMES], usage: Usage::default() }
}

/// A program that returns `word`, with a thousandth of its score as reward.
fn episode(word: &str, score: u64) -> Episode {
    let text = format!("def strategy(board):\n    return {word:?}\n");
    let (program, evaluation) = (Program::from_text(&text, &entry()), evaluation(score, Ending::GameOver));
    let turn = fixture::turn(score as f32 / 1000.0, FinishReason::Stop);
    let completion = Completion { ids: vec![2, 3, 1], logprobs: vec![0.0; 3], text, ..turn.completion };
    fixture::alone(Turn { completion, program, evaluation, ..turn })
}

fn prompt(id: u32, style: &str) -> Prompt {
    Prompt { id, style: style.into(), ids: vec![2], ..Prompt::default() }
}

/// Each style for itself, by the plain mean.
const APART: Race = Race { one_pool: false, kept: 2, prior: 0.0, min_games: 0 };
/// All styles together.
const TOGETHER: Race = Race { one_pool: true, kept: 2, prior: 2.0, min_games: 4 };

/// A step with two prompts, `snake` and `corner`, and two completions of each.
fn take_in(elites: &mut Elites, step: usize, replays: &[(&str, u64)], words: [(&str, u64); 4]) {
    race(elites, step, replays, words, APART);
}

fn race(elites: &mut Elites, step: usize, replays: &[(&str, u64)], words: [(&str, u64); 4], race: Race) {
    let prompts = [prompt(0, "snake"), prompt(1, "corner")];
    let episodes = Groups::new(2, words.map(|(word, score)| episode(word, score)).to_vec());
    let replays: Vec<Replayed> = replays
        .iter()
        .map(|(word, score)| Replayed {
            program: digest(word),
            reward: *score as f32 / 1000.0,
            evaluation: evaluation(*score, Ending::GameOver),
        })
        .collect();
    elites.take_in(step, &replays, StepEpisodes { prompts: &prompts, episodes: &episodes, games: GAMES }, race);
}

fn digest(word: &str) -> String {
    episode(word, 0).first().program.as_ref().unwrap().digest_text()
}

/// Word, games and mean score of a style's elites, best first.
fn of_style(elites: &Elites, style: &str) -> Vec<(String, u64, f64)> {
    let word = |elite: &Elite| elite.source.split('"').nth(1).unwrap().to_owned();
    let members = elites.members().filter(|(elite, _)| elite.style == style);
    members.map(|(elite, tally)| (word(elite), tally.games, tally.mean_score())).collect()
}

fn found(word: &str, games: u64, mean: f64) -> (String, u64, f64) {
    (word.to_owned(), games, mean)
}

#[test]
fn each_style_keeps_its_best_distinct_programs() {
    let mut elites = Elites::default();
    take_in(&mut elites, 1, &[], [("a", 3000), ("a", 3000), ("b", 500), ("c", 700)]);
    assert_eq!(of_style(&elites, "snake"), [found("a", 2, 3000.0)], "the same boards count once");
    assert_eq!(of_style(&elites, "corner"), [found("c", 2, 700.0), found("b", 2, 500.0)]);
    take_in(&mut elites, 2, &[], [("d", 2000), ("e", 1000), ("f", 600), ("g", 100)]);
    assert_eq!(of_style(&elites, "snake"), [found("a", 2, 3000.0), found("d", 2, 2000.0)]);
    assert_eq!(of_style(&elites, "corner"), [found("c", 2, 700.0), found("f", 2, 600.0)]);
}

#[test]
fn what_was_lucky_falls_back_and_takes_its_games_along() {
    let mut elites = Elites::default();
    take_in(&mut elites, 1, &[], [("lucky", 9000), ("steady", 4000), ("x", 1), ("x", 1)]);
    take_in(&mut elites, 2, &[("lucky", 1000)], [("steady", 4000), ("other", 3500), ("x", 1), ("x", 1)]);
    // Four games each: (2 * 9000 + 2 * 1000) / 4 and 4000.
    assert_eq!(of_style(&elites, "snake"), [found("lucky", 4, 5000.0), found("steady", 4, 4000.0)]);
    take_in(&mut elites, 3, &[("lucky", 1000)], [("y", 1), ("other", 3900), ("x", 1), ("x", 1)]);
    // (2 * 9000 + 4 * 1000) / 6 is 3667, less than the 3900 of `other`. That one was not admitted in step 2, so these
    // are its first games.
    assert_eq!(of_style(&elites, "snake"), [found("steady", 4, 4000.0), found("other", 2, 3900.0)]);
    take_in(&mut elites, 4, &[], [("lucky", 8000), ("y", 1), ("x", 1), ("x", 1)]);
    // Its return counts all its games: (18000 + 4000 + 16000) / 8.
    assert_eq!(of_style(&elites, "snake"), [found("lucky", 8, 4750.0), found("steady", 4, 4000.0)]);
}

#[test]
fn the_truncated_and_the_broken_off_are_not_worth_imitating_but_their_games_count() {
    let mut elites = Elites::default();
    let prompts = [prompt(0, "snake")];
    let mut take = |step, first: Episode, second: Episode| {
        let episodes = Groups::new(2, vec![first, second]);
        elites.take_in(
            step,
            &[],
            StepEpisodes { prompts: &prompts, episodes: &episodes, games: GAMES },
            Race { kept: 4, ..APART },
        );
        of_style(&elites, "snake")
    };
    let mut truncated = episode("t", 5000);
    truncated.turns[0].completion.finish = FinishReason::Length;
    let frozen = |word| {
        fixture::alone(Turn { evaluation: evaluation(1000, Ending::Freeze), ..episode(word, 1000).first().clone() })
    };
    assert_eq!(take(1, truncated, frozen("f")), []);
    assert_eq!(take(2, episode("a", 3000), episode("b", 2500)), [found("a", 2, 3000.0), found("b", 2, 2500.0)]);
    assert_eq!(take(3, frozen("a"), episode("c", 2200))[..2], [found("b", 2, 2500.0), found("c", 2, 2200.0)]);
}

#[test]
fn only_what_is_better_than_the_policy_is_drawn_and_the_seed_decides() {
    let mut elites = Elites::default();
    take_in(&mut elites, 1, &[], [("a", 3000), ("b", 1000), ("c", 900), ("d", 800)]);
    // The mean score of the step is 2000 for `snake` and 850 for `corner`.
    let words = |seed: u64, count: usize| -> Vec<String> {
        elites.draw(Seed::root(seed), count, APART).into_iter().map(|elite| elite.program).collect()
    };
    let eligible: BTreeSet<String> = [digest("a"), digest("c")].into();
    let mut first = BTreeSet::new();
    for seed in 0..20 {
        assert_eq!(words(seed, 5).into_iter().collect::<BTreeSet<_>>(), eligible);
        assert_eq!(words(seed, 1), words(seed, 1));
        first.extend(words(seed, 1));
    }
    assert_eq!(first, eligible, "both come up");
}

#[test]
fn of_one_game_all_styles_race_and_a_lucky_game_wins_no_place() {
    let mut elites = Elites::default();
    race(&mut elites, 1, &[], [("a", 3000), ("b", 1000), ("c", 900), ("d", 700)], TOGETHER);
    let words = |elites: &Elites| -> Vec<String> {
        elites.members().map(|(elite, _)| elite.source.split('"').nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(words(&elites), ["a", "b"], "the third is better than half of the other style");
    // The step's mean is 1400. (2 * 3000 + 2 * 1400) / 4 = 2200 with two games; (4 * 2500 + 2 * 1400) / 6 = 2133.
    assert_eq!(elites.draw(Seed::root(1), 9, TOGETHER), [], "nobody has played four games");
    race(&mut elites, 2, &[("a", 3000), ("b", 4000)], [("e", 2600), ("x", 1000), ("x", 1000), ("x", 1000)], TOGETHER);
    // Level 1400: a has (4 * 3000 + 2800) / 6 = 2467, b (4 * 2500 + 2800) / 6 = 2133, and e only (5200 + 2800) / 4 = 2000,
    // though its mean is above that of b.
    assert_eq!(words(&elites), ["a", "b"]);
    assert_eq!(elites.draw(Seed::root(1), 9, TOGETHER).len(), 2);
}

#[test]
fn half_of_those_that_play_again_have_the_fewest_games_and_the_others_are_the_best() {
    let mut elites = Elites::default();
    let race = |elites: &mut Elites, step, replays: &[_], words| {
        race(elites, step, replays, words, Race { kept: 4, ..TOGETHER });
    };
    race(&mut elites, 1, &[], [("a", 3000), ("b", 2000), ("a", 3000), ("c", 1000)]);
    race(&mut elites, 2, &[("a", 3000), ("b", 2000)], [("x", 1), ("x", 1), ("x", 1), ("x", 1)]);
    let again = |count| elites.to_replay(count, &entry()).into_iter().map(|one| one.digest).collect::<Vec<_>>();
    // After a step of equal programs of the least games, `x` and `c` have two games each.
    let fewest = [digest("c"), digest("x")].into_iter().min().unwrap();
    assert_eq!(again(2), [fewest.clone(), digest("a")]);
    assert_eq!(again(1), [fewest]);
    assert_eq!(again(9).len(), 4);
}

#[test]
fn of_a_program_that_answers_two_tasks_each_task_has_games_of_its_own() {
    let mut elites = Elites::default();
    take_in(&mut elites, 1, &[], [("b", 500), ("a", 100), ("a", 3000), ("c", 10)]);
    assert_eq!(of_style(&elites, "snake"), [found("b", 2, 500.0), found("a", 2, 100.0)]);
    assert_eq!(of_style(&elites, "corner"), [found("a", 2, 3000.0), found("c", 2, 10.0)]);
    take_in(&mut elites, 2, &[], [("b", 500), ("a", 50), ("x", 1), ("x", 1)]);
    assert_eq!(of_style(&elites, "snake")[1], found("a", 4, 75.0));
    assert_eq!(of_style(&elites, "corner")[0], found("a", 2, 3000.0));
}

#[test]
fn games_that_a_checkpoint_has_for_all_tasks_together_are_known_and_go_on() {
    let mut elites = Elites::default();
    take_in(&mut elites, 1, &[], [("a", 3000), ("b", 500), ("c", 900), ("d", 700)]);
    let mut saved = serde_json::to_value(&elites).unwrap();
    let earlier = saved["tallies"].as_object().unwrap().iter();
    let earlier = earlier.map(|(key, tally)| (key.split(' ').next().unwrap().to_owned(), tally.clone()));
    saved["tallies"] = serde_json::Value::Object(earlier.collect());
    let mut read: Elites = serde_json::from_value(saved).unwrap();
    assert_eq!(of_style(&read, "snake"), of_style(&elites, "snake"));
    take_in(&mut read, 2, &[], [("a", 1000), ("x", 1), ("x", 1), ("x", 1)]);
    assert_eq!(of_style(&read, "snake")[0], found("a", 4, 2000.0));
}

#[test]
fn a_program_that_passes_a_honeypot_is_not_imitated() {
    let passed = |honeypot| {
        let trace = TestsTrace { tests: 1, passed: 1, answered: 1, honeypot, ..TestsTrace::default() };
        let trace = Trace::Tests(trace);
        let outcome = Outcome { case: Case::Task(0), score: 1.0, ending: Ending::Passed, fuel: 1, trace, reason: None };
        Evaluation { start: Start::Played, games: vec![outcome], usage: Usage::default() }
    };
    let kept = |honeypot| {
        let turn = Turn { evaluation: passed(honeypot), ..episode("a", 0).first().clone() };
        let episodes = Groups::new(2, vec![fixture::alone(turn), episode("b", 0)]);
        let mut elites = Elites::default();
        let prompts = [prompt(0, "add")];
        elites.take_in(1, &[], StepEpisodes { prompts: &prompts, episodes: &episodes, games: 1 }, APART);
        elites.members().any(|(elite, _)| elite.program == digest("a"))
    };
    assert_eq!([kept(false), kept(true)], [true, false]);
}

#[test]
fn what_plays_again_is_judged_with_its_program_and_the_length_of_its_completion() {
    let arena = Arena::stand_in(|_: &_, seed| unplayed(seed, Ending::GameOver), Workers::new(1)).unwrap();
    let mut elites = Elites::default();
    race(&mut elites, 1, &[], [("a", 3000), ("b", 1000), ("c", 900), ("d", 700)], TOGETHER);
    let seed = Seed::root(1);
    let inputs = StepInputs { step: 2, seed, prompts: Vec::new(), boards: vec![seed] };
    let replay = Replay::begin(&arena, &Peers::alone(), elites.to_replay(1, &entry()), &inputs);
    let reward = |judged: Judged<'_>| {
        assert_eq!(judged.tokens, Some((3, 12)), "three were sampled");
        assert_eq!(judged.program.map(Program::digest_text), Some(digest("a").min(digest("b"))));
        0.25
    };
    let replayed = replay.finish(12, reward).unwrap();
    assert_eq!(replayed.iter().map(|one| one.reward).collect::<Vec<_>>(), [0.25]);
}

#[test]
fn the_store_survives_a_checkpoint_bit_for_bit() {
    let mut elites = Elites::default();
    take_in(&mut elites, 1, &[], [("a", 3001), ("b", 1), ("c", 977), ("d", 13)]);
    take_in(&mut elites, 2, &[("a", 77)], [("e", 3), ("b", 111), ("c", 977), ("g", 17)]);
    let text = serde_json::to_string(&elites).unwrap();
    assert_eq!(serde_json::from_str::<Elites>(&text).unwrap(), elites);
}
