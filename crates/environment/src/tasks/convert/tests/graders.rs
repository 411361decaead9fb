//! Rows read as the graders of their sets read them.

use serde_json::json;

use super::{checker, task, tests, why};

fn verl(words: &str, truth: serde_json::Value) -> serde_json::Value {
    json!({"data_source": "lcb", "prompt": [{"role": "user", "content": words}],
        "reward_model": {"ground_truth": truth.to_string()}})
}

#[test]
fn a_prompt_that_begins_a_class_asks_for_its_method() {
    let words = "Sum with a class Solution.\n```python\nclass Solution:\n    def f(self, xs: List[int]) -> List[int]:\n        \n```\nGo.";
    let cases = json!({"fn_name": "f", "inputs": ["[1, 2]", "[4]"], "outputs": ["[3]", "[4]"]});
    let list = json!([{"input": "[1, 2]", "output": "[3]", "testtype": "functional", "metadata": {"func_name": "f"}}]);
    let nemo_gym = json!({"responses_create_params": {"input": words}, "verifier_metadata": {"unit_tests": cases}});
    let info = json!({"language": "python", "test_cases": [{"type": "function_call", "fn_name": "f", "input": [[1, 2]], "output": [[3]]}]});
    let synthetic = json!({"prompt": words, "verification_info": info.to_string()});
    for row in [verl(words, cases), verl(words, list), nemo_gym, synthetic] {
        let found = task(row);
        assert_eq!(found.opening(), "class Solution:");
        let (name, tests) = tests(&found);
        assert_eq!((name.as_deref(), tests[0].as_str()), (Some("Solution.f"), "[[1, 2]] -> [3]"));
    }
    let other = verl(&words.replace("f(self", "g(self"), json!({"fn_name": "f", "inputs": ["1"], "outputs": ["2"]}));
    assert_eq!(tests(&task(other)).0.as_deref(), Some("f"), "the class is another one");
}

#[test]
fn a_program_begins_as_the_starter_code_of_its_row_does() {
    let method = "class Solution:\n    def f(self, xs: List[int], k: int) -> int:";
    let cases = |inputs: serde_json::Value| json!({"fn_name": "f", "inputs": inputs, "outputs": [3]});
    let rows = |starter: &str| {
        let call = json!([{"input": "[1]\n2", "output": "3", "testtype": "functional"}]).to_string();
        let checked = "def check(candidate):\n    assert candidate(xs=[1], k=2) == 3\n\n\ncheck(Solution().f)";
        let solution = "```python\nimport math\nclass Solution:\n    def f(self, xs, k): pass\n```";
        [
            json!({"question": "q", "starter_code": starter, "input_output": cases(json!([[[1], 2]]))}),
            json!({"question_content": "q", "starter_code": starter, "public_test_cases": call, "metadata": {"func_name": "f"}}),
            json!({"problem": "q", "starter_code": starter, "tests": call, "metadata": {"func_name": "f"}}),
            json!({"problem": "q", "starter_code": starter, "tests": {"functional": checked}, "solutions": [solution]}),
        ]
    };
    for end in ["\n        ", "", "\n        pass\n"] {
        for row in rows(&format!("{method}{end}")) {
            assert_eq!(task(row.clone()).opening(), method, "{row}");
        }
    }
    let apps = |starter: &str| rows(starter)[0].clone();
    assert_eq!(task(apps("def f(xs, k):\n\t")).opening(), "def f(xs, k):", "the order of the parameters");
    let mut solved = apps("def f(xs, k):");
    solved["solutions"] = json!(["def f(xs,k): return 3"]);
    assert_eq!(task(solved).opening(), "def f(xs,k):", "a warm-up reads what begins like that");
    assert_eq!(task(apps("class Solution {")).opening(), "class Solution:", "which is no Python");
}

