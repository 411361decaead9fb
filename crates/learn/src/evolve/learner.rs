//! Updates between rounds: the policy learns from what it wrote, on the one problem that is searched.
//!
//! Source: TTT-Discover (2026), with `grpo.scale_rewards = "entropic"`; the settings of `grpo` say what an update is.

use std::path::Path;

use crate::config::Config;
use crate::files::{self, PARTIAL};
use crate::groups::Groups;
use crate::grpo::{self, Batch, Division, EntropyController, Optimizer};
use crate::metrics::Event;
use crate::policy::Policy;
use crate::prompt::Prompt;
use crate::seed::{Purpose, Seed};
use crate::train::checkpoint::OPTIMIZER;
use crate::train::memory::{Allowance, MemoryPlan, Workload};
use crate::train::reference::Reference;
use crate::train::run_dir::{self, CHECKPOINT, RunDirError};
use crate::train::{Episode, TrainError, optimizer};

use super::error::EvolveError;

/// What updates between rounds work with, beside the policy.
pub(super) struct Learner {
    optimizer: Optimizer,
    reference: Option<Reference>,
    /// How updates are divided. A search that goes on has the same, because another would round differently.
    pub division: Division,
    /// The weight of the entropy bonus, which follows the entropy where `grpo.entropy_target` asks for it, as in training.
    pub entropy: EntropyController,
}

/// The completions of a round, as an update reads them.
pub(super) struct Written<'a> {
    pub prompts: &'a [Prompt],
    pub episodes: &'a Groups<Episode>,
    /// Number of the round, from 1.
    pub round: usize,
    pub rounds: usize,
    pub seed: Seed,
}

impl Learner {
    /// Prepares updates of `policy`, which is as it was before the search, divided so that prompts of at most `longest`
    /// tokens fit into the memory that may be used.
    pub fn new(
        policy: &Policy,
        config: &Config,
        longest: usize,
        allowance: Option<&Allowance>,
        had: Option<Division>,
    ) -> Result<Learner, TrainError> {
        let set = config.memory_limit();
        let limit = set.or(allowance.map(|allowance| allowance.bytes));
        let plan = match MemoryPlan::fitting(&Workload::of(policy, config, longest), limit, had) {
            // A limit that nobody set is an estimate, as in training.
            Err(too_small) if set.is_none() => *too_small.smallest,
            plan => plan?,
        };
        let reference = Reference::of(policy, config)?;
        let (optimizer, entropy) = (optimizer(policy, config)?, EntropyController::default());
        Ok(Learner { optimizer, reference, division: plan.division, entropy })
    }

    /// Updates the policy with a round. Returns its entropy before the update, in nats per token; none if no completion was
    /// better than its group, from which nothing can be learnt.
    pub fn learn(
        &mut self,
        policy: &Policy,
        config: &Config,
        written: &Written<'_>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<f64>, TrainError> {
        let Written { prompts, episodes, round, rounds, seed } = *written;
        let rewards = episodes.each_ref().map(|episode| episode.returns.clone());
        let learnt = grpo::learnt_from(&rewards.each_ref().map(|turns| turns[0]), &config.grpo);
        let advantages = grpo::advantages(&learnt.clone().map(|place| rewards.items()[place].clone()), &config.grpo);
        let completions = learnt.map(|place| episodes.items()[place].trajectory());
        let settings = self.entropy.settings(&config.grpo);
        let batch = Batch::new(prompts, completions, advantages, &config.rollout, &settings)
            .divided(self.division)
            .with_dropout(policy, seed.child(Purpose::Dropout, 0));
        let batch = Reference::added(self.reference.as_ref(), batch, policy)?;
        let learning_rate = grpo::learning_rate(&config.grpo, round - 1, rounds);
        let mut updating = |done, total| observer(Event::Updating { done, total });
        let stats = grpo::update(policy, &mut self.optimizer, &batch, learning_rate, &mut updating)?;
        Ok(stats.map(|stats| {
            self.division = stats.division;
            self.entropy.observe(stats.entropy, &config.grpo);
            stats.entropy
        }))
    }

    /// Writes what `policy` has become after a round, completely or not at all.
    pub fn save(&self, dir: &Path, policy: &Policy, round: usize) -> Result<(), EvolveError> {
        // One of a round that is made again, because its database was never written, is replaced.
        run_dir::write_whole_dir(dir, &checkpoint(round), |filled| {
            policy.save(filled).map_err(TrainError::from)?;
            self.optimizer.save(&filled.join(OPTIMIZER)).map_err(TrainError::from)?;
            Ok::<_, EvolveError>(())
        })?;
        Ok(())
    }

