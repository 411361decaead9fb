//! No completion ends, delays or changes the judgement of another, though the compiled tier runs it otherwise than CPython.
//!
//! Differences are planted: compiled code is made of another text than the interpreter reads, so that a program can do
//! one thing compiled, where `TIER` is "compiled", and any other interpreted. The texts of differences that were found
//! once are tried as they are.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use grpo_2048::arena::{self, Arena, ArenaError, Evaluation, OnDifference, Workers};
use grpo_2048::environment::Environment;
use grpo_2048::environment::game2048::entry;
use grpo_2048::judge::{Item, Judge, judge_lines};
use grpo_2048::metrics::METRICS_FILE;
use grpo_2048::program::Program;
use grpo_2048::seed::{Purpose, Seed};
use grpo_sandbox::{Sandbox, TierChoice};
use serde_json::{Value, json};

use crate::inside::{self, CONFIG, SANDBOX, rules};
use crate::runs;

/// Compiled code of a text in which `TIER` is "compiled". One in so many sessions is compared.
fn planted(check_one_in: u32) -> Sandbox {
    let sandbox = SANDBOX.misreading(|source| source.replace("TIER = 'interpreted'", "TIER = 'compiled'"));
    sandbox.with_tiers(TierChoice::Auto, check_one_in)
}

const TASKS: &str = include_str!("tasks/differences.jsonl");

const GOOD: &str = "def last(x):\n    return max(x)\n";

/// What is done compiled and what is done interpreted, on a list `x` that was asked for its largest item.
const PLANTS: &[(&str, &str)] = &[
    ("return 0", "return max(x)"),
    ("return max(x)", "return 0"),
    ("return max(x)", "return x[7]"),
    ("return x[7]", "return 0"),
    ("return 3", "return max(x) if len(x) > 2 else x[7]"),
    ("return 3 if len(x) > 1 else x[7]", "return 5"),
    ("return max(x)", "while True: x.append(1)"),
    ("while True: x[0] += 1", "return max(x)"),
    ("while True: x[0] += 1", "while True: x[0] -= 1"),
    ("return max(x)", "return last(x)"),
    ("return max(x)", "return [0] * 10 ** 9"),
    ("return max(x)", "return last"),
    ("return max(x)", "return 'x' * 3000000"),
    ("x.append(7) or seen.append(1)\n        return len(seen)", "return max(x)"),
    ("return max(x) if len(seen) < 3 else seen.append(1)", "seen.append(1)\n        return len(seen)"),
];

/// Loads that differ, and differences that were found once.
const TEXTS: &[&str] = &[
    "TIER = 'interpreted'\nif TIER == 'interpreted':\n    x = [1][5]\ndef last(x):\n    return max(x)\n",
    "TIER = 'interpreted'\nwhile TIER == 'interpreted':\n    pass\ndef last(x):\n    return max(x)\n",
    "TIER = 'interpreted'\nwhile TIER == 'compiled':\n    pass\ndef last(x):\n    return max(x)\n",
    "def last(x):\n    y = x[:]\n    y.sort(key=lambda v, n=len(y): -v if n else v)\n    return y[0] if len(x) > 2 else [1][5]\n",
    "def last(x):\n    y = (x[0] - 4611686018427387906) // 7\n    return max(x) if y == -658812288346769701 else [1][5]\n",
    "K = abs\ndef g():\n    global K\n    K = lambda v: -v\n    return 1\ndef last(x):\n    return max(g(), 5, key=K) * max(x) if x else [][1]\n",
    "def last(x):\n    try:\n        x.sort(key=[len][{}[1]])\n    except KeyError:\n        return x[0]\n",
    "def last(x):\n    for i in x:\n        try:\n            return {}[i]\n        except KeyError as e:\n            continue\n    return e.args[0]\n",
    "def last(x):\n    n = [1]\n    def t(v):\n        n.append(v)\n        return v\n    sum([t(1), t(2)], t(3))\n    return max(x) if n == [1, 1, 2, 3] else n[9]\n",
    "def last(x):\n    return sorted(x, reverse=x.append(9) is None)[0] - 9 + max(x[:-1])\n",
];

fn planted_program((compiled, interpreted): &(&str, &str)) -> String {
    format!(
        "TIER = 'interpreted'\nseen = []\ndef last(x):\n    if TIER == 'compiled':\n        {compiled}\n    else:\n        \
         {interpreted}\n"
    )
}

/// A list in which each difference has a good program before and behind it, and the tasks of all.
fn items() -> Vec<Item> {
    let bad = PLANTS.iter().map(planted_program).chain(TEXTS.iter().map(|text| (*text).to_owned()));
    let ids = ["last", "sum"].into_iter().cycle();
    let item = |id: &str, completion: &str| Item { id: id.into(), completion: completion.to_owned() };
    let bad = bad.zip(ids).flat_map(|(bad, id)| [item(id, &bad), item("last", GOOD), item("last", &bad)]);
    [item("last", GOOD)].into_iter().chain(bad).collect()
}

