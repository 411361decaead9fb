//! Parts of the metrics of a step: what its update and its elites return.

use serde::{Deserialize, Serialize};

/// The metrics of the update. Most are absent if the step made none because all groups were tied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateRecord {
    /// Mean value of the loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Global norm of the gradient before clipping; absent if every gradient of the step left the range of f16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grad_norm: Option<f64>,
    pub learning_rate: f64,
    /// Mean entropy of the policy's distributions at completion tokens, at the temperature of sampling and before `top_k`,
    /// `top_p` and `min_p`, in nats per token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// Weight of the entropy bonus in advantage per nat.
    #[serde(default)]
    pub entropy_coef: f64,
    /// Target of the entropy controller, in nats per token; only with `entropy_target`, after the first update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropy_target: Option<f64>,
    /// Estimated KL divergence from the reference (k3), in nats per token; only if `beta` is not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kl: Option<f64>,
    /// Share of tokens whose ratio was below the clipping range.
    #[serde(rename = "clip_ratio/low_mean", skip_serializing_if = "Option::is_none")]
    pub clip_ratio_low: Option<f64>,
    /// Share of tokens whose ratio was above the limit of `epsilon_high` or `delta`, for advantages of both signs.
    #[serde(rename = "clip_ratio/high_mean", skip_serializing_if = "Option::is_none")]
    pub clip_ratio_high: Option<f64>,
    /// Mean absolute difference between the log-probabilities of sampling and of scoring, in nats per token.
    #[serde(rename = "sampling/sampling_logp_difference/mean", skip_serializing_if = "Option::is_none")]
    pub logp_difference_mean: Option<f64>,
    /// The largest such difference, in nats.
    #[serde(rename = "sampling/sampling_logp_difference/max", skip_serializing_if = "Option::is_none")]
    pub logp_difference_max: Option<f64>,
    /// Mean of the importance weights that correct for this difference, after truncation or masking; only with servers.
    #[serde(rename = "sampling/importance_sampling_ratio/mean", skip_serializing_if = "Option::is_none")]
    pub importance_ratio: Option<f64>,
    /// Share of tokens whose importance weight was truncated or masked; only with servers.
    #[serde(rename = "sampling/frac_corrected", skip_serializing_if = "Option::is_none")]
    pub frac_corrected: Option<f64>,
    /// Estimated KL divergence between the policy that sampled and the one that is updated (k3), before the update, in
    /// nats per token; only with `steps_ahead`.
    #[serde(rename = "sampling/kl", skip_serializing_if = "Option::is_none")]
    pub sampling_kl: Option<f64>,
    /// Number of elites that the update imitated.
    #[serde(rename = "elites/imitated", default)]
    pub elites_imitated: usize,
    /// Mean negative log-likelihood of their tokens, in nats per token.
    #[serde(rename = "elites/nll", skip_serializing_if = "Option::is_none")]
    pub elites_nll: Option<f64>,
    /// Time of the update, in seconds.
    #[serde(rename = "time/update")]
    pub time_update: f64,
}

/// The metrics of the elites after a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EliteRecord {
    /// Number of elites.
    #[serde(rename = "elites/count", default)]
    pub count: usize,
    /// Mean over elites of their mean reward over all their games.
    #[serde(rename = "elites/reward", skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
    /// Number of elites that played the boards of this step.
    #[serde(rename = "elites/replayed", default)]
    pub replayed: usize,
}
