//! `grpo-2048 config`: the whole configuration, commented.

use clap::Args;

use super::options::preset_names;
use super::{CliError, output};
use crate::config::{DEFAULT_TOML, PRESETS};

/// Print the full, commented configuration
///
/// The output is a valid --config file: keep the lines you care about, drop the rest.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 config > run.toml && grpo-2048 train --config run.toml
  grpo-2048 config --preset llm | less
  diff <(grpo-2048 config) <(grpo-2048 config --preset llm)")]
pub struct ConfigArgs {
    /// Show the settings under this preset
    #[arg(long, value_name = "NAME", default_value = "builtin", value_parser = preset_names())]
    preset: String,
}

impl ConfigArgs {
    /// Prints it.
    pub fn run(self) -> Result<(), CliError> {
        let overlay = PRESETS.iter().find(|(name, _)| *name == self.preset).map_or("", |(_, text)| *text);
        output::print(&commented(overlay))
    }
}

/// The defaults with their comments, each value as `overlay` has it.
fn commented(overlay: &str) -> String {
    let overlay: toml::Table = overlay.parse().expect("presets are TOML");
    let mut section = String::new();
    let mut text = String::new();
    for line in DEFAULT_TOML.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        }
        let key = line.split_once(" = ").map(|(key, _)| key).filter(|key| !key.starts_with('#'));
        let value = key.and_then(|key| overlay.get(&section)?.get(key));
        match (key, value) {
            (Some(key), Some(value)) => text.push_str(&format!("{key} = {value}\n")),
            _ => text.push_str(&format!("{line}\n")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Layers};

    #[test]
    fn what_is_printed_is_what_the_preset_means() {
        for (name, overlay) in PRESETS {
            let mut layers = Layers::default();
            layers.text("printed", &commented(overlay)).unwrap();
            assert_eq!(layers.resolve().unwrap(), Config::preset(name).unwrap(), "{name}");
        }
    }
}
