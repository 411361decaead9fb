//! Runs the program as a user would.

use std::fs;
use std::os::unix::fs::PermissionsExt;
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

/// The variables of the environment by which the program chooses whether it colours. `CI` is one: where it is set, every terminal is
/// taken for one that shows colours.
pub const COLOURS: [&str; 4] = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"];

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

/// The exit code of the program, what it prints, and its messages.
pub fn ran(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = program(directory).args(arguments).output().unwrap();
    let [text, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), text, said)
}

/// The messages of a command that fails, which is no fault of the user's.
pub fn failed(directory: &Path, arguments: &[&str]) -> String {
    let (code, text, said) = ran(directory, arguments);
    assert_eq!((code, &*text), (Some(1), ""), "{arguments:?}: {said}");
    said
}

/// The messages of a command that the program must refuse because of the user's input.
pub fn refused(directory: &Path, arguments: &[&str]) -> String {
    let (code, text, said) = ran(directory, arguments);
    assert_eq!((code, &*text), (Some(2), ""), "{arguments:?}: {said}");
    assert!(said.lines().any(|line| line.starts_with("error: ")), "{said}");
    said
}

/// Writes a program of lines of shell.
pub fn write_program(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
