//! Tests that runs with steps sampled ahead are reproducible and resumable.

use std::fs;
use std::path::Path;

use crate::runs::{assert_same, essence, run, run_killed_after, same_with_workers, signal, steps, train, wait_for};

/// Settings with one step ahead and two games per program.
const AHEAD: &[&str] = &["--steps-ahead", "1", "--set", "arena.games=2", "--set", "train.eval_samples=0"];
/// The completions of the next step in a checkpoint.
const SAMPLED_AHEAD: &str = "sampled_ahead.safetensors";

fn ahead<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [AHEAD, more].concat()
}

#[test]
fn one_step_ahead_sequential_and_any_number_of_workers_train_byte_for_byte_alike() {
    same_with_workers(&ahead(&["--steps", "3", "--save-steps", "1"]), &[("8", "1")]);
}

#[test]
#[ignore = "more numbers of workers; `make proofs` runs it"]
fn other_numbers_of_workers_train_one_step_ahead_as_no_worker_does() {
    same_with_workers(&ahead(&["--steps", "3", "--save-steps", "1"]), &[("1", "1"), ("2", "8")]);
}

#[test]
fn one_step_ahead_a_run_that_was_killed_or_interrupted_goes_on_as_an_unbroken_one() {
    let root = tempfile::tempdir().unwrap();
    let [unbroken, killed, interrupted] = ["unbroken", "killed", "interrupted"].map(|name| root.path().join(name));
    // An evaluation plays its games before those of the next step.
    let more = [
        &["--steps", "3", "--save-steps", "1", "--set", "train.save_total_limit=9"][..],
        &["--eval-steps", "2", "--set", "train.eval_samples=2"],
    ];
    let more = ahead(&more.concat());
    run(&unbroken, &more);
    for (step, there) in [(0, false), (1, true), (2, true), (3, false)] {
        let path = unbroken.join(format!("checkpoint-{step}")).join(SAMPLED_AHEAD);
        assert_eq!(path.is_file(), there, "after step {step}");
    }

    // What the first checkpoint holds was sampled at step 0, which is also what a policy's age is that nobody restored.
    run_killed_after(&killed, &["checkpoint-2"], &more);
    assert_same(&unbroken, &killed);

    let mut child = train(&interrupted, &more).spawn().unwrap();
    wait_for(&interrupted.join("completions/step_00001.jsonl"), &mut child);
    signal("-INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let newest = fs::read_to_string(interrupted.join("checkpoint-latest")).unwrap();
    assert!(interrupted.join(&newest).join(SAMPLED_AHEAD).is_file() || newest == "checkpoint-3", "{newest}");
    run(&interrupted, &[&more[..], &["--resume", interrupted.to_str().unwrap()]].concat());
    assert_same(&unbroken, &interrupted);
}

#[test]
fn the_first_step_is_on_policy_and_later_ones_say_how_far_behind_their_sampler_is() {
    let root = tempfile::tempdir().unwrap();
    let [newest, behind] = ["newest", "behind"].map(|name| root.path().join(name));
    let short = ["--steps", "3", "--set", "rollout.resample_tied=0", "--set", "arena.games=2"];
    let short = [&short[..], &["--set", "train.eval_samples=0"]].concat();
    run(&newest, &short);
    run(&behind, &ahead(&short));
    let first = Path::new("completions/step_00001.jsonl");
    assert_eq!(essence(&newest)[first], essence(&behind)[first]);
    let (on, off) = (steps(&newest), steps(&behind));
    for key in ["loss", "grad_norm", "entropy", "reward", "num_tokens", "programs/cache_hits"] {
        assert_eq!(on[0][key], off[0][key], "{key}");
    }
    assert_ne!(on[1]["loss"], off[1]["loss"]);
    let lags: Vec<f64> = off.iter().map(|step| step["sampling/policy_lag"].as_f64().unwrap()).collect();
    assert_eq!(lags, [0.0, 1.0, 1.0]);
    let kls: Vec<f64> = off.iter().map(|step| step["sampling/kl"].as_f64().unwrap()).collect();
    assert!(kls[0] < 1e-9 && kls[1] > 1e-7 && kls[2] > 1e-7, "{kls:?}");
    assert_eq!(off[2]["time/generate"], 0.0, "the last step has nothing to write");
    assert!(on.iter().all(|step| step.get("sampling/policy_lag").is_none() && step.get("sampling/kl").is_none()));
}

#[test]
fn a_run_without_may_go_on_with_it_and_begins_on_policy() {
    let root = tempfile::tempdir().unwrap();
    let [without, switched] = ["without", "switched"].map(|name| root.path().join(name));
    let more = |more: &[&'static str]| [more, &["--set", "train.eval_samples=0"]].concat();
    run(&without, &more(&["--steps", "2"]));
    run(&switched, &more(&["--steps", "1"]));
    let resume = ["--resume", switched.to_str().unwrap()];
    run(&switched, &[&more(&["--steps", "2", "--steps-ahead", "1"])[..], &resume].concat());
    let (mut expected, mut found) = (steps(&without), steps(&switched));
    assert_eq!(found[1]["sampling/policy_lag"], 0.0);
    for key in ["loss", "grad_norm", "entropy", "reward", "num_tokens"] {
        assert_eq!(expected[1][key].take(), found[1][key].take(), "{key}");
    }
}
