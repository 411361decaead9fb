//! Tests with whole runs of the built-in model: reproducible, resumable, and the same with any number of workers.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use candle_core::Device;
use grpo_2048::evaluation::held_out_boards;
use rustix::fs::{OFlags, fcntl_setfl};
use serde_json::Value;

use crate::program::ignores_hangups;
use crate::pty::Pty;
use crate::runs::{
    self, SETTLED, assert_same, copy, essence, lines, run, run_killed_after, same_with_workers, shared, steps, told,
    train, wait_for,
};

#[test]
fn i2_sequential_and_any_number_of_workers_train_byte_for_byte_alike() {
    same_with_workers(&[&["--steps", "2"], SETTLED].concat(), &[("8", "2")]);
}

#[test]
#[ignore = "more numbers of workers; `make proofs` runs it"]
fn other_numbers_of_workers_train_as_no_worker_does() {
    same_with_workers(&[&["--steps", "2"], SETTLED].concat(), &[("1", "2"), ("2", "1"), ("3", "2"), ("5", "3")]);
}

/// A finished run of four steps, which is only read.
static UNBROKEN: LazyLock<PathBuf> = LazyLock::new(|| {
    let dir = shared("it-unbroken");
    run(&dir, &["--steps", "4", "--save-steps", "1"]);
    dir
});

#[test]
fn i10_a_run_resumed_after_kill_9_equals_an_unbroken_one() {
    let root = tempfile::tempdir().unwrap();
    let killed = root.path().join("killed");
    // The first time it is killed before its first step has ended.
    run_killed_after(&killed, &["checkpoint-0", "checkpoint-2"], &["--steps", "4", "--save-steps", "1"]);
    assert_same(&UNBROKEN, &killed);
}

#[test]
fn a_run_at_its_end_says_so_and_one_that_goes_on_keeps_the_best_it_had() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    run(&dir, &[&["--steps", "2"], SETTLED].concat());
    let best = fs::read_to_string(dir.join("best.py")).unwrap();
    let hall = || -> Vec<Value> { serde_json::from_slice(&fs::read(dir.join("hall_of_fame.json")).unwrap()).unwrap() };
    assert_eq!(hall()[0]["source"].as_str().unwrap(), best);
    let before = essence(&dir);
    let resume = ["--resume", dir.to_str().unwrap(), "--steps"];
    let (code, said) = told(&dir, &[&resume[..], &["2"]].concat());
    assert!(code == Some(0) && said.contains("is at step 2 already"), "{said}");
    assert_eq!(before, essence(&dir));
    // Nor does a run that was stopped end where fewer steps are asked for than it has made.
    fs::remove_file(dir.join("ended")).unwrap();
    let recorded = || fs::read_to_string(dir.join("config.toml")).unwrap();
    let settings = recorded();
    let (code, said) = told(&dir, &[&resume[..], &["1"]].concat());
    assert!(code == Some(0) && said.contains("is at step 2 already; --steps N with a larger N goes on"), "{said}");
    assert!(!dir.join("ended").exists() && recorded() == settings);
    // A run that was stopped between its last step and its end has its evaluation and its best programs to come.
    fs::write(dir.join("hall_of_fame.json"), "[]").unwrap();
    run(&dir, &[&resume[..], &["2"], SETTLED].concat());
    assert_eq!(hall()[0]["source"].as_str().unwrap(), best);
    // The file has a program that the checkpoint does not have, which has held-out games and is better than those of
    // the next step.
    let mut known = hall();
    let source = include_str!("../../crates/environment/src/game2048/ladder/monotone.py");
    known[0]["source"] = source.into();
    known[0]["program"] = "0".repeat(64).into();
    fs::write(dir.join("hall_of_fame.json"), serde_json::to_vec(&known).unwrap()).unwrap();
    run(&dir, &[&resume[..], &["3"], SETTLED].concat());
    assert!(hall().iter().any(|member| member["source"] == source), "{:?}", hall());
}

#[test]
fn a_run_killed_when_it_had_just_written_a_checkpoint_names_it_and_keeps_as_many_as_ever() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    copy(&UNBROKEN, &dir);
    let kept = || -> BTreeSet<_> {
        let names = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("checkpoint-")).collect()
    };
    let before = kept();
    fs::remove_file(dir.join("ended")).unwrap();
    fs::write(dir.join("checkpoint-latest"), "checkpoint-3").unwrap();
    copy(&dir.join("checkpoint-2"), &dir.join("checkpoint-1"));
    run(&dir, &["--steps", "4", "--save-steps", "1", "--resume", dir.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(dir.join("checkpoint-latest")).unwrap(), "checkpoint-4");
    assert_eq!(kept(), before);
}

