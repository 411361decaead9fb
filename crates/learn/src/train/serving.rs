//! Checks before a run starts that vLLM servers hold the same model as the trainer.

use std::path::Path;

use crate::config::{Config, GrpoConfig, GuardConfig};
use crate::groups::Groups;
use crate::grpo::{self, Batch};
use crate::metrics::StepRecord;
use crate::policy::{Adapters, Policy};
use crate::prompt::{Prompt, PromptSet};
use crate::rollout::{Completion, Probed, RolloutError, ServerFault, Servers};

use super::guard::Guard;
use super::{Run, TrainError};

/// Mean absolute difference of log-probabilities, in nats per token, from which a server is taken to hold another
/// model, over as many tokens as are asked for. Different number formats and kernels cause some hundredths; other weights or
/// another temperature cause a tenth or more, and weights that are near to these hardly more than that.
const ANOTHER_MODEL: f32 = 0.1;

/// Has every server sample short completions without an adapter, and refuses a server whose log-probabilities differ by
/// [`ANOTHER_MODEL`] or more from those of `policy` without its adapters, in the mean over all their tokens.
pub(crate) fn compare(
    servers: &Servers,
    policy: &Policy,
    prompts: &[Prompt],
    config: &Config,
) -> Result<(), TrainError> {
    for Probed { server, prompts, completions } in servers.probe(policy, prompts, &config.rollout)? {
        let theirs: Vec<f32> = completions.iter().flat_map(|completion| completion.logprobs.clone()).collect();
        let ours = scored(policy, &prompts, &completions, config)?;
        let pairs = ours.iter().zip(&theirs);
        let difference = pairs.map(|(ours, theirs)| (ours - theirs).abs()).sum::<f32>() / ours.len() as f32;
        // A difference that is not a number counts as another model too.
        if !matches!(difference.partial_cmp(&ANOTHER_MODEL), Some(std::cmp::Ordering::Less)) {
            let found = format!(
                "log-probabilities differ from those of {} by {difference:.3} nats a token, expected less than \
                 {ANOTHER_MODEL}",
                config.model.model
            );
            let hint = "serve the same weights (`grpo-2048 export --merge` writes them for a server); where \
                        rollout.temperature is not 1, with --logprobs-mode processed_logprobs";
            let fault = ServerFault { server, found, hint: hint.into() };
            return Err(TrainError::Rollout(RolloutError::Unfit(fault)));
        }
    }
    Ok(())
}

/// Log-probabilities of the tokens of a completion of each prompt, in nats, under the policy without its adapters.
fn scored(
    policy: &Policy,
    prompts: &[Prompt],
    completions: &[Completion],
    config: &Config,
) -> Result<Vec<f32>, TrainError> {
    let grpo = GrpoConfig { mask_truncated_completions: false, ..config.grpo.clone() };
    let (advantages, each) = (vec![1.0; completions.len()], Groups::new(1, completions.iter().collect()));
    let batch = Batch::new(prompts, each, Groups::new(1, advantages), &config.rollout, &grpo);
    Ok(grpo::reference_logprobs(policy.decoder(), Adapters::Off, &batch)?.concat())
}

impl Run<'_> {
    /// The servers that `config` names, if it names any.
    pub fn servers(config: &Config, prompts: &PromptSet) -> Result<Option<Servers>, TrainError> {
        let longest = prompts.prompts().iter().map(|prompt| prompt.ids.len()).max().unwrap_or(0);
        Ok(Servers::open(&config.rollout, longest)?)
    }

    /// Refuses a directory in which no adapter can be written, and servers of another model, as [`compare`] does. Only the first
    /// process asks, and writes.
    pub(super) fn compare_servers(&self) -> Result<(), TrainError> {
        match &self.servers {
            Some(servers) if self.peers.leads() => {
                servers.check_adapter_dir()?;
                compare(servers, self.policy, self.prompts.prompts(), self.config)
            }
            _ => Ok(()),
        }
    }

    /// Sets the directory where adapters for the servers are written.
    pub(super) fn keep_adapters_in(&mut self, run: &Path) {
        if let (Some(servers), true) = (&mut self.servers, self.peers.leads()) {
            servers.keep_adapters_in(run);
        }
    }

    /// The guard of the run, after `records`. With servers it tolerates a larger difference between the
    /// log-probabilities of sampling and of scoring.
    pub(super) fn guard(&self, records: &[StepRecord]) -> Guard {
        let mut config: GuardConfig = self.config.guard.clone();
        if self.servers.is_some() {
            config.warn_logp_difference = config.warn_server_logp_difference;
        }
        let pass = match self.arena.environment().has_tests() {
            true => self.prompts.prompts().len().div_ceil(self.config.rollout.groups),
            false => 1,
        };
        Guard::new(&config, pass, records)
    }
}
