use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use grpo_sandbox::Sandbox;

use super::*;
use crate::arena::{Rules, Workers};
use crate::config::Config;
use crate::environment::Environment;
use crate::environment::game2048::scored;

/// A judge without a sandbox: a program scores what it returns, and takes as many milliseconds.
pub(super) fn judge(workers: usize) -> Arc<Judge> {
    Arc::new(judge_alone(workers))
}

fn judge_alone(workers: usize) -> Judge {
    let play = |program: &Program, _| {
        let (_, number) = program.source().trim().rsplit_once(' ').unwrap();
        let points: u64 = number.parse().unwrap();
        std::thread::sleep(Duration::from_millis(points / 1000));
        scored(points, 2, Ending::GameOver)
    };
    judge_of(play, workers)
}

/// A judge whose sandbox is refused memory.
pub(super) fn judge_without_memory() -> Judge {
    judge_of(|_, _| panic!("mprotect of a sigaltstack failed: Cannot allocate memory"), 1)
}

fn judge_of(play: impl Fn(&Program, Seed) -> Outcome + Send + Sync + 'static, workers: usize) -> Judge {
    let arena = Arena::stand_in(play, Workers::new(workers)).unwrap();
    let reward = Config::preset("builtin").unwrap().reward;
    Judge::new(arena, &reward, vec![Seed::root(1), Seed::root(2)])
}

pub(super) fn completion(points: u32) -> String {
    format!("Sure.\n```python\ndef strategy(board):\n    return {points}\n```\n")
}

fn line(id: &str, points: u32) -> String {
    format!("{}\n", serde_json::json!({ "id": id, "completion": completion(points), "step": 3 }))
}

/// What is answered to `input`, and how it ends.
fn answers(workers: usize, input: impl Read + Send + 'static) -> (Vec<Judgement>, Result<(), LinesError>) {
    let mut given = Vec::new();
    let ended = judge_lines(&judge(workers), input, "stdin", &mut |judgement| {
        given.push(judgement.clone());
        Ok(())
    });
    (given, ended)
}

/// Text that can be read by another thread.
fn text(text: impl Into<String>) -> io::Cursor<Vec<u8>> {
    io::Cursor::new(text.into().into_bytes())
}

#[test]
fn a_program_adds_a_part_of_its_own_to_the_reward() {
    let part = |judged: &Judged<'_>| judged.program.map_or(-1.0, |program| f64::from(program.lines()));
    let judge = Arc::new(judge_alone(1).with_part("lines", part));
    let item = |id: &str, completion: String| Item { id: id.into(), completion };
    let items = [item("a", completion(20_000)), item("b", "I would move up.".into())];
    let together = judge.judge(items.to_vec()).unwrap();
    assert_eq!(together[0].parts, [("game", 0.5), ("failure", 0.0), ("lines", 2.0)]);
    assert_eq!((together[0].reward, together[1].parts[2]), (2.5, ("lines", -1.0)));
    let lines =
        items.iter().map(|item| format!("{}\n", serde_json::json!({"id": item.id, "completion": item.completion})));
    let mut one_by_one = Vec::new();
    let mut keep = |judgement: &Judgement| {
        one_by_one.push(judgement.clone());
        Ok(())
    };
    judge_lines(&judge, text(lines.collect::<String>()), "stdin", &mut keep).unwrap();
    assert_eq!(one_by_one, together);
}

