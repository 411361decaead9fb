//! The loss of an update: the weighted sum of a surrogate, a KL penalty, an entropy bonus and imitation.
//!
//! Takes log-probabilities and entropies of the `N` completion tokens of some rows; returns a scalar, and at which
//! tokens the ratio was clipped. Does not know models.

use candle_core::{Result, Tensor};

use crate::config::{GrpoConfig, ImportanceSamplingLevel, LossType};

/// The inputs of the loss. Each tensor is `(N,)`, with the tokens of one completion after those of another.
#[derive(Debug)]
pub struct Tokens {
    /// Log-probabilities of the tokens, in nats, with gradient.
    pub logp: Tensor,
    /// Log-probabilities that the ratio is relative to, in nats, without gradient.
    pub old: Tensor,
    /// Log-probabilities under the reference, in nats, if there is one.
    pub reference: Option<Tensor>,
    /// Entropies of the policy's distributions at these tokens, in nats, with gradient.
    pub entropy: Tensor,
    /// Advantage of each token's completion.
    pub advantage: Tensor,
    /// Weight of each token, see [`token_weight`]; 0 in a demonstration.
    pub weight: Tensor,
    /// Weight of each token's entropy, see [`bonus_weight`]; 0 in a demonstration. None if it is `weight`.
    pub bonus: Option<Tensor>,
    /// 1 if the surrogate counts at this token and 0 if not; none if it counts at all tokens.
    pub kept: Option<Tensor>,
    /// Weights of the surrogate that correct for the difference between servers and trainer, without gradient, if
    /// servers sampled.
    pub correction: Option<Tensor>,
    /// Weight of the negative log-likelihood of each token, if there are demonstrations.
    pub imitation: Option<Tensor>,
    /// Number of tokens of each completion.
    pub lengths: Vec<usize>,
}

/// The surrogate of each token.
#[derive(Debug)]
pub struct Surrogate {
    /// `(N,)`: lower is better.
    pub loss: Tensor,
    /// `(N,)`, without gradient: positive if the ratio was below the clipping range, negative if it was above, 0 if it
    /// was not clipped.
    pub cut: Tensor,
}

/// The loss of these tokens, a scalar, and the [`cut`](Surrogate::cut) of each token.
///
/// Source of the likelihood that is not raised further: free bits, Kingma et al. 2016 (1606.04934), by token.
pub fn loss(tokens: &Tokens, config: &GrpoConfig) -> Result<(Tensor, Tensor)> {
    let Surrogate { mut loss, cut } = surrogate(tokens, config)?;
    for factor in [&tokens.kept, &tokens.correction].into_iter().flatten() {
        loss = (loss * factor)?;
    }
    if let (Some(reference), true) = (&tokens.reference, config.beta > 0.0) {
        loss = (loss + (k3(&tokens.logp, &where_weighted(tokens, reference)?)? * config.beta)?)?;
    }
    // The bonus is weighted as the rest is, or by weights of its own.
    let bonus = (config.entropy_coef != 0.0).then(|| &tokens.entropy * config.entropy_coef).transpose()?;
    if let (Some(bonus), None) = (&bonus, &tokens.bonus) {
        loss = (loss - bonus)?;
    }
    loss = (loss * &tokens.weight)?;
    if let (Some(bonus), Some(weight)) = (&bonus, &tokens.bonus) {
        loss = (loss - (bonus * weight)?)?;
    }
    if let Some(imitation) = &tokens.imitation {
        let wanted = (&tokens.logp * imitation)?;
        let wanted = match config.elite_free_nats {
            0.0 => wanted,
            free => (wanted * tokens.logp.detach().lt(-free)?.to_dtype(tokens.logp.dtype())?)?,
        };
        loss = (loss - wanted)?;
    }
    Ok((loss.sum_all()?, cut))
}

/// Returns the weight in the loss of each token of a completion, as a function of the completion's length in tokens.
///
/// * `tokens`: number of tokens in the loss.
/// * `completions`: number of completions, including those that are left out of the loss.
/// * `longest`: maximum length of a completion, in tokens.
///
/// Source: Yu et al. 2025, eq. 8; Shao et al. 2024, eq. 3; Liu et al. 2025, section 3. TRL 1.16 for completions that are
/// left out.
pub fn token_weight(loss_type: LossType, tokens: usize, completions: usize, longest: usize) -> impl Fn(usize) -> f64 {
    move |length| match loss_type {
        LossType::Dapo | LossType::Cispo => 1.0 / tokens as f64,
        LossType::Grpo | LossType::Sapo => 1.0 / (completions * length) as f64,
        LossType::DrGrpo => 1.0 / (completions * longest) as f64,
    }
}

/// The weight of the entropy of each of the `tokens` tokens in the loss, so that the bonus is their mean entropy whatever
/// the surrogate is averaged over, as in TRL 1.16. None if [`token_weight`] is the same.
pub fn bonus_weight(loss_type: LossType, tokens: usize) -> Option<f64> {
    match loss_type {
        LossType::Dapo | LossType::Cispo => None,
        LossType::Grpo | LossType::Sapo | LossType::DrGrpo => Some(1.0 / tokens.max(1) as f64),
    }
}