    /// Sets `policy` to what it was after a round.
    pub fn restore(&mut self, dir: &Path, policy: &mut Policy, round: usize) -> Result<(), EvolveError> {
        let saved = dir.join(checkpoint(round));
        if let Some(reason) = run_dir::altered(&saved)? {
            return Err(EvolveError::Damaged { path: saved, reason });
        }
        policy.restore(&saved).map_err(TrainError::from)?;
        self.optimizer.restore(&saved.join(OPTIMIZER)).map_err(TrainError::from)?;
        Ok(())
    }
}

/// The name of the directory of the policy after a round.
fn checkpoint(round: usize) -> String {
    format!("{CHECKPOINT}{round}")
}

/// Removes the policies of other rounds, once that of `round` and its database are written, and what a killed process left
/// incomplete.
pub(super) fn forget(dir: &Path, round: usize) -> Result<(), RunDirError> {
    let newest = dir.join(checkpoint(round));
    for path in run_dir::paths(dir)? {
        let is_partial = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PARTIAL));
        if path.is_dir() && path != newest && (run_dir::step_of(&path).is_some() || is_partial) {
            files::remove_rest(&path).map_err(RunDirError::io(&path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::config::GrpoConfig;
    use crate::fixture::{prompts, rollout_config, tiny_policy};
    use crate::rollout::{FinishReason, generate};
    use crate::train::{Turn, fixture};

    /// The entropy of a round, the controller after it, and the weights that it led to. `entropy`: the controller before it.
    fn learnt(grpo: &GrpoConfig, entropy: EntropyController) -> (f64, EntropyController, BTreeMap<String, Vec<f32>>) {
        let (policy, prompts) = (tiny_policy(), prompts());
        let mut config = Config::preset("builtin").unwrap();
        (config.rollout, config.grpo) = (rollout_config(4, 12), grpo.clone());
        let completions = generate(&policy, &prompts, &config.rollout, Seed::root(9), &mut |_| ()).unwrap();
        let episodes = completions.map(|completion| {
            let value = [0.9, 0.1, 0.3, 0.2][completion.id.index % 4];
            fixture::alone(Turn { completion, ..fixture::turn(value, FinishReason::Stop) })
        });
        let written = Written { prompts: &prompts, episodes: &episodes, round: 1, rounds: 2, seed: Seed::root(1) };
        let mut learner = Learner::new(&policy, &config, 16, None, None).unwrap();
        learner.entropy = entropy;
        let of_round = learner.learn(&policy, &config, &written, &mut |_| ()).unwrap().unwrap();
        let weights = policy.trainable().iter().map(|(name, var)| {
            let numbers = var.as_tensor().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            (name.clone(), numbers)
        });
        (of_round, learner.entropy, weights.collect())
    }

    #[test]
    fn a_search_goes_on_only_from_weights_that_are_as_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let (mut policy, config) = (tiny_policy(), Config::preset("builtin").unwrap());
        let mut learner = Learner::new(&policy, &config, 16, None, None).unwrap();
        learner.save(dir.path(), &policy, 1).unwrap();
        learner.restore(dir.path(), &mut policy, 1).unwrap();
        let optimizer = dir.path().join(checkpoint(1)).join(OPTIMIZER);
        let mut bytes = fs::read(&optimizer).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&optimizer, bytes).unwrap();
        let refused = learner.restore(dir.path(), &mut policy, 1).unwrap_err().to_string();
        assert!(refused.contains("checkpoint-1: optimizer.safetensors is not what was written; "), "{refused}");
    }

    #[test]
    fn the_entropy_bonus_of_a_search_follows_its_entropy_as_in_training() {
        let grpo = GrpoConfig {
            entropy_coef: 0.0,
            entropy_target: 0.5,
            entropy_coef_step: 0.4,
            entropy_coef_max: 0.5,
            learn_from_best: 0,
            learn_from_worst: 0,
            ..Config::preset("builtin").unwrap().grpo
        };
        let (entropy, first, without) = learnt(&grpo, EntropyController::default());
        assert_eq!(first.target(&grpo), Some(0.5 * entropy), "half of that of the first round");
        // Far below the target the bonus has grown by one step, and the next update has it.
        let mut low = first;
        low.observe(0.0, &grpo);
        assert_eq!(low.coefficient(&grpo), 0.4);
        let (_, after, with) = learnt(&grpo, low);
        assert!(with != without, "the bonus moves weights");
        let fixed = GrpoConfig { entropy_coef: 0.4, entropy_target: 0.0, ..grpo.clone() };
        assert!(learnt(&fixed, EntropyController::default()).2 == with, "as one of that weight");
        // The entropy of this round is far above the target, so that it falls again.
        assert_eq!((after.target(&grpo), after.coefficient(&grpo)), (first.target(&grpo), 0.0));
    }
}
