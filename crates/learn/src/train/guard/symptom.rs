//! The metrics that the guard watches: what each is called, when it is out of its range, and what to change then.

use crate::config::GuardConfig;
use crate::metrics::StepRecord;

/// Below this a share is nothing at all.
pub(super) const NOTHING: f64 = f64::MIN_POSITIVE;

/// A metric that indicates collapse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symptom {
    /// Share of groups that are tied, 0 to 1.
    Tied,
    /// Share of distinct programs among those that parse, 0 to 1.
    Unique,
    /// Entropy relative to that of the first step.
    Entropy,
    /// Share of completions that parse, 0 to 1.
    Parsed,
    /// Share of completions truncated at the maximum length, 0 to 1.
    Clipped,
    /// Share of completions that play or, with tasks, pass all tests, 0 to 1. Of tasks a window is as long as a pass
    /// over them, so that means are of much the same tasks, or of 40 steps where a pass takes longer.
    Succeeded,
    /// Mean absolute difference between the log-probabilities of sampling and of scoring, in nats per token. Judged by
    /// single steps, because it indicates a mismatch of models or kernels and does not depend on what was learnt.
    Sampling,
    /// Completions that pass a hidden test of a honeypot. Judged by single steps, because no honest one does.
    Honeypot,
}

impl Symptom {
    pub const ALL: [Symptom; 8] = [
        Symptom::Tied,
        Symptom::Unique,
        Symptom::Entropy,
        Symptom::Parsed,
        Symptom::Clipped,
        Symptom::Succeeded,
        Symptom::Sampling,
        Symptom::Honeypot,
    ];

    /// The symptoms that are averaged over a window.
    pub(super) const WINDOWED: [Symptom; 6] =
        [Symptom::Tied, Symptom::Unique, Symptom::Entropy, Symptom::Parsed, Symptom::Clipped, Symptom::Succeeded];

