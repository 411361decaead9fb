//! The model and the prompts, loaded the way every command wants them.

use candle_core::{Device, DeviceLocation};

use super::CliError;
use crate::config::Config;
use crate::metrics::Console;
use crate::policy::{Policy, PolicyError};
use crate::prompt::{PromptKind, PromptSet};
use crate::seed::{Purpose, Seed};

/// The device that `--device` names.
pub fn device(name: &str) -> Result<Device, CliError> {
    let allowed = "expected \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"";
    let index = match name {
        "auto" => return Device::cuda_if_available(0).map_err(CliError::run),
        "cpu" => return Ok(Device::Cpu),
        "cuda" => Some(0),
        _ => name.strip_prefix("cuda:").and_then(|index| index.parse().ok()),
    };
    let index = index.ok_or_else(|| CliError::user_hint(format!("--device {name}: unknown device"), allowed))?;
    if !cfg!(feature = "cuda") {
        let hint = "build with `--features cuda`, or use --device cpu";
        return Err(CliError::user_hint(format!("--device {name}: this program was built without CUDA"), hint));
    }
    Device::new_cuda(index).map_err(|error| CliError::user(format!("--device {name}: {error}")))
}

/// A device in words.
pub fn device_name(device: &Device) -> String {
    match device.location() {
        DeviceLocation::Cpu => "cpu".to_owned(),
        DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    }
}

/// The model of `config`. Almost everything that can be wrong with one is a file the user named.
pub fn policy(config: &Config, device: &Device) -> Result<Policy, CliError> {
    let seed = Seed::root(config.train.seed).child(Purpose::Init, 0);
    Policy::load(&config.model, seed, device).map_err(|error| match error {
        PolicyError::Tensor(_) => CliError::run(error),
        other => CliError::user(format!("--model {}: {other}", config.model.model)),
    })
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
