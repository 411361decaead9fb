//! Flags that set configuration keys, and their defaults in the help.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::config::{Config, ConfigError, DEFAULT_TOML, Layers};

/// Arguments that stand for one configuration key each: id of the argument, key. An argument with such an id sets the key
/// in every command that has [`Flags`] before its arguments; this table and the argument are all that a new flag needs.
const KEYS: &[(&str, &str)] = &[
    ("env", "environment.env"),
    ("model", "model.model"),
    ("revision", "model.revision"),
    ("raw_prompt", "model.raw_prompt"),
    ("lora_r", "model.lora_r"),
    ("device", "model.device"),
    ("gpu_memory_fraction", "train.gpu_memory_fraction"),
    ("groups", "rollout.groups"),
    ("num_generations", "rollout.num_generations"),
    ("max_completion_length", "rollout.max_completion_length"),
    ("temperature", "rollout.temperature"),
    ("turns", "rollout.turns"),
    ("rollouts", "rollout.servers"),
    ("games", "arena.games"),
    ("parallel_rewards", "arena.parallel_rewards"),
    ("sequential", "arena.parallel_rewards"),
    ("tier", "sandbox.tier"),
    ("micro_batch", "grpo.micro_batch"),
    ("learning_rate", "grpo.learning_rate"),
    ("steps", "train.max_steps"),
    ("steps_ahead", "train.steps_ahead"),
    ("seed", "train.seed"),
    ("output_dir", "train.output_dir"),
    ("save_steps", "train.save_steps"),
    ("eval_steps", "train.eval_steps"),
    ("adapter", "model.adapter"),
    ("total_tokens", "sft.total_tokens"),
    ("sft_learning_rate", "sft.learning_rate"),
];

/// How many programs run at once. The numbers are the same whatever is chosen.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Programs")]
pub struct WorkerArgs {
    /// Worker threads that run programs while the model still writes
    #[arg(long, value_name = "N", value_parser = workers)]
    parallel_rewards: Option<u32>,
    /// Debug mode: no worker threads, everything in order
    #[arg(long, conflicts_with = "parallel_rewards")]
    sequential: bool,
}

/// A number of workers. 0 is refused, since playing without workers has a flag of its own.
fn workers(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("expected a whole number, at least 1; use --sequential to do without worker threads".into()),
        Ok(count) => Ok(count),
        Err(_) => Err("expected a whole number, at least 1".into()),
    }
}

/// Takes paths in UTF-8 alone: config.toml records them as text, and any other path would come back changed.
pub fn text_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|path| match path.into_string() {
        Ok(path) => Ok(PathBuf::from(path)),
        Err(_) => Err("a path that config.toml records must be UTF-8; rename it, or name it by a link"),
    })
}

/// Flags that were given, ready to be laid over the other layers.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    given: Vec<(&'static str, toml::Value)>,
}

/// Takes no arguments of its own, but reads those of its command. It has to be the first field of the command, because
/// reading a field removes its argument from the matches.
impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Flags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let defaults: toml::Table = DEFAULT_TOML.parse().expect("default.toml is TOML");
        let is_given = |name: &str| {
            let has = matches.try_contains_id(name).unwrap_or(false);
            has && matches.value_source(name) == Some(ValueSource::CommandLine)
        };
        for &(name, key) in KEYS.iter().filter(|(name, _)| is_given(name)) {
            let raw = matches.get_raw(name).into_iter().flatten().map(|raw| raw.to_string_lossy().into_owned());
            self.given.push((name, value_like(value_of(&defaults, key), raw.collect())));
        }
        Ok(())
    }
}

/// What was typed, as a value of the type of `default`. What cannot be read as that type stays text, which the
/// configuration refuses with the right message.
fn value_like(default: &toml::Value, typed: Vec<String>) -> toml::Value {
    let text = || toml::Value::String(typed.concat());
    match default {
        toml::Value::Array(_) => typed.into(),
        toml::Value::Boolean(_) => true.into(),
        // A flag without a value that sets a number sets it to 0.
        toml::Value::Integer(_) if typed == ["true"] => 0.into(),
        toml::Value::Integer(_) => typed.concat().parse::<i64>().map_or_else(|_| text(), toml::Value::Integer),
        toml::Value::Float(_) => typed.concat().parse::<f64>().map_or_else(|_| text(), toml::Value::Float),
        _ => text(),
    }
}

impl Flags {
    /// Takes the value of the argument `name` if it was given.
    ///
    /// # Panics
    /// When no key belongs to `name`: the table above is wrong then, whatever the user typed.
    pub fn add(&mut self, name: &str, value: Option<impl Into<toml::Value>>) -> &mut Self {
        let (name, _) = with_key(name).expect("an argument with a key");
        if let Some(value) = value {
            self.given.push((name, value.into()));
        }
        self
    }

    /// The same without the arguments `names`.
    pub fn without(mut self, names: &[&str]) -> Self {
        self.given.retain(|(name, _)| !names.contains(name));
        self
    }

    /// What the argument `name` was given last, where that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given.iter().rev().find(|(given, _)| *given == name).and_then(|(_, value)| value.as_str())
    }

    /// Whether the argument `name` was given.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// Lays the flags over `layers`.
    pub fn lay(&self, layers: &mut Layers) -> Result<(), ConfigError> {
        for (name, value) in &self.given {
            let origin = format!("--{}", name.replace('_', "-"));
            let (_, key) = with_key(name).expect("an argument with a key");
            layers.value(&origin, key, value.clone())?;
        }
        Ok(())
    }
}

