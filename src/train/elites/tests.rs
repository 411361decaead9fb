use std::collections::BTreeSet;

use super::*;
use crate::arena::{Usage, Verdict};
use crate::environment::Ending;
use crate::environment::game2048::{entry, scored};
use crate::reward::Reward;
use crate::rollout::Completion;

const GAMES: usize = 2;

fn evaluation(score: u64, ending: Ending) -> Evaluation {
    let game = scored(score, 64, ending);
    Evaluation { verdict: Verdict::Played, games: vec![game; GAMES], usage: Usage::default() }
}

/// A program that returns `word`, with a thousandth of its score as reward.
fn episode(word: &str, score: u64) -> Episode {
    let text = format!("def strategy(board):\n    return {word:?}\n");
    let completion =
        Completion { ids: vec![2, 3, 1], logprobs: vec![0.0; 3], text: text.clone(), finish: FinishReason::Stop };
    let reward = Reward { value: score as f32 / 1000.0, parts: Vec::new() };
    Episode {
        completion,
        program: Program::from_text(&text, &entry()),
        evaluation: evaluation(score, Ending::GameOver),
        reward,
    }
}

fn prompt(id: u32, style: &str) -> Prompt {
    Prompt {
        id,
        style: style.into(),
        task: None,
        text: String::new(),
        prefill: String::new(),
        ids: vec![2],
        stop: None,
    }
}

/// A step with two prompts, `snake` and `corner`, and two completions of each.
fn take_in(elites: &mut Elites, step: usize, replays: &[(&str, u64)], words: [(&str, u64); 4]) {
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
    elites.take_in(step, &replays, StepEpisodes { prompts: &prompts, episodes: &episodes, games: GAMES }, 2);
}

fn digest(word: &str) -> String {
    episode(word, 0).program.unwrap().digest_text()
}

/// Word, games and mean score of a style's elites, best first.
fn of_style(elites: &Elites, style: &str) -> Vec<(String, u64, f64)> {
    let word = |elite: &Elite| elite.source.split('"').nth(1).unwrap().to_owned();
    let members = elites.members().filter(|(known, ..)| *known == style);
    members.map(|(_, elite, tally)| (word(elite), tally.games, tally.mean_score())).collect()
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
        elites.take_in(step, &[], StepEpisodes { prompts: &prompts, episodes: &episodes, games: GAMES }, 4);
        of_style(&elites, "snake")
    };
    let mut truncated = episode("t", 5000);
    truncated.completion.finish = FinishReason::Length;
    let frozen = |word| Episode { evaluation: evaluation(1000, Ending::Freeze), ..episode(word, 1000) };
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
        elites.draw(Seed::root(seed), count).into_iter().map(|elite| elite.program).collect()
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
fn those_with_the_fewest_games_play_again_each_program_once() {
    let mut elites = Elites::default();
    take_in(&mut elites, 1, &[], [("a", 3000), ("b", 2000), ("a", 3000), ("c", 1000)]);
    take_in(&mut elites, 2, &[("a", 3000), ("b", 2000)], [("x", 1), ("x", 1), ("x", 1), ("x", 1)]);
    let next: Vec<String> = elites.least_played(2, &entry()).into_iter().map(|(digest, _)| digest).collect();
    assert_eq!(next[0], digest("c"));
    assert_eq!(elites.least_played(9, &entry()).len(), 3);
}

#[test]
fn the_store_survives_a_checkpoint_bit_for_bit() {
    let mut elites = Elites::default();
    take_in(&mut elites, 1, &[], [("a", 3001), ("b", 1), ("c", 977), ("d", 13)]);
    take_in(&mut elites, 2, &[("a", 77)], [("e", 3), ("b", 111), ("c", 977), ("g", 17)]);
    let text = serde_json::to_string(&elites).unwrap();
    assert_eq!(serde_json::from_str::<Elites>(&text).unwrap(), elites);
}
