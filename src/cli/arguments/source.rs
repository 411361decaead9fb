//! Where a configuration comes from: defaults, a preset, a file, `--set` and flags, laid over each other.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};

use super::flags::{Flags, with_key};
use super::reads::{reads, who_reads};
use crate::cli::said::{CliError, near};
use crate::config::{Config, ConfigError, Layers, PRESETS};
use crate::metrics::Console;
use crate::policy::Tokenizer;
use crate::prompt::PromptKind;
use crate::shell;
use crate::train::run_dir::CONFIG;

/// Where settings come from besides the flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Configuration (defaults < preset < file < --set < flags)")]
pub struct SourceArgs {
    /// TOML file with any part of what `grpo-2048 config` prints, or a .yaml file of TRL's GRPOConfig
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One setting, such as grpo.beta=0.04; may be repeated
    #[arg(long, value_name = "SECTION.KEY=VALUE", value_parser = Assignment)]
    pub set: Vec<String>,
    /// Settings to start from, see `config --help`; without it the model decides between builtin and llm
    #[arg(long, value_name = "NAME", value_parser = preset_names())]
    pub preset: Option<String>,
}

/// Settings that a command brings along.
#[derive(Debug, Clone, Copy)]
pub struct Base<'a> {
    /// What messages call them.
    pub name: &'a str,
    /// A layer of TOML.
    pub settings: &'a str,
}

fn preset_names() -> PossibleValuesParser {
    PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().into()
}

/// Reads a value of `--set`. The name of a flag that only other commands have is answered here with its key, because the
/// command is known.
#[derive(Debug, Clone)]
struct Assignment;

impl TypedValueParser for Assignment {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let has = |flag: &str| command.get_arguments().any(|argument| argument.get_id().as_str() == flag);
        let named = value.to_str().and_then(flag_in).filter(|(flag, ..)| !has(flag));
        let refusal = named.map(|(_, key, value)| format!("expected {}", shell::quoted(format_args!("{key}={value}"))));
        let checked = move |text: String| refusal.clone().map_or(Ok(text), Err);
        StringValueParser::new().try_map(checked).parse_ref(command, arg, value)
    }
}

/// The flag whose name an assignment has in place of a key, with the key and the value.
fn flag_in(assignment: &str) -> Option<(&'static str, &'static str, &str)> {
    let (name, value) = assignment.split_once('=').unwrap_or((assignment, "VALUE"));
    let (flag, key) = with_key(&name.trim().replace('-', "_"))?;
    Some(match (flag, value.trim()) {
        // It takes no value, and sets its key to a number.
        ("sequential", "false" | "0") => ("parallel_rewards", key, "VALUE"),
        ("sequential", _) => (flag, key, "0"),
        _ => (flag, key, value),
    })
}

/// The flag as it is typed to set its key to this value, if it can.
fn typed(flag: &str, value: &str) -> Option<String> {
    let name = flag.replace('_', "-");
    match (flag, value) {
        ("sequential", _) | ("raw_prompt", "true") => Some(format!("--{name}")),
        ("raw_prompt", _) => None,
        _ => Some(format!("--{name} {}", shell::quoted(value))),
    }
}

impl SourceArgs {
    /// The configuration of a new run.
    pub fn resolve(&self, flags: &Flags, console: &Console) -> Result<Config, CliError> {
        settled(self.layers(flags)?, console)
    }

    /// The layers of the configuration of a new run.
    pub fn layers(&self, flags: &Flags) -> Result<Layers, CliError> {
        self.layers_on(None, flags)
    }

    /// The configuration with `base` over the preset and under all that the user says.
    pub fn resolve_on(&self, base: Base<'_>, flags: &Flags, console: &Console) -> Result<Config, CliError> {
        settled(self.layers_on(Some(base), flags)?, console)
    }

    /// Warns of settings of `--set` that `command` does not read.
    pub fn tell_idle(&self, command: &str, console: &Console) {
        for (assignment, key) in self.idle(command) {
            console.print(&format!("warning: --set {assignment}: no effect; {}", who_reads(command, key)));
        }
    }

    /// The assignments of `--set` to settings that `command` does not read, with their keys.
    fn idle(&self, command: &str) -> impl Iterator<Item = (&str, &str)> {
        let with_keys = self.set.iter().map(|assignment| {
            let key = assignment.split('=').next().unwrap_or_default();
            (assignment.as_str(), key.trim())
        });
        with_keys.filter(move |(_, key)| !reads(command, key))
    }

    fn layers_on(&self, base: Option<Base<'_>>, flags: &Flags) -> Result<Layers, CliError> {
        let preset = match &self.preset {
            Some(name) => name.clone(),
            None => self.preset_of_model(flags)?.to_owned(),
        };
        let mut layers = Layers::default();
        layers.preset(&preset)?;
        if let Some(Base { name, settings }) = base {
            layers.text(name, settings)?;
        }
        self.lay(&mut layers, flags)?;
        Ok(layers)
    }

