//! The loss of an update: a surrogate, a KL penalty, an entropy bonus and imitation, and how they become one number.
//!
//! Takes what a model says of the completion tokens of some rows, `N` in all; gives a scalar, and where the ratio was cut.
//! Does not know models.

use candle_core::{Result, Tensor};

use crate::config::{GrpoConfig, LossType};

/// How far the probability ratio may move before it stops counting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clip {
    /// The ratio is clipped below `1 - low`.
    pub low: f64,
    /// The ratio is clipped above `1 + high`.
    pub high: f64,
}

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
    /// Weight of the negative log-likelihood of each token, if there are demonstrations.
    pub imitation: Option<Tensor>,
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
    let clip = Clip { low: config.epsilon, high: config.epsilon_high };
    let Surrogate { mut loss, cut } = clipped_surrogate(&tokens.logp, &tokens.old, &tokens.advantage, clip)?;
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
        LossType::Dapo => 1.0 / tokens as f64,
        LossType::Grpo => 1.0 / (count * length) as f64,
        LossType::DrGrpo => 1.0 / (count * longest) as f64,
    }
}

/// Clipped policy-gradient surrogate.
///
/// * `logp`, `old_logp`: `(N,)`, log-probabilities of the sampled tokens, in nats; `old_logp` without gradient.
/// * `advantage`: `(N,)`, that of each token's completion.
///
/// Source: Schulman et al. 2017, eq. 7, negated so that lower is better; Yu et al. 2025 for two clips.
pub fn clipped_surrogate(logp: &Tensor, old_logp: &Tensor, advantage: &Tensor, clip: Clip) -> Result<Surrogate> {
    let ratio = (logp - old_logp)?.exp()?;
    let clipped = ratio.clamp(1.0 - clip.low, 1.0 + clip.high)?;
    let whole = (ratio * advantage)?;
    let counted = whole.minimum(&(clipped * advantage)?)?;
    let cut = ((counted.detach() - whole.detach())? * advantage)?;
    Ok(Surrogate { loss: counted.neg()?, cut })
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
mod tests {
    use super::*;
    use candle_core::{Device, Var};

    const CLIP: Clip = Clip { low: 0.2, high: 0.28 };

    fn vector(values: &[f64]) -> Tensor {
        Tensor::new(values, &Device::Cpu).unwrap()
    }

    /// Loss and derivative by `logp` of one token whose ratio is `ratio`.
    fn at(ratio: f64, advantage: f64) -> (f64, f64) {
        let logp = Var::from_tensor(&vector(&[-1.0 + ratio.ln()])).unwrap();
        let loss = clipped_surrogate(&logp, &vector(&[-1.0]), &vector(&[advantage]), CLIP).unwrap().loss;
        let store = loss.sum_all().unwrap().backward().unwrap();
        let gradient = store.get(&logp).unwrap().to_vec1::<f64>().unwrap()[0];
        (loss.to_vec1::<f64>().unwrap()[0], gradient)
    }

    #[test]
    fn the_surrogate_and_its_gradient_are_those_calculated_by_hand() {
        // (ratio, advantage, loss, d loss / d logp = -ratio * advantage where not clipped)
        let cases = [
            (1.0, 2.0, -2.0, -2.0),
            (1.2, 2.0, -2.4, -2.4),
            (1.5, 2.0, -2.56, 0.0),
            (0.5, 2.0, -1.0, -1.0),
            (1.0, -3.0, 3.0, 3.0),
            (0.9, -3.0, 2.7, 2.7),
            (0.5, -3.0, 2.4, 0.0),
            (1.5, -3.0, 4.5, 4.5),
            (1.1, 0.0, 0.0, 0.0),
        ];
        for (ratio, advantage, loss, gradient) in cases {
            let found = at(ratio, advantage);
            assert!((found.0 - loss).abs() < 1e-9, "ratio {ratio}, advantage {advantage}: loss {}", found.0);
            assert!((found.1 - gradient).abs() < 1e-9, "ratio {ratio}, advantage {advantage}: gradient {}", found.1);
        }
    }

    #[test]
    fn the_gradient_ends_at_the_edges_of_the_clip() {
        for (edge, advantage, inward) in [(1.28, 1.0, -1e-6), (0.8, -1.0, 1e-6)] {
            assert!((at(edge + inward, advantage).1 + (edge + inward) * advantage).abs() < 1e-9, "inside {edge}");
            assert_eq!(at(edge - inward, advantage).1, 0.0, "outside {edge}");
            assert!((at(edge - inward, advantage).0 + edge * advantage).abs() < 1e-9, "value outside {edge}");
        }
    }

    #[test]
    fn k3_is_zero_at_the_reference_and_positive_elsewhere() {
        let logp = vector(&[-1.0, -1.0, -1.0]);
        let found = k3(&logp, &vector(&[-1.0, -1.0 + 2f64.ln(), -1.0 - 2f64.ln()])).unwrap();
        // 2 - ln 2 - 1 and 1/2 + ln 2 - 1.
        let expected = [0.0, 0.306_852_819_440_054_7, 0.193_147_180_559_945_3];
        for (found, expected) in found.to_vec1::<f64>().unwrap().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12);
        }
    }
}
