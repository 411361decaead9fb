//! The sandbox and the arena, opened the way every command wants them.

use std::path::Path;

use grpo_sandbox::{Sandbox, TierChoice};

use crate::arena::{self, Arena, ArenaError, Rules, Unanswering};
use crate::cli::said::{CliError, near};
use crate::config::{Config, Layers, SandboxConfig, Tier};
use crate::environment::Environment;
use crate::metrics::Console;

/// Games of a program where nobody says how many.
pub const GAMES: u32 = 10;

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

/// The sandbox with the tiers that a configuration asks for.
pub fn in_tiers(sandbox: &Sandbox, config: &SandboxConfig) -> Sandbox {
    let choice = match config.tier {
        Tier::Auto => TierChoice::Auto,
        Tier::Compiled => TierChoice::Compiled,
        Tier::Interpreter => TierChoice::Interpreter,
    };
    sandbox.with_tiers(choice, config.check_one_in)
}

/// The environment that `--env` names.
pub fn environment(config: &Config) -> Result<Environment, CliError> {
    let name = &config.environment.env;
    Environment::open(name)
        .map_err(|error| CliError::User { message: format!("--env {error}"), hint: near::path_hint(Path::new(name)) })
}

/// The steps of `num_train_epochs` of a TRL file, where nothing else says how many there are.
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
    // Like TRL, which leaves out the prompts that do not fill a step.
    let steps = (epochs * (tasks / groups).max(1) as f64).ceil().max(1.0);
    layers.count_epochs(steps as usize, format!("{epochs} passes over {tasks} tasks, {groups} a step"))?;
    Ok(layers)
}

/// An arena with the environment, the workers and the limits of `config`.
pub fn open(config: &Config, console: &Console) -> Result<Arena, CliError> {
    open_with_sandbox(config, console).map(|(arena, _)| arena)
}

/// The same, with the sandbox in it, for who runs other programs beside.
pub fn open_with_sandbox(config: &Config, console: &Console) -> Result<(Arena, Sandbox), CliError> {
    let Unchecked { arena, sandbox, unanswering } = open_unchecked(config, environment(config)?, console)?;
    match unanswering.as_slice() {
        [] => Ok((arena, sandbox)),
        [first, others @ ..] => {
            let more = if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
            Err(CliError::user_hint(
                format!("--env {first}{more}"),
                "where a task has `inputs`, its reference computes the answers; `grpo-2048 check` tells of all that fail",
            ))
        }
    }
}

/// Refuses flags that are about games where programs are tried on tasks: each flag, and whether it was given.
pub fn refuse_on_tasks(arena: &Arena, config: &Config, flags: &[(&str, bool)]) -> Result<(), CliError> {
    match flags.iter().find(|(_, is_given)| *is_given).filter(|_| arena.environment().has_tests()) {
        None => Ok(()),
        Some((flag, _)) => Err(CliError::user_hint(
            format!("{flag} with --env {}", config.environment.env),
            "a task is no game: its tests are always the same",
        )),
    }
}

/// An arena for an environment that may be out of order.
pub struct Unchecked {
    pub arena: Arena,
    /// The one in it.
    pub sandbox: Sandbox,
    /// References of tasks that do not give the answers they should.
    pub unanswering: Vec<Unanswering>,
}

/// Opens an arena whatever is wrong with the references of its tasks.
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
    let rules = Rules::new(&config.sandbox, &config.arena);
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
    Ok(Unchecked { arena, sandbox, unanswering })
}
