//! Tests of what the program tells of itself and of its machine: help, completions, manual pages, `doctor`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{printed, program, ran, refused};
use crate::terminal::plural_of_one;

#[test]
fn who_asks_for_help_gets_it_whatever_else_is_wrong_with_the_flags() {
    let dir = tempfile::tempdir().unwrap();
    for (wrong, asked) in [
        (&["play", "--env", "E", "x.py", "--help"][..], &["play", "--help"][..]),
        (&["tasks", "show", "--nonsense", "-h"][..], &["tasks", "show", "-h"][..]),
    ] {
        assert_eq!(printed(dir.path(), wrong), printed(dir.path(), asked), "{wrong:?}");
    }
    // Behind two dashes it is no flag.
    assert!(refused(dir.path(), &["play", "--env", "E", "--", "--help"]).contains("shows boards of 2048"));
}

/// The commands that `--help` lists, behind the words `of`.
fn commands(directory: &Path, of: &[&str]) -> Vec<String> {
    let help = printed(directory, &[of, &["--help"]].concat());
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let entries = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = entries.map(|line| line.split_whitespace().next().unwrap().to_owned());
    names.filter(|name| name != "help").collect()
}

#[test]
fn every_help_has_groups_and_an_example_that_is_a_command_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let names = commands(dir.path(), &[]);
    assert!(names.len() >= 12 && names.contains(&"export-completions".to_owned()), "{names:?}");
    for name in &names {
        let help = printed(dir.path(), &[name, "--help"]);
        let examples = help.split("Examples:\n").nth(1).unwrap_or_else(|| panic!("{name}: no examples in {help}"));
        assert!(examples.contains(&format!("grpo-2048 {name}")), "{name}: {examples}");
        let options = help.split("\nOptions:\n").nth(1).unwrap().split("\n\n").next().unwrap();
        let ungrouped = options.lines().filter(|line| line.trim_start().starts_with("--")).count();
        assert!(ungrouped <= 1, "{name}: flags without a heading in {help}");
        // Examples are aligned in columns, which a terminal of 80 characters must not break.
        let wide = examples.lines().find(|line| line.chars().count() > 84);
        assert_eq!(wide, None, "{name}");
    }
}

#[test]
fn completions_know_every_command_and_shells_accept_them() {
    let dir = tempfile::tempdir().unwrap();
    let names = commands(dir.path(), &[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(dir.path(), &["completions", shell]);
        for name in &names {
            assert!(script.contains(name.as_str()), "{shell}: no {name}");
        }
        // Scripts for shells that are not installed are not checked.
        if ["bash", "fish", "zsh"].contains(&shell) {
            fs::write(dir.path().join(shell), &script).unwrap();
            let checked = std::process::Command::new(shell).arg("-n").arg(dir.path().join(shell)).output();
            if let Ok(checked) = checked {
                assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
            }
        }
    }
    assert!(refused(dir.path(), &["completions", "bsh"]).contains("bash"));
}

#[test]
fn bash_completes_commands_presets_styles_and_keys() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script"), printed(dir.path(), &["completions", "bash"])).unwrap();
    fs::write(dir.path().join("mine.jsonl"), "").unwrap();
    let offered = |words: &str| {
        let ask = format!(
            "source ./script; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _grpo__2048 grpo-2048 \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        let output = std::process::Command::new("bash").current_dir(dir.path()).args(["-c", &ask]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(offered("grpo-2048 exp"), "export export-completions");
    assert_eq!(offered("grpo-2048 train --preset gpu-2"), "gpu-24gb");
    assert_eq!(offered("grpo-2048 corpus --style sna"), "snake");
    assert_eq!(offered("grpo-2048 train --set reward.ex"), "reward.exponent=");
    assert_eq!(offered("grpo-2048 eval --baselines gr"), "greedy");
    assert_eq!(offered("grpo-2048 train --env mi"), "mine.jsonl");
    assert_eq!(offered("grpo-2048 tasks show --set reward.ex"), "reward.exponent=");
}

#[test]
fn manual_pages_are_one_a_command() {
    let dir = tempfile::tempdir().unwrap();
    let own = printed(dir.path(), &["man"]);
    for words in [".TH grpo-2048 1", "grpo\\-2048 train", ".SH ENVIRONMENT", "HF_ENDPOINT"] {
        assert!(own.contains(words), "{words} in {own}");
    }
    printed(dir.path(), &["man", "pages/man1"]);
    let pages = dir.path().join("pages/man1");
    assert_eq!(fs::read_to_string(pages.join("grpo-2048.1")).unwrap(), own);
    let train = fs::read_to_string(pages.join("grpo-2048-train.1")).unwrap();
    assert!(train.contains("parallel\\-rewards") && train.contains(".SH \"EXIT CODES\""), "{train}");
    let show = fs::read_to_string(pages.join("grpo-2048-tasks-show.1")).unwrap();
    assert!(show.contains("raw\\-prompt"), "{show}");
    let listed = [commands(dir.path(), &[]), commands(dir.path(), &["tasks"])].concat();
    assert_eq!(fs::read_dir(&pages).unwrap().count(), listed.len() + 1);
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(refused(dir.path(), &["man", "file"]).contains("file"));
}

#[test]
fn doctor_tells_what_a_bug_report_needs() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("hf/hub/models--owner--name")).unwrap();
    let blob = fs::File::create(dir.path().join("hf/hub/models--owner--name/blob")).unwrap();
    blob.set_len(300_000_000).unwrap();
    let mut doctor = program(dir.path());
    let output = doctor.env("HF_HOME", dir.path().join("hf")).args(["doctor", "--json", "--quiet"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let examined: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(examined["version"], env!("CARGO_PKG_VERSION"));
    assert!(examined.as_object().unwrap().contains_key("commit"));
    let findings = examined["findings"].as_array().unwrap();
    let finding = |subject: &str| {
        let found = findings.iter().find(|finding| finding["subject"] == subject);
        found.unwrap_or_else(|| panic!("no {subject} in {findings:?}"))
    };
    for (subject, words) in [
        ("program", "commit "),
        ("processor", " cores, "),
        ("memory", " GB free of "),
        ("gpu", ""),
        ("device", ""),
        ("precision", "f32"),
        ("model", "inside this program"),
        ("model cache", "1 model, 0.3 GB"),
        ("disk", " GB free for runs"),
        ("sandbox cache", " MB)"),
        ("sandbox", "median "),
        ("fuel", "Gfuel a second"),
        ("reward order", "greedy"),
    ] {
        assert!(finding(subject)["finding"].as_str().unwrap().contains(words), "{}", finding(subject));
    }
    for finding in findings {
        assert_eq!(finding["level"] == "ok", finding["advice"].is_null(), "{finding}");
    }
    assert!(examined["reward"]["players"].as_array().unwrap().len() > 4);
}

#[test]
fn doctor_says_what_to_do_about_a_model_that_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("model.gguf"), "").unwrap();
    let (code, text, said) = ran(dir.path(), &["doctor", "--model", "modle.gguf"]);
    assert_eq!(code, Some(1));
    for text in [&text, &said] {
        assert_eq!(plural_of_one(text), None, "{text}");
    }
    let problem =
        text.lines().position(|line| line.starts_with("problem   model ")).unwrap_or_else(|| panic!("{text}"));
    let advice = text.lines().skip(problem + 1).find(|line| line.contains("-> ")).unwrap();
    assert!(advice.trim().starts_with("-> did you mean `model.gguf`?"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("greedy") && line.contains('\u{2501}')), "a chart: {text}");
}
