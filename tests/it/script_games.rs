//! Tests of games whose rules are a Python file, with the real sandbox.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use grpo_2048::arena::{Arena, ArenaError, Evaluation, Rules, Start, Workers};
use grpo_2048::environment::game2048::{Baseline, Board, Choice, Game, Strategy};
use grpo_2048::environment::{Ending, Environment, Outcome, ScriptGame, Trace, Transcript};
use grpo_2048::program::Program;
use grpo_2048::seed::{Purpose, Seed};
use grpo_sandbox::{FUEL_PER_SECOND, Limits, TierChoice};

use crate::inside::{self, SANDBOX};

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

/// Limits of a tenth of a second for a program, and therefore of a second for a call of its game.
fn rules() -> Rules {
    let mut rules = inside::rules();
    (rules.limits.game_fuel, rules.limits.call_fuel) = (FUEL_PER_SECOND / 10, FUEL_PER_SECOND / 20);
    rules
}

fn seeds(count: u64) -> Vec<Seed> {
    (0..count).map(|index| Seed::root(2584).child(Purpose::HeldOut, index)).collect()
}

fn evaluate(
    game: &ScriptGame,
    texts: &[&str],
    (rules, workers): (Rules, usize),
    games: u64,
) -> Result<Vec<Evaluation>, ArenaError> {
    let arena = Arena::new(SANDBOX.clone(), Environment::Script(game.clone()), rules, Workers::new(workers)).unwrap();
    let seeds = seeds(games);
    let programs = texts.iter().map(|text| (Program::from_text(text, game.entry()), seeds.as_slice()));
    arena.evaluate_all(programs, &mut |_, _| ())
}

/// The outcome of a program's first game.
fn play(game: &ScriptGame, text: &str) -> Result<(Start, Outcome), String> {
    let evaluation = evaluate(game, &[text], (rules(), 1), 1).map_err(|error| error.to_string())?.remove(0);
    Ok((evaluation.start, evaluation.games[0].clone()))
}

