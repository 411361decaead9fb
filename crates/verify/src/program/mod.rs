//! From the text of a completion to a program.
//!
//! Takes a text with Python somewhere in it, and an [`Entry`] to search for; gives the last well-formed definition of
//! the entry with the code that belongs to it, or the reason why there is none. Parses once, runs nothing, knows no
//! sandbox.

mod digest;
mod entry;
mod extract;
mod helpers;
mod syntax;
#[cfg(test)]
mod tests;

pub use entry::Entry;
use extract::Found;
use serde::{Deserialize, Serialize};
pub(crate) use syntax::{first_error, parse};

/// Bytes of the longest program, because parsers recurse. A policy's programs are a hundredth of this.
pub const SOURCE_BYTES_MAX: usize = 64 * 1024;

/// Stack that one level of a syntax tree may need while it is walked or dropped, estimated generously. A level takes at
/// least one character of source: `----1` has four.
const LEVEL_BYTES: usize = 2048;
/// Stack for a flat tree.
const BASE_BYTES: usize = 128 << 10;

/// Why a text is no program. The sandbox's compiler gives the same reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Rejection {
    /// The text does not define the entry.
    #[error("no {wanted} found")]
    NoFunction {
        /// The entry, for messages. It is the same for all answers to a prompt, so it is no part of the evidence.
        #[serde(skip)]
        wanted: String,
    },
    /// The source does not compile.
    #[error("line {line} of {lines}: {message}")]
    NotCompiled {
        /// First line with an error, from 1.
        line: u32,
        /// Lines of the program.
        lines: u32,
        /// The compiler's message.
        message: String,
    },
    /// The source is longer than any that is compiled.
    #[error("{bytes} bytes; expected at most {SOURCE_BYTES_MAX}")]
    TooLong {
        /// Bytes of the program.
        bytes: usize,
    },
}

impl Rejection {
    /// The name in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Rejection::NoFunction { .. } => "no_function",
            Rejection::NotCompiled { .. } | Rejection::TooLong { .. } => "not_compiled",
        }
    }
}

/// Python source that parses and defines its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    source: String,
    digest: [u8; 32],
}

impl Program {
    /// Finds the program in a completion or a file. The text may begin in the middle of code, after a fence that the
    /// prompt has opened.
    pub fn from_text(text: &str, entry: &Entry) -> Result<Program, Rejection> {
        let text = text.replace("\r\n", "\n");
        // The parser grows the stack that it needs. Whoever walks or drops its trees, those of prose too, does it here.
        let stack = BASE_BYTES + text.len().min(SOURCE_BYTES_MAX) * LEVEL_BYTES;
        stacker::maybe_grow(stack, stack, || {
            let Found { source, module } = extract::find(&text, entry)?;
            let digest = digest::of_syntax(&source, module);
            Ok(Program { source, digest })
        })
    }

    /// The source that the sandbox runs.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Number of lines.
    pub fn lines(&self) -> u32 {
        line_count(&self.source)
    }

    /// A digest of the syntax tree, which ignores layout, comments, docstrings and the names of variables, parameters
    /// and functions.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// [`digest`](Self::digest) in hex, as files name the program.
    pub fn digest_text(&self) -> String {
        blake3::Hash::from_bytes(self.digest).to_hex().to_string()
    }
}

fn line_count(source: &str) -> u32 {
    source.trim_end().lines().count().max(1) as u32
}