#[test]
fn starter_code_may_end_anywhere_after_the_line_of_its_function() {
    let row = |starter: &str| json!({"question": "q", "starter_code": starter, "input_output": {"fn_name": "f", "inputs": [[[1], 2]], "outputs": [3]}});
    let method = "class Solution:\n    def f(self, xs, k):";
    let function = "def f(xs, k):";
    for (begun, end) in [
        (method, "\n"),
        (method, "\n    "),
        (method, "\n        # code here"),
        (method, "\n        #code here\n"),
        (method, "\n        # write code here\n        "),
        (method, "\n        # write code here\n        pass"),
        (method, "  # code: here\n        return 0"),
        (method, "\n        ..."),
        (method, "\n        \"\"\"\n        :rtype: int\n        \"\"\""),
        (method, "\n        print xs\n"),
        (method, "\n        \n    def g(self):\n        "),
        (method, "\n        # code here\n\nif __name__ == '__main__':\n    print(Solution().f([1], 2))\n# }"),
        (function, "\n    return -1"),
        (function, "\n    #your code here"),
        (function, "\n    # your code here\n"),
        ("class Solution(object):\n    #Function to find f.\n    def f(self, xs, k):", "\n        # code here"),
        ("from typing import List\n\nclass Solution:\n\tdef f(self, xs: List[int], k) -> 'a: b':", "\n\t\t"),
        (
            "class Solution:\n    def f(\n        self,\n        xs,  # numbers: all\n        k,\n    ) -> int:",
            "\n        ",
        ),
        ("def f(xs: (List[int]), k: (int) = (1)) -> (  # a: b\n    (int)  # c: d\n):", "\n    "),
    ] {
        for before in ["", "\n\n", "# Definition of a node.\n# class Node: pass\n"] {
            let code = format!("{before}{begun}{end}");
            for code in [code.replace('\n', "\r\n"), code] {
                let found = task(row(&code));
                assert_eq!((found.opening().as_str(), found.opening_is_begun()), (begun, true), "{code:?}");
            }
        }
    }
    for other in [
        "class Solution:\n    def f(self, xs, k)",
        "class Solution:\n    def __init__(self):\n        \n    def f(self, xs, k):",
    ] {
        assert_eq!(task(row(other)).opening(), "class Solution:", "{other:?} is no Python");
    }
    // The answers are lists, which the annotation says.
    let mut listed = row("class Solution:\n    def f(self, xs, k) -> List[int]:\n        # code here");
    listed["input_output"]["outputs"] = json!([[3]]);
    assert_eq!(tests(&task(listed)).1, ["[[1], 2] -> [3]"]);
}

#[test]
fn a_program_begins_as_a_reference_that_begins_with_its_method() {
    let starter =
        "# Definition of a node.\nclass Solution(object):\r\n    def f(self, xs: List[int], k: int) -> int:\n        ";
    let given = "class Solution(object):\n    def f(self, xs: List[int], k: int) -> int:";
    for (solution, expected) in [
        ("class Solution:\n    def f(self, xs, k):\n        return 3", "class Solution:\n    def f(self, xs, k):"),
        ("class Solution:\r\n\r\n\tdef f(self,xs,k) :return 3", "class Solution:\n\n\tdef f(self,xs,k) :"),
        ("import math\nclass Solution:\n    def f(self, xs, k):\n        return 3", given),
        ("class Solution:\n    def g(self): pass\n    def f(self, xs, k): return 3", given),
        // Its comments and decorators are the solution's own.
        ("class Solution:\n    # The answer is 3.\n    def f(self, xs, k):\n        return 3", given),
        ("class Solution:\n    @cache\n    def f(self, xs, k):\n        return 3", given),
        (
            "# Definition of a node.\n\nclass Solution:\n    def f(self, xs, k): return 3",
            "class Solution:\n    def f(self, xs, k):",
        ),
    ] {
        let found = task(json!({"question": "q", "starter_code": starter, "solutions": [solution],
            "input_output": {"fn_name": "f", "inputs": [[[1], 2]], "outputs": [3]}}));
        assert_eq!(found.opening(), expected, "{solution:?}");
        assert_eq!(found.reference.unwrap().starts_with(expected), expected != given, "{solution:?}");
    }
    let row = |prompt: &str, starter: &str, solution: &str| {
        task(json!({"question": prompt, "starter_code": starter, "solutions": [solution],
            "input_output": {"fn_name": "f", "inputs": [[[1], 2]], "outputs": [3]}}))
    };
    // What starter code defines before the class is there for the program.
    let helped = "class Node: pass\nclass Solution:\n    def f(self, xs, k):";
    let own = "class Solution:\n    def f(self, xs, k): return 3";
    assert_eq!(row("q", helped, own).opening(), helped);
    // Where the prompt names the method, a reference that begins with the class is read.
    let told = "q\n\nclass Solution:\n    def f(self, xs, k):";
    let second = "class Solution:\n    def g(self): pass\n    def f(self, xs, k): return 3";
    assert_eq!(row(told, given, second).opening(), "class Solution:");
    // Words before the code are none of it.
    assert_eq!(row("q", &format!("```python\n{given}\n```"), second).opening(), given);
    for word in ["//Python3", "// Python 3", "python3", "Python 3", "# Python3", "~~~python", "..."] {
        assert_eq!(row("q", &format!("{word}\n{given}"), second).opening(), given, "{word}");
    }
    for line in [
        "'''Definitions.'''",
        "sys.setrecursionlimit(10**6)",
        "[sys.setrecursionlimit(10**6)]",
        "(MOD := 7)",
        "f() if c else 0",
        "MOD = 7",
    ] {
        let code = format!("{line}\n{given}");
        assert_eq!(row("q", &code, second).opening(), code);
    }
}

