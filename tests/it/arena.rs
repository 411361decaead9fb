//! Tests from the text of a completion to its reward, with the real sandbox.

use grpo_2048::arena::{Arena, Evaluation, Start, Workers};
use grpo_2048::environment::game2048::{Baseline, Board, GameLimits, entry, play, replay};
use grpo_2048::environment::{Ending, Environment, Outcome};
use grpo_2048::program::{Program, Rejection};
use grpo_2048::reward::Rule;
use grpo_2048::seed::{Purpose, Seed};
use grpo_sandbox::{Sandbox, TierChoice};

use crate::inside::{CONFIG, SANDBOX, rules};

pub(super) fn arena(workers: usize) -> Arena {
    Arena::new(SANDBOX.clone(), Environment::Game2048, rules(), Workers::new(workers)).unwrap()
}

fn seeds(count: u64) -> Vec<Seed> {
    (0..count).map(|index| Seed::root(2048).child(Purpose::HeldOut, index)).collect()
}

pub(super) fn evaluate(workers: usize, texts: &[&str], games: u64) -> Vec<Evaluation> {
    let seeds = seeds(games);
    let programs = texts.iter().map(|text| (Program::from_text(text, &entry()), seeds.as_slice()));
    arena(workers).evaluate_all(programs, &mut |_, _| ()).unwrap()
}

fn evaluate_one(text: &str, games: u64) -> Evaluation {
    evaluate(2, &[text], games).remove(0)
}

fn returning(expression: &str) -> String {
    format!("def strategy(board):\n    return {expression}\n")
}

const CONSTANT: &str = include_str!("../../crates/environment/src/game2048/ladder/constant.py");
const RANDOM: &str = include_str!("../../crates/environment/src/game2048/ladder/random_move.py");
const CYCLE: &str = include_str!("../../crates/environment/src/game2048/ladder/cycle.py");
const PRIORITY: &str = include_str!("../../crates/environment/src/game2048/ladder/priority.py");
const GREEDY: &str = include_str!("../../crates/environment/src/game2048/ladder/greedy.py");
const MONOTONE: &str = include_str!("../../crates/environment/src/game2048/ladder/monotone.py");
const TWO_PLY: &str = include_str!("../../crates/environment/src/game2048/ladder/two_ply.py");

/// The programs of the ladder, each with enough games to distinguish it from the next.
const LADDER: [(&str, &str, usize); 10] = [
    ("no program", "I would move up.", 1),
    ("does not compile", "def strategy(board):\n    return (", 1),
    ("raises", "def strategy(board):\n    return board[4]", 1),
    ("returns no move", "def strategy(board):\n    pass", 1),
    ("constant", CONSTANT, 50),
    ("random", RANDOM, 80),
    ("cycle", CYCLE, 80),
    ("greedy", GREEDY, 80),
    ("monotone", MONOTONE, 12),
    ("two-ply", TWO_PLY, 6),
];

/// The last one, which looks two moves ahead, takes longer than all others together. By day the test of the reward check holds
/// that it earns more than the one before it.
#[test]
fn i3_a_stronger_program_earns_more() {
    expect_more_for_stronger(&LADDER[..9]);
}

#[test]
#[ignore = "the dearest program; `make proofs` runs it"]
fn the_strongest_program_of_the_ladder_earns_the_most() {
    expect_more_for_stronger(&LADDER);
}

fn expect_more_for_stronger(ladder: &[(&str, &str, usize)]) {
    let boards = seeds(80);
    let programs = ladder.iter().map(|(_, code, games)| {
        let completion = format!("Here is my strategy.\n```python\n{code}\n```\nIt plays well, I hope.\n");
        (Program::from_text(&completion, &entry()), &boards[..*games])
    });
    let evaluations = arena(8).evaluate_all(programs, &mut |_, _| ()).unwrap();
    let rewards: Vec<f32> = evaluations
        .iter()
        .map(|evaluation| Rule::new(&CONFIG.reward, &Environment::Game2048).score(evaluation).value)
        .collect();
    let table: Vec<String> = ladder
        .iter()
        .zip(evaluations.iter().zip(&rewards))
        .map(|((name, ..), (evaluation, reward))| {
            format!("{name}: mean score {:.0}, reward {reward:.3}", evaluation.mean_score())
        })
        .collect();
    assert!(rewards.is_sorted_by(|lower, higher| lower < higher), "{}", table.join("\n"));
}

