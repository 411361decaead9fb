//! `grpo-2048 config`: the whole configuration, commented.

use clap::Args;

use super::{CliError, output};
use crate::config::{DEFAULT_TOML, Layers, PRESETS};

/// Print the full, commented configuration
///
/// The output is a valid --config file: keep the lines you care about, drop the rest.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grpo-2048 config > run.toml\n  grpo-2048 config --preset llm | less")]
pub struct ConfigArgs {
    /// Show the settings under this preset ("builtin" or "llm")
    #[arg(long, value_name = "NAME", default_value = "builtin")]
    preset: String,
}

impl ConfigArgs {
    /// Prints it.
    pub fn run(self) -> Result<(), CliError> {
        // Refuses an unknown name in the words every command uses.
        Layers::default().preset(&self.preset)?;
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
    use crate::config::Config;

    #[test]
    fn what_is_printed_is_what_the_preset_means() {
        for (name, overlay) in PRESETS {
            let mut layers = Layers::default();
            layers.text("printed", &commented(overlay)).unwrap();
            assert_eq!(layers.resolve().unwrap(), Config::preset(name).unwrap(), "{name}");
        }
    }
}
