//! How a batch is run, with a stand-in for the sandbox. What the sandbox itself does is tested in `tests/it/arena.rs`.

use std::cell::RefCell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::play::{GameError, Play};
use super::*;
use crate::environment::game2048::{Baseline, GameLimits, entry, play, unplayed};
use crate::environment::{Ending, Outcome};
use crate::seed::Purpose;
use grpo_sandbox::{HostError, Limits};

fn rules() -> Rules {
    Rules {
        limits: Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND, memory_bytes: 128 << 20 },
        game: GameLimits { freeze_after: 4, moves_max: 100_000 },
        held_out: None,
        interprets_passing: false,
    }
}

fn program(word: &str) -> Result<Program, Rejection> {
    Program::from_text(&format!("def strategy(board):\n    return {word:?}\n"), &entry())
}

fn seeds(step: u64, count: u64) -> Vec<Seed> {
    (0..count).map(|index| Seed::root(step).child(Purpose::Game, index)).collect()
}

/// Plays the word that a program returns: a baseline, or a way to fail.
fn stand_in(rules: &Rules, program: &Program, seed: Seed) -> Result<Play, GameError> {
    let word = program.source().split('"').nth(1).unwrap_or_default();
    let failure =
        |ending| Play::Game { outcome: unplayed(seed, ending), reason: Some(word.to_owned()), compiled: false };
    let kind = match word {
        "raise" => return Ok(failure(Ending::Raised)),
        "refuse" => return Ok(Play::Rejected(Rejection::NoFunction { wanted: String::new() })),
        "panic" => panic!("the stand-in was asked to"),
        "greedy" => Baseline::Greedy,
        _ => Baseline::Random,
    };
    // Another stream for each word, so that programs differ.
    let mut player = kind.player(seed.child(Purpose::Baseline, word.len() as u64));
    let Ok(outcome) = play(&mut player, seed, &rules.game);
    let broken_off = word.starts_with("break").then(|| "IndexError: list index out of range (line 3)".to_owned());
    let ending = if broken_off.is_some() { Ending::Raised } else { outcome.ending };
    Ok(Play::Game { outcome: Outcome { ending, ..outcome }, reason: broken_off, compiled: false })
}

fn arena(workers: Workers) -> Arena {
    playing(stand_in, workers)
}

/// An arena in which `play` plays the game of a seed.
fn playing(
    play: impl Fn(&Rules, &Program, Seed) -> Result<Play, GameError> + Send + Sync + 'static,
    workers: Workers,
) -> Arena {
    let play_game = move |rules: &_, program: &_, numbered: play::Numbered, _| match numbered.case {
        Case::Seed(seed) => play(rules, program, seed),
        Case::Task(_) => unreachable!("2048 has no tasks"),
    };
    Arena::with_player(Arc::new(play_game), Arc::new(Environment::Game2048), rules(), workers).unwrap()
}

/// An arena with one worker, which waits at the gate twice in a game of the word `gate`; and the words as they are played.
fn gated() -> (Arena, Arc<Barrier>, Receiver<String>) {
    let (gate, (tell, played)) = (Arc::new(Barrier::new(2)), channel());
    let closed = Arc::clone(&gate);
    let play_game = move |rules: &Rules, program: &Program, seed| {
        let word = program.source().split('"').nth(1).unwrap_or_default();
        if word == "gate" {
            closed.wait();
            closed.wait();
        }
        // Not every test listens.
        let _ = tell.send(word.to_owned());
        stand_in(rules, program, seed)
    };
    (playing(play_game, Workers::new(1)), gate, played)
}

const EVERY_WAY: [usize; 4] = [0, 1, 2, 8];

/// Three games for each word, on the same boards.
fn evaluate_in(arena: &Arena, words: &[&str]) -> Result<Vec<Evaluation>, ArenaError> {
    let seeds = seeds(0, 3);
    arena.evaluate_all(words.iter().map(|word| (program(word), seeds.as_slice())), &mut |_, _| ())
}