#[test]
fn i2_inline_and_any_number_of_workers_give_the_same_bytes() {
    let hang = "def strategy(board):\n    while True: pass\n";
    let set_order = "def strategy(board):\n    return list({'W', 'A', 'S', 'D'})[id(board) % 4]\n";
    let texts = [GREEDY, "nothing", RANDOM, hang, CYCLE, CONSTANT, RANDOM, set_order, PRIORITY];
    let sequential: Vec<String> = evaluate(0, &texts, 3).iter().map(Evaluation::digest).collect();
    assert_eq!(sequential[2], sequential[6], "identical programs tie exactly");
    for workers in [1, 2, 8] {
        let digests: Vec<String> = evaluate(workers, &texts, 3).iter().map(Evaluation::digest).collect();
        assert_eq!(digests, sequential, "{workers} workers");
    }
}

#[test]
fn a_logged_game_can_be_replayed_with_the_engine_alone() {
    for game in evaluate_one(GREEDY, 3).games {
        let trace = game.board().unwrap();
        let (score, board) = replay(game.seed().unwrap(), &trace.moves_text).unwrap();
        assert_eq!((score as f64, Some(board)), (game.score, Board::from_cells(&trace.final_board)));
        assert!(board.is_stuck() && game.ending == Ending::GameOver && game.fuel > 0);
        assert_eq!(trace.moves as usize, trace.moves_text.len(), "a greedy program makes no idle move");
    }
}

#[test]
fn the_same_strategy_in_python_and_in_rust_plays_the_same_game() {
    let evaluation = evaluate_one(GREEDY, 5);
    for game in evaluation.games {
        let limits = GameLimits { freeze_after: 4, moves_max: 100_000 };
        let seed = game.seed().unwrap();
        let Ok(native) = play(&mut Baseline::Greedy.player(seed), seed, &limits);
        assert_eq!((native.moves_text(), native.score), (game.moves_text(), game.score));
    }
}

#[test]
fn a_program_plays_a_copy_of_the_board() {
    let honest = evaluate_one(PRIORITY, 2);
    let meddling = PRIORITY.replace("    columns =", "    board = [list(row) for row in board]\n    columns =");
    let spoiling = format!(
        "{}\n\n\nplay = strategy\n\n\ndef strategy(board):\n    move = play(board)\n    board[0][0] = 2048\n    board.clear()\n    return move\n",
        PRIORITY
    );
    for text in [meddling, spoiling] {
        let evaluation = evaluate_one(&text, 2);
        assert!(evaluation.games.iter().zip(&honest.games).all(|(a, b)| a.moves_text() == b.moves_text()));
    }
}

#[test]
fn i5_a_failure_of_the_first_call_is_the_verdict() {
    for (expression, ending) in [
        ("1 / 0", Ending::Raised),
        ("__import__('pandas')", Ending::Raised),
        ("'W' * 10 ** 9", Ending::OutOfMemory),
        ("strategy(board)", Ending::StackOverflow),
        ("sum(iter(int, 1))", Ending::Hung),
        ("None", Ending::BadMove),
        ("'w'", Ending::BadMove),
        ("'W '", Ending::BadMove),
        ("'WASD'", Ending::BadMove),
        ("0", Ending::BadMove),
    ] {
        let evaluation = evaluate_one(&returning(expression), 2);
        match &evaluation.start {
            Start::Faulted(fault) => assert_eq!(fault.ending, ending, "{expression}: {fault}"),
            verdict => panic!("{expression}: {verdict:?}"),
        }
        assert_eq!(evaluation.games.len(), 2);
        assert_eq!(evaluation.usage.games.len(), 1, "{expression} is not paid for twice");
    }
}

