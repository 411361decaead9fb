//! Tests of the cells that `grpo-2048 judge --serve` runs.

use serde_json::{Value, json};

use crate::judge_served::{ends_at_ctrl_c, post, server};

#[test]
fn cells_of_a_notebook_keep_their_state_to_the_end_of_a_request() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let run = |cells: &[&str], more: Value| {
        let mut request = json!({ "cells": cells });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post(&address, "/run_jupyter", &request)
    };
    // The cells of SandboxFusion's own example.
    let example = [
        "a = 123",
        "a",
        "print(a)",
        "import sys; sys.stderr.write('stderr message')",
        "raise RuntimeError('error message')",
    ];
    let answer = run(&example, json!({}));
    let cells = answer["cells"].as_array().unwrap();
    assert_eq!((&answer["status"], cells.len()), (&json!("Success"), 5), "{answer}");
    assert_eq!((&cells[1]["display"], &cells[2]["stdout"]), (&json!([{ "text/plain": "123" }]), &json!("123\n")));
    assert_eq!(cells[3]["stderr"], "stderr message");
    let error = &cells[4]["error"][0];
    assert_eq!((&error["ename"], &error["evalue"]), (&json!("RuntimeError"), &json!("error message")));
    let lines = error["traceback"].as_array().unwrap();
    assert!(lines.iter().any(|line| line.as_str().unwrap().contains("<cell 5>")) && lines.len() < 6, "{error}");
    assert_eq!(run(&example, json!({})), answer, "the same again, with its time");

    // A cell after an exception goes on, functions see the notebook's names, and no state is left for the next request.
    let answer = run(
        &["def f(n): return n and m + f(n - 1)\nm = 2", "1 / 0", "f(4)", "1 +", "import sys; sys.exit(3)", "m"],
        json!({}),
    );
    let of = |cell: usize| &answer["cells"][cell];
    assert_eq!((&of(2)["display"][0]["text/plain"], &of(5)["display"][0]["text/plain"]), (&json!("8"), &json!("2")));
    let names = [1, 3, 4].map(|cell| of(cell)["error"][0]["ename"].clone());
    assert_eq!(names, ["ZeroDivisionError", "SyntaxError", "SystemExit"].map(|name| json!(name)));
    assert_eq!(run(&["m"], json!({}))["cells"][0]["error"][0]["ename"], "NameError");

    // Bounds: of time, of memory, of output. What was told before is kept.
    let long = run(&["print('kept')", "while True: pass", "print('never')"], json!({ "cell_timeout": 1 }));
    let told = [
        &long["status"],
        &long["driver"]["status"],
        &long["cells"][0]["stdout"],
        &long["cells"][1]["error"][0]["ename"],
    ];
    assert_eq!(
        told,
        [&json!("Failed"), &json!("TimeLimitExceeded"), &json!("kept\n"), &json!("TimeoutError")],
        "{long}"
    );
    assert_eq!(long["cells"].as_array().unwrap().len(), 2);
    let much = run(&["x = [0] * 10**9", "print('z' * 10**6)", "len('z')"], json!({}));
    assert_eq!(much["cells"][0]["error"][0]["ename"], "MemoryError", "{}", much["cells"][0]);
    if much["cells"].as_array().unwrap().len() == 3 {
        let told = much["cells"][1]["stdout"].as_str().unwrap();
        assert!(told.len() < 66_000 && told.ends_with("characters more"), "{}", told.len());
    }
    // A cell that takes the runner's place answers for itself alone.
    let forged = run(&["import sys; sys.modules['program'].run_cell = lambda *_: 7", "1"], json!({}));
    assert_eq!(forged["status"], "Success", "{forged}");
    ends_at_ctrl_c(child);
}