#[test]
fn an_evaluation_that_a_resumed_run_owes_is_made_once() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    run(&dir, &["--steps", "1", "--set", "train.eval_samples=0", "--set", "grpo.lr_scheduler_type=linear"]);
    for _ in 0..2 {
        // As if it had been killed before its end was recorded, at first without the evaluation of that end.
        fs::remove_file(dir.join("ended")).unwrap();
        run(&dir, &["--steps", "1", "--resume", dir.to_str().unwrap()]);
        let metrics = fs::read_to_string(dir.join("metrics.jsonl")).unwrap();
        assert_eq!(metrics.lines().filter(|line| line.contains("\"eval_samples\"")).count(), 1, "{metrics}");
    }
    // A run that goes on may evaluate at another temperature, at which there is hardly any choice here.
    let cooler = ["--steps", "2", "--set", "train.eval_temperature=0.001", "--resume", dir.to_str().unwrap()];
    let (code, said) = told(&dir, &cooler);
    // Its schedule falls towards the new last step.
    let stretched = "falls to zero at step 2 now, no longer at step 1: 1.20e-4 in step 1, 2.40e-4 in step 2";
    assert!(code == Some(0) && said.contains(stretched), "{said}");
    let records = lines(&dir.join("metrics.jsonl"));
    let entropy = |of: &str| records.iter().filter_map(|record| record[of].as_f64()).collect::<Vec<_>>();
    let (held_out, training) = (entropy("eval_entropy"), entropy("entropy"));
    assert!(held_out[0] > 0.01 && held_out[1] < 0.001 && training[1] > 0.01, "{held_out:?}, {training:?}");
    let temperatures: Vec<f64> = records.iter().filter_map(|record| record["eval_temperature"].as_f64()).collect();
    assert!(temperatures[0] > 0.1 && temperatures[1..] == [0.001], "each evaluation says its own: {temperatures:?}");
    // `eval` samples as the run's evaluations do, unless it is told otherwise.
    let evaluated = |path: &Path, more: &[&str]| {
        let few =
            ["--samples", "2", "--games", "1", "--report-games", "0", "--set", "sandbox.game_seconds=0.05", "--json"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
        let output =
            command.args(["eval".as_ref(), "--model".as_ref(), path.as_os_str()]).args(few).args(more).output();
        let told: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        told["models"][0]["entropy"].as_f64().unwrap()
    };
    let as_run = [evaluated(&dir, &[]), evaluated(&dir.join("checkpoint-2"), &[])];
    let warmer = evaluated(&dir, &["--temperature", "1"]);
    assert!(as_run[0] < 0.001 && as_run[1] == as_run[0] && warmer > 0.01, "{as_run:?}, {warmer}");
}

#[test]
fn several_updates_a_rollout_over_adapters_resume_to_the_last_bit() {
    let root = tempfile::tempdir().unwrap();
    let (unbroken, killed) = (root.path().join("unbroken"), root.path().join("killed"));
    let more = [
        &["--steps", "3", "--save-steps", "1", "--lora-r", "4"][..],
        &["--set", "grpo.num_iterations=2", "--set", "grpo.lr_scheduler_type=cosine"],
        &["--set", "grpo.warmup_steps=2", "--set", "grpo.gradient_checkpointing=on", "--set", "train.eval_samples=0"],
    ]
    .concat();
    run(&unbroken, &more);
    run_killed_after(&killed, &["checkpoint-1"], &more);
    assert_same(&unbroken, &killed);
}