#[test]
fn a_method_that_nothing_but_a_solution_names_begins_the_program() {
    let row = |prompt: &str, code: &str| {
        let call = json!({"type": "function_call", "fn_name": "f", "input": [[1], 2], "output": 3});
        let info = json!({"language": "python", "test_cases": [call]});
        json!({"prompt": prompt, "verification_info": info, "gold_standard_solution": format!("```python\n{code}\n```")})
    };
    let body = "  # The trick.\n        return len(xs) + k";
    for (code, expected) in [
        (
            "class Solution(object):\n    @staticmethod\n    def f(xs: List[int], k=1) -> int:",
            "class Solution(object):\n    @staticmethod\n    def f(xs: List[int], k=1) -> int:",
        ),
        // What stands before the class or the method may define what its line needs.
        (
            "class Solution(object):\n    def g(self): pass\n    @staticmethod\n    def f(xs: List[int], k=1) -> int:",
            "class Solution:\n    @staticmethod\n    def f(xs, k=1):",
        ),
        (
            "class Solution:\n    M = 7\n    def f(self, xs, k, m=M):",
            "class Solution:\n    def f(self, xs, k, m=None):",
        ),
        (
            "MOD = 10**9 + 7\ndef timed(fn): return fn\nclass Solution:\n\t@timed\n\t@classmethod\n\tdef f(cls, xs, k, m=MOD, *, s='a  # b', **kw: int):",
            "class Solution:\n    @classmethod\n    def f(cls, xs, k, m=None, *, s='a  # b', **kw):",
        ),
        (
            "import math\nclass Solution:\n    def f(\n        self,\n        xs,  # the (numbers\n        k):",
            "class Solution:\n    def f(self, xs, k):",
        ),
        (
            "Key = List[int]\nclass Base: pass\nclass Solution(Base):\n    def f(self, xs: Key, k: int) -> Key:",
            "class Solution:\n    def f(self, xs, k):",
        ),
        ("def f(xs, k):\n    pass\ndef g(x):", "def f(xs, k):"),
    ] {
        let found = task(row("Do it.", &format!("{code}{body}")));
        assert_eq!((found.opening().as_str(), found.reference.is_some()), (expected, true), "{code}");
    }
    let told = "Do it.\n\nclass Solution:\n    def f(self, xs, k):";
    assert_eq!(
        task(row(told, &format!("class Solution:\n    def f(self, xs, k):{body}"))).opening(),
        "class Solution:"
    );
    let check = "def check(candidate):\n    assert candidate(2) == 4\n\n\ncheck(Solution().f)";
    let deep_coder = json!({"problem": "p", "tests": {"functional": check}, "solutions": ["class Solution:\n    def f(self, x): return 4"]});
    assert_eq!(task(deep_coder).opening(), "class Solution:\n    def f(self, x):");
}

#[test]
fn programs_have_the_names_that_graders_after_apps_import() {
    let cases = json!({"inputs": ["1\n"], "outputs": ["2\n"]});
    let check = json!({"functional": "def check(candidate):\n    assert candidate(2) == 4\n\n\ncheck(f)"});
    let rows = [
        verl("Do it.", cases.clone()),
        json!({"question": "q", "input_output": cases}),
        json!({"problem": "p", "tests": cases}),
        json!({"problem": "p", "tests": check, "solutions": ["def f(x): return x * 2"]}),
        json!({"prompt": "p", "verification_info": {"language": "python", "test_cases": cases}}),
        json!({"responses_create_params": {"input": "p"}, "verifier_metadata": {"unit_tests": cases}}),
    ];
    for row in rows {
        let prelude = task(row.clone()).prelude.unwrap_or_default();
        assert!(prelude.contains("\nfrom collections import *\n") && prelude.contains("\nimport math\n"), "{row}");
    }
    let none = json!({"description": "d", "public_tests": {"input": ["1\n"], "output": ["2\n"]}});
    assert_eq!(task(none).prelude, None, "CodeContests runs programs as they are");
}

