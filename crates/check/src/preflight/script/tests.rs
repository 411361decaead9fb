//! Each way in which a game pays the wrong thing is found, and games in order are not accused.

use std::cell::RefCell;
use std::path::Path;
use std::sync::LazyLock;

use super::*;
use crate::environment::Environment;

static CONFIG: LazyLock<Config> = LazyLock::new(|| Config::preset("builtin").unwrap());

/// Answer with the number that is shown, or as near to it as you can; ten times.
const GUESS: &str = r#""""Answer with the number that is shown, or as near to it as you can."""
import random
ENTRY, SCALE = "strategy(number)", 100
REFERENCES = {
    1: "def strategy(number): return 0",
    2: "def strategy(number): return 5",
    3: "def strategy(number): return number",
}

def reset():
    global number, turn
    number, turn = random.randrange(11), 0
    return number

def step(action):
    global number, turn
    if type(action) is not int:
        raise ValueError("no number")
    reward = 10 - abs(number - action)
    number, turn = random.randrange(11), turn + 1
    return number, reward, turn == 10
"#;

fn opened(source: &str) -> Environment {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.py");
    std::fs::write(&path, source).unwrap();
    Environment::open(&path.display().to_string()).unwrap_or_else(|error| panic!("{error}"))
}

fn planted(environment: Environment, bug: impl Fn(&Trial, &mut JudgedTrial)) -> Report {
    crate::preflight::planted::planted(&CONFIG, environment, bug).0
}

fn checked(source: &str) -> Report {
    planted(opened(source), |_, _| ())
}

fn found(report: &Report, check: Check) -> (Level, String) {
    let finding = report.finding(check).unwrap_or_else(|| panic!("{check:?}: {:#?}", report.findings));
    (finding.level, format!("{} -> {}", finding.text, finding.remedy.as_deref().unwrap_or_default()))
}

/// Checks that a game has a problem, of which this is said.
fn assert_problem(source: &str, check: Check, words: &[&str]) {
    let (level, text) = found(&checked(source), check);
    assert_eq!(level, Level::Problem, "{text}");
    assert!(words.iter().all(|words| text.contains(words)), "{text}");
}

#[test]
fn a_misspelt_declaration_is_told_of() {
    let report = checked(&GUESS.replace("\nREFERENCES", "\nMOVE = 10\nREFERENCES"));
    let (level, text) = found(&report, Check::Rules);
    assert_eq!(level, Level::Warning, "{text}");
    assert!(text.contains("nothing reads `MOVE`, and `MOVES` has its default"), "{text}");
}

#[test]
fn our_own_games_are_in_order() {
    assert_games_are_in_order(&["2048.py", "snake.py", "connect_four.py"]);
}

#[test]
#[ignore = "the dearest players; `make proofs` runs it"]
fn all_our_own_games_are_in_order() {
    assert_games_are_in_order(&["2048.py", "fewest_moves.py", "2584.py", "snake.py", "connect_four.py"]);
}

fn assert_games_are_in_order(names: &[&str]) {
    for name in names {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
        let report = planted(Environment::open(&path.display().to_string()).unwrap(), |_, _| ());
        assert_ne!(report.level(), Level::Problem, "{name}: {:#?}", report.findings);
    }
}

#[test]
fn a_game_in_order_is_not_accused() {
    let report = checked(GUESS);
    assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
    let names: Vec<&str> = report.players.iter().map(|player| player.name.as_str()).collect();
    assert_eq!(names, ["syntax error", "crash", "no action", "rank 1", "rank 2", "rank 3"]);
    // Ten rewards of ten.
    assert_eq!((report.players[5].games, report.players[5].mean_score), (GAMES, 100.0));
    assert!(found(&report, Check::Cheats).1.starts_with("7 cheats earn nothing"));
}

#[test]
fn ranks_in_the_wrong_order_are_found() {
    let words = ["rank 4 earns 0.", "out of order", "-> correct the ranks"];
    assert_problem(&GUESS.replace("1: ", "4: "), Check::Order, &words);
}

