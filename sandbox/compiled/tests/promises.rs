//! What the tier promises beside the same answers: what is left to the interpreter, what ends a program, what is bounded.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use grpo_sandbox_compiled::{CompiledSession, CompiledTier, GasLimits, GasScope, NotCompiled, Stop};
use sha2::{Digest, Sha256};

const LIMITS: GasLimits = GasLimits { game_gas: 8_500_000_000, call_gas: 2_100_000_000, memory_bytes: 96 << 20 };

fn start(source: &str) -> CompiledSession {
    let tier = CompiledTier::open().expect("the tier opens");
    tier.compile(source).expect("it compiles").start(1, &LIMITS).expect("it loads")
}

/// The lines of README.md.
#[test]
fn the_lines_of_the_page_work() -> Result<(), Box<dyn std::error::Error>> {
    let limits = LIMITS;
    let tier = CompiledTier::open()?;
    let program = tier.compile("def add(a, b):\n    return a + b\n")?;
    let mut session = program.start(7, &limits)?;
    assert_eq!(session.call("add", "[1, 2]")?, "3");
    Ok(())
}

/// Why a call is left to the interpreter.
fn given_up(source: &str, arguments: &str) -> &'static str {
    match start(source).call("play", arguments) {
        Err(Stop::GivenUp { reason }) => reason,
        other => panic!("{other:?}\n{source}"),
    }
}

#[test]
fn a_program_that_raises_is_left_to_the_interpreter() {
    assert_eq!(given_up("def play():\n    return [][0]\n", "[]"), "an index out of range");
    assert_eq!(given_up("def play():\n    return {}[0]\n", "[]"), "a missing key");
    assert_eq!(given_up("def play(n):\n    return 1 // n\n", "[0]"), "a division by zero");
    assert_eq!(given_up("def play():\n    raise ValueError\n", "[]"), "an exception");
    assert_eq!(given_up("def play():\n    return unbound\n", "[]"), "an exception");
    assert_eq!(given_up("def play(n):\n    return n + ''\n", "[1]"), "an operand of another type");
    assert_eq!(given_up("def play(n):\n    return n * n\n", "[4000000000]"), "an integer beyond 62 bits");
    assert_eq!(given_up("def play(n):\n    return 1e308 * n - 1e308 * n\n", "[10]"), "a float that is not a number");
    assert_eq!(given_up("def play(n):\n    return [v for v in {1, 2}]\n", "[10]"), "an operation that is not modelled");
}

#[test]
fn a_function_that_is_not_there_or_takes_others_is_left_to_the_interpreter() {
    let mut session = start("def play(a, b=1):\n    return a\n");
    assert_eq!(session.call("play", "[1]").expect("a value"), "1");
    assert!(matches!(session.call("play", "[]"), Err(Stop::GivenUp { .. })));
    assert!(matches!(session.call("play", "[1]"), Err(Stop::GivenUp { reason: "called again after a stop" })));
    assert!(matches!(start("x = 1\n").call("x", "[]"), Err(Stop::GivenUp { reason: "no such function" })));
}

#[test]
fn an_endless_loop_ends_by_gas_and_no_budget_is_exceeded() {
    for source in [
        "def play():\n    while True: pass\n",
        "def play():\n    x = [1]\n    for y in x:\n        x.append(y)\n        if len(x) > 9: x.pop(0); x.insert(0, 1); x.append(1)\n",
        "def play():\n    return sum(1 for a in range(10 ** 9) if a < 0)\n",
        "def play():\n    s = 'a' * 100000\n    n = 0\n    while True: n += s.find('baaab')\n",
        "def play():\n    s = 'a' * 100000\n    while True: s == s + ''\n",
        "def play():\n    x = list(range(1000))\n    while True: x.reverse(); x.index(999); x.count(1); x[::-1]; min(x)\n",
        "def play():\n    d = {i: i for i in range(5000)}\n    while True: d == dict(d)\n",
        "def play():\n    while True: 1e300 % 1e-300\n",
        "def play():\n    while True: 'ab'.join(['x'] * 1000).upper().count('a')\n",
        "def play():\n    x = [[0]] * 5\n    while True: x < [[0]] * 5; x == [[0]] * 5; sorted(x); list(zip(*x)); print(x)\n",
        "def play():\n    d = {}\n    while True:\n        d[1] = 1\n        d.pop(1)\n",
        "import random\ndef play():\n    x = [1, 2, 3]\n    while True: random.shuffle(x); random.choice(x); random.random()\n",
    ] {
        let mut session = start(source);
        let loaded = session.gas_used();
        let begun = Instant::now();
        match session.call("play", "[]") {
            Err(Stop::OutOfGas { scope: GasScope::Call }) => {}
            // Memory may end first.
            Err(Stop::GivenUp { reason: "memory" }) => continue,
            other => panic!("{other:?}\n{source}"),
        }
        assert_eq!(session.gas_used() - loaded, LIMITS.call_gas, "{source}");
        // A quarter of a second of the interpreter; on a machine that is busy, and far from what a hole would take.
        assert!(begun.elapsed().as_secs_f64() < 5.0, "{:?}\n{source}", begun.elapsed());
    }
}

