//! Programs give the same answers in both tiers, call by call.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use grpo_sandbox::Sandbox;
use grpo_sandbox_compiled::{CompiledTier, GasLimits, NotCompiled, Stop};

const LIMITS: GasLimits = GasLimits { game_gas: 1_000_000_000_000, call_gas: 100_000_000_000, memory_bytes: 128 << 20 };
const FUEL: grpo_sandbox::Limits =
    grpo_sandbox::Limits { game_fuel: 400_000_000_000, call_fuel: 100_000_000_000, memory_bytes: 128 << 20 };

fn tiers() -> &'static (CompiledTier, Sandbox) {
    static TIERS: OnceLock<(CompiledTier, Sandbox)> = OnceLock::new();
    TIERS.get_or_init(|| {
        let directory = Sandbox::default_cache_dir().expect("a cache directory");
        let sandbox = Sandbox::open(&directory, || ()).expect("the interpreter opens");
        (CompiledTier::open().expect("the tier opens"), sandbox.interpreting())
    })
}

/// How a program came out of the tier; where it has values, they are those of the interpreter.
#[derive(Debug, PartialEq)]
enum Came {
    /// All calls gave values.
    Through,
    /// It was given up.
    Back(&'static str),
    /// It was not compiled.
    Outside(String),
}

/// Calls a function with each of these, in both tiers.
fn compare(source: &str, function: &str, calls: &[String]) -> Came {
    let (tier, sandbox) = tiers();
    let program = match tier.compile(source) {
        Ok(program) => program,
        Err(NotCompiled::Outside(outside)) => return Came::Outside(outside.construct),
        Err(NotCompiled::Machine(error)) => panic!("{error}\n{source}"),
    };
    let mut compiled = match program.start(7, &LIMITS) {
        Ok(session) => session,
        Err(Stop::GivenUp { reason }) => return Came::Back(reason),
        Err(other) => panic!("{other}\n{source}"),
    };
    let mut interpreted = sandbox.load(source, 7, &FUEL).expect("what loads in the tier loads in the interpreter");
    for arguments in calls {
        match compiled.call(function, arguments) {
            Ok(value) => match interpreted.call(function, arguments) {
                Ok(expected) => assert_eq!(value, expected, "{function}{arguments} of\n{source}"),
                Err(failure) => panic!("{function}{arguments} gives {value}, CPython: {failure}\n{source}"),
            },
            Err(Stop::GivenUp { reason }) => return Came::Back(reason),
            Err(other) => panic!("{other}\n{source}"),
        }
    }
    Came::Through
}

/// Boards of 2048 from a seed: powers of two, the same ones everywhere.
fn boards(seed: u64, count: usize) -> Vec<String> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut tile = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let exponent = (state >> 33) % 9;
        if exponent < 3 { 0 } else { 1u32 << (exponent - 2) }
    };
    let mut row = || (0..4).map(|_| tile().to_string()).collect::<Vec<_>>().join(", ");
    (0..count).map(|_| format!("[[[{}], [{}], [{}], [{}]]]", row(), row(), row(), row())).collect()
}

#[test]
fn the_ladder_gives_the_same_moves_in_both_tiers() {
    let ladder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/environment/src/game2048/ladder");
    let mut through = Vec::new();
    for entry in fs::read_dir(ladder).expect("a ladder") {
        let path = entry.expect("a file").path();
        let source = fs::read_to_string(&path).expect("a program");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match compare(&source, "strategy", &boards(3, 60)) {
            Came::Through => through.push(name),
            other => eprintln!("{name}: {other:?}"),
        }
    }
    through.sort();
    let expected = ["constant", "cycle", "greedy", "monotone", "no_move", "priority", "random_move", "toggle"];
    for name in expected {
        assert!(through.iter().any(|one| one == name), "{name} is not played; {through:?} are");
    }
}

#[test]
fn edges_of_the_language_are_those_of_cpython() {
    let snippets = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edges.txt")).expect("edges");
    let (mut through, mut all) = (0, 0);
    for snippet in snippets.split("\n# next\n") {
        let body = snippet.trim_end().replace('\n', "\n    ");
        let source = format!("def strategy(board):\n    {body}\n    return acc\n");
        all += 1;
        match compare(&source, "strategy", &boards(5, 2)) {
            Came::Through => through += 1,
            other => eprintln!("{other:?}: {}", snippet.lines().next().unwrap_or_default()),
        }
    }
    eprintln!("{through} of {all} edges stay inside");
    assert!(through * 100 >= all * 80, "{through} of {all}");
}

