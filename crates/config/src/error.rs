//! Errors about a configuration, with the key, the value that was found and the values that are allowed.

/// Why `text` is no TOML, in the words of the parser. It takes text without quotes for a boolean, say, where this begins like one.
pub fn toml_refused(error: &toml::de::Error, text: &str) -> String {
    let said = error.to_string().trim_end().to_owned();
    let hint = error.span().and_then(|span| {
        let (before, after) = text.split_at_checked(span.start)?;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = &text[start..span.start + after.find('\n').unwrap_or(after.len())];
        let (key, value) = line.split_once('=')?;
        let value = value.split('#').next()?.trim();
        let is_bare = value.starts_with(|first: char| first.is_alphanumeric() || "./~".contains(first));
        let is_truth = ["true", "false"].iter().any(|word| value.eq_ignore_ascii_case(word));
        let is_word = value.contains(char::is_alphabetic) && !is_truth;
        // What follows a number is another setting, or a number that TOML writes otherwise.
        let is_one = value.parse::<f64>().is_err() && !value.contains(['"', '\'', '=']);
        let is_value = span.start > start + key.len() && is_bare && is_word && is_one;
        (is_value && !said.contains("quoted")).then(|| format!("; if it is text, quote it: \"{value}\""))
    });
    said + &hint.unwrap_or_default()
}

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