#[test]
fn a_module_that_hangs_or_raises_while_it_loads_or_unmakes_its_function_fails_in_its_first_call() {
    for (text, ending) in [
        (format!("while True: pass\n{CONSTANT}"), Ending::Hung),
        (format!("import pandas\n{CONSTANT}"), Ending::Raised),
        (format!("x = board\n{CONSTANT}"), Ending::Raised),
        (format!("{CONSTANT}\nstrategy = None\n"), Ending::Raised),
    ] {
        match evaluate_one(&text, 2).start {
            Start::Faulted(fault) => assert_eq!(fault.ending, ending, "{text}: {fault}"),
            verdict => panic!("{text}: {verdict:?}"),
        }
    }
}

#[test]
fn what_only_the_interpreter_refuses_is_rejected_all_the_same() {
    for (code, line) in [
        ("def strategy(board):\n    nonlocal best\n    return 'W'\n", 2),
        ("return 'W'\ndef strategy(board):\n    return 'W'\n", 1),
        ("def strategy(board):\n    return 'W'\n\ndef other():\n    x = 1\n    global x\n    break\n", 6),
    ] {
        match evaluate_one(code, 2).start {
            Start::Rejected(Rejection::NotCompiled { line: found, lines, message }) => {
                assert_eq!((found, lines), (line, code.lines().count() as u32), "{message}");
            }
            verdict => panic!("{code}: {verdict:?}"),
        }
    }
}

#[test]
fn a_failure_in_mid_game_keeps_the_score_so_far() {
    let failing = |statement: &str| {
        let counting = "def strategy(board, calls=[0]):\n    calls[0] += 1\n    if calls[0] > 40:\n        ";
        format!("{counting}{statement}\n    return 'WASD'[calls[0] % 4]\n")
    };
    let cycle = evaluate_one(CYCLE, 1).games.remove(0);
    for (statement, ending) in [
        ("raise KeyError('x')", Ending::Raised),
        ("return 'Up'", Ending::BadMove),
        ("while True: pass", Ending::Hung),
        ("return 'A'", Ending::Freeze),
    ] {
        let evaluation = evaluate_one(&failing(statement), 1);
        assert_eq!(evaluation.start, Start::Played, "{statement}");
        let game = &evaluation.games[0];
        assert_eq!(game.ending, ending, "{statement}");
        assert_eq!(game.moves_text()[..40], cycle.moves_text()[..40]);
        assert!(game.score > 0.0 && game.score == replay(game.seed().unwrap(), game.moves_text()).unwrap().0 as f64);
    }
}

#[test]
fn a_slow_program_plays_until_its_budget_is_used_up() {
    let slow = "def strategy(board, calls=[0]):\n    calls[0] += 1\n    sum(range(3 * 10 ** 5))\n    return 'WASD'[calls[0] % 4]\n";
    let game = evaluate_one(slow, 1).games.remove(0);
    let budget = rules().limits.game_fuel;
    assert_eq!((game.ending, game.fuel), (Ending::OutOfFuel, budget));
    assert!(game.score > 0.0);
}

/// Number of rounds of an empty loop that make a call expensive, and its fuel in this tier.
fn dear(sandbox: &Sandbox) -> (u64, u64) {
    const ROUNDS: u64 = 20_000;
    let source = format!("def strategy(board):\n    for _ in range({ROUNDS}):\n        pass\n    return 'W'\n");
    let mut session = sandbox.load(&source, 0, &rules().limits).unwrap();
    let before = session.fuel_used();
    session.call("strategy", "[[[2,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,2]]]").unwrap();
    (ROUNDS, session.fuel_used() - before)
}