fn judge(sandbox: &Sandbox, workers: usize) -> Judge {
    let (mut environment, mut rules) = (inside::tasks(TASKS), rules());
    (rules.limits.game_fuel, rules.limits.call_fuel) = (rules.limits.game_fuel / 5, rules.limits.call_fuel / 5);
    assert_eq!(arena::complete(sandbox, &mut environment, &rules, 1).unwrap(), []);
    let arena = Arena::new(sandbox.clone(), environment, rules, Workers::new(workers)).unwrap();
    Judge::new(arena, &CONFIG.reward, Vec::new())
}

/// The lines of all judgements, without the fuel, which each tier counts by itself.
fn without_fuel(lines: &str) -> Vec<Value> {
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["fuel"].take();
        line
    };
    lines.lines().map(line).collect()
}

fn lines(judge: Judge, items: &[Item]) -> String {
    let text = items.iter().map(|Item { id, completion }| format!("{}\n", json!({"id": id, "completion": completion})));
    let input = std::io::Cursor::new(text.collect::<String>().into_bytes());
    let mut lines = String::new();
    let mut answer = |judgement: &_| {
        lines += &format!("{}\n", serde_json::to_string(judgement)?);
        Ok(())
    };
    judge_lines(&Arc::new(judge), input, "items", &mut answer).unwrap();
    lines
}

#[test]
fn judge_gives_cpythons_verdict_whatever_is_planted_and_every_other_line_its_own() {
    expect_cpythons_verdicts(&[0, 4]);
}

#[test]
#[ignore = "more numbers of workers; `make proofs` runs it"]
fn other_numbers_of_workers_give_cpythons_verdict_too() {
    expect_cpythons_verdicts(&[0, 1, 2, 8]);
}

/// Judges differences with each of these numbers of workers, of which the first is no worker, and as a list.
fn expect_cpythons_verdicts(numbers: &[usize]) {
    let items = items();
    let expected = without_fuel(&lines(judge(&SANDBOX.interpreting(), 0), &items));
    assert!(expected.iter().filter(|line| line["verdict"] == "succeeded").count() > items.len() / 3);
    let mut sequential = None;
    for &workers in numbers {
        let told = lines(judge(&planted(1), workers), &items);
        for ((found, right), item) in without_fuel(&told).iter().zip(&expected).zip(&items) {
            assert_eq!(found, right, "{workers} workers: {}", item.completion);
        }
        assert_eq!(sequential.get_or_insert(told.clone()), &told, "{workers} workers");
    }
    // As a server judges a list.
    let list = judge(&planted(1), 2).judge(items).unwrap();
    let told = list.iter().map(|judgement| format!("{}\n", serde_json::to_string(judgement).unwrap()));
    assert_eq!(Some(told.collect::<String>()), sequential);
}

#[test]
fn what_differs_is_kept_with_both_answers_once_for_each_item() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("differences.jsonl");
    let judge = judge(&planted(1), 2).keeping_differences(File::create(&path).unwrap());
    let program = planted_program(&PLANTS[0]);
    let item = |completion: &str| Item { id: "last".into(), completion: completion.to_owned() };
    lines(judge, &[item(GOOD), item(&program), item(GOOD), item(&program)]);
    let kept = runs::lines(&path);
    let one = json!({
        "program": program, "seed": "0", "asked": "last[[3, 1, 2]]", "compiled": "0", "interpreted": "3", "id": "last"
    });
    assert_eq!(kept, [one.clone(), one]);
}

/// Players that differ at a move of their own, or never.
fn players() -> Vec<String> {
    let player = |compiled: &str| {
        format!(
            "TIER = 'interpreted'\nturn = [0]\ndef strategy(board):\n    turn[0] += 1\n    if TIER == 'compiled':\n        \
             {compiled}\n    return 'WASD'[turn[0] % 4]\n"
        )
    };
    let late = "if turn[0] > 40 and board[0][0] < 4:\n            return 'A'";
    let plants = ["pass", "return 'W'", "turn[0] += 1", late, "if turn[0] > 10:\n            turn[7] = 1", "return 5"];
    plants.map(player).to_vec()
}

fn seeds(count: u64) -> Vec<Seed> {
    (0..count).map(|index| Seed::root(29).child(Purpose::HeldOut, index)).collect()
}

fn played(sandbox: Sandbox, workers: usize) -> Vec<Evaluation> {
    let arena = Arena::new(sandbox, Environment::Game2048, rules(), Workers::new(workers)).unwrap();
    let (seeds, players) = (seeds(6), players());
    let programs = players.iter().map(|text| (Program::from_text(text, &entry()), seeds.as_slice()));
    arena.evaluate_all(programs, &mut |_, _| ()).unwrap()
}

#[test]
fn a_player_is_played_again_in_the_interpreter_from_its_first_move_whichever_of_its_games_was_looked_at() {
    expect_the_interpreters_games(&[8]);
}

#[test]
#[ignore = "more numbers of workers; `make proofs` runs it"]
fn other_numbers_of_workers_play_again_what_no_worker_does() {
    expect_the_interpreters_games(&[1, 2, 3]);
}

