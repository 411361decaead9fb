//! Programs at the edges of their budgets: `load_exact` answers, and fails, as the interpreter alone does.
//!
//! A program's own use is the edge. The interpreter asks for fuel ahead of some instructions, so that it may end well with
//! a little less, but not with a fiftieth less.

use std::sync::LazyLock;

use grpo_sandbox::{FUEL_PER_SECOND, Failure, Limits, Sandbox, TierChoice};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

static TIERS: LazyLock<[Sandbox; 2]> = LazyLock::new(crate::tiers);

/// Far more than any program here needs.
const AMPLE: Limits =
    Limits { game_fuel: 40 * FUEL_PER_SECOND, call_fuel: 40 * FUEL_PER_SECOND, memory_bytes: 1 << 30 };
const MEMORY: u64 = 128 << 20;

/// What is done `n` times.
static BODIES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let bodies = entries(include_str!("edges/bodies.txt"));
    bodies.map(|body| body.replace("\\n", "\n        ")).collect()
});

/// The lines of a list, without its comments.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

/// A program, and the calls that are made.
#[derive(Debug)]
struct Program {
    source: String,
    calls: Vec<String>,
}

fn program(rng: &mut ChaCha8Rng) -> Program {
    let bodies: Vec<&str> = (0..rng.random_range(1..=3)).map(|_| BODIES.choose(rng).unwrap().as_str()).collect();
    of_bodies(&bodies, rng)
}