#[test]
fn f16_with_dropout_resumes_to_the_last_bit_on_any_number_of_threads() {
    let root = tempfile::tempdir().unwrap();
    let (unbroken, resumed) = (root.path().join("unbroken"), root.path().join("resumed"));
    let more = |steps: &'static str| {
        [
            &["--steps", steps, "--save-steps", "1", "--lora-r", "4", "--set", "train.eval_samples=0"][..],
            &["--set", "model.precision=f16", "--set", "model.lora_dropout=0.2"],
            // Half precision is slow on processors.
            &["--set", "rollout.max_completion_length=40", "--set", "grpo.learn_from_best=1"],
        ]
        .concat()
    };
    run(&unbroken, &more("2"));
    run(&resumed, &more("1"));
    let again = [&more("2")[..], &["--resume", resumed.to_str().unwrap()]].concat();
    assert!(train(&resumed, &again).env("RAYON_NUM_THREADS", "1").status().unwrap().success());
    assert_same(&unbroken, &resumed);
    assert!(steps(&unbroken).iter().all(|step| step["grad_norm"].as_f64() > Some(0.0)), "every step has an update");
    let state = candle_core::safetensors::load(unbroken.join("checkpoint-2/optimizer.safetensors"), &Device::Cpu);
    let scale = state.unwrap()["loss_scale"].to_vec1::<f64>().unwrap()[0];
    assert!(scale >= 1024.0 && scale.log2().fract() == 0.0, "{scale}");
}

/// Loss, gradient norm and entropy of a run's first update.
fn first_update(run: &Path) -> [f64; 3] {
    let record = &steps(run)[0];
    ["loss", "grad_norm", "entropy"].map(|key| record[key].as_f64().unwrap())
}

#[test]
fn a_limit_on_memory_cuts_the_update_says_so_once_and_keeps_the_batch() {
    let root = tempfile::tempdir().unwrap();
    let (free, cut) = (root.path().join("free"), root.path().join("cut"));
    let words = |dir: &Path, limit: &str| told(dir, &["--steps", "1", "--set", limit]);
    let (code, said) = words(&free, "train.memory_mib=4000");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\nmemory: ") && !said.contains("cut to fit"), "{said}");
    let (code, said) = words(&cut, "train.memory_mib=355");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("\nmemory: cut to fit: ").count(), 1, "{said}");
    for (free, cut) in first_update(&free).into_iter().zip(first_update(&cut)) {
        assert!((free - cut).abs() < 1e-3 * free.abs() + 1e-5, "{free} became {cut}");
    }

    let refused = root.path().join("refused");
    let (code, said) = words(&refused, "train.memory_mib=64");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("error: train.memory_mib = 64: expected at least "), "{said}");
    assert!(!refused.exists(), "a refused run leaves nothing behind");
}

/// Another test interrupts a run by Ctrl-C (`steps_ahead`), and one terminates a run before its first step (`cli`).
#[cfg(unix)]
#[test]
fn what_schedulers_send_writes_a_checkpoint_and_exits_130() {
    let signal = if ignores_hangups() { "-TERM" } else { "-HUP" };
    expect_a_checkpoint_after(&[(signal, &[])]);
}

#[cfg(unix)]
#[test]
#[ignore = "more signals; `make proofs` runs it"]
fn other_numbers_of_workers_and_other_signals_write_a_checkpoint_and_exit_130() {
    expect_a_checkpoint_after(&[("-INT", &["--sequential"]), ("-TERM", &["--parallel-rewards", "3"])]);
}