#[test]
fn a_cell_tells_what_it_prints_through_streams_of_earlier_cells_and_what_is_no_text() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let run = |cells: &[&str]| {
        let answer = post(&address, "/run_jupyter", &json!({ "cells": cells }));
        assert_eq!(answer["status"], "Success", "{answer}");
        answer["cells"].as_array().unwrap().clone()
    };
    let kept = run(&[
        "import logging, sys\nlogging.basicConfig(format='%(message)s')\no = sys.stdout\nlogging.warning('first')",
        "logging.warning('second')\nprint('kept', file=o)",
        "sys.stdout.close()",
        "print('on')",
    ]);
    assert_eq!((&kept[0]["stderr"], &kept[1]["stderr"]), (&json!("first\n"), &json!("second\n")));
    assert_eq!((&kept[1]["stdout"], &kept[3]["stdout"]), (&json!("kept\n"), &json!("on\n")), "{kept:?}");

    let strange = run(&[
        "print('before')\nprint('\\ud800')",
        "print('before')\nclass E(Exception):\n    def __str__(self):\n        raise RuntimeError('no')\nraise E()",
        "import sys\nt = '\\x01' * 65536\nprint(t)\nprint(t, file=sys.stderr)\nraise ValueError(t)",
        "class F(Exception):\n    __traceback__ = property(lambda self: 1 // 0)\nraise F('odd')",
        "def f():\n    return 1 // 0\nf()",
    ]);
    assert_eq!((&strange[0]["stdout"], &strange[0]["error"]), (&json!("before\n\\ud800\n"), &json!([])));
    let error = |cell: usize| &strange[cell]["error"][0];
    assert_eq!(strange[1]["stdout"], "before\n");
    assert_eq!((&error(1)["ename"], &error(1)["evalue"]), (&json!("E"), &json!("<exception str() failed>")));
    assert_eq!(error(2)["ename"], "ValueError");
    for text in [&strange[2]["stdout"], &strange[2]["stderr"], &error(2)["evalue"]] {
        let text = text.as_str().unwrap();
        assert!(text.starts_with("\x01\x01") && text.ends_with(" characters more"), "{}", text.len());
    }
    assert_eq!((&error(3)["ename"], &error(3)["evalue"]), (&json!("F"), &json!("odd")));
    let lines = |cell: usize| error(cell)["traceback"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    assert!(lines(4).any(|line| line == "    return 1 // 0"), "the source of a cell is shown: {}", error(4));
    assert!(
        (0..5).all(|cell| !strange[cell].to_string().contains("<program>")),
        "nothing is told of what runs the cells"
    );

    // All cells together: what is too much is left out, and what comes later and fits is told.
    let much = "import sys\nt = '\\x01' * 65536\nprint(t)\nprint(t, file=sys.stderr)";
    let cells: Vec<&str> = std::iter::repeat_n(much, 30).chain(["1 // 0", "'last'"]).collect();
    let told = run(&cells);
    let bytes = json!(told).to_string().len();
    assert!((3 << 20..5 << 20).contains(&bytes), "{bytes}");
    assert!(told[29]["stdout"].as_str().unwrap().contains(" bytes left out: "), "{}", told[29]);
    assert_eq!(told[30]["error"][0]["ename"], "ZeroDivisionError");
    assert_eq!(told[31]["display"], json!([{ "text/plain": "'last'" }]));
    ends_at_ctrl_c(child);
}

#[test]
fn a_cell_may_await_and_a_semicolon_at_its_end_displays_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let shown = [
        ("x = 1; x", Some("1")),
        ("x + 1;", None),
        ("_", Some("1")),
        ("(x + 1)  ;  # as in a plot", None),
        ("';'  # ;", Some("';'")),
        ("import asyncio\nasync def later(n):\n    await asyncio.sleep(n)\n    return n\nawait later(3)", Some("3")),
        ("first = asyncio.create_task(later(4))\nawait first", Some("4")),
        ("last = await later(5)\nlast", Some("5")),
        ("await later(6);", None),
        ("asyncio.run(later(7))", Some("7")),
        // The kernel goes on, and a name that a cell has bound is its own.
        ("exit()\n8", Some("8")),
        ("quit", None),
        ("_", Some("8")),
        ("_ = str.upper\n9", Some("9")),
        ("_('a')", Some("'A'")),
    ];
    let cells = shown.map(|(cell, _)| cell);
    let answer = post(&address, "/run_jupyter", &json!({ "cells": cells }));
    for ((cell, shown), told) in shown.iter().zip(answer["cells"].as_array().unwrap()) {
        assert_eq!(told["error"], json!([]), "{cell}");
        assert_eq!(told["display"][0]["text/plain"].as_str(), *shown, "{cell}: {told}");
    }
    let failed = ["await later(1)\nawait None", "%time x", "!ls", "def f():\n    await later(1)"];
    let request: Vec<&str> = cells.iter().chain(&failed).copied().collect();
    let answer = post(&address, "/run_jupyter", &json!({ "cells": request }));
    let names: Vec<&Value> = (0..4).map(|cell| &answer["cells"][cells.len() + cell]["error"][0]["ename"]).collect();
    assert_eq!(names, ["TypeError", "SyntaxError", "SyntaxError", "SyntaxError"]);
    let lines = answer["cells"][cells.len()]["error"][0]["traceback"].as_array().unwrap();
    assert!(lines.iter().any(|line| line == "    await None") && lines.len() < 6, "{lines:?}");
    ends_at_ctrl_c(child);
}