/// What bodies use of their own, by name. A short source is certain to load within a small budget.
const USED: &[(&str, &str)] = &[
    ("math.", "import math\n"),
    ("random.", "import random\n"),
    ("board", "board = [[0, 2, 4, 8], [2, 0, 0, 2], [4, 4, 2, 0], [16, 8, 4, 2]]\n"),
    ("g", "def g(v):\n    return v % 10\n"),
    ("h(", "def h(a, b):\n    return a + b if a < b else a - b\n"),
    ("fib(", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"),
    ("deep(", "def deep(n):\n    return 0 if n == 0 else 1 + deep(n - 1)\n"),
    ("adder(", "def adder(k):\n    def add(v):\n        return v + k\n    return add\n"),
    (
        "perms(",
        "def perms(xs):\n    if not xs:\n        return [[]]\n    return [[xs[i]] + rest for i in range(len(xs)) \
         for rest in perms(xs[:i] + xs[i + 1:])]\n",
    ),
];

fn of_bodies(bodies: &[&str], rng: &mut ChaCha8Rng) -> Program {
    let body = bodies.join("\n        ");
    let used: String = USED.iter().filter(|(name, _)| body.contains(name)).map(|(_, text)| *text).collect();
    let source = format!(
        "{used}def f(n, m):\n    s = 0\n    x = [(7 * k + 3) % (m + 1) for k in range(m)]\n    d = {{k: 1 for k in x}}\n    \
         e = set(x)\n    t = 'ab' * (m // 2 + 1)\n    w = 'ab' * (m // 2) + 'ac'\n    \
         for i in range(n):\n        {body}\n    return len(x) + len(t)\n"
    );
    let mut size = |most: f64| rng.random_range(0.0..most.ln()).exp() as u64;
    let mut call = |_| {
        let m = size(300.0);
        format!("[{}, {m}]", size(20_000.0 / m as f64) - 1)
    };
    Program { source, calls: (0..3).map(&mut call).collect() }
}

/// What a program answers to its calls under some limits, up to the first that ends it, and its fuel after each.
fn told(sandbox: &Sandbox, program: &Program, limits: &Limits) -> Vec<(Result<String, String>, u64)> {
    let mut session = match sandbox.load_exact(&program.source, 7, limits) {
        Ok(session) => session,
        Err(unloaded) => return vec![(Err(unloaded.to_string()), unloaded.fuel)],
    };
    let mut told = vec![(Ok("loaded".to_owned()), session.fuel_used())];
    for arguments in &program.calls {
        let answer = match session.call("f", arguments) {
            Ok(answer) => Ok(answer),
            Err(Failure::Program(fault)) => Err(fault.to_string()),
            Err(Failure::Host(error)) => panic!("{error}\n{}", program.source),
        };
        told.push((answer, session.fuel_used()));
        if session.is_spent() {
            break;
        }
    }
    told
}

fn answers(sandbox: &Sandbox, program: &Program, limits: &Limits) -> Vec<Result<String, String>> {
    told(sandbox, program, limits).into_iter().map(|(answer, _)| answer).collect()
}

/// Budgets at whose edges the program is.
struct Edges {
    /// What it uses in its dearest call and in all, and one less of each.
    near: [Limits; 4],
    /// A fiftieth less of each, which does not suffice.
    short: [Limits; 2],
}

/// None for a program that takes more than a quarter of a second: a few of them would take all the time there is.
fn edges(program: &Program) -> Option<Edges> {
    const LONGEST: u64 = FUEL_PER_SECOND / 4;
    let ample = told(&TIERS[0], program, &Limits { game_fuel: LONGEST, ..AMPLE });
    let used: Vec<u64> = ample.iter().map(|(_, fuel)| *fuel).collect();
    if used.last().is_none_or(|&fuel| fuel >= LONGEST) {
        return None;
    }
    let dearest = used.iter().scan(0, |before, &fuel| Some(fuel - std::mem::replace(before, fuel))).max().unwrap_or(0);
    let in_all = used.last().copied().unwrap_or(0);
    let most = AMPLE.game_fuel;
    let of = |game_fuel, call_fuel| Limits { game_fuel, call_fuel, memory_bytes: MEMORY };
    let less = |fuel: u64| fuel - fuel.div_ceil(50);
    Some(Edges {
        near: [of(most, dearest), of(most, dearest - 1), of(in_all, in_all), of(in_all - 1, in_all)],
        short: [of(most, less(dearest)), of(less(in_all), in_all)],
    })
}

/// Plays programs at their edges in both ways.
fn expect_the_same(programs: impl Iterator<Item = Program>) {
    expect_the_same_of_every(1, programs);
}

/// Plays every `stride`-th program at all of its edges, and the others at the one that is short in the dearest call, where
/// an operation that is charged too little shows without what loading is charged beyond its due.
fn expect_the_same_of_every(stride: usize, programs: impl Iterator<Item = Program>) {
    let (mut played, mut left_out) = (0, 0);
    for (index, program) in programs.enumerate() {
        let Some(Edges { near, short }) = edges(&program) else {
            left_out += 1;
            continue;
        };
        played += 1;
        let count = if index.is_multiple_of(stride) { near.len() + short.len() } else { 1 };
        for limits in short.iter().chain(&near).take(count) {
            let [interpreter, auto] = [0, 1].map(|tier| answers(&TIERS[tier], &program, limits));
            assert_eq!(auto, interpreter, "{limits:?} {:?}\n{}", program.calls, program.source);
            let ends = interpreter.iter().any(Result::is_err);
            assert!(ends || !short.contains(limits), "{limits:?} suffice\n{}", program.source);
        }
    }
    println!("{played} programs played, {left_out} left out");
    assert!(left_out * 10 <= played, "{left_out} programs take too long, {played} were played");
}

fn generated(seeds: impl Iterator<Item = u64>) -> impl Iterator<Item = Program> {
    seeds.map(|seed| program(&mut ChaCha8Rng::seed_from_u64(seed)))
}

#[test]
fn a_program_at_the_edge_of_its_budget_ends_as_in_the_interpreter() {
    expect_the_same_of_every(3, generated(0..50));
}

/// Long enough that what is set aside for collecting garbage does not decide, and so in the tier where it may be.
#[test]
fn a_long_loop_at_the_edge_of_its_budget_ends_as_in_the_interpreter() {
    let source = "def f(n):\n    s = 0\n    for i in range(n):\n        s += i % 7\n    return s\n";
    let calls = vec!["[300000]".to_owned(), "[200000]".to_owned()];
    expect_the_same(std::iter::once(Program { source: source.to_owned(), calls }));
}

/// So whatever compiled code lets through, the interpreter would have ended within its budget.
#[test]
fn the_interpreter_takes_no_more_fuel_than_compiled_code_foresees() {
    expect_enough_to_be_foreseen(["[10000, 3]", "[300, 300]"]);
}

#[test]
#[ignore = "takes a quarter of a minute; `make proofs` runs it"]
fn the_interpreter_takes_no_more_fuel_than_is_foreseen_of_calls_three_times_as_long() {
    expect_enough_to_be_foreseen(["[30000, 3]", "[1000, 300]"]);
}

fn expect_enough_to_be_foreseen(calls: [&str; 2]) {
    let mut compiled = 0;
    for (seed, body) in BODIES.iter().enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed as u64);
        let source = of_bodies(&[body.as_str()], &mut rng).source;
        let [mut interpreter, mut auto] = [0, 1].map(|tier| TIERS[tier].load_exact(&source, 7, &AMPLE).unwrap());
        for call in calls {
            let answers = [&mut interpreter, &mut auto].map(|session| session.call("f", call).ok());
            assert_eq!(answers[0], answers[1], "{call} of\n{source}");
            let (taken, foreseen) = (interpreter.fuel_used(), auto.fuel_at_most());
            assert!(taken <= foreseen, "{taken} and {foreseen} of {call} of\n{source}");
        }
        compiled += u32::from(auto.is_compiled());
    }
    assert!(compiled as usize > BODIES.len() * 3 / 4, "{compiled} of {} bodies stay compiled", BODIES.len());
}

