use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Result<Program, Rejection> {
    Program::from_text(text, &Entry::function("strategy(board)").unwrap())
}

fn source(text: &str) -> String {
    parsed(text).unwrap_or_else(|rejection| panic!("{rejection}:\n{text}")).source().to_owned()
}

fn digest(text: &str) -> [u8; 32] {
    parsed(text).unwrap().digest()
}

fn rejection(text: &str) -> Rejection {
    match parsed(text) {
        Ok(program) => panic!("accepted:\n{}", program.source()),
        Err(rejection) => rejection,
    }
}

fn first_error_line(text: &str) -> (u32, u32) {
    match rejection(text) {
        Rejection::NotCompiled { line, lines, .. } => (line, lines),
        Rejection::NoFunction { .. } | Rejection::TooLong { .. } => panic!("expected a syntax error in:\n{text}"),
    }
}

const CONSTANT: &str = "def strategy(board):\n    return \"W\"\n";

#[test]
fn copies_of_a_program_share_its_source() {
    let program = parsed(CONSTANT).unwrap();
    assert!(std::ptr::eq(program.source(), program.clone().source()));
}

#[test]
fn plain_code_is_taken_as_it_is() {
    assert_eq!(source(CONSTANT), CONSTANT);
    assert_eq!(source("def strategy(board):\n    return \"W\""), CONSTANT);
    assert_eq!(source("def strategy(board): return 'W'"), "def strategy(board): return 'W'\n");
    assert_eq!(source(&CONSTANT.replace('\n', "\r\n")), CONSTANT);
}

#[test]
fn code_is_found_in_a_fence_with_prose_around() {
    for fence in ["```python", "```py", "```", "```Python3 "] {
        assert_eq!(
            source(&format!("Sure! Here it is:\n\n{fence}\n{CONSTANT}```\nThis moves up: it's simple.")),
            CONSTANT
        );
    }
    // Below a list item it may be indented.
    assert_eq!(source("1. Code:\n\n   ```python\n   def strategy(board):\n       return \"W\"\n   ```\n"), CONSTANT);
}

#[test]
fn a_fence_that_the_prompt_opened_is_closed_by_the_completion() {
    assert_eq!(source(&format!("{CONSTANT}```\nThis always moves up.\n")), CONSTANT);
    assert_eq!(source("def strategy(board):\n    return \"W\"```"), CONSTANT);
    assert_eq!(source(&format!("{CONSTANT}```\n\nExample:\n```python\nprint(strategy([[2]]))\n```\n")), CONSTANT);
}

#[test]
fn the_last_well_formed_strategy_wins() {
    let second = "def strategy(board):\n    return \"S\"\n";
    assert_eq!(source(&format!("```\n{CONSTANT}```\nBetter:\n```\n{second}```")), second);
    assert_eq!(source(&format!("```\n{CONSTANT}```\nBetter:\n```\ndef strategy(board):\n    return (\n```")), CONSTANT);
    assert_eq!(source(&format!("{second}\ndef strategy(board:\n    return\n\n{CONSTANT}")), CONSTANT);
    assert_eq!(source(&format!("{CONSTANT}\ndef strategy(board):\n    for m in")), CONSTANT);
    // A later fence without one does not hide it.
    assert_eq!(source(&format!("```python\n{CONSTANT}```\nOutput:\n```\nW W W\n```")), CONSTANT);
}

#[test]
fn what_earlier_blocks_define_stands_before_a_program_that_uses_it_and_nothing_else_of_them() {
    let helper = "import math\nimport random\nDIRECTIONS = 'WASD'\ndef unused():\n    pass\ndef pick(n):\n    return \
                  DIRECTIONS[math.floor(n)]\nprint(pick(0))\n";
    let program = "def strategy(board):\n    return pick(1)\n";
    let taken = "import math\nDIRECTIONS = 'WASD'\ndef pick(n):\n    return DIRECTIONS[math.floor(n)]\n";
    let answer = |between: &str| format!("First:\n```python\n{helper}```\n{between}Then:\n```python\n{program}```\n");
    assert_eq!(source(&answer("")), format!("{taken}{program}"));
    // The last definition counts, as it would if the blocks were run one after the other.
    let again = answer("Or rather:\n```python\ndef pick(n):\n    return 'S'\n```\n");
    assert_eq!(source(&again), format!("def pick(n):\n    return 'S'\n{program}"));
    // A program that has everything stays as it is, whatever stands before; so does one whose names nobody defines.
    for own in [
        CONSTANT,
        "def strategy(board):\n    pick = len\n    return pick(board)\n",
        "def strategy(board):\n    return lost\n",
    ] {
        assert_eq!(source(&format!("```\n{helper}```\n```\n{own}```")), own);
    }
    // Later blocks are examples, and a block that does not parse is prose.
    assert_eq!(source(&format!("```\n{program}```\n```\n{helper}```")), program);
    assert_eq!(source(&format!("```\ndef pick(:\n```\n```\n{program}```")), program);
    // An import from the future stays first.
    for (future, end) in [("from __future__ import annotations", "\n"), ("from __future__ import annotations; ", "")] {
        let text = format!("```\n{helper}```\n```\n{future}{end}{program}```");
        let text = if end.is_empty() {
            text.replace("def strategy(board):\n    return pick(1)", "strategy = pick")
        } else {
            text
        };
        assert!(source(&text).starts_with(&format!("{future}\n{taken}")), "{}", source(&text));
    }
}

#[test]
fn deep_and_many_definitions_in_earlier_blocks_are_answered() {
    let deep = format!("deep = {}1\n", "-".repeat(60_000));
    let many: String = (0..4000).map(|n| format!("n{n} = n{}\n", n + 1)).collect();
    let program = "def strategy(board):\n    return deep + n0\n";
    for earlier in [&deep, &many] {
        let text = format!("```\n{earlier}```\n```\n{program}```");
        assert!(std::thread::spawn(move || parsed(&text).is_ok()).join().unwrap());
    }
}

#[test]
fn a_function_may_be_bound_by_an_assignment_or_an_import() {
    let code = "class Player:\n    def go(self, board):\n        return 'W'\n\nstrategy = Player().go\n";
    for own in
        [code, "strategy = lambda board: 'W'\n", "from random import choice as strategy\n", "strategy: object = len\n"]
    {
        assert_eq!(source(own), own);
        assert_eq!(source(&format!("Here:\n```python\n{own}```\nThat is all.")), own);
    }
    for other in
        ["strategy == 3\n", "strategy: object\n", "strategy[0] = 1\n", "x = strategy = \n", "from strategy import x\n"]
    {
        assert!(parsed(other).is_err(), "{other}");
    }
}

#[test]
fn of_a_piece_that_is_python_the_definitions_count_and_not_how_their_lines_begin() {
    for own in [
        "from operator import (\n  strategy,\n)\n",
        "x = strategy = lambda board: 'W'\n",
        "(strategy) = lambda board: 'W'\n",
        "x = 1; strategy = len\n",
        "def \\\nstrategy(board): return 'W'\n",
        "def \u{ff53}trategy(board): return 'W'\n",
    ] {
        assert_eq!(source(own), own);
        assert_eq!(source(&format!("Here:\n```python\n{own}```\nThat is all.")), own);
    }
    for example in
        ["from solution import (\n  strategy,\n)\n", "moves = strategy = 0\n", "import s; strategy = s.strategy\n"]
    {
        assert_eq!(source(&format!("```\n{CONSTANT}```\nUse:\n```\n{example}```\n")), CONSTANT, "{example}");
    }
}

