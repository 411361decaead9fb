//! Tests that the program ends with a message if the system refuses memory, and does not hang or report a bug.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Time limit of a run without memory. It needs a few seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that allocates eight more megabytes with every move.
const HOG: &str = "import json\nkeep = []\ndef strategy(board):\n    keep.append(bytearray(8 << 20))\n    \
                   return 'WASD'[len(keep) % 4]\n";

/// Programs of a run: twice as many as are played at once.
const HOGS: usize = 8;

/// Scores programs that use all of their memory, with a limit of `ulimit`.
fn score_under(limit: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<String> = (0..HOGS).map(|number| format!("hog{number}.py")).collect();
    for file in &files {
        fs::write(dir.path().join(file), format!("# {file}\n{HOG}")).unwrap();
    }
    let shell = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &shell, env!("CARGO_BIN_EXE_grpo-2048"), "score", "--games", "2", "--seed", "0"]);
    command.args(["--parallel-rewards", "4", "--tier", "interpreter"]).args(&files).current_dir(dir.path());
    command.env("RUST_BACKTRACE", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("ulimit {limit}: still running after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn memory_that_the_system_refuses_ends_the_program_and_is_told() {
    let unlimited = score_under("-d unlimited");
    let verdicts = String::from_utf8_lossy(&unlimited.stdout);
    assert!(unlimited.status.success() && verdicts.matches("out_of_memory 2").count() == HOGS, "{verdicts}");
    // The limits go from too little for the sandbox to enough for everything except these programs. How many of them hold all
    // of their memory at once depends on the processors, so with more than the first a run may also come through.
    for kibibytes in [400_000, 500_000, 600_000, 700_000] {
        let limit = format!("-d {kibibytes}");
        let output = score_under(&limit);
        if output.status.success() && kibibytes > 400_000 {
            assert_eq!(String::from_utf8_lossy(&output.stdout), verdicts, "ulimit {limit}");
            continue;
        }
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "ulimit {limit}: {told}");
        let said = ["the system refused memory", "memory allocation of", "cannot start"];
        assert!(said.iter().any(|words| told.contains(words)), "ulimit {limit}: {told}");
        // An allocation that fails while a backtrace is printed must not deadlock.
        assert!(!told.contains("backtrace printing") && !told.contains("bug"), "ulimit {limit}: {told}");
    }
}

#[test]
fn address_space_that_is_limited_is_told_with_what_lifts_the_limit() {
    let output = score_under("-v 4000000");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("address space") && told.contains("ulimit -v unlimited"), "{told}");
}
