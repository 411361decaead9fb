//! Tests of `scripts/install.sh`, with an archive whose program is a line of shell.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{told, write_program};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/install.sh");
const NAME: &str = "grpo-2048-7.8.9";
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
/// A machine that there is an archive for.
const OURS: [&str; 3] = ["Linux", "x86_64", "glibc 2.28"];

/// A release with an archive for each platform, as `scripts/release.sh` names them.
fn release(place: &Path) -> PathBuf {
    release_of(place, "echo grpo-2048 7.8.9 for $target")
}

/// The same of a program with these lines.
fn release_of(place: &Path, program: &str) -> PathBuf {
    let dist = place.join("dist");
    for target in TARGETS {
        let name = format!("{NAME}-{target}");
        let inside = dist.join(&name);
        fs::create_dir_all(inside.join("completions")).unwrap();
        fs::create_dir_all(inside.join("man/man1")).unwrap();
        write_program(&inside.join("grpo-2048"), &format!("target={target}\n{program}"));
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

/// A shell on a machine as `uname` and `getconf` tell of it, with these arguments: the script, or what reads it.
fn shell(place: &Path, machine: [&str; 3], script: &[&str]) -> Command {
    let stubs = place.join("stubs");
    fs::create_dir_all(&stubs).unwrap();
    let [system, processor, libc] = machine;
    write_program(&stubs.join("uname"), &format!("[ \"$1\" = -s ] && echo {system} || echo {processor}"));
    let said = if libc.is_empty() { "exit 1".to_owned() } else { format!("echo {libc}") };
    write_program(&stubs.join("getconf"), &said);
    let path = format!("{}:{}", stubs.display(), std::env::var("PATH").unwrap());
    let from = format!("file://{}/dist", place.display());
    let mut command = Command::new("sh");
    command.args(script).args(["--from", &from, "--version", "7.8.9"]);
    command.env("PATH", path).env("HOME", place.join("home")).env_remove("XDG_DATA_HOME");
    command
}

/// Runs the script on such a machine.
fn install(place: &Path, machine: [&str; 3], more: &[&str]) -> (Option<i32>, String) {
    told(shell(place, machine, &[SCRIPT]).args(more))
}

#[test]
fn a_release_is_installed_for_the_user_who_asks_with_its_completions_and_pages() {
    let place = tempfile::tempdir().unwrap();
    release(place.path());
    for (processor, target) in ["x86_64", "aarch64"].into_iter().zip(TARGETS) {
        let (code, said) = install(place.path(), ["Linux", processor, "glibc 2.28"], &[]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(&format!("grpo-2048 7.8.9 for {target}")), "{said}");
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
    let (code, said) = install(place.path(), ["Linux", "x86_64", "glibc 2.41"], &["--to", there.to_str().unwrap()]);
    assert!(code == Some(0) && there.join("grpo-2048").is_file(), "{said}");
    assert!(said.contains("add it to your PATH"), "{said}");
}

#[test]
fn an_archive_that_is_not_the_one_of_its_sum_is_not_installed() {
    let place = tempfile::tempdir().unwrap();
    let archive = release(place.path()).join(format!("{NAME}-{}.tar.gz", TARGETS[0]));
    let mut bytes = fs::read(&archive).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&archive, bytes).unwrap();
    let (code, said) = install(place.path(), ["Linux", "x86_64", "glibc 2.28"], &[]);
    assert!(code == Some(2) && said.contains("its SHA-256 is"), "{said}");
    fs::remove_file(&archive).unwrap();
    let (code, said) = install(place.path(), ["Linux", "x86_64", "glibc 2.28"], &[]);
    assert!(code == Some(2) && said.contains("cannot be fetched"), "{said}");
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
        let (code, said) = install(place.path(), machine, &[]);
        assert!(code == Some(2) && said.contains(expected) && said.contains("hint: "), "{machine:?}: {said}");
    }
    let (_, said) = install(place.path(), ["Linux", "x86_64", "glibc 2.28"], &["--prefix", "x"]);
    assert!(said.contains("error: --prefix: unknown; there are --to DIR"), "{said}");
    assert!(!place.path().join("home").exists());
}

#[test]
fn a_program_that_does_not_start_is_not_installed_and_leaves_the_one_before() {
    let place = tempfile::tempdir().unwrap();
    release(place.path());
    assert_eq!(install(place.path(), OURS, &[]).0, Some(0));
    release_of(place.path(), "echo no such library >&2; exit 127");
    let (code, said) = install(place.path(), OURS, &[]);
    assert!(code == Some(2) && said.contains("no such library"), "{said}");
    assert!(said.contains("the program does not start here\nhint: build it"), "{said}");
    let folder = place.path().join("home/.local/bin");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
    assert!(fs::read_to_string(folder.join("grpo-2048")).unwrap().contains("7.8.9"));
}

#[test]
fn a_directory_where_the_program_goes_is_told_of() {
    let place = tempfile::tempdir().unwrap();
    release(place.path());
    let there = place.path().join("there");
    fs::create_dir_all(there.join("grpo-2048")).unwrap();
    let (code, said) = install(place.path(), OURS, &["--to", there.to_str().unwrap()]);
    assert!(code == Some(2) && said.contains("there: grpo-2048 is a directory there"), "{said}");
    assert_eq!(fs::read_dir(there.join("grpo-2048")).unwrap().count(), 0);
}

#[test]
fn a_script_that_arrives_in_part_does_nothing() {
    let place = tempfile::tempdir().unwrap();
    release(place.path());
    let whole = fs::read_to_string(SCRIPT).unwrap();
    let (arrived, home) = (place.path().join("arrived"), place.path().join("home"));
    let piped = |text: &str| {
        fs::write(&arrived, text).unwrap();
        let mut command = shell(place.path(), OURS, &["-s", "--"]);
        told(command.stdin(fs::File::open(&arrived).unwrap()))
    };
    for (end, _) in whole.trim_end().match_indices('\n') {
        piped(&whole[..=end]);
        assert!(!home.exists(), "after {}", &whole[..end]);
    }
    let (code, said) = piped(&whole);
    assert!(code == Some(0) && home.join(".local/bin/grpo-2048").is_file(), "{said}");
}

#[test]
fn a_folder_for_completions_that_cannot_be_made_is_no_reason_to_leave_the_program_out() {
    let place = tempfile::tempdir().unwrap();
    release(place.path());
    let local = place.path().join("home/.local");
    let (_, said) = install(place.path(), OURS, &[]);
    let looked = format!("fpath=({}/share/zsh/site-functions $fpath) before compinit", local.display());
    assert!(said.contains(&looked), "{said}");
    fs::remove_dir_all(&local).unwrap();
    fs::create_dir(&local).unwrap();
    fs::write(local.join("share"), "").unwrap();
    let (code, said) = install(place.path(), OURS, &[]);
    assert!(code == Some(0) && local.join("bin/grpo-2048").is_file(), "{said}");
    assert!(said.contains("completions and manual pages are left out") && !said.contains("--to"), "{said}");
    assert!(!said.contains("fpath"), "{said}");

    let (code, said) = told(shell(place.path(), OURS, &[SCRIPT]).env_remove("HOME"));
    assert!(code == Some(2) && said.contains("error: HOME is not set"), "{said}");
    assert!(said.contains("--to DIR"), "{said}");
    let there = place.path().join("there");
    let (code, said) = told(shell(place.path(), OURS, &[SCRIPT]).env_remove("HOME").arg("--to").arg(&there));
    assert!(code == Some(0) && there.join("grpo-2048").is_file(), "{said}");
}

#[test]
fn a_directory_is_compared_with_those_of_path_by_its_whole_name() {
    let place = tempfile::tempdir().unwrap();
    let whole = place.path().canonicalize().unwrap();
    release(&whole);
    let (code, said) = told(shell(&whole, OURS, &[SCRIPT]).args(["--to", "bin"]).current_dir(&whole));
    let expected = format!("export PATH=\"{}/bin:$PATH\"", whole.display());
    assert!(code == Some(0) && said.contains(&expected), "{said}");
    let path = format!("{0}/stubs:{0}/bin:{1}", whole.display(), std::env::var("PATH").unwrap());
    let slash = format!("{}/bin/", whole.display());
    let (_, said) = told(shell(&whole, OURS, &[SCRIPT]).args(["--to", &slash]).env("PATH", path));
    assert!(said.contains("\ntry: grpo-2048 demo"), "{said}");
}

#[test]
fn a_release_on_this_machine_needs_neither_curl_nor_wget_and_other_addresses_are_refused() {
    let place = tempfile::tempdir().unwrap();
    release(place.path());
    let tools = place.path().join("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["sh", "chmod", "cp", "gzip", "mkdir", "mktemp", "mv", "rm", "sha256sum", "tar"] {
        let path = std::env::var_os("PATH").unwrap();
        let found = std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|path| path.is_file()).unwrap();
        std::os::unix::fs::symlink(found, tools.join(tool)).unwrap();
    }
    // It takes no addresses of files.
    write_program(&tools.join("wget"), "exit 1");
    let path = format!("{0}/stubs:{0}/tools", place.path().display());
    let (code, said) = told(shell(place.path(), OURS, &[SCRIPT]).env("PATH", path));
    assert_eq!(code, Some(0), "{said}");
    for address in ["http://127.0.0.1/dist", "ftp://127.0.0.1/dist", "dist"] {
        let (code, said) = install(place.path(), OURS, &["--from", address]);
        let expected = format!("--from {address}: expected an address that begins with https:// or file://");
        assert!(code == Some(2) && said.contains(&expected), "{said}");
    }
}

#[test]
fn make_install_puts_the_program_with_its_completions_and_pages() {
    let place = tempfile::tempdir().unwrap();
    let prefix = place.path().join("my programs");
    let mut make = Command::new("make");
    make.current_dir(env!("CARGO_MANIFEST_DIR")).args(["--silent", "install"]);
    make.arg(format!("PREFIX={}", prefix.display())).arg(concat!("BIN=", env!("CARGO_BIN_EXE_grpo-2048")));
    let Ok(output) = make.output() else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for file in ["bin/grpo-2048", "share/man/man1/grpo-2048.1", "share/bash-completion/completions/grpo-2048"] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
    let (_, said) = told(Command::new(prefix.join("bin/grpo-2048")).arg("--version"));
    assert!(said.starts_with("grpo-2048 "), "{said}");
}
