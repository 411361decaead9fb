//! Pools of prompts: what groups have earned decides which prompts are drawn, in resumed runs as in unbroken ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::refused;
use crate::runs::{assert_same, run, run_killed_after};

/// Rewards on both sides of the thresholds.
const POOLS: &[&str] = &["--set", "rollout.draw=pools", "--set", "reward.scale=2500", "--save-steps", "1"];

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn pools_follow_from_rewards_and_go_on_after_a_kill() {
    let root = tempfile::tempdir().unwrap();
    let [unbroken, killed] = ["unbroken", "killed"].map(|name| root.path().join(name));
    let more = [POOLS, &["--steps", "6", "--sequential"]].concat();
    run(&unbroken, &more);
    run_killed_after(&killed, "checkpoint-3", &more);
    assert_same(&unbroken, &killed);

    // The pools of every step are those of the newest groups so far, computed from the log.
    let mut newest: BTreeMap<String, f64> = BTreeMap::new();
    let mut solved: BTreeMap<String, bool> = BTreeMap::new();
    let records = lines(&unbroken.join("metrics.jsonl"));
    for (step, record) in (1..).zip(records.iter().filter(|record| record.get("reward").is_some())) {
        let logged = lines(&unbroken.join(format!("completions/step_{step:05}.jsonl")));
        for group in logged.chunks(4) {
            let style = group[0]["style"].as_str().unwrap().to_owned();
            let rewards = group.iter().map(|line| line["reward"].as_f64().unwrap());
            *solved.entry(style.clone()).or_default() |= group.iter().any(|line| line["verdict"] == "succeeded");
            newest.insert(style, rewards.sum::<f64>() / 4.0);
        }
        let count = |low: f64, high: f64| newest.values().filter(|mean| low < **mean && **mean <= high).count();
        let expected = [
            ("hard", count(f64::NEG_INFINITY, 0.25)),
            ("normal", count(0.25, 0.75)),
            ("easy", count(0.75, f64::INFINITY)),
            ("unseen", 9 - newest.len()),
            ("never_solved", solved.values().filter(|solved| !**solved).count()),
        ];
        for (name, expected) in expected {
            assert_eq!(record[format!("curriculum/{name}")], expected as f64, "{name} of step {step}");
        }
    }
    let last = records.iter().rev().find(|record| record.get("reward").is_some()).unwrap();
    let pools = ["hard", "normal", "easy"].map(|name| last[format!("curriculum/{name}")].as_f64().unwrap());
    assert!(pools.iter().filter(|count| **count > 0.0).count() > 1, "{last}");
}

#[test]
fn pools_need_the_rewards_of_the_step_before() {
    let place = tempfile::tempdir().unwrap();
    let said = refused(place.path(), &["train", "--dry-run", "--steps-ahead", "1", "--set", "rollout.draw=pools"]);
    assert!(said.contains("rollout.draw") && said.contains("expected \"all\" with train.steps_ahead = 1"), "{said}");
}
