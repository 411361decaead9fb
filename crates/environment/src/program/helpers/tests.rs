use crate::program::{Entry, Program};

fn source(blocks: &[&str]) -> String {
    let text: String = blocks.iter().map(|block| format!("So:\n```python\n{block}```\n")).collect();
    let program = Program::from_text(&text, &Entry::function("add(a)").unwrap());
    program.unwrap_or_else(|rejection| panic!("{rejection}:\n{text}")).source().to_owned()
}

#[test]
fn what_earlier_blocks_do_to_the_names_of_a_program_is_kept_as_a_notebook_would() {
    let add = |of: &str| format!("def add(a):\n    return {of}\n");
    for (earlier, of) in [
        ("table = {}\nfor i in range(3):\n    table[i] = i\n", "table[a]"),
        ("for i in range(3):\n    pass\n", "i"),
        ("try:\n    from math import fsum\nexcept ImportError:\n    fsum = sum\n", "fsum([a])"),
        ("if 1 > 0:\n    LIMIT = 1\nelse:\n    LIMIT = 2\n", "LIMIT"),
        ("import io\nwith io.StringIO('a') as words:\n    text = words.read()\n", "text"),
        ("from math import *\n", "floor(a)"),
        ("names = []\nnames.append(1)\n", "names[a]"),
        ("import sys\nsys.setrecursionlimit(10 ** 6)\n", "sys.maxsize"),
        ("count = 1\ncount -= 1\n", "count"),
        ("import os\nimport os.path\n", "os.path.join(a)"),
        ("class Node:\n    pass\nNode.size = 3\n", "Node.size"),
        ("while True:\n    deepest = 3\n    break\n", "deepest"),
        ("total = 0\nfor x in range(3):\n    total += x\n", "total"),
        // A method's own name is none that its body sees.
        (
            "def least(a):\n    return a\n",
            "Least().least(a)\nclass Least:\n    def least(self, a):\n        return least(a)",
        ),
        ("cache = 0\n", "b\ndef b():\n    global cache\n    cache += 1"),
    ] {
        assert_eq!(
            source(&[&format!("print(len('a'))\nunused = 1\n{earlier}"), &add(of)]),
            format!("{earlier}{}", add(of))
        );
    }
}

#[test]
fn of_two_attempts_the_last_counts_and_what_only_the_first_needs_is_left_out() {
    let add = "def add(a):\n    return table[a] + pick(a)\n";
    let first = "def pick(a):\n    return 0\ntable = []\nfor x in range(3):\n    table.append(x)\n";
    let second = "def pick(a):\n    return 1\ntable = {}\nfor x in range(3):\n    table[x] = pick(x)\n";
    assert_eq!(source(&[first, second, add]), format!("{second}{add}"));
    // What was worked out before a function was written anew was so by the old one.
    let worked = "def pick(a):\n    return 0\ntable = [pick(0)]\n";
    let anew = "def pick(a):\n    return 1\n";
    assert_eq!(source(&[worked, anew, add]), format!("{worked}{anew}{add}"));
    // A loop that happens to have the same variable is no part of it.
    let printed = "for x in range(3):\n    print(x)\n";
    assert_eq!(source(&[printed, second, add]), format!("{second}{add}"));
}

#[test]
fn examples_do_not_take_the_place_of_what_python_has() {
    let add = "def add(a):\n    return sum([a]) + max([a])\n";
    let example = "from numpy import *\nsum = 0\nfor max in [1, 2]:\n    sum += max\nprint(sum)\n";
    assert_eq!(source(&[example, add]), add);
    let own = "def max(of):\n    return of[0]\n";
    assert_eq!(source(&[own, add]), format!("{own}{add}"));
    // Functions of a module are no settings of it, and no change.
    let used = "import random\nrandom.shuffle([])\n";
    let draws = "def add(a):\n    return random.random()\n";
    assert_eq!(source(&[used, draws]), format!("import random\n{draws}"));
}

#[test]
fn a_whole_program_in_parts_reads_its_input_in_order() {
    let read = "n = int(input())\nprint('read')\nxs = list(map(int, input().split()))\n";
    let text = |parts: &[&str]| parts.iter().map(|part| format!("```python\n{part}```\n")).collect::<String>();
    let program = |parts: &[&str]| Program::from_text(&text(parts), &Entry::Script).unwrap().source().to_owned();
    let kept = "n = int(input())\nxs = list(map(int, input().split()))\nprint(sum(xs))\n";
    assert_eq!(program(&["m = int(input())\nprint(m)\n", read, "print(sum(xs))\n"]), kept);
    // One that has all takes nothing, whatever reads the input too.
    let whole = "xs = input()\nprint(xs)\n";
    assert_eq!(program(&[read, read, whole]), whole);
    // Nor what it binds itself, where that is read first behind a condition.
    let tried = "n = int(input())\np = int(input())\nfor i in range(n - 1):\n    x = int(input())\n    print(p - x)\n    p = x\n";
    let right =
        "n = int(input())\nfor i in range(n):\n    x = int(input())\n    if i:\n        print(x - p)\n    p = x\n";
    assert_eq!(program(&[tried, right]), right);
}