#[test]
fn helpers_imports_constants_and_decorators_stay() {
    let code = "import random\nfrom math import log2\n\nW = [[0, 1], [2, 3]]\n\nclass Node:\n    pass\n\n\
                def gain(board):\n    return 0\n\n@staticmethod\ndef strategy(board):\n    return pick(board)\n\n\
                def pick(board):\n    return 'A'\n";
    assert_eq!(source(code), code);
    assert_eq!(source(&format!("Here you go:\n```python\n{code}```")), code);
    assert_eq!(source(&format!("My answer is below.\n\n{code}\nIt looks one move ahead.")), code);
}

#[test]
fn annotations_defaults_and_nested_functions_are_allowed() {
    for code in [
        "def strategy(board: list[list[int]]) -> str:\n    return 'W'\n",
        "def strategy(board, s=[0]):\n    s[0] += 1\n    return 'WASD'[s[0] % 4]\n",
        "def strategy(board, /, *, depth=2):\n    def slide(row):\n        return row\n    return 'W'\n",
        "def strategy(*args):\n    return 'W'\n",
        "def strategy (board):\n\treturn 'W'\n",
        "def strategy[T](board: T) -> str:\n    match board:\n        case _:\n            return 'W'\n",
    ] {
        assert_eq!(source(code), code);
    }
}

#[test]
fn prose_after_unfenced_code_is_left_out() {
    for prose in [
        "This strategy always moves up.",
        "Explanation",
        "Note: it's greedy",
        "**Why it works**\n\n1. It moves up.",
        "# Notes\nThis isn't clever (yet",
        "Human: write another",
    ] {
        let code = source(&format!("{CONSTANT}\n{prose}\n"));
        assert!(code.starts_with(CONSTANT.trim_end()), "{code}");
        assert!(!code.contains(prose.lines().last().unwrap()), "{code}");
    }
}

#[test]
fn a_text_that_is_python_as_it_stands_is_played_as_it_is_written() {
    let in_string =
        "def strategy(board):\n    return 'S'\ns = \"\"\" ```\ndef strategy(board): return 'W'\n``` \"\"\"\n";
    let in_docstring = "def strategy(board):\n    \"\"\"As in\n```python\ndef strategy(board): return 'W'\n```\n\"\"\"\n    return 'S'\n";
    let comprehension = "def strategy(board):\n    return K[0]\nK = []\n[K.append(c) for c in 'W']\n";
    let walrus = "def strategy(board):\n    return K\n(K := 'W')\n";
    let helper = "def strategy(board):\n    return up()\nstrategy\ndef up():\n    return 'W'\n";
    let form_feed = "\u{c}def strategy(board):\n    return 'W'\n";
    for text in [in_string, in_docstring, comprehension, walrus, helper, form_feed] {
        assert_eq!(source(text), text);
    }
    for page in ["\u{c}", "\u{c}\u{c}"] {
        let below = format!("import math\n{page}{CONSTANT}{page}# The end\n");
        assert_eq!(source(&format!("Here:\n```python\n{below}```\n")), below);
        // Words on pages of their own, before the code and after it.
        assert_eq!(source(&format!("Here it is:\n{page}{CONSTANT}{page}It isn't hard.\n")), CONSTANT);
    }
    assert_eq!(source("\u{feff}def strategy(board):\n    return 'W'\n"), "def strategy(board):\n    return 'W'\n");
    let amid = "]\n\u{feff}# a comment\ndef strategy(board):\n    return 'W'\n";
    assert_eq!(source(amid), "# a comment\ndef strategy(board):\n    return 'W'\n");
    assert_eq!(source(&format!(")]\n\u{feff}\n\u{feff}\n{CONSTANT}")), CONSTANT);
    assert_eq!(source(&format!("As a file:\n```python\n\u{feff}{CONSTANT}```\n")), CONSTANT);
}

#[test]
fn a_fence_opens_and_closes_at_the_start_of_a_line_and_nowhere_within_a_program() {
    let in_string = "def strategy(board):\n    s = '```'\n    return s and 'W'\n";
    let indented =
        "def strategy(board):\n    \"\"\"As in\n    ```python\n    strategy([])\n    ```\n    \"\"\"\n    return 'W'\n";
    let outermost = "def strategy(board):\n    \"\"\"As in\n```python\ndef strategy(board): return 'S'\n```\nor\n```\n1\n```\n\"\"\"\n    return 'W'\n";
    for own in [in_string, indented, outermost] {
        for (open, close) in
            [("```python\n", "```"), ("", "```"), ("```\n", ""), ("~~~py\n", "~~~"), ("````\n", "`````  ")]
        {
            let text = format!("{open}{own}{close}\n{}", if close.is_empty() { "" } else { "That's it.\n" });
            assert_eq!(source(&text), own, "{text}");
        }
        let after = format!("Here:\n\n1. First\n   ```python\nx = 1\n   ```\nThen:\n```python\n{own}```\nso.");
        assert_eq!(source(&after), own);
    }
    // Shorter and other fences are part of what a longer one holds; one with words opens the next.
    let quoting = format!("{CONSTANT}s = \"\"\"\n```\n~~~\n\"\"\"\n");
    assert_eq!(source(&format!("````\n{quoting}````\n")), quoting);
    assert_eq!(source(&format!("```python\nprint(1)\n\n```python\n{CONSTANT}```\n")), CONSTANT);
    // What a model does not begin a line for still counts where nothing else is a program.
    let inline =
        "```python\ndef pick():\n    return 'W'```\nThen\n```python\ndef strategy(board):\n    return pick()```\n";
    assert_eq!(source(inline), "def pick():\n    return 'W'\ndef strategy(board):\n    return pick()\n");
}

#[test]
fn many_fences_in_texts_over_lines_are_answered() {
    let text = format!("```\nx = '''\n{}{CONSTANT}", "```\n'''\n'\n".repeat(2000));
    assert!(std::thread::spawn(move || parsed(&text).is_ok()).join().unwrap());
}

#[test]
fn many_examples_of_a_program_are_answered() {
    let imports = "```python\nfrom solution import strategy\n```\n".repeat(2000);
    assert_eq!(source(&imports), "from solution import strategy\n");
    for example in ["n = 3\n", "n = int(input())\n", "print(q)\n"] {
        let many = format!("```\n{example}```\n").repeat(2000);
        assert_eq!(Program::from_text(&many, &Entry::Script).unwrap().source(), example);
    }
    let closed = "```\nprint(q)```\nso\n".repeat(2000);
    assert_eq!(Program::from_text(&closed, &Entry::Script).unwrap().source(), "print(q)\n");
}