#[test]
fn long_texts_are_searched_by_the_interpreter_which_has_another_search_for_them() {
    let search = |text: usize, what: usize| {
        let source = format!("def play():\n    return ('a' * {text}).find('b' * {what})\n");
        start(&source).call("play", "[]")
    };
    for (text, what) in [(2_499, 100), (29_999, 99), (29_999, 6), (100_000, 5)] {
        assert_eq!(search(text, what).expect("a value"), "-1", "{what} in {text}");
    }
    for (text, what) in [(2_500, 100), (30_000, 99), (30_000, 6), (100_000, 5_000)] {
        assert!(matches!(search(text, what), Err(Stop::GivenUp { .. })), "{what} in {text}");
    }
}

#[test]
fn what_stands_between_printed_values_is_left_to_the_interpreter_where_it_costs_more_than_they() {
    let tier = CompiledTier::open().expect("the tier opens");
    for keyword in ["sep", "end"] {
        let printing = |text: &str| tier.compile(&format!("def play(a):\n    print(a, a, {keyword}='{text}')\n"));
        for text in ["", ", ", &"-".repeat(200), &"\u{e9}".repeat(100)] {
            assert!(printing(text).is_ok(), "{keyword} = {text}");
        }
        for text in ["-".repeat(201), "\u{e9}".repeat(101), "\u{1f600}".repeat(10_000)] {
            assert!(matches!(printing(&text), Err(NotCompiled::Outside(_))), "{keyword} of {} bytes", text.len());
        }
    }
}

#[test]
fn the_budget_of_the_game_ends_what_no_call_exceeds() {
    let mut session = start("def play():\n    return sum(range(900000))\n");
    let stop = (0..100).find_map(|_| session.call("play", "[]").err());
    assert!(matches!(stop, Some(Stop::OutOfGas { scope: GasScope::Game })), "{stop:?}");
    assert_eq!(session.gas_used(), LIMITS.game_gas);
}

#[test]
fn loading_is_paid_for_too() {
    let tier = CompiledTier::open().expect("the tier opens");
    let program = tier.compile("while True: pass\n").expect("it compiles");
    assert!(matches!(program.start(1, &LIMITS), Err(Stop::OutOfGas { scope: GasScope::Call })));
}

#[test]
fn memory_beyond_the_limit_is_left_to_the_interpreter() {
    assert_eq!(given_up("def play():\n    x = [0] * 4000000\n    return len(x + x + x)\n", "[]"), "memory");
    let text = "def play():\n    t = 'ab'\n    while True: t = ''.join([t, t])\n";
    assert_eq!(given_up(text, "[]"), "memory");
}

#[test]
fn the_same_program_costs_the_same_gas() {
    // Part of what a score is: who changes one of these changes COST_TABLE.
    let used = [
        ("def play():\n    return 1\n", "[]"),
        ("def play(n):\n    return sum(x * x for x in range(n))\n", "[1000]"),
        ("def play(n):\n    return sorted(str(x) for x in range(n))[5]\n", "[100]"),
        ("def play(n):\n    d = {}\n    for x in range(n): d[x % 7] = (x, x)\n    return d[3]\n", "[500]"),
    ]
    .map(|(source, arguments)| {
        let mut session = start(source);
        session.call("play", arguments).expect("a value");
        session.gas_used()
    });
    assert_eq!(used, GOLDEN_GAS);
}

const GOLDEN_GAS: [u64; 4] = [716_504, 2_062_385, 1_301_891, 1_999_838];

