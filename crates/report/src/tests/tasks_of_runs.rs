//! Runs on tasks.

use std::fs;

use serde_json::{Value, json};

use super::super::RunView;
use super::super::tasks::{AskedTasks, TaskList};
use super::{plain_run, view};

/// A line of a run on tasks: a program that passes this number of five tests, or a completion without a program.
fn attempt(task: &str, passed: Option<u32>) -> Value {
    let evaluation = match passed {
        None => json!({"verdict": {"rejected": {"why": "no_function"}}, "games": []}),
        Some(passed) => json!({"verdict": "played", "games": [{"task": 3, "score": f64::from(passed) / 5.0,
            "ending": if passed == 5 { "passed" } else { "wrong_answer" }, "fuel": 9, "tests": {"tests": 5, "passed": passed, "answered": 5, "constant": 1,
            "failed": {"test": 2, "reason": "add(1, 2) gave 4, expected 3"}}}]}),
    };
    let asked = if task == "add" { "Add" } else { "Twice" };
    json!({"step": 1, "style": task, "prompt": format!("{asked}.\n```python\ndef add(a, b):"), "completion": "\n    return 4\n```",
        "reward": 0.5, "advantage": 0.0, "evaluation": evaluation})
}

#[test]
fn of_tasks_every_program_is_shown_with_its_tests_and_no_board() {
    let (_dir, run) = plain_run();
    fs::remove_file(run.join("completions/step_00002.jsonl")).unwrap();
    let lines = [attempt("add", Some(1)), attempt("add", None), attempt("twice", Some(4)), attempt("twice", Some(0))];
    fs::write(run.join("completions/step_00001.jsonl"), lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let view = view(&run);
    let shown: Vec<_> = view.samples.iter().map(|sample| (sample.style.as_str(), sample.tests.as_ref())).collect();
    let passed: Vec<_> = shown.iter().map(|(task, tests)| (*task, tests.map(|tests| tests.passed))).collect();
    // Samples are in the order of the log, so those of one task stay together.
    assert_eq!(passed, [("add", Some(1)), ("add", None), ("twice", Some(4)), ("twice", Some(0))]);
    let failed = shown[0].1.unwrap().failed.as_ref().unwrap();
    assert_eq!((failed.test, failed.reason.as_str()), (2, "add(1, 2) gave 4, expected 3"));
    assert_eq!(view.samples[0].source, "def add(a, b):\n    return 4\n");
    assert!(view.samples.iter().all(|sample| sample.games.is_empty()));
    let asked: Vec<&str> = view.tasks.prompts.keys().map(String::as_str).collect();
    assert_eq!(
        (asked, view.tasks.prompts["twice"].as_str()),
        (vec!["add", "twice"], "Twice.\n```python\ndef add(a, b):")
    );
    // Nothing passed all five tests; a task that is solved once leaves the list.
    let names = |list: &TaskList| list.tasks.clone();
    assert_eq!(names(&view.tasks.never), [("add".to_owned(), 2), ("twice".to_owned(), 2)]);
    assert_eq!((view.tasks.count, view.tasks.always.count), (2, 0));
    // The shares are 0.8, 0.2, 0, and 0 without a program: the median is the mean of the two in the middle.
    assert_eq!((view.scores[0].best, view.scores[0].quantiles), (0.8, [0.0, 0.0, 0.1, 0.35, 0.62]));
}

#[test]
fn tasks_that_were_never_or_always_solved_are_listed() {
    let (_dir, run) = plain_run();
    let lines = |passed: &[(&str, u32)]| {
        passed.iter().map(|(task, passed)| format!("{}\n", attempt(task, Some(*passed)))).collect::<String>()
    };
    fs::write(run.join("completions/step_00001.jsonl"), lines(&[("hard", 0), ("some", 5), ("easy", 5)])).unwrap();
    fs::write(run.join("completions/step_00002.jsonl"), lines(&[("hard", 4), ("some", 4), ("easy", 5)])).unwrap();
    let AskedTasks { count, never, always, .. } = view(&run).tasks;
    assert_eq!((count, never.tasks, always.tasks), (3, vec![("hard".to_owned(), 2)], vec![("easy".to_owned(), 2)]));
}

#[test]
fn held_out_programs_that_are_sampled_at_another_temperature_are_said_to_be() {
    let (_dir, run) = plain_run();
    let noted = |held_out: f64| {
        let config = format!("[rollout]\ntemperature = 0.7\n[train]\neval_temperature = {held_out:?}\n");
        fs::write(run.join("config.toml"), config).unwrap();
        view(&run).notes.into_iter().find(|note| note.starts_with("Held-out programs"))
    };
    let cooler = "Held-out programs are sampled at a temperature of 0.3, those of training at 0.7.";
    assert_eq!((noted(0.3).as_deref(), noted(0.0), noted(0.7)), (Some(cooler), None, None));
}

#[test]
fn evaluations_at_several_temperatures_are_said_not_to_compare() {
    let (_dir, run) = plain_run();
    fs::write(run.join("config.toml"), "[rollout]\ntemperature = 0.7\n[train]\neval_temperature = 0.3\n").unwrap();
    let noted = |temperatures: [f64; 3]| {
        let evaluated = temperatures.into_iter().zip([0, 20, 40]);
        let lines = evaluated.map(|(value, step)| format!("{{\"step\":{step},\"eval_temperature\":{value:?}}}\n"));
        fs::write(run.join("metrics.jsonl"), lines.collect::<String>() + "{\"step\":41}\n").unwrap();
        view(&run).notes.into_iter().find(|note| note.starts_with("Held-out programs")).unwrap()
    };
    let changed = noted([0.7, 0.7, 0.3]);
    assert!(changed.ends_with("whose figures do not compare: 0.7 from step 0, 0.3 from step 40."), "{changed}");
    let same = noted([0.3, 0.3, 0.3]);
    assert_eq!(same, "Held-out programs are sampled at a temperature of 0.3, those of training at 0.7.");
    // The newest launch has not evaluated yet.
    let before = noted([0.5, 0.5, 0.5]);
    assert_eq!(before, "Held-out programs are sampled at a temperature of 0.5, those of training at 0.7.");
}

#[test]
fn evaluations_that_ask_what_is_trained_on_are_not_called_held_out() {
    let (_dir, run) = plain_run();
    let is_noted = |counts: &str| {
        let metrics = format!("{{\"step\":0{counts},\"eval_tasks/frac_tests\":0.5}}\n{{\"step\":1}}\n");
        fs::write(run.join("metrics.jsonl"), metrics).unwrap();
        view(&run).notes.iter().any(|note| note.starts_with("No task is held out: "))
    };
    let [trained, held_out] = [0, 2].map(|count| is_noted(&format!(",\"eval_tasks/held_out\":{count}")));
    assert_eq!((trained, held_out, is_noted("")), (true, false, false));
}

#[test]
fn of_tasks_no_hall_of_fame_is_awaited() {
    let (_dir, run) = plain_run();
    let is_awaited = || view(&run).notes.iter().any(|note| note.starts_with("The hall of fame"));
    let of_games = is_awaited();
    fs::write(run.join("metrics.jsonl"), "{\"step\":1,\"tasks/frac_tests\":0.5}\n").unwrap();
    assert_eq!((of_games, is_awaited()), (true, false));
}

#[test]
fn a_step_counts_all_its_completions_and_is_shown_whole_or_not_at_all() {
    let (_dir, run) = plain_run();
    // Two steps of such programs fit on the page, and three do not. The last half of the completions passes.
    let long = format!("\n    return 4{}\n", " ".repeat(7_900));
    for step in 1..=4 {
        let line = |at: usize| {
            let mut line = attempt("add", Some(if at < 50 { 0 } else { 5 }));
            (line["step"], line["completion"]) = (json!(step), json!(long));
            format!("{line}\n")
        };
        let path = run.join(format!("completions/step_{step:05}.jsonl"));
        fs::write(path, (0..100).map(line).collect::<String>()).unwrap();
    }
    let view = view(&run);
    assert!(view.scores.iter().all(|step| (step.succeeded, step.completions) == (50, 100)), "{:?}", view.scores);
    let shown = [1, 2, 3, 4].map(|step| view.samples.iter().filter(|sample| sample.step == step).count());
    assert_eq!(shown, [0, 0, 64, 64]);
}

#[test]
fn honeypots_are_no_failures_and_no_unsolved_tasks() {
    let (_dir, run) = plain_run();
    fs::remove_file(run.join("completions/step_00002.jsonl")).unwrap();
    let mut tried = attempt("add (honeypot)", Some(0));
    tried["evaluation"]["games"][0]["tests"]["honeypot"] = json!(true);
    // The last has no program whose tests would tell that its task is a honeypot.
    let lines = [attempt("add", Some(5)), attempt("twice", Some(0)), tried, attempt("add (honeypot)", None)];
    fs::write(run.join("completions/step_00001.jsonl"), lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let RunView { failures, tasks, .. } = view(&run);
    assert_eq!((failures.completions, failures.failed, failures.honeypots), (2, 1, 2));
    assert_eq!((failures.late, failures.late_failed, failures.reasons.len()), (2, 1, 1));
    let AskedTasks { count, never, always, .. } = tasks;
    assert_eq!((count, never.tasks, always.tasks), (2, vec![("twice".to_owned(), 1)], vec![("add".to_owned(), 1)]));
}
