//! Why a configuration is refused: with the key, what was found, and what is allowed.

use std::path::PathBuf;

/// Why a configuration was refused. All of it is the user's to mend.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Text that is not TOML.
    #[error("{origin}: {message}")]
    Syntax {
        /// File or flag.
        origin: String,
        /// The parser's words, with the place.
        message: String,
    },
    /// A key that does not exist.
    #[error("{origin}: unknown key `{key}`{hint}")]
    UnknownKey {
        /// File or flag.
        origin: String,
        /// Dotted key.
        key: String,
        /// Nearest known key, as words.
        hint: String,
    },
    /// A value that is not allowed.
    #[error("{key} = {found}: {expected}")]
    Value {
        /// Dotted key.
        key: String,
        /// What was given.
        found: String,
        /// What is allowed.
        expected: String,
    },
    /// A file in the words of another program that cannot be taken as it is.
    #[error("{}; {hint}", ConfigError::listed(origin, refused))]
    Foreign {
        /// File, and the key where it is one alone.
        origin: String,
        /// Keys that are refused, each with its value and why.
        refused: Vec<String>,
        /// What to do.
        hint: String,
    },
    /// A preset that does not exist.
    #[error("unknown preset `{found}`; there are: {known}")]
    UnknownPreset {
        /// What was asked for.
        found: String,
        /// What exists.
        known: String,
    },
}

impl ConfigError {
    /// What of a file is refused: in one line, or a line for each of several keys.
    pub fn listed(origin: &str, refused: &[String]) -> String {
        match refused {
            [] => origin.into(),
            [one] => format!("{origin}: {one}"),
            several => format!("{origin}: {} keys cannot be taken\n  {}", several.len(), several.join("\n  ")),
        }
    }
}
