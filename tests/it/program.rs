//! Runs the program as a user would.

use std::fs;
use std::path::Path;
use std::process::{self, Output};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;

/// The program in `directory`, without variables of the environment that change its messages.
pub fn program(directory: &Path) -> Command {
    let mut command = cargo_bin_cmd!("grpo-2048");
    command.current_dir(directory).env("NO_COLOR", "1").env_remove("RUST_LOG");
    command
}

/// Whether these tests were started with hangups ignored, as by `nohup`, which their children inherit.
pub fn ignores_hangups() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|signals| u64::from_str_radix(signals.trim(), 16).unwrap() & 1 == 1)
}

/// The output of a command that must succeed.
pub fn done(directory: &Path, arguments: &[&str]) -> Output {
    let output = program(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The exit code of any command, and all that it says.
pub fn told(command: &mut process::Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (output.status.code(), said.concat())
}

/// What a command prints that must succeed.
pub fn printed(directory: &Path, arguments: &[&str]) -> String {
    String::from_utf8(done(directory, arguments).stdout).unwrap()
}

/// The messages of a command that fails by the machine's fault.
#[cfg(target_os = "linux")]
pub fn failed(directory: &Path, arguments: &[&str]) -> String {
    let output = program(directory).args(arguments).output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {words}");
    words
}

/// The messages of a command that the program must refuse because of the user's input.
pub fn refused(directory: &Path, arguments: &[&str]) -> String {
    let output = program(directory).args(arguments).output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{arguments:?}: {words}");
    assert!(words.lines().any(|line| line.starts_with("error: ")), "{words}");
    words
}
