//! Why a completion holds no program.

use serde::{Deserialize, Serialize};

/// Bytes of the longest program, because parsers recurse. A policy's programs are a hundredth of this.
pub const SOURCE_BYTES_MAX: usize = 64 * 1024;

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
        lines: u32,
        message: String,
    },
    /// The source is longer than any that is compiled.
    #[error("{bytes} bytes; expected at most {SOURCE_BYTES_MAX}")]
    TooLong { bytes: usize },
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

pub(super) fn line_count(source: &str) -> u32 {
    source.trim_end().lines().count().max(1) as u32
}
