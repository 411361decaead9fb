//! The loss of an update: a surrogate, a KL penalty, an entropy bonus and imitation, and how they become one number.
//!
//! Takes what a model says of the completion tokens of some rows, `N` in all; gives a scalar, and where the ratio was cut.
//! Does not know models.

use candle_core::{Result, Tensor};

use crate::config::{GrpoConfig, ImportanceSamplingLevel, LossType};

/// What a loss is made of: each `(N,)`, the tokens of one completion after those of another.
#[derive(Debug)]
pub struct Tokens {
    /// Log-probabilities of the tokens, in nats, with gradient.
    pub logp: Tensor,
    /// Those that the ratio is taken to, without gradient.
    pub old: Tensor,
    /// Those under the reference, if there is one.
    pub reference: Option<Tensor>,
    /// Entropies of the distributions they were drawn from, in nats, with gradient.
    pub entropy: Tensor,
    /// Advantage of each token's completion.
    pub advantage: Tensor,
    /// Weight of each token, see [`token_weight`]; 0 in a demonstration.
    pub weight: Tensor,
    /// 1 where the surrogate counts and 0 where it does not, if it does not everywhere.
    pub kept: Option<Tensor>,
    /// Weights of the surrogate that correct for a foreign sampler, without gradient, if there is one.
    pub correction: Option<Tensor>,
    /// Weight of the negative log-likelihood of each token, if there are demonstrations.
    pub imitation: Option<Tensor>,
    /// Tokens of each completion.
    pub lengths: Vec<usize>,
}

/// A surrogate of each token.
#[derive(Debug)]
pub struct Surrogate {
    /// `(N,)`, lower is better.
    pub loss: Tensor,
    /// `(N,)`, without gradient: above 0 where the loss has a larger ratio than the true one, clipped from below; below 0
    /// where it has a smaller one, clipped from above; 0 elsewhere.
    pub cut: Tensor,
}

/// The loss of these tokens, a scalar, and the [`cut`](Surrogate::cut) of each.
pub fn loss(tokens: &Tokens, config: &GrpoConfig) -> Result<(Tensor, Tensor)> {
    let Surrogate { mut loss, cut } = surrogate(tokens, config)?;
    for factor in [&tokens.kept, &tokens.correction].into_iter().flatten() {
        loss = (loss * factor)?;
    }
    if let (Some(reference), true) = (&tokens.reference, config.beta > 0.0) {
        loss = (loss + (k3(&tokens.logp, reference)? * config.beta)?)?;
    }
    if config.entropy_coef != 0.0 {
        loss = (loss - (&tokens.entropy * config.entropy_coef)?)?;
    }
    loss = (loss * &tokens.weight)?;
    if let Some(imitation) = &tokens.imitation {
        loss = (loss - (&tokens.logp * imitation)?)?;
    }
    Ok((loss.sum_all()?, cut))
}

/// Weight in the loss of each token of a completion, by the completion's length. `lengths`: of all completions of the step
/// that are in the loss; `longest`: the most tokens that one may have.
///
/// Source: Yu et al. 2025, eq. 8; Shao et al. 2024, eq. 3; Liu et al. 2025, section 3.
pub fn token_weight(loss_type: LossType, lengths: &[usize], longest: usize) -> impl Fn(usize) -> f64 {
    let (count, tokens) = (lengths.len(), lengths.iter().sum::<usize>());
    move |length| match loss_type {
        LossType::Dapo | LossType::Cispo => 1.0 / tokens as f64,
        LossType::Grpo | LossType::Sapo => 1.0 / (count * length) as f64,
        LossType::DrGrpo => 1.0 / (count * longest) as f64,
    }
}

/// The surrogate of each of these tokens.
///
/// Source of the ratio of a completion: GSPO, Zheng et al. 2025 (2507.18071).
pub fn surrogate(tokens: &Tokens, config: &GrpoConfig) -> Result<Surrogate> {
    let log_ratio = (&tokens.logp - &tokens.old)?;
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

/// Clipped on both sides, and for advantages below 0 at `delta` where there is one.
///
/// Source: Schulman et al. 2017, eq. 7, negated so that lower is better; Yu et al. 2025 for two clips; INTELLECT-2
/// (2505.07291) for `delta`.
fn clipped(ratio: &Tensor, advantage: &Tensor, config: &GrpoConfig) -> Result<Surrogate> {
    let clipped = ratio.clamp(1.0 - config.epsilon, 1.0 + config.epsilon_high)?;
    let whole = (ratio * advantage)?;
    let bounded = match config.delta {
        0.0 => whole.clone(),
        delta => (ratio.minimum(delta)? * advantage)?,
    };
    let counted = bounded.minimum(&(clipped * advantage)?)?;
    let cut = ((counted.detach() - whole.detach())? * advantage)?;
    Ok(Surrogate { loss: counted.neg()?, cut })
}

/// Log-probabilities weighed by ratios of at most `most`, which take no gradient: no token drops out.
///
/// Source: CISPO of MiniMax-M1 (2506.13585), without a lower bound; ScaleRL (2510.13786) for `most` in place of `1 + e`.
fn truncated(ratio: &Tensor, Tokens { logp, advantage, .. }: &Tokens, most: f64) -> Result<Surrogate> {
    let ratio = ratio.detach();
    let weight = (ratio.minimum(most)? * advantage)?;
    let cut = ((&weight - (ratio * advantage)?)? * advantage)?;
    Ok(Surrogate { loss: (weight * logp)?.neg()?, cut })
}

/// A sigmoid of the ratio whose slope is 1 where the ratio is 1: nothing is cut, what is far away fades.
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

/// The mean over each completion, at each of its tokens.
fn row_means(values: &Tensor, lengths: &[usize]) -> Result<Tensor> {
    let mut start = 0;
    let mean = |length: &usize| {
        let row = values.narrow(0, start, *length)?;
        start += length;
        row.mean_keepdim(0)?.broadcast_as(*length)
    };
    Tensor::cat(&lengths.iter().map(mean).collect::<Result<Vec<_>>>()?, 0)
}

/// The entropy, in nats, that the tokens of the most uncertain `share` reach, at least one of `entropies`: the quantile
/// `1 - share`, or the next entropy above it.
///
/// Source: Wang et al. 2025, "Beyond the 80/20 rule" (2506.01939).
pub fn entropy_threshold(mut entropies: Vec<f32>, share: f64) -> f32 {
    entropies.sort_by(f32::total_cmp);
    let last = entropies.len().saturating_sub(1);
    // Rounding must not push a rank that is a whole number to the one above.
    let rank = ((1.0 - share) * last as f64 - 1e-9).ceil();
    entropies.get(rank as usize).copied().unwrap_or(0.0)
}

/// Estimate of the KL divergence from the reference, one value a token, never negative.
///
/// * `logp`, `reference`: `(N,)`, log-probabilities of the sampled tokens, in nats.
///
/// Source: Schulman 2020, "Approximating KL divergence", k3.
pub fn k3(logp: &Tensor, reference: &Tensor) -> Result<Tensor> {
    let difference = (reference - logp)?;
    (difference.exp()? - &difference)? - 1.0
}

/// [`k3`] of one token for reports, exact where the two are close: `difference` is `reference - logp`.
pub fn k3_of(difference: f32) -> f64 {
    let difference = f64::from(difference);
    difference.exp() - difference - 1.0
}

#[cfg(test)]
mod tests;