#[test]
fn ranks_within_the_noise_are_a_warning() {
    let near = GUESS.replace("return 5\"", "return 5\",\n    4: \"import random\\ndef strategy(number): return 4\"");
    let report = checked(&near.replace("    3: \"def strategy(number): return number\",\n", ""));
    let (level, text) = found(&report, Check::Order);
    assert!(level == Level::Ok || level == Level::Warning, "{text}");
}

#[test]
fn a_score_that_says_nothing_is_found() {
    let flat = GUESS.replace("reward = 10 - abs(number - action)", "reward = 10");
    assert_problem(&flat, Check::Spread, &["flat", "-> a score that grows"]);
}

#[test]
fn a_game_without_references_is_told_what_to_add() {
    let (start, end) = (GUESS.find("REFERENCES").unwrap(), GUESS.find("\ndef reset").unwrap());
    let report = checked(&format!("{}{}", &GUESS[..start], &GUESS[end..]));
    assert_eq!(report.level(), Level::Warning);
    let (_, text) = found(&report, Check::References);
    assert!(text.contains("-> add REFERENCES to the file"), "{text}");
    // Cheats wrap a player, so that there are none without one; the game is in order as far as it was asked.
    assert!(text.contains("no cheat is tried") && report.finding(Check::Cheats).is_none(), "{text}");
    let single =
        GUESS.replace("    1: \"def strategy(number): return 0\",\n    2: \"def strategy(number): return 5\",\n", "");
    assert_eq!(found(&checked(&single), Check::References).0, Level::Warning);
}

#[test]
fn a_step_that_is_not_prepared_for_odd_answers_is_a_problem_without_references() {
    let (start, end) = (GUESS.find("REFERENCES").unwrap(), GUESS.find("\ndef reset").unwrap());
    let alone = format!("{}{}", &GUESS[..start], &GUESS[end..]);
    let check = "    if type(action) is not int:\n        raise ValueError(\"no number\")\n";
    let cases = [
        (
            "",
            "step({'no': ['action']}), move 1",
            "TypeError: unsupported operand type(s) for -: 'int' and 'dict' (line 12)",
        ),
        ("    if type(action) not in (int, str): raise ValueError\n", "step('no action'), move 1", "TypeError: "),
        (
            "    if not isinstance(action, int): raise ValueError\n    {1: 1}[action]\n",
            "move 1",
            "KeyError: 18446744073709551616",
        ),
    ];
    for (instead, call, raised) in cases {
        assert_problem(&alone.replace(check, instead), Check::Rules, &["game.py: ", call, raised, "a ValueError"]);
    }
}

#[test]
fn a_game_that_is_never_done_is_warned_of_unless_it_says_how_long_it_is() {
    let warned = |source: &str, ending| {
        let cut = |_: &Trial, judged: &mut JudgedTrial| {
            judged.evaluation.games.iter_mut().filter(|game| game.moves() == 10).for_each(|game| game.ending = ending);
        };
        planted(opened(source), cut).findings.iter().any(|finding| finding.text.contains("is ever done"))
    };
    assert!(warned(GUESS, Ending::MoveLimit) && !warned(GUESS, Ending::GameOver));
    assert!(!warned(&GUESS.replace("\nREFERENCES", "\nMOVES = 10_000\nREFERENCES"), Ending::MoveLimit));
}

#[test]
fn a_game_that_takes_many_actions_for_one_is_found() {
    let sloppy = GUESS
        .replace(
            "    if type(action) is not int:\n        raise ValueError(\"no number\")\n",
            "    action = len(str(action))\n",
        )
        .replace("10 - abs(number - action)", "action");
    let words = ["a list of many actions earns ", "-> have `step` raise a ValueError"];
    assert_problem(&sloppy, Check::Cheats, &words);
}

#[test]
fn a_game_whose_bounds_let_a_number_through_that_is_none_is_found() {
    let floats = GUESS.replace("type(action) is not int", "type(action) not in (int, float)");
    let bounded = floats.replace("10 - abs(number - action)", "max(0, min(10, 10 - abs(number - action)))");
    assert_problem(&bounded, Check::Cheats, &["a number that is none earns "]);
    let strict = bounded.replace("not in (int, float)", "not in (int, float) or action != action");
    assert_eq!(found(&checked(&strict), Check::Cheats).0, Level::Ok);
}

