//! From the text of a completion to a program.
//!
//! Takes text with Python somewhere in it, and what is looked for (an [`Entry`]); gives the last well-formed definition of
//! it with everything around it that belongs to it, or says why there is none. What it gives is parsed once, for the source and
//! for the digest; stretches before it that do not parse are tried too. Runs nothing, knows no sandbox, whose compiled tier
//! parses the source with rules of its own.

mod digest;
mod entry;
mod extract;
#[cfg(test)]
mod tests;

pub use entry::Entry;
use extract::Found;
pub(crate) use extract::{first_error, parse};
use serde::{Deserialize, Serialize};

/// Bytes of the longest program. Parsers recurse; what a policy writes is a hundredth of this.
pub const SOURCE_BYTES_MAX: usize = 64 * 1024;

/// Why a text is no program. The sandbox's own compiler may say so too, in the same words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Rejection {
    /// Nothing in the text is what was looked for.
    #[error("no {wanted} found")]
    NoFunction {
        /// What that was. No part of the evidence: it is the same for all answers to a prompt.
        #[serde(skip)]
        wanted: String,
    },
    /// Python refuses it.
    #[error("line {line} of {lines}: {message}")]
    NotCompiled {
        /// First line with an error, from 1.
        line: u32,
        /// Lines of the program.
        lines: u32,
        /// What is wrong with it.
        message: String,
    },
}

impl Rejection {
    /// The name in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Rejection::NoFunction { .. } => "no_function",
            Rejection::NotCompiled { .. } => "not_compiled",
        }
    }
}

/// Python source that parses and defines what was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    source: String,
    digest: [u8; 32],
}

impl Program {
    /// The program in a completion, or in a file. The text may open in the middle of code, after a prefilled fence.
    pub fn from_text(text: &str, entry: &Entry) -> Result<Program, Rejection> {
        let Found { source, module } = extract::find(&text.replace("\r\n", "\n"), entry)?;
        let digest = digest::of_syntax(&source, module);
        Ok(Program { source, digest })
    }

    /// What the sandbox runs.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Number of lines.
    pub fn lines(&self) -> u32 {
        line_count(&self.source)
    }

    /// A digest of what the program does: its syntax tree, whatever its layout, comments, docstrings and the names of
    /// its variables, parameters and functions.
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
