use std::fs;
use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::program::Entry;
use crate::{Equality, Example, Value};

const ADD: &str = r#"{"id":"add","prompt":"Add.","entry_point":"add","tests":[{"args":"(1, 2)","expected":"3"}]}"#;
/// Its test.
const TEST: &str = r#"{"args":"(1, 2)","expected":"3"}"#;

/// The tasks of a file with this content.
fn open(content: impl AsRef<[u8]>) -> Result<Vec<Task>, TasksError> {
    file::parse(Path::new("tasks.jsonl"), content.as_ref())
}

fn tasks(text: &str) -> Vec<Task> {
    open(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The only task of a file.
fn task(line: &str) -> Task {
    let [task] = <[Task; 1]>::try_from(tasks(line)).unwrap();
    task
}

/// What is said of a file.
fn refused(content: impl AsRef<[u8]>) -> String {
    open(content).unwrap_err().to_string()
}

fn value(literal: &str) -> Answer {
    Answer::Value(Value::from_literal(literal).unwrap())
}

fn printed(text: &str) -> Answer {
    Answer::Printed(text.into())
}

#[test]
fn a_function_task_says_what_is_called_with_what_and_compared_with_what() {
    let add = task(ADD);
    let Kind::Function(function) = &add.kind else { panic!("{:?}", add.kind) };
    assert_eq!((function.entry_point.as_str(), function.parameters.len()), ("add", 2));
    assert_eq!(add.entry().to_string(), "top-level `def add(arg1, arg2)`");
    assert_eq!((add.tests[0].input.as_str(), add.shown, add.split), ("[1, 2]", 2, Split::Train));
    assert!(add.passes(0, &value("3")) && add.passes(0, &value("3.0")));
    assert!(!add.passes(0, &value("4")) && !add.passes(0, &printed("3")));
}

#[test]
fn the_built_in_model_writes_for_tasks_whose_arguments_nobody_has_named() {
    let suits = |function: &str, args: &str| {
        let line =
            ADD.replace(r#""entry_point":"add""#, &format!(r#""entry_point":"{function}""#)).replace("(1, 2)", args);
        let tasks = Tasks::of_rows(Path::new("tasks.jsonl"), "tasks", &line).unwrap();
        crate::Environment::Tasks(tasks).suits_builtin_model()
    };
    assert!(suits("strategy", "([],)"));
    assert!(!suits("strategy", "([], 2)") && !suits("other", "([],)"));
}

#[test]
fn arguments_and_answers_are_python_in_text_or_json_as_it_is() {
    let line = r#"{"id":1,"prompt":"p","entry_point":"f","tests":[
        {"args":"[(1, {2: 'x'}), {3}]","expected":"'abc'"},
        {"args":[["a", null, 1.0]],"expected":{"k":[true]}},
        {"args":"()","expected":["abc"]},
        {"args":[{"()":[1]}, NaN, -Infinity],"expected":{"set":[1]}}]}"#;
    let task = task(&line.replace('\n', ""));
    let inputs: Vec<&str> = task.tests.iter().map(|test| test.input.as_str()).collect();
    // What looks like a tag of the sandbox is a dict like any other.
    let expected = [
        r#"[{"()": [1, {"{}": [[2, "x"]]}]}, {"set": [3]}]"#,
        r#"[["a", null, 1.0]]"#,
        "[]",
        r#"[{"{}": [["()", [1]]]}, {"float": "nan"}, {"float": "-inf"}]"#,
    ];
    assert_eq!(inputs, expected);
    for (test, answer) in ["'abc'", "{'k': [True]}", "['abc']", "{'set': [1]}"].into_iter().enumerate() {
        assert!(task.passes(test, &value(answer)), "{answer}");
    }
    assert!(!task.passes(3, &value("{1}")));
    assert_eq!(task.id, "1");
    let Kind::Function(function) = task.kind else { panic!() };
    assert_eq!(function.parameters.len(), 0, "of the test that has fewest");
}

#[test]
fn a_test_may_expect_an_exception_in_place_of_a_value() {
    let line =
        |test: &str| format!(r#"{{"id":"age","prompt":"p","entry_point":"age","tests":[{{"args":"(-1,)",{test}}}]}}"#);
    let age = task(&line(r#""raises":"ValueError""#));
    let raised = |kind: &str| Answer::Raised(kind.into());
    assert!(age.passes(0, &raised("ValueError")) && age.passes(0, &raised("UnicodeDecodeError")));
    assert!(!age.passes(0, &raised("KeyError")) && !age.passes(0, &value("'ValueError'")));
    assert!(age.words().ends_with("Examples:\nage(-1)  # raises ValueError"), "{}", age.words());
    assert_eq!(age.constant(), 1, "raising it always is one answer to all tests");
    let lineage = ExceptionTypes::of("class NegativeAge(ValueError): pass\nclass Other(TypeError): pass\n");
    let found = |kind: &str| age.raised(0, kind, || &lineage).is_some();
    assert!(found("NegativeAge") && found("JSONDecodeError") && !found("Other"));
    for (test, words) in [
        (r#""raises":"MemoryError""#, "tests[0].raises: found str 'MemoryError'; expected the name of an exception"),
        (r#""raises":"Typeerror""#, "tests[0].raises: no exception `Typeerror`; did you mean `TypeError`?"),
        (r#""raises":7"#, "tests[0].raises: found int 7; expected the name of an exception"),
        (r#""raises":"ValueError","expected":"1""#, "tests[0].raises: beside `expected`; a call returns or raises"),
        (r#""expected":"ValueError""#, "for an exception write \"raises\": \"ValueError\" in place of it"),
        (r#""rises":"ValueError""#, "did you mean `raises`?"),
    ] {
        let said = refused(line(test));
        assert!(said.contains(words), "{test}: {said}");
    }
    let own = line(r#""raises":"Typeerror""#).replace(r#""prompt":"p""#, r#""prompt":"Raise Typeerror.""#);
    assert!(task(&own).passes(0, &raised("Typeerror")), "a class that the prompt asks for");
}

/// What `datasets` writes: every test has the keys of all.
#[test]
fn null_keys_of_tests_count_as_missing_and_an_expected_null_is_none() {
    let of = |entry_point: &str, tests: &str| format!(r#"{{"id":"n","prompt":"p",{entry_point}"tests":[{tests}]}}"#);
    let called = |tests: &str| of(r#""entry_point":"f","#, tests);
    let f = task(&called(
        r#"{"args":"(1,)","expected":"1","raises":null,"stdin":null,"stdout":null},{"args":"(2,)","expected":null,"raises":"ValueError"},{"args":"(3,)","expected":null,"raises":null}"#,
    ));
    let raised = Answer::Raised("ValueError".into());
    assert!(f.passes(0, &value("1")) && f.passes(1, &raised) && f.passes(2, &value("None")));
    assert!(!f.passes(1, &value("None")));
    let run = r#"{"stdin":"1","stdout":"2","args":null,"expected":null,"raises":null}"#;
    assert!(task(&of("", run)).passes(0, &printed("2")));
    for (line, words) in [
        (of("", &run.replace(r#""1""#, "null")), "tests[0].stdin: missing"),
        (of("", &run.replace(r#""2""#, "null")), "tests[0].stdout: missing"),
        (of("", &run.replace(r#""raises":null"#, r#""raises":"E""#)), "tests[0]: unknown key `raises`"),
        (of("", &run.replace(r#""args":null"#, r#""args":"()""#)), "tests[0]: found `args`"),
        (called(r#"{"args":"(1,)","raises":null}"#), "tests[0].expected: missing"),
        (called(r#"{"args":"(1,)","expected":"1","stdin":"1"}"#), "tests[0]: found `stdin`"),
        (called(r#"{"args":null,"expected":"1"}"#), "tests[0].args: found NoneType None; expected all arguments"),
    ] {
        assert!(refused(&line).contains(words), "{line}\n{}", refused(&line));
    }
}

#[test]
fn an_answer_may_have_to_be_a_literal_or_begin_with_code_of_the_task() {
    let line = |more: &str| format!("{},{more}}}", ADD.strip_suffix('}').unwrap());
    let literal = task(&line(r#""literal":true"#));
    assert_eq!(
        (literal.opening().as_str(), literal.entry().opening()),
        ("def add():\n    return", "def add():".into())
    );
    assert_eq!(task(&line(r#""opening":"import math\n\ndef add(a, b):""#)).opening(), "import math\n\ndef add(a, b):");
    for (more, words) in [
        (r#""literal":1"#, "literal: found int 1; expected true or false"),
        (r#""opening":1"#, "opening: found int 1; expected text"),
    ] {
        assert!(refused(line(more)).contains(words), "{}", refused(line(more)));
    }
    let method = ADD.replace(r#""entry_point":"add""#, r#""entry_point":"A.add","literal":true"#);
    assert!(refused(method).contains("literal: found `A.add`; expected the name of a function"));
    let script = r#"{"id":"a","prompt":"p","literal":true,"tests":[{"stdin":"1","stdout":"1"}]}"#;
    assert!(refused(script).contains("literal: without an `entry_point`"));
}

#[test]
fn what_is_optional_is_read() {
    let task = task(
        r#"{"id":"root","prompt":"p","entry_point":"root","inputs":["(2,)",[3.0]],"tests":[{"args":"(4,)","expected":"2.0"}],
        "reference":"import math\n\ndef root(x,\n         digits=10):\n    return math.sqrt(x)\n","checker":"def check():\n    r = yield ('root', 9)\n    return r == 3","apart":true,
        "shown":0,"tolerance":1e-6,"tuples_are_lists":true,"split":"held_out","group":"maths","seconds":2}"#
            .replace('\n', "")
            .as_str(),
    );
    assert_eq!(
        (task.split, task.group.as_deref(), task.seconds, task.shown),
        (Split::HeldOut, Some("maths"), Some(2.0), 0)
    );
    assert_eq!(task.equality, Equality { tolerance: 1e-6, tuples_are_lists: true });
    assert_eq!(task.opening(), "def root(x, digits=10):");
    assert_eq!(task.entry().to_string(), "top-level `def root(x)`", "one test gives one argument");
    let Kind::Function(function) = &task.kind else { panic!() };
    assert!(function.checker.as_ref().unwrap().contains("yield") && task.keeps_calls_apart());
    assert_eq!(task.unanswered().collect::<Vec<_>>(), [1, 2], "a reference computes what `inputs` should give");
    assert!(task.passes(0, &value("2.000001")) && !task.passes(1, &value("1.414")));
}

#[test]
fn a_script_task_has_texts_in_and_out() {
    let task = task(
        r#"{"id":"sum","prompt":"Sum.\n","inputs":["0\n"],"reference":"print(0)","tests":[{"stdin":"3\n1 2 3\n","stdout":"6\n"}]}"#,
    );
    assert_eq!(task.kind, Kind::Script);
    assert_eq!((task.tests[0].input.as_str(), task.tests[1].input.as_str()), ("3\n1 2 3\n", "0\n"));
    assert!(task.passes(0, &printed("6")) && !task.passes(0, &printed("7")) && !task.passes(0, &value("'6'")));
    assert_eq!(task.words(), "Sum.\n\nInput:\n3\n1 2 3\nOutput:\n6");
    assert_eq!((task.opening().as_str(), task.entry()), ("", Entry::Script));
}

#[test]
fn a_prompt_shows_the_first_tests_and_how_the_program_begins() {
    let line = |rest: &str| {
        task(&format!(
            r#"{{"id":"f","prompt":"Do it. ","entry_point":"f","tests":[{{"args":"('a',)","expected":"(1,)"}},{{"args":"(1.0, None)","expected":"{{1: 2}}"}},{{"args":"()","expected":"0"}}]{rest}}}"#
        ))
    };
    assert_eq!(line("").words(), "Do it.\n\nExamples:\nassert f('a') == (1,)\nassert f(1.0, None) == {1: 2}");
    assert_eq!(line(r#","shown":0"#).words(), "Do it.");
    assert_eq!(line("").hidden(), 2..3);
    assert_eq!(line(r#","shown":9"#).hidden(), 3..3);
    // Public tests that the prompt does not show are not hidden.
    let public = line(r#","shown":0,"public":2"#);
    assert_eq!((public.words().as_str(), public.examples(), public.hidden()), ("Do it.", 0..0, 2..3));
    assert!(
        line(r#","shown":1,"tolerance":0.001"#).words().ends_with("Examples, to within 0.001:\nassert f('a') == (1,)")
    );
    assert_eq!(line("").opening(), "def f(");
    assert_eq!(
        line(r#","reference":"def f(a: int, *of: List[int], key: str = ', ') -> int: return 0""#).opening(),
        "def f(a, *of, key = ', '):"
    );
    // Comments are left out, and defaults that need what stands before the function.
    for (reference, opening) in [
        (r"def f(a,  # first\n      b=N):\n    return a", "def f(a, b=N):"),
        (r"N = 7\ndef f(\n    a, b=N, *, c=[-1],  # last: c\n):\n    return a", "def f(a, b=None, *, c=[-1],):"),
        (r"N = 7\ndef f(a,b='# no  comment'): return a", "def f(a,b='# no  comment'):"),
        (r"def f(a, b={\n    1: 2,\n}): return a", "def f(a, b={ 1: 2, }):"),
        (r"def f(a: (List[int]), k: (int) = (1)) -> int: return a", "def f(a, k = (1)):"),
        (r"N = 7\ndef f(a: ((int  # a: ), b\n)), *, k: (int) = (N)): return a", "def f(a, *, k = (None)):"),
        (r"def f(a: (int)): return a", "def f(a):"),
    ] {
        assert_eq!(line(&format!(r#","reference":"{reference}""#)).opening(), opening);
    }
    let class = ADD.replace(
        r#""entry_point":"add""#,
        r#""entry_point":"Solution.add","reference":"class Solution:\n  def add(self, a, b): return a + b""#,
    );
    assert_eq!(task(&class).words(), "Add.\n\nExamples:\nassert Solution().add(1, 2) == 3");
    assert_eq!(task(&class).opening(), "class Solution:");
}

#[test]
fn a_reference_that_begins_otherwise_than_its_program_has_its_function_first_and_the_rest_behind() {
    let method = "class S:\n    def f(self, a: int, b: int) -> int:";
    let body = "\n        return a + b\n";
    let own = format!("class S:\n    def f(self, a, b):{body}");
    for (name, opening, reference, expected) in [
        ("S.f", method, format!("{method}{body}# End."), format!("{method}{body}# End.")),
        ("S.f", method, own.clone(), format!("{method}{body}")),
        ("S.f", method, own.replace("    def", "    # Adds.\n    @cache\n    def"), format!("{method}{body}")),
        (
            "S.f",
            method,
            format!("import math\nN = 1\n\n\n# Helps.\ndef g(): pass\n\n\n{own}\n\nS.g = g"),
            format!("{method}{body}\n\nimport math\nN = 1\n\n\n# Helps.\ndef g(): pass\n\n\nS.g = g\n"),
        ),
        (
            "S.f",
            method,
            "class S(object):\n  \"\"\"Adds.\"\"\"\n  n = 1\n\n  def f(\n    self,a, b):\n    if a:\n      return b\n    return 0  # No.\n\n  def g(self):\n    pass".into(),
            format!("{method}\n        if a:\n            return b\n        return 0  # No.\n\n    n = 1\n\n    def g(self):\n        pass\n"),
        ),
        (
            "S.f",
            "import math\n\nclass Node: pass\n\nclass S:\n\tdef f(self, a, b):",
            format!("import math\nimport re\n{own}"),
            "import math\n\nclass Node: pass\n\nclass S:\n\tdef f(self, a, b):\n\t\treturn a + b\n\n\nimport re\n".into(),
        ),
        ("S.f", "class S:", format!("import re\n{}", own.replace("S:", "S(object):")), format!("{own}\n\nimport re\n")),
        (
            "f",
            "def f(a, b=None):",
            "import re\ndef f(a, b=re.A):\n    return a\n".into(),
            "def f(a, b=None):\n    return a\n\n\nimport re\n".into(),
        ),
    ] {
        let found = Task { reference: Some(reference.clone()), ..of_function(name) };
        assert_eq!(found.reference_from(opening).as_deref(), Some(expected.as_str()), "{reference}");
    }
    for (name, opening) in [
        ("S.f", "class S:\n    def f(self, b, a):"),
        ("S.f", "class S:\n    def f(self, a):"),
        ("S.f", "class S:\n    def g(self, a, b):"),
        ("S.f", "class S:\n    def f(self, a, b): # Adds."),
        ("S.f", "class S:\n    def f(self, a, b):\n        c = a"),
        ("S.f", "class S:\n    def f("),
        ("S.f", "class T:"),
        ("f", "def f(a, b):"),
        ("f", "def f():\n    return"),
    ] {
        let found = Task { reference: Some(format!("N = 1\n{own}")), ..of_function(name) };
        assert_eq!(found.reference_from(opening), None, "{opening}");
    }
    assert_eq!(of_function("f").reference_from(""), None);
}

/// A task without a reference that asks for this function.
fn of_function(name: &str) -> Task {
    task(&ADD.replace(r#""entry_point":"add""#, &format!(r#""entry_point":"{name}""#)))
}

#[test]
fn a_reference_may_bind_its_function_in_every_way_that_an_answer_may() {
    let line = |function: &str, reference: &str| {
        let reference = serde_json::json!(reference);
        ADD.replace(r#""entry_point":"add""#, &format!(r#""entry_point":"{function}","reference":{reference}"#))
    };
    for reference in ["add = lambda a, b: a + b", "from operator import add", "add: object = partial(sum_of, 2)"] {
        assert_eq!(task(&line("add", reference)).opening(), "def add(", "{reference}");
    }
    for reference in [
        "class A:\n  def add(self, a, b): return a + b\nclass B(A): pass\nclass D(B): pass",
        "class D:\n  add = lambda self, a, b: a + b",
        "class D(object): pass\nD.add = lambda self, a, b: a + b",
        "class D(list): pass",
        "from animals import A\nclass D(A): pass",
        "D = make()",
    ] {
        assert_eq!(task(&line("D.add", reference)).opening(), "class D:", "{reference}");
    }
    for (reference, defined) in [
        ("class A(object):\n  def ad(self): pass\nclass D(A): x = 1", "`A`, `A.ad`, `D`, `D.x`"),
        ("class A:\n  add = 1\nclass D: pass", "`A`, `A.add`, `D`"),
        ("def D(): pass", "`D`"),
    ] {
        let said = refused(line("D.add", reference));
        assert!(said.ends_with(&format!("reference: does not define `D.add`; it defines {defined}")), "{said}");
    }
}

#[test]
fn shown_tests_and_honeypots_are_python_also_where_it_has_no_literal() {
    let line = r#"{"id":"d","prompt":"p","entry_point":"f","shown":1,"tests":[
        {"args":"(float('-inf'), [float('nan')])","expected":"{({1, 2}, set()): {frozenset({3}), float('inf')}}"},
        {"args":"(1, 2)","expected":"complex(0, float('inf'))"}]}"#
        .replace("{1, 2}, set()", "frozenset({1, 2}), frozenset()")
        .replace('\n', "");
    let d = task(&line);
    let asserted = d.told(0..2);
    let (first, second) = (asserted[0].as_str(), asserted[1].as_str());
    assert!(
        first.starts_with("assert f(float('-inf'), [float('nan')]) == {(frozenset({1, 2}), frozenset()): {"),
        "{first}"
    );
    assert!(first.contains("frozenset({3})") && first.contains("float('inf')"), "{first}");
    assert_eq!(second, "assert f(1, 2) == complex(0.0, float('inf'))");
    let trap = honeypot(&d, crate::seed::Seed::root(1)).unwrap();
    assert!(trap.contains("(float('-inf'), [float('nan')])") && trap.contains("float('inf')"), "{trap}");
}

#[test]
fn the_best_constant_is_the_answer_that_passes_most_tests() {
    let with = |answers: &[&str], rest: &str| {
        let tests: Vec<String> =
            answers.iter().map(|answer| format!(r#"{{"args":"()","expected":"{answer}"}}"#)).collect();
        task(&format!(r#"{{"id":"f","prompt":"p","entry_point":"f","tests":[{}]{rest}}}"#, tests.join(",")))
    };
    assert_eq!(with(&["1", "2", "True", "1.0", "2"], "").best_constant(0..5), 3, "1 == True == 1.0");
    assert_eq!(with(&["1", "2", "True", "1.0", "2"], "").best_constant(1..2), 1);
    assert_eq!(with(&["1", "2", "3"], "").best_constant(0..3), 1);
    assert_eq!(with(&["nan", "nan"], "").best_constant(0..2), 0, "nan passes nothing");
    assert_eq!(with(&["1.0", "1.05", "1.1", "5.0"], r#","tolerance":0.06"#).best_constant(0..4), 3, "the one between");
    assert_eq!(with(&["[1]", "(1,)", "[1]"], "").best_constant(0..3), 2);
    assert_eq!(with(&["[1]", "(1,)", "[1]"], r#","tuples_are_lists":true"#).best_constant(0..3), 3);
    // One class may be under all types that tests expect, so that raising is one answer.
    let raises = r#"{"id":"r","prompt":"p","entry_point":"f","tests":[{"args":"()","expected":"1"},{"args":"()","raises":"TypeError"},{"args":"()","raises":"OSError"},{"args":"()","expected":"1"},{"args":"()","raises":"ValueError"}]}"#;
    let raises = task(raises);
    assert!(matches!(raises.commonest_answer(0..5), Some((Answer::Raised(kind), 3)) if kind == "TypeError"));
    assert!(matches!(raises.commonest_answer(0..4), Some((Answer::Value(_), 2))), "the first of two that pass as many");
    let script = r#"{"id":"s","prompt":"p","tests":[{"stdin":"1","stdout":"YES"},{"stdin":"2","stdout":"YES\n"},{"stdin":"3","stdout":"NO"}]}"#;
    assert_eq!(task(script).best_constant(0..3), 2);
}

/// Cases from LiveCodeBench's own grader, run by hand: stripped lines, the same count, equal text or equal decimals.
#[test]
fn output_is_compared_by_line_as_text_or_as_decimals() {
    for (printed, expected) in [
        ("6", "6\n"),
        ("\n  6  \n\n", "6"),
        ("a b", "a b"),
        ("1.50 2", "1.5 2.0"),
        ("1e3", "1000"),
        ("0.10e1", "1"),
        ("-0", "0.0"),
        ("+7", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1  2", "1 2"),
        ("a\r\nb\r\n", "a\nb"),
        ("", ""),
        ("\n", ""),
        ("123456789012345678901234567890", "123456789012345678901234567890.0"),
        ("inf 0.50", "inf 0.5"),
        ("-Infinity 1", "-inf 1.0"),
    ] {
        assert!(output::same(printed, expected, 0.0), "{printed:?} for {expected:?}");
    }
    for (printed, expected) in [
        ("6\n7", "6"),
        ("6", "6\n7"),
        ("", "6"),
        ("6", ""),
        ("a  b", "a b"),
        ("YES", "yes"),
        ("1\n\n2", "1\n2"),
        ("1 2", "12"),
        ("1", "1 1"),
        ("50000000000000000", "50000000000000001"),
        ("0.1", "0.10000000000000001"),
        ("1e99999999999", "1"),
        ("0x10", "16"),
        ("1_0", "10"),
        ("1e", "1"),
        (".", "0"),
        ("-", "0"),
        ("--1", "1"),
        ("nan", "NaN"),
        ("-inf", "inf"),
    ] {
        assert!(!output::same(printed, expected, 0.0), "{printed:?} for {expected:?}");
    }
    assert!(output::same("3.14159 x", "3.14159 x", 0.0) && !output::same("3.1416 x", "3.14159 x", 0.0));
    assert!(output::same("3.1416 2", "3.14159 2", 1e-3) && !output::same("3.1416", "3.14159", 1e-9));
    assert!(!output::same("inf", "1", 0.5) && !output::same("nan", "1", 0.5));
}

#[test]
fn a_tolerance_is_one_of_floats_beside_words_too_and_of_no_whole_number() {
    for (printed, expected) in [
        ("1000000 0.5004", "1000000 0.5"),
        ("1000000.0 0.5", "1000000 0.5"),
        ("1000500.0 0.5", "1000000 0.5"),
        ("1e6", "1000500"),
        ("007 -0", "7 0"),
        ("mean 0.50", "mean 0.5"),
        ("mean  0.4999", "mean 0.5"),
        ("YES no", "YES  no"),
    ] {
        assert!(output::same(printed, expected, 1e-3), "{printed:?} for {expected:?}");
    }
    for (printed, expected) in [
        ("1000500 0.5", "1000000 0.5"),
        ("-7", "7"),
        ("mean 0.502", "mean 0.5"),
        ("Mean 0.5", "mean 0.5"),
        ("mean 0.5 0.5", "mean 0.5"),
        ("mean", "mean 0.5"),
        ("mean=0.5001", "mean=0.5"),
    ] {
        assert!(!output::same(printed, expected, 1e-3), "{printed:?} for {expected:?}");
    }
}

#[test]
fn blank_lines_a_mark_at_the_start_and_windows_line_ends_do_no_harm() {
    let text = format!("\u{feff}\n  \n{ADD}\r\n\r\n{}\n", ADD.replace(r#""add","prompt"#, r#""add2","prompt"#));
    let read = tasks(&text);
    assert_eq!(read.iter().map(|task| (task.id.as_str(), task.line)).collect::<Vec<_>>(), [("add", 3), ("add2", 5)]);
}

/// Every refusal names the line, what was found, and what is allowed.
#[test]
fn bad_lines_are_named_with_what_is_allowed() {
    let with = |from: &str, to: &str| ADD.replacen(from, to, 1);
    let plus = |key: &str| with(r#""tests""#, &format!(r#"{key},"tests""#));
    let of = |function: &str| with(r#""add","tests"#, &format!(r#""{function}","tests"#));
    for (line, expected) in [
        ("{", "tasks.jsonl:1: not JSON: column 2: found the end; expected a key in double quotes"),
        ("[1]", "found list [1]; expected a JSON object"),
        (&with("\"id\"", "\"id\":\"x\",\"id\""), "found an object with a key twice"),
        (&with("\"id\":\"add\",", ""), "id: missing; expected a name that no other task has"),
        (&with("\"add\"", "\"\""), "id: found \"\"; expected 1 to 100 characters on one line"),
        (&with("\"add\"", "\"a\\nb\""), "id: found \"a\\nb\""),
        (&with("\"add\"", "[]"), "id: found list []; expected text"),
        (&with("\"Add.\"", "\" \""), "prompt: empty"),
        (&with("\"Add.\"", "null"), "prompt: missing; expected words"),
        (&with("\"Add.\"", "7"), "prompt: found int 7; expected text"),
        (&with("\"prompt\"", "\"promt\""), "unknown key `promt`; did you mean `prompt`?"),
        (&with("\"prompt\"", "\"xyzzy\""), "unknown key `xyzzy`; there are: id, prompt, entry_point"),
        (&with("\"expected\"", "\"expcted\""), "tests[0]: unknown key `expcted`; did you mean `expected`?"),
        (&with("\"expected\"", "\"expcted\""), "tests[0].expected: missing; to have a `reference` compute"),
        (&with("\"args\":\"(1, 2)\",", ""), "tests[0].args: missing"),
        (&with("(1, 2)", "(1, 2"), "tests[0].args: column 6"),
        (&with("(1, 2)", "5"), "tests[0].args: found int 5; expected all arguments in a tuple, such as `(5,)`"),
        (
            &with("\"3\"", "\"three\""),
            "tests[0].expected: `three` is no Python literal; a string has quotes of its own",
        ),
        (&with("\"3\"", "\"x()\""), "tests[0].expected: `x()` is no Python literal"),
        (&with("\"3\"", "\"[0] * 10**12\""), "tests[0].expected: a repetition of too many items; at most 1048576"),
        (&with(TEST, ""), "tests: none; expected `tests`, or `inputs` with a `reference`"),
        (&with(r#"[{"args":"(1, 2)","expected":"3"}]"#, "7"), "tests: found int 7; expected a list"),
        (&with(TEST, "7"), "tests[0]: found int 7; expected an object with `args` and `expected`"),
        (&with(TEST, r#"{"stdin":"","stdout":""}"#), "tests[0]: found `stdin`; the task has an `entry_point`"),
        (
            &with(r#""entry_point":"add","#, ""),
            "tests[0]: found `args`; the task has no `entry_point`, so its tests have `stdin` and `stdout`",
        ),
        (
            &with(r#""tests":[{"args":"(1, 2)","expected":"3"}]"#, r#""inputs":["(1, 2)"]"#),
            "inputs: found no `reference`",
        ),
        (&of("my add"), "entry_point: found `my add`; expected the name of a function"),
        (&of("lambda"), "entry_point: found `lambda`"),
        (&of("a.b.c"), "entry_point: found `a.b.c`"),
        (&of("2d"), "entry_point: found `2d`"),
        (&plus(r#""split":"test""#), "split: found `test`; expected `train` or `held_out`"),
        (&plus(r#""shown":-1"#), "shown: found int -1; expected a whole number from 0 to 10000"),
        (&plus(r#""shown":1.5"#), "shown: found float 1.5"),
        (&plus(r#""public":1"#), "public: found int 1; expected a whole number from `shown`, which is 2, to 10000"),
        (&plus(r#""tolerance":1"#), "tolerance: found int 1; expected a number from 0 to below 1"),
        (
            &plus(r#""modules":["numpy","scipy"]"#),
            "modules: found str 'scipy'; expected `numpy`: what else there is needs no key",
        ),
        (&plus(r#""array_types":"yes""#), "array_types: found str 'yes'; expected true or false"),
        (&plus(r#""tuples_are_lists":1"#), "tuples_are_lists: found int 1; expected true or false"),
        (&plus(r#""seconds":0"#), "seconds: found int 0; expected a number above 0, at most 60"),
        (&plus(r#""seconds":"2""#), "seconds: found str '2'"),
        (&plus(r#""reference":"def ad(a, b): pass""#), "reference: does not define `add`; it defines `ad`"),
        (&plus(r#""reference":"class A:\n def add(self): pass""#), "`add`; it defines `A`, `A.add`"),
        (
            &ADD.replace(r#""expected":"3""#, r#""raises":"json.JSONDecodeError""#),
            "expected its last word, `JSONDecodeError`",
        ),
        (&plus(r#""reference":"def add(a, b): pass","inputs":[{"args":"(1, 2)"}]"#), "what stands behind `args` alone"),
        (&plus(r#""reference":"print(1)""#), "reference: does not define `add`; it defines nothing"),
        (
            &plus(r#""reference":"class add: pass""#),
            "reference: `add` is a class; expected a function, or a method of it that is named as in `add.method`",
        ),
        (&plus(r#""reference":"x = (\ny""#), "reference: line 2 of the Python: "),
        (&plus(r#""reference":7"#), "reference: found int 7; expected text"),
        (&plus(r#""checker":"def f(): yield""#), "checker: does not define `check`; it defines `f`"),
        (&plus(r#""checker":"def check(): return 1""#), "checker: `check` yields nothing"),
        (&plus(r#""apart":true"#), "apart: without a `checker`"),
        (&plus(r#""apart":1"#), "apart: found int 1; expected true or false"),
        (
            r#"{"id":"s","prompt":"p","tests":[{"stdin":1,"stdout":"x"}]}"#,
            "tests[0].stdin: found int 1; expected the text of standard input",
        ),
        (r#"{"id":"s","prompt":"p","tests":[{"stdin":"1"}]}"#, "tests[0].stdout: missing"),
        (&plus(r#""prelude":"import math\nfrom""#), "prelude: line 2 of the Python: "),
        (r#"{"task_id":1,"code":"","test_list":[]}"#, "tasks.jsonl:1: a row of MBPP; `grpo-2048 tasks convert` makes"),
        (
            &with("\"3\"", &format!("\"{}{}\"", "[".repeat(41), "]".repeat(41))),
            "tests[0].expected: nested 41 deep; an answer may nest at most 40",
        ),
        (r#"{"id":"s","prompt":"p","checker":"def check(): yield"}"#, "checker: without an `entry_point`"),
    ] {
        let words = refused(line);
        assert!(words.lines().any(|told| told.starts_with("tasks.jsonl:1: ")), "{words}");
        assert!(words.contains(expected), "{line}\n{words}");
    }
}

#[test]
fn all_that_is_wrong_with_a_file_is_told_at_once_up_to_twenty_things() {
    let text = format!(
        "{ADD}\n\nnull\n{}\n{ADD}",
        ADD.replace("\"args\":\"(1, 2)\"", "\"arg\":\"(1, 2)\"").replace("Add.", "")
    );
    let words = refused(&text);
    let lines: Vec<&str> = words.lines().collect();
    assert_eq!(lines.len(), 5, "{words}");
    assert!(lines[0].starts_with("tasks.jsonl:3: found NoneType None"));
    assert!(lines[1..4].iter().all(|line| line.starts_with("tasks.jsonl:4: ")));
    assert_eq!(lines[4], "tasks.jsonl:5: id: `add` is the id of line 1 already");
    let words = refused("null\n".repeat(100_000));
    assert_eq!((words.lines().count(), words.lines().last()), (21, Some("and 99980 more like these")));
}

#[test]
fn files_that_are_no_tasks_at_all_are_refused_in_words() {
    for empty in ["", "\n\r\n  \n", "\u{feff}"] {
        assert!(refused(empty).contains("no tasks; expected one JSON object a line"), "{empty:?}");
    }
    let list = refused(format!("[{ADD},\n {ADD}]"));
    assert_eq!(list, "tasks.jsonl:1: a JSON list; expected one JSON object a line, as of `jq -c '.[]' FILE`");
    let object = refused(ADD.replacen('{', "{\n", 1));
    let expected = "a JSON object over several lines; expected one JSON object a line, as of `jq -c . FILE`";
    assert_eq!(object, format!("tasks.jsonl:1: {expected}"));
    let number = refused(ADD.replacen("\"add\"", "1.5", 1));
    assert_eq!(number, "tasks.jsonl:1: id: found float 1.5; expected text");
    let latin = [ADD.as_bytes(), b"\n{\"id\":\"caf\xe9\"}"].concat();
    assert_eq!(refused(latin), "tasks.jsonl:2: byte 11 of the line is not UTF-8; save the file as UTF-8");
    assert!(refused([0x1f, 0x8b, 8, 0]).contains("not UTF-8"));
    let long = format!("{ADD}\n{{\"id\":\"{}\"}}", "x".repeat(50 << 20));
    assert_eq!(refused(long), "tasks.jsonl:2: 52428809 bytes in one line; at most 33554432 (32 MiB)");
    let nowhere = Tasks::open(Path::new("nowhere/tasks.jsonl")).unwrap_err().to_string();
    assert!(nowhere.starts_with("nowhere/tasks.jsonl: No such file"), "{nowhere}");
    let many = ADD.replace(TEST, &vec![TEST; 10_001].join(","));
    assert!(refused(many).contains("tests: found 10001; at most 10000"));
}

#[test]
fn a_hundred_thousand_tasks_are_read_in_seconds() {
    let line = |n: usize| {
        let tests: Vec<String> = (0..5)
            .map(|k| format!(r#"{{"args":"([{n}, {k}, -1.5], 'text', ({k},))","expected":"{{'a': [{n}]}}"}}"#))
            .collect();
        format!(
            r#"{{"id":"t{n}","prompt":"Do it.","entry_point":"f","tests":[{}],"reference":"def f(a, b, c):\n    return {{'a': [a[0]]}}\n"}}"#,
            tests.join(",")
        )
    };
    let text: String = (0..100_000).map(|n| line(n) + "\n").collect();
    let start = Instant::now();
    let read = tasks(&text);
    let seconds = start.elapsed().as_secs_f64();
    println!("{} MB, {} tasks in {seconds:.2} s", text.len() >> 20, read.len());
    assert_eq!(read.len(), 100_000);
    assert!(seconds < 60.0, "{seconds}");
}

#[test]
fn our_own_examples_are_tasks_with_many_hidden_tests() {
    let open = |name: &str| {
        Tasks::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tasks").join(name)).unwrap()
    };
    let (micro, basics) = (open("micro.jsonl"), open("basics.jsonl"));
    assert_eq!((micro.tasks().len(), basics.tasks().len()), (16, 40));
    for task in micro.tasks().iter().chain(basics.tasks()) {
        assert!(task.hidden().len() >= 14 && task.reference.is_some(), "{}", task.id);
        assert!(task.words().contains("\nassert ") || task.words().contains("\nInput:\n"), "{}", task.words());
    }
    let held_out = |tasks: &Tasks| tasks.tasks().iter().filter(|task| task.split == Split::HeldOut).count();
    let scripts = basics.tasks().iter().filter(|task| task.kind == Kind::Script).count();
    assert_eq!((held_out(&basics), scripts), (8, 6));
    // What these tasks leave out is told by one public test alone, and is another of each task that is held out.
    let told = open("told.jsonl");
    assert_eq!((told.tasks().len(), held_out(&told)), (72, 24));
    let key = |task: &Task| format!("{:?}", task.tests[0].expected.as_ref().unwrap());
    for task in told.tasks() {
        assert_eq!((task.examples(), task.hidden().start), (0..0, 1), "{}", task.id);
        let others = told.tasks().iter().filter(|other| key(other) == key(task));
        assert_eq!(others.count(), 1, "{}", task.id);
    }
}

#[test]
fn a_directory_names_its_rules_and_its_words() {
    let dir = tempfile::tempdir().unwrap();
    let open = |text: &str| {
        fs::write(dir.path().join("env.toml"), text).unwrap();
        Directory::open(dir.path())
    };
    let whole = "name = \"sums\"\ntasks = \"tasks.jsonl\"\nsystem = \"Be brief.\"\nmodules = [\"numpy\"]\n[example]\nrequest = \"r\"\nprogram = \"p\\n\"\n";
    let example = Some(Example { request: "r".into(), program: "p".into() });
    let rules = RulesFile::Tasks(dir.path().join("tasks.jsonl"));
    let path = dir.path().join("env.toml");
    let (name, system, modules) = ("sums".into(), Some("Be brief.".into()), vec![Module::Numpy]);
    let expected = Directory { name, rules, system, example, modules, path };
    assert_eq!(open(whole).unwrap(), expected);
    let game = open("game = \"game.py\"").unwrap();
    assert_eq!(game.rules, RulesFile::Game(dir.path().join("game.py")));
    assert_eq!(game.name, dir.path().canonicalize().unwrap().file_name().unwrap().to_str().unwrap());
    for (text, expected) in [
        ("", "found neither; expected either `tasks = \"tasks.jsonl\"` or `game = \"game.py\"`"),
        ("tasks = \"a\"\ngame = \"b\"", "found both"),
        ("game = \"a\"\nsystem = \"b\"", "found `system` beside `game`"),
        ("game = \"a\"\nmodules = [\"numpy\"]", "found `modules` beside `game`"),
        ("tasks = \"a\"\nmodules = [\"pandas\"]", "unknown variant `pandas`, expected `numpy`"),
        ("taks = \"a\"", "did you mean `tasks`?"),
        ("tasks = 7", "line 1"),
        ("tasks = tasks.jsonl # all", "invalid boolean, expected `true`; if it is text, quote it: \"tasks.jsonl\""),
        ("tasks = 2048.jsonl", "; if it is text, quote it: \"2048.jsonl\""),
        ("tasks = \"a\"\n[example]\nrequest = \"r\"", "missing field `program`"),
        ("tasks = \"a\"\n[example]\nrequest = \"r\"\nprogram = \"def f(:\"", "example.program: line 1"),
        ("tasks", "line 1"),
    ] {
        let words = open(text).unwrap_err().to_string();
        assert!(words.contains(expected) && words.contains("env.toml"), "{text}: {words}");
    }
    let words = Directory::open(Path::new("nowhere")).unwrap_err().to_string();
    assert!(words.contains("nowhere") && words.contains("holds `env.toml`"), "{words}");
}

proptest! {
    #[test]
    fn any_line_is_a_task_or_refused(line in any::<String>(), key in "[a-z_]{1,12}", content in "[\\[\\]{}\",:0-9a ]{0,20}") {
        let _ = (open(&line), open(ADD.replace("Add.", &line)), open(ADD.replacen("\"id\"", &format!("\"{key}\":{content},\"id\""), 1)));
    }

    #[test]
    fn output_equals_itself_whatever_the_space_around_it(text in any::<String>(), other in any::<String>()) {
        let spaced = format!("\n {text} \n");
        prop_assert!(output::same(&text, &text, 0.0));
        prop_assert!(output::same(&spaced, &text, 0.0));
        prop_assert_eq!(output::same(&text, &other, 0.0), output::same(&other, &text, 0.0));
    }

    #[test]
    fn a_number_is_the_same_however_it_is_written(digits in 1u64..1_000_000, zeros in 0usize..5, exponent in -9i32..9) {
        let plain = format!("{digits}e{exponent}");
        let longer = format!("{}{digits}{}e{}", "0".repeat(zeros), "0".repeat(zeros), exponent - zeros as i32);
        prop_assert!(output::same(&longer, &plain, 0.0), "{} {}", longer, plain);
        let next = format!("{}e{exponent}", digits + 1);
        prop_assert!(!output::same(&next, &plain, 0.0));
    }
}
