//! Tasks whose budgets end somewhere in their tests: the tier that runs a program changes no verdict.

use std::sync::Arc;

use grpo_2048::arena::{Arena, Evaluation, Rules, Workers};
use grpo_2048::environment::{Case, Environment, Outcome};
use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox, TierChoice};

use crate::inside::{SANDBOX, rules, tasks};

/// A task with tests of growing cost, and the same with a checker that is dear itself.
const TASKS: &str = include_str!("tasks/task_budgets.jsonl");

const PROGRAMS: &[&str] = &[
    "def f(n):\n    return n\n",
    "def f(n):\n    s = 0\n    for i in range(n):\n        s += 1\n    return s\n",
    "def f(n):\n    x = []\n    for i in range(n):\n        x.insert(0, i)\n    return len(x)\n",
    "def f(n):\n    t = ''\n    for i in range(n):\n        t += 'ab'\n    return len(t) // 2\n",
    "def f(n):\n    x = list(range(n))\n    return sum([1 for i in x if -i - 1 not in x[:50]])\n",
    "def f(n):\n    return len(sorted([-i for i in range(n)], key=lambda v: v % 7))\n",
    "seen = []\ndef f(n):\n    seen.append(n)\n    for i in range(n * len(seen)):\n        pass\n    return n\n",
    "def f(n):\n    while n == 300:\n        pass\n    return n\n",
    "def f(n):\n    while n > 1:\n        pass\n    return n\n",
    "def f(n):\n    x = [0] * n\n    return len(x) if n != 300 else x[n]\n",
    "def f(n):\n    return n if n < 1 else 1 + f(n - 1)\n",
    "def g(n):\n    return n if n < 2 else g(n - 1) + g(n - 2)\ndef f(n):\n    return n + 0 * g(n % 23)\n",
    "import random\nfor i in range(20000):\n    pass\ndef f(n):\n    return n + 0 * random.randint(1, n + 1)\n",
];

fn evaluated(
    sandbox: &Sandbox,
    environment: &Arc<Environment>,
    limits: Limits,
    task: u32,
    programs: &[&str],
) -> Vec<Evaluation> {
    let rules = Rules { limits, ..rules() };
    let arena = Arena::new(sandbox.clone(), Arc::clone(environment), rules, Workers::new(2)).unwrap();
    let case = [Case::Task(task)];
    let programs = programs.iter().map(|text| (arena.program(text, case[0]), &case[..]));
    arena.evaluate_all(programs, &mut |_, _| ()).unwrap()
}

/// All but the fuel, which each tier counts by itself.
fn verdict(evaluation: &Evaluation) -> (String, Vec<Outcome>) {
    let games = evaluation.games.iter().map(|game| Outcome { fuel: 0, ..game.clone() });
    (format!("{:?}", evaluation.start), games.collect())
}

/// Programs that are run at the edges of one of them by day: this one alone, which ends there.
const AT_AN_EDGE: usize = 1;

#[test]
fn a_task_has_one_verdict_at_every_edge_of_its_budget_whichever_tier_runs_the_program() {
    expect_one_verdict(AT_AN_EDGE);
}

#[test]
#[ignore = "takes many times as long; `make proofs` runs it"]
fn a_task_has_one_verdict_at_the_edges_of_all_other_programs_too() {
    expect_one_verdict(PROGRAMS.len());
}

fn expect_one_verdict(at_an_edge: usize) {
    let environment = Arc::new(tasks(TASKS));
    let [auto, interpreter] = [TierChoice::Auto, TierChoice::Interpreter].map(|tier| SANDBOX.with_tiers(tier, 0));
    let of = |game_fuel, call_fuel| Limits { game_fuel, call_fuel, memory_bytes: 128 << 20 };
    for task in [0, 1] {
        let ample = of(FUEL_PER_SECOND / 10, FUEL_PER_SECOND / 40);
        let used = evaluated(&interpreter, &environment, ample, task, PROGRAMS);
        let edges = used.iter().enumerate().flat_map(|(number, one)| {
            let fuel = one.games[0].fuel;
            let programs = PROGRAMS.iter().copied().cycle().skip(number).take(at_an_edge).collect::<Vec<_>>();
            [of(fuel, fuel / 4), of(fuel - 1, fuel)].map(|limits| (limits, programs.clone()))
        });
        let others = [of(FUEL_PER_SECOND / 50, FUEL_PER_SECOND / 200), ample].map(|limits| (limits, PROGRAMS.to_vec()));
        for (limits, programs) in edges.chain(others) {
            let [found, right] =
                [&auto, &interpreter].map(|sandbox| evaluated(sandbox, &environment, limits, task, &programs));
            for ((found, right), program) in found.iter().zip(&right).zip(&programs) {
                assert_eq!(verdict(found), verdict(right), "{limits:?}\n{program}");
            }
        }
        let compiled = evaluated(&auto, &environment, ample, task, PROGRAMS);
        let compiled = compiled.iter().filter(|one| one.usage.games[0].compiled).count();
        assert!(compiled > PROGRAMS.len() / 3, "{compiled} stay compiled");
    }
}