/// Sends each of these signals to a run with these flags that has made a step.
#[cfg(unix)]
fn expect_a_checkpoint_after(signals: &[(&str, &[&str])]) {
    let root = tempfile::tempdir().unwrap();
    for &(signal, more) in signals {
        let dir = root.path().join(signal);
        let endless = ["--steps", "1000", "--save-steps", "1000", "--set", "train.eval_samples=0"];
        let mut child = train(&dir, &[&endless[..], more].concat()).spawn().unwrap();
        wait_for(&dir.join("completions/step_00001.jsonl"), &mut child);
        // Twice, as `timeout` sends it: to the program, and a moment later to its group.
        runs::signal(signal, child.id());
        std::thread::sleep(std::time::Duration::from_millis(10));
        runs::signal(signal, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        let newest = fs::read_to_string(dir.join("checkpoint-latest")).unwrap();
        assert_ne!(newest, "checkpoint-0", "{signal}");
        let launches = fs::read_to_string(dir.join("launches.jsonl")).unwrap();
        assert!(launches.ends_with("\"how\":\"interrupted\"}\n"), "{signal}: {launches}");
        for file in ["model.safetensors", "optimizer.safetensors", "trainer_state.json", "rng_state.json"] {
            assert!(dir.join(&newest).join(file).is_file(), "{signal}: {file}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_run_whose_terminal_is_closed_goes_on_to_its_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let mut terminal = Pty::new(80);
    fcntl_setfl(&terminal.reader, OFlags::NONBLOCK).unwrap();
    let mut command = train(&dir, &["--steps", "1000", "--set", "train.eval_samples=0"]);
    command.env("TERM", "xterm").stdout(Stdio::null()).stderr(terminal.opened());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = vec![0; 1 << 16];
    while !dir.join("completions/step_00001.jsonl").exists() {
        // A terminal that nobody reads would be full soon. There may be nothing to read yet.
        let _ = terminal.reader.read(&mut shown);
        assert!(child.try_wait().unwrap().is_none(), "the run ended before its first step did");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(terminal);
    wait_for(&dir.join("completions/step_00003.jsonl"), &mut child);
    runs::signal("-TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_ne!(fs::read_to_string(dir.join("checkpoint-latest")).unwrap(), "checkpoint-0");
}

#[test]
fn the_reward_check_says_its_line_and_leaves_the_run_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let (checked, unchecked) = (root.path().join("checked"), root.path().join("unchecked"));
    // The reference players need a larger budget than these runs have.
    let budget = ["--set", "train.game_seconds=0.2", "--set", "train.eval_samples=0"];
    let words = |dir: &Path, more: &[&str]| {
        let (code, said) = told(dir, &[&budget, more].concat());
        assert_eq!(code, Some(0), "{said}");
        said
    };
    let said = words(&checked, &["--steps", "1", "--set", "train.preflight=true"]);
    assert!(said.contains("\nreward check: 10 reference players in order, cycle 0.0"), "{said}");
    assert!(said.contains("warning: reward target: 2048 is reached in "), "{said}");
    assert!(words(&unchecked, &["--steps", "1"]).contains("reward check: skipped (train.preflight = false)"));
    assert_same(&checked, &unchecked);

    let resume = ["--set", "train.preflight=true", "--steps", "2", "--resume", checked.to_str().unwrap()];
    assert!(words(&checked, &resume).contains("reward check: 10 reference players in order"));
}

#[test]
fn a_run_whose_reward_cannot_reach_the_target_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let (code, message) = told(&dir, &["--set", "train.preflight=true", "--set", "train.game_seconds=0.03"]);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("error: train.game_seconds = 0.03: the reward check refuses to start"), "{message}");
    assert!(message.contains("hint: the default is 1.0; train.preflight=false"), "{message}");
    assert!(!dir.exists(), "a refused run leaves nothing behind");
}

#[test]
fn a_directory_of_another_configuration_is_refused_and_left_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    // If it were not refused, it would be written to.
    copy(&UNBROKEN, &dir);
    let before = essence(&dir);
    for more in [&["--temperature", "0.9"][..], &["--temperature", "0.9", "--resume", dir.to_str().unwrap()]] {
        let (code, message) = told(&dir, more);
        assert!(code == Some(2) && message.contains("rollout.temperature"), "{message}");
    }
    assert_eq!(before, essence(&dir));
}

/// The step and the seeds of the games of each line of the files in a directory.
fn seeds(dir: &Path) -> BTreeSet<(u64, String)> {
    let of = |line: &Value| {
        let step = line["step"].as_u64().unwrap();
        let games = line["games"].as_array().unwrap().clone();
        games.into_iter().map(move |game| (step, game["seed"].to_string())).collect::<Vec<_>>()
    };
    let files = fs::read_dir(dir).unwrap();
    files.flat_map(|file| lines(&file.unwrap().path())).flat_map(|line| of(&line)).collect()
}

#[test]
fn i4_completions_and_elites_play_the_boards_of_their_step_which_no_other_step_plays() {
    let dir: &Path = &UNBROKEN;
    let (elites, completions) = (seeds(&dir.join("elites")), seeds(&dir.join("completions")));
    assert!(elites.iter().any(|(step, _)| *step == 4), "{elites:?}");
    assert!(elites.is_subset(&completions), "{elites:?}\n{completions:?}");
    let boards: BTreeSet<&String> = completions.iter().map(|(_, seed)| seed).collect();
    assert!(completions.len() == 4 && boards.len() == 4, "one board a step, each of its own: {completions:?}");
    let held_out: BTreeSet<String> =
        held_out_boards().iter().map(|seed| serde_json::to_string(seed).unwrap()).collect();
    assert!(boards.iter().all(|seed| !held_out.contains(*seed)));
    let state: Value =
        serde_json::from_str(&fs::read_to_string(dir.join("checkpoint-4/trainer_state.json")).unwrap()).unwrap();
    let history = state["log_history"].as_array().unwrap();
    let imitated: Vec<u64> = history.iter().map(|record| record["elites/imitated"].as_u64().unwrap()).collect();
    assert!(imitated[0] == 0 && imitated[1..].iter().any(|count| *count > 0), "{imitated:?}");
    let tallies = state["elites"]["tallies"].as_object().unwrap();
    assert!(tallies.values().any(|tally| tally["games"].as_u64().unwrap() > 1), "{tallies:?}");
}

#[test]
fn a_control_says_so_and_learns_from_rewards_that_say_nothing() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let output = train(&dir, &["--steps", "2", "--set", "reward.shuffled=true"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("CONTROL: rewards are shuffled"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("CONTROL: rewards were shuffled"));
    for step in steps(&dir) {
        assert!(step["control/reward_correlation"].as_f64().unwrap() < 0.999);
        assert_eq!(step["elites/imitated"], 0);
    }
}

#[test]
fn a_run_that_can_no_longer_learn_exits_3_and_names_the_checkpoint_of_before() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let more = [
        &["--steps", "5", "--save-steps", "1", "--max-completion-length", "4"][..],
        &["--set", "guard.window=2", "--set", "guard.grace_steps=1"],
        &["--set", "guard.warn_clipped=0", "--set", "guard.stop_clipped=0.9"],
    ]
    .concat();
    let (code, message) = told(&dir, &more);
    assert_eq!(code, Some(3), "{message}");
    for words in ["100% of the completions truncated over steps 1-2", "checkpoint-0; it began at step 1", "hint: "] {
        assert!(message.contains(words), "{words} in {message}");
    }
    assert!(
        dir.join("checkpoint-0").is_dir() && dir.join("checkpoint-2").is_dir() && dir.join("elites.json").is_file()
    );
    run(&dir, &[&more[..], &["--resume", dir.to_str().unwrap(), "--set", "guard.stop=false"]].concat());
}

#[test]
fn boards_are_drawn_where_nobody_names_a_seed_and_the_recorded_configuration_repeats_them() {
    let dir = tempfile::tempdir().unwrap();
    let settings = "rollout.groups=1 rollout.num_generations=6 rollout.max_completion_length=160 arena.games=1 train.max_steps=1 \
                    train.eval_samples=0 sandbox.game_seconds=0.05 train.game_seconds=0.05 train.preflight=false \
                    train.settle=false";
    let train = |name: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
        command.current_dir(dir.path()).args(["train", "--output-dir", name]).args(more);
        command.args(settings.split_whitespace().flat_map(|setting| ["--set", setting]));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let config = fs::read_to_string(dir.path().join(name).join("config.toml")).unwrap();
        let config: toml::Table = config.parse().unwrap();
        let logged = fs::read_to_string(dir.path().join(name).join("completions/step_00001.jsonl")).unwrap();
        let logged = logged.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let boards: BTreeSet<String> =
            logged.filter_map(|line| Some(line["games"].get(0)?["seed"].to_string())).collect();
        assert_eq!(boards.len(), 1, "all play the same board");
        (config["train"]["board_salt"].as_str().unwrap().to_owned(), boards)
    };
    let (salt, first) = train("first", &[]);
    let (other, second) = train("second", &[]);
    assert!(salt.len() == 32 && salt != other && first != second, "{salt} {other}");
    assert_eq!(train("third", &["--config", "first/config.toml"]), (salt, first));
    assert_eq!(train("fourth", &["--seed", "0"]).0, "");
}

#[test]
fn tasks_that_are_all_held_out_are_none_to_train_on() {
    let root = tempfile::tempdir().unwrap();
    let [tasks, dir] = ["tasks.jsonl", "run"].map(|name| root.path().join(name));
    let task = r#"{"id":"up","prompt":"p","entry_point":"strategy","split":"held_out","tests":[{"args":"([],)","expected":"'W'"}]}"#;
    fs::write(&tasks, task).unwrap();
    let (code, said) = told(&dir, &["--env", tasks.to_str().unwrap()]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("every task is held out, expected some to train on") && !dir.exists(), "{said}");
    assert_eq!(code, Some(2), "{said}");
}