#[test]
#[ignore = "takes half an hour on two cores; `make proofs` runs it"]
fn ten_thousand_programs_at_the_edges_of_their_budgets_end_as_in_the_interpreter() {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let seeds = (0..10_000).filter(move |seed| seed % threads == thread);
            scope.spawn(move || expect_the_same(generated(seeds)));
        }
    });
}

/// Bodies one by one, each at several sizes: what one operation costs is not hidden by another.
fn operations() -> impl Iterator<Item = Program> {
    BODIES.iter().enumerate().map(|(seed, body)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed as u64);
        let calls = ["[0, 3]", "[10000, 3]", "[100, 1000]"].map(str::to_owned).to_vec();
        Program { calls, ..of_bodies(&[body.as_str()], &mut rng) }
    })
}

#[test]
fn each_operation_at_the_edge_of_a_budget_ends_as_in_the_interpreter() {
    expect_the_same_of_every(8, operations());
}

#[test]
#[ignore = "takes half a minute; `make proofs` runs it"]
fn each_operation_at_every_edge_of_a_budget_ends_as_in_the_interpreter() {
    expect_the_same(operations());
}

/// The largest number that `holds`, within a hundredth, of a property that holds up to some number.
fn largest(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut yes, mut no) = (0, most);
    while no - yes > 1 + yes / 100 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    yes
}

/// Each shape in one of the two ways, by turns.
#[test]
fn what_fits_compiled_fits_in_the_interpreter() {
    expect_what_fits_compiled_to_fit(MEMORY / 2, |shape, way| shape % WAYS.len() == way);
}

#[test]
#[ignore = "takes a minute; `make proofs` runs it"]
fn what_fits_compiled_in_all_the_memory_of_a_run_fits_in_the_interpreter() {
    for memory_bytes in [MEMORY / 2, MEMORY] {
        expect_what_fits_compiled_to_fit(memory_bytes, |_, _| true);
    }
}

/// Made in one call, and kept by five of them.
const WAYS: [(&str, usize); 2] = [("f", 1), ("g", 5)];

