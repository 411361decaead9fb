//! From the text of a completion to a program.
//!
//! Takes a text with Python somewhere in it, and an [`Entry`] to search for; gives the last well-formed definition of
//! the entry with the code that belongs to it, or the reason why there is none. Parses once, runs nothing, knows no
//! sandbox.

mod classes;
mod digest;
mod entry;
mod extract;
mod fences;
mod helpers;
mod lines;
mod mutants;
mod prose;
mod quotes;
mod rejection;
mod syntax;
#[cfg(test)]
mod tests;
mod ways;

use std::sync::Arc;

pub use classes::bases;
pub use entry::Entry;
pub(crate) use entry::bound_by;
use extract::Found;
pub(crate) use extract::is_words;
pub use mutants::mutants;

use rejection::line_count;
pub use rejection::{Rejection, SOURCE_BYTES_MAX};
pub(crate) use syntax::{first_error, parse, takes};

/// Stack that one level of a syntax tree may need while it is walked or dropped, estimated generously. A level takes at
/// least one character of source: `----1` has four.
const LEVEL_BYTES: usize = 2048;
/// Stack for a flat tree.
const BASE_BYTES: usize = 128 << 10;

/// Does what walks or drops syntax trees of a text, those of prose too. The parser itself grows the stack that it needs.
fn with_stack_for<T>(text: &str, walk: impl FnOnce() -> T) -> T {
    let stack = BASE_BYTES + text.len().min(SOURCE_BYTES_MAX) * LEVEL_BYTES;
    stacker::maybe_grow(stack, stack, walk)
}

/// Python source that parses and defines its entry. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    source: Arc<str>,
    digest: [u8; 32],
}

impl Program {
    /// Finds the program in a completion or a file. The text may begin in the middle of code, after a fence that the
    /// prompt has opened.
    pub fn from_text(text: &str, entry: &Entry) -> Result<Program, Rejection> {
        Program::found(text, entry, extract::find)
    }

    /// The program in a file of Python, which is one as a whole or none: of an answer, what does not parse may be words.
    pub fn from_file(text: &str, entry: &Entry) -> Result<Program, Rejection> {
        Program::found(text, entry, extract::of_file)
    }

    fn found(
        text: &str,
        entry: &Entry,
        find: fn(&str, &Entry) -> Result<Found, Rejection>,
    ) -> Result<Program, Rejection> {
        let text = text.replace("\r\n", "\n");
        with_stack_for(&text, || {
            let Found { source, module } = find(&text, entry)?;
            let digest = digest::of_syntax(&source, module, entry.definition().map(|(_, name)| name));
            Ok(Program { source: source.into(), digest })
        })
    }

    /// The source that the sandbox runs.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The same, for whoever keeps it: a server has many at hand.
    pub fn shared_source(&self) -> Arc<str> {
        Arc::clone(&self.source)
    }

    /// The place, in bytes, before which nothing may be put: imports from `__future__`, and the docstring that may stand before
    /// them, come first in Python.
    pub fn first_place(&self) -> usize {
        // Most programs have none, and are not parsed for it.
        if !self.source.contains(helpers::FUTURE) {
            return 0;
        }
        with_stack_for(&self.source, || helpers::first_place(&self.source))
    }

    pub fn lines(&self) -> u32 {
        line_count(&self.source)
    }

    /// A digest of the syntax tree, which ignores layout, comments, docstrings and the names of variables, parameters
    /// and functions, but for names that mean something without the program.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// [`digest`](Self::digest) in hex, as files name the program.
    pub fn digest_text(&self) -> String {
        blake3::Hash::from_bytes(self.digest).to_hex().to_string()
    }
}
