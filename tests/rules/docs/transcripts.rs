//! Runs the transcripts of the documents, blocks of text with commands after a `$`, and compares what they show. A line of
//! dots stands for any lines, and so does the end of a block.

use std::fs;
use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;

use super::markdown::Document;
use crate::{assert_none, root};

/// A command with the lines that a document shows below it.
struct Shown {
    line: usize,
    command: String,
    said: Vec<String>,
}

/// The commands of the blocks of text, block by block.
fn transcripts(document: &Document) -> Vec<Vec<Shown>> {
    let blocks = document.blocks.iter().filter(|block| block.language == "text" && block.text.starts_with("$ "));
    let session = |block: &super::markdown::Block| {
        let mut session: Vec<Shown> = Vec::new();
        for (line, text) in (block.line..).zip(block.text.lines()) {
            match (text.strip_prefix("$ "), session.last_mut()) {
                (Some(command), _) => session.push(Shown { line, command: command.to_owned(), said: Vec::new() }),
                (None, Some(shown)) => shown.said.push(text.to_owned()),
                (None, None) => unreachable!("the block begins with a command"),
            }
        }
        session
    };
    blocks.map(session).collect()
}

/// Whether `shown` is what was said: every line, with dots for any others.
fn fits(shown: &[String], said: &[&str]) -> bool {
    match shown.split_first() {
        None => true,
        Some((dots, rest)) if dots.trim() == "..." => (0..=said.len()).any(|from| fits(rest, &said[from..])),
        Some((line, rest)) => said.first() == Some(&line.as_str()) && fits(rest, &said[1..]),
    }
}

/// Types the commands of a session in `place`; what differs from the document, in words. `cat` makes the reader's file.
fn type_session(session: &[Shown], place: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for Shown { line, command, said } in session {
        if let Some(file) = command.strip_prefix("cat ") {
            fs::write(place.join(file), said.join("\n") + "\n").unwrap();
            continue;
        }
        // What is neither is listed in the table of blocks.
        if !command.starts_with("grpo-2048 ") {
            continue;
        }
        let words = shlex::split(command).expect("a command");
        let mut program = cargo_bin_cmd!("grpo-2048");
        let output = program.current_dir(place).env("NO_COLOR", "1").args(&words[1..]).output().unwrap();
        let printed = String::from_utf8([output.stderr, output.stdout].concat()).unwrap();
        // What is not the command's answer, such as that the sandbox is compiled, may come before it.
        let lines: Vec<&str> = printed.lines().collect();
        if !(0..=lines.len()).any(|from| fits(said, &lines[from..])) {
            wrong.push(format!("line {line}: $ {command}\n{printed}"));
        }
    }
    wrong
}

#[test]
fn transcripts_show_what_their_commands_print() {
    let (mut wrong, mut typed) = (Vec::new(), 0);
    for document in &*super::DOCUMENTS {
        for session in transcripts(document) {
            let place = tempfile::tempdir().unwrap();
            for folder in ["examples", "models"] {
                std::os::unix::fs::symlink(root().join(folder), place.path().join(folder)).unwrap();
            }
            typed += session.iter().filter(|shown| shown.command.starts_with("grpo-2048")).count();
            wrong.extend(
                type_session(&session, place.path()).into_iter().map(|words| format!("{}, {words}", document.path)),
            );
        }
    }
    assert_none(wrong);
    assert!(typed >= 3, "{typed} commands");
}

#[test]
fn a_transcript_with_another_line_is_found() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let said = ["a", "b", "c", "d"];
    for right in ["a\nb", "a\n...\nd", "  ...\nc\nd", "a\nb\nc\nd", "..."] {
        assert!(fits(&shown(right), &said), "{right}");
    }
    for wrong in ["b", "a\nc", "a\n...\ne", "a\nb\nc\nd\ne"] {
        assert!(!fits(&shown(wrong), &said), "{wrong}");
    }
    let document = Document::parse(
        "docs/faq.md",
        "```text\n$ cat a.py\nprint(1)\n$ grpo-2048 score a.py --env 2048\nnothing like it\n```\n",
    );
    let place = tempfile::tempdir().unwrap();
    assert_eq!(type_session(&transcripts(&document)[0], place.path()).len(), 1);
}