/// Holds the shapes and ways whose numbers are `chosen` to what the interpreter has room for.
fn expect_what_fits_compiled_to_fit(memory_bytes: u64, chosen: impl Fn(usize, usize) -> bool) {
    let limits = Limits { memory_bytes, ..AMPLE };
    // Gives up with an error, and not with a run of the interpreter.
    let compiled = TIERS[1].with_tiers(TierChoice::Compiled, 0);
    for (number, shape) in entries(include_str!("edges/shapes.txt")).enumerate() {
        // Its `f` makes so many things and lets go of them, and its `g` keeps them.
        let program = include_str!("edges/keeps.py").replace("SHAPE", shape);
        for (_, (function, calls)) in WAYS.into_iter().enumerate().filter(|(way, _)| chosen(number, *way)) {
            let fits = |sandbox: &Sandbox, n: u64| {
                let Ok(mut session) = sandbox.load(&program, 7, &limits) else { return false };
                (0..calls).all(|_| session.call(function, &format!("[{n}]")).is_ok())
            };
            let most = largest(2_000_000, |n| fits(&compiled, n));
            assert!(fits(&TIERS[0], most), "{most} of {shape}, {calls} calls");
        }
    }
}

/// CPython copies a text that grows where a list has it too, which costs compiled code nothing.
#[test]
fn beginnings_of_a_text_at_the_edge_of_a_budget_end_as_in_the_interpreter() {
    let source = "def f(n):\n    t = ''\n    x = []\n    p = 'c' * 1000\n    for i in range(n):\n        t += p\n        \
                  x.append(t)\n    return len(x)\n";
    expect_the_same(std::iter::once(Program { source: source.to_owned(), calls: vec!["[150]".to_owned(); 20] }));
}

/// CPython picks them one by one, where it copies those of a slice without a step at once.
#[test]
fn letters_picked_by_a_step_at_the_edge_of_a_budget_end_as_in_the_interpreter() {
    for step in ["-1", "2"] {
        let source = format!(
            "def f(n):\n    t = 'ab' * 5000\n    s = 0\n    for i in range(n):\n        s += len(t[::{step}])\n    \
             return s\n"
        );
        expect_the_same(std::iter::once(Program { source, calls: vec!["[500]".to_owned(); 5] }));
    }
}

/// What a call prints is dropped, but CPython makes its text.
#[test]
fn floats_that_are_printed_at_the_edge_of_a_budget_end_as_in_the_interpreter() {
    let source = "def f(n):\n    x = [1e-300 / (i + 7) for i in range(1000)]\n    for i in range(n):\n        print(x)\n    \
                  return n\n";
    expect_the_same(std::iter::once(Program { source: source.to_owned(), calls: vec!["[3]".to_owned(); 4] }));
}

/// CPython computes with the bounds of a range, which may have sixty bits.
#[test]
fn numbers_that_are_sought_in_a_range_at_the_edge_of_a_budget_end_as_in_the_interpreter() {
    let source = format!(
        "def f(n):\n    r = range(-(2 ** 60), 2 ** 60, 1073741827)\n    k = 2 ** 60 - 5\n    for i in range(n):\n{}    return n\n",
        "        c = k in r\n".repeat(100)
    );
    expect_the_same(std::iter::once(Program { source, calls: vec!["[500]".to_owned(); 2] }));
}

/// CPython, where it runs on 32 bits, adds integers beyond a word one by one, below zero as above it.
#[test]
fn a_sum_far_below_zero_at_the_edge_of_a_budget_ends_as_in_the_interpreter() {
    let source = "def f(n):\n    return sum(range(-(10 ** 12), n - 10 ** 12)) and n\n";
    expect_the_same(std::iter::once(Program { source: source.to_owned(), calls: vec!["[300000]".to_owned()] }));
}

/// CPython makes a list and a set of more than thirty constants anew each time.
#[test]
fn many_constants_after_in_at_the_edge_of_a_budget_end_as_in_the_interpreter() {
    let constants = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
    for display in [format!("[{}]", constants(100)), format!("{{{}}}", constants(31))] {
        let body = format!("        c = 0 in {display}\n").repeat(20);
        let source = format!("def f(n):\n    for i in range(n):\n{body}    return n\n");
        expect_the_same(std::iter::once(Program { source, calls: vec!["[500]".to_owned(); 2] }));
    }
}

/// CPython writes each of them by itself.
#[test]
fn many_arguments_of_print_at_the_edge_of_a_budget_end_as_in_the_interpreter() {
    let arguments = ["i"; 100].join(", ");
    let source = format!("def f(n):\n    for i in range(n):\n        print({arguments})\n    return n\n");
    expect_the_same(std::iter::once(Program { source, calls: vec!["[400]".to_owned(); 2] }));
}

