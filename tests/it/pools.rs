//! Pools of prompts: what groups have earned decides which prompts are drawn, in resumed runs as in unbroken ones.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::program::refused;
use crate::runs::{assert_same, lines, run, run_killed_after, steps};

/// Rewards on both sides of the thresholds.
const POOLS: &[&str] = &["--set", "rollout.draw=pools", "--set", "reward.scale=2500", "--save-steps", "1"];

/// What the metrics count prompts by.
const COUNTED: [&str; 5] = ["hard", "normal", "easy", "unseen", "never_solved"];

/// How many prompts each step counted, in the order of [`COUNTED`].
fn recorded(run: &Path) -> Vec<[f64; 5]> {
    let of = |record: &Value| COUNTED.map(|name| record[format!("curriculum/{name}")].as_f64().unwrap());
    steps(run).iter().map(of).collect()
}

/// The same, computed from the log: the pools are those of the newest groups so far, by what a line of it has earned.
fn computed(run: &Path, earned: fn(&Value) -> f64) -> Vec<[f64; 5]> {
    let mut newest: BTreeMap<String, f64> = BTreeMap::new();
    let mut solved: BTreeMap<String, bool> = BTreeMap::new();
    let after = |step: usize| {
        let logged = lines(&run.join(format!("completions/step_{step:05}.jsonl")));
        for group in logged.chunks(4) {
            let style = group[0]["style"].as_str().unwrap().to_owned();
            *solved.entry(style.clone()).or_default() |= group.iter().any(|line| line["verdict"] == "succeeded");
            newest.insert(style, group.iter().map(earned).sum::<f64>() / 4.0);
        }
        let count = |low: f64, high: f64| newest.values().filter(|mean| low < **mean && **mean <= high).count();
        let (hard, normal, easy) = (count(f64::NEG_INFINITY, 0.25), count(0.25, 0.75), count(0.75, f64::INFINITY));
        let never_solved = solved.values().filter(|solved| !**solved).count();
        [hard, normal, easy, 9 - newest.len(), never_solved].map(|count| count as f64)
    };
    (1..=steps(run).len()).map(after).collect()
}

#[test]
fn pools_follow_from_rewards_and_go_on_after_a_kill() {
    let root = tempfile::tempdir().unwrap();
    let [unbroken, killed] = ["unbroken", "killed"].map(|name| root.path().join(name));
    let more = [POOLS, &["--steps", "3", "--sequential", "--set", "train.eval_samples=0"]].concat();
    run(&unbroken, &more);
    run_killed_after(&killed, &["checkpoint-1"], &more);
    assert_same(&unbroken, &killed);

    let found = recorded(&unbroken);
    assert_eq!((found.len(), &found), (3, &computed(&unbroken, |line| line["reward"].as_f64().unwrap())));
    let last = found.last().unwrap();
    assert!(last[..3].iter().filter(|count| **count > 0.0).count() > 1, "{last:?}");
}

#[test]
fn pools_are_those_of_one_program_where_rewards_are_sums_over_turns() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let turns = ["--turns", "2", "--set", "reward.turns=discounted", "--set", "rollout.feedback=verdict"];
    let room =
        ["--set", "rollout.max_completion_length=490", "--set", "train.eval_samples=0", "--steps", "2", "--sequential"];
    run(&dir, &[POOLS, &turns, &room].concat());
    let of_the_last = |line: &Value| line["turns"].as_array().unwrap().last().unwrap()["reward"].as_f64().unwrap();
    let found = recorded(&dir);
    assert_eq!((found.len(), &found), (2, &computed(&dir, of_the_last)));
    assert_ne!(found, computed(&dir, |line| line["reward"].as_f64().unwrap()), "sums are in other pools");
}

#[test]
fn pools_need_the_rewards_of_the_step_before() {
    let place = tempfile::tempdir().unwrap();
    let said = refused(place.path(), &["train", "--dry-run", "--steps-ahead", "1", "--set", "rollout.draw=pools"]);
    assert!(said.contains("rollout.draw") && said.contains("expected \"all\" with train.steps_ahead = 1"), "{said}");
}

#[test]
fn a_control_run_chooses_no_prompt_by_true_rewards() {
    let root = tempfile::tempdir().unwrap();
    let shuffled = ["--set", "reward.shuffled=true"];
    let pools = [&["train", "--dry-run", "--set", "rollout.draw=pools"][..], &shuffled].concat();
    let said = refused(root.path(), &pools);
    assert!(said.contains("rollout.draw") && said.contains("expected \"all\" with reward.shuffled"), "{said}");

    // With a token each no completion is a program, so that all groups are tied.
    let resampled = |name: &str, more: &[&str]| {
        let dir = root.path().join(name);
        let tied = ["--steps", "1", "--set", "rollout.max_completion_length=1"];
        run(&dir, &[&tied[..], more].concat());
        steps(&dir)[0]["groups/resampled"].as_u64().unwrap()
    };
    assert_eq!((resampled("plain", &[]), resampled("control", &shuffled)), (2, 0));
}