/// Three games for each word, eight words on the same boards.
fn evaluate(workers: usize, words: &[&str]) -> Vec<Evaluation> {
    let boards: Vec<Vec<Seed>> = (0..=words.len() as u64 / 8).map(|group| seeds(group, 3)).collect();
    let programs = words.iter().zip(0..).map(|(word, index)| (program(word), boards[index / 8].as_slice()));
    arena(Workers::new(workers)).evaluate_all(programs, &mut |_, _| ()).unwrap()
}

fn finish(scoring: Scoring) -> Vec<Evaluation> {
    scoring.finish(&mut |_, _| ()).unwrap().into_values().collect()
}

#[test]
fn inline_and_any_number_of_workers_give_the_same_bytes_in_the_order_of_the_completions() {
    let words: Vec<String> =
        (0..64).map(|index| ["greedy", "raise", "refuse", "a"][index % 4].repeat(1 + index % 3)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let sequential: Vec<String> = evaluate(0, &words).iter().map(Evaluation::digest).collect();
    for workers in EVERY_WAY {
        let digests: Vec<String> = evaluate(workers, &words).iter().map(Evaluation::digest).collect();
        assert_eq!(digests, sequential, "{workers} workers");
    }
}

#[test]
fn evaluations_go_by_index_however_they_were_submitted() {
    let arena = arena(Workers::new(2));
    let in_order = |order: [usize; 4]| {
        let mut scoring = arena.begin(0);
        order.into_iter().for_each(|index| scoring.submit(index, program(&"a".repeat(index + 1)), &seeds(0, 2)));
        finish(scoring).iter().map(Evaluation::digest).collect::<Vec<_>>()
    };
    assert_eq!(in_order([3, 0, 2, 1]), in_order([0, 1, 2, 3]));
}

#[test]
fn a_first_call_that_fails_is_not_paid_for_again() {
    for workers in EVERY_WAY {
        let evaluation = evaluate(workers, &["raise"]).remove(0);
        assert_eq!(evaluation.start, Start::Faulted(FirstCallFault { ending: Ending::Raised, reason: "raise".into() }));
        assert_eq!(evaluation.usage.games.len(), 1, "{workers} workers");
        let seeds_played: Vec<Seed> = evaluation.games.iter().map(|game| game.seed().unwrap()).collect();
        assert_eq!(seeds_played, seeds(0, 3));
        assert!(evaluation.games.iter().all(|game| (game.score, game.ending) == (0.0, Ending::Raised)));
    }
}

#[test]
fn why_a_game_was_broken_off_after_its_first_move_is_kept_with_the_game_and_its_moves() {
    let digest = evaluate(0, &["break"])[0].digest();
    for workers in EVERY_WAY {
        let evaluation = evaluate(workers, &["break"]).remove(0);
        let moves = evaluation.games[0].moves();
        let expected = format!("game 1 after {moves} moves: IndexError: list index out of range (line 3)");
        assert_eq!(
            (evaluation.start.reason(), evaluation.reason()),
            (None, Some(expected.clone())),
            "{workers} workers"
        );
        let written = serde_json::to_string(&evaluation).unwrap();
        let read: Evaluation = serde_json::from_str(&written).unwrap();
        assert_eq!((read.reason(), read.digest()), (Some(expected), digest.clone()));
    }
    assert_eq!(evaluate(0, &["greedy"])[0].reason(), None);
}

#[test]
fn what_the_interpreter_does_not_take_is_rejected_like_what_the_parser_does_not_take() {
    let evaluation = evaluate(2, &["refuse"]).remove(0);
    assert_eq!(evaluation.start, Start::Rejected(Rejection::NoFunction { wanted: String::new() }));
    let parsed = Evaluation::rejected(Program::from_text("hello", &entry()).unwrap_err());
    assert_eq!(evaluation.digest(), parsed.digest());
}

#[test]
fn identical_programs_of_a_group_play_once_and_tie_exactly() {
    for workers in EVERY_WAY {
        let evaluations = evaluate(workers, &["greedy", "a", "greedy", "greedy"]);
        assert_eq!(evaluations[0].digest(), evaluations[2].digest());
        assert_eq!(evaluations[0].digest(), evaluations[3].digest());
        assert_ne!(evaluations[0].digest(), evaluations[1].digest());
        let reused: Vec<bool> = evaluations.iter().map(|evaluation| evaluation.usage.reused).collect();
        assert_eq!(reused, [false, false, true, true], "{workers} workers");
    }
}

#[test]
fn a_program_is_not_played_again_on_boards_it_has_played_under_the_same_rules() {
    let played = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&played);
    let play_game = move |rules: &Rules, program: &Program, seed| {
        count.fetch_add(1, Ordering::SeqCst);
        stand_in(rules, program, seed)
    };
    let arena = playing(play_game, Workers::new(2));
    let digest_of = |arena: &Arena, boards: u64| {
        let one = (program("greedy"), &seeds(boards, 3)[..]);
        arena.evaluate_all([one], &mut |_, _| ()).unwrap()[0].digest()
    };
    let first = digest_of(&arena, 1);
    assert_eq!((digest_of(&arena, 1), played.load(Ordering::SeqCst)), (first.clone(), 3));
    assert_ne!(digest_of(&arena, 2), first, "other boards");
    assert_eq!(played.load(Ordering::SeqCst), 6);
    digest_of(&arena.under(rules()), 1);
    assert_eq!(played.load(Ordering::SeqCst), 9, "rules of its own, a memory of its own");
}

