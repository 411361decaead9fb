//! What a session promises, with either tier: copies, budgets to the last unit, the same result on every thread.

use grpo_sandbox::{FUEL_PER_SECOND, Failure, Fault, FuelScope, Limits};
use proptest::prelude::*;

use crate::{sandbox, tiers};

const ARGUMENTS: &str = "[[[2,0,0,4],[0,0,0,0],[0,8,0,0],[0,0,0,2]]]";

const LIMITS: Limits =
    Limits { game_fuel: FUEL_PER_SECOND / 2, call_fuel: FUEL_PER_SECOND / 6, memory_bytes: 96 << 20 };

#[test]
fn arguments_are_a_copy() {
    for sandbox in tiers() {
        let source = "def strategy(board):\n    s = sum(map(sum, board))\n    board[0][0] = 999\n    board.pop()\n    return s\n";
        let mut session = sandbox.load(source, 0, &LIMITS).unwrap();
        assert_eq!(session.call("strategy", ARGUMENTS).unwrap(), "16");
        assert_eq!(session.call("strategy", ARGUMENTS).unwrap(), "16");
    }
}

#[test]
fn i1_answers_and_fuel_are_the_same_on_every_thread() {
    for sandbox in tiers() {
        let source = "import random\n\ndef strategy(board):\n    cells = list({str(x) for r in board for x in r})\n    \
                  random.shuffle(cells)\n    return cells[0]\n";
        let play = || {
            let mut session = sandbox.load(source, 3, &LIMITS).unwrap();
            let values: Vec<String> = (0..20).map(|_| session.call("strategy", ARGUMENTS).unwrap()).collect();
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
}

#[test]
fn the_seed_decides_what_random_gives() {
    for sandbox in tiers() {
        let draw = |seed| {
            let source = "import random\n\ndef strategy(board):\n    return str(random.randrange(10**9))\n";
            sandbox.load(source, seed, &LIMITS).unwrap().call("strategy", ARGUMENTS).unwrap()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}

#[test]
fn a_budget_is_spent_to_the_last_unit() {
    for sandbox in tiers() {
        let slow = "def strategy(board):\n    for i in range(200000):\n        pass\n    return 'W'\n";
        let mut session = sandbox.load(slow, 0, &LIMITS).unwrap();
        let failure = loop {
            if let Err(failure) = session.call("strategy", ARGUMENTS) {
                break failure;
            }
        };
        assert!(matches!(failure, Failure::Program(Fault::OutOfFuel { scope: FuelScope::Game })), "{failure}");
        assert_eq!(session.fuel_used(), LIMITS.game_fuel);
    }
}

#[test]
fn an_exception_leaves_a_program_as_it_is_and_a_trap_spends_its_session() {
    for sandbox in tiers() {
        let source = "calls = []\n\ndef strategy(board):\n    calls.append(1)\n    if len(calls) == 1:\n        return object()\n    \
                  while len(calls) == 3:\n        pass\n    return len(calls)\n";
        let mut session = sandbox.load(source, 0, &LIMITS).unwrap();
        assert!(session.call("strategy", ARGUMENTS).is_err() && !session.is_spent());
        assert_eq!(session.call("strategy", ARGUMENTS).unwrap(), "2");
        for _ in 0..2 {
            assert!(session.call("strategy", ARGUMENTS).is_err() && session.is_spent());
        }
    }
}

#[test]
fn a_source_of_ten_megabytes_is_refused_before_it_is_handed_over() {
    let comment = "#".repeat(10_000_000);
    let source = format!("def strategy(board):\n    return 'W'\n{comment}\n");
    let told = sandbox().load(&source, 0, &LIMITS).err().unwrap().to_string();
    assert!(told.starts_with("does not compile: line 1: source of 10000"), "{told}");
}

#[test]
fn a_fault_while_a_program_loads_tells_what_it_spent() {
    for sandbox in tiers() {
        for (source, spent) in [("while True:\n    pass\n", LIMITS.call_fuel), ("x = 1 // 0\n", 1), ("def f(:\n", 1)] {
            let unloaded = sandbox.load(source, 0, &LIMITS).err().unwrap();
            assert!((spent..=LIMITS.call_fuel).contains(&unloaded.fuel), "{source}: {}", unloaded.fuel);
        }
        let run = sandbox.run("def f(:\n", "", 0, &LIMITS).unwrap();
        assert!(run.printed.is_err() && run.fuel > 0, "{run:?}");
    }
}

#[test]
fn deep_source_never_reaches_past_the_interpreter() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("-", ""), ("not ", ""), ("lambda:", ""), ("f(", ")")] {
        for depth in [100, 1000, 10_000, 40_000] {
            let source = format!("x = 1\nx = lambda: {}1{}\n", open.repeat(depth), close.repeat(depth));
            match sandbox().load(&source, 0, &LIMITS).map_err(|unloaded| unloaded.failure) {
                // However deep: one kind of fault for what CPython does not compile.
                Ok(_) | Err(Failure::Program(Fault::NotCompiled { .. })) => {}
                Err(Failure::Program(fault)) => panic!("{open} {depth}: {fault}"),
                Err(Failure::Host(error)) => panic!("{open} {depth}: {error}"),
            }
        }
    }
}

fn source() -> impl Strategy<Value = String> {
    const TOKENS: [&str; 45] = [
        "def strategy(board):\n", "    return 'W'\n", "\n", "    ", "while True: ", "try: ", "except: ", "raise ",
        "lambda: ", "[", "]", "(", ")", "{", "}", "board", "*", "**", "10", "'", "f'{", "\\", "import sys\n",
        "sys._getframe()", ".f_back", ".f_globals", "\0", "=", "yield ", "await ", "class A: ", "del ", "global x\n",
        "x", ": ", "match x:\n case ", "@", "\u{feff}", "\u{202e}", "\t", "\r", "\x0c", "exec(", "__builtins__",
        "strategy = ",
    ];
    let tokens =
        proptest::collection::vec(proptest::sample::select(&TOKENS[..]), 0..40).prop_map(|tokens| tokens.concat());
    prop_oneof![1 => any::<String>(), 4 => tokens]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_source_ends_in_a_value_or_a_fault_inside_its_budget(source in source()) {
        let limits = Limits { game_fuel: FUEL_PER_SECOND / 20, call_fuel: FUEL_PER_SECOND / 50, ..LIMITS };
        let play = || match sandbox().load(&source, 5, &limits) {
            Ok(mut session) => (format!("{:?}", session.call("strategy", ARGUMENTS)), session.fuel_used()),
            Err(unloaded) => (format!("{:?}", unloaded.failure), unloaded.fuel),
        };
        let (told, fuel) = play();
        prop_assert!(!told.contains("Host("), "{told}");
        prop_assert!(fuel <= limits.game_fuel, "{fuel}");
        prop_assert_eq!(play(), (told, fuel), "the second time");
    }
}
