//! Losses of single tokens. How they become one number is in the weights of `batch`.

use candle_core::{Result, Tensor};

/// How far the probability ratio may move before it stops counting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clip {
    /// The ratio is clipped below `1 - low`.
    pub low: f64,
    /// The ratio is clipped above `1 + high`.
    pub high: f64,
}

/// Clipped policy-gradient surrogate, one value a token.
///
/// * `logp`, `old_logp`: `(N,)`, log-probabilities of the sampled tokens, in nats; `old_logp` without gradient.
/// * `advantage`: `(N,)`, that of each token's completion.
///
/// Source: Schulman et al. 2017, eq. 7, negated so that lower is better; Yu et al. 2025 for two clips.
pub fn clipped_surrogate(logp: &Tensor, old_logp: &Tensor, advantage: &Tensor, clip: Clip) -> Result<Tensor> {
    let ratio = (logp - old_logp)?.exp()?;
    let clipped = ratio.clamp(1.0 - clip.low, 1.0 + clip.high)?;
    (ratio * advantage)?.minimum(&(clipped * advantage)?)?.neg()
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
        let loss = clipped_surrogate(&logp, &vector(&[-1.0]), &vector(&[advantage]), CLIP).unwrap();
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