#[test]
fn games_that_follow_others_have_the_numbers_after_theirs() {
    let numbers = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let told = Arc::clone(&numbers);
    let play_game = move |rules: &_, program: &_, numbered: play::Numbered, _| {
        told.lock().push(numbered.number);
        let Case::Seed(seed) = numbered.case else { unreachable!("2048 has no tasks") };
        stand_in(rules, program, seed)
    };
    let environment = Arc::new(Environment::Game2048);
    let arena = Arena::with_player(Arc::new(play_game), environment, rules(), Workers::Inline).unwrap();
    for first in [0, 2] {
        // The same boards as others are other games: a program draws by their numbers.
        arena.evaluate_from(first, [(program("greedy"), &seeds(0, 2)[..])], &mut |_, _| ()).unwrap();
    }
    assert_eq!(*numbers.lock(), [0, 1, 2, 3]);
}

#[test]
fn a_start_that_fails_says_nothing_of_other_games_where_chance_is_another() {
    let play_game = |rules: &_, program: &_, numbered: play::Numbered, _| {
        let Case::Seed(seed) = numbered.case else { unreachable!("2048 has no tasks") };
        match numbered.number {
            0 | 2 => stand_in(rules, &self::program("raise").unwrap(), seed),
            _ => stand_in(rules, program, seed),
        }
    };
    let environment = Arc::new(Environment::Game2048);
    let arena = Arena::with_player(Arc::new(play_game), environment, rules(), Workers::Inline).unwrap();
    for (first, has_begun) in [(0, [false, false]), (2, [false, true])] {
        let played = arena.evaluate_from(first, [(program("greedy"), &seeds(0, 2)[..])], &mut |_, _| ()).unwrap();
        assert_eq!(played[0].games.iter().map(Outcome::has_begun).collect::<Vec<_>>(), has_begun, "{first}");
    }
}

#[test]
fn what_two_open_batches_share_is_played_by_both_whatever_the_workers() {
    for workers in EVERY_WAY {
        let arena = arena(Workers::new(workers));
        let (mut first, mut second) = (arena.begin(0), arena.begin(0));
        first.submit(0, program("greedy"), &seeds(0, 3));
        // Long since played where nobody but the caller plays, perhaps not yet where others do.
        first.tell(&mut |_, _| ());
        second.submit(0, program("greedy"), &seeds(0, 3));
        let reused = |scoring: Scoring| finish(scoring)[0].usage.reused;
        assert_eq!([reused(first), reused(second)], [false, false], "{workers} workers");
        let mut third = arena.begin(0);
        third.submit(0, program("greedy"), &seeds(0, 3));
        assert!(reused(third), "{workers} workers");
    }
}

