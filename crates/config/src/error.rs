//! Errors about a configuration, with the key, the value that was found and the values that are allowed.

/// An error about a configuration. All of them are for the user to correct.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A text is not valid TOML.
    #[error("{origin}: {message}")]
    Syntax {
        origin: String,
        /// The message of the parser, with the place.
        message: String,
    },
    /// A key does not exist.
    #[error("{origin}: unknown key `{key}`{hint}")]
    UnknownKey { origin: String, key: String, hint: String },
    /// A value is not allowed.
    #[error("{key} = {found}: {expected}")]
    Value { key: String, found: String, expected: String },
    /// A configuration of another program has keys that cannot be imported.
    #[error("{}; {hint}", ConfigError::listed(origin, refused))]
    Foreign {
        /// The file, with the key if there is only one.
        origin: String,
        /// The refused keys, each with its value and the reason.
        refused: Vec<String>,
        hint: String,
    },
    /// A preset does not exist.
    #[error("unknown preset `{found}`; there are: {known}")]
    UnknownPreset { found: String, known: String },
}

impl ConfigError {
    /// Says which keys of a file are refused: in one line, or with a line for each of several keys.
    pub fn listed(origin: &str, refused: &[String]) -> String {
        match refused {
            [] => origin.into(),
            [one] => format!("{origin}: {one}"),
            several => format!("{origin}: {} keys cannot be taken\n  {}", several.len(), several.join("\n  ")),
        }
    }
}