#[test]
fn a_judgement_says_what_a_completion_is_worth_and_why() {
    let judgements = judge(2).judge(vec![
        Item { id: "a".into(), completion: completion(20_000) },
        Item { id: "b".into(), completion: "I would move up.".into() },
    ]);
    let lines: Vec<String> = judgements.unwrap().iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    // 20,000 of 40,000 points; and -0.40 over 4, in a linear game.
    assert_eq!(
        lines[0],
        r#"{"id":"a","reward":0.5,"verdict":"succeeded","passed":0,"tests":0,"score":20000,"fuel":0,"parts":{"game":0.5,"failure":0.0},"reason":null,"feedback":"Game 1 ended after 0 moves with 20000 points: no move was left. The board at its end:\n0 0 0 0\n0 0 0 0\n0 0 2 2\n0 0 0 0\nGame 2 ended after 0 moves with 20000 points: no move was left.\nWrite the whole program again, so that it scores more."}"#
    );
    assert_eq!(
        lines[1],
        r#"{"id":"b","reward":-0.1,"verdict":"no_function","passed":0,"tests":0,"score":0,"fuel":0,"parts":{"game":0.0,"failure":-0.1},"reason":"no top-level `def strategy(board)` found","feedback":"There is no program in the answer: no top-level `def strategy(board)` found.\nWrite the whole program again, so that it scores more."}"#
    );
}

#[test]
fn a_honeypot_that_is_passed_earns_nothing_and_its_verdict_tells() {
    let row = r#"{"honeypot": true, "id": "trap", "prompt": "Double.", "entry_point": "f", "shown": 1, "tests": [{"args": "(1,)", "expected": "2"}, {"args": "(2,)", "expected": "7"}, {"args": "(3,)", "expected": "5"}]}"#;
    let environment = Environment::Tasks(Tasks::of_rows("tasks.jsonl".as_ref(), "tasks", row).unwrap());
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
    let config = Config::preset("llm").unwrap();
    let arena = Arena::new(sandbox, environment, Rules::of(&config), Workers::new(1)).unwrap();
    let judge = Judge::new(arena, &config.reward, Vec::new());
    // The first is honest.
    let items = ["2 * x", "[0, 2, 7, 5][x]", "[0, 2, 7, 0][x]"]
        .map(|answer| Item { id: "trap".into(), completion: format!("def f(x):\n    return {answer}") });
    let judged = judge.judge(items.to_vec()).unwrap();
    let told: Vec<(f32, &str, u32)> =
        judged.iter().map(|found| (found.reward, found.verdict.name(), found.passed)).collect();
    assert_eq!(told, [(0.0, "wrong_answer", 0), (0.0, "succeeded", 3), (0.0, "wrong_answer", 2)]);
}

#[test]
fn answers_come_in_the_order_of_the_lines_whoever_plays() {
    let points = [30_000, 1, 20_000, 2, 3, 10_000, 1, 30_000];
    let input: String = points.iter().enumerate().map(|(at, &points)| line(&at.to_string(), points)).collect();
    let (inline, ended) = answers(0, text(input.clone()));
    ended.unwrap();
    assert_eq!(inline.iter().map(|answer| answer.score).collect::<Vec<_>>(), points.map(f64::from));
    assert_eq!(
        inline.iter().map(|answer| answer.id.to_string()).collect::<Vec<_>>(),
        ["0", "1", "2", "3", "4", "5", "6", "7"]
    );
    for workers in [1, 2, 8] {
        assert_eq!(answers(workers, text(input.clone())).0, inline, "{workers} workers");
    }
}

#[test]
fn a_line_is_answered_before_the_next_one_comes() {
    for workers in [0, 2] {
        let (input, mut trainer) = io::pipe().unwrap();
        trainer.write_all(line("first", 5).as_bytes()).unwrap();
        let mut ids = Vec::new();
        let mut next = Some(trainer);
        judge_lines(&judge(workers), input, "stdin", &mut |judgement| {
            ids.push(judgement.id.to_string());
            // The second line is written only when the first has been answered, and then there are no more.
            next.take().map_or(Ok(()), |mut trainer| trainer.write_all(line("second", 5).as_bytes()))
        })
        .unwrap();
        assert_eq!(ids, ["first", "second"]);
    }
}

/// The same line for ever, and how often it was asked for.
struct Endless {
    line: Vec<u8>,
    lines: Arc<AtomicUsize>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.lines.fetch_add(1, Ordering::SeqCst);
        let bytes = self.line.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&self.line[..bytes]);
        Ok(bytes)
    }
}