    /// The configuration that the run in `path` recorded, with this command's settings over it. A preset is refused: nothing
    /// of it would be left below what is recorded.
    pub fn layers_over(&self, recorded: &str, path: &Path, flags: &Flags) -> Result<Layers, CliError> {
        if let Some(name) = &self.preset {
            return Err(CliError::user_hint(
                format!("--preset {name} with the run {}: it has the settings that it recorded", path.display()),
                "leave it away; --set SECTION.KEY=VALUE changes one of them",
            ));
        }
        let mut layers = Layers::default();
        layers.text(&path.join(CONFIG).display().to_string(), recorded)?;
        self.lay(&mut layers, flags)?;
        Ok(layers)
    }

    fn lay(&self, layers: &mut Layers, flags: &Flags) -> Result<(), CliError> {
        if let Some(path) = &self.config {
            CliError::refuse_special(format_args!("--config {}", path.display()), path)?;
            let text = std::fs::read_to_string(path)
                .map_err(|error| unread(format!("--config {}: {error}", path.display()), path))?;
            let origin = path.display().to_string();
            match is_yaml(path) {
                true => layers.trl(&origin, &text)?,
                false => layers.text(&origin, &text).map_err(|error| yaml_hint(error, path, &text))?,
            }
        }
        for assignment in &self.set {
            layers.assignment(assignment).map_err(|error| flag_hint(error, assignment))?;
        }
        Ok(flags.lay(layers)?)
    }

    /// Whether the user set `key`, by a file, `--set` or a flag.
    pub fn chooses(&self, key: &str, flags: &Flags) -> Result<bool, CliError> {
        let mut layers = Layers::default();
        self.lay(&mut layers, flags)?;
        Ok(layers.origin(key).is_some())
    }

    /// The preset of the built-in model, and of models trained from it; `llm` for every other model.
    fn preset_of_model(&self, flags: &Flags) -> Result<&'static str, CliError> {
        let under = |preset: &str| -> Result<Config, CliError> {
            let mut layers = Layers::default();
            layers.preset(preset)?;
            self.lay(&mut layers, flags)?;
            Ok(layers.resolve()?)
        };
        // What does not go with one preset may go with the other: servers want adapters, which `llm` trains.
        let config = under("builtin").or_else(|error| under("llm").map_err(|_| error))?;
        let model = config.model.model;
        Ok(if model == "builtin" || is_builtin_dir(Path::new(&model)) { "builtin" } else { "llm" })
    }
}

/// The error of a file that cannot be read: a file of nearly its name, or how to get one.
fn unread(message: String, path: &Path) -> CliError {
    let writes = |path: &Path| format!("`grpo-2048 config > {}` writes one", shell::quoted(path.display()));
    let write = || match is_yaml(path) {
        true => format!(
            "a file of YAML has TRL's keys (docs/trl.md); of this program's, {}",
            writes(&path.with_extension("toml"))
        ),
        false => writes(path),
    };
    CliError::User { message, hint: near::path_hint(path).or_else(|| (!path.exists()).then(write)) }
}