#[test]
fn a_step_that_takes_every_value_for_an_action_is_warned_of_though_rubbish_pays_nothing() {
    let any = GUESS.replace("raise ValueError(\"no number\")", "action = 99");
    let report = checked(&any);
    let (level, text) = found(&report, Check::Rules);
    assert_eq!(level, Level::Warning);
    assert!(text.contains("takes every value for an action") && text.contains("raise a ValueError"), "{text}");
    // What it is not prepared for ends the game as a bad move, too.
    let unprepared = GUESS.replace("    if type(action) is not int:\n        raise ValueError(\"no number\")\n", "");
    assert!(checked(&unprepared).finding(Check::Rules).is_none());
}

#[test]
fn a_game_that_fails_is_named_with_what_it_did() {
    assert_problem(&GUESS.replace("turn == 10", "1 / 0"), Check::Rules, &["game.py: ", "ZeroDivisionError"]);
}

#[test]
fn a_game_that_fails_is_told_by_one_trial_however_long_that_takes() {
    struct Failing(RefCell<Vec<usize>>);
    impl TrialJudge for Failing {
        fn judge(&self, trials: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError> {
            self.0.borrow_mut().push(trials.len());
            Err(ArenaError::Environment { completion: 0, game: "game.py".into(), message: "did not end".into() })
        }
    }
    let Environment::Script(game) = opened(GUESS) else { panic!("a game is a script") };
    let judge = Failing(RefCell::default());
    assert!(examine(&CONFIG, &game, &judge, &|_, _, _| ()).is_err());
    assert_eq!(judge.0.into_inner(), [1]);
}

#[test]
fn a_game_that_fails_is_found_where_its_players_make_other_moves_in_each_game() {
    let wide = GUESS
        .replace("return 0\"", "return number - 4\"")
        .replace("return 5\"", "return number - 2\"")
        .replace("randrange(11)", "randrange(10 ** 6)");
    assert_eq!(checked(&wide).level(), Level::Ok);
    let failing = wide.replace("turn == 10", "turn == 10 // (number % 5)");
    assert_problem(&failing, Check::Rules, &["ZeroDivisionError"]);
}

#[test]
fn a_player_that_has_too_little_time_is_found() {
    let slow = GUESS.replace("return number\",", "\\n    while True: pass\",");
    let (level, text) = found(&checked(&slow), Check::Budget);
    assert_eq!(level, Level::Warning);
    assert!(text.contains("limits cut rank 3 short in 12 of 12 games; a game has 1 s"), "{text}");
}

#[test]
fn players_that_draw_are_not_accused_of_what_chance_brings_them() {
    let drawing = GUESS
        .replace("return 0\"", "return random.randrange(11)\"")
        .replace("return number\"", "return number + random.randrange(2)\"")
        .replace(": \"def", ": \"import random\\nfirst = random.random()\\ndef");
    let report = checked(&drawing);
    assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
    let future = drawing.replace(": \"import random", ": \"from __future__ import annotations\\nimport random");
    // What pays, pays them too.
    let sloppy = future.replace("raise ValueError(\"no number\")", "action = number");
    assert_eq!(found(&checked(&sloppy), Check::Cheats).0, Level::Problem);
}

#[test]
fn a_game_that_does_not_repeat_is_found() {
    let report = planted(opened(GUESS), |trial, judged| {
        if trial.cases.len() == REPEATED {
            judged.evaluation.games[0].score += 1.0;
        }
    });
    let (level, text) = found(&report, Check::Repeats);
    assert_eq!(level, Level::Problem);
    assert!(text.contains("scores 100 and then 101"), "{text}");
}

#[test]
fn a_best_player_that_breaks_games_off_is_named_as_the_rules_may_be_to_blame() {
    // No move is to blame for a ValueError behind the last one.
    let ends = GUESS.replace("return number, reward,", "return max([number] * (10 - turn)), reward,");
    let (level, text) = found(&checked(&ends), Check::References);
    assert_eq!(level, Level::Warning);
    let expected = "rank 3 breaks off 12 of 12 games: bad_move after 9 moves of the game with seed ";
    assert!(text.contains(": returned ") && text.contains(": max() "), "{text}");
    assert!(text.starts_with(expected) && text.contains("-> correct the player, or `step`"), "{text}");
    // A weaker player may make bad moves.
    let weak = GUESS.replace("return 0\"", "return 0 if number else None\"");
    assert!(checked(&weak).finding(Check::References).is_none());
}

#[test]
fn players_with_names_of_the_rules_and_players_that_keep_what_they_see_are_no_cheats() {
    let farthest = "def score(number, action): return abs(number - action)\\n\
                    def strategy(number): return max(range(11), key=lambda action: score(number, action))\"";
    let named = GUESS.replace("def strategy(number): return 0\"", farthest);
    assert_eq!(checked(&named).level(), Level::Ok);
    let nested = GUESS
        .replace("return number\n\ndef step", "return [[number]]\n\ndef step")
        .replace("return number, reward,", "return [[number]], reward,")
        .replace("return number\"", "return number[0][0]\"");
    let keeping = "seen = []\\ndef strategy(number):\\n    seen.append(number)\\n    \
                   return number[0][0] if seen[0][0][0] > 10 else 0\"";
    let kept = nested.replace("def strategy(number): return 0\"", keeping);
    assert_eq!(checked(&kept).level(), Level::Ok);
}

/// One text of as many moves as a program likes.
const ROAD: &str = r#""""Collect the coins beside a road: answer once, with a text of L and R."""
import random
ENTRY, SCALE, MOVES = "strategy(coins)", 10, 1
REFERENCES = {1: "def strategy(coins): return 'R'", 2: "def strategy(coins): return 'R' * 30"}

def reset():
    global coins
    coins = random.sample(range(1, 31), 10)
    return coins

def step(action):
    if type(action) is not str or set(action) - set("LR"):
        raise ValueError("expected a text of L and R")
    at, seen = 0, set()
    for move in action:
        at += 1 if move == "R" else -1
        seen.add(at)
    return None, len(seen & set(coins)), True
"#;

/// Beat the last throw of the other one, who repeats it. Paid for each letter of an answer.
const PAID_BY_LETTER: &str = r#""""Beat what is shown: r, p or s."""
import random
ENTRY, SCALE = "strategy(last)", 10
BEATS = {"r": "s", "p": "r", "s": "p"}
REFERENCES = {1: "def strategy(last): return last", 2: "def strategy(last): return {'r': 'p', 'p': 's', 's': 'r'}[last]"}

def reset():
    global last, turn
    last, turn = random.choice("rps"), 0
    return last

def step(action):
    global last, turn
    if not isinstance(action, str) or not action or set(action) - set(BEATS):
        raise ValueError("no throw")
    reward = sum(BEATS[letter] == last for letter in action)
    last, turn = random.choice("rps"), turn + 1
    return last, reward, turn == 10
"#;

#[test]
fn cheats_copy_a_player_that_earns_something() {
    // The weakest player never wins, and any number of its answers neither.
    assert_problem(PAID_BY_LETTER, Check::Cheats, &["1 of 7 cheats pay: a text of many actions earns 100.000"]);
}

#[test]
fn a_longer_answer_to_a_game_that_asks_for_one_text_is_no_cheat() {
    let report = checked(ROAD);
    assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
    // Where players move again and again, by one letter each time, a text of many moves is more than one.
    let single = road_again().replace("'R' * 30", "'R' * 1");
    assert_problem(&single, Check::Cheats, &["a text of many actions earns "]);
}

/// The road, walked twice.
fn road_again() -> String {
    let again = ROAD.replace("MOVES = \"strategy(coins)\", 10, 1", "MOVES = \"strategy(coins)\", 10, 2");
    again.replace("set(coins)), True", "set(coins)), False")
}

#[test]
fn a_longer_text_is_a_warning_where_players_answer_with_several_moves_in_one_text() {
    let report = checked(&road_again());
    assert_ne!(report.level(), Level::Problem, "{:#?}", report.findings);
    assert!(found(&report, Check::Cheats).1.starts_with("6 cheats earn nothing"));
    let said = |finding: &&CheckFinding| finding.check == Check::Cheats && finding.level == Level::Warning;
    let warning = report.findings.iter().find(said).unwrap();
    assert!(warning.text.starts_with("a text of many actions earns "), "{}", warning.text);
    assert!(warning.remedy.as_ref().unwrap().contains("raise a ValueError for a longer one"));
    // A game whose `step` raises it has nothing to be warned of.
    let bounded = road_again().replace("set(action) - set(\"LR\")", "set(action) - set(\"LR\") or len(action) > 30");
    assert!(!checked(&bounded).findings.iter().any(|finding| said(&finding)));
}

#[test]
fn a_number_in_a_text_is_one_action_though_it_has_the_digits_of_others() {
    let bids = GUESS
        .replace("return 0\"", "return '1'\"")
        .replace("return 5\"", "return '11'\"")
        .replace("return number\"", "return '111'\"")
        .replace("type(action) is not int", "not str(action).isdigit()")
        .replace("10 - abs(number - action)", "min(int(action), 1000)");
    assert_problem(&bids, Check::Cheats, &["a text of many actions earns "]);
}

#[test]
fn a_text_of_others_in_a_row_is_told_from_a_word() {
    let texts = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<BTreeSet<String>>();
    for (text, others) in [("WWAD", &["W", "WA", "D"][..]), ("RRRR", &["RR", "RRRR"]), ("→→↑", &["→", "↑"])] {
        assert!(is_joined(text, &texts(others)), "{text}");
    }
    for (text, others) in [("right", &["up", "left", "right"][..]), ("WWAD", &["W", "AD!", "WA"]), ("W", &["W"])] {
        assert!(!is_joined(text, &texts(others)), "{text}");
    }
}

#[test]
fn a_game_that_seeds_itself_is_the_same_one_each_time() {
    let seeded = GUESS.replace("turn\n    number, turn", "turn\n    random.seed(7)\n    number, turn");
    let (level, text) = found(&checked(&seeded), Check::Repeats);
    assert_eq!(level, Level::Warning);
    assert!(text.contains("the 12 games of every reference player are the same") && text.contains("random.seed(1)"));
}

#[test]
fn a_player_that_scores_below_zero_is_warned_of_though_all_stand_in_order() {
    let warned = |source: &str| {
        let report = checked(source);
        assert_eq!(found(&report, Check::Order).0, Level::Ok, "{:#?}", report.findings);
        let warnings = report.of_level(Level::Warning).map(|finding| finding.text.clone());
        warnings.filter(|text| text.contains("below 0 earn the same")).collect::<Vec<_>>()
    };
    assert!(warned(GUESS).is_empty());
    // Ten rewards of -5 to 5 with a mean of 0, where the better players have 23 and 50.
    let below = warned(&GUESS.replace("reward = 10 - abs", "reward = 5 - abs"));
    assert!(below.len() == 1 && below[0].starts_with("rank 1 scores -"), "{below:?}");
}

#[test]
fn a_scale_far_below_the_scores_is_warned_of() {
    let report = checked(&GUESS.replace("SCALE = \"strategy(number)\", 100", "SCALE = \"strategy(number)\", 1"));
    let warned: Vec<&str> = report.of_level(Level::Warning).map(|finding| &*finding.text).collect();
    assert_eq!(warned, ["rank 3 scores 100 and earns 100; a good player earns about 1"]);
}

#[test]
fn scores_below_zero_and_a_scale_that_is_too_large_are_told_as_such() {
    let below = GUESS.replace("reward = 10 - abs", "reward = -abs");
    assert_problem(&below, Check::Order, &["out of order", "-> scores above 0", "below 0 earn the same"]);
    let large = GUESS.replace("SCALE = \"strategy(number)\", 100", "SCALE = \"strategy(number)\", 1000000000");
    assert_problem(&large, Check::Spread, &["flat", "-> SCALE as what a good player scores"]);
}
