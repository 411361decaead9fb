//! Rows as the sets store them, with tasks of our own.

mod copies;
mod graders;

use serde_json::json;

use super::*;
use crate::Equality;
use crate::tasks::{Kind, Task};

fn converted(row: serde_json::Value) -> Result<Line, Dropped> {
    Converter::default().convert(&Value::from_plain_json(&row.to_string()).unwrap())
}

fn task(row: serde_json::Value) -> Task {
    let line = converted(row).unwrap_or_else(|dropped| panic!("{}: {}", dropped.id, dropped.why));
    row::task(&Value::from_json(&line.text).unwrap()).unwrap()
}

fn why(row: serde_json::Value) -> String {
    converted(row).expect_err("dropped").why
}

/// Entry point, then input and answer of every test.
fn tests(task: &Task) -> (Option<String>, Vec<String>) {
    let name = match &task.kind {
        Kind::Function(function) => Some(function.entry_point.clone()),
        Kind::Script => None,
    };
    let shown = task.tests.iter().map(|test| match &test.expected {
        Some(crate::tasks::Answer::Value(value)) => format!("{} -> {value}", test.input),
        Some(crate::tasks::Answer::Printed(text)) => format!("{} -> {text}", test.input),
        Some(crate::tasks::Answer::Raised(_)) | None => test.input.clone(),
    });
    (name, shown.collect())
}

fn checker(task: &Task) -> String {
    let Kind::Function(function) = &task.kind else { panic!("{:?}", task.kind) };
    function.checker.clone().expect("a checker")
}

#[test]
fn a_line_stays_one_where_a_text_has_line_ends_of_unicode() {
    let words = "Double\u{2028}\u{85}it.";
    let row =
        json!({"task_id": 7, "text": words, "code": "def f(a):\n  return 2 * a", "test_list": ["assert f(1) == 2"]});
    let line = converted(row).unwrap();
    assert!(line.text.contains("Double\\u2028\\u0085it."), "{}", line.text);
    let read = row::task(&Value::from_json(&line.text).unwrap()).unwrap();
    assert!(read.prompt.contains(words), "{}", read.prompt);
}