#[test]
fn what_was_found_different_once_is_the_same_now() {
    for (source, arguments) in [
        ("def play(q=[1]):\n    q.append(5)\n    q *= 2\n    q = q[:12]\n    return q\n", "[]"),
        (
            "log = []\ndef f(p):\n    log.append(0)\ndef play(b):\n    a = max(\"W\", default=f(0))\n    return log\n",
            "[1]",
        ),
        ("x = False and (n := 5)\ndef play(b):\n    y = b and (m := 5)\n    return m\n", "[0]"),
        ("import random\ndef play(b):\n    return 1 if random else 0\n", "[0]"),
        ("def play(x):\n    x.sort(xs=x)\n    return x\n", "[[2, 1]]"),
        ("def play(x):\n    for _ in range(12):\n        x *= 2.5\n    return x\n", "[0.5]"),
        ("def play(x):\n    x.extend(0 for y in x if len(x) < 9)\n    return x\n", "[[1, 2]]"),
        ("def play(b):\n    return sum([0.1] * 3, b)\n", "[0.7]"),
        ("def play(b):\n    return len(range(b))\n", "[3000000000]"),
        ("def play(b):\n    return [] * b\n", "[3000000000]"),
        ("def play(n):\n    return [i for i in range(n - 3, n, 1000)]\n", "[4611686018427387903]"),
        ("def play(b):\n    global unset\n    if b:\n        unset = 3\n    return len([unset])\n", "[0]"),
        (
            "def play(b):\n    def inner():\n        return len([late])\n    if b:\n        late = 1\n    return inner()\n",
            "[0]",
        ),
        (
            "def play(d):\n    try:\n        return d[1]\n    except KeyError as e:\n        \
             f = lambda: len(e.args)\n    return f()\n",
            "[{}]",
        ),
        ("def play(b):\n    if b:\n        x = 1\n    return max(x, 2)\n", "[0]"),
        ("def play(b):\n    e = len(b) - 3\n    x = 2 ** e\n    return [x, x + 1, 2 ** -1]\n", "[[1]]"),
        ("def play(b):\n    x = 3 * b\n    return [x, x + x]\n", "[\"ab\"]"),
        ("def play(b):\n    e = len(b) + 59\n    return [2 ** e]\n", "[[1]]"),
        ("def play(b):\n    e = len(b) + 59\n    return [2 ** (e + 1)]\n", "[[1]]"),
        ("def play(b):\n    n = len(b) + 65534\n    return [n ** 4]\n", "[[1]]"),
        ("def play(b):\n    n = len(b) + 32767\n    return [n ** 4, (n - 1) ** 4, (0 - n) ** 4]\n", "[[1]]"),
        ("def play(b):\n    return 4611686018427387904\n", "[1]"),
        ("def play(b):\n    return -9223372036854775807\n", "[1]"),
        ("def play(b):\n    x = [7, 8]\n    return x[b]\n", "[true]"),
        ("def play(b):\n    x = [7, 8]\n    return x[b]\n", "[1.0]"),
        (
            "def get(c, k):\n    return c[k]\ndef play(b):\n    \
             return [get([7, 8], 1), get({\"a\": 5}, \"a\"), get((1, 2), True), get(\"xy\", 0)]\n",
            "[1]",
        ),
        ("def play(b):\n    x = b + 1\n    y = x - 1\n    return y is b\n", "[1000]"),
        ("def play(b):\n    return [b >> 51, b >> 62, b >> 63, b >> 64]\n", "[1000]"),
        ("def play(b):\n    return [b >> 51, b >> 62, b >> 63, b >> 64]\n", "[-1000]"),
        (
            "def add(n):\n    return n + n\ndef play(b):\n    g = add if b else None\n    return [g(b), add(1)]\n",
            "[[1]]",
        ),
        (
            "def add(n):\n    return n + n\ndef sub(n):\n    return n\ndef play(b):\n    gs = [add, sub]\n    return [gs[0](b), add(1)]\n",
            "[[1]]",
        ),
        (
            "def add(n):\n    return n + n\ndef sub(n):\n    return n\ndef play(b):\n    g = add\n    if len(b) > 1:\n        \
             g = sub\n    return [g(b), add(1)]\n",
            "[[1]]",
        ),
        ("def play(n):\n    return n + n\ndef other():\n    return play(1)\n", "[[1, 2]]"),
        ("def play(n):\n    return n * 2\ndef other():\n    return play(1)\n", "[2.5]"),
        ("def play(b):\n    if b:\n        x = 1\n    return x + b\n", "[0]"),
        ("def play(b):\n    if b:\n        x = 1\n    return [b].index(x)\n", "[0]"),
        ("def play(n):\n    x = [n]\n    x.append(x)\n    print(x)\n    return x[1] is None\n", "[1]"),
        // What one run of a comprehension has bound is unbound in the next.
        ("def play(b):\n    return [[y for x in xs if x or y for y in [7]] for xs in b]\n", "[[[1], [0]]]"),
        (
            "def play(b):\n    r = []\n    for xs in b:\n        \
             r.append(sum(y for x in (w for w in xs) for y in ([7] if x else [y])))\n    return r\n",
            "[[[1], [0]]]",
        ),
        (
            "fs = []\nfor n in (3, 5):\n    fs.extend([lambda: i for i in range(n)])\ndef play():\n    \
             return [f() for f in fs]\n",
            "[]",
        ),
        (
            "fs = [[lambda: [i, j] for j in range(i)] for i in range(4)]\ndef play():\n    \
             return [f() for row in fs for f in row]\n",
            "[]",
        ),
    ] {
        let calls = [arguments.to_owned(), arguments.to_owned()];
        eprintln!("{:?}", compare(source, "play", &calls));
    }
}

