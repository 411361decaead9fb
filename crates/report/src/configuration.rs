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

/// The temperature of held-out evaluations if it is not that of training. `setting`: the value of `section.key` in TOML's notation.
pub fn evaluated_at(setting: impl Fn(&str, &str) -> Option<String>) -> Option<String> {
    let found = setting("train", "eval_temperature").filter(|value| value.parse::<f64>() != Ok(0.0))?;
    Some(found).filter(|found| setting("rollout", "temperature").as_ref() != Some(found))
}