#[test]
fn an_example_that_imports_the_function_is_no_program_where_another_block_defines_it() {
    let example = "from solution import strategy\n\nprint(strategy([[0] * 4] * 4))\n";
    let both = format!("```python\n{CONSTANT}```\nUse it so:\n```python\n{example}```\n");
    assert_eq!(source(&both), CONSTANT);
    // What does not compile defines nothing, and an import alone binds the name.
    let broken = format!("```python\ndef strategy(board):\n    return (\n```\nOr:\n```python\n{example}```\n");
    assert_eq!(source(&broken), example);
    assert_eq!(source(&format!("```python\n{example}```\n")), example);
    let class = Entry::Class { name: "Solution".into() };
    let text = "```python\nclass Solution:\n    x = 1\n```\n```python\nfrom solution import Solution\n```\n";
    assert_eq!(Program::from_text(text, &class).unwrap().source(), "class Solution:\n    x = 1\n");
}

#[test]
fn a_function_without_a_body_and_a_variable_of_its_name_are_no_answer_where_another_block_has_one() {
    let shown = [
        "def strategy(board):\n    ...\n",
        "def strategy(board): pass\n",
        "def strategy(board):\n    \"\"\"Moves.\"\"\"\n    raise NotImplementedError('soon')\n",
        "strategy = 0\n",
        "strategy = strategy([[0] * 4] * 4)\n",
        "strategy: str = 'W' + 'A'\n",
        "strategy = [x for x in 'WASD']\n",
        "strategy = len('WASD') + sum([1])\n",
    ];
    for shown in shown {
        for label in ["python", ""] {
            let text = format!("```python\n{CONSTANT}```\nIn short:\n```{label}\n{shown}```\n");
            assert_eq!(source(&text), CONSTANT, "{shown}");
        }
        // Alone it is what was written.
        assert_eq!(source(&format!("```python\n{shown}```\n")), shown);
    }
    for answer in [
        "strategy = len\n",
        "strategy = make()\n",
        "strategy = make() | play\n",
        "strategy = lambda board: 'S'\n",
        "def strategy(board): return\n",
        "def strategy(): return len\nstrategy = strategy()\n",
    ] {
        assert_eq!(source(&format!("```python\n{CONSTANT}```\nBetter:\n```python\n{answer}```\n")), answer);
    }
    let class = Entry::Class { name: "Solution".into() };
    let text = "```python\nclass Solution:\n    x = 1\n```\n```python\nclass Solution: ...\n```\n";
    assert_eq!(Program::from_text(text, &class).unwrap().source(), "class Solution:\n    x = 1\n");
    let template = "class Solution:\n    def add(self, a: int) -> int:\n        pass\n";
    let text = format!("```python\nclass Solution:\n    x = 1\n```\n```python\n{template}```\n");
    assert_eq!(Program::from_text(&text, &class).unwrap().source(), "class Solution:\n    x = 1\n");
    for filled in [
        "class Solution: pass\nSolution.x = 2\n",
        "class Solution: pass\nsetattr(Solution, 'x', 2)\n",
        "@make\nclass Solution: ...\n",
    ] {
        let text = format!("```python\nclass Solution:\n    x = 1\n```\n```python\n{filled}```\n");
        assert_eq!(Program::from_text(&text, &class).unwrap().source(), filled);
    }
    // In an answer after the thoughts it is what was answered.
    let text = format!("<think>\n```python\n{CONSTANT}```\n</think>\n```python\ndef strategy(board): ...\n```\n");
    assert_eq!(source(&text), "def strategy(board): ...\n");
}

#[test]
fn a_fence_behind_the_last_word_of_a_program_takes_nothing_of_it() {
    let whole = "def strategy(board):\n    return pick(board)\n\ndef pick(board):\n    return 'W'";
    for text in [
        format!("```python\n{whole}```"),
        format!("{whole}```\nThis moves up."),
        format!("Here:\n```python\n{whole}```\n\nDone.\n"),
    ] {
        assert_eq!(source(&text), format!("{whole}\n"), "{text}");
    }
    let script = |text: &str| Program::from_text(text, &Entry::Script).unwrap().source().to_owned();
    let code = "n = int(input())\nprint(n)";
    assert_eq!(script(&format!("```python\n{code}```\nIt prints `n`.\n")), format!("{code}\n"));
    let commented = format!("# Of the text between ```\n{code}");
    assert_eq!(script(&format!("{commented}\n\nThis reads and prints.\n")), format!("{commented}\n"));
    let better = format!("```python\ndef strategy(board):\n    return 'S'```\nRather: ```python\n{whole}\n```\n");
    assert_eq!(source(&better), format!("{whole}\n"));
}

#[test]
fn where_nothing_is_read_or_printed_the_last_whole_program_counts() {
    let (reading, last) = ("n = int(input())\nprint(n)\n", "print(29)\n");
    let text = format!("In general:\n```python\n{reading}```\nHere:\n```python\n{last}```\n");
    let found = |text: &str, entry| Program::from_text(text, &entry).unwrap().source().to_owned();
    assert_eq!(found(&text, Entry::InputlessScript), last);
    assert_eq!(found(&text, Entry::Script), reading);
    let (printing, silent) = ("def f(n):\n    return n\nprint(f(1))\n", "def f(n):\n    return 2 * n\n");
    let text = format!("```python\n{printing}```\nBetter:\n```python\n{silent}```\nScore:\n```\nx = 3\n```\n");
    assert_eq!(found(&text, Entry::Module), silent);
}

#[test]
fn a_piece_that_prints_what_an_earlier_one_has_read_counts_unless_it_only_repeats_lines_of_it() {
    let script = |text: &str| Program::from_text(text, &Entry::Script).unwrap().source().to_owned();
    let answer = |first: &str, last: &str| format!("```python\n{first}```\nAt the end:\n```python\n{last}```\n");
    let (read, last) = ("a = list(map(int, input().split()))\n", "print(*a)\n");
    let whole = format!("{read}a.sort()\nprint(len(a))\nif a:\n    print(*a)\n");
    assert_eq!(script(&answer(&whole, last)), whole);
    let silent = format!("{read}def shown(a):\n    print(sum(a))\n");
    assert_eq!(script(&answer(&silent, "shown(a)\n")), format!("{silent}shown(a)\n"));
    assert_eq!(script(&answer(read, last)), format!("{read}{last}"));
    // A function that is written anew in between is meant, also where lines of it were only left out.
    let wrong = "def twice(n):\n    n += 1\n    return 2 * n\nn = int(input())\nprint(n)\nprint(twice(n))\n";
    let mended = "def twice(n):\n    return 2 * n\n";
    let three = format!(
        "```python\n{wrong}```\nMended:\n```python\n{mended}```\nAs before:\n```python\nprint(twice(n))\n```\n"
    );
    assert_eq!(script(&three), format!("n = int(input())\n{mended}print(twice(n))\n"));
    // What has fewer lines and reads its input is a better one.
    let shorter = format!("{read}{last}");
    assert_eq!(script(&answer(&format!("{read}print(a)\n{last}"), &shorter)), shorter);
    // Whatever stands between a program and what it is explained with: a function of it, also with a comment, words or another language.
    let fenced = |code: &str| format!("```python\n{code}```\n");
    let defined = "def gcd(a, b):\n    while b:\n        a, b = b, a % b\n    return a\n";
    let main = "a, b = map(int, input().split())\nprint(gcd(a, b))\nprint(a * b)\n";
    let (whole, quoted) = (format!("{defined}{main}"), fenced("# The divisor:\nprint(gcd(a, b))\n"));
    let between = [
        fenced(defined),
        fenced(&defined.replace("    while", "    # Euclid\n    while")),
        "class of problems: number theory.\n".to_owned(),
        "def is its keyword.\n".to_owned(),
        "```java\nclass Main { }\n```\n".to_owned(),
        fenced("def lcm(a, b):\n    return a * b // gcd(a, b)\n"),
    ];
    for between in between {
        let text = format!("The program:\n{}Part by part:\n{between}Printed:\n{quoted}", fenced(&whole));
        assert_eq!(script(&text), whole, "{between}");
    }
    // The program may stand in two pieces.
    assert_eq!(script(&format!("The function:\n{}The rest:\n{}{quoted}", fenced(defined), fenced(main))), whole);
    // What is mended otherwise than by lines, or between, is meant.
    let outside = "def first(n):\n    for i in range(n):\n        n += i\n    return n\n";
    let inside = outside.replace("    return", "        return");
    let [program, mended] = [&inside, outside].map(|defined| format!("{defined}n = int(input())\nprint(first(n))\n"));
    let pieces = [&program, outside, "print(first(n))\n"].map(fenced).concat();
    assert_eq!(script(&pieces), format!("n = int(input())\n{outside}print(first(n))\n"));
    assert_eq!(script(&[&program, &mended, "print(first(n))\n"].map(fenced).concat()), mended);
    let notebook = ["n = int(input())\nprint(n)\n", "n = 2 * n\n", "print(n)\n"].map(fenced).concat();
    assert_eq!(script(&notebook), "n = int(input())\nn = 2 * n\nprint(n)\n");
}