/// Recursions of a depth that is given, in which every level is a frame of the interpreter, or several.
const RECURSIONS: &[&str] = &[
    "def play(n):\n    return n and 1 + play(n - 1)\n",
    "def play(n):\n    return sum(1 + play(n - 1) for _ in [0]) if n else 0\n",
    "def play(n):\n    return sum(sum(1 + play(n - 1) for _ in [0]) for _ in [0]) if n else 0\n",
    "def play(n):\n    return max([0], key=lambda v: play(n - 1)) if n else 0\n",
    "def play(n):\n    return sorted([0], key=lambda v: play(n - 1))[0] if n else 0\n",
    "def play(n):\n    return sum(map(lambda v: play(n - 1), [0])) if n else 0\n",
    "def play(n):\n    return [play(n - 1) for _ in [0]][0] if n else 0\n",
    "def play(n):\n    def other(m):\n        return play(m - 1) if m else 0\n    return other(n)\n",
    "def play(n):\n    return any(play(n - 1) for _ in [0]) if n else False\n",
    "def play(n):\n    x = [1]\n    x.sort(key=lambda v: len(play(n - 1)) if n else 0)\n    return x\n",
    "def play(n):\n    return list(zip(*[[play(n - 1)] for _ in [0]]))[0][0] if n else 0\n",
];

#[test]
fn no_recursion_goes_deeper_here_than_in_cpython() {
    for source in RECURSIONS {
        let mut deepest = 0;
        for depth in [10, 50, 100, 130, 195, 198, 390, 396, 399] {
            match compare(source, "play", &[format!("[{depth}]")]) {
                Came::Through => deepest = depth,
                Came::Back(reason) => {
                    eprintln!("{depth}: {reason}");
                    break;
                }
                Came::Outside(why) => panic!("{why}\n{source}"),
            }
        }
        assert!(deepest >= 50, "{deepest} of\n{source}");
        eprintln!("{deepest}: {source}");
    }
}

#[test]
fn values_cross_as_the_interpreter_writes_them() {
    let echo = "def play(x):\n    return x\n";
    for argument in [
        "null", "true", "-5", "0", "1.5", "-0.0", "1e300", "\"\"", "\"a\"", "\"ab\\n\\\"\\\\\"", "[]",
        "[[1, [2.5]], \"x\"]", "{\"()\": [1, {\"()\": [2]}]}", "4611686018427387903", "0.1", "100000000000000000000.0",
        "1e16", "123456789.125",
    ] {
        assert_eq!(compare(echo, "play", &[format!("[{argument}]")]), Came::Through, "{argument}");
    }
    for argument in ["9223372036854775807", "{\"int\": \"99999999999999999999\"}", "\"é\"", "{\"set\": [1]}"] {
        assert!(matches!(compare(echo, "play", &[format!("[{argument}]")]), Came::Back(_)), "{argument}");
    }
}

#[test]
fn random_draws_as_in_cpython() {
    let source = "import random\ndef play(n):\n    x = list(range(n))\n    random.shuffle(x)\n    \
                  return x, random.random(), random.randint(-5, 10 ** 6), random.choice('WASD'), random.choice(x)\n";
    let calls: Vec<String> = (1..40).map(|count| format!("[{count}]")).collect();
    assert_eq!(compare(source, "play", &calls), Came::Through);
}
