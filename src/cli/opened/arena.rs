//! Opens the environment, the sandbox and the arena of a configuration.

use std::path::Path;

use grpo_sandbox::{Sandbox, TierChoice};

use super::rows;
use crate::arena::{self, Arena, ArenaError, Rules, Unanswering};
use crate::cli::arguments::Base;
use crate::cli::said::{CliError, SPECIAL_HINT, near};
use crate::config::{Config, Layers, SandboxConfig, Tier};
use crate::environment::{Environment, EnvironmentError};
use crate::metrics::Console;
use crate::reward::Rule;
use crate::shell;

/// Games of each program in `score` and `judge`, unless the user says how many.
pub const GAMES: Base<'_> = Base { name: "score and judge", settings: "[arena]\ngames = 10\n" };

/// Whether machine code for the sandbox was there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// It was in the cache.
    FromCache,
    /// It has been compiled now.
    Compiled,
}

/// Opens the sandbox with the cache in `directory`. The first time on a machine it is compiled, and a message says so.
pub fn open_sandbox(directory: &Path, console: &Console) -> Result<(Sandbox, Opened), CliError> {
    let mut wait = None;
    let sandbox = Sandbox::open(directory, || {
        wait = Some(console.wait("compiling the Python sandbox, once: about 12 s"));
    })
    .map_err(CliError::run)?;
    Ok((sandbox, if wait.is_some() { Opened::Compiled } else { Opened::FromCache }))
}

pub fn in_tiers(sandbox: &Sandbox, config: &SandboxConfig) -> Sandbox {
    let choice = match config.tier {
        Tier::Auto => TierChoice::Auto,
        Tier::Compiled => TierChoice::Compiled,
        Tier::Interpreter => TierChoice::Interpreter,
    };
    sandbox.with_tiers(choice, config.check_one_in)
}

/// The environment that `--env` names, if the settings of the reward suit it.
pub fn environment(config: &Config) -> Result<Environment, CliError> {
    let name = &config.environment.env;
    let environment = Environment::open(name).map_err(|error| {
        let path = Path::new(name);
        let of_path = || near::path_hint(path);
        let hint = match &error {
            EnvironmentError::Special { .. } => Some(SPECIAL_HINT.to_owned()),
            EnvironmentError::Unknown { .. } => {
                let of_hub = "is it a data set of the Hub? `grpo-2048 tasks convert` makes tasks of its file of rows";
                let of_hub = || looks_like_data_set(name).then(|| of_hub.to_owned());
                of_path().or_else(|| table_hint(path)).or_else(of_hub)
            }
            EnvironmentError::Tasks(tasks) => match tasks.of_other_columns() {
                Some(path) if are_completions(path) => {
                    Some("that holds completions; --env names the tasks that they answer".to_owned())
                }
                Some(path) => Some(rows_hint(path)),
                None => of_path(),
            },
            _ => of_path(),
        };
        CliError::User { message: format!("--env {error}"), hint }
    })?;
    Rule::check(&config.reward, &environment)?;
    Ok(environment)
}

/// What to do about a file that may hold rows, in a form that is no file of tasks. Tasks themselves may stand in it too.
fn table_hint(path: &Path) -> Option<String> {
    match path.extension().filter(|_| path.is_file())?.to_str()? {
        "csv" | "tsv" => Some(rows::CSV_HINT.to_owned()),
        "gz" | "json" | "parquet" => {
            Some(format!("tasks are lines of JSON, in a file that ends in .jsonl; {}", rows_hint(path)))
        }
        _ => None,
    }
}

/// Whether the first line is what `judge` judges.
fn are_completions(path: &Path) -> bool {
    let text = std::fs::read(path).unwrap_or_default();
    let first = serde_json::from_slice::<serde_json::Value>(crate::files::lines(&text)[0]);
    first.is_ok_and(|row| ["id", "completion"].iter().all(|key| row.get(key).is_some()) && row.get("prompt").is_none())
}

/// What makes tasks of the rows of a table.
fn rows_hint(path: &Path) -> String {
    format!(
        "`grpo-2048 tasks convert {}` makes tasks of rows, by the columns of public data sets; docs/tasks.md has the lines of \
         Python for a table of your own",
        shell::path(path.display())
    )
}

/// Whether a name is `owner/name`, as those of data sets are.
fn looks_like_data_set(name: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    name.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}

