//! Programs give the same answers in both tiers, call by call.

#[path = "costs/boards.rs"]
mod boards;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use grpo_sandbox::Sandbox;
use grpo_sandbox_compiled::{CompiledTier, GasLimits, NotCompiled, Stop};

use boards::boards;

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

#[test]
fn the_ladder_gives_the_same_moves_in_both_tiers() {
    let ladder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/environment/src/game2048/ladder");
    let mut through = Vec::new();
    for entry in fs::read_dir(ladder).expect("a ladder") {
        let path = entry.expect("a file").path();
        let source = fs::read_to_string(&path).expect("a program");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match compare(&source, "strategy", &boards(0xDAA6_6D2C_7DDF_743F, 60)) {
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
        match compare(&source, "strategy", &boards(0x1715_609F_7C74_6C69, 2)) {
            Came::Through => through += 1,
            other => eprintln!("{other:?}: {}", snippet.lines().next().unwrap_or_default()),
        }
    }
    eprintln!("{through} of {all} edges stay inside");
    assert!(through * 100 >= all * 80, "{through} of {all}");
}

#[test]
fn an_exception_that_other_scopes_see_is_gone_after_its_handler() {
    let shared = "D = {}\ndef play(n):\n    global e\n    if n > 1: return e.args[0]\n    try: return D[n]\n    \
                  except KeyError as e: return 5\n";
    let captured = "D = {}\ndef play(n):\n    def kept(): return e.args[0]\n    try: n = D[n]\n    \
                    except KeyError as e: n = 5\n    return kept() if n else n\n";
    for source in [shared, captured] {
        let came = compare(source, "play", &["[1]".into(), "[2]".into()]);
        assert!(!matches!(came, Came::Through), "{came:?}: {source}");
    }
}

#[test]
fn a_power_beyond_the_integers_of_the_tier_is_given_up() {
    for exponent in [4, 5] {
        let source = format!("def play(n):\n    m = len(range(n))\n    return m ** {exponent}\n");
        assert_eq!(compare(&source, "play", &["[3]".into(), "[2000]".into()]), Came::Through, "{source}");
        let came = compare(&source, "play", &["[32767]".into()]);
        assert_eq!(matches!(came, Came::Back(_)), exponent == 5, "{came:?}: {source}");
    }
}

#[test]
fn a_power_of_an_exponent_that_is_not_known_may_be_a_float() {
    for power in ["2 ** m", "3 ** m", "m ** m", "pow(m, m)"] {
        let source = format!(
            "def play(n):\n    m = len(range(n)) - 2\n    found = {power}\n    return int(found), abs(found), [found] * 2\n"
        );
        assert_eq!(compare(&source, "play", &["[1]".into(), "[0]".into(), "[7]".into()]), Came::Through, "{source}");
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