/// Plays without workers, and expects the same with each of these numbers of them.
fn expect_the_interpreters_games(numbers: &[usize]) {
    let interpreted: Vec<String> = played(SANDBOX.interpreting(), 0).iter().map(Evaluation::digest).collect();
    for check_one_in in [1, 3] {
        let base = played(planted(check_one_in), 0);
        let differing: Vec<_> = base.iter().map(|one| one.usage.difference.clone()).collect();
        let seen: Vec<bool> = differing.iter().map(Option::is_some).collect();
        // The tiers agree on the first; compiled code gives up on the fifth.
        let every = [false, true, true, true, false, true];
        assert!(seen.iter().zip(every).all(|(seen, there)| there || !seen), "{differing:?}");
        assert!(seen == every || (check_one_in > 1 && seen.contains(&true)), "{seen:?}");
        for ((evaluation, seen), interpreted) in base.iter().zip(&seen).zip(&interpreted) {
            assert!(!seen || evaluation.digest() == *interpreted, "{:?}", evaluation.usage.difference);
        }
        for &workers in numbers {
            let again = played(planted(check_one_in), workers);
            let both = |all: &[Evaluation]| -> Vec<_> {
                all.iter().map(|one| (one.digest(), one.usage.difference.clone())).collect()
            };
            assert_eq!(both(&again), both(&base), "{workers} workers");
        }
    }
}

#[test]
fn a_difference_stops_only_on_request() {
    let arena = Arena::new(planted(1), Environment::Game2048, rules(), Workers::new(2)).unwrap();
    let (seeds, players) = (seeds(2), players());
    let programs = || players.iter().map(|text| (Program::from_text(text, &entry()), seeds.as_slice()));
    assert_eq!(arena.evaluate_all(programs(), &mut |_, _| ()).unwrap().len(), players.len());
    let error = arena.on_difference(OnDifference::Stop).evaluate_all(programs(), &mut |_, _| ()).unwrap_err();
    assert!(matches!(error, ArenaError::TiersDiffer { completion: 1, .. }), "{error}");
    assert!(error.to_string().contains("sandbox.on_difference") && error.to_string().contains(players[1].trim_end()));
}

/// Settings of a run whose games are seldom ended by their budget, which each tier counts by itself.
const SETTINGS: [&str; 6] = [
    "rollout.groups=1",
    "rollout.num_generations=8",
    "rollout.max_completion_length=200",
    "train.eval_samples=0",
    "train.game_seconds=1.0",
    "train.settle=false",
];

/// The metrics of each step of a run that was trained in `sandbox`, its completions, and where its tiers differed.
fn trained(sandbox: Sandbox, workers: usize, steps: usize) -> (Vec<Value>, [Vec<Value>; 2]) {
    let place = tempfile::tempdir().unwrap();
    let length = format!("train.max_steps={steps}");
    let settings = [&SETTINGS[..], &[length.as_str()]].concat();
    let summary = inside::trained(&place.path().join("run"), &settings, sandbox, workers, &|_| BTreeMap::new());
    let read = |path: PathBuf| if path.is_file() { runs::lines(&path) } else { Vec::new() };
    let of_folder = |folder: &str| {
        let step = |step| summary.output_dir.join(format!("{folder}/step_{step:05}.jsonl"));
        (1..=steps).flat_map(|number| read(step(number))).collect()
    };
    (read(summary.output_dir.join(METRICS_FILE)), ["completions", "tier_differences"].map(of_folder))
}

#[test]
fn a_step_of_training_learns_from_cpythons_verdicts_counts_the_differences_and_keeps_their_programs() {
    // Compiled code takes the least where the program takes the most, and goes up where it goes down.
    let misread = |source: &str| source.replace("max(", "min(").replace("\"S\"", "\"W\"").replace("'S'", "'W'");
    let turned = || SANDBOX.misreading(misread);
    let (metrics, [completions, kept]) = trained(turned().with_tiers(TierChoice::Auto, 1), 2, 2);
    let counts = |metrics: &[Value]| -> Vec<u64> {
        metrics.iter().map(|line| line["sandbox/tier_differences"].as_u64().unwrap()).collect()
    };
    assert!(counts(&metrics).iter().sum::<u64>() > 0, "{metrics:?}");
    assert!(!kept.is_empty() && kept.iter().all(|line| line["compiled"] != line["interpreted"]), "{kept:?}");
    let (again, [completions_again, kept_again]) = trained(turned().with_tiers(TierChoice::Auto, 1), 0, 2);
    assert_eq!((counts(&again), completions_again, kept_again), (counts(&metrics), completions.clone(), kept.clone()));

    // Its second step would ask a policy that has learnt from other rewards where games ended by their budget.
    let (_, [interpreted, none]) = trained(turned().interpreting(), 2, 1);
    assert!(none.is_empty() && !interpreted.is_empty());
    for (line, right) in completions.iter().filter(|line| line["step"] == 1).zip(&interpreted) {
        assert_eq!(line["completion"], right["completion"]);
        assert_eq!(line["reward"], right["reward"], "{line}");
    }
}
