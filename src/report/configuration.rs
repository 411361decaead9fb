//! The settings of a run's `config.toml` of any version as flat keys.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// Each `section.key` with its value in TOML's notation; none if `text` is not TOML.
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