#[test]
fn a_piece_repeats_lines_only_as_they_stand_one_after_the_other() {
    let script = |text: &str| Program::from_text(text, &Entry::Script).unwrap().source().to_owned();
    let answer = |pieces: &[&str]| pieces.iter().map(|code| format!("```python\n{code}```\n")).collect::<String>();
    let (read, start) = ("n = int(input())\n", "s = 0\n");
    let (inside, outside) =
        ("for i in range(n):\n    s += i\n    print(s)\n", "for i in range(n):\n    s += i\nprint(s)\n");
    // Mended by indentation, by order, by a line left out, and in a function within a statement.
    let wrong = format!("{read}{start}{inside}");
    assert_eq!(script(&answer(&[&wrong, outside])), format!("{read}{start}{outside}"));
    assert_eq!(
        script(&answer(&[&format!("{read}print(n)\nn += 1\n"), "n += 1\nprint(n)\n"])),
        format!("{read}n += 1\nprint(n)\n")
    );
    let (sum, more) = ("s = 0\nfor i in range(n):\n    s += i\n", "s += 1\n");
    let mended = format!("{sum}print(s)\n");
    assert_eq!(script(&answer(&[&format!("{read}{sum}{more}print(s)\n"), &mended])), format!("{read}{mended}"));
    let within =
        |last: &str| format!("if True:\n    def first(n):\n        for i in range(n):\n            n += i\n{last}");
    let (early, late) = (within("            return n\n"), within("        return n\n"));
    let rest = "print(first(n))\n";
    let pieces = answer(&[&format!("{early}{read}{rest}"), &late, rest]);
    assert_eq!(script(&pieces), format!("{early}{read}{late}{rest}"));
    // So is a loop of which the last line is left out.
    let longer = format!("{read}{sum}    s += 1\nprint(s)\n");
    assert_eq!(script(&answer(&[&longer, sum, "print(s)\n"])), format!("{read}{mended}"));
    // A part of a function is quoted without its indentation, and with and without comments and empty lines.
    let body = "    n = int(input())\n    print(n)  # once\n\n    # And again:\n    if n > 1:\n        print(n)\n";
    let main = format!("def main():\n{body}    else:\n        print('#')\nmain()\n");
    for quoted in ["print(n)\nif n > 1:\n    print(n)  # again\n", "if n > 1:\n\n    print(n)\n"] {
        assert_eq!(script(&answer(&[&main, "n = int(input())\n", quoted])), main, "{quoted}");
    }
}

#[test]
fn a_quote_may_be_indented_otherwise_and_leave_out_what_it_marks() {
    let script = |text: &str| Program::from_text(text, &Entry::Script).unwrap().source().to_owned();
    let answer = |pieces: &[&str]| pieces.iter().map(|code| format!("```python\n{code}```\n")).collect::<String>();
    let read = "n = int(input())\na = list(map(int, input().split()))\n";
    let whole = format!("{read}s = 0\nfor x in a:\n    s += x\nprint(s)\nprint(n)\n");
    for quoted in [
        "for x in a:\n  s += x\nprint(s)\n",
        "for x in a:\n\ts+=x\nprint(s)\n",
        "s = 0\n# ...\nprint(s)\n",
        "s = 0\n...\nprint(s)\n",
        "s = 0\n# keep the rest of the loop...\nprint(s)\n",
        "s = 0\n# ... (the loop)\nprint(s)\n",
        // The last two are not printed by one of them alone.
        "print(s)\n```\nThen:\n```python\nprint(n)\n",
    ] {
        assert_eq!(script(&answer(&[&whole, quoted])), whole, "{quoted}");
    }
    // What is left out without a mark is mended, and so is what a comment only describes.
    let labelled = format!("{read}s = 0\nfor x in a:\n    s += x\nprint('Sum')\nprint(s)\n");
    for mended in [
        "s = 0\nfor x in a:\n    s += x\nprint(s)\n",
        "s = 0\nfor x in a:\n    # add it up...\n    s += x\nprint(s)\n",
        "s = 0\nfor x in a:\n    s += x\n# print the same number without words...\nprint(s)\n",
        "s = 0\nfor x in a:\n    s += x\n# ... and only the number:\nprint(s)\n",
    ] {
        assert_eq!(script(&answer(&[&labelled, mended])), format!("{read}{mended}"));
    }
    // A function that is defined twice is meant as it was at last.
    let twice = "def f(x):\n    return x\ndef f(x):\n    return x + 1\nn = int(input())\nprint(f(n))\nprint(n)\n";
    assert_eq!(script(&answer(&[twice, "print(f(n))\n"])), twice);
}

#[test]
fn what_a_piece_writes_anew_is_left_out_unless_something_else_needs_it() {
    let script = |text: &str| Program::from_text(text, &Entry::Script).unwrap().source().to_owned();
    let answer = |pieces: [&str; 2]| script(&pieces.map(|code| format!("```python\n{code}```\n")).concat());
    for (kept, rest, mended) in [
        ("import sys\nn = int(sys.stdin.read())\n", "print(0)\nprint(n)\n", "import sys\nprint(n)\nprint(0)\n"),
        ("MOD = 7\nn = int(input()) % MOD\n", "print(MOD)\nprint(n)\n", "MOD = 7\nprint(n)\nprint(MOD)\n"),
        (
            "MOD = 7\ndef f(x):\n    return x % MOD\nn = f(int(input()))\n",
            "print(MOD)\nprint(n)\n",
            "MOD = 7\nprint(n)\nprint(MOD)\n",
        ),
        ("n = int(input())\nn += 1\nm = n * 2\n", "n += 1\nprint(n)\nprint(m)\n", "n += 1\nprint(m)\nprint(n)\n"),
        ("n = int(input())\nn += 1\n", "n += 1\nprint(n)\n", "print(n)\nn += 1\n"),
        (
            "n = int(input())\nc = 0\nc += 1\n",
            "if n > 5:\n    c += 1\nprint('c is', c)\nprint(c)\n",
            "if n > 5:\n    c += 1\nprint(c)\n",
        ),
    ] {
        assert_eq!(answer([&format!("{kept}{rest}"), mended]), format!("{kept}{mended}"));
    }
    // A line may have two statements.
    let (two, mended) =
        ("x = int(input())\nprint(x); y = 2 * x\ny += 1\nprint(y)\nprint(x)\n", "print(y)\nprint(x)\ny += 1\n");
    assert_eq!(answer([two, mended]), format!("x = int(input())\ny = 2 * x\n{mended}"));
}

