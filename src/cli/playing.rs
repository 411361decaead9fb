//! The sandbox and the arena, opened the way every command wants them.

use std::path::Path;

use grpo_sandbox::Sandbox;

use super::CliError;
use crate::arena::{Arena, Rules, Workers};
use crate::config::Config;
use crate::metrics::Console;

/// Opens the sandbox; the first time on a machine it is compiled, which is said.
pub fn open_sandbox(console: &Console) -> Result<Sandbox, CliError> {
    let cache = Sandbox::default_cache_dir().map_err(CliError::run)?;
    open_sandbox_in(&cache, console)
}

/// The same, with the cache in `directory`.
pub fn open_sandbox_in(cache: &Path, console: &Console) -> Result<Sandbox, CliError> {
    let mut wait = None;
    Sandbox::open(cache, || wait = Some(console.wait("compiling the Python sandbox, once: about 12 s")))
        .map_err(CliError::run)
}

/// An arena with the workers and the limits of `config`.
pub fn open_arena(config: &Config, console: &Console) -> Result<Arena, CliError> {
    let rules = Rules::new(&config.sandbox, &config.arena);
    Arena::new(open_sandbox(console)?, rules, Workers::new(config.arena.parallel_rewards)).map_err(CliError::run)
}