/// The surrogate of each token, by `loss_type`.
///
/// Source of the ratio of whole completions: GSPO, Zheng et al. 2025 (2507.18071).
pub fn surrogate(tokens: &Tokens, config: &GrpoConfig) -> Result<Surrogate> {
    let log_ratio = (&tokens.logp - where_weighted(tokens, &tokens.old)?)?;
    let ratio = match config.importance_sampling_level {
        ImportanceSamplingLevel::Token => log_ratio,
        ImportanceSamplingLevel::Sequence => row_means(&log_ratio, &tokens.lengths)?,
    };
    let ratio = ratio.exp()?;
    match config.loss_type {
        LossType::Dapo | LossType::Grpo | LossType::DrGrpo => clipped(&ratio, &tokens.advantage, config),
        LossType::Cispo => truncated(&ratio, tokens, config.epsilon_high),
        LossType::Sapo => gated(&ratio, &tokens.advantage, config),
    }
}

/// `other`, but `logp` itself where the weight is 0. The tokens of a demonstration may have become so unlikely that the
/// exponential of a difference is infinite, and its product with the weight would be NaN.
fn where_weighted(tokens: &Tokens, other: &Tensor) -> Result<Tensor> {
    tokens.weight.gt(0.0)?.where_cond(other, &tokens.logp.detach())
}

/// The ratio clipped on both sides, with a second upper clip at `delta` for negative advantages if `delta` is not 0.
///
/// Source: Schulman et al. 2017, eq. 7, negated so that lower is better; Yu et al. 2025 for two clips; INTELLECT-2
/// (2505.07291) for `delta`.
fn clipped(ratio: &Tensor, advantage: &Tensor, config: &GrpoConfig) -> Result<Surrogate> {
    let (low, high) = (1.0 - config.epsilon, 1.0 + config.epsilon_high);
    // A ratio at a bound keeps its whole gradient, as in PyTorch's clamp; candle's halves it, on the policy where a clip is 0.
    let within = (ratio.ge(low)? * ratio.le(high)?)?;
    let clipped = within.where_cond(ratio, &ratio.detach().clamp(low, high)?)?;
    let whole = (ratio * advantage)?;
    let bounded = match config.delta {
        0.0 => whole.clone(),
        delta => (ratio.minimum(delta)? * advantage)?,
    };
    let counted = bounded.minimum(&(clipped * advantage)?)?;
    let cut = ((counted.detach() - whole.detach())? * advantage)?;
    Ok(Surrogate { loss: counted.neg()?, cut })
}

/// Log-probabilities weighted by the ratio, which is truncated at `most` and has no gradient. Every token keeps a
/// gradient.
///
/// Source: CISPO of MiniMax-M1 (2506.13585), without a lower bound; ScaleRL (2510.13786) for `most` in place of `1 + e`.
fn truncated(ratio: &Tensor, Tokens { logp, advantage, .. }: &Tokens, most: f64) -> Result<Surrogate> {
    let ratio = ratio.detach();
    let weight = (ratio.minimum(most)? * advantage)?;
    let cut = ((&weight - (ratio * advantage)?)? * advantage)?;
    Ok(Surrogate { loss: (weight * logp)?.neg()?, cut })
}

/// A sigmoid of the ratio with slope 1 at ratio 1. Nothing is clipped; the gradient fades with the distance from 1.
///
/// Source: SAPO (2511.20347).
fn gated(ratio: &Tensor, advantage: &Tensor, config: &GrpoConfig) -> Result<Surrogate> {
    let all = |value: f64| advantage.ones_like()? * value;
    let (better, worse) = (all(config.sapo_temperature_pos)?, all(config.sapo_temperature_neg)?);
    let temperature = advantage.gt(0.0)?.where_cond(&better, &worse)?;
    let gate = (candle_nn::ops::sigmoid(&((ratio - 1.0)? * &temperature)?)? * 4.0)?;
    let loss = ((gate / temperature)? * advantage)?.neg()?;
    Ok(Surrogate { loss, cut: advantage.zeros_like()? })
}

/// `(N,)`: the mean over each completion, repeated at each of its tokens.
fn row_means(values: &Tensor, lengths: &[usize]) -> Result<Tensor> {
    let mut start = 0;
    let mean = |length: &usize| {
        let row = values.narrow(0, start, *length)?;
        start += length;
        row.mean_keepdim(0)?.broadcast_as(*length)
    };
    Tensor::cat(&lengths.iter().map(mean).collect::<Result<Vec<_>>>()?, 0)
}

/// The smallest entropy, in nats, of the `share` of tokens with the highest entropies: the quantile `1 - share` of
/// `entropies`, rounded up to the next of them.
///
/// Source: Wang et al. 2025, "Beyond the 80/20 rule" (2506.01939).
pub fn entropy_threshold(mut entropies: Vec<f32>, share: f64) -> f32 {
    entropies.sort_by(f32::total_cmp);
    let last = entropies.len().saturating_sub(1);
    // The small term keeps rounding errors from raising a rank that is a whole number.
    let rank = ((1.0 - share) * last as f64 - 1e-9).ceil();
    entropies.get(rank as usize).copied().unwrap_or(0.0)
}

/// Estimate of the KL divergence from the reference in nats, `(N,)`, never negative.
///
/// * `logp`, `reference`: `(N,)`, log-probabilities of the sampled tokens, in nats.
///
/// Source: Schulman 2020, "Approximating KL divergence", k3.
pub fn k3(logp: &Tensor, reference: &Tensor) -> Result<Tensor> {
    let difference = (reference - logp)?;
    (difference.exp()? - &difference)? - 1.0
}

/// [`k3`] of one token in f64, for metrics, which is accurate for small values. `difference` is `reference - logp`.
pub fn k3_of(difference: f32) -> f64 {
    let difference = f64::from(difference);
    difference.exp() - difference - 1.0
}

#[cfg(test)]
mod tests;
