//! Hostile programs: each ends in the fault on its first line, within its budget, and the next program is unharmed.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use grpo_sandbox::{FUEL_PER_SECOND, Failure, Fault, FuelScope, Limits, Sandbox};

const BOARD: [[u32; 4]; 4] = [[2, 0, 0, 4], [0, 0, 0, 0], [0, 8, 0, 0], [0, 0, 0, 2]];

/// Small, so that hangs are cheap to prove; enough for every program that is meant to end by itself.
const LIMITS: Limits = Limits {
    game_fuel: FUEL_PER_SECOND / 2,
    call_fuel: FUEL_PER_SECOND / 6,
    memory_bytes: 96 << 20,
    backstop: Duration::from_secs(120),
};

/// An honest program that would notice patched builtins, modules or random numbers.
const WITNESS: &str = "import math, random\n\ndef strategy(board):\n    n = sum(x for r in board for x in r)\n    \
                       return 'WASD'[(int(math.log(n) * 1000) + max(1, 2) + int(random.random() * 1000) + len(str(n))) % 4]\n";

fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap())
}

/// Value or fault in one word or two, and the fuel it took.
fn run(source: &str) -> (String, u64) {
    let mut session = match sandbox().load(source, 7, &LIMITS) {
        Ok(session) => session,
        Err(failure) => return (told(&failure), 0),
    };
    let answer = session.choose(&BOARD);
    let word = answer.map_or_else(|failure| told(&failure), |value| format!("plays {value}"));
    (word, session.fuel_used())
}

fn told(failure: &Failure) -> String {
    match failure {
        Failure::Program(Fault::OutOfFuel { scope: FuelScope::Call }) => "hang".into(),
        Failure::Program(Fault::OutOfFuel { scope: FuelScope::Game }) => "out_of_fuel".into(),
        Failure::Program(Fault::OutOfMemory) => "out_of_memory".into(),
        Failure::Program(Fault::StackOverflow) => "stack_overflow".into(),
        Failure::Program(Fault::Raised { kind, .. }) => format!("raised {kind}"),
        Failure::Program(Fault::BadValue { .. }) => "bad_value".into(),
        Failure::Program(Fault::NotCompiled { line, .. }) => format!("not_compiled {line}"),
        Failure::Program(Fault::NoFunction) => "no_function".into(),
        Failure::Host(error) => panic!("the host failed: {error}"),
    }
}

#[test]
fn every_hostile_program_ends_in_its_fault_and_the_next_one_is_unharmed() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 40, "{} programs", paths.len());
    let unharmed = run(WITNESS);
    assert!(unharmed.0.starts_with("plays "), "{}", unharmed.0);
    let mut wrong = Vec::new();
    for path in paths {
        let source = fs::read_to_string(&path).unwrap();
        let expected = source.lines().next().and_then(|line| line.strip_prefix("# expect: ")).unwrap().to_owned();
        let (found, fuel) = run(&source);
        if found != expected {
            wrong.push(format!("{}: {found}, expected {expected}", path.display()));
        }
        if fuel > LIMITS.game_fuel {
            wrong.push(format!("{}: used {fuel} of {}", path.display(), LIMITS.game_fuel));
        }
        let after = run(WITNESS);
        if after != unharmed {
            wrong.push(format!("{}: the next program gave {after:?}, alone {unharmed:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_board_is_a_copy() {
    let source = "def strategy(board):\n    s = sum(map(sum, board))\n    board[0][0] = 999\n    board.pop()\n    return str(s)\n";
    let mut session = sandbox().load(source, 0, &LIMITS).unwrap();
    assert_eq!(session.choose(&BOARD).unwrap(), "16");
    assert_eq!(session.choose(&BOARD).unwrap(), "16");
}

#[test]
fn fuel_is_the_same_on_every_thread() {
    let source = "import random\n\ndef strategy(board):\n    cells = list({str(x) for r in board for x in r})\n    \
                  random.shuffle(cells)\n    return cells[0]\n";
    let play = || {
        let mut session = sandbox().load(source, 3, &LIMITS).unwrap();
        let values: Vec<String> = (0..20).map(|_| session.choose(&BOARD).unwrap()).collect();
        (values, session.fuel_used())
    };
    let alone = play();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(play)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), alone);
        }
    });
}

#[test]
fn the_seed_decides_what_random_gives() {
    let draw = |seed| {
        let source = "import random\n\ndef strategy(board):\n    return str(random.randrange(10**9))\n";
        sandbox().load(source, seed, &LIMITS).unwrap().choose(&BOARD).unwrap()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn a_budget_is_spent_to_the_last_unit() {
    let slow = "def strategy(board):\n    for i in range(200000):\n        pass\n    return 'W'\n";
    let mut session = sandbox().load(slow, 0, &LIMITS).unwrap();
    let failure = loop {
        if let Err(failure) = session.choose(&BOARD) {
            break failure;
        }
    };
    assert!(matches!(failure, Failure::Program(Fault::OutOfFuel { scope: FuelScope::Game })), "{failure}");
    assert_eq!(session.fuel_used(), LIMITS.game_fuel);
}

#[test]
fn a_session_is_spent_after_a_fault() {
    let source = "calls = []\n\ndef strategy(board):\n    calls.append(1)\n    return 7 if len(calls) == 1 else 'W'\n";
    let mut session = sandbox().load(source, 0, &LIMITS).unwrap();
    assert!(session.choose(&BOARD).is_err());
    assert!(session.choose(&BOARD).is_err());
}

#[test]
fn what_strategies_import_is_there() {
    let names = "random math copy itertools functools collections heapq operator typing string re bisect statistics \
                 dataclasses enum abc types numbers fractions decimal array json datetime contextlib time sys";
    for name in names.split_whitespace() {
        let source = format!("import {name}\n\ndef strategy(board):\n    return 'W'\n");
        assert_eq!(run(&source).0, "plays W", "{name}");
    }
}
