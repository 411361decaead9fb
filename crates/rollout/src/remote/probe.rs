//! What servers are asked before a run starts: completions by which the model that they serve is compared with the trainer's, and
//! a directory for adapters.

use crate::config::RolloutConfig;
use crate::policy::Policy;
use crate::prompt::Prompt;
use crate::seed::Seed;

use super::super::{Completion, CompletionId, RolloutError};
use super::{Request, Server, Servers};

/// Maximum number of tokens of a completion by which a server's weights are compared with the trainer's.
const PROBE_TOKENS: usize = 32;
/// Number of tokens by which they are compared, of several completions: any model is sure of some tokens, such as those of an
/// easy program, so that few of them do not tell one from another.
const PROBE_ENOUGH: usize = 128;
/// Maximum number of these completions.
const PROBES: usize = 8;

/// What a server has sampled without an adapter before the run starts.
#[derive(Debug)]
pub struct Probed {
    /// The address of the server.
    pub server: String,
    /// The prompt of each completion.
    pub prompts: Vec<Prompt>,
    pub completions: Vec<Completion>,
}

impl Servers {
    /// Refuses a directory that is named for adapters and in which none can be written, before there is one to write. Leaves
    /// nothing behind.
    ///
    /// # Errors
    /// [`RolloutError::AdapterDir`], or [`RolloutError::Adapter`] where the disk is full.
    pub fn check_adapter_dir(&self) -> Result<(), RolloutError> {
        self.dir.check()
    }

    /// Has each server sample short completions without an adapter, by seeds of their own, of prompts that are spread over
    /// `prompts`.
    ///
    /// # Errors
    /// [`RolloutError::Unfit`] if a server does not answer with a completion.
    pub fn probe(
        &self,
        policy: &Policy,
        prompts: &[Prompt],
        config: &RolloutConfig,
    ) -> Result<Vec<Probed>, RolloutError> {
        let longest = PROBE_TOKENS.min(config.max_completion_length);
        // Completions are sampled from the whole distribution.
        let whole = RolloutConfig { top_p: 1.0, top_k: 0, min_p: 0.0, ..config.clone() };
        let config = RolloutConfig { max_completion_length: longest, ..whole };
        // The first prompts alone may all be easy.
        let spread = prompts.iter().step_by(prompts.len().div_ceil(PROBES).max(1));
        let asked: Vec<&Prompt> = spread.cycle().take(PROBES).collect();
        let probe = |server: &Server| {
            let mut probed = Probed { server: server.url.clone(), prompts: Vec::new(), completions: Vec::new() };
            for (index, prompt) in asked.iter().enumerate() {
                let request = Request { policy, config: &config, prompt, id: CompletionId::new(Seed::root(0), index) };
                let answered = request.ask(&self.client, server, &server.model);
                let completion = answered.map_err(|fault| RolloutError::Unfit(fault.of(&server.url)))?;
                probed.prompts.push((*prompt).clone());
                probed.completions.push(completion);
                if probed.completions.iter().map(|completion| completion.ids.len()).sum::<usize>() >= PROBE_ENOUGH {
                    break;
                }
            }
            Ok(probed)
        };
        self.servers.iter().map(probe).collect()
    }
}