#[test]
fn a_piece_that_prints_nothing_is_an_example_of_a_whole_program() {
    let program = |text: &str| Program::from_text(text, &Entry::Script).unwrap().source().to_owned();
    let own = "def main():\n    print(int(input()) * 2)\n\nmain()\n";
    for after in
        ["```\nn = 3\nanswer = 6\n```", "Complexity: O(n)\nSpace: O(1)", "```python\ndef main():\n    print(1)\n```"]
    {
        assert_eq!(program(&format!("Here:\n```python\n{own}```\n\n{after}\n")), own, "{after}");
    }
    assert_eq!(program("```python\nn = 3\n```\n"), "n = 3\n");
}

#[test]
fn a_piece_that_uses_a_whole_program_and_reads_no_input_is_an_example_of_it() {
    let program = |parts: [&str; 2]| {
        let text: String = parts.map(|part| format!("So:\n```python\n{part}```\n")).concat();
        Program::from_text(&text, &Entry::Script).unwrap().source().to_owned()
    };
    let solve = "def solve(n):\n    return n * 2\n";
    let by_name = format!("{solve}\nif __name__ == '__main__':\n    print(solve(int(input())))\n");
    let within = format!("import sys\n\n{solve}\ndef main():\n    print(solve(int(sys.stdin.read())))\n\nmain()\n");
    let imported = format!("from sys import stdin\n\n{solve}\nprint(solve(int(stdin.readline())))\n");
    let tried = "def test_solve():\n    assert solve(3) == 6\n\ntest_solve()\n";
    for own in [by_name.as_str(), &within, &imported] {
        for after in ["print(solve(3))\n", "for n in [1, 2]:\n    print(n, solve(n))\n", tried] {
            assert_eq!(program([own, after]), own, "{after}");
        }
        // So is what needs nothing of it, and what prints nothing of what it reads. What reads the input too is another attempt.
        for after in ["print(42)\n", "print(max([1, 2]))  # 2\n", "n = int(input())\n", "dp[n] = max(dp[n - 1], 0)\n"] {
            assert_eq!(program([own, after]), own, "{after}");
        }
        for attempt in [
            "print(int(input()) * 2)\n",
            "from sys import stdin as f\nprint(int(f.read()) * 2)\n",
            "from os import read\nprint(int(read(0, 99)) * 2)\n",
            "import fileinput as lines\nprint(int(next(iter(lines.input()))) * 2)\n",
            "from fileinput import input as line\nprint(int(line()) * 2)\n",
            "import sys\nprint(int(getattr(sys, 'st' + 'din').read()) * 2)\n",
            "exec('print(int(input()) * 2)')\n",
        ] {
            assert_eq!(program([own, attempt]), attempt);
        }
        for after in ["print(solve(int(open(0).read())))\n", "print(solve(int(input())))\n"] {
            assert_eq!(program([own, after]), format!("{solve}{after}"));
        }
    }
    // Where no other piece reads it, it is the program.
    assert_eq!(program([solve, "print(solve(3))\n"]), format!("{solve}print(solve(3))\n"));
    let printed = format!("{solve}print(solve(1))\n");
    assert_eq!(program([printed.as_str(), "print(solve(3))\n"]), format!("{solve}print(solve(3))\n"));
    // A name that is a variable reads nothing.
    let variable = format!("{solve}def show(input):\n    print(input)\n\nshow(1)\n");
    assert_eq!(program([variable.as_str(), "print(solve(3))\n"]), format!("{solve}print(solve(3))\n"));
}

#[test]
fn an_answer_begins_after_the_thoughts_of_a_model_whatever_they_leave_open() {
    let script = "n = int(input())\nprint(n * 2)\n";
    for thoughts in
        ["<think>\nDouble it.\n</think>\n", "Double it.</think>\n\n", "<think>\n```python\nprint(1\n</think>\n"]
    {
        let program = Program::from_text(&format!("{thoughts}{script}"), &Entry::Script);
        assert_eq!(program.unwrap().source(), script, "{thoughts}");
    }
    let quoted = "def add(a):\n    \"\"\"Ends\n</think>\n\"\"\"\n    return a\n";
    assert_eq!(source(&[quoted]), quoted);
}

#[test]
fn many_changes_of_many_names_are_answered() {
    let many: String = (0..3000).map(|n| format!("x += y{n}\ny{n} = x\n")).collect();
    let calls = format!("def f():\n    return {}\n{}", vec!["x"; 9000].join("+"), "x = f()\n".repeat(3000));
    let lambdas =
        format!("x = {}{}\n", "lambda: ".repeat(4000), (0..4000).map(|n| format!("a{n}+")).collect::<String>() + "1");
    let blocks = [many, calls, lambdas];
    let blocks: Vec<&str> = blocks.iter().map(String::as_str).chain(["def add(a):\n    return x\n"]).collect();
    assert!(source(&blocks).ends_with("def add(a):\n    return x\n"));
}