/// Whether a configuration is one of TRL.
fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// A file of YAML that is not called so gets a hint. A word and a colon at the start of a line are never TOML.
fn yaml_hint(error: ConfigError, path: &Path, text: &str) -> CliError {
    let is_key =
        |line: &str| line.split_once(':').is_some_and(|(key, _)| !key.is_empty() && key.chars().all(is_of_word));
    match error {
        ConfigError::Syntax { origin, .. }
            if path.extension().is_some_and(|ending| ending == "jsonl" || ending == "py") =>
        {
            CliError::user_hint(
                format!("--config {origin}: is no TOML; a configuration is what `grpo-2048 config` prints"),
                "tasks and games go with --env",
            )
        }
        ConfigError::Syntax { origin, .. } if text.trim_start().starts_with('{') => CliError::user_hint(
            format!("--config {origin}: is no TOML but looks like JSON"),
            format!(
                "JSON is YAML too, and a file of TRL's GRPOConfig is called {}",
                path.with_extension("yaml").display()
            ),
        ),
        ConfigError::Syntax { origin, .. } if text.lines().any(is_key) => CliError::user_hint(
            format!("--config {origin}: is no TOML but looks like YAML"),
            format!("a YAML file of TRL's GRPOConfig is called {}", path.with_extension("yaml").display()),
        ),
        other => other.into(),
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Names the flag in the hint where `--set` has the name of a flag in place of a key. Behind a section it may be a flag that
/// this command lacks, so that its key alone is named.
fn flag_hint(error: ConfigError, assignment: &str) -> CliError {
    let section = assignment.split('=').next().and_then(|key| key.rfind('.')).map_or(0, |dot| dot + 1);
    match (error, flag_in(&assignment[section..])) {
        (ConfigError::UnknownKey { origin, key, hint }, Some((flag, full, value)))
            if section == 0 || !hint.starts_with("; say ") =>
        {
            let flag = if section == 0 { typed(flag, value) } else { None };
            let flag = flag.map(|typed| format!("{typed} or ")).unwrap_or_default();
            CliError::user_hint(
                format!("{origin}: unknown key `{key}`"),
                format!("say {flag}--set {}", shell::quoted(format_args!("{full}={value}"))),
            )
        }
        (error, _) => error.into(),
    }
}

/// The configuration of all layers. Prints what each key of a TRL file has become.
pub fn settled(layers: Layers, console: &Console) -> Result<Config, CliError> {
    let answers: Vec<String> = layers.answers().iter().map(|answer| format!("  {answer}\n")).collect();
    let config = layers.resolve()?;
    if !answers.is_empty() {
        console.print(&format!(
            "TRL's keys; what the file leaves out has the defaults of this program:\n{}",
            answers.concat().trim_end()
        ));
    }
    Ok(config)
}

/// Whether a directory holds a model with the prompts of the built-in one. A model that cannot be read is refused
/// later, when it is loaded.
fn is_builtin_dir(dir: &Path) -> bool {
    let tokenizer = dir.is_dir().then(|| Tokenizer::from_dir(dir).ok()).flatten();
    tokenizer.is_some_and(|tokenizer| PromptKind::of(&tokenizer, true) == PromptKind::Builtin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_set_and_the_model_chooses_the_preset() {
        let source = SourceArgs { set: vec!["rollout.groups=3".into(), "train.seed=9".into()], ..Default::default() };
        let mut flags = Flags::default();
        flags.add("model", Some("some/model")).add("groups", Some(5_i64));
        let config = source.resolve(&flags, &Console::for_log()).unwrap();
        assert_eq!((config.rollout.groups, config.train.seed, config.model.lora_r), (5, 9, 64));
    }

    #[test]
    fn a_flag_in_place_of_a_key_is_answered_with_what_sets_the_same() {
        let hint = |assignment: &str| {
            let source = SourceArgs { set: vec![assignment.into()], ..Default::default() };
            match source.layers(&Flags::default()).unwrap_err() {
                CliError::User { hint: Some(hint), .. } => hint,
                other => panic!("{assignment}: {other}"),
            }
        };
        for (assignment, expected) in [
            ("steps=3", "say --steps 3 or --set train.max_steps=3"),
            ("sequential=true", "say --sequential or --set arena.parallel_rewards=0"),
            ("sequential=false", "say --parallel-rewards VALUE or --set arena.parallel_rewards=VALUE"),
            ("raw_prompt=true", "say --raw-prompt or --set model.raw_prompt=true"),
            ("raw_prompt=false", "say --set model.raw_prompt=false"),
            // Behind the section of another key, or of none.
            ("train.steps=3", "say --set train.max_steps=3"),
            ("arena.sequential=true", "say --set arena.parallel_rewards=0"),
            ("train.learning_rate=1.5", "say grpo.learning_rate or sft.learning_rate"),
            ("train.max_step=3", "did you mean `max_steps`?"),
        ] {
            assert_eq!(hint(assignment), expected, "{assignment}");
        }
    }

    #[test]
    fn settings_that_a_command_does_not_read_are_told() {
        let set = ["arena.games=2", "arena.moves_max=2000", "reward.scale = 3", "train.game_seconds=5", "grpo.beta=1"];
        let source = SourceArgs { set: set.map(String::from).into(), ..Default::default() };
        let idle: Vec<&str> = source.idle("eval").map(|(_, key)| key).collect();
        assert_eq!(idle, ["arena.games", "train.game_seconds", "grpo.beta"]);
    }

    #[test]
    fn a_run_has_the_settings_that_it_recorded_and_no_preset() {
        let source = SourceArgs { preset: Some("llm".into()), ..Default::default() };
        let refused = source.layers_over("", Path::new("runs/train-001"), &Flags::default()).unwrap_err();
        assert!(refused.to_string().starts_with("--preset llm with the run runs/train-001: "), "{refused}");
    }

    #[test]
    fn a_checkpoint_of_the_built_in_model_has_its_preset() {
        let longest = |model: &str| {
            let mut flags = Flags::default();
            flags.add("model", Some(model));
            SourceArgs::default().resolve(&flags, &Console::for_log()).unwrap().rollout.max_completion_length
        };
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/models/builtin");
        assert_eq!([longest("builtin"), longest(dir), longest("some/model")], [384, 384, 640]);
    }
}