    /// The name in metrics and on the terminal.
    pub fn name(self) -> &'static str {
        match self {
            Symptom::Tied => "tied",
            Symptom::Unique => "unique",
            Symptom::Entropy => "entropy",
            Symptom::Parsed => "parsed",
            Symptom::Clipped => "clipped",
            Symptom::Succeeded => "succeeded",
            Symptom::Sampling => "sampling",
            Symptom::Honeypot => "honeypot",
        }
    }

    /// What it is, for readers who have no figure beside it.
    pub fn described(self) -> &'static str {
        match self {
            Symptom::Tied => "groups that are left out whole, or whose rewards are all equal",
            Symptom::Unique => "programs that are alike",
            Symptom::Entropy => "an entropy far below that of the first step",
            Symptom::Parsed => "completions that do not parse",
            Symptom::Clipped => "completions that are cut at the longest length",
            Symptom::Succeeded => "completions that no longer play, or pass their tests, as they did",
            Symptom::Sampling => "log-probabilities that differ between sampling and scoring",
            Symptom::Honeypot => "honeypots that were passed",
        }
    }

    /// A value of the metric in words.
    pub(super) fn words(self, share: &str) -> String {
        match self {
            Symptom::Tied => format!("{share} of the groups tied"),
            Symptom::Unique => format!("{share} of the programs distinct"),
            Symptom::Entropy => format!("entropy at {share} of the first step's"),
            Symptom::Parsed => format!("{share} of the completions parse"),
            Symptom::Clipped => format!("{share} of the completions truncated"),
            Symptom::Succeeded => format!("{share} of the completions succeed"),
            Symptom::Sampling => format!("sampling and scoring differ by {share}"),
            Symptom::Honeypot => format!("{share} passed a hidden test of a honeypot, which no honest program does"),
        }
    }

    /// Settings that counteract the symptom. A bonus alone does not keep what imitation takes away (docs/results.md).
    pub fn remedy(self) -> &'static str {
        match self {
            Symptom::Tied => "raise rollout.num_generations or rollout.temperature, or rollout.resample_tied",
            Symptom::Unique | Symptom::Entropy => {
                "set grpo.elite_free_nats=0.5 if elites are imitated, raise grpo.entropy_target or grpo.entropy_coef_max, \
                 lower grpo.learning_rate, or set grpo.beta=0.02"
            }
            Symptom::Parsed => "lower grpo.learning_rate, or set grpo.beta=0.02",
            Symptom::Clipped => "raise rollout.max_completion_length, or set grpo.beta=0.02",
            Symptom::Succeeded => {
                "read in the report what programs fail of, lower grpo.learning_rate, or set grpo.beta=0.02"
            }
            Symptom::Sampling => {
                "the model that is trained is not the one that is sampled: serve the same weights in the trainer's precision \
                 with --rollouts (docs/vllm.md), report it with config.toml without"
            }
            Symptom::Honeypot => {
                "read these programs in the report: they get at the answers, or at what compares them; mend that before \
                 going on (docs/audit.md)"
            }
        }
    }

    /// What to change where `standing` are present too. Where one of these causes the symptom, it is what to mend: groups that
    /// programs which are alike have tied need no more such programs, and groups that are cut whole need longer ones.
    pub fn remedy_among(self, standing: &[Symptom]) -> &'static str {
        let cause = self.causes().iter().find(|cause| standing.contains(cause));
        cause.unwrap_or(&self).remedy()
    }

    /// The symptoms that may cause this one, the likeliest first.
    pub(super) fn causes(self) -> &'static [Symptom] {
        match self {
            Symptom::Tied => {
                &[Symptom::Unique, Symptom::Entropy, Symptom::Clipped, Symptom::Parsed, Symptom::Succeeded]
            }
            Symptom::Unique => &[Symptom::Entropy],
            Symptom::Entropy => &[Symptom::Unique],
            Symptom::Succeeded => &[Symptom::Clipped, Symptom::Parsed],
            _ => &[],
        }
    }

    /// Whether large values are bad, and not small ones.
    pub(super) fn grows(self) -> bool {
        matches!(self, Symptom::Tied | Symptom::Clipped | Symptom::Sampling | Symptom::Honeypot)
    }

    pub(super) fn is_beyond(self, value: f64, limit: f64) -> bool {
        if self.grows() { value > limit } else { value < limit }
    }

    /// The metric of one step, or none if the step has no value for it.
    pub(super) fn figure(self, record: &StepRecord, start_entropy: Option<f64>) -> Option<f64> {
        match self {
            Symptom::Tied => Some(record.frac_reward_zero_std),
            Symptom::Unique => (record.frac_parsed > 0.0).then_some(record.frac_unique),
            Symptom::Entropy => Some(record.update.entropy? / start_entropy?.max(f64::MIN_POSITIVE)),
            Symptom::Parsed => Some(record.frac_parsed),
            Symptom::Clipped => Some(record.clipped_ratio),
            // Pools ask what is solved already less often, so the share falls while a policy learns.
            Symptom::Succeeded if record.families.contains_key("curriculum/never_solved") => None,
            Symptom::Succeeded => record.frac_played.or(record.frac_passed),
            // After sampling ahead the difference also contains the change by an update.
            Symptom::Sampling if record.policy_lag.is_some_and(|lag| lag > 0.0) => None,
            Symptom::Sampling => record.update.logp_difference_mean,
            Symptom::Honeypot => Some(record.honeypots_passed().map(|(_, count)| count).sum()),
        }
    }

    /// The limit of warnings and the limit that ends the run; those of what succeeds are parts of its best mean.
    pub(super) fn limits(self, config: &GuardConfig) -> (f64, f64) {
        match self {
            Symptom::Tied => (config.warn_tied, config.stop_tied),
            Symptom::Unique => (config.warn_unique, config.stop_unique),
            Symptom::Entropy => (config.warn_entropy, config.stop_entropy),
            Symptom::Parsed => (config.warn_parsed, NOTHING),
            Symptom::Clipped => (config.warn_clipped, config.stop_clipped),
            Symptom::Succeeded => (config.warn_succeeded, config.stop_succeeded),
            Symptom::Sampling => (config.warn_logp_difference, f64::INFINITY),
            Symptom::Honeypot if config.stop_honeypots => (0.0, 0.0),
            Symptom::Honeypot => (0.0, f64::INFINITY),
        }
    }
}
