//! Tests of numpy itself, in the sandbox: what passes on x86-64 must pass here. `sandbox/tests/numpy/expected.py` says what does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox};

/// Runs tests of a module that it reads.
const SUITE: &str = include_str!("numpy/suite.py");

const FUEL: u64 = 300 * FUEL_PER_SECOND;
const LIMITS: Limits = Limits { game_fuel: FUEL, call_fuel: FUEL, memory_bytes: 512 << 20 };

/// Tests of one module that are tried in one program.
const TOGETHER: usize = 400;

/// A module of tests.
struct Module {
    name: String,
    source: String,
    passed: BTreeSet<String>,
}

fn modules(folder: &Path) -> Vec<Module> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "passed"));
    paths.sort();
    let read = |path: PathBuf| Module {
        name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
        source: fs::read_to_string(path.with_extension("py")).unwrap(),
        passed: fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect(),
    };
    paths.into_iter().map(read).collect()
}

/// The outcomes of tests by their names, from the first of these numbers on, and how many the module has in all. Where one
/// of them ends the program, its fault is its outcome.
fn outcomes(sandbox: &Sandbox, module: &Module, first: usize, count: usize) -> (BTreeMap<String, String>, usize) {
    let stdin = format!("{} {first} {count}\n{}", module.name, module.source);
    let run = sandbox.run(SUITE, &stdin, 7, &LIMITS).unwrap();
    match run.printed {
        Ok(printed) => {
            let mut lines: Vec<&str> = printed.lines().collect();
            let in_all = lines.pop().and_then(|line| line.strip_prefix("tests: ")).unwrap().parse().unwrap();
            let told = |line: &str| line.split_once(' ').map(|(name, how)| (name.to_owned(), how.to_owned()));
            (lines.into_iter().filter_map(told).collect(), in_all)
        }
        Err(fault) if count == 1 => (BTreeMap::from([(format!("test {first}"), fault.to_string())]), 0),
        Err(_) => {
            let half = count / 2;
            let (mut one, in_all) = outcomes(sandbox, module, first, half);
            let (other, of_other) = outcomes(sandbox, module, first + half, count - half);
            one.extend(other);
            (one, in_all.max(of_other))
        }
    }
}

/// Tests that should pass and do not, each with what it did, and how many should.
fn failures(folder: &Path) -> (Vec<String>, usize) {
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
    let (mut failed, mut should) = (Vec::new(), 0);
    for module in modules(folder) {
        let (mut found, mut in_all) = (BTreeMap::new(), usize::MAX);
        let mut first = 0;
        while first < in_all {
            let (some, now) = outcomes(&sandbox, &module, first, TOGETHER);
            found.extend(some);
            in_all = if now == 0 { in_all.min(first + TOGETHER) } else { now };
            first += TOGETHER;
        }
        let before = failed.len();
        let faults: Vec<&str> =
            found.iter().filter(|(name, _)| name.starts_with("test ")).map(|(_, how)| how.as_str()).collect();
        for name in &module.passed {
            match found.get(name).map(String::as_str) {
                Some("passed") => {}
                // It needs a world, which x86-64 has.
                Some("skipped") => continue,
                Some(other) => failed.push(format!("{} {name} {other}", module.name)),
                None => failed.push(format!("{} {name} ended the program: {faults:?}", module.name)),
            }
            should += 1;
        }
        println!("{}: {} of {} fail", module.name, failed.len() - before, module.passed.len());
    }
    (failed, should)
}

#[test]
fn a_sample_of_what_passes_on_x86_64_passes_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numpy/sample");
    let (failed, should) = failures(&folder);
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
    assert!(should > 1000, "{should} tests");
}

#[test]
#[ignore = "all of numpy's tests, `make numpy-tests`"]
fn what_passes_on_x86_64_passes_here() {
    let folder = std::env::var_os("NUMPY_TESTS").expect("NUMPY_TESTS names the folder that expected.py has filled");
    let (failed, should) = failures(Path::new(&folder));
    failed.iter().for_each(|line| println!("{line}"));
    println!(
        "{} of {should} pass, {:.2} %",
        should - failed.len(),
        100.0 - 100.0 * failed.len() as f64 / should as f64
    );
    assert!(failed.len() * 50 <= should, "{} of {should} fail", failed.len());
}
