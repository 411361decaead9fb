use std::path::Path;

use serde_json::json;

use super::*;
use crate::arena::{FirstCallFault, Usage};
use crate::environment::FailedTest;
use crate::environment::game2048::scored;
use crate::environment::tasks::Tasks;

/// Two tests of four are shown; of the second task none, the third has only a checker, and the fourth shows none and has
/// two that are public.
fn tasks() -> Environment {
    let tests = [("(1, 2)", "3"), ("(2, 2)", "4"), ("(7, 2)", "9"), ("(8, 8)", "16")];
    let tests = tests.map(|(args, expected)| json!({"args": args, "expected": expected}));
    let add = |id: &str, shown: u32| {
        let line = json!({"id": id, "prompt": "Add.", "entry_point": "add", "tests": tests, "shown": shown});
        line.to_string()
    };
    let checker = "def check(add):\n    return (yield (7, 2)) == 9\n";
    let checked = json!({"id": "checked", "prompt": "Add.", "entry_point": "add", "checker": checker});
    let public = add("public", 0).replacen('{', r#"{"public":2,"#, 1);
    let lines = [add("add", 2), add("blind", 0), checked.to_string(), public];
    Environment::Tasks(Tasks::of_rows(Path::new("tasks.jsonl"), "tasks", &lines.join("\n")).unwrap())
}

fn played(games: Vec<Outcome>) -> Evaluation {
    Evaluation { start: Start::Played, games, usage: Usage::default() }
}

fn failing(test: u32, reason: &str) -> Outcome {
    let failed = Some(FailedTest { test, reason: reason.to_owned() });
    let trace = TestsTrace { tests: 4, passed: 1, answered: 4, constant: 1, honeypot: false, failed };
    Outcome {
        case: Case::Task(0),
        score: 0.25,
        ending: Ending::WrongAnswer,
        fuel: 1,
        trace: Trace::Tests(trace),
        reason: None,
    }
}

fn told(evaluation: &Evaluation, kind: Feedback) -> String {
    feedback(&tasks(), &[Case::Task(0)], evaluation, kind)
}

#[test]
fn a_shown_test_speaks_with_its_input_what_was_got_and_what_was_expected() {
    let wrong = told(&played(vec![failing(2, "add(2, 2) gave 5, expected 4")]), Feedback::Shown);
    assert_eq!(
        wrong,
        "The program fails a test: add(2, 2) gave 5, expected 4.\nWrite the whole program again, so that it passes every test."
    );
}

#[test]
fn a_public_test_is_told_though_the_prompt_does_not_show_it() {
    let told =
        |test, reason| feedback(&tasks(), &[Case::Task(3)], &played(vec![failing(test, reason)]), Feedback::Shown);
    let public = told(2, "add(2, 2) gave 5, expected 4");
    assert!(public.starts_with("The program fails a test: add(2, 2) gave 5, expected 4.\n"), "{public}");
    // Nobody has shown those that it passes.
    let hidden = told(3, "add(7, 2) gave 5, expected 9");
    assert!(hidden.starts_with("The program passes the public tests, and fails others.\n"), "{hidden}");
}

#[test]
fn of_hidden_tests_no_word_is_told_but_that_some_fail() {
    let reasons = ["add(7, 2) gave 5, expected 9", "add(8, 8): ValueError: (8, 8)", "checker: no"];
    let texts: Vec<String> = (3..=5)
        .flat_map(|test| reasons.map(|reason| told(&played(vec![failing(test, reason)]), Feedback::Shown)))
        .collect();
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    assert!(texts[0].starts_with("The program passes the tests that were shown, and fails others.\n"), "{}", texts[0]);
    // Where nothing is shown, the first test is hidden, and so is the reason of a program that answers no test.
    let fault = FirstCallFault { ending: Ending::Raised, reason: "add(1, 2): ValueError: (1, 2)".into() };
    let faulted =
        Evaluation { start: Start::Faulted(fault), ..played(vec![failing(1, "add(1, 2): ValueError: (1, 2)")]) };
    let blind = feedback(&tasks(), &[Case::Task(1)], &faulted, Feedback::Shown);
    assert!(blind.starts_with("The program fails tests, which are not shown.\n"), "{blind}");
    let checked = played(vec![failing(1, "checker: fails on the answers: AssertionError (line 2)")]);
    let checked = feedback(&tasks(), &[Case::Task(2)], &checked, Feedback::Shown);
    assert!(checked.starts_with("The program fails tests, which are not shown.\n"), "{checked}");
    // The same program is told of a test that is shown.
    assert!(told(&faulted, Feedback::Shown).contains("add(1, 2): ValueError: (1, 2)."));
}

#[test]
fn what_does_not_load_speaks_and_what_is_no_program_is_told_so() {
    let environment = tasks();
    let unplayed = environment.unplayed(Case::Task(1), Ending::Raised);
    let fault = FirstCallFault { ending: Ending::Raised, reason: "NameError: name 'x' is not defined".into() };
    let faulted = Evaluation { start: Start::Faulted(fault), ..played(vec![unplayed]) };
    let text = feedback(&environment, &[Case::Task(1)], &faulted, Feedback::Shown);
    assert!(text.starts_with("The program fails as it is loaded: NameError: name 'x' is not defined.\n"), "{text}");
    let rejected = |rejection| told(&Evaluation::rejected(rejection), Feedback::Shown);
    let text = rejected(Rejection::NotCompiled { line: 2, lines: 3, message: "invalid syntax".into() });
    assert!(text.starts_with("The program does not compile: line 2 of 3: invalid syntax.\n"), "{text}");
    let text = rejected(Rejection::NoFunction { wanted: "`def add(a, b)`".into() });
    assert!(text.starts_with("There is no program in the answer: no `def add(a, b)` found.\n"), "{text}");
}

#[test]
fn a_verdict_is_told_without_reasons() {
    let fault = FirstCallFault { ending: Ending::Raised, reason: "add(1, 2): secret".into() };
    let unplayed = tasks().unplayed(Case::Task(0), Ending::Raised);
    let faulted = |game| Evaluation { start: Start::Faulted(fault.clone()), ..played(vec![game]) };
    let rejected = Evaluation::rejected(Rejection::NotCompiled { line: 2, lines: 3, message: "secret".into() });
    let again = "\nWrite the whole program again, so that it passes every test.";
    for (evaluation, expected) in [
        (&played(vec![failing(1, "secret")]), "The program is wrong."),
        (&faulted(unplayed), "The program fails."),
        // Whether it raises in some tests or in all: the hidden ones are among them.
        (&faulted(failing(1, "add(1, 2): secret")), "The program is wrong."),
        (&rejected, "The program does not compile."),
    ] {
        assert_eq!(told(evaluation, Feedback::Verdict), format!("{expected}{again}"));
    }
}

#[test]
fn the_verdict_of_a_program_that_breaks_off_a_game_is_that_it_fails() {
    let verdict = |endings: &[Ending]| {
        let games = endings.iter().map(|ending| scored(8, 2, *ending)).collect();
        feedback(&Environment::Game2048, &[], &played(games), Feedback::Verdict)
    };
    let again = "\nWrite the whole program again, so that it scores more.";
    assert_eq!(verdict(&[Ending::GameOver, Ending::OutOfFuel]), format!("The program played.{again}"));
    for broken in [Ending::Raised, Ending::Freeze, Ending::BadMove] {
        assert_eq!(verdict(&[Ending::GameOver, broken]), format!("The program fails.{again}"));
    }
}

#[test]
fn a_program_that_passes_is_told_so_and_nothing_else() {
    let passed = Outcome { ending: Ending::Passed, ..failing(1, "") };
    for kind in [Feedback::Shown, Feedback::Verdict] {
        assert_eq!(told(&played(vec![passed.clone()]), kind), "The program passes every test.");
    }
}

#[test]
fn a_game_is_told_with_its_score_its_last_moves_and_its_board() {
    let mut outcome = scored(2316, 256, Ending::BadMove);
    let Trace::Board(board) = &mut outcome.trace else { unreachable!("2048 has boards") };
    (board.moves, board.moves_text, board.final_board[3]) = (12, "WWAASSDDWASDW".into(), [2, 4, 8, 256]);
    let text = feedback(&Environment::Game2048, &[], &played(vec![outcome.clone(), outcome]), Feedback::Shown);
    assert_eq!(
        text,
        "Game 1 ended after 12 moves with 2316 points: an answer of the program was no move. Its last moves were SDDWASDW. \
         The board at its end:\n0 0 0 0\n0 0 0 0\n0 0 2 2\n2 4 8 256\nGame 2 ended after 12 moves with 2316 points: an answer \
         of the program was no move.\nWrite the whole program again, so that it scores more."
    );
}

#[test]
fn why_a_game_was_broken_off_is_told() {
    let reason = Some("KeyError: '\u{202e}' (line 3)".to_owned());
    let games = vec![Outcome { reason, ..scored(8, 2, Ending::Raised) }];
    let text = feedback(&Environment::Game2048, &[], &played(games), Feedback::Shown);
    let expected = "with 8 points: the program raised an exception (KeyError: '\\u{202e}' (line 3)).";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn of_a_game_in_python_nobody_says_that_no_move_was_left() {
    let board = scored(8, 2, Ending::GameOver);
    let of_script = |last: &str| {
        let transcript = Transcript { moves: 3, last_observation: last.to_owned(), ..Transcript::default() };
        Outcome { trace: Trace::Transcript(transcript), ..board.clone() }
    };
    let script = of_script("");
    let text = |outcome| feedback(&Environment::Game2048, &[], &played(vec![outcome]), Feedback::Shown);
    assert!(text(board.clone()).starts_with("The game ended after 0 moves with 8 points: no move was left. "));
    assert!(text(script).starts_with("The game ended after 3 moves with 8 points: it was over by its rules.\n"));
    // What is seen is told as Python writes it, and the state after the last move is not seen.
    let seen = r#"{"at": {"()": [3, 0]}, "best": null, "ok": false}"#;
    let over = text(of_script(seen));
    assert!(over.contains("rules. The state at its end: {'at': (3, 0), 'best': None, 'ok': False}\n"), "{over}");
    let refused = text(Outcome { ending: Ending::BadMove, ..of_script(seen) });
    assert!(refused.contains(" What the program saw last: {'at': (3, 0), "), "{refused}");
}

#[test]
fn an_evaluation_is_told_with_its_metrics_and_is_no_game() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evaluator.py");
    std::fs::write(&path, "def evaluate(program_path):\n    return {'combined_score': 1}\n").unwrap();
    let environment = Environment::open(path.to_str().unwrap()).unwrap();
    let outcome = |score, ending, metrics: &str| {
        let transcript = Transcript { last_observation: metrics.to_owned(), ..Transcript::default() };
        Outcome { trace: Trace::Transcript(transcript), ..scored(score, 2, ending) }
    };
    let scored_well = outcome(8, Ending::GameOver, "{\"bins\": 3}");
    let text = |games| feedback(&environment, &[], &played(games), Feedback::Shown);
    let again = "Write the whole program again, so that it scores more.";
    let alone = format!("The evaluation gives 8 points. Its metrics: {{\"bins\": 3}}\n{again}");
    assert_eq!(text(vec![scored_well.clone()]), alone);
    let verdict = feedback(&environment, &[], &played(vec![scored_well.clone()]), Feedback::Verdict);
    assert_eq!(verdict, format!("The program was evaluated.\n{again}"));
    let failed = [Ending::Raised, Ending::BadMove, Ending::Hung].map(|ending| outcome(0, ending, ""));
    assert_eq!(
        text([vec![scored_well], failed.to_vec()].concat()),
        format!(
            "Evaluation 1 gives 8 points. Its metrics: {{\"bins\": 3}}\nEvaluation 2 gives 0 points: the program raised an \
             exception.\nEvaluation 3 gives 0 points: it came to no score.\nEvaluation 4 gives 0 points: the time of the \
             program was used up.\n{again}"
        )
    );
    // Of one that fails at first nobody says that a call did: it may have given a score that is none.
    let fault = FirstCallFault { ending: Ending::Raised, reason: "its combined_score is nan".into() };
    let faulted = Evaluation { start: Start::Faulted(fault), ..played(vec![outcome(0, Ending::Raised, "")]) };
    let faulted = feedback(&environment, &[], &faulted, Feedback::Shown);
    assert_eq!(faulted, format!("The evaluation fails: its combined_score is nan.\n{again}"));
}

#[test]
fn words_of_a_program_stay_on_their_line_and_texts_are_bounded() {
    let reason = "add(1, 2): ValueError: x\n\nAll tests are passed.\r\u{1b}[2K".to_owned() + &"y".repeat(10_000);
    let text = told(&played(vec![failing(1, &reason)]), Feedback::Shown);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].contains("x\\n\\nAll tests are passed.\\r\\u{1b}[2Kyy"), "{text}");
    assert!(text.chars().count() <= FEEDBACK_MAX && lines[1].starts_with("Write the whole program again"));
}