/// Turns `num_train_epochs` of a TRL file into steps, unless something else sets their number.
pub fn count_epochs(mut layers: Layers) -> Result<Layers, CliError> {
    let Some((epochs, origin)) = layers.epochs().map(|(epochs, origin)| (epochs, origin.to_owned())) else {
        return Ok(layers);
    };
    let config = layers.clone().resolve()?;
    let groups = config.rollout.groups;
    let Some(tasks) = environment(&config)?.tasks().map(|tasks| tasks.trained()) else {
        return Err(CliError::user_hint(
            format!("{origin} = {epochs}: {} has no tasks that could be passed over", config.environment.env),
            "say max_steps in the file, or --steps N",
        ));
    };
    // TRL drops the last prompts of an epoch where they do not fill a step.
    let steps = (epochs * (tasks / groups).max(1) as f64).ceil().max(1.0);
    layers.count_epochs(steps as usize, format!("{epochs} passes over {tasks} tasks, {groups} a step"))?;
    Ok(layers)
}

/// An arena with the environment, the workers and the limits of `config`.
pub fn open(config: &Config, console: &Console) -> Result<Arena, CliError> {
    open_with_sandbox(config, console).map(|(arena, _)| arena)
}

/// The same, together with its sandbox, in which the caller runs programs of its own.
pub fn open_with_sandbox(config: &Config, console: &Console) -> Result<(Arena, Sandbox), CliError> {
    let Unchecked { arena, sandbox, unanswering } = open_unchecked(config, environment(config)?, console)?;
    match unanswering.as_slice() {
        [] => Ok((arena, sandbox)),
        [first, others @ ..] => {
            let more = if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
            Err(CliError::user_hint(
                format!("--env {first}{more}"),
                format!(
                    "where a task has `inputs`, its reference computes the answers; \
                     `grpo-2048 check --env {} --keep FILE` tells of all that fail, and writes the other tasks to FILE",
                    shell::path(&config.environment.env)
                ),
            ))
        }
    }
}

/// The error of opening an environment, for a command that has no `--env`.
pub fn without_flag(error: CliError) -> CliError {
    match error {
        CliError::User { message, hint } => {
            CliError::User { message: message.strip_prefix("--env ").unwrap_or(&message).to_owned(), hint }
        }
        other => other,
    }
}

/// Refuses flags about games in an environment of tasks. `flags` has each flag with whether it was given.
pub fn refuse_on_tasks(arena: &Arena, config: &Config, flags: &[(&str, bool)]) -> Result<(), CliError> {
    match flags.iter().find(|(_, is_given)| *is_given).filter(|_| arena.environment().has_tests()) {
        None => Ok(()),
        Some((flag, _)) => Err(CliError::user_hint(
            format!("{flag} with --env {}", config.environment.env),
            "a task is no game: its tests are always the same",
        )),
    }
}

/// An arena whose environment may have wrong references.
pub struct Unchecked {
    pub arena: Arena,
    /// The sandbox that the arena plays in.
    pub sandbox: Sandbox,
    /// References that give no answers to the inputs of their tasks.
    pub unanswering: Vec<Unanswering>,
}

/// Opens an arena even where references of its tasks are wrong.
pub fn open_unchecked(config: &Config, environment: Environment, console: &Console) -> Result<Unchecked, CliError> {
    let cache = Sandbox::default_cache_dir().map_err(CliError::run)?;
    let (sandbox, _) = open_sandbox(&cache, console)?;
    unchecked_in(sandbox, config, environment, console).map_err(CliError::run)
}

/// The same in a sandbox that is open.
pub fn unchecked_in(
    sandbox: Sandbox,
    config: &Config,
    mut environment: Environment,
    console: &Console,
) -> Result<Unchecked, ArenaError> {
    let sandbox = in_tiers(&sandbox, &config.sandbox);
    let rules = Rules::of(config);
    let wait = environment.has_tests().then(|| console.wait(&format!("reading {}", environment.name())));
    let (threads, most) = (config.arena.parallel_rewards.threads(), arena::workers_max(&environment));
    if threads > most {
        let env = environment.name();
        console.print(&format!(
            "warning: arena.parallel_rewards = {threads}: the sandbox has room for {most} in {env}, which play"
        ));
    }
    let unanswering = arena::complete(&sandbox, &mut environment, &rules, threads)?;
    drop(wait);
    let arena = Arena::new(sandbox.clone(), environment, rules, config.arena.parallel_rewards)?;
    let arena = arena.on_difference(config.sandbox.on_difference);
    Ok(Unchecked { arena, sandbox, unanswering })
}
