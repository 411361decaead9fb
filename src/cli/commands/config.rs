//! `grpo-2048 config`: the whole configuration, commented.

use std::collections::BTreeMap;

use clap::Args;

use crate::cli::arguments::{Flags, SourceArgs, settled};
use crate::cli::opened::arena::count_epochs;
use crate::cli::said::{CliError, effective, output};
use crate::config::{DEFAULT_TOML, PRESETS, Preset};
use crate::metrics::Console;

/// Print the full, commented configuration
///
/// The output is a valid --config file: keep the lines you care about, drop the rest. Where a preset differs from the
/// defaults, its own comment follows the general one. With --config or --set: what would be in force, and where it comes from.
#[derive(Debug, Args)]
#[command(after_help = format!("Presets:
{}
Examples:
  grpo-2048 config > run.toml && grpo-2048 train --config run.toml
  grpo-2048 config --preset laptop | less
  grpo-2048 config --config run.toml --set grpo.beta=0.04
  diff <(grpo-2048 config) <(grpo-2048 config --preset llm)", presets()))]
pub struct ConfigArgs {
    #[command(flatten)]
    source: SourceArgs,
}

/// The presets with what they are for, as the help lists them.
fn presets() -> String {
    PRESETS.iter().map(|Preset { name, about, .. }| format!("  {name:<8}  {about}\n")).collect()
}

impl ConfigArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let SourceArgs { config, set, preset } = &self.source;
        if config.is_some() || !set.is_empty() {
            let layers = count_epochs(self.source.layers(&Flags::default())?)?;
            return output::print(&effective(&settled(layers.clone(), console)?, &layers));
        }
        let name = preset.as_deref().unwrap_or(PRESETS[0].name);
        let preset = PRESETS.iter().find(|preset| preset.name == name).expect("the parser knows the names");
        output::print(&commented(preset))
    }
}

/// A value of a preset, and its lines of comment.
struct Setting<'a> {
    value: &'a str,
    comment: Vec<&'a str>,
}

/// The defaults with their comments, and the values of the preset in their place.
fn commented(preset: &Preset) -> String {
    let settings: BTreeMap<String, Setting<'_>> = preset.layers.iter().flat_map(|layer| settings(layer)).collect();
    let mut text = String::new();
    for layer in preset.layers {
        let about = layer.lines().take_while(|line| line.starts_with('#'));
        about.for_each(|line| text.push_str(&format!("{line}\n")));
    }
    let mut section = "";
    for line in DEFAULT_TOML.lines() {
        section = section_name(line).unwrap_or(section);
        let key = key_and_value(line).map(|(key, _)| key);
        let setting = key.and_then(|key| Some((key, settings.get(&format!("{section}.{key}"))?)));
        match setting {
            Some((key, Setting { value, comment })) => {
                comment.iter().for_each(|line| text.push_str(&format!("{line}\n")));
                text.push_str(&format!("{key} = {value}\n"));
            }
            None => text.push_str(&format!("{line}\n")),
        }
    }
    text
}

/// The settings of a layer by dotted key. Layers have a line for each setting, with its comment above it.
fn settings(layer: &str) -> Vec<(String, Setting<'_>)> {
    let (mut section, mut comment, mut found) = ("", Vec::new(), Vec::new());
    for line in layer.lines() {
        if let Some(name) = section_name(line) {
            section = name;
            comment.clear();
        } else if line.starts_with('#') {
            comment.push(line);
        } else if let Some((key, value)) = key_and_value(line) {
            found.push((format!("{section}.{key}"), Setting { value, comment: std::mem::take(&mut comment) }));
        }
    }
    found
}

fn section_name(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    line.split_once(" = ").filter(|_| !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Layers};

    #[test]
    fn what_is_printed_is_what_the_preset_means_with_its_reasons() {
        for preset in PRESETS {
            let text = commented(preset);
            let mut layers = Layers::default();
            layers.text("printed", &text).unwrap();
            assert_eq!(layers.resolve().unwrap(), Config::preset(preset.name).unwrap(), "{}", preset.name);
            let last = preset.layers.last().copied().unwrap_or_default();
            for comment in last.lines().filter(|line| line.starts_with('#')) {
                assert!(text.contains(comment), "{}: no {comment}", preset.name);
            }
        }
        assert_eq!(commented(&PRESETS[0]), DEFAULT_TOML);
    }
}