#[test]
fn a_cell_may_go_on_with_a_name_of_an_earlier_one_that_it_binds_itself() {
    let script = |text: &str| Program::from_text(text, &Entry::Script).unwrap().source().to_owned();
    let read = "n = int(input())\na = list(map(int, input().split()))\ntotal = 0\n";
    for next in
        ["for x in a:\n    total = total + x\nprint(total)\n", "a, total = sorted(a), total + n\nprint(*a, total)\n"]
    {
        assert_eq!(script(&format!("```python\n{read}```\nThen:\n```python\n{next}```\n")), format!("{read}{next}"));
    }
}

#[test]
fn words_before_a_whole_program_are_none_of_it() {
    let script = |text: &str| Program::from_text(text, &Entry::Script).map(|program| program.source().to_owned());
    let code = "n = int(input())\nprint(n)\n";
    let before = [
        "Here is the code:\n\n",
        "<answer>\n",
        "The program:\n",
        "<think>\n```python\nprint(1)\n```\n</think>\nMy answer:\n\n",
    ];
    for before in before {
        for after in ["", "\nIt prints what it reads.\n", "</answer>\n"] {
            assert_eq!(script(&format!("{before}{code}{after}")).unwrap(), code, "{before}{after}");
        }
    }
    let answered = format!("<think>\n```python\n{code}```\n</think>\nIt is constant.\n```python\nprint(6)\n```\n");
    assert_eq!(script(&answered).unwrap(), "print(6)\n");
    // In a fence they are none, and the mistake of a program neither.
    for fence in ["```python", "```"] {
        let fenced = script(&format!("{fence}\nRead the number first\n{code}```\n"));
        assert!(matches!(fenced, Err(Rejection::NotCompiled { line: 1, .. })), "{fenced:?}");
    }
    for broken in ["n = int input())\nprint(3)\n", "for i n range(3):\nprint(3)\n"] {
        assert!(matches!(script(broken), Err(Rejection::NotCompiled { line: 1, .. })), "{broken}");
    }
}

#[test]
fn beside_a_block_of_python_one_of_another_language_is_no_program() {
    let script = |text: &str| Program::from_text(text, &Entry::Script).unwrap().source().to_owned();
    let code = "n = int(input())\nprint(n)\n";
    for (label, other) in [("text", "O(n)"), ("javascript", "console.log(n)"), ("lua", "print(6)")] {
        let text = format!("```Python\n{code}```\nBeside it:\n```{label}\n{other}\n```\n");
        assert_eq!(script(&text), code);
    }
    // Words about time are none beside a program, and one that is wrong where they are all there is.
    let words = "O(n)\nO(1)\n";
    assert_eq!(script(&format!("```python\n{code}```\nIn time:\n```\n{words}```\n")), code);
    assert_eq!(script(&format!("```\n{words}```\n")), words);
    // A program without its function is one that fails, whatever stood before it, if it can print.
    let last = "print(solve(int(input())))\n";
    assert!(script(&format!("```python\n{code}```\nBetter:\n```\n{last}```\n")).ends_with(last), "{last}");
    assert_eq!(script(&format!("```python\n{code}```\nThen call\n```\nmain()\n```\n")), code);
    let (defined, called) = ("def O(n):\n    print(n)\n", "O(int(input()))\n");
    let used = format!("{defined}{called}");
    assert_eq!(script(&format!("```python\n{code}```\n```\n{defined}```\n```\n{called}```\n")), used);
    let other = "def strategy(board):\n    return 'A'\n";
    assert_eq!(source(&format!("```python\n{CONSTANT}```\n```text\n{other}```\n")), CONSTANT);
    // Other words name no language.
    for label in ["solution", "tool_code", "{.python}", ""] {
        let final_one = format!("```python\n{CONSTANT}```\nBetter:\n```{label}\n{other}\n```\n");
        assert_eq!(source(&final_one), other, "{label}");
    }
    assert_eq!(source(&format!("```python\n{CONSTANT}``` Final answer:\n{other}")), other);
    let used = format!("```text\ndef helper(n):\n    return 2 * n\n\n{code}```\n```python\nprint(helper(3))\n```\n");
    assert!(script(&used).ends_with(code), "{used}");
    // It is one where the Python shows its use, or is in the thoughts before the answer, or is no Python.
    for before in ["```python\nprint(strategy([]))\n```\n", "```python\ndef strategy(board): (\n```\n"] {
        assert_eq!(source(&format!("{before}```text\n{other}```\n")), other, "{before}");
    }
    assert_eq!(source(&format!("```python\n{CONSTANT}```\n</think>\n```text\n{other}```\n")), other);
}

#[test]
fn a_line_that_works_something_out_of_what_is_known_is_part_of_a_program_and_other_words_are_not() {
    let script = |text: &str| Program::from_text(text, &Entry::Script).unwrap().source().to_owned();
    let code = "n = int(input())\nprint(n)\n";
    let displays =
        ["[*range(n)]", "*range(n),", "[1/i for i in [0]]", "{**n}", "{[]}", "n and 1", "f'{n}'", "lambda x=1/0: x"];
    for last in ["1/0", "n << 1", "n.foo", "[][n]", "1/0 if n == 2 else 0", "-n", "n == 1"].into_iter().chain(displays)
    {
        let whole = format!("{code}{last}\n");
        assert_eq!(script(&format!("```python\n{whole}```\n")), whole, "{last}");
    }
    for words in ["Explanation", "up / down", "time.space", "n", "2048", "n, m"] {
        assert_eq!(script(&format!("{code}{words}\n")).trim_end(), code.trim_end(), "{words}");
    }
    for words in ["up / down", "Done and tested", "Yes or No", "not needed", "x if y else z"] {
        let starred = format!("from math import *\n{code}");
        assert_eq!(script(&format!("{starred}\n{words}\n")).trim_end(), starred.trim_end(), "{words}");
    }
    // Before a program its names mean nothing yet; behind it, lines of words end it, whatever follows on them.
    for words in ["1 <= n <= 100\n", "n == 3\n", "- list\n"] {
        assert_eq!(script(&format!("{words}\n{code}")), code, "{words}");
    }
    for words in ["Constraints\n1 <= n <= 10**5\n", "* n\n", "- list\n- max\n", "max / min\n", "O(n)\n", "O(1)\n-n\n"] {
        assert_eq!(script(&format!("{code}\n{words}")).trim_end(), code.trim_end(), "{words}");
    }
    // A call is code whatever its names, and whatever stands beside it.
    for call in ["other(1) + rest * 2", "[print(one) for one in rest[1:]]"] {
        let whole = format!("{code}{call}\n");
        assert_eq!(script(&format!("```python\n{whole}```\n")), whole, "{call}");
    }
    // An output without a program is none, and hides no other.
    for output in ["-1", "[1, -2]", "2026-11-29", "1 == 1"] {
        assert!(matches!(Program::from_text(output, &Entry::Script), Err(Rejection::NoFunction { .. })), "{output}");
        let broken = format!("```python\nn = int(input()\nprint(n)\n```\nOutput:\n```\n{output}\n```\n");
        let rejection = Program::from_text(&broken, &Entry::Script).unwrap_err();
        assert!(matches!(rejection, Rejection::NotCompiled { .. }), "{output}: {rejection:?}");
    }
    let raising = format!("{CONSTANT}1/0\n");
    assert_eq!(source(&format!("```python\n{raising}```\n")), raising);
}