#[test]
fn what_nobody_has_begun_is_taken_back_and_can_be_played_here_or_elsewhere() {
    let (arena, gate, _) = gated();
    let mut scoring = arena.begin(0);
    let seeds = seeds(0, 1);
    for (index, word) in ["gate", "a", "greedy", "a", "gate"].into_iter().enumerate() {
        scoring.submit(index, program(word), &seeds);
    }
    // The only worker is in the game of the first, which the last one shares.
    gate.wait();
    let mut recalled = scoring.recall();
    recalled.sort_unstable();
    assert_eq!((recalled, scoring.recall()), (vec![1, 2, 3], vec![]));
    scoring.submit(3, program("a"), &seeds);
    scoring.submit(7, program("aa"), &seeds);
    gate.wait();
    let digests: Vec<String> = finish(scoring).iter().map(Evaluation::digest).collect();
    let alone =
        |word: &str| playing(stand_in, Workers::Inline).evaluate_all([(program(word), &seeds[..])], &mut |_, _| ());
    let expected = ["gate", "a", "gate", "aa"].map(|word| alone(word).unwrap()[0].digest());
    assert_eq!(digests, expected, "completions 0, 3, 4 and 7");

    let mut inline = playing(stand_in, Workers::Inline).begin(0);
    inline.submit(0, program("a"), &seeds);
    assert!(inline.recall().is_empty() && finish(inline).len() == 1, "all are begun at once");
}

#[test]
fn a_job_that_is_found_after_its_batch_was_taken_back_and_closed_ends_no_worker() {
    let (arena, gate, played) = gated();
    let (mut now, mut dealt) = (arena.begin(0), arena.begin(1));
    now.submit(0, program("gate"), &seeds(0, 1));
    gate.wait();
    dealt.submit(0, program("a"), &seeds(0, 1));
    assert_eq!(dealt.recall(), [0]);
    assert!(finish(dealt).is_empty());
    let mut later = arena.begin(2);
    later.submit(0, program("greedy"), &seeds(0, 1));
    gate.wait();
    // Longer than anything takes, and no hang where something is wrong.
    let played = [(); 2].map(|()| played.recv_timeout(Duration::from_secs(120)).unwrap());
    assert_eq!(played, ["gate", "greedy"], "the game at the gate, and the later one");
    assert_eq!((finish(now).len(), finish(later).len()), (1, 1));
}

#[test]
fn what_follows_from_a_game_is_played_though_nobody_asks_for_it() {
    let (tell, played) = channel();
    let play_game = move |rules: &Rules, program: &Program, seed| {
        tell.send(seed).unwrap();
        stand_in(rules, program, seed)
    };
    let arena = playing(play_game, Workers::new(2));
    let mut scoring = arena.begin(0);
    scoring.submit(0, program("greedy"), &seeds(0, 3));
    // Longer than anything takes, and no hang where something is wrong.
    let next = |_: &Seed| played.recv_timeout(Duration::from_secs(120)).unwrap();
    let mut seen: Vec<Seed> = seeds(0, 3).iter().map(next).collect();
    assert_eq!(seen[0], seeds(0, 3)[0], "the first is played alone");
    seen.sort_by_key(|seed| seeds(0, 3).iter().position(|known| known == seed));
    assert_eq!(seen, seeds(0, 3));
    assert_eq!(finish(scoring)[0].digest(), evaluate(0, &["greedy"])[0].digest());
}

#[test]
fn identical_programs_of_two_groups_play_different_boards() {
    let words = ["greedy"; 16];
    let evaluations = evaluate(8, &words);
    assert_eq!(evaluations.iter().filter(|evaluation| evaluation.usage.reused).count(), 14);
    assert_ne!(evaluations[0].digest(), evaluations[8].digest());
}