/// What takes CPython the most fuel for what is charged, in a call that does nothing else.
#[test]
fn the_dearest_values_take_no_more_fuel_than_compiled_code_foresees() {
    for (values, done) in [
        ("[2 ** 60 + i for i in range(20000)]", "a == b"),
        ("[1.9626691815623126e-308] * 5000", "print(a)"),
        (format!("[{}0{}] * 2000", "[".repeat(37), "]".repeat(37)).as_str(), "return a"),
    ] {
        let source = format!(
            "a = {values}\nb = {values}\ndef f(n):\n    for i in range(n):\n        {done}\n    return len(a) + len(b)\n"
        );
        let [mut interpreter, mut auto] = [0, 1].map(|tier| TIERS[tier].load_exact(&source, 7, &AMPLE).unwrap());
        let before = [interpreter.fuel_used(), auto.fuel_at_most()];
        assert_eq!(interpreter.call("f", "[10]").unwrap(), auto.call("f", "[10]").unwrap());
        assert!(auto.is_compiled(), "{done}");
        let (taken, foreseen) = (interpreter.fuel_used() - before[0], auto.fuel_at_most() - before[1]);
        assert!(taken <= foreseen, "{taken} and {foreseen} of {done}");
    }
}

/// Its source has 800 tokens and more, whose price would be beyond the budget if it were foreseen as that of printed floats.
#[test]
fn a_long_program_that_prints_once_it_is_loaded_stays_compiled() {
    let lines: String = (0..160).map(|n| format!("    x = x + {n}\n")).collect();
    let source = format!("def f(x):\n{lines}    return x\n\nprint([f(2)])\n");
    let limits = Limits { call_fuel: 2_000_000_000, game_fuel: 8_000_000_000, ..AMPLE };
    let mut session = TIERS[1].load_exact(&source, 7, &limits).unwrap();
    assert_eq!(session.call("f", "[2]").unwrap(), (2 + 159 * 160 / 2).to_string());
    assert!(session.is_compiled());
}

#[test]
fn what_cpython_has_not_collected_counts() {
    // Each call leaves a closure that holds itself and a list: 3 MiB of 44.
    let source = "def f(n):\n    kept = [0] * n\n    def go(i):\n        return go(i - 1) if i else len(kept)\n    return go(3)\n";
    let program = Program { source: source.to_owned(), calls: vec!["[800000]".to_owned(); 20] };
    let limits = Limits { memory_bytes: MEMORY / 2, ..AMPLE };
    let [interpreter, auto] = [0, 1].map(|tier| answers(&TIERS[tier], &program, &limits));
    assert!(interpreter.iter().any(Result::is_err), "all of it fits");
    assert_eq!(auto, interpreter);
    let mut session = TIERS[1].load_exact(source, 7, &limits).unwrap();
    assert!(session.call("f", "[800000]").is_ok() && session.is_compiled(), "one call fits compiled");
}

/// What docs/sandbox.md says of keys that no program has by chance.
#[test]
fn keys_against_cpythons_dicts_are_not_foreseen() {
    // All places at which CPython looks for 1000003 are taken by others: 20,000 of 32,768.
    let source = "def f(n):\n    d = {}\n    p = 1000003\n    i = p % 32768\n    for r in range(n):\n        d[i] = 1\n        \
                  p = p // 32\n        i = (i * 5 + p + 1) % 32768\n    c = 0\n    for r in range(3000):\n        \
                  if 1000003 in d:\n            c += 1\n    return c\n";
    let program = Program { source: source.to_owned(), calls: vec!["[20000]".to_owned()] };
    let limits = Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND / 4, memory_bytes: MEMORY };
    let [interpreter, auto] = [0, 1].map(|tier| answers(&TIERS[tier], &program, &limits));
    assert!(interpreter.iter().any(Result::is_err), "{interpreter:?}");
    let passed: [Result<String, String>; 2] = ["loaded", "0"].map(|told| Ok(told.to_owned()));
    assert_eq!(auto, passed);
}