#[test]
fn prose_before_unfenced_code_is_left_out() {
    for prose in ["Sure!", "Sure, here's a strategy:", "Solution\n", "It's easy (really:\n\nSteps:\n- move up"] {
        assert_eq!(source(&format!("{prose}\n\n{CONSTANT}")), CONSTANT, "{prose}");
    }
}

#[test]
fn without_the_function_there_is_no_program() {
    for text in [
        "",
        "I cannot do that.",
        "def move(board):\n    return 'W'\n",
        "def strategy2(board):\n    return 'W'\n",
        "class Player:\n    def strategy(self, board):\n        return 'W'\n",
        "if True:\n    def strategy(board):\n        return 'W'\n",
        "def strategy():\n    return 'W'\n",
        "async def strategy(board):\n    return 'W'\n",
        "'''\ndef strategy(board):\n    return 'W'\n'''\n",
    ] {
        assert!(matches!(rejection(text), Rejection::NoFunction { .. }), "{text}");
    }
}

#[test]
fn a_syntax_error_is_named_by_its_line() {
    assert_eq!(first_error_line("def strategy(board):\n    x = 1\n    y = = 2\n    return 'W'\n"), (3, 4));
    assert_eq!(first_error_line("def strategy(board)\n    return 'W'\n"), (1, 2));
    assert_eq!(first_error_line("Here:\n```python\ndef strategy(board):\n    return 'W\n```\n"), (2, 2));
    assert_eq!(
        first_error_line("Here it is, without a fence:\n\ndef strategy(board):\n    if board\n        return 'W'\n"),
        (2, 3)
    );
    assert_eq!(first_error_line("def strategy(board):\n  if board:\n\treturn 'W'\n      return 'A'\n"), (3, 4));
}

#[test]
fn a_truncated_program_does_not_compile() {
    for text in [
        "def strategy(board):\n    for move in 'WASD':\n        if",
        "def strategy(board):\n    best = max(\n        [1, 2",
        "def strategy(board):\n",
        "def strategy(board",
        "```python\ndef strategy(board):\n    '''Moves up.",
    ] {
        let (line, lines) = first_error_line(text);
        assert!((1..=lines).contains(&line), "{text}: {line} of {lines}");
    }
}

#[test]
fn the_digest_sees_the_syntax_tree_and_nothing_else() {
    for same in [
        "# Always up.\ndef strategy( board ) :\n\n        # up\n        return   \"W\"  # here\n\n",
        "def strategy(board): return 'W'\n",
        "def strategy(\n    board,\n):\n    return (\"W\")\n",
        "def strategy(board):\n    \"\"\"Moves up.\"\"\"\n    return \"W\";\n",
        "def strategy(b):\n    return \"W\"\n",
    ] {
        assert_eq!(digest(CONSTANT), digest(same), "{same}");
    }
    for other in [
        "def strategy(board):\n    return \"S\"\n",
        "def strategy(board):\n    return \"W\" + \"\"\n",
        "def strategy(board):\n    'W'\n",
        "W = 1\ndef strategy(board):\n    return \"W\"\n",
    ] {
        assert_ne!(digest(CONSTANT), digest(other), "{other}");
    }
    let nested = "def strategy(board):\n    if board:\n        x = 1\n    return 'W'\n";
    assert_ne!(digest(nested), digest(&nested.replace("\n    return", "\n        return")));
    let grouped = |sum: &str| digest(&format!("def strategy(board):\n    return 'WASD'[{sum} % 4]\n"));
    assert_ne!(grouped("(board[0][0] + 1)"), grouped("board[0][0] + 1"));
}

#[test]
fn hostile_texts_are_answered_and_not_died_of() {
    let deep = 60_000;
    let body = [
        "(".repeat(deep),
        "[".repeat(deep),
        format!("{}1{}", "[".repeat(deep), "]".repeat(deep)),
        format!("x{}", ".a".repeat(deep)),
        format!("{}1", "-".repeat(deep)),
        format!("{}1", "not ".repeat(deep / 4)),
        format!("{}1", "lambda:".repeat(deep / 8)),
        format!("1{}", "+1".repeat(deep)),
        format!("1{}", "**1".repeat(deep / 3)),
        format!("x{}", "()".repeat(deep)),
        format!("x{}", "[0]".repeat(deep / 2)),
        format!("1{}", " if 1 else 1".repeat(deep / 13)),
        "\0".repeat(100),
        "f'{".repeat(1000),
        "\u{feff}\u{202e}".into(),
    ];
    let tower: String = (0..300).map(|depth| format!("{}if 1:\n", " ".repeat(depth + 1))).collect();
    let texts = body.iter().map(|body| format!("def strategy(board):\n    {body}\n"));
    // Prose that parses is walked and dropped too, and so is what parses but for its last character.
    let prose =
        body.iter().flat_map(|body| [format!("{body}\n{CONSTANT}"), format!("{CONSTANT}\n{body}\n\nThat is\n")]);
    for text in texts.chain(prose).chain([
        format!("def strategy(board):\n{tower}"),
        "```".repeat(10_000),
        "\ndef strategy(".repeat(4000),
    ]) {
        let small = std::thread::Builder::new().stack_size(2 << 20);
        small.spawn(move || drop(parsed(&text))).unwrap().join().unwrap();
    }
}

