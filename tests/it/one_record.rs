//! Tests that sinks and checkpoint have the same record of a step, including measurements from outside the loop.

use std::collections::BTreeMap;

use grpo_2048::metrics::{METRICS_FILE, StepRecord};
use serde_json::Value;

use crate::inside::{SANDBOX, trained};
use crate::runs::lines;

const SETTINGS: [&str; 6] = [
    "train.max_steps=2",
    "rollout.groups=1",
    "rollout.num_generations=2",
    "rollout.max_completion_length=160",
    "train.eval_samples=0",
    "train.game_seconds=0.05",
];

#[test]
fn metrics_and_checkpoint_hold_the_same_records() {
    let place = tempfile::tempdir().unwrap();
    let measure = |record: &StepRecord| BTreeMap::from([("gpu/util".into(), 50.0 + record.step as f64)]);
    let summary = trained(&place.path().join("run"), &SETTINGS, SANDBOX.clone(), 2, &measure);
    let lines = lines(&summary.output_dir.join(METRICS_FILE));
    let state = std::fs::read(summary.checkpoint.join("trainer_state.json")).unwrap();
    let state: Value = serde_json::from_slice(&state).unwrap();
    assert_eq!(Value::Array(lines.clone()), state["log_history"]);
    assert_eq!(lines.iter().map(|line| &line["gpu/util"]).collect::<Vec<_>>(), [51.0, 52.0]);
}