#[test]
fn named_arguments_have_the_places_of_their_parameters() {
    let row = |assert: &str| {
        let test = format!("def check(candidate):\n    assert {assert}\n\n\ncheck(Solution().f)");
        json!({"problem": "p", "tests": {"functional": test},
            "solutions": ["class Solution:\n    def f(self, xs, by=2, to=3): pass\n    @staticmethod\n    def g(x): pass"]})
    };
    for (assert, expected) in [
        ("candidate(xs = [1], by = 5) == 4", "[[1], 5] -> 4"),
        ("candidate([1], to=6, by=5) == 4", "[[1], 5, 6] -> 4"),
        ("candidate(xs=[1]) == 4", "[[1]] -> 4"),
    ] {
        assert_eq!(tests(&task(row(assert))), (Some("Solution.f".into()), vec![expected.into()]), "{assert}");
    }
    let of_static = json!({"problem": "p", "solutions": ["class A:\n    @staticmethod\n    def g(x): pass"],
        "tests": {"functional": "def check(candidate):\n    assert candidate(x=1) == 1\n\ncheck(A().g)"}});
    assert_eq!(tests(&task(of_static)).1, ["[1] -> 1"]);
    for assert in ["candidate([1], to = 6) == 4", "candidate(ys = [1]) == 4", "candidate(**{'xs': 1}) == 4"] {
        assert_eq!(why(row(assert)), "tests that call the function with keywords", "{assert}");
    }
    let mbpp =
        json!({"task_id": 1, "text": "t", "code": "def f(a, b): return a", "test_list": ["assert f(b=2, a=1) == 1"]});
    assert_eq!(tests(&task(mbpp)).1, ["[1, 2] -> 1"]);
}

#[test]
fn of_deep_coder_the_function_that_check_is_called_with_is_asked_for() {
    let row = |call: &str| {
        json!({"problem": "p", "tests": {"functional": format!("def check(candidate):\n    assert candidate(2) == 4\n\n{call}")},
            "solutions": ["class Solution:\n    def twice(self, x): return x * 2\n    def half(self, x): return x / 2\n\ndef f(x): pass\ndef g(x): pass"]})
    };
    for (call, name) in
        [("check(Solution().twice)", "Solution.twice"), ("check(f)", "f"), ("", "g"), ("print(check)", "g")]
    {
        assert_eq!(tests(&task(row(call))).0.as_deref(), Some(name), "{call}");
    }
    assert_eq!(why(row("check(Solution().other)")), "asserts about a function that no solution defines");
}

#[test]
fn a_row_whose_tests_call_several_functions_or_none_beside_one_is_dropped() {
    let row = |cases: serde_json::Value| {
        let info = json!({"language": "Python", "test_cases": cases});
        json!({"task_type": "verifiable_code", "verification_info": info, "prompt": "p", "gold_standard_solution": "def f(x): return x"})
    };
    let call = |name: &str| json!({"type": "function_call", "fn_name": name, "input": [3], "output": 6});
    let stdin = json!({"type": "stdin_stdout", "input": "1", "output": "2"});
    assert_eq!(tests(&task(row(json!([call("f"), call("f")])))).0.as_deref(), Some("f"));
    assert_eq!(why(row(json!([call("f"), call("g")]))), "tests of several functions");
    assert_eq!(why(row(json!([call("f"), stdin]))), "tests that call a function beside tests of whole programs");
}

#[test]
fn floats_that_are_printed_may_differ_where_graders_made_of_that_of_apps_let_them() {
    let tolerance = |outputs: [&str; 2]| {
        let cases = json!({"inputs": ["1", "2"], "outputs": outputs}).to_string();
        task(json!({"question": "q", "input_output": cases})).equality.tolerance
    };
    // Of others the grader compares lines of one number, or words whatever is beside them.
    let of_verl =
        |outputs: [&str; 2]| task(verl("q", json!({"inputs": ["1", "2"], "outputs": outputs}))).equality.tolerance;
    let of_contests = |outputs: [&str; 2]| {
        let row = json!({"name": "A", "description": "d", "public_tests": {"input": ["1", "2"], "output": outputs}});
        task(row).equality.tolerance
    };
    assert_eq!([["0.5 1", "2"], ["0.5\n1.5", "2"]].map(of_verl), [0.0, 1e-5]);
    assert_eq!([["x 0.5", "0.5"], ["1", "2"]].map(of_contests), [1e-5, 0.0]);
    assert_eq!(tolerance(["0.5 1", "2"]), 1e-5);
    assert_eq!(tolerance(["x 1\n", "2\n\n0.333333\n"]), 1e-5);
    assert_eq!(tolerance(["1e-9", "2"]), 1e-5);
    assert_eq!([["1", "2"], ["v1.2.3", "e"], ["x 0.5", "0.5"], ["e5", "inf"], [".", "nan"]].map(tolerance), [0.0; 5]);
}

