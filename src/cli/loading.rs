//! The model and the prompts, loaded the way every command wants them.

use std::path::Path;

use super::{CliError, near};
use crate::config::Config;
use crate::metrics::Console;
use crate::policy::{self, Device, Policy, PolicyError};
use crate::prompt::{PromptKind, PromptSet};
use crate::seed::{Purpose, Seed};

/// The device that `--device` names.
pub fn device(name: &str) -> Result<Device, CliError> {
    policy::open_device(name).map_err(|error| CliError::user(format!("--device {name}: {error}")))
}

/// The model of `config`. Almost everything that can be wrong with one is a file the user named.
pub fn policy(config: &Config, device: &Device) -> Result<Policy, CliError> {
    policy_of("--model", config, device)
}

/// The model of `config`, which the user named with `flag`.
pub fn policy_of(flag: &str, config: &Config, device: &Device) -> Result<Policy, CliError> {
    let seed = Seed::root(config.train.seed).child(Purpose::Init, 0);
    Policy::load(&config.model, seed, device).map_err(|error| model_error(flag, config, error))
}

/// What is wrong with the model of `config`, which the user named with `flag`.
pub fn model_error(flag: &str, config: &Config, error: PolicyError) -> CliError {
    match error {
        PolicyError::Tensor(_) => CliError::run(error),
        other => {
            let adapter = Path::new(&config.model.adapter);
            let hint = near::model_hint(&config.model.model).or_else(|| near::path_hint(adapter));
            CliError::User { message: format!("{flag} {}: {other}", config.model.model), hint }
        }
    }
}

/// The same, saying so while it takes a while.
pub fn policy_shown(config: &Config, device: &Device, console: &Console) -> Result<Policy, CliError> {
    let _wait = (config.model.model != "builtin").then(|| console.wait(&format!("loading {}", config.model.model)));
    policy(config, device)
}

/// The prompts that suit the model.
pub fn prompts(config: &Config, policy: &Policy) -> Result<PromptSet, CliError> {
    let kind = PromptKind::of(policy.tokenizer(), config.model.raw_prompt);
    PromptSet::load(kind, policy.tokenizer()).map_err(CliError::run)
}