#[test]
fn mbpp_rows_are_asserts_about_a_function_of_the_code() {
    let row = |tests: serde_json::Value| {
        json!({"task_id": 7, "text": "Write a function to join a pair.", "code": "def other(): pass\r\ndef pair(a, b):\r\n  return (a, b)",
            "test_setup_code": "", "test_list": tests, "challenge_test_list": ["assert pair([], {1}) == ([], {1})"]})
    };
    let found = task(row(json!(["assert pair(1, 'x') == (1, 'x')", "assert  (2, -3) == pair(2, -3), \"said\""])));
    let expected = [r#"[1, "x"] -> (1, 'x')"#, "[2, -3] -> (2, -3)", r#"[[], {"set": [1]}] -> ([], {1})"#];
    assert_eq!(tests(&found), (Some("pair".into()), expected.map(String::from).to_vec()));
    assert_eq!((found.id.as_str(), found.hidden()), ("7", 2..3));
    assert_eq!(found.opening(), "def pair(a, b):");
    let set = task(row(json!(["assert set(pair(1, 2)) == set((2, 1))"])));
    assert!(checker(&set).contains("assert set((yield (\"pair\", 1, 2))) == set((2, 1))"), "{}", checker(&set));
    assert_eq!(
        why(row(json!(["assert unknown(1) == 2"]))),
        "is no call with literals compared with a literal: `assert unknown(1) == 2`"
    );
}

#[test]
fn the_function_of_an_mbpp_row_may_be_bound_without_def() {
    for code in ["add = lambda a, b: a + b", "from operator import add"] {
        let row = json!({"task_id": 7, "text": "t", "code": code, "test_list": ["assert add(1, 2) == 3"]});
        assert_eq!(tests(&task(row)), (Some("add".into()), vec!["[1, 2] -> 3".into()]), "{code}");
    }
    // An import beside functions is what tests use.
    let code = "from collections import Counter\ndef evens(a): return a[1::2]\ndef odds(a): return a[::2]";
    let asserts = ["assert Counter(evens([1, 2])) == Counter([2])", "assert Counter(odds([1, 2])) == Counter([1])"];
    let row = json!({"task_id": 7, "text": "t", "code": code, "test_list": asserts});
    assert!(why(row).contains("is no call with literals compared with a literal"));
}

#[test]
fn an_mbpp_row_without_a_list_of_asserts_is_told_so() {
    let why = |tests: serde_json::Value| {
        let row = json!({"task_id": 7, "text": "t", "code": "def f(a): return a", "test_list": tests, "challenge_test_list": []});
        let Dropped { id, why } = converted(row).unwrap_err();
        assert_eq!(id, "7");
        why
    };
    for empty in [json!([]), json!([" "]), json!([1])] {
        assert_eq!(why(empty), "no text in `test_list`; expected a list of asserts");
    }
    assert_eq!(why(json!("assert f(1) == 1")), "a str in `test_list`; expected a list of asserts");
}

#[test]
fn what_evalplus_compares_by_a_rule_of_its_own_becomes_no_task() {
    let row = |name: &str| {
        json!({"task_id": "Mbpp/7", "prompt": "\"\"\"\nWrite it.\n\"\"\"\n", "entry_point": name,
            "canonical_solution": format!("\ndef {name}(a):\n    return a\n"), "base_input": [[[1]]], "plus_input": [[[2]]], "atol": 0})
    };
    assert_eq!(why(row("similar_elements")), "EvalPlus compares its answers by a rule of their own");
    assert_eq!(task(row("same")).tests.len(), 2);
}

#[test]
fn objects_of_a_class_of_the_code_do_not_cross() {
    let row = json!({"task_id": 8, "text": "t", "code": "class Node: pass\ndef f(n): return 1", "test_setup_code": "root = Node()",
        "test_list": ["assert f(root) == 1"]});
    assert_eq!(why(row), "calls with objects of a class of its own, which no value stands for");
    let of_setup = |setup: &str, assert: &str| json!({"task_id": 8, "text": "t", "code": "def f(n): return 1", "test_setup_code": setup, "test_list": [assert]});
    let setup = "class Node(dict): pass\nroot = Node()";
    assert_eq!(
        why(of_setup(setup, "assert f(root) == 1")),
        "calls with objects of a class of its own, which no value stands for"
    );
    assert_eq!(task(of_setup(setup, "assert f(1) == 1")).tests.len(), 1, "a literal is no object of it");
    checker(&task(of_setup("class Node(dict): pass\nroot = 1", "assert f(root) == 1")));
    let row =
        json!({"task_id": 9, "text": "t", "code": "def f(a, b): return a", "test_list": ["assert f(1, int) == 1"]});
    assert_eq!(why(row), "calls with a type, which no value stands for");
}

#[test]
fn asserts_come_in_several_shapes() {
    let code = "def f(*a): return a";
    for (assert, expected) in [
        ("assert f(1) == 2 and f(3) == 4", &["[1] -> 2", "[3] -> 4"][..]),
        ("assert f(1) == True", &["[1] -> True"]),
        ("assert f() is None", &["[] -> None"]),
        ("assert f(10**3, [0]*2, set()) == float('inf')", &[r#"[1000, [0, 0], {"set": []}] -> inf"#]),
    ] {
        let row = json!({"task_id": 1, "text": "t", "code": code, "test_list": [assert]});
        assert_eq!(tests(&task(row)).1, expected, "{assert}");
    }
    for (assert, expected, tolerance) in [
        ("assert abs(f(1) - 0.5) < 1e-6", "[1] -> 0.5", 1e-6),
        ("assert abs(-0.5 - f(1)) <= 0.01", "[1] -> -0.5", 0.01),
        ("assert math.isclose(f(1), 2.5, rel_tol=0.001)", "[1] -> 2.5", 0.001),
        ("assert math.isclose(f(1), 2.5)", "[1] -> 2.5", 1e-9),
        ("assert math.isclose(f(1), 0.5, abs_tol=0.01)", "[1] -> 0.5", 0.01),
    ] {
        let found = task(json!({"task_id": 1, "text": "t", "code": code, "test_list": [assert]}));
        assert_eq!(tests(&found).1, [expected], "{assert}");
        assert_eq!(found.equality, Equality { tolerance, ..Equality::PYTHON });
    }
}

/// A comparison of values takes 1 for True, and has one tolerance for a task, in units of max(1, |expected|).
#[test]
fn asserts_that_no_comparison_of_values_stands_for_are_a_checker() {
    for asserts in [
        &["assert f(1)"][..],
        &["assert not f(1)"],
        &["assert f(1) is True"],
        &["assert f(1) == 2 and f(3)"],
        &["assert abs(f(1) - 1e9) < 1e-6"],
        &["assert abs(f(1) - 0.5) < 2"],
        &["assert math.isclose(f(1), 0.0001, rel_tol=0.001)"],
        &["assert math.isclose(f(1), 0.0)"],
        &["assert math.isclose(f(1), 2.5, rel_tol=0.1)"],
        &["assert math.isclose(f(1), 10**6, rel_tol=0.001)"],
        &["assert f(1) == 3.5", "assert abs(f(3) - 0.5) < 1e-6"],
        &["assert abs(f(1) - 0.5) < 1e-6", "assert abs(f(3) - 0.5) < 0.1", "assert abs(f(1) - 0.5) < 1e-6"],
        &["assert math.isclose(\n    f(1),\n    0.0)"],
    ] {
        let row = json!({"task_id": 1, "text": "t", "code": "import math\ndef f(*a): return a", "test_list": asserts});
        let found = task(row);
        assert_eq!((tests(&found).0.as_deref(), found.tests.len(), found.shown), (Some("f"), 0, 0), "{asserts:?}");
        let lines = asserts.iter().map(|assert| {
            let asked = assert.replace("f(1)", "(yield (\"f\", 1))").replace("f(3)", "(yield (\"f\", 3))");
            format!("    {asked}\n")
        });
        let expected = format!(
            "\n\n\ndef _asserts():\n{}\n\ndef check():\n    yield from _asserts()\n    return True\n",
            lines.collect::<String>()
        );
        let checker = checker(&found);
        assert!(checker.starts_with("import math\n") && checker.ends_with(&expected), "{asserts:?}: {checker}");
    }
}

#[test]
fn human_eval_rows_are_a_function_to_complete_and_a_check() {
    let row = |check: &str| {
        json!({"task_id": "HumanEval/900", "entry_point": "twice", "canonical_solution": "    return [x * 2 for x in xs]\n",
            "prompt": "from typing import List\n\n\ndef twice(xs: List[int], by: int = 2) -> List[int]:\n    \"\"\" Twice.\n    >>> twice([1])\n    [2]\n    \"\"\"\n",
            "test": format!("\n\nMETADATA = {{\n    'author': 'us'\n}}\n\n\ndef check(candidate):\n{check}")})
    };
    let found = task(row(
        "    # Simple\n    assert True, \"prints\"\n    assert candidate([1, 2]) == [2, 4], \"one\"\n    assert candidate([]) == []\n\n",
    ));
    assert_eq!(tests(&found), (Some("twice".into()), vec!["[[1, 2]] -> [2, 4]".into(), "[[]] -> []".into()]));
    let opening = "from typing import List\n\n\ndef twice(xs: List[int], by: int = 2) -> List[int]:";
    assert_eq!(found.opening(), opening, "with the imports and the functions that its author counts on");
    assert!(
        found.words().starts_with("Complete this function:\n\n```python\nfrom typing")
            && found.words().ends_with("```")
    );
    assert!(found.reference.as_ref().unwrap().ends_with("\"\"\"\n    return [x * 2 for x in xs]\n"));
    let looped = task(row(
        "    for n in range(3):\n        assert candidate(\n            [n]) == [n + n]\n    assert candidate(candidate([1])) == [4]\n",
    ));
    let expected = "def _asserts():\n    for n in range(3):\n        assert (yield (\"twice\", \n            [n])) == [n + n]\n    assert (yield (\"twice\", (yield (\"twice\", [1])))) == [4]\n\n\ndef check():\n    yield from _asserts()\n    return True\n";
    assert!(
        checker(&looped).starts_with("from typing import List") && checker(&looped).ends_with(expected),
        "{}",
        checker(&looped)
    );
    // The checker asks by the name that the asserts have.
    let near = task(row("    assert abs(twice([1], 2) - 7.5) < 1e-6\n"));
    let expected = "import math\nfrom math import inf, nan\n\n\ndef _asserts():\n    assert abs((yield (\"twice\", [1], 2)) - 7.5) < 1e-6\n\n\ndef check():";
    assert!(checker(&near).starts_with(expected), "{}", checker(&near));
    for (check, expected) in [
        ("    assert all(candidate([n]) for n in range(3))\n", "in a lambda or a comprehension"),
        ("    def inner():\n        assert candidate([1])\n    inner()\n", "in a function of their own"),
        ("    assert candidate(xs=[1]) == [2]\n", "with keywords"),
        ("    for n in []: pass\n", "tests that do not call the function"),
    ] {
        assert!(why(row(check)).contains(expected), "{}", why(row(check)));
    }
}

#[test]
fn evalplus_rows_are_inputs_that_the_canonical_solution_answers() {
    let row = |name: &str, atol: f64| {
        json!({"task_id": "HumanEval/901", "entry_point": name, "prompt": format!("def {name}(xs, n):\n    \"\"\" d \"\"\"\n"),
            "canonical_solution": "    return xs[n]\n", "contract": "", "base_input": [[[1, 2], 0]], "plus_input": [[["a"], -1], [[1.5, null], 1]], "atol": atol})
    };
    let found = task(row("at", 1e-6));
    assert_eq!(tests(&found).1, ["[[1, 2], 0]", r#"[["a"], -1]"#, "[[1.5, null], 1]"]);
    assert_eq!((found.equality.tolerance, found.unanswered().count(), found.shown), (1e-6, 3, 0));
    assert!(why(row("find_zero", 0.0)).contains("any root is right"));
    let mut no_more = row("at", 0.0);
    no_more["plus_input"] = json!({});
    let found = task(no_more);
    assert_eq!((tests(&found).1, found.equality.tolerance), (vec!["[[1, 2], 0]".to_owned()], 1e-6));
}

#[test]
fn apps_rows_have_texts_or_the_arguments_of_a_function() {
    let row = |input_output: serde_json::Value, starter: &str, solution: &str| {
        json!({"problem_id": 12, "question": "Do it.", "difficulty": "interview", "starter_code": starter,
            "solutions": json!([solution]).to_string(), "input_output": input_output.to_string()})
    };
    let script = task(row(
        json!({"inputs": ["1 2\n", ["3", "4"]], "outputs": ["3\n", ["7", ""]]}),
        "",
        "print(sum(map(int, input().split())))",
    ));
    assert_eq!(tests(&script), (None, vec!["1 2\n -> 3\n".into(), "3\n4 -> 7\n".into()]));
    assert_eq!((script.group.as_deref(), script.shown), (Some("interview"), 0));
    assert!(script.reference.is_some());
    let wrapped = task(row(
        json!({"fn_name": "f", "inputs": [[1, "a"], [2, "b"]], "outputs": [[[1]], [[2]]]}),
        "",
        "def f(n, s): return [n]",
    ));
    assert_eq!(tests(&wrapped), (Some("f".into()), vec![r#"[1, "a"] -> [1]"#.into(), r#"[2, "b"] -> [2]"#.into()]));
    assert!(wrapped.equality.tuples_are_lists && wrapped.reference.is_some());
    let method = task(row(
        json!({"fn_name": "f", "inputs": [[[1]], [[2]]], "outputs": [[1, 2], []]}),
        "class Solution:\n    def f(self, xs):",
        "no python (",
    ));
    assert_eq!(tests(&method), (Some("Solution.f".into()), vec!["[[1]] -> [1, 2]".into(), "[[2]] -> []".into()]));
    assert_eq!(method.reference, None, "what does not compile is no reference");
    assert_eq!(why(row(json!({"inputs": [], "outputs": []}), "", "")), "no tests");
    assert_eq!(why(row(json!({"inputs": ["1"], "outputs": []}), "", "")), "not as many inputs as outputs");
    assert_eq!(why(json!({"question": "q", "input_output": "{"})), "`input_output` holds text that is no JSON");
    assert_eq!(why(json!({"question": "q", "input_output": ""})), "no tests");
}

#[test]
fn ints_beyond_64_bits_stay_what_they_are() {
    let text = r#"{"question": "q", "input_output": "{\"fn_name\": \"f\", \"inputs\": [[123456789012345678901234567890]], \"outputs\": [1]}"}"#;
    let line = Converter::default().convert(&Value::from_plain_json(text).unwrap()).unwrap();
    assert!(line.text.contains("(123456789012345678901234567890,)"), "{}", line.text);
}

#[test]
fn json_in_a_text_that_no_value_holds_is_not_called_something_else_than_json() {
    // TACO has integers of more digits than Python reads.
    let row = |inputs: String| json!({"question": "q", "input_output": format!("{{\"inputs\": {inputs}, \"outputs\": [\"1\"]}}")});
    assert_eq!(why(row(format!("[{}]", "9".repeat(5000)))), "`input_output`: an int of too many digits; at most 4300");
    let half = "`input_output`: half a surrogate pair, which is no character";
    assert_eq!(why(row("[\"\\ud800\"]".to_owned())), half);
}

#[test]
fn a_row_whose_line_no_file_of_tasks_may_have_is_dropped() {
    let row = json!({"question": "q", "input_output": {"inputs": ["1".repeat(33 << 20)], "outputs": ["1"]}});
    let why = why(row);
    let (bytes, most) = why.split_once(" bytes in one line; at most ").unwrap();
    assert_eq!((bytes.parse::<usize>().unwrap() >> 20, most), (33, "33554432 (32 MiB)"), "{why}");
}

#[test]
fn code_contests_rows_have_three_lists_of_texts() {
    let none = json!({"input": [], "output": []});
    let row = json!({"name": "900_A. Sums", "description": "Sum.", "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": none, "generated_tests": {"input": ["5 5\n"], "output": ["10\n"]}, "input_file": "",
        "solutions": {"language": [2, 3], "solution": ["int main() {}", "print(sum(map(int, input().split())))"]}, "time_limit": {"seconds": 1}});
    let found = task(row);
    assert_eq!(tests(&found), (None, vec!["1 2\n -> 3\n".into(), "5 5\n -> 10\n".into()]));
    assert_eq!(found.reference.as_deref(), Some("print(sum(map(int, input().split())))"));
    let reads = json!({"name": "x", "description": "d", "public_tests": none, "input_file": "input.txt"});
    assert_eq!(why(reads), "reads a file");
    let writes =
        json!({"name": "x", "description": "d", "public_tests": none, "input_file": "", "output_file": "out.txt"});
    assert_eq!(why(writes), "writes a file");
    assert_eq!(why(json!({"name": "x", "description": "d", "public_tests": none})), "no tests");
    // Tests that cannot be read are not left out in silence.
    let with_private = |private: serde_json::Value| json!({"name": "x", "description": "d", "public_tests": {"input": ["1\n"], "output": ["1\n"]}, "private_tests": private});
    let unequal = with_private(json!({"input": ["2\n", "3\n"], "output": ["2\n"]}));
    assert_eq!(why(unequal), "`private_tests`: not as many inputs as outputs");
    assert_eq!(why(with_private(json!({"input": []}))), "`private_tests`: no list in `outputs`");
    assert_eq!(why(with_private(json!("[1"))), "`private_tests` holds text that is no JSON");
}

#[test]
fn live_code_bench_rows_have_public_and_private_tests_and_packed_ones_drop_the_row() {
    let row = |public: serde_json::Value, private: &str, starter: &str| {
        json!({"question_id": "q1", "question_content": "Do it.", "difficulty": "easy", "starter_code": starter,
            "public_test_cases": public.to_string(), "private_test_cases": private, "metadata": "{\"func_name\": \"add\"}"})
    };
    let public = json!([{"input": "1 2\n", "output": "3", "testtype": "stdin"}]);
    let private = r#"[{"input": "2 2\n", "output": "4", "testtype": "stdin"}]"#;
    let script = |private: &str| row(public.clone(), private, "");
    assert_eq!(tests(&task(script(private))), (None, vec!["1 2\n -> 3".into(), "2 2\n -> 4".into()]));
    for none in ["", "[]"] {
        assert_eq!(tests(&task(script(none))).1, ["1 2\n -> 3"], "{none:?}");
    }
    assert!(why(script("eJxrYJmawQABPRw=")).starts_with("its private tests are a pickle, which is never read"));
    assert_eq!(why(script("{}")), "`private_test_cases`: no list in `inputs`");
    let half = r#"[{"input": "\ud800", "output": "4", "testtype": "stdin"}]"#;
    assert_eq!(why(script(half)), "`private_test_cases`: half a surrogate pair, which is no character");
    assert_eq!(why(script(&private[..20])), "`private_test_cases` holds text that is no JSON");
    let public = json!([{"input": "[1, 2]\n\"x\"", "output": "[true]", "testtype": "functional"}]);
    let starter = "class Solution:\n    def add(self, xs: List[int], s: str) -> List[bool]:\n        ";
    let method = task(row(public.clone(), "", starter));
    assert_eq!(tests(&method), (Some("Solution.add".into()), vec![r#"[[1, 2], "x"] -> [True]"#.into()]));
    assert_eq!(why(row(public, "", "")), "calls of a function that nothing names");
}

#[test]
fn rows_of_synthetic_deep_coder_verl_and_nemo_gym_wrap_the_same_tests() {
    let cases = json!({"inputs": ["1\n"], "outputs": ["2\n"]});
    let list = json!([{"input": "1\n", "output": "2\n", "type": "stdin_stdout"}]);
    let synthetic = json!({"problem_id": "vcp_1", "task_type": "verifiable_code", "prompt": "Do it.",
        "gold_standard_solution": "Here:\n```python\nprint(int(input()) + 1)\n```\n",
        "verification_info": json!({"language": "python", "test_cases": list}).to_string()});
    let deep_coder = json!({"problem": "Do it.", "tests": list.to_string(), "solutions": ["```python\nprint(int(input()) + 1)\n```"]});
    let verl = json!({"data_source": "codecontests", "prompt": [{"role": "system", "content": "x"}, {"role": "user", "content": "Do it."}],
        "ability": "code", "reward_model": {"style": "rule", "ground_truth": cases.to_string()}, "extra_info": {"index": 3}});
    let nemo_gym = json!({"responses_create_params": {"input": [{"role": "user", "content": "Do it."}]}, "verifier_metadata": {"unit_tests": cases}});
    for row in [synthetic.clone(), deep_coder, verl.clone(), nemo_gym] {
        let found = task(row);
        assert_eq!(found.words(), "Do it.");
        assert_eq!(tests(&found), (None, vec!["1\n -> 2\n".into()]));
        assert!(found.reference.is_none_or(|code| code == "print(int(input()) + 1)\n"));
    }
    let changed = |row: &serde_json::Value, key: &str, value: serde_json::Value| {
        let mut row = row.clone();
        row[key] = value;
        why(row)
    };
    assert!(changed(&synthetic, "task_type", json!("llm_judge")).contains("`llm_judge`"));
    assert_eq!(
        changed(&synthetic, "verification_info", json!("{\"language\": \"cpp\", \"test_cases\": []}")),
        "written in cpp"
    );
    assert!(changed(&verl, "reward_model", json!({"ground_truth": "72"})).contains("tests that are neither"));
    assert!(changed(&verl, "reward_model", json!({"ground_truth": "seventy-two"})).contains("an answer in words"));
    // Where there are asserts, verl runs each behind the program, and what is beside them asks for nothing.
    for mut truth in [json!({}), json!({"inputs": [""], "outputs": [""]}), json!({"inputs": [""], "outputs": [null]})] {
        truth["assert_case"] = json!(["assert add(1, 2) == 3"]);
        let found = changed(&verl, "reward_model", json!({"ground_truth": truth.to_string()}));
        assert_eq!(found, "asserts in `assert_case`, and nothing names the function", "{truth}");
    }
    let mut row = verl;
    row["reward_model"]["ground_truth"] = json!({"inputs": ["1\n"], "outputs": ["2\n"], "assert_case": [""]});
    assert_eq!(tests(&task(row)).1, ["1\n -> 2\n"]);
}

#[test]
fn deep_coder_rows_of_functions_ask_for_the_one_that_the_asserts_can_call() {
    let row = |assert: &str, solution: &str| json!({"problem": "p", "tests": {"functional": format!("def check(candidate):\n    {assert}\n")}, "solutions": [solution]});
    for (solution, name) in [
        ("class Solution:\n    def f(self, x): return x * 2", "Solution.f"),
        ("class Solution:\n    def f(self, x): return x * 2\n    def all(self, *, x): pass", "Solution.f"),
        ("class Solution:\n    @staticmethod\n    def f(x): return x * 2\n\ndef g(x, y): pass", "Solution.f"),
        ("def half(x): return x / 2\ndef f(x, by=2): return x * by\ndef main(): print(f(1))", "f"),
        ("def f(*xs): return xs[0] * 2\ndef g(): pass", "f"),
    ] {
        let found = task(row("assert candidate(2) == 4", solution));
        assert_eq!(tests(&found), (Some(name.into()), vec!["[2] -> 4".into()]), "{solution}");
    }
    let undefined = why(row("assert candidate(2) == 4", "def main(): print(4)"));
    assert_eq!(undefined, "asserts about a function that no solution defines");
    let near =
        task(row("assert abs(candidate(2) - 4.5) < 1e-6", "class Solution:\n    def f(self, x): return x * 2.25"));
    assert!(checker(&near).contains("assert abs((yield (\"Solution.f\", 2)) - 4.5) < 1e-6\n"), "{}", checker(&near));
}

#[test]
fn tests_that_call_a_function_are_no_whole_programs() {
    for kind in [json!({"testtype": "functional"}), json!({"type": "function_call"})] {
        let mut test = json!({"input": "[1, 2]\n3", "output": "6"});
        test.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        let mut row = json!({"problem": "p", "tests": [test], "solutions": []});
        assert_eq!(why(row.clone()), "calls of a function that nothing names");
        row["metadata"] = json!({"func_name": "add"});
        assert_eq!(tests(&task(row)), (Some("add".into()), vec!["[[1, 2], 3] -> 6".into()]));
    }
}

#[test]
fn kod_code_rows_are_functions_of_asserts() {
    let row = |body: &str| {
        json!({"question_id": "k1", "question": "Double.", "solution": "def double(x):\n    return 2 * x",
            "test": format!("from solution import double\n\ndef test_small():\n    assert double(2) == 4\n\ndef test_other():\n{body}")})
    };
    assert_eq!(tests(&task(row("    assert double(-1) == -2\n"))).1, ["[2] -> 4", "[-1] -> -2"]);
    let of_class = "    pass\n\nclass TestMore:\n    \"\"\"More.\"\"\"\n    def test_large(self):\n        assert double(50) == 100\n";
    assert_eq!(tests(&task(row(of_class))).1, ["[2] -> 4", "[50] -> 100"]);
    for body in [
        "    x = 5\n    assert double(x) == 10\n",
        "    assert double(3) == 6\n\nclass TestMore:\n    def test_own(self):\n        assert double(self.x) == 10\n",
        "    assert double(3) == 6\n\nclass More(unittest.TestCase):\n    def test_large(self):\n        self.assertEqual(double(50), 100)\n",
    ] {
        assert!(why(row(body)).contains("more than asserts"), "{body}");
    }
    // What else its asserts need is not known, so truths are read as equalities; what that cannot say asks a checker for literals.
    let truths = task(row("    assert double(1)\n    assert double(0) is False\n"));
    assert_eq!(tests(&truths).1, ["[2] -> 4", "[1] -> True", "[0] -> False"]);
    let near = task(row("    \"\"\"Floats.\"\"\"\n    assert abs(\n        double(2.5) - 5.0) < 1e-6\n"));
    let expected = "import math\nfrom math import inf, nan\n\n\ndef _asserts():\n    assert (yield (\"double\", 2)) == 4\n    \"\"\"Floats.\"\"\"\n    assert abs(\n        (yield (\"double\", 2.5)) - 5.0) < 1e-6\n";
    assert!(checker(&near).starts_with(expected), "{}", checker(&near));
}

#[test]
fn a_row_of_no_known_set_is_told_which_there_are_and_ids_stay_apart() {
    let unknown = why(json!({"instruction": "x", "output": "y"}));
    assert_eq!(unknown, "fields of no known set ('instruction', 'output')");
    let many = why((0..20).map(|number| (format!("f{number}"), json!(1))).collect());
    assert!(many.ends_with("'f10', 'f11', ...)"), "{many}");
    let mut converter = Converter::default();
    assert_eq!(converter.known_sets(), None);
    for row in [r#"{"id": "add", "prompt": "p", "tests": []}"#, r#"{"id": "add", "prompt": "p", "inputs": []}"#] {
        let dropped = converter.convert(&Value::from_plain_json(row).unwrap()).unwrap_err();
        assert_eq!((dropped.id.as_str(), dropped.why.as_str()), ("add", "a task already, which --env takes as it is"));
    }
    assert_eq!(converter.known_sets(), None, "tasks are not of unknown sets");
    let row = Value::from_plain_json(r#"{"id": "add", "prompt": "p", "answer": "3"}"#).unwrap();
    assert!(converter.convert(&row).unwrap_err().why.starts_with("fields of no known set ('id', 'prompt'"));
    let known = converter.known_sets().unwrap();
    assert!(known.starts_with("EvalPlus (entry_point, base_input, canonical_solution); HumanEval ("), "{known}");
    let mut converter = Converter::default();
    let row = Value::from_plain_json(
        r#"{"question": "q", "input_output": {"inputs": ["1"], "outputs": ["1"]}, "id": "a\nb"}"#,
    )
    .unwrap();
    let texts: Vec<String> = (0..3).map(|_| converter.convert(&row).unwrap().text).collect();
    assert!(texts[0].starts_with(r#"{"id":"a b","prompt""#) && texts[2].starts_with(r#"{"id":"a b-3""#), "{texts:?}");
    let dropped = converter.convert(&Value::None).unwrap_err();
    assert_eq!((dropped.id.as_str(), dropped.why.as_str()), ("row 4", "a NoneType and no object"));
    // An id of its own that looks numbered stays, and no number is tried twice: a table may give thousands of rows one id.
    let own = json!({"question": "q", "input_output": {"inputs": ["1"], "outputs": ["1"]}, "id": "a b-4"});
    let own = Value::from_plain_json(&own.to_string()).unwrap();
    let ids = [&own, &row, &row].map(|row| converter.convert(row).unwrap().id);
    assert_eq!(ids, ["a b-4", "a b-5", "a b-6"]);
    assert_eq!(converter.ids["a b"], 7);
}
