//! The sandbox and the arena, opened the way every command wants them.

use std::path::Path;

use grpo_sandbox::Sandbox;

use super::{CliError, near};
use crate::arena::{self, AnswersError, Arena, Rules, Workers};
use crate::config::Config;
use crate::environment::Environment;
use crate::metrics::Console;

/// How the sandbox came to be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// Compiled code was found.
    FromCache,
    /// It was compiled now.
    Compiled,
}

/// Opens the sandbox with the cache in `directory`; the first time on a machine it is compiled, which is said.
pub fn open_sandbox(directory: &Path, console: &Console) -> Result<(Sandbox, Opened), CliError> {
    let mut wait = None;
    let sandbox = Sandbox::open(directory, || {
        wait = Some(console.wait("compiling the Python sandbox, once: about 12 s"));
    })
    .map_err(CliError::run)?;
    Ok((sandbox, if wait.is_some() { Opened::Compiled } else { Opened::FromCache }))
}

/// The environment that `--env` names.
pub fn environment(config: &Config) -> Result<Environment, CliError> {
    let name = &config.environment.env;
    Environment::open(name)
        .map_err(|error| CliError::User { message: format!("--env {error}"), hint: near::path_hint(Path::new(name)) })
}

/// An arena with the environment, the workers and the limits of `config`.
pub fn open_arena(config: &Config, console: &Console) -> Result<Arena, CliError> {
    open_arena_and_sandbox(config, console).map(|(arena, _)| arena)
}

/// The same, with the sandbox in it, for who runs other programs beside.
pub fn open_arena_and_sandbox(config: &Config, console: &Console) -> Result<(Arena, Sandbox), CliError> {
    let mut environment = environment(config)?;
    let cache = Sandbox::default_cache_dir().map_err(CliError::run)?;
    let (sandbox, _) = open_sandbox(&cache, console)?;
    let rules = Rules::new(&config.sandbox, &config.arena);
    let wait = console.wait(&format!("reading {}", environment.name()));
    arena::complete(&sandbox, &mut environment, &rules, config.arena.parallel_rewards).map_err(|error| match error {
        AnswersError::Reference { .. } => CliError::user_hint(
            format!("--env {error}"),
            "where a task has `inputs`, its reference computes the answers; mend it, or write the answers as `tests`",
        ),
        AnswersError::Machine(_) => CliError::run(error),
    })?;
    drop(wait);
    let workers = Workers::new(config.arena.parallel_rewards);
    Ok((Arena::new(sandbox.clone(), environment, rules, workers).map_err(CliError::run)?, sandbox))
}