/// The defaults of keys under the two presets that models have unless another is named.
pub struct Defaults {
    builtin: toml::Table,
    llm: toml::Table,
}

impl Defaults {
    pub fn read() -> Defaults {
        let table = |preset: &str| {
            let config = Config::preset(preset).expect("presets are tested");
            toml::Table::try_from(config).expect("a configuration is TOML")
        };
        Defaults { builtin: table("builtin"), llm: table("llm") }
    }
}

/// Ends the help of every argument in its default and its possible values, on the same line. The default of an argument
/// that stands for a key is one of `defaults`.
pub fn with_defaults(command: Command, defaults: &Defaults) -> Command {
    command.mut_args(|arg| {
        let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        // Some commands have a default of their own, and say so.
        let is_said = help.contains("[default: ");
        if let Some(default) = default_note(&arg, defaults).filter(|_| !is_said) {
            help.push_str(&format!(" [default: {default}]"));
        }
        let values: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if !values.is_empty() && arg.get_action().takes_values() {
            help.push_str(&format!(" [possible values: {}]", values.join(", ")));
        }
        // With this a value such as -3 is refused as out of range, and not as an unknown flag.
        arg.help(help).hide_default_value(true).hide_possible_values(true).allow_negative_numbers(true)
    })
}

fn default_note(arg: &Arg, defaults: &Defaults) -> Option<String> {
    let own: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !own.is_empty() {
        return arg.get_action().takes_values().then(|| own.join(","));
    }
    let (_, key) = with_key(arg.get_id().as_str()).filter(|_| arg.get_action().takes_values())?;
    let (ours, theirs) = (plain(value_of(&defaults.builtin, key)), plain(value_of(&defaults.llm, key)));
    match (ours.as_str(), ours == theirs) {
        ("" | "[]", _) => None,
        (_, true) => Some(ours),
        (_, false) => Some(format!("{ours}; llm: {theirs}")),
    }
}

/// A value as it is typed after a flag: text without quotes.
pub fn plain(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The value of a dotted key.
fn value_of<'a>(table: &'a toml::Table, key: &str) -> &'a toml::Value {
    let (section, name) = key.split_once('.').expect("keys are dotted");
    &table[section][name]
}

/// The argument `name` with its key, if it has one.
pub fn with_key(name: &str) -> Option<(&'static str, &'static str)> {
    KEYS.iter().copied().find(|(known, _)| *known == name)
}

/// The name of the argument that stands for a key, if one does.
pub fn argument_of(key: &str) -> Option<&'static str> {
    KEYS.iter().find(|(_, known)| *known == key).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn every_argument_stands_for_a_key_that_exists() {
        let table = toml::Table::try_from(Config::preset("builtin").unwrap()).unwrap();
        for (name, key) in KEYS {
            let (section, field) = key.split_once('.').unwrap();
            assert!(table[section].get(field).is_some(), "{name}: {key}");
        }
    }

    #[test]
    fn a_name_of_a_flag_in_place_of_a_key_is_answered_with_the_flag_by_commands_that_have_it_alone() {
        let (program, mut lacking) = (crate::cli::command(), 0);
        for command in program.get_subcommands() {
            let has = |id: &str| command.get_arguments().any(|argument| argument.get_id().as_str() == id);
            for (name, key) in KEYS.iter().filter(|_| has("set")) {
                let assignment = format!("{name}=1");
                // Without worker threads.
                let value = if *name == "sequential" { 0 } else { 1 };
                let words = ["grpo-2048", command.get_name(), "--set", &assignment];
                let error = program.clone().try_get_matches_from(words).err();
                let refused = error.filter(|error| error.kind() == ErrorKind::ValueValidation);
                match (refused, has(name)) {
                    (None, true) => {}
                    (Some(error), false) if error.to_string().contains(&format!("expected {key}={value}")) => {
                        lacking += 1;
                    }
                    (refused, _) => panic!("{words:?}: {refused:?}"),
                }
            }
        }
        assert!(lacking > 0);
    }

    #[test]
    fn every_such_argument_of_every_command_sets_its_key() {
        let mut found = 0;
        for command in crate::cli::command().get_subcommands() {
            let arguments =
                command.get_arguments().filter(|argument| KEYS.iter().any(|(id, _)| argument.get_id() == id));
            for argument in arguments.filter(|_| command.get_arguments().any(|argument| argument.get_id() == "set")) {
                let values = argument.get_possible_values();
                let value = values.first().map_or("1", |value| value.get_name());
                let long = format!("--{}", argument.get_long().unwrap());
                let mut words = vec!["grpo-2048", command.get_name(), &long];
                words.extend(argument.get_action().takes_values().then_some(value));
                words.extend(match command.get_name() {
                    "score" => &["player.py"][..],
                    "verify" => &["runs/train-001"],
                    "export" => &["--output-dir", "there"],
                    _ => &[],
                });
                let parsed = format!("{:?}", crate::cli::commands::Cli::try_parse_from(&words).unwrap());
                assert!(parsed.contains(&format!("given: [(\"{}\", ", argument.get_id())), "{words:?}: {parsed}");
                found += 1;
            }
        }
        assert!(found >= KEYS.len(), "{found}");
    }
}
