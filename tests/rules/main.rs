//! What holds of sources, dependencies and documents. Of these alone the documents run the program: they show its
//! commands.

#[path = "../synthetic/chat_model.rs"]
mod chat_model;

mod architecture;
mod dependencies;
mod docs;
mod packages;
mod scripts;

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The path with each `..` taken off together with the part before it.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Fails with a line for each error.
fn assert_none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} wrong:\n{}\n", wrong.len(), wrong.join("\n"));
}