/// JSON has no integers as keys (`JSON forces dictionaries to have string keys; this undoes this`, says the grader).
#[test]
fn keys_that_read_as_integers_are_integers_in_tests_of_apps() {
    let cases = |inputs: serde_json::Value, outputs: serde_json::Value| json!({"fn_name": "f", "inputs": inputs, "outputs": outputs});
    let apps = |cases: serde_json::Value| tests(&task(json!({"question": "q", "input_output": cases}))).1;
    assert_eq!(apps(cases(json!([[2], [3]]), json!([[{"1": 2}], [{"-1": 3}]]))), ["[2] -> {1: 2}", "[3] -> {-1: 3}"]);
    assert_eq!(apps(cases(json!([[2]]), json!([{"1": 2, "a": 3}]))), ["[2] -> {'1': 2, 'a': 3}"]);
    assert_eq!(
        tests(&task(verl("q", cases(json!(["{\"1\": 2}"]), json!(["{\"4\": 2}"]))))).1,
        apps(cases(json!([[{"1": 2}]]), json!([{"4": 2}])))
    );
    assert!(apps(cases(json!([[{"1": 2}]]), json!([3])))[0].contains("[1, 2]"), "the argument too");
}

#[test]
fn what_a_row_runs_before_a_program_is_there_for_it() {
    let row = |before: &str| {
        json!({"task_id": "HumanEval/903", "entry_point": "f", "canonical_solution": "    return g(x)\n",
            "prompt": format!("{before}def f(x):\n    \"\"\" d \"\"\"\n"), "test": "def check(candidate):\n    assert candidate(1) == 1\n"})
    };
    let before = "import math\n\n\ndef g(x):\n    return math.floor(x)";
    assert_eq!(task(row(&format!("{before}\n\n\n"))).prelude.as_deref(), Some(before));
    assert_eq!(task(row("")).prelude, None);
    let mbpp = |imports: serde_json::Value| json!({"task_id": 1, "prompt": "t", "code": "def f(x): return math.floor(x)", "test_imports": imports, "test_list": ["assert f(1.5) == 1"]});
    assert_eq!(task(mbpp(json!(["import math", "import re"]))).prelude.as_deref(), Some("import math\nimport re"));
    assert_eq!(task(mbpp(json!([]))).prelude, None);
    // A library that the sandbox lacks is missed by programs that use it alone.
    let guarded = |import: &str| format!("try:\n    {import}\nexcept ImportError:\n    pass");
    let written = task(mbpp(json!(["import math", "from solution import f", "import os.path"]))).prelude.unwrap();
    let expected = ["import math", &guarded("from solution import f"), &guarded("import os.path")];
    assert_eq!(written, expected.join("\n"));
    // Nor does it end a checker, which would end the judging of all other tasks.
    for (key, before) in [("test_imports", json!(["import pandas"])), ("test_setup_code", json!("import pandas"))] {
        let mut row = mbpp(json!(null));
        (row["test_list"], row[key]) = (json!(["assert set(f(1.5)) == {1}"]), before);
        let checker = checker(&task(row));
        assert!(checker.contains(&guarded("import pandas")), "{key}: {checker}");
    }
    let together = "import pandas; import numpy";
    assert_eq!(task(row(&format!("{together}\n"))).prelude.as_deref(), Some(together));
}

#[test]
fn tests_that_pytest_does_not_run_do_not_count() {
    let row = |more: &str| {
        json!({"question": "f", "solution": "def f(x):\n    return x",
            "test": format!("def test_a():\n    assert f(1) == 1\n\n{more}\n")})
    };
    for mark in ["@pytest.mark.skip", "@pytest.mark.skipif(True, reason='r')", "@pytest.mark.xfail()", "@skip('r')"] {
        let of_function = format!("{mark}\ndef test_b():\n    assert f(2) == 0");
        let of_class = format!("{mark}\nclass TestB:\n    def test_b(self):\n        assert f(2) == 0");
        for more in [of_function, of_class] {
            assert_eq!(tests(&task(row(&more))).1, ["[1] -> 1"], "{more}");
        }
    }
    for within in ["    __test__ = False\n", "    def __init__(self):\n        pass\n"] {
        let more = format!("class TestB:\n{within}    def test_b(self):\n        assert f(2) == 0");
        assert_eq!(tests(&task(row(&more))).1, ["[1] -> 1"], "{more}");
    }
    let run = "@pytest.mark.slow\nclass TestB:\n    def test_b(self):\n        assert f(2) == 2";
    assert_eq!(tests(&task(row(run))).1, ["[1] -> 1", "[2] -> 2"]);
}
