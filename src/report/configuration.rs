//! `config.toml` of a run as flat keys, whichever version wrote it.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// `section.key` and its value as TOML writes it.
pub fn flat(text: &str) -> Option<BTreeMap<String, String>> {
    let table: Table = text.parse().ok()?;
    let mut settings = BTreeMap::new();
    for (section, value) in table {
        match value {
            Value::Table(keys) => {
                settings.extend(keys.into_iter().map(|(key, value)| (format!("{section}.{key}"), value.to_string())));
            }
            other => {
                settings.insert(section, other.to_string());
            }
        }
    }
    Some(settings)
}
