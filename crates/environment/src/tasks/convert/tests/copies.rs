//! Rows as copies of the sets have them: with tests in other words, or other text around them.

use serde_json::json;

use super::{checker, task, tests, why};

fn human_eval(test: &str) -> serde_json::Value {
    json!({"task_id": "HumanEval/902", "entry_point": "twice", "prompt": "def twice(x):\n    \"\"\" Twice. \"\"\"\n",
        "canonical_solution": "    return x * 2\n", "test": test})
}

/// EvalPlus's rows on the Hub have a function `assertion` beside `check`, and numpy for it.
#[test]
fn what_stands_beside_the_check_of_human_eval_is_there_for_it() {
    let beside = "import math as m\nfrom math import inf\n\nNEAR = 1e-6\nNEARER: float = 1e-9\n\ndef assertion(out, exp):\n    assert m.fabs(out - exp) < NEAR\n\nclass More:\n    pass\n";
    let check = "def check(candidate):\n    for x, exp in zip([1, 2], [2, 4]):\n        assertion(candidate(x), exp)\n";
    let found = task(human_eval(&format!(
        "\"\"\" By us. \"\"\"\nfrom solution import twice\nMETADATA = {{'author': 'us'}}\n{beside}\n{check}\ncandidate = twice\ncheck(candidate)\n"
    )));
    let python = checker(&found);
    let expected = format!(
        "def twice(x):\n    \"\"\" Twice. \"\"\"\n    return x * 2\n\n\n{}\n\ndef _asserts():\n    for x, exp in zip([1, 2], [2, 4]):\n        assertion((yield (\"twice\", x)), exp)\n\n\ndef check():\n    yield from _asserts()\n    return True\n",
        beside.replace("\n\n", "\n")
    );
    assert_eq!(python, expected);
    // What asks for the function there would get that of the reference, which is always right.
    for (beside, expected) in [
        ("def ask(x):\n    return twice(x)\n", "tests that call the function in a function of their own"),
        ("FOUR = twice(2)\n", "tests that call the function in a function of their own"),
        ("ASKED = [twice]\n", "tests that use the function otherwise than by calling it"),
    ] {
        assert_eq!(why(human_eval(&format!("{beside}\n{check}"))), expected, "{beside}");
    }
}

/// In HumanEvalPack a check has the function's own name for it, and is called below.
#[test]
fn a_check_may_call_the_function_by_any_name() {
    for name in ["twice", "f"] {
        let literals = format!("def check({name}):\n    assert {name}(2) == 4\n\ncheck({name})");
        assert_eq!(tests(&task(human_eval(&literals))), (Some("twice".into()), vec!["[2] -> 4".into()]), "{name}");
        let looped =
            format!("def check({name}):\n    for x in [2]:\n        assert {name}(x) == x + x\n\ncheck({name})");
        let python = checker(&task(human_eval(&looped)));
        assert!(python.contains("        assert (yield (\"twice\", x)) == x + x\n"), "{python}");
    }
}

/// `map(f, xs)` in a checker would be the reference's function, or none.
#[test]
fn a_function_that_is_used_without_a_call_of_it_is_no_checker() {
    let expected = "tests that use the function otherwise than by calling it";
    let row = json!({"task_id": 1, "text": "t", "code": "def f(x): return x",
        "test_list": ["assert f(1) == 1 and list(map(f, [2])) == [2]"]});
    assert_eq!(why(row), expected);
    let test =
        "def check(candidate):\n    assert candidate(1) == 2\n    assert sorted([2, 1], key=candidate) == [1, 2]\n";
    assert_eq!(why(human_eval(test)), expected);
}

#[test]
fn tests_of_synthetic_may_be_written_as_python_writes_them() {
    let row = |info: &str| json!({"problem_id": "p", "task_type": "verifiable_code", "prompt": "Add.", "verification_info": info});
    let python = "{'language': 'python', 'test_cases': [{'type': 'function_call', 'fn_name': 'add', 'input': [1, None], 'output': [\"it's\"]}]}";
    assert_eq!(tests(&task(row(python))), (Some("add".into()), vec![r#"[1, null] -> "it's""#.into()]));
    let within = json!({"language": "python", "test_cases": "[{'input': '1\\n', 'output': '2', 'fn_name': None}]"});
    assert_eq!(tests(&task(row(&within.to_string()))), (None, vec!["1\n -> 2".into()]));
    assert_eq!(why(row("{'language'")), "`verification_info` holds text that is neither JSON nor a Python literal");
}

#[test]
fn lists_of_one_item_stay_lists_where_the_function_is_to_return_lists() {
    let answer = |starter: &str, outputs: serde_json::Value| {
        let cases = json!({"fn_name": "f", "inputs": [[1], [2]], "outputs": outputs});
        let row = json!({"question": "q", "starter_code": starter, "input_output": cases.to_string()});
        tests(&task(row)).1.remove(0)
    };
    let method =
        |returned: &str| format!("class Solution:\n    def f(self, x: Dict[str, int]) -> {returned}:\n        ");
    for (returned, outputs, expected) in [
        ("List[int]", json!([[5], [6]]), "[1] -> [5]"),
        ("List[int]", json!([[[5]], [[]]]), "[1] -> [5]"),
        ("List[List[int]]", json!([[[5, 7]], [[6]]]), "[1] -> [[5, 7]]"),
        ("list[ list[str] ]", json!([[["a"]], [["b"]]]), "[1] -> [['a']]"),
        ("int", json!([[5], [6]]), "[1] -> 5"),
    ] {
        assert_eq!(answer(&method(returned), outputs), expected, "{returned}");
    }
    assert_eq!(answer("def f(x) -> List[int]:\n    # write here\n", json!([[5], [6]])), "[1] -> [5]");
    for starter in ["def f(x):\n\t", "def f(x) -> List[int]", ""] {
        assert_eq!(answer(starter, json!([[5], [6]])), "[1] -> 5", "{starter}");
    }
}

/// Models write tests that have one name twice, of which pytest has the last.
#[test]
fn of_tests_with_one_name_the_last_one_counts() {
    let test = "def test_a():\n    assert f(1) == 0\n\ndef test_a():\n    assert f(1) == 1\n\nclass TestB:\n    def test_c(self):\n        assert f(2) == 0\n    def test_c(self):\n        assert f(2) == 2\n    def test_a(self):\n        assert f(3) == 3\n";
    let row = json!({"question": "f", "solution": "def f(x):\n    return x", "test": test});
    assert_eq!(tests(&task(row)).1, ["[1] -> 1", "[2] -> 2", "[3] -> 3"]);
}