#[test]
fn endless_input_is_read_no_further_than_is_judged_at_once() {
    let lines = Arc::new(AtomicUsize::new(0));
    let endless = Endless { line: line("again", 1).into_bytes(), lines: Arc::clone(&lines) };
    let mut answered = 0;
    let ended = judge_lines(&judge(2), endless, "stdin", &mut |_| {
        answered += 1;
        std::thread::sleep(Duration::from_millis(if answered == 1 { 300 } else { 0 }));
        if answered == 1000 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    let Err(LinesError::System { source, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(source.kind(), io::ErrorKind::BrokenPipe);
    // 512 wait, one is answered and one is held by who reads.
    assert!(lines.load(Ordering::SeqCst) <= 1000 + 514, "{lines:?}");
}

#[test]
fn an_id_may_be_an_integer_and_is_answered_as_it_came() {
    let ids = ["3", "-1", "18446744073709551615", "\"3\""];
    let input = ids.map(|id| format!("{{\"id\": {id}, \"completion\": \"\"}}\n")).concat();
    let (given, ended) = answers(0, text(input));
    ended.unwrap();
    assert_eq!(given.iter().map(|answer| serde_json::to_string(&answer.id).unwrap()).collect::<Vec<_>>(), ids);
    assert_eq!(given[0].id.to_string(), given[3].id.to_string(), "both name the same task");
}

#[test]
fn a_byte_order_mark_is_taken_before_the_first_line_alone() {
    for before in ["\u{feff}", "\u{feff}\r\n"] {
        let (given, ended) = answers(0, text([before, &line("a", 1)].concat()));
        ended.unwrap();
        assert_eq!(given.len(), 1, "{before:?}");
    }
    let (given, ended) = answers(0, text([&line("a", 1), "\u{feff}", &line("b", 1)].concat()));
    assert_eq!((given.len(), ended.is_err()), (1, true));
}

#[test]
fn a_line_that_is_no_item_is_named_after_all_before_it_are_answered_and_earns_nothing() {
    let long = format!("{{\"id\": \"a\", \"completion\": \"{}\"}}\n", "x".repeat(10 << 20));
    let large = format!("{{\"id\": \"a\", \"completion\": \"{}\"}}\n", "x".repeat(5 << 20));
    let cases = [
        ("nonsense\n", "expected ident at column 2; expected {\"id\": \"...\", \"completion\": \"...\"}"),
        ("{\"id\": \"a\"}\n", "missing field `completion`; expected {"),
        ("{\"id\": 7.5, \"completion\": \"\"}\n", "floating point `7.5`, expected a text or an integer; expected {"),
        ("{\"id\": [7], \"completion\": \"\"}\n", "invalid type: sequence, expected a text or an integer; expected {"),
        ("[\"a\", \"\"]\n", "invalid type: sequence, expected an object; expected {"),
        ("{\"id\": \"a\", \"completion\": \"\"", "expected `,` or `}` at column 29; expected {"),
        ("{\"id\": \"a\", \"completion\": \"\u{1}\"}\n", "control character"),
        (long.as_str(), "longer than 8388608 bytes; a completion may have 4194304"),
        (large.as_str(), "\"a\": a completion of 5242880 bytes; expected at most 4194304"),
    ];
    for (wrong, expected) in cases {
        let input = [&line("a", 9000), "\n  \n", &line("b", 1), wrong, &line("c", 1)].concat();
        let (given, ended) = answers(2, text(input));
        assert_eq!(given.iter().map(|answer| answer.id.to_string()).collect::<Vec<_>>(), ["a", "b"], "{expected}");
        let error = ended.unwrap_err().to_string();
        assert!(error.starts_with("stdin:5: "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let bytes = [line("a", 1).into_bytes(), b"{\"id\": \"\xff\", \"completion\": \"\"}\n".to_vec()].concat();
    let (given, ended) = answers(2, io::Cursor::new(bytes));
    assert_eq!(given.len(), 1);
    assert!(ended.unwrap_err().to_string().starts_with("stdin:2: invalid unicode code point"));
}

#[test]
fn a_list_of_an_item_s_fields_is_no_item_of_a_call() {
    let mut output = Vec::new();
    let call = r#"{"call": 1, "items": [["a", ""]]}"#;
    judge_calls(&judge(0), call.as_bytes(), "stdin", &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains(r#"{"call":1,"error":"invalid type: sequence, expected an object"#), "{output}");
}

#[test]
fn a_call_is_told_why_the_machine_failed() {
    let mut output = Vec::new();
    let item = serde_json::json!({ "id": "a", "completion": completion(1) });
    let call = serde_json::json!({ "call": 1, "items": [item] }).to_string();
    judge_calls(&judge_without_memory(), call.as_bytes(), "stdin", &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    let told =
        r"completion 0: the sandbox failed, and once more with nothing beside it\n  because: the system refused memory";
    assert!(output.contains(told) && output.contains(r#""is_input":false"#), "{output}");
}

#[test]
fn a_request_names_the_function_also_where_only_the_beginning_of_the_answer_does() {
    let rows = [
        r#"{"id": "told", "prompt": "Write `mean(xs)`.", "entry_point": "mean", "inputs": ["([1],)"], "reference": "def mean(xs):\n    return sum(xs)"}"#,
        r#"{"id": "shown", "prompt": "Add.", "entry_point": "add", "tests": [{"args": "(1, 2)", "expected": "3"}, {"args": "(2, 2)", "expected": "4"}]}"#,
        r#"{"id": "hidden", "prompt": "The mean of numbers.", "entry_point": "mean", "shown": 0, "tests": [{"args": "([1, 3],)", "expected": "2"}], "reference": "def mean(xs):\n    return sum(xs) / len(xs)"}"#,
        r#"{"id": "script", "prompt": "Print 1.", "shown": 0, "tests": [{"stdin": "", "stdout": "1\n"}]}"#,
        r#"{"id": "within", "prompt": "As diff(x), math.f(x) and my_f(x).", "entry_point": "f", "shown": 0, "tests": [{"args": "(1,)", "expected": "1"}], "reference": "def f(x):\n    return x"}"#,
        r#"{"id": "begins", "prompt": "f(x) is x.", "entry_point": "f", "shown": 0, "tests": [{"args": "(1,)", "expected": "1"}]}"#,
        r#"{"id": "method", "prompt": "With a class `Solution`.", "entry_point": "Solution.f", "shown": 0, "tests": [{"args": "(1,)", "expected": "1"}]}"#,
        r#"{"id": "both", "prompt": "Do.", "entry_point": "Solution.f", "shown": 1, "tests": [{"args": "(1,)", "expected": "1"}, {"args": "(2,)", "expected": "1"}]}"#,
    ];
    let environment = Environment::Tasks(Tasks::of_rows("tasks.jsonl".as_ref(), "tasks", &rows.join("\n")).unwrap());
    let asked: Vec<String> =
        environment.briefing().requests.iter().map(|request| calls::words_alone(&environment, request)).collect();
    assert_eq!(asked[0], "Write `mean(xs)`.");
    assert!(asked[1].starts_with("Add.\n\nExamples:\nassert add(1, 2) == 3"), "{}", asked[1]);
    assert!(!asked[1].contains("begins with"), "{}", asked[1]);
    assert_eq!(asked[2], "The mean of numbers.\n\nThe program defines `mean`, and begins with:\ndef mean(xs):");
    assert_eq!(asked[3], "Print 1.");
    let begins = "\n\nThe program defines `f`, and begins with:\ndef f(x):";
    assert_eq!(asked[4], format!("As diff(x), math.f(x) and my_f(x).{begins}"), "names that end alike are others");
    assert_eq!(asked[5], "f(x) is x.");
    let method = "With a class `Solution`.\n\nThe program defines `Solution.f`, and begins with:\nclass Solution:";
    assert_eq!(asked[6], method, "a class alone does not say which method is called");
    assert!(asked[7].ends_with("assert Solution().f(1) == 1"), "{}", asked[7]);
}
