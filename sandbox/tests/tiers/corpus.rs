//! Programs by hand: hard cases, players of 2048, environments.

use std::path::{Path, PathBuf};
use std::{fs, iter};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use ruff_python_ast::{Expr, ExprList};
use ruff_text_size::Ranged;

use crate::program::{Group, Program, board};

/// Calls of a player: some moves of a game.
const BOARDS: usize = 5;

/// The cases of `snippets.py`.
pub fn snippets() -> Vec<Program> {
    cases("snippets.py", include_str!("snippets.py"))
}

/// The cases of a file, by the line they begin in.
pub fn cases(file: &str, text: &str) -> Vec<Program> {
    let lines: Vec<&str> = text.lines().collect();
    let heads: Vec<usize> = (0..lines.len()).filter(|&line| lines[line].starts_with("#: ")).collect();
    let ends = heads.iter().skip(1).copied().chain(iter::once(lines.len()));
    let case = |(&head, end): (&usize, usize)| {
        let calls = lines[head].trim_start_matches("#: ").split(" | ").map(compact).collect();
        let group = Group { function: "f".into(), text: lines[head + 1..end].join("\n") + "\n", calls };
        let name = format!("{file}, line {}", head + 1);
        Program { name, prelude: String::new(), groups: vec![group], seed: 7 }
    };
    heads.iter().zip(ends).map(case).collect()
}

/// JSON as a host writes it.
fn compact(arguments: &str) -> String {
    let value: serde_json::Value =
        serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{arguments}: {error}"));
    value.to_string()
}

/// A case for each of its calls alone and, where its function returns a list, for each item alone: what keeps one out of
/// the compiled tier hides the others.
pub fn parts(case: &Program) -> Vec<Program> {
    let text = &case.groups[0].text;
    let parsed = ruff_python_parser::parse_module(text).ok();
    let function = parsed.as_ref().and_then(|parsed| parsed.suite().last()?.as_function_def_stmt());
    let returned = function.and_then(|function| function.body.last()?.as_return_stmt()?.value.as_ref()?.as_list_expr());
    let alone = |list: &ExprList, item: &Expr| {
        format!("{}{}{}", &text[..list.start().to_usize()], &text[item.range()], &text[list.end().to_usize()..])
    };
    let texts: Vec<String> = match returned {
        Some(list) => list.elts.iter().filter(|item| !item.is_starred_expr()).map(|item| alone(list, item)).collect(),
        None => vec![text.clone()],
    };
    let calls = &case.groups[0].calls;
    let part = |(number, text): (usize, &String)| {
        let call = |call: &String| {
            let groups = vec![Group { text: text.clone(), calls: vec![call.clone()], ..case.groups[0].clone() }];
            Program { name: format!("{}, part {number}", case.name), groups, ..case.clone() }
        };
        calls.iter().map(call).collect::<Vec<_>>()
    };
    texts.iter().enumerate().flat_map(part).collect()
}

/// A program that plays 2048, with some boards.
pub fn player(name: String, text: String, seed: u64) -> Program {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let calls = (0..BOARDS).map(|_| format!("[{}]", board(&mut rng))).collect();
    let groups = vec![Group { function: "strategy".into(), text, calls }];
    Program { name, prelude: String::new(), groups, seed }
}

/// Every program of this repository that plays, cheats included.
pub fn players() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders =
        ["crates/environment/src/game2048/ladder", "crates/environment/src/game2048/cheats", "sandbox/tests/hostile"];
    let found = folders.iter().flat_map(|folder| files(&root.join(folder)));
    let players = found.filter(|(_, text)| text.contains("def strategy("));
    players.map(|(name, text)| player(name, text, 7)).collect()
}

/// Environments, played by hand: their first function of no parameters, and `reset`.
pub fn environments() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let program = |(name, text)| {
        let groups = vec![Group { function: "reset".into(), text, calls: vec!["[]".into(); 3] }];
        Program { name, prelude: String::new(), groups, seed: 7 }
    };
    files(&root).into_iter().map(program).collect()
}

/// Players of a file that `TIER_CORPUS` names, as `grpo-2048 corpus --json` writes it: a JSON object with `source` a line.
pub fn told() -> Vec<Program> {
    let Ok(path) = std::env::var("TIER_CORPUS") else { return Vec::new() };
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let program = |(number, line): (usize, &str)| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let source = value["source"].as_str().unwrap_or_else(|| panic!("{path}: line {}: no `source`", number + 1));
        player(format!("line {} of {path}", number + 1), source.to_owned(), number as u64)
    };
    text.lines().enumerate().map(program).collect()
}

/// The Python files of a folder: the name and the text of each, in the order of their names.
pub fn files(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(read).collect()
}