#[test]
fn a_worker_that_panics_is_an_error_with_a_name_and_the_other_verdicts_are_right() {
    let words = ["a", "greedy", "panic", "aa", "panic", "aaa"];
    let sound: Vec<String> =
        evaluate(0, &["a", "greedy", "a", "aa", "a", "aaa"]).iter().map(Evaluation::digest).collect();
    for workers in EVERY_WAY {
        let arena = arena(Workers::new(workers));
        let seen = RefCell::new(Vec::new());
        let mut on_evaluated = |index, evaluation: &Evaluation| seen.borrow_mut().push((index, evaluation.digest()));
        let seeds = seeds(0, 3);
        let programs = words.iter().map(|word| (program(word), seeds.as_slice()));
        let error = arena.evaluate_all(programs, &mut on_evaluated).unwrap_err().to_string();
        assert!(error.starts_with("completion 2: a worker panicked: the stand-in was asked to"), "{error}");
        let mut seen = seen.into_inner();
        seen.sort();
        assert_eq!(seen, [0, 1, 3, 5].map(|index| (index, sound[index].clone())), "{workers} workers");
        assert_eq!(evaluate_in(&arena, &["greedy"]).unwrap()[0].digest(), sound[1], "the arena lives on");
    }
}

/// The sandbox fails in the games of `word`, the first `times` times.
fn failing(word: &'static str, times: usize, workers: usize) -> Arena {
    let fired = AtomicUsize::new(0);
    let play_game = move |rules: &Rules, program: &Program, seed| {
        if program.source().contains(word) && fired.fetch_add(1, Ordering::SeqCst) < times {
            return Err(GameError::Host(HostError::Engine("out of address space".into())));
        }
        stand_in(rules, program, seed)
    };
    playing(play_game, Workers::new(workers))
}

#[test]
fn memory_that_a_thread_of_the_sandbox_was_refused_is_the_machine_s_fault() {
    let play_game = |_: &Rules, _: &Program, _| -> Result<Play, GameError> {
        panic!("mprotect to configure memory for sigaltstack failed: Cannot allocate memory (os error 12)")
    };
    let error = evaluate_in(&playing(play_game, Workers::new(2)), &["a"]).unwrap_err();
    assert!(matches!(error, ArenaError::Host { .. }), "{error}");
}

#[test]
fn i1_a_game_in_which_the_sandbox_failed_is_played_once_more_and_counted_and_scores_the_same() {
    let expected = evaluate(0, &["greedy", "a"]);
    for workers in EVERY_WAY {
        let evaluations = evaluate_in(&failing("greedy", 1, workers), &["greedy", "a"]).unwrap();
        assert_eq!([evaluations[0].usage.retries(), evaluations[1].usage.retries()], [1, 0]);
        assert_eq!(evaluations[0].digest(), expected[0].digest());
        assert_eq!(evaluations[1].digest(), expected[1].digest());
    }
}

#[test]
fn i5_a_game_in_which_the_sandbox_fails_twice_is_an_error_and_never_a_score() {
    for workers in EVERY_WAY {
        let arena = failing("greedy", usize::MAX, workers);
        let error = evaluate_in(&arena, &["a", "greedy"]).unwrap_err().to_string();
        assert!(error.starts_with("completion 1: the sandbox failed, and once more"), "{error}");
    }
}

#[test]
fn a_batch_that_is_dropped_leaves_the_arena_usable() {
    let arena = arena(Workers::new(2));
    let mut given_up = arena.begin(0);
    (0..50).for_each(|index| given_up.submit(index, program(&"a".repeat(index + 1)), &seeds(0, 3)));
    drop(given_up);
    assert_eq!(evaluate_in(&arena, &["greedy"]).unwrap()[0].digest(), evaluate(0, &["greedy"])[0].digest());
}

#[test]
fn the_cost_of_an_evaluation_is_no_part_of_its_digest() {
    let mut evaluation = evaluate(0, &["greedy"]).remove(0);
    let digest = evaluation.digest();
    let game = GameUsage {
        game: 2,
        worker: Some(5),
        begin: Some(Instant::now()),
        wall: Duration::from_secs(9),
        failed: true,
        compiled: false,
    };
    evaluation.usage = Usage { games: vec![game; 4], reused: true, difference: None };
    assert_eq!(evaluation.digest(), digest);
    // As another process hears of it, whose clock is another one.
    let told = serde_json::to_string(&evaluation.usage).unwrap();
    let heard: Usage = serde_json::from_str(&told).unwrap();
    assert_eq!(heard.games, [GameUsage { begin: None, ..game }; 4]);
    assert!(heard.reused);
    evaluation.games[0].fuel += 1;
    assert_ne!(evaluation.digest(), digest);
}