#[test]
fn a_loop_without_end_breaks_off_however_much_was_burnt_before_and_a_slow_search_does_not() {
    for tier in [TierChoice::Auto, TierChoice::Interpreter] {
        let sandbox = SANDBOX.with_tiers(tier, 0);
        let (rounds, cost) = dear(&sandbox);
        let ended = |body: &str, calls: u64| {
            let mut rules = rules();
            // The last call gets less fuel than the limit of a call, because the budget of the game ends.
            (rules.limits.game_fuel, rules.limits.call_fuel) = (calls * cost, cost * 3 / 2);
            let arena = Arena::new(sandbox.clone(), Environment::Game2048, rules, Workers::Inline).unwrap();
            let burn = format!("for _ in range({rounds}):\n            pass");
            let text =
                format!("turn = [0]\n\ndef strategy(board):\n    turn[0] += 1\n{body}    return 'WASD'[turn[0] % 4]\n");
            let text = text.replace("BURN", &burn).replace("LOOP", "while True:\n            pass");
            let program = (Program::from_text(&text, &entry()), &seeds(1)[..]);
            let evaluation = arena.evaluate_all([program], &mut |_, _| ()).unwrap().remove(0);
            assert_eq!(evaluation.start, Start::Played);
            (evaluation.games[0].ending, Rule::new(&CONFIG.reward, &Environment::Game2048).score(&evaluation).value)
        };
        let (honest, _) = ended("    if True:\n        BURN\n", 25);
        assert_eq!(honest, Ending::OutOfFuel, "{tier:?}: every call is as dear as the last");
        let (adaptive, _) = ended("    if turn[0] > 20:\n        BURN\n", 25);
        assert_eq!(adaptive, Ending::OutOfFuel, "{tier:?}: a search that gets dear late");
        // Freezing at the fifth move has a negative reward, which a budget must not hide.
        let (burnt, worth) = ended("    if turn[0] <= 4:\n        BURN\n    else:\n        LOOP\n", 5);
        assert!((burnt, worth < 0.0) == (Ending::Hung, true), "{tier:?}: {burnt} {worth}");
        let late = "    if turn[0] <= 4:\n        BURN\n    elif turn[0] > 60:\n        LOOP\n";
        assert_eq!(ended(late, 6).0, Ending::Hung, "{tier:?}: cheap moves between");
    }
}

#[test]
fn a_program_remembers_within_a_game_and_never_beyond() {
    let once = "def strategy(board, calls=[0]):\n    calls[0] += 1\n    if calls[0] == 1:\n        return 'WASD'[hash(str(board)) % 4]\n    return 'WASD'[calls[0] % 4]\n";
    // Fuel is not compared, because the number of a game seeds its `random`, which changes the cost slightly.
    let played = |game: Outcome| (game.case, game.score, game.ending, game.moves_text().to_owned());
    let alone: Vec<_> = seeds(4)
        .into_iter()
        .map(|seed| {
            let program = (Program::from_text(once, &entry()), &[seed][..]);
            played(arena(0).evaluate_all([program], &mut |_, _| ()).unwrap().remove(0).games.remove(0))
        })
        .collect();
    let together: Vec<_> = evaluate(0, &[once], 4).remove(0).games.into_iter().map(played).collect();
    assert_eq!(together, alone);
}

#[test]
fn random_differs_from_game_to_game_and_repeats() {
    let evaluation = evaluate_one(RANDOM, 4);
    let openings: std::collections::BTreeSet<&str> =
        evaluation.games.iter().map(|game| &game.moves_text()[..8]).collect();
    assert_eq!(openings.len(), 4, "{openings:?}");
    assert_eq!(evaluation.games, evaluate_one(RANDOM, 4).games);
}

#[test]
fn random_tells_a_program_nothing_of_the_board() {
    let openings = |text: &str, boards: &[Seed]| -> Vec<String> {
        let program = [(Program::from_text(text, &entry()), boards)];
        let evaluation = arena(2).evaluate_all(program, &mut |_, _| ()).unwrap().remove(0);
        evaluation.games.iter().map(|game| game.moves_text()[..8].to_owned()).collect()
    };
    let boards = seeds(8);
    let first = openings(RANDOM, &boards[..4]);
    assert_eq!(openings(RANDOM, &boards[4..]), first, "what is drawn depends on the board");
    assert_ne!(openings(&format!("{RANDOM}# another\n"), &boards[..4]), first, "two programs draw the same");
}
