//! Tests that processes that train together by MPI compute the same as one process, bit for bit.
//!
//! The tests run with every installed implementation of MPI. Without one they print that they were skipped, or fail if
//! `GRPO_2048_REQUIRE_MPI` is set.

use std::fs;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::runs::{SETTLED, copy, essence, run, signal, small, steps, wait_for};
use crate::served::{Served, honest};

/// A time limit that no correct run exceeds, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);
/// Time limit from the death of a process to the end of all.
const END_OF_ALL: Duration = Duration::from_secs(30);
/// Keys of metrics that depend on the machine.
const OF_THE_MACHINE: &[&str] = &["sandbox/", "programs/cache_hits", "parallel/"];

/// A launcher: the program, and the arguments that it needs to start several processes on any machine.
struct Launcher(&'static str, &'static [&'static str]);

/// Names of launchers. The last one is an alias of one of the others on Debian.
const PROGRAMS: &[&str] = &["mpirun.openmpi", "mpirun.mpich", "mpirun"];

/// The installed launchers.
#[track_caller]
fn launchers() -> Vec<Launcher> {
    let mut found = Vec::<Launcher>::new();
    for &program in PROGRAMS {
        let Ok(output) = Command::new(program).arg("--version").output() else { continue };
        let is_open_mpi = String::from_utf8_lossy(&output.stdout).contains("Open");
        if program != "mpirun" || found.is_empty() {
            found.push(Launcher(program, if is_open_mpi { &["--allow-run-as-root", "--oversubscribe"] } else { &[] }));
        }
    }
    if found.is_empty() {
        assert!(std::env::var_os("GRPO_2048_REQUIRE_MPI").is_none(), "no MPI is installed");
        println!("skipped: {}: no MPI is installed", Location::caller());
    }
    found
}

impl Launcher {
    /// The launcher, whose output is read.
    fn command(&self) -> Command {
        let mut command = Command::new(self.0);
        command.args(self.1).env("RAYON_NUM_THREADS", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A command that starts several groups of processes, each with its number of processes and arguments of `train`.
    fn starts(&self, starts: &[(usize, &[&str])]) -> Command {
        let mut command = self.command();
        for (place, (count, arguments)) in starts.iter().enumerate() {
            if place > 0 {
                command.arg(":");
            }
            command.args(["-n", &count.to_string(), env!("CARGO_BIN_EXE_grpo-2048"), "train"]);
            command.args(["--parallel-rewards", "1"]).args(small()).args(*arguments);
        }
        command
    }

    /// A command that starts a process on each of these machines, which are directories, with arguments of `train`.
    fn on_machines(&self, machines: &[PathBuf], more: &[&str]) -> Command {
        let mut command = self.command();
        for (place, machine) in machines.iter().enumerate() {
            if place > 0 {
                command.arg(":");
            }
            command.args(["-n", "1", "sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(machine);
            command.args([env!("CARGO_BIN_EXE_grpo-2048"), "train", "--output-dir", "run", "--parallel-rewards", "1"]);
            command.args(small()).args(more);
        }
        command
    }

    fn train(&self, count: usize, dir: &Path, more: &[&str]) -> Command {
        self.starts(&[(count, &[&["--output-dir", dir.to_str().unwrap()], more].concat())])
    }

    fn run(&self, count: usize, dir: &Path, more: &[&str]) {
        let output = self.train(count, dir, more).output().unwrap();
        assert!(output.status.success(), "{} -n {count}: {}", self.0, told(&output));
    }
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn ended(mut child: Child, within: Duration) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > within {
            child.kill().unwrap();
            panic!("did not end within {within:?}: {}", told(&child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// Asserts that files and metrics of two runs are equal, except metrics that depend on the machine.
fn assert_alike(alone: &Path, together: &Path) {
    let (left, right) = (essence(alone), essence(together));
    assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
    for (path, bytes) in &left {
        let [left, right] = [bytes, &right[path]].map(|bytes| match path.ends_with("metrics.jsonl") {
            true => without_machine(bytes),
            false => bytes.clone(),
        });
        assert!(left == right, "{} differs", path.display());
    }
}

fn without_machine(lines: &[u8]) -> Vec<u8> {
    let line = |line: &str| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().retain(|key, _| !OF_THE_MACHINE.iter().any(|part| key.starts_with(part)));
        record.to_string() + "\n"
    };
    String::from_utf8_lossy(lines).lines().map(line).collect::<String>().into_bytes()
}

/// Process ids of the program on this machine whose command line contains `text`, without launchers.
fn processes_with(text: &str) -> Vec<u32> {
    let ours = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.starts_with(env!("CARGO_BIN_EXE_grpo-2048")) && line.contains(text)
    };
    let names = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.filter(ours).collect()
}

/// The rank of a process, from the environment variables of its launcher.
fn rank_of(pid: u32) -> Option<usize> {
    let variables = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let variables = String::from_utf8_lossy(&variables).into_owned();
    let rank = |variable: &str| {
        let (name, value) = variable.split_once('=')?;
        ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].contains(&name).then(|| value.parse().ok())?
    };
    variables.split('\0').find_map(rank)
}

const SHORT: &[&str] = &["--save-steps", "1", "--set", "train.save_total_limit=9"];
/// For tests that look at no evaluation. Those that compare whole runs have shown that processes divide them.
const UNEVALUATED: &[&str] = &["--set", "train.eval_samples=0"];
const AHEAD: &[&str] = &["--steps-ahead", "1", "--set", "grpo.top_entropy_quantile=0.5"];
const ADAPTERS: &[&str] = &["--lora-r", "4", "--set", "model.lora_dropout=0.1"];

/// Two processes have equal parts and three unequal ones: each kind of run is divided in one way by day, in both by night.
#[test]
fn one_two_and_three_processes_train_byte_for_byte_alike_in_full_and_with_adapters() {
    expect_alike_in_full_and_with_adapters(&[("full", AHEAD, &[3]), ("adapters", ADAPTERS, &[2])]);
}

#[test]
#[ignore = "more numbers of processes; `make proofs` runs it"]
fn other_numbers_of_processes_train_as_one_does() {
    let settled = [AHEAD, SETTLED].concat();
    expect_alike_in_full_and_with_adapters(&[("full", &settled, &[2, 3]), ("adapters", ADAPTERS, &[2, 3])]);
    expect_turns_of_one(&[], &[2, 3]);
}

/// Trains each kind of run with one process and with each of these numbers of them, and expects the same files.
fn expect_alike_in_full_and_with_adapters(kinds: &[(&str, &[&str], &[usize])]) {
    let root = tempfile::tempdir().unwrap();
    let launchers = launchers();
    for &(kind, more, counts) in kinds {
        let more = [SHORT, more, &["--steps", "3", "--set", "grpo.micro_batch=2"]].concat();
        let alone = root.path().join(kind);
        if !launchers.is_empty() {
            run(&alone, &more);
        }
        for launcher in &launchers {
            for &count in counts {
                let together = root.path().join(format!("{kind}-{}-{count}", launcher.0));
                launcher.run(count, &together, &more);
                assert_alike(&alone, &together);
                assert!(together.join("rank-1.log").is_file());
            }
        }
    }
}

#[test]
fn processes_take_turns_as_one_does() {
    expect_turns_of_one(UNEVALUATED, &[3]);
}

/// Trains over two turns with one process and with each of these numbers of them, and expects the same files.
fn expect_turns_of_one(more: &[&str], counts: &[usize]) {
    let root = tempfile::tempdir().unwrap();
    let alone = root.path().join("alone");
    // The second turn is divided among the processes anew.
    let turns = ["--turns", "2", "--set", "reward.turns=discounted", "--set", "rollout.draw=pools"];
    let room = ["--steps", "2", "--set", "rollout.max_completion_length=490"];
    let more = [SHORT, &turns, &room, more].concat();
    for (number, launcher) in launchers().iter().enumerate() {
        if number == 0 {
            run(&alone, &more);
        }
        let completions = fs::read_to_string(alone.join("completions/step_00002.jsonl")).unwrap();
        assert!(completions.contains("Write the whole program again"), "some went on: {completions}");
        for &count in counts {
            let together = root.path().join(format!("{}-{count}", launcher.0));
            launcher.run(count, &together, &more);
            assert_alike(&alone, &together);
        }
    }
}

/// All trained weights of a checkpoint, one variable after the other.
fn weights(run: &Path, step: usize) -> Vec<f32> {
    let file = run.join(format!("checkpoint-{step}/model.safetensors"));
    let tensors = candle_core::safetensors::load(file, &candle_core::Device::Cpu).unwrap();
    let tensors: std::collections::BTreeMap<_, _> = tensors.into_iter().collect();
    tensors.values().flat_map(|tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap()).collect()
}

/// The Euclidean distance between the weights of two runs.
fn distance(left: &[f32], right: &[f32]) -> f64 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(left, right)| f64::from(left - right).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn a_fast_sum_is_exact_for_one_process_and_near_that_for_several() {
    let root = tempfile::tempdir().unwrap();
    let launchers = launchers();
    let exact = [SHORT, UNEVALUATED, &["--steps", "2", "--set", "grpo.micro_batch=2"]].concat();
    let fast = [&exact[..], &["--set", "parallel.reduce=fast"]].concat();
    let [alone, alone_fast] = ["alone", "alone-fast"].map(|name| root.path().join(name));
    if launchers.is_empty() {
        return;
    }
    run(&alone, &exact);
    run(&alone_fast, &fast);
    assert!(weights(&alone, 2) == weights(&alone_fast, 2), "one process adds in order anyway");
    for launcher in &launchers {
        let together = root.path().join(launcher.0);
        let trace = root.path().join(format!("{}.json", launcher.0));
        // Two steps, because different weights after the first step would show in the results of the second.
        let traced = [&fast[..], &["--trace", trace.to_str().unwrap()]].concat();
        let output = launcher.train(2, &together, &traced).output().unwrap();
        assert!(output.status.success(), "{}: {}", launcher.0, told(&output));
        assert!(told(&output).contains("parallel.reduce = \"fast\": the last bits"), "{}", told(&output));
        let log = fs::read_to_string(together.join("rank-1.log")).unwrap();
        assert!(trace.is_file() && !log.contains("--trace"), "the first process has written it: {log}");
        let (moved, apart) =
            (distance(&weights(&alone, 1), &weights(&alone, 2)), distance(&weights(&alone, 1), &weights(&together, 1)));
        assert!(apart < 0.05 * moved, "{}: {apart} apart, a step moves {moved}", launcher.0);
        for key in ["loss", "grad_norm"] {
            let [one, two] = [&alone, &together].map(|run| steps(run)[0][key].as_f64().unwrap());
            assert!((one - two).abs() <= 1e-5 * one.abs(), "{}: {key} {one} and {two}", launcher.0);
        }
    }
}

#[test]
fn processes_ask_the_servers_for_their_own_completions_and_one_brings_the_adapters() {
    let root = tempfile::tempdir().unwrap();
    for launcher in &launchers() {
        let served = [Served::start(honest), Served::start(honest)];
        let urls = format!("{},{}", served[0].url, served[1].url);
        let more = [ADAPTERS, UNEVALUATED, &["--steps", "2", "--save-steps", "1", "--rollouts", &urls]].concat();
        let [alone, together] = ["alone", "together"].map(|name| root.path().join(format!("{name}-{}", launcher.0)));
        run(&alone, &more);
        launcher.run(3, &together, &more);
        assert_alike(&alone, &together);
        for served in &served {
            // The first run loads two adapters; the second run uses the last of them, which the server still has.
            let loaded = served.loaded();
            assert!(loaded.len() == 3 && loaded[0] == loaded[2], "{loaded:?}");
        }
    }
}

/// A step of two processes with an emulated GPU each (scripts/gpu-emulated.sh); `None` where there are none, or no MPI.
#[cfg(feature = "cuda")]
#[track_caller]
fn on_two_gpus(dir: &Path, more: &[&str]) -> Option<Command> {
    if !std::env::var("GRPO_2048_CUDA_LIBS").is_ok_and(|folder| folder.ends_with("gpu-emulator")) {
        println!("skipped: {}: no GPUs in software", Location::caller());
        return None;
    }
    let small = ["--device", "cuda", "--steps", "1", "--set", "train.eval_samples=0"];
    let short = ["--set", "grpo.micro_batch=1", "--set", "rollout.max_completion_length=24"];
    let launcher = launchers().into_iter().next()?;
    Some(launcher.train(2, dir, &[&small[..], &short, more].concat()))
}

#[cfg(feature = "cuda")]
#[test]
fn gradients_that_cross_by_nccl_are_those_that_cross_through_the_host() {
    let root = tempfile::tempdir().unwrap();
    let trained = |name: &str, reduce: &str, variable: (&str, &str)| {
        let (dir, reduce) = (root.path().join(name), format!("parallel.reduce={reduce}"));
        let output = on_two_gpus(&dir, &["--set", &reduce])?.env(variable.0, variable.1).output().unwrap();
        assert!(output.status.success(), "{name}: {}", told(&output));
        Some((weights(&dir, 1), told(&output)))
    };
    let Some((by_nccl, words)) = trained("nccl", "exact", ("GPU_CHECK", "1")) else { return };
    assert!(words.contains("gradients cross from GPU to GPU by NCCL"), "{words}");
    // Both processes have the same GPU.
    let (through_host, words) = trained("host", "exact", ("GPU_EMULATOR_UUID", "7")).unwrap();
    assert!(words.contains("gradients cross through the host, not by NCCL: ranks 0 and 1 share a GPU"), "{words}");
    assert!(by_nccl == through_host, "the same bits");
    let (fast, _) = trained("fast", "fast", ("GPU_CHECK", "1")).unwrap();
    assert!(fast.iter().zip(&by_nccl).all(|(fast, exact)| (fast - exact).abs() < 1e-2), "another order at most");
}

/// As the test before, where an exchange comes to no end.
#[cfg(feature = "cuda")]
#[test]
fn processes_that_wait_for_one_that_hangs_in_nccl_end_within_a_minute() {
    let root = tempfile::tempdir().unwrap();
    let Some(mut command) = on_two_gpus(&root.path().join("run"), &[]) else { return };
    let output = ended(command.env("GPU_EMULATOR_NCCL_HANGS", "1").spawn().unwrap(), PATIENCE);
    assert!(!output.status.success());
    let told = told(&output);
    assert!(told.contains("NCCL: nothing has come for 50 s: another process hangs"), "{told}");
}

/// Trains in `dir`, or resumes the run that is there. The learning rate depends on the number of steps, so all runs
/// have the same.
fn up_to<'a>(steps: &'a str, dir: &'a Path) -> Vec<&'a str> {
    let resume: &[&str] = if dir.exists() { &["--resume", dir.to_str().unwrap()] } else { &[] };
    [SHORT, UNEVALUATED, &["--steps-ahead", "1", "--steps", steps], resume].concat()
}

#[test]
fn a_run_goes_on_with_another_number_of_processes_as_it_does_with_one() {
    let root = tempfile::tempdir().unwrap();
    let launchers = launchers();
    let alone = root.path().join("alone");
    if !launchers.is_empty() {
        run(&alone, &up_to("1", &alone));
        run(&alone, &up_to("2", &alone));
        run(&alone, &up_to("3", &alone));
    }
    for launcher in &launchers {
        let resumed = root.path().join(launcher.0);
        launcher.run(3, &resumed, &up_to("1", &resumed));
        launcher.run(2, &resumed, &up_to("2", &resumed));
        run(&resumed, &up_to("3", &resumed));
        for name in
            ["checkpoint-3/model.safetensors", "checkpoint-3/optimizer.safetensors", "completions/step_00003.jsonl"]
        {
            let [left, right] = [&alone, &resumed].map(|run| fs::read(run.join(name)).unwrap());
            assert!(left == right, "{}: {name} differs", launcher.0);
        }
    }
}

#[test]
fn another_run_that_stands_in_the_place_of_this_one_on_another_machine_changes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let alone = root.path().join("alone");
    // The second step has elites, and the end settles them.
    let more = [SHORT, SETTLED, &["--steps", "2"]].concat();
    let settled = |source: &str| {
        let digest = source.len().to_string();
        serde_json::json!({"program": digest, "source": source, "step": 1, "style": "", "mean_score": 9.0,
            "held_out_mean_score": 9.0, "held_out_games": 8})
    };
    let programs = [
        include_str!("../../crates/environment/src/game2048/ladder/greedy.py"),
        include_str!("../../crates/environment/src/game2048/ladder/monotone.py"),
    ];
    let programs = serde_json::to_vec(&programs.map(settled)).unwrap();
    for (number, launcher) in launchers().iter().enumerate() {
        if number == 0 {
            run(&alone, &more);
        }
        let machines = ["first", "second"].map(|name| root.path().join(format!("{name}-{}", launcher.0)));
        fs::create_dir(&machines[0]).unwrap();
        fs::create_dir_all(machines[1].join("run")).unwrap();
        fs::write(machines[1].join("run/hall_of_fame.json"), &programs).unwrap();
        let output = ended(launcher.on_machines(&machines, &more).spawn().unwrap(), PATIENCE);
        assert!(output.status.success(), "{}: {}", launcher.0, told(&output));
        assert_alike(&alone, &machines[0].join("run"));
    }
}

#[test]
fn an_older_copy_of_a_run_on_another_machine_is_not_asked_how_far_it_is() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    let more = [SHORT, UNEVALUATED, &["--steps", "2"]].concat();
    for (number, launcher) in launchers().iter().enumerate() {
        if number == 0 {
            run(&whole, &more);
        }
        let machines = ["first", "second"].map(|name| root.path().join(format!("{name}-{}", launcher.0)));
        machines.iter().for_each(|machine| copy(&whole, &machine.join("run")));
        fs::remove_dir_all(machines[1].join("run/checkpoint-2")).unwrap();
        let resumed = [&more[..], &["--resume", "run"]].concat();
        let output = ended(launcher.on_machines(&machines, &resumed).spawn().unwrap(), PATIENCE);
        let words = told(&output);
        assert!(output.status.success() && words.contains("run is at step 2 already"), "{}: {words}", launcher.0);
    }
}

#[test]
fn a_killed_process_ends_all_of_them_and_leaves_a_whole_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    for launcher in launchers() {
        // The second launcher does not end the other processes, so that they have to detect it themselves.
        let is_mpich = launcher.1.is_empty();
        let lets_live: &[&str] = if is_mpich { &["", "-disable-auto-cleanup"] } else { &[""] };
        for option in lets_live {
            let dir = root.path().join(format!("{}{option}", launcher.0));
            // MPICH's launcher may end the first process before it says what has happened; Open MPI's gives it a second.
            let says_so = !is_mpich || !option.is_empty();
            let quiet: &[&str] = if says_so { &["--quiet"] } else { &[] };
            let more = [quiet, &["--steps", "1000", "--save-steps", "1", "--set", "train.eval_samples=0"]].concat();
            let options = if option.is_empty() { launcher.1 } else { &["-disable-auto-cleanup"] };
            let mut child = Launcher(launcher.0, options).train(3, &dir, &more).spawn().unwrap();
            wait_for(&dir.join("checkpoint-1"), &mut child);
            let processes = processes_with(dir.to_str().unwrap());
            let victim = processes.iter().copied().find(|pid| rank_of(*pid) == Some(2)).unwrap();
            let begin = Instant::now();
            signal("-9", victim);
            let output = ended(child, END_OF_ALL);
            assert!(!output.status.success());
            while !processes_with(dir.to_str().unwrap()).is_empty() {
                assert!(begin.elapsed() < END_OF_ALL, "{option}: processes are left");
                std::thread::sleep(Duration::from_millis(20));
            }
            println!("{} {option}: all ended {:.2} s after kill -9", launcher.0, begin.elapsed().as_secs_f64());
            let words = told(&output);
            let by_launcher = !says_so && words.contains("KILLED BY SIGNAL: 9");
            assert!(by_launcher || words.contains("rank 2 of 3 is gone (process"), "{words}");
            assert!(by_launcher || words.contains("the run ends, its newest checkpoint is whole"), "{words}");
            let newest = fs::read_to_string(dir.join("checkpoint-latest")).unwrap();
            let (steps, resume) = (newest.strip_prefix("checkpoint-").unwrap(), dir.to_str().unwrap());
            let next = (steps.parse::<usize>().unwrap() + 1).to_string();
            run(&dir, &["--steps", &next, "--set", "train.eval_samples=0", "--resume", resume]);
        }
    }
}

#[test]
fn processes_that_are_not_alike_do_not_start_together() {
    let root = tempfile::tempdir().unwrap();
    for launcher in launchers() {
        let dir = root.path().join(launcher.0);
        let of_all = ["--output-dir", dir.to_str().unwrap()];
        let other = [&of_all[..], &["--learning-rate", "0.5"]].concat();
        let child = launcher.starts(&[(1, &of_all), (1, &other)]).spawn().unwrap();
        let output = ended(child, PATIENCE);
        let words = told(&output);
        assert!(
            !output.status.success() && words.contains("rank 1 differs from rank 0: grpo.learning_rate"),
            "{words}"
        );
        assert!(!dir.exists(), "nothing was begun");
    }
}

#[test]
fn processes_of_which_one_draws_boards_are_told_how_they_differ() {
    let root = tempfile::tempdir().unwrap();
    for launcher in launchers() {
        let dir = root.path().join(launcher.0);
        let drawing = ["-n", "1", env!("CARGO_BIN_EXE_grpo-2048"), "train", "--output-dir", dir.to_str().unwrap()];
        let mut command = launcher.command();
        command.args(drawing).arg(":").args(drawing).args(["--seed", "5"]);
        let output = ended(command.spawn().unwrap(), PATIENCE);
        let words = told(&output);
        assert!(!output.status.success() && words.contains("rank 1 differs from rank 0: "), "{words}");
        assert!(words.contains("train.seed: 0 -> 5") && !dir.exists(), "{words}");
    }
}

#[test]
fn a_mistake_of_all_processes_is_told_by_the_first_one() {
    let root = tempfile::tempdir().unwrap();
    for launcher in launchers() {
        let dir = root.path().join(launcher.0);
        let child = launcher.train(3, &dir, &["--env", "missing.jsonl"]).spawn().unwrap();
        let output = ended(child, PATIENCE);
        let words = told(&output);
        assert!(output.status.code() == Some(2) && !dir.exists(), "{}: {words}", launcher.0);
        assert_eq!(words.matches("error: --env missing.jsonl: ").count(), 1, "{}: {words}", launcher.0);
        assert!(words.contains("rank 0 of 3:"), "{}: {words}", launcher.0);
    }
}

#[test]
fn a_library_that_does_not_belong_to_the_launcher_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for launcher in launchers() {
        let dir = root.path().join(launcher.0);
        let mut command = launcher.train(2, &dir, &[]);
        let output = ended(command.env("GRPO_2048_MPI", "/nowhere/libmpi.so").spawn().unwrap(), PATIENCE);
        let words = told(&output);
        assert!(!output.status.success() && words.contains("started 2 processes, and no library of MPI"), "{words}");
        assert!(words.contains("/nowhere/libmpi.so") && !dir.exists(), "{words}");
    }
}

#[test]
fn a_process_that_is_asked_to_stop_stops_all_after_the_same_step() {
    let root = tempfile::tempdir().unwrap();
    for launcher in launchers() {
        let dir = root.path().join(launcher.0);
        let endless = [UNEVALUATED, &["--steps", "1000", "--save-steps", "1000"]].concat();
        let mut child = launcher.train(2, &dir, &endless).spawn().unwrap();
        wait_for(&dir.join("completions/step_00001.jsonl"), &mut child);
        let processes = processes_with(dir.to_str().unwrap());
        let other = processes.iter().copied().find(|pid| rank_of(*pid) == Some(1)).unwrap();
        signal("-TERM", other);
        let output = ended(child, PATIENCE);
        let newest = fs::read_to_string(dir.join("checkpoint-latest")).unwrap();
        assert!(newest != "checkpoint-0" && dir.join(&newest).is_dir(), "{newest}: {}", told(&output));
        let steps = fs::read_dir(dir.join("completions")).unwrap().count();
        assert_eq!(newest, format!("checkpoint-{steps}"), "the last step is in it");
    }
}

#[test]
fn a_process_that_is_asked_to_stop_before_the_first_step_stops_all_of_them() {
    let root = tempfile::tempdir().unwrap();
    for launcher in launchers() {
        let (dir, said) = (root.path().join(launcher.0), root.path().join(format!("{}.said", launcher.0)));
        // The reward check takes the first process some seconds, in which the other one has nothing to do.
        let check =
            ["--set", "train.preflight=true", "--set", "train.game_seconds=1", "--set", "sandbox.game_seconds=1"];
        let mut command = launcher.train(2, &dir, &check);
        let mut child = command.stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
        let words = || fs::read_to_string(&said).unwrap();
        let begin = Instant::now();
        while !words().contains("checking the reward") {
            assert!(child.try_wait().unwrap().is_none() && begin.elapsed() < PATIENCE, "{}", words());
            std::thread::sleep(Duration::from_millis(5));
        }
        let processes = processes_with(dir.to_str().unwrap());
        let first = processes.iter().copied().find(|pid| rank_of(*pid) == Some(0)).unwrap();
        signal("-TERM", first);
        let output = ended(child, END_OF_ALL);
        assert_eq!(output.status.code(), Some(130), "{}: {}", launcher.0, words());
        assert!(words().contains("interrupted before the first step: nothing has been written"), "{}", words());
        assert!(!words().contains("is gone") && !dir.exists(), "{}", words());
    }
}

#[test]
fn a_dry_run_is_made_by_the_first_process_and_the_others_wait_for_it() {
    let root = tempfile::tempdir().unwrap();
    for launcher in launchers() {
        let dir = root.path().join(launcher.0);
        let output = ended(launcher.train(2, &dir, &["--dry-run"]).spawn().unwrap(), PATIENCE);
        let words = told(&output);
        assert!(output.status.success() && !dir.exists(), "{}: {words}", launcher.0);
        assert_eq!(words.matches("# the run could start").count(), 1, "{words}");
    }
}