#[test]
fn a_cell_may_be_indented_and_have_prompts_as_one_that_was_pasted_may() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let shown = [
        ("\n  \n    x = 1\n    if x:\n        x += 1\n    x", "2"),
        (">>> x = 3\n>>> if x:\n...     x += 1\n... \n>>> x", "4"),
        ("    >>> x = 5\n    >>> x;", ""),
        ("In [7]: if x:\n   ...:     x += 1\n\nIn [8]: x", "6"),
        ("'''\n>>> x\n'''", r"'\n>>> x\n'"),
        ("    ", ""),
    ];
    let answer = post(&address, "/run_jupyter", &json!({ "cells": shown.map(|(cell, _)| cell) }));
    for ((cell, shown), told) in shown.iter().zip(answer["cells"].as_array().unwrap()) {
        assert_eq!(told["error"], json!([]), "{cell}");
        assert_eq!(told["display"][0]["text/plain"].as_str().unwrap_or_default(), *shown, "{cell}: {told}");
    }
    ends_at_ctrl_c(child);
}

/// Cells, and what IPython 9 shows of each.
const SHOWN: &[(&str, &str)] = &[
    ("def f(x, *more, key=1): return x\nf", "<function __main__.f(x, *more, key=1)>"),
    ("class A: pass\nclass E(ValueError): pass\n[int, A, E(A)]", "[int, __main__.A, __main__.E(__main__.A)]"),
    (
        "from collections import *\ndefaultdict(int, {1: 2}), OrderedDict(a=1)",
        "(defaultdict(int, {1: 2}), OrderedDict([('a', 1)]))",
    ),
    (
        "{3, 1, 2}, frozenset(), (1,), {}, Counter('abb')",
        "({1, 2, 3}, frozenset(), (1,), {}, Counter({'b': 2, 'a': 1}))",
    ),
    ("deque([[]], 2), [deque()]", "(deque([[]], maxlen=2), [deque([])])"),
    ("x = [1]\nx.append(x)\nx", "[1, [...]]"),
    ("['x' * 74]", "['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx']"),
    (
        "{'k': ['x' * 30] * 2, 'l': ['y' * 40] * 2}",
        "{'k': ['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'],\n 'l': \
         ['yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy',\n  'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy']}",
    ),
    ("class B:\n    def __repr__(self):\n        return 'B\\nb'\n[B(), B()]", "[B\n b,\n B\n b]"),
];

#[test]
fn values_are_shown_as_in_a_notebook() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let more = ["list(range(2000))", "x = 0\nfor _ in range(5000): x = [x]\nx", "[[0] * 900] * 900"];
    let cells: Vec<&str> = SHOWN.iter().map(|(cell, _)| *cell).chain(more).collect();
    let answer = post(&address, "/run_jupyter", &json!({ "cells": cells }));
    let text = |cell: usize| answer["cells"][cell]["display"][0]["text/plain"].as_str().unwrap_or_default();
    for (number, (cell, shown)) in SHOWN.iter().enumerate() {
        assert_eq!(text(number), *shown, "{cell}: {}", answer["cells"][number]);
    }
    let long = text(SHOWN.len());
    assert!(long.starts_with("[0,\n 1,\n") && long.ends_with("\n 999,\n ...]"), "{}", long.len());
    assert!(text(SHOWN.len() + 1).starts_with("[[[["), "{}", answer["cells"][SHOWN.len() + 1]);
    assert!(text(SHOWN.len() + 2).contains(" characters more"));
    ends_at_ctrl_c(child);
}
