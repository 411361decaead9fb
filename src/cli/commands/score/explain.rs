//! `score --explain`: which programs are compiled, and why the others are interpreted.

use std::path::Path;

use grpo_sandbox::{HostError, Sandbox, TierChoice};

use crate::arena::{Arena, ArenaError, Rules, Workers};
use crate::cli::opened::arena;
use crate::cli::said::CliError;
use crate::config::Config;
use crate::environment::Case;
use crate::program::{Program, Rejection};

pub(super) struct Subject<'a> {
    pub path: &'a Path,
    pub program: Result<Program, Rejection>,
    pub cases: Vec<Case>,
    /// Whether it is a function, and not a whole program that reads and prints.
    pub is_function: bool,
}

/// One line for each program. Compiled programs are played too, since they may be given up for the interpreter at play.
pub(super) fn lines(sandbox: &Sandbox, config: &Config, subjects: &[Subject<'_>]) -> Result<String, CliError> {
    let compiled = sandbox.with_tiers(TierChoice::Compiled, 0);
    let rules = Rules::new(&config.sandbox, &config.arena);
    let arena = Arena::new(compiled, arena::environment(config)?, rules, Workers::Inline).map_err(CliError::run)?;
    let mut lines = String::new();
    for Subject { path, program, cases, is_function } in subjects {
        let said = match program {
            Err(rejection) => rejection.to_string(),
            Ok(_) if !is_function => "interpreted: a program that reads and prints".into(),
            Ok(program) => match sandbox.outside(program.source()).map_err(CliError::run)? {
                Some(outside) => format!("interpreted: {outside}"),
                None => played(&arena, program, cases)?,
            },
        };
        lines.push_str(&format!("{}: {said}\n", path.display()));
    }
    Ok(lines)
}

/// Whether a program stays compiled while it is played.
fn played(arena: &Arena, program: &Program, cases: &Vec<Case>) -> Result<String, CliError> {
    match arena.evaluate_all([(Ok(program.clone()), cases.as_slice())], &mut |_, _| ()) {
        Ok(_) => Ok("compiled".into()),
        Err(ArenaError::Host { source: HostError::LeftTier(reason), .. }) => {
            Ok(format!("compiled, but given up for the interpreter while it runs: {reason}"))
        }
        Err(error) => Err(CliError::run(error)),
    }
}