fn transcript(outcome: &Outcome) -> &Transcript {
    let Trace::Transcript(transcript) = &outcome.trace else { panic!("{outcome:?}") };
    transcript
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// A game with this source, to which the texts and constants are added.
fn game(name: &str, rules: &str) -> ScriptGame {
    let path = FOLDER.path().join(format!("{name}.py"));
    let source = format!("'''Rules.'''\nENTRY, SCALE = 'strategy(seen)', 10\n{rules}");
    std::fs::write(&path, source).unwrap();
    ScriptGame::open(&path).unwrap()
}

const RESET: &str = "def reset():\n    return 0\n";

/// A game whose function `step` has this body.
fn stepping(name: &str, step: &str) -> ScriptGame {
    game(name, &format!("{RESET}def step(action):\n    {}\n", step.replace('\n', "\n    ")))
}

fn returning(expression: &str) -> String {
    format!("def strategy(seen):\n    return {expression}\n")
}

/// The scores of the reference players, weakest first, and the outcome of the strongest.
fn means(game: &ScriptGame) -> (Vec<f64>, Evaluation) {
    let texts: Vec<&str> = game.references().iter().map(|player| player.source.as_str()).collect();
    let mut evaluations = evaluate(game, &texts, (inside::rules(), 4), 6).unwrap();
    (evaluations.iter().map(Evaluation::mean_score).collect(), evaluations.pop().unwrap())
}

#[test]
fn reference_players_of_every_example_stand_in_the_order_of_their_ranks() {
    for file in ["2048.py", "fewest_moves.py", "2584.py", "snake.py", "connect_four.py"] {
        let game = ScriptGame::open(&examples().join(file)).unwrap();
        let (means, strongest) = means(&game);
        assert!(means.is_sorted_by(|a, b| a < b), "{file}: {means:?}");
        assert!(strongest.games.iter().all(|game| game.ending == Ending::GameOver), "{file}: {:?}", strongest.games);
        assert!((0.2..=2.0).contains(&(means.last().unwrap() / game.scale())), "{file}: {means:?}");
    }
}

#[test]
fn the_game_of_the_documentation_is_one() {
    let page = include_str!("../../docs/games.md");
    let path = FOLDER.path().join("number.py");
    std::fs::write(&path, page.split("```").nth(1).unwrap().strip_prefix("python\n").unwrap()).unwrap();
    let (means, strongest) = means(&ScriptGame::open(&path).unwrap());
    assert!(means.is_sorted_by(|a, b| a < b) && strongest.plays(), "{means:?}");
}

/// A new tile: its cell and value.
type Drop = ((usize, usize), u32);

fn drops(before: [[u32; 4]; 4], after: [[u32; 4]; 4]) -> impl Iterator<Item = Drop> {
    let cells = (0..16).map(|cell| (cell / 4, cell % 4));
    cells
        .filter(move |&(row, column)| before[row][column] != after[row][column])
        .map(move |(row, column)| ((row, column), after[row][column]))
}

#[test]
fn the_example_and_the_engine_play_the_same_2048_given_the_same_drops() {
    let example = std::fs::read_to_string(examples().join("2048.py")).unwrap();
    let limits = Limits { game_fuel: 60 * FUEL_PER_SECOND, ..rules().limits };
    let json = |board: Board| serde_json::to_string(&board.cells()).unwrap();
    let (mut moves, mut idle_moves) = (0, 0);
    for (index, seed) in seeds(12).into_iter().enumerate() {
        let baseline = if index % 2 == 0 { Baseline::Greedy } else { Baseline::Random };
        let (mut engine, mut player) = (Game::new(seed), baseline.player(seed));
        let begin = engine.board();
        let mut fallen: Vec<Drop> = drops([[0; 4]; 4], begin.cells()).collect();
        let (mut turns, mut idle) = (Vec::new(), 0);
        while !engine.is_over() && idle < 3 {
            let Ok(Choice::Move(direction)) = player.choose(&engine.board()) else { panic!() };
            let (pushed, gain) = engine.board().slide(direction);
            idle = if engine.play(direction) { 0 } else { idle + 1 };
            idle_moves += u32::from(idle > 0);
            fallen.extend(drops(pushed.cells(), engine.board().cells()));
            let turn = format!("{{\"()\":[{},{gain},{}]}}", json(engine.board()), engine.is_over());
            turns.push((format!("[\"{}\"]", direction.letter()), turn));
        }
        let fallen: Vec<String> =
            fallen.iter().map(|((row, column), tile)| format!("(({row}, {column}), {tile})")).collect();
        let source = format!("{example}\ndrop = iter([{}]).__next__\n", fallen.join(", "));
        let mut session = SANDBOX.load(&source, 0, &limits).unwrap();
        assert_eq!(session.call("reset", "[]").unwrap(), json(begin));
        for (arguments, turn) in turns {
            assert_eq!(session.call("step", &arguments).unwrap(), turn, "{arguments}");
            moves += 1;
        }
    }
    assert!(moves > 1500 && idle_moves > 50, "{moves} moves, {idle_moves} of them idle");
}

#[test]
fn four_idle_moves_break_a_game_of_the_example_off_as_the_engine_does() {
    let game = ScriptGame::open(&examples().join("2048.py")).unwrap();
    let (_, outcome) = play(&game, "def strategy(board):\n    return 'A'\n").unwrap();
    assert_eq!(outcome.ending, Ending::BadMove);
    assert!(transcript(&outcome).actions.iter().all(|action| action == "\"A\""));
}

#[test]
fn rewards_are_summed_until_the_game_says_so() {
    let rules = "N = 0\n\
                 def reset():\n    return 0\n\
                 def step(action):\n    global N\n    N += 1\n    return [N, action / 2, N == 5]\n";
    let (verdict, outcome) = play(&game("summed", rules), &returning("seen")).unwrap();
    assert_eq!((verdict, outcome.ending, outcome.score), (Start::Played, Ending::GameOver, 5.0));
    let Transcript { moves, actions, last_observation, game_fuel } = transcript(&outcome);
    assert_eq!((*moves, actions.join(" "), last_observation.as_str()), (5, "0 1 2 3 4".into(), "5"));
    assert!(*game_fuel > 0 && outcome.fuel > 0);
}

#[test]
fn a_value_error_is_a_bad_move_and_leaves_the_score_so_far() {
    let game =
        stepping("bad_move", "if action == 3: raise ValueError('three is no move')\nreturn action + 1, 1, False");
    let (verdict, outcome) = play(&game, &returning("seen")).unwrap();
    assert_eq!((verdict, outcome.ending, outcome.score), (Start::Played, Ending::BadMove, 3.0));
    let (verdict, outcome) = play(&game, &returning("3")).unwrap();
    assert_eq!((outcome.ending, outcome.score), (Ending::BadMove, 0.0));
    assert_eq!(verdict.reason().unwrap(), "returned 3: three is no move");
}

#[test]
fn what_is_a_value_error_by_the_types_above_it_is_a_bad_move_too() {
    let game = |name: &str, raise: &str| {
        let classes =
            "import json\nclass Illegal(ValueError): pass\nclass Taken(Illegal): pass\nclass Bug(KeyError): pass\n";
        let step = format!("def step(action):\n    if action == 2: {raise}\n    return action + 1, 1, False\n");
        game(name, &format!("{classes}{RESET}{step}"))
    };
    for (name, raise) in [
        ("own_error", "raise Illegal('no')"),
        ("lower_error", "raise Taken('no')"),
        ("no_json", "json.loads('no')"),
        ("no_text", "bytes([255]).decode()"),
    ] {
        let (verdict, outcome) = play(&game(name, raise), &returning("seen")).unwrap_or_else(|said| panic!("{said}"));
        assert_eq!((verdict, outcome.ending, outcome.score), (Start::Played, Ending::BadMove, 2.0), "{raise}");
    }
    let said = play(&game("bug", "raise Bug('a bug')"), &returning("seen")).unwrap_err();
    assert!(said.contains("step(2), move 3 of the game with seed") && said.contains("Bug: "), "{said}");
}

#[test]
fn a_game_has_as_many_moves_as_its_file_says() {
    let game = game("limit", &format!("MOVES = 7\n{RESET}def step(action):\n    return 0, 1, False\n"));
    let (_, outcome) = play(&game, &returning("0")).unwrap();
    assert_eq!((outcome.ending, outcome.score, transcript(&outcome).moves), (Ending::MoveLimit, 7.0, 7));
}

#[test]
fn a_program_fails_as_it_does_elsewhere() {
    let game = stepping("failures", "return action + 1, 1, False");
    for (expression, ending) in [
        ("1 / 0 if seen == 2 else seen", Ending::Raised),
        ("'W' * 10 ** 9 if seen == 2 else seen", Ending::OutOfMemory),
        ("strategy(seen) if seen == 2 else seen", Ending::StackOverflow),
        ("sum(iter(int, 1)) if seen == 2 else seen", Ending::Hung),
        ("object() if seen == 2 else seen", Ending::BadMove),
        ("'W' * 70_000 if seen == 2 else seen", Ending::BadMove),
        ("sum(range(10_000)) and seen", Ending::OutOfFuel),
    ] {
        let (verdict, outcome) = play(&game, &returning(expression)).unwrap();
        assert_eq!((verdict, outcome.ending), (Start::Played, ending), "{expression}");
        assert!(outcome.score >= 2.0, "{expression}: {}", outcome.score);
    }
    let (verdict, _) = play(&game, "import sys\nsys.exit(1)\ndef strategy(seen): return 1").unwrap();
    assert_eq!(verdict.reason().unwrap(), "SystemExit: 1 (line 2)");
    let rejected =
        evaluate(&game, &["def strategy(seen):\n    return seen\n    nonlocal seen\n"], (rules(), 1), 2).unwrap();
    assert!(matches!(rejected[0].start, Start::Rejected(_)), "{:?}", rejected[0].start);
}

#[test]
fn both_tiers_say_alike_why_a_game_was_broken_off_and_after_how_many_moves() {
    let game = stepping("reasons", "if action == 9: raise ValueError('nine')\nreturn action + 1, 1, False");
    for (expression, expected) in [
        ("[0, 1][seen]", "game 1 after 2 moves: IndexError: list index out of range (line 2)"),
        ("9 if seen == 3 else seen", "game 1 after 3 moves: returned 9: nine"),
    ] {
        let reasons = [TierChoice::Auto, TierChoice::Interpreter].map(|tier| {
            let (sandbox, environment) = (SANDBOX.with_tiers(tier, 0), Environment::Script(game.clone()));
            let arena = Arena::new(sandbox, environment, rules(), Workers::new(1)).unwrap();
            let (program, seeds) = (Program::from_text(&returning(expression), game.entry()), seeds(2));
            arena.evaluate_all([(program, &seeds[..])], &mut |_, _| ()).unwrap()[0].reason()
        });
        assert_eq!(reasons, [(); 2].map(|()| Some(expected.to_owned())), "{expression}");
    }
}

#[test]
fn values_cross_as_they_are_and_as_copies() {
    let rules = "SEEN = {'a': [1.0, None, True], (1, 'b'): {2, 3}, 'x': (b'z', -0.0, 2 ** 70, 'é\\n\"', 1j)}\n\
                 def reset():\n    return SEEN\n\
                 def step(action):\n    \
                     return SEEN, 1 if action == SEEN and repr(action) == repr(SEEN) else 0, len(SEEN) != 3 or action is SEEN\n\
                 MOVES = 3\n";
    let copy = "import copy\ndef strategy(seen):\n    kept = copy.deepcopy(seen)\n    seen.clear()\n    return kept\n";
    let (_, outcome) = play(&game("values", rules), copy).unwrap();
    assert_eq!((outcome.ending, outcome.score), (Ending::MoveLimit, 3.0), "{outcome:?}");
}

#[test]
fn chance_of_a_game_is_the_same_for_a_whole_group_whatever_programs_draw() {
    let rules = "import random\n\
                 def reset():\n    return random.random()\n\
                 def step(action):\n    return random.random(), 1, False\n\
                 MOVES = 5\n";
    let game = game("chance", rules);
    let idle = returning("0");
    let drawing = "import random\ndef strategy(seen):\n    random.seed(1)\n    return random.random()\n";
    let last = |text: &str| transcript(&play(&game, text).unwrap().1).last_observation.clone();
    assert_eq!(last(&idle), last(drawing));
    let evaluation = evaluate(&game, &[&idle], (self::rules(), 2), 2).unwrap().remove(0);
    assert_ne!(transcript(&evaluation.games[0]).last_observation, transcript(&evaluation.games[1]).last_observation);
}

#[test]
fn inline_and_any_number_of_workers_give_the_same_bytes() {
    let game = ScriptGame::open(&examples().join("snake.py")).unwrap();
    let mut texts: Vec<&str> = game.references().iter().take(3).map(|player| player.source.as_str()).collect();
    texts.extend([
        "nothing",
        "def strategy(view):\n    return id(view) % 4",
        "import random\ndef strategy(view):\n    return random.choice('WASD')",
    ]);
    let digests = |workers| -> Vec<String> {
        evaluate(&game, &texts, (rules(), workers), 3).unwrap().iter().map(Evaluation::digest).collect()
    };
    let inline = digests(0);
    for workers in [1, 2, 8] {
        assert_eq!(digests(workers), inline, "{workers} workers");
    }
}

/// The message about a game that fails, played by a program without errors.
fn mistake(game: &ScriptGame) -> String {
    let said = play(game, &returning("0")).unwrap_err();
    let path = game.path().display().to_string();
    said.strip_prefix(&path).unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
fn a_game_that_fails_stops_the_run_and_is_told_where() {
    for (name, step, expected) in [
        ("endless", "while True: pass", ": step(0), move 1 of the game with seed"),
        ("endless_call", "while True: pass", "did not end within 1.0 seconds of a reference core"),
        ("allocates", "return [0] * 10 ** 9, 1, False", "out of memory"),
        ("recursion", "return step(action)", "stack overflow"),
        ("raises", "return {}['x']", "KeyError: 'x'"),
        ("beside", "import helpers", "'helpers' (line 6); a game is one file, and may import what programs may"),
        ("exits", "import sys; sys.exit(0)", "SystemExit: 0"),
        ("opens", "open('/etc/passwd')", "Error: "),
        ("nan", "return 0, float('nan'), False", "returned the reward nan; expected a finite number"),
        ("inf", "return 0, -float('inf'), False", "returned the reward -inf; expected a finite number"),
        ("huge", "return 0, 10 ** 400, False", "expected a finite number"),
        ("words", "return 0, '1', False", "returned the reward '1'; expected a finite number"),
        ("none", "return None", "returned None; expected (observation, reward, done)"),
        ("five", "return 0, 1, False, False, {}", "returned 5 items; expected (observation, reward, done)"),
        ("done", "return 0, 1, 0", "returned 0 as `done`; expected True or False"),
        ("object", "return object(), 1, False", "returned object, which cannot leave the sandbox"),
        ("function", "return [step], 1, False", "returned function, which cannot leave the sandbox"),
        ("large", "return 'x' * 300_000, 1, False", "showed an observation of 300002 bytes; expected at most 262144"),
        ("sum", "return 0, 6e29, False", ", move 2 of the game with seed"),
        ("beyond", "return 0, 6e29, False", "returned the reward 6e29, with which the score is beyond 1e30"),
        ("below", "return 0, -1.7e308, False", ", move 1 of the game with seed"),
    ] {
        let said = mistake(&stepping(name, step));
        assert!(said.contains(expected) && said.starts_with(": step(0), move "), "{name}: {said}");
    }
    for (name, rules, expected) in [
        ("reset_raises", "def reset():\n    raise ValueError('no')\n", ": reset() of the game with seed"),
        ("reset_object", "def reset():\n    return object()\n", "returned object, which cannot leave the sandbox"),
        ("reset_endless", "def reset():\n    while True: pass\n", "did not end within 1.0 seconds"),
        ("load_raises", "1 / 0\ndef reset(): pass\n", ": loading of the game with seed"),
        ("load_endless", "while True: pass\ndef reset(): pass\n", "did not end within 1.0 seconds"),
        ("load_large", "kept = 'x' * 10 ** 9\ndef reset(): pass\n", "out of memory"),
        ("load_refused", "def reset():\n    return 1\nreturn\n", "does not compile: line 5"),
        ("reset_gone", "def reset(): pass\ndel reset\n", "NameError"),
    ] {
        let said = mistake(&game(name, &format!("{rules}def step(action):\n    return 0, 1, False\n")));
        assert!(said.contains(expected), "{name}: {said}");
    }
}

#[test]
fn a_game_that_is_slow_over_all_is_told_what_to_do() {
    let step = "sum(range(2_000_000))\n    return 0, 1, False";
    let said = mistake(&game("slow", &format!("MOVES = 1000\n{RESET}def step(action):\n    {step}\n")));
    assert!(said.contains("make them faster or lower MOVES"), "{said}");
}

#[test]
fn a_game_may_print() {
    let game = stepping("prints", "print('x' * 100_000)\nreturn 0, 1, True");
    assert_eq!(play(&game, &returning("0")).unwrap().1.score, 1.0);
}

/// A game that does not check moves, and a player that alternates W and D.
fn careless(name: &str) -> ScriptGame {
    let rules = "WAYS = {'W': 1, 'D': 2}\nlast = 'W'\n\
                 REFERENCES = {1: 'def strategy(seen): return \"WD\"[seen % 2]'}\nMOVES = 4\n\
                 def reset():\n    return 0\n\
                 def step(action):\n    \
                     global last\n    \
                     gain, last = WAYS[last], action\n    \
                     if isinstance(action, int): [0] * action\n    \
                     return gain, gain if action != 'D' else {}['a bug'], False\n";
    game(name, rules)
}

#[test]
fn no_move_that_a_program_makes_up_stops_a_run() {
    let game = careless("careless");
    for expression in [
        "'X'", "None", "[]", "{}", "{'W': 1}", "('W',)", "-1", "10 ** 12", "10 ** 4000", "float('nan')",
        "'W' * 60_000", "b'W'",
    ] {
        let (_, outcome) = play(&game, &returning(expression)).unwrap_or_else(|error| panic!("{expression}: {error}"));
        assert_eq!(outcome.ending, Ending::BadMove, "{expression}");
    }
}

#[test]
fn a_game_answers_for_the_moves_of_its_reference_players() {
    let said = play(&careless("answers"), &returning("'D'")).unwrap_err();
    assert!(said.contains("step('D'), move 1 of the game with seed") && said.contains("KeyError: 'a bug'"), "{said}");
    let (_, outcome) = play(&careless("astray"), &returning("'X' if seen == 0 else 'W'")).unwrap();
    assert_eq!((outcome.ending, outcome.score), (Ending::BadMove, 1.0), "a strange move that shows later");
    let said = play(&stepping("unanswered", "return 0, {}[action], False"), &returning("'X'")).unwrap_err();
    assert!(said.contains("KeyError: 'X'"), "{said}");
}

#[test]
fn a_game_answers_for_all_that_a_reference_player_does_itself() {
    // No two games have an action in common.
    let rules = "import random\nREFERENCES = {1: 'def strategy(seen): return seen'}\n\
                 def reset():\n    return random.random()\n\
                 def step(action):\n    return {}['a bug']\n";
    let game = game("wide", rules);
    let said = play(&game, &game.references()[0].source).unwrap_err();
    assert!(said.contains(", move 1 of the game with seed") && said.contains("KeyError: 'a bug'"), "{said}");
    let (verdict, outcome) = play(&game, &returning("seen / 2")).unwrap();
    assert_eq!(outcome.ending, Ending::BadMove);
    assert!(verdict.reason().unwrap().starts_with("after moves that no reference player makes"), "{verdict:?}");
}

#[test]
fn a_game_that_fails_before_the_first_move_answers_for_it_without_playing_its_reference_players() {
    let rules = format!(
        "REFERENCES = {{1: {:?}}}\ndef reset():\n    while True: pass\ndef step(action):\n    return 0, 1, True\n",
        returning("0")
    );
    let game = game("unbegun", &rules);
    assert!(mistake(&game).contains("reset() of the game with seed"));
    assert_eq!(game.usual_actions().get(), None);
}

#[test]
fn a_program_that_writes_its_own_values_gives_no_more_than_one() {
    let game = stepping("forged", "return 0, 1, False");
    for forged in ["1, 2", "1], [2", "", "{\"()\": 5}", "{\"int\": \"x\"}", "W", "[1"] {
        let program = format!("import values\nvalues._write = lambda value, depth: {forged:?}\n{}", returning("5"));
        let (verdict, outcome) = play(&game, &program).unwrap_or_else(|error| panic!("{forged}: {error}"));
        assert_eq!(outcome.ending, Ending::BadMove, "{forged}");
        assert!(verdict.reason().unwrap().contains("which is no value"), "{forged}: {verdict:?}");
    }
    let deep = format!("import values\nvalues._write = lambda value, depth: '[' * 500 + ']' * 500\n{}", returning("5"));
    assert_eq!(play(&game, &deep).unwrap().1.ending, Ending::BadMove);
}