#[test]
fn usage_names_the_worker_of_every_game_and_a_worker_plays_one_at_a_time() {
    for workers in EVERY_WAY {
        let start = Instant::now();
        let evaluations = evaluate(workers, &["greedy", "other", "raise"]);
        let games: Vec<GameUsage> = evaluations.iter().flat_map(|evaluation| evaluation.usage.games.clone()).collect();
        assert_eq!(games.len(), 3 + 3 + 1, "the first call of `raise` fails, and it is not played again");
        let (begin, end) = (|game: &GameUsage| game.begin.unwrap(), |game: &GameUsage| game.begin.unwrap() + game.wall);
        assert!(games.iter().all(|game| begin(game) >= start && end(game) <= Instant::now() && !game.failed));
        assert!(games.iter().all(|game| game.worker.map_or(0, |worker| worker + 1).min(1) == workers.min(1)));
        for worker in 0..workers.max(1) {
            let mut own: Vec<_> = games.iter().filter(|game| game.worker.unwrap_or(0) == worker).collect();
            own.sort_by_key(|game| game.begin);
            assert!(own.windows(2).all(|pair| end(pair[0]) <= begin(pair[1])), "{workers} workers: {own:?}");
        }
        let mut of_greedy: Vec<usize> = evaluations[0].usage.games.iter().map(|game| game.game).collect();
        of_greedy.sort_unstable();
        assert_eq!(of_greedy, [0, 1, 2]);
    }
}

#[test]
fn an_evaluation_survives_a_log() {
    for evaluation in evaluate(0, &["greedy", "raise", "refuse"]) {
        let line = serde_json::to_string(&evaluation).unwrap();
        let read: Evaluation = serde_json::from_str(&line).unwrap();
        assert_eq!(read.digest(), evaluation.digest());
    }
}

#[test]
fn workers_are_shared_and_rules_are_not() {
    for workers in EVERY_WAY {
        let usual = arena(Workers::new(workers));
        let short = usual.under(Rules { game: GameLimits { moves_max: 10, ..rules().game }, ..rules() });
        let (mut long_games, mut short_games) = (usual.begin(0), short.begin(0));
        long_games.submit(0, program("greedy"), &seeds(0, 3));
        short_games.submit(0, program("greedy"), &seeds(0, 3));
        let moves = |evaluation: Vec<Evaluation>| evaluation[0].games.iter().map(|game| game.moves()).max();
        assert_eq!(moves(finish(short_games)), Some(10), "{workers} workers");
        assert!(moves(finish(long_games)) > Some(100), "{workers} workers");
    }
}

#[test]
fn batches_of_one_turn_have_games_played_alternately_and_those_of_a_lower_turn_first() {
    let (arena, gate, played) = gated();
    let submitted = |turn: usize, words: &[&str]| {
        let mut scoring = arena.begin(turn);
        words.iter().enumerate().for_each(|(index, word)| scoring.submit(index, program(word), &seeds(0, 1)));
        scoring
    };
    let first = submitted(0, &["gate"]);
    gate.wait();
    // All others wait while the only worker plays.
    let mut batches = [
        submitted(2, &["last"]),
        submitted(1, &["a1", "a2", "a3", "a4"]),
        submitted(1, &["b1"]),
        submitted(1, &["c1", "c2"]),
        submitted(0, &["lower"]),
    ];
    batches[2].submit(1, program("b2"), &seeds(0, 1));
    gate.wait();
    finish(first);
    batches.into_iter().for_each(|batch| drop(finish(batch)));
    let order = ["gate", "lower", "a1", "b1", "c1", "a2", "b2", "c2", "a3", "a4", "last"];
    assert_eq!(played.try_iter().collect::<Vec<_>>(), order);
}
