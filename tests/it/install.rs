//! Tests of `scripts/install.sh`, with an archive whose program is a line of shell.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const NAME: &str = "grpo-2048-7.8.9";
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

fn write_program(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A release with an archive for each platform, as `scripts/release.sh` names them.
fn release(place: &Path) -> PathBuf {
    let dist = place.join("dist");
    for target in TARGETS {
        let name = format!("{NAME}-{target}");
        let inside = dist.join(&name);
        fs::create_dir_all(inside.join("completions")).unwrap();
        fs::create_dir_all(inside.join("man/man1")).unwrap();
        write_program(&inside.join("grpo-2048"), &format!("echo grpo-2048 7.8.9 for {target}"));
        for shell in ["bash", "zsh", "fish"] {
            fs::write(inside.join(format!("completions/grpo-2048.{shell}")), shell).unwrap();
        }
        fs::write(inside.join("man/man1/grpo-2048.1"), "manual").unwrap();
        let archive = dist.join(format!("{name}.tar.gz"));
        let packed = Command::new("tar").arg("-C").arg(&dist).arg("-czf").arg(&archive).arg(&name).status().unwrap();
        assert!(packed.success());
        let sum = Command::new("sha256sum").arg(format!("{name}.tar.gz")).current_dir(&dist).output().unwrap().stdout;
        fs::write(dist.join(format!("{name}.tar.gz.sha256")), sum).unwrap();
    }
    dist
}

/// Runs the script on a machine as `uname` and `getconf` tell of it.
fn install(place: &Path, machine: [&str; 3], more: &[&str]) -> Output {
    let stubs = place.join("stubs");
    fs::create_dir_all(&stubs).unwrap();
    let [system, processor, libc] = machine;
    write_program(&stubs.join("uname"), &format!("[ \"$1\" = -s ] && echo {system} || echo {processor}"));
    let said = if libc.is_empty() { "exit 1".to_owned() } else { format!("echo {libc}") };
    write_program(&stubs.join("getconf"), &said);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/install.sh");
    let path = format!("{}:{}", stubs.display(), std::env::var("PATH").unwrap());
    let from = format!("file://{}/dist", place.display());
    let mut command = Command::new("sh");
    command.arg(script).args(["--from", &from, "--version", "7.8.9"]).args(more);
    command.env("PATH", path).env("HOME", place.join("home")).env_remove("XDG_DATA_HOME");
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_release_is_installed_for_the_user_who_asks_with_its_completions_and_pages() {
    let place = tempfile::tempdir().unwrap();
    release(place.path());
    for (processor, target) in ["x86_64", "aarch64"].into_iter().zip(TARGETS) {
        let output = install(place.path(), ["Linux", processor, "glibc 2.28"], &[]);
        assert!(output.status.success(), "{}", said(&output));
        assert!(said(&output).contains(&format!("grpo-2048 7.8.9 for {target}")), "{}", said(&output));
    }
    let home = place.path().join("home/.local");
    for path in [
        "bin/grpo-2048",
        "share/bash-completion/completions/grpo-2048",
        "share/zsh/site-functions/_grpo-2048",
        "share/man/man1/grpo-2048.1",
    ] {
        assert!(home.join(path).is_file(), "{path}");
    }
    let there = place.path().join("elsewhere");
    let output = install(place.path(), ["Linux", "x86_64", "glibc 2.41"], &["--to", there.to_str().unwrap()]);
    assert!(output.status.success() && there.join("grpo-2048").is_file(), "{}", said(&output));
    assert!(said(&output).contains("add it to your PATH"), "{}", said(&output));
}

#[test]
fn an_archive_that_is_not_the_one_of_its_sum_is_not_installed() {
    let place = tempfile::tempdir().unwrap();
    let archive = release(place.path()).join(format!("{NAME}-{}.tar.gz", TARGETS[0]));
    let mut bytes = fs::read(&archive).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&archive, bytes).unwrap();
    let output = install(place.path(), ["Linux", "x86_64", "glibc 2.28"], &[]);
    assert!(output.status.code() == Some(2) && said(&output).contains("its SHA-256 is"), "{}", said(&output));
    fs::remove_file(&archive).unwrap();
    let output = install(place.path(), ["Linux", "x86_64", "glibc 2.28"], &[]);
    assert!(output.status.code() == Some(2) && said(&output).contains("cannot be fetched"), "{}", said(&output));
    assert!(!place.path().join("home").exists(), "nothing is left behind");
}

#[test]
fn a_machine_without_an_archive_is_told_so() {
    let place = tempfile::tempdir().unwrap();
    release(place.path());
    for (machine, expected) in [
        (["Darwin", "arm64", "glibc 2.39"], "there is no archive for Darwin; expected Linux"),
        (["Linux", "riscv64", "glibc 2.39"], "there is no archive for riscv64; expected x86_64 or aarch64"),
        (["Linux", "x86_64", ""], "this system has no glibc"),
        (["Linux", "x86_64", "glibc 2.27"], "found glibc 2.27; expected glibc 2.28 or newer"),
        (["Linux", "x86_64", "glibc 3.40"], "found glibc 3.40"),
    ] {
        let output = install(place.path(), machine, &[]);
        let words = said(&output);
        assert!(
            output.status.code() == Some(2) && words.contains(expected) && words.contains("hint: "),
            "{machine:?}: {words}"
        );
    }
    let output = install(place.path(), ["Linux", "x86_64", "glibc 2.28"], &["--prefix", "x"]);
    assert!(said(&output).contains("error: --prefix: unknown; there are --to DIR"), "{}", said(&output));
    assert!(!place.path().join("home").exists());
}

#[test]
fn make_install_puts_the_program_with_its_completions_and_pages() {
    let place = tempfile::tempdir().unwrap();
    let prefix = place.path().join("local");
    let mut make = Command::new("make");
    make.current_dir(env!("CARGO_MANIFEST_DIR")).args(["--silent", "install"]);
    make.arg(format!("PREFIX={}", prefix.display())).arg(concat!("BIN=", env!("CARGO_BIN_EXE_grpo-2048")));
    let Ok(output) = make.output() else { return };
    assert!(output.status.success(), "{}", said(&output));
    for file in ["bin/grpo-2048", "share/man/man1/grpo-2048.1", "share/bash-completion/completions/grpo-2048"] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
    let version = Command::new(prefix.join("bin/grpo-2048")).arg("--version").output().unwrap();
    assert!(said(&version).starts_with("grpo-2048 "), "{}", said(&version));
}