#[test]
fn a_hostile_source_is_refused_or_compiled_soon() {
    let tier = CompiledTier::open().expect("the tier opens");
    let many = |line: &dyn Fn(usize) -> String, count: usize| (0..count).map(line).collect::<String>();
    // As large as is taken.
    let largest = |header: &str, line: &dyn Fn(usize) -> String| {
        let source = |count: usize| format!("{header}{}", many(line, count));
        let taken = (1..=20).rev().map(|step| step * 15).find(|&count| tier.compile(&source(count)).is_ok());
        format!("{}\n", source(taken.expect("some are taken")))
    };
    for source in [
        largest("def f(x):\n", &|n| format!("    x{} = x * {n} + x{}\n", n % 60, (n + 7) % 60)),
        largest("def f(x):\n", &|n| format!("    if x > {n}: x{} = x[x{}]\n", n % 60, (n + 7) % 60)),
        largest("def f(x):\n", &|n| format!("    while x: x{} = x\n", n % 60)),
        largest("def f(x):\n    y = 1\n", &|n| format!("    x = [y * {n} for a, b in zip(x, x) if a < b]\n")),
        largest("", &|n| format!("def f{n}(x): return max(x, x + {n}, key=len)\n")),
        many(&|n| format!("x{n} = {n}\n"), 5_000),
        format!("def f():\n{}", many(&|n| format!("    x{n} = {n}\n"), 400)),
        format!("def f(x):\n{}", many(&|n| format!("    x = x + {n} * x\n"), 2_500)),
        many(&|n| format!("def f{n}(x): return x\n"), 2_000),
        format!("x = [{}]\n", many(&|n| format!("{n} + y, "), 10_000)),
        format!("x = [{}]\n", many(&|n| format!("[{n}], "), 10_000)),
        many(&|n| format!("def f{n}(x=f{m}): return f{m}\n", m = n.saturating_sub(1)), 99),
        format!("def f(x):\n{}", many(&|n| format!("    if x == {n}: return [x for y in x for z in y]\n"), 200)),
        format!("x = {}1{}", "(".repeat(200_000), ")".repeat(200_000)),
        "x = 1\n".repeat(100_000),
        format!("x = \"{}\"\n", "a".repeat(60_000)),
        many(&|n| format!("{}if x:\n", " ".repeat(n % 100)), 800),
    ] {
        // Nothing that was compiled before.
        let tier = CompiledTier::open().expect("the tier opens");
        let begun = Instant::now();
        let outcome = tier.compile(&source);
        assert!(!matches!(outcome, Err(NotCompiled::Machine(_))), "{:?}", outcome.err());
        let seconds = begun.elapsed().as_secs_f64();
        eprintln!(
            "{:.0} ms: {}",
            seconds * 1e3,
            source.lines().next().unwrap_or_default().chars().take(60).collect::<String>()
        );
        // Half a second where nothing else runs, with room for a machine that is busy.
        assert!(seconds < 3.0, "{seconds} s");
    }
}

#[test]
fn the_runtime_was_built_from_these_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = fs::read_to_string(root.join("artifact/sources.sha256")).expect("a list of sources");
    let hash = |path: &Path| format!("{:x}", Sha256::digest(fs::read(path).expect("a file")));
    let mut names = BTreeSet::new();
    for line in listed.lines() {
        let (expected, name) = line.split_once("  ").expect("a hash and a name");
        assert_eq!(hash(&root.join("runtime").join(name)), expected, "{name} has moved on; run runtime/build.sh");
        names.insert(name.to_owned());
    }
    for entry in fs::read_dir(root.join("runtime")).expect("sources") {
        let name = entry.expect("a source").file_name().to_string_lossy().into_owned();
        assert!(name.starts_with('.') || names.contains(&name), "{name} is not listed; run runtime/build.sh");
    }
    let artifact = fs::read_to_string(root.join("artifact/runtime.wasm.sha256")).expect("a hash");
    assert_eq!(artifact.split("  ").next(), Some(hash(&root.join("artifact/runtime.wasm")).as_str()));
}

/// What compiling and calling cost: `cargo test --release -p grpo-sandbox-compiled timings -- --ignored --nocapture`, with
/// a folder of programs in TIMED.
#[test]
#[ignore = "a measurement"]
fn timings() {
    let ladder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/environment/src/game2048/ladder").to_owned();
    let folder = std::env::var("TIMED").unwrap_or(ladder);
    let limits = GasLimits { game_gas: u64::MAX / 4, call_gas: u64::MAX / 4, memory_bytes: 256 << 20 };
    let board = "[[[2, 4, 8, 16], [0, 2, 4, 8], [0, 0, 2, 4], [0, 0, 0, 2]]]";
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(source) = fs::read_to_string(&path) else { continue };
        let tier = CompiledTier::open().expect("the tier opens");
        let begun = Instant::now();
        let program = match tier.compile(&source) {
            Ok(program) => program,
            Err(why) => {
                eprintln!("{name:40} {why}");
                continue;
            }
        };
        let compiled = begun.elapsed().as_secs_f64() * 1e3;
        let begun = Instant::now();
        let Ok(mut session) = program.start(1, &limits) else { continue };
        let started = begun.elapsed().as_secs_f64() * 1e3;
        let mut calls = Vec::new();
        for _ in 0..400 {
            let begun = Instant::now();
            if session.call("strategy", board).is_err() {
                break;
            }
            calls.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        calls.sort_by(f64::total_cmp);
        let middle = calls.get(calls.len() / 2).copied().unwrap_or(f64::NAN);
        eprintln!(
            "{name:40} compile {compiled:6.1} ms, start {started:5.2} ms, call {middle:8.2} us, gas {}",
            session.gas_used()
        );
    }
}
