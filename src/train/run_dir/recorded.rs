//! The configuration that a run recorded, and what of it may differ when the run goes on.

use std::path::Path;
use std::{fs, io};

use super::{CONFIG, RunDirError};
use crate::config::{Config, Layers};

/// Sections that no step depends on: a run may go on with others.
const FREE_SECTIONS: &[&str] = &["guard", "sft"];
/// Settings that may change when a run goes on: they do not change what a step computes, but for `steps_ahead`, which
/// says when its completions are sampled and suits the machine.
pub(super) const FREE_KEYS: &[&str] = &[
    "train.max_steps",
    "train.steps_ahead",
    "train.output_dir",
    "sandbox.check_one_in",
    "train.preflight",
    "train.memory_mib",
    "train.gpu_memory_fraction",
    "train.tensorboard",
    "train.save_steps",
    "train.save_total_limit",
    "train.eval_steps",
    "train.eval_samples",
    "train.eval_games",
    "arena.parallel_rewards",
];

/// The text of the configuration that a run recorded, to lay under the flags of a resumed run.
pub fn recorded_text(run: &Path) -> Result<String, RunDirError> {
    let path = run.join(CONFIG);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(RunDirError::NothingToResume { path: run.to_owned() })
        }
        Err(source) => Err(RunDirError::Io { path, source }),
    }
}

pub(super) fn recorded(run: &Path) -> Result<Config, RunDirError> {
    let text = recorded_text(run)?;
    let mut layers = Layers::default();
    let path = run.join(CONFIG);
    layers.text(CONFIG, &text).and_then(|()| layers.resolve()).map_err(|source| RunDirError::Config { path, source })
}

pub(super) fn config_text(config: &Config, about: &[(&str, String)]) -> String {
    let about: toml::Table = about.iter().map(|(key, value)| ((*key).to_owned(), value.clone().into())).collect();
    let run = toml::Table::from_iter([("run".to_owned(), toml::Value::Table(about))]);
    let body = toml::to_string(config).expect("a configuration is TOML");
    format!("# Written by grpo-2048; `--config` on this file repeats the run.\n\n{run}\n{body}")
}

/// Dotted keys in which the two differ, `key: recorded -> wanted`, apart from `free`.
pub(super) fn differences(recorded: &Config, wanted: &Config, free: &[&str]) -> Vec<String> {
    let table = |config: &Config| toml::Table::try_from(config).expect("a configuration is TOML");
    let (recorded, wanted) = (table(recorded), table(wanted));
    let mut differing = Vec::new();
    for (section, values) in &recorded {
        for (key, value) in values.as_table().into_iter().flatten() {
            let dotted = format!("{section}.{key}");
            let other = &wanted[section][key];
            if value != other && !free.contains(&dotted.as_str()) && !FREE_SECTIONS.contains(&section.as_str()) {
                differing.push(format!("{dotted}: {value} -> {other}"));
            }
        }
    }
    differing
}