/// The first lines of statements that may stand in one another; `$` is the indentation of the next.
const COMPOUND: &[&str] = &[
    "class A:",
    "@d\n$class A[T](B, k=C):",
    "@d\n$def f[T](a=1, *b: T, c: T = 1, **d) -> T:",
    "async def f():",
    "if 1:",
    "if 1: pass\n$elif 1:",
    "if 1: pass\n$else:",
    "for i in b:",
    "for i in b: pass\n$else:",
    "while 1:",
    "while 1: pass\n$else:",
    "try: pass\n$except E as e:",
    "try: pass\n$except* E:",
    "try: pass\n$except E: pass\n$else:",
    "try: pass\n$finally:",
    "with a as b:",
    "with (a as b, c):",
    "match 1:\n$ case 1 if 1:",
];
/// Expressions and patterns that may stand in one another, at `$`.
const NESTING: &[&str] = &[
    "(1, $)", "[$]", "{$}", "{1: $}", "{$: 1}", "lambda: $", "lambda a=$: 1", "[$ for a in b]", "[a for a in $]",
    "[a for a in b if $]", "[a for a in b for c in $]", "{$ for a in b}", "{1: $ for a in b}", "($ for a in b)",
    "(a for a in $)", "not $", "($ if 1 else 1)", "(1 if $ else 1)", "1 if 1 else $", "-$", "(1 + $)", "($ + 1)",
    "(1 < $ < 1)", "(1 and $)", "f($)", "f(a=$)", "f(*$)", "f(**$)", "b[$]", "b[1:$]", "($)[0]", "($).a", "($)()",
    "(a := $)", "(yield $)", "await ($)", "f'{$}'", "f'{1:{$}}'", "t'{$}'",
];
const PATTERNS: &[&str] = &["[1, $]", "(1 | $)", "{1: $}", "C($)", "C(a=$)", "($ as a)"];

/// A walk that goes through a node twice at each level does not end here.
#[test]
fn what_nests_deep_is_walked_once() {
    const LEVELS: usize = 90;
    let indented = |text: &str, level: usize| {
        let indent = "  ".repeat(level);
        format!("{indent}{}\n", text.replace('$', &indent))
    };
    let blocks = COMPOUND.iter().map(|head| (*head, "")).chain([("try:", "except E: pass"), ("try:", "finally: pass")]);
    let blocks = blocks.map(|(head, tail)| {
        let heads: String = (0..LEVELS).map(|level| indented(head, level)).collect();
        let tails: String = (0..LEVELS).rev().map(|level| indented(tail, level)).collect();
        format!("{heads}{}{tails}", indented("x = 1", LEVELS))
    });
    let deep = |one: &&str| {
        let (open, close) = one.split_once('$').unwrap();
        open.repeat(LEVELS) + "1" + &close.repeat(LEVELS)
    };
    let expressions = NESTING.iter().map(|one| format!("x = {}\n", deep(one)));
    let patterns = PATTERNS.iter().map(|one| format!("match x:\n case {}:\n  x = 1\n", deep(one)));
    for code in blocks.chain(expressions).chain(patterns) {
        assert!(parsed(&format!("{code}{CONSTANT}")).is_ok(), "{code}");
        let used = format!("```\n{code}```\n```\ndef strategy(board):\n    return [x, A, f]\n```");
        assert!(source(&used).starts_with(code.trim_end()), "{code}");
        bases(&code);
    }
}

#[test]
fn a_text_of_many_pieces_that_do_not_parse_is_searched_for_so_long_and_each_is_read_once() {
    let fenced = |code: &str| format!("```\n{code}```\n");
    let late = fenced(&format!("strategy = retur n a\n{CONSTANT}# {}\n", "x".repeat(62_000)));
    assert!(parsed(&late).is_ok());
    let hostile = fenced(&format!("{}# {}\n", "strategy = retur n a\n".repeat(33), "x".repeat(60_000)));
    assert!(parsed(&(late + &hostile + &hostile)).is_err());
    assert_eq!(source(&(fenced(CONSTANT) + &hostile + &hostile)), CONSTANT);
}

#[test]
fn a_program_has_a_longest_size() {
    let long = format!("def strategy(board):\n    return '{}'\n", "W".repeat(SOURCE_BYTES_MAX));
    let rejection = rejection(&long);
    assert!(matches!(rejection, Rejection::TooLong { bytes } if bytes == long.trim_end().len()), "{rejection:?}");
    assert!(rejection.to_string().contains("expected at most 65536"));
}

#[test]
fn a_file_is_a_program_as_a_whole_whatever_its_docstring_shows() {
    let file = |text: &str| Program::from_file(text, &Entry::function("strategy(board)").unwrap());
    let shown = format!("\"\"\"So:\n```python\n{CONSTANT}```\n\"\"\"\n");
    assert_eq!(file(&format!("{shown}{CONSTANT}")).unwrap().source(), format!("{shown}{CONSTANT}"));
    let misspelt = format!("{shown}{}", CONSTANT.replace("strategy", "stratgy"));
    assert!(matches!(file(&misspelt), Err(Rejection::NoFunction { .. })));
    assert!(matches!(file(&format!("{shown}{CONSTANT}(\n")), Err(Rejection::NotCompiled { .. })));
    let long = format!("{shown}x = {}1\n{CONSTANT}", "-".repeat(4 << 20));
    assert!(matches!(file(&long), Err(Rejection::TooLong { .. })));
}

#[test]
fn the_digest_does_not_see_names() {
    let plain = "def pick(b, depth):\n    for m in 'WASD':\n        if b[0][0] == depth:\n            return m\n    \
                 return max(b)\n\ndef strategy(board):\n    return pick(board, 2)\n";
    let renamed = "def choose(grid, n):\n    for move in 'WASD':\n        if grid[0][0] == n:\n            return move\n    \
                   return max(grid)\n\ndef strategy(state):\n    return choose(state, 2)\n";
    assert_eq!(digest(plain), digest(renamed));
    for (from, to) in [
        ("'WASD'", "'WSAD'"),
        ("depth:\n", "b:\n"),
        ("max(b)", "min(b)"),
        ("board, 2", "board, 3"),
        ("b[0][0]", "b[0]"),
        ("            return m\n", "            m\n"),
    ] {
        let other = plain.replace(from, to);
        assert_ne!(other, plain);
        assert_ne!(digest(plain), digest(&other), "{other}");
    }
}

#[test]
fn programs_that_play_differently_have_digests_of_their_own() {
    let differ = |one: &str, other: &str| assert_ne!(digest(one), digest(other), "{one}\n{other}");
    let methods = |first: &str, second: &str| {
        format!(
            "class P:\n    def {first}(self):\n        return 'W'\n    def {second}(self):\n        return 'S'\n\
             def strategy(board):\n    return P().up()\n"
        )
    };
    differ(&methods("up", "down"), &methods("down", "up"));
    let constants = |first: &str, second: &str| {
        format!("class P:\n    {first} = 'W'\n    {second} = 'S'\ndef strategy(board):\n    return P.up\n")
    };
    differ(&constants("up", "down"), &constants("down", "up"));
    let (straight, crossed) = ("def f(a, b):\n    return 'WS'[a < b]\n", "def f(b, a):\n    return 'WS'[b < a]\n");
    let call = "def strategy(board):\n    return f(a=1, b=2)\n";
    differ(&format!("{straight}{call}"), &format!("{crossed}{call}"));
    let documented =
        |words: &str| format!("def strategy(board):\n    \"\"\"{words}\"\"\"\n    return strategy.__doc__\n");
    differ(&documented("W"), &documented("S"));
    let named = |name: &str| format!("def strategy(board):\n    {name} = 'W'\n    return locals().get('x', 'S')\n");
    differ(&named("x"), &named("y"));
    let looked_up = |name: &str| format!("{name} = 'W'\ndef strategy(board):\n    return globals().get('x', 'S')\n");
    differ(&looked_up("x"), &looked_up("y"));
    let frame = "import sys\ndef strategy(board):\n    return 'WASD'[sys._getframe().f_lineno % 4]\n";
    differ(frame, &frame.replacen('\n', "\n\n", 1));
}

