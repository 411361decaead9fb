//! The picture of the program stays true: which module may use which, and which library lives where.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Module, and the modules it may use. What is not in a row is forbidden to it.
const USES: &[(&str, &[&str])] = &[
    ("seed", &[]),
    ("groups", &[]),
    ("files", &[]),
    ("config", &[]),
    ("environment", &["config", "program", "seed"]),
    ("program", &[]),
    ("arena", &["config", "environment", "program", "seed"]),
    ("policy", &["config", "files", "seed"]),
    ("prompt", &["environment", "policy", "seed"]),
    ("rollout", &["config", "groups", "policy", "prompt", "seed"]),
    ("evaluation", &["arena", "environment", "program", "seed"]),
    ("reward", &["arena", "config", "environment", "program"]),
    ("preflight", &["arena", "config", "environment", "program", "reward", "seed"]),
    ("judge", &["arena", "config", "environment", "program", "reward", "seed"]),
    ("grpo", &["config", "files", "groups", "policy", "prompt", "rollout", "seed"]),
    ("metrics", &["environment", "files"]),
    (
        "train",
        &[
            "arena",
            "config",
            "environment",
            "evaluation",
            "files",
            "groups",
            "grpo",
            "metrics",
            "policy",
            "program",
            "prompt",
            "reward",
            "rollout",
            "seed",
        ],
    ),
    ("report", &["environment", "metrics", "seed", "train"]),
    ("bench", &["arena", "config", "environment", "groups", "grpo", "policy", "program", "prompt", "rollout", "seed"]),
    (
        "cli",
        &[
            "arena",
            "bench",
            "config",
            "environment",
            "evaluation",
            "files",
            "judge",
            "metrics",
            "policy",
            "preflight",
            "program",
            "prompt",
            "report",
            "reward",
            "seed",
            "train",
        ],
    ),
];

/// Library, and the modules that may name it.
const HOMES: &[(&str, &[&str])] = &[
    ("candle_core", &["bench", "policy", "grpo", "rollout", "train"]),
    ("candle_nn", &["policy", "grpo"]),
    ("grpo_tensor", &["policy", "grpo", "train"]),
    ("grpo_sandbox", &["arena", "bench", "cli", "judge"]),
    ("wasmtime", &[]),
    ("cpu_time", &["cli"]),
    ("crossbeam", &["arena"]),
    ("httparse", &["judge"]),
    ("indicatif", &["metrics"]),
    ("parquet", &["cli"]),
    ("nvml_wrapper", &["metrics"]),
    ("clap", &["cli"]),
    ("hf_hub", &["policy"]),
    ("ureq", &["policy"]),
    ("minijinja", &["prompt"]),
    ("serde_saphyr", &["config"]),
    ("ruff_python_parser", &["environment", "program"]),
];

fn files_of(module: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let single = root.join(format!("{module}.rs"));
    if single.is_file() { vec![single] } else { rust_files(&root.join(module)) }
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The text without its unit tests and comments: a test may reach further than the module.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn is_tests(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().to_string_lossy().contains("tests"))
}

fn modules_named_in(text: &str) -> BTreeSet<String> {
    text.split("crate::")
        .skip(1)
        .map(|rest| rest.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect::<String>())
        .filter(|name| USES.iter().any(|(module, _)| module == name))
        .collect()
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let mut wrong = Vec::new();
    for (module, allowed) in USES {
        for path in files_of(module).iter().filter(|path| !is_tests(path)) {
            for used in modules_named_in(&code(path)) {
                if used != *module && !allowed.contains(&used.as_str()) {
                    wrong.push(format!("{}: {module} may not use {used}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn heavy_libraries_stay_at_home() {
    let mut wrong = Vec::new();
    for (module, _) in USES {
        for path in files_of(module).iter().filter(|path| !is_tests(path)) {
            let text = code(path);
            for (library, homes) in HOMES {
                if text.contains(&format!("{library}::")) && !homes.contains(module) {
                    wrong.push(format!("{}: {library} does not live in {module}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_module_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for line in fs::read_to_string(root.join("lib.rs")).unwrap().lines() {
        if let Some(module) = line.strip_prefix("pub mod ") {
            let module = module.trim_end_matches(';');
            assert!(USES.iter().any(|(known, _)| *known == module), "{module} has no row");
        }
    }
}
