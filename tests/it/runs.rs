//! Small runs of the program, what they have recorded, and the comparison of their files.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use walkdir::WalkDir;

/// Settings of a run that is small enough for a test and large enough to use every part of the program: with elites and the
/// reference, so that all state is used from the second step on, and with some of a group that have no part in the update.
/// Held-out games at the end are up to 136, where the whole run has 42; the tests that are about them turn them on.
const SMALL: &str = "--groups 2 --num-generations 4 --seed 7 --set arena.games=1 \
                     --set rollout.max_completion_length=96 --set train.eval_samples=4 --set train.eval_games=1 \
                     --set sandbox.game_seconds=0.2 --set train.game_seconds=0.2 --set train.preflight=false \
                     --set train.settle=false --set grpo.elite_from_step=2 --set grpo.elite_min_games=1 \
                     --set grpo.learn_from_best=2 --set grpo.learn_from_worst=1 --set grpo.beta=0.01";

/// The words of [`SMALL`].
pub fn small() -> impl Iterator<Item = &'static str> {
    SMALL.split_whitespace()
}

/// Turns on what [`small`] turns off: held-out games at the end choose the best programs.
pub const SETTLED: &[&str] = &["--set", "train.settle=true"];

/// The command of a small run in `dir`, with more arguments.
pub fn train(dir: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    command.arg("train").args(["--output-dir".as_ref(), dir.as_os_str()]).args(small()).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Trains a small run. Returns its exit code and its messages.
pub fn told(dir: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = train(dir, more).stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Trains a small run to its end.
pub fn run(dir: &Path, more: &[&str]) {
    let (code, said) = told(dir, more);
    assert_eq!(code, Some(0), "{said}");
}

/// The folder of this process for runs that several tests read, held by a lock until the process ends.
static SHARED: LazyLock<(File, PathBuf)> = LazyLock::new(|| free_folder(Path::new(env!("CARGO_TARGET_TMPDIR"))));

/// A place for a run that several tests read.
pub fn shared(name: &str) -> PathBuf {
    SHARED.1.join(name)
}

/// Locks the first folder in `root` that no other process of tests holds, and removes what an earlier one has left there.
fn free_folder(root: &Path) -> (File, PathBuf) {
    let free = |number: usize| {
        let dir = root.join(format!("it-{number}"));
        let lock = File::create(dir.with_extension("lock")).unwrap();
        match lock.try_lock() {
            Ok(()) => Some((lock, dir)),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(error)) => panic!("{}: {error}", dir.display()),
        }
    };
    fs::create_dir_all(root).unwrap();
    let (lock, dir) = (0..).find_map(free).unwrap();
    if dir.exists() {
        fs::remove_dir_all(&dir).unwrap();
    }
    fs::create_dir(&dir).unwrap();
    (lock, dir)
}

#[test]
fn tests_in_two_processes_at_a_time_share_no_runs_and_no_run_is_left_from_before() {
    let root = tempfile::tempdir().unwrap();
    let (first, second) = (free_folder(root.path()), free_folder(root.path()));
    assert_ne!(first.1, second.1);
    for (_, dir) in [&first, &second] {
        fs::write(dir.join("run"), "").unwrap();
    }
    drop(first);
    let (_third, dir) = free_folder(root.path());
    assert!(dir != second.1 && fs::read_dir(&dir).unwrap().next().is_none() && second.1.join("run").exists());
}

/// Copies a directory, for a test that changes it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// Trains small runs without workers and with each of these numbers of workers and of threads, and expects the same files.
pub fn same_with_workers(more: &[&str], numbers: &[(&str, &str)]) {
    let root = tempfile::tempdir().unwrap();
    let sequential = root.path().join("sequential");
    run(&sequential, &[more, &["--sequential"]].concat());
    for &(workers, threads) in numbers {
        let pooled = root.path().join(workers);
        let more = [more, &["--parallel-rewards", workers]].concat();
        assert!(train(&pooled, &more).env("RAYON_NUM_THREADS", threads).status().unwrap().success());
        assert_same(&sequential, &pooled);
    }
}

/// Trains a small run that is killed with signal 9 as soon as it has written each of these, and resumed.
pub fn run_killed_after(dir: &Path, written: &[&str], more: &[&str]) {
    let resumed = [more, &["--resume", dir.to_str().unwrap()]].concat();
    let mut arguments = more;
    for there in written {
        let mut child = train(dir, arguments).spawn().unwrap();
        wait_for(&dir.join(there), &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        arguments = &resumed[..];
    }
    run(dir, arguments);
}

/// The files of a run that must be reproducible, without the values of clocks.
pub fn essence(run: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for path in WalkDir::new(run).into_iter().map(|entry| entry.unwrap().into_path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = if name.ends_with(".safetensors") || name == "hall_of_fame.json" {
            fs::read(&path).unwrap()
        } else if name.ends_with(".jsonl") && name != "launches.jsonl" {
            lines(&path).into_iter().map(without_clocks).collect::<Vec<_>>().join("\n").into_bytes()
        } else {
            continue;
        };
        files.insert(path.strip_prefix(run).unwrap().to_owned(), bytes);
    }
    files
}

fn without_clocks(mut record: Value) -> String {
    let clocks = ["step_time", "eval_runtime", "generate/tokens_per_s", "sandbox/p50_ms", "sandbox/p99_ms"];
    record.as_object_mut().unwrap().retain(|key, _| !key.starts_with("time/") && !clocks.contains(&key.as_str()));
    record.to_string()
}

/// Asserts that the reproducible files of two runs are equal.
pub fn assert_same(left: &Path, right: &Path) {
    let (left, right) = (essence(left), essence(right));
    assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
    for (path, bytes) in &left {
        let other = &right[path];
        let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
        let differing = || lines(bytes).into_iter().zip(lines(other)).find(|(left, right)| left != right);
        assert!(bytes == other, "{} differs, first in {:?}", path.display(), differing());
    }
}

/// The lines of a file of JSON.
pub fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The records of the steps of a run.
pub fn steps(run: &Path) -> Vec<Value> {
    lines(&run.join("metrics.jsonl")).into_iter().filter(|record| record.get("reward").is_some()).collect()
}

/// Sends a signal to a process.
pub fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

/// Waits until a run has written `path`.
pub fn wait_for(path: &Path, child: &mut Child) {
    let start = Instant::now();
    while !path.exists() {
        assert!(child.try_wait().unwrap().is_none(), "ended before {} appeared", path.display());
        assert!(start.elapsed() < Duration::from_secs(300), "{} never appeared", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}