#[test]
fn names_that_mean_something_without_the_program_are_told_apart() {
    // Bound in one function, a builtin in the other.
    let shadowed = |name: &str| {
        format!("def pick({name}):\n    return {name}\n\ndef strategy(board):\n    return 'WASD'[{name}(0, 1)]\n")
    };
    assert_ne!(digest(&shadowed("max")), digest(&shadowed("min")));
    // The function that is asked for is another one of the same two.
    let named = |first: &str, second: &str| {
        format!("def {first}(board):\n    return 'W'\n\ndef {second}(board):\n    return 'S'\n")
    };
    assert_ne!(digest(&named("strategy", "other")), digest(&named("other", "strategy")));
    assert_eq!(digest(&named("strategy", "other")), digest(&named("strategy", "another")));
    let assigned = |first: &str, third: &str| {
        format!("def {first}(board):\n    return 'W'\n\ndef second(board):\n    return 'S'\n\n{third} = second\n")
    };
    assert_ne!(digest(&assigned("strategy", "other")), digest(&assigned("other", "strategy")));
    // Parameters that are handed over by their names, which are texts.
    let handed = |first: &str, second: &str| {
        let call = "pick(**{'x': 'W', 'y': 'S'})";
        format!("def pick({first}, {second}):\n    return {first}\n\ndef strategy(board):\n    return {call}\n")
    };
    assert_ne!(digest(&handed("x", "y")), digest(&handed("y", "x")));
}

#[test]
fn names_bound_by_other_means_are_told_apart() {
    let handler = |bound: &str, used: &str| {
        format!(
            "def strategy(board):\n    {bound} = 'W'\n    try:\n        board()\n    except TypeError as e:\n        \
             return {used}\n"
        )
    };
    assert_eq!(digest(&handler("x", "x")), digest(&handler("y", "y")));
    assert_ne!(digest(&handler("e", "e")), digest(&handler("x", "x")));
    let imported =
        |module: &str| format!("import {module}\ndef strategy(board):\n    return {module}.choice('WASD')\n");
    assert_ne!(digest(&imported("random")), digest(&imported("secrets")));
}

/// Pieces that completions are made of, in any order.
fn completion() -> impl Strategy<Value = String> {
    const PIECES: [&str; 29] = [
        "```python\n", "~~~\n", "````", "\"\"\"", "```", "\n", "def strategy(board):\n", "    return 'W'\n",
        "def strategy", "(", ")", "    ", "\t", "Explanation\n", "\r\n", "'''", "\u{feff}", "\0", "x = [", "]\n",
        "# a comment\n", "\\\n", "async ", "@cache\n", "\u{202e}", "é", "\u{2028}", "\x0c", "*, ",
    ];
    let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 0..30);
    prop_oneof![1 => any::<String>(), 4 => pieces.prop_map(|pieces| pieces.concat())]
}

#[test]
fn a_line_continued_into_nothing_is_no_part_of_a_program() {
    let expected = "def strategy(board):\n    return \"W\"\n";
    for after in ["\\\n", "\n\\\n\n\\", " \\\n", "\n\\\n```\nThat is all.\n"] {
        assert_eq!(parsed(&format!("{}{after}", expected.trim_end())).unwrap().source(), expected);
    }
}

proptest! {
    #[test]
    fn any_completion_gives_a_program_or_a_reason_that_names_a_line_of_it(text in completion()) {
        match parsed(&text) {
            Ok(program) => {
                prop_assert!(program.source().len() <= SOURCE_BYTES_MAX + 1);
                for (text, which) in [(text.as_str(), "the second time"), (program.source(), "from its own source")] {
                    let again = parsed(text);
                    prop_assert_eq!(again.as_ref(), Ok(&program), "{}", which);
                }
            }
            Err(Rejection::NotCompiled { line, lines, .. }) => prop_assert!((1..=lines).contains(&line)),
            Err(Rejection::TooLong { bytes }) => prop_assert!((SOURCE_BYTES_MAX + 1..=text.len()).contains(&bytes)),
            Err(Rejection::NoFunction { .. }) => {}
        }
    }
}

#[test]
fn any_function_may_be_looked_for() {
    let add = Entry::function("add(a, b)").unwrap();
    let text = "```python\ndef add(a, b):\n    return a + b\n\ndef strategy(board):\n    return \"W\"\n```\n";
    assert!(Program::from_text(text, &add).unwrap().source().starts_with("def add(a, b):\n"));
    let rejected = |text| Program::from_text(text, &add).unwrap_err().to_string();
    assert_eq!(rejected(CONSTANT), "no top-level `def add(a, b)` found");
    assert_eq!(
        rejected("def add(a): return a"),
        "no top-level `def add(a, b)` found",
        "one argument finds no parameter"
    );
    assert!(Program::from_text("def add(*numbers): return sum(numbers)", &add).is_ok());
}

#[test]
fn a_whole_program_is_the_last_fence_that_parses() {
    let source = |text| Program::from_text(text, &Entry::Script).map(|program| program.source().to_owned());
    assert_eq!(source("n = int(input())\nprint(n * 2)\n```\n").unwrap(), "n = int(input())\nprint(n * 2)\n");
    let two = "First:\n```python\nprint(1)\n```\nBetter:\n```python\nprint(int(input()) * 2)\n```\n";
    assert_eq!(source(two).unwrap(), "print(int(input()) * 2)\n");
    assert!(matches!(source("print((1)\n"), Err(Rejection::NotCompiled { .. })));
    assert!(matches!(source(" \n"), Err(Rejection::NoFunction { .. })));
}

#[test]
fn of_a_literal_nothing_counts_but_the_function_that_returns_it() {
    let entry = Entry::Literal { name: "output".into() };
    let found = |text: &str| Program::from_text(text, &entry).map(|program| program.source().to_owned());
    for literal in ["3", "-2.5", "'a' 'b'", "b'\\x00'", "None", "[1, (2,), {'k': {True}}]", "set()", "()"] {
        let source = format!("def output():\n    return {literal}\n");
        assert_eq!(found(&source), Ok(source));
    }
    let alone = "def output():\n    \"\"\"Said.\"\"\"\n    return 3\n";
    let beside = format!("def f(x):\n    return x\n\n{alone}output = lambda: f(4)\nprint(output())\n");
    assert_eq!(found(&beside), Ok(alone.to_owned()));
    assert_eq!(found(&format!("Sure:\n```python\n{alone}```\nIt returns 3.")), Ok(alone.to_owned()));
    for computed in
        ["f(3)", "1 + 2", "'a' * 3", "f'{3}'", "[x for x in [3]]", "(lambda: 3)()", "set([3])", "{**{}}", "-x", "not 3"]
    {
        let text = format!("def f(x):\n    return x\n\ndef output():\n    return {computed}\n");
        let expected = "no top-level `def output()` that returns a literal found";
        assert_eq!(found(&text).unwrap_err().to_string(), expected, "{computed}");
    }
    for otherwise in [
        "def output(x=3):\n    return x",
        "@f\ndef output():\n    return 3",
        "output = lambda: 3",
        "def output():\n    x = 3\n    return 3",
        "async def output():\n    return 3",
    ] {
        assert!(found(otherwise).is_err(), "{otherwise}");
    }
}
