//! The number of parts of a step that are computed at the same time.

use super::batches::MICRO_BATCH_TOKENS;
use crate::config::Config;
use crate::grpo::Division;
use crate::policy::Policy;
use crate::train::memory::{MemoryPlan, Workload};

/// One part per core, or fewer if they do not fit into the memory that `train.memory_mib` sets, or else into `bytes`, but at least
/// one. Does not change any result.
pub fn parts_at_once(policy: &Policy, config: &Config, bytes: u64) -> usize {
    let bytes = config.memory_limit().unwrap_or(bytes);
    // A part takes the memory of one completion of this length, beside which nothing is sampled.
    let mut config = config.clone();
    (config.rollout.groups, config.rollout.num_generations, config.train.eval_samples) = (1, 2, 0);
    config.rollout.max_completion_length = MICRO_BATCH_TOKENS;
    let workload = Workload::of(policy, &config, 0);
    let alone = Division { micro_batch: 1, at_once: 1, ..Division::from(&config.grpo) };
    let one = MemoryPlan::of(&workload, alone);
    let each = (one.update() - one.gradients / 2).max(1);
    let rest = bytes.saturating_sub(one.total());
    (1 + (rest / each) as usize).min(workload.cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpo;
    use crate::policy::Device;
    use crate::seed::Seed;

    #[test]
    fn cores_share_a_step_as_far_as_memory_goes() {
        let mut config = Config::preset("builtin").unwrap();
        config.model.model = "builtin".into();
        let policy = Policy::load(&config.model, Seed::root(0), &Device::Cpu).unwrap();
        let cores = grpo::cores(&Device::Cpu);
        assert_eq!(parts_at_once(&policy, &config, 0), 1);
        assert_eq!(parts_at_once(&policy, &config, u64::MAX), cores);
        let found: Vec<usize> = (0..40).map(|step| parts_at_once(&policy, &config, step << 27)).collect();
        assert!(found.is_sorted(), "{found:?}");
        let mut limited = |memory_mib| {
            config.train.memory_mib = memory_mib;
            [0, u64::MAX].map(|bytes| parts_at_once(&policy, &config, bytes))
        };
        assert_eq!([limited(1), limited(1 << 20)], [[1; 2], [cores; 2]], "whatever the machine has");
    }
}
