//! Log-probability of the chosen token.

use candle_core::{D, DType, Result, Tensor, bail};

use crate::rows::{dot, exp, max, sum, wide};

/// Log-probability of each target and entropy of each distribution, in nats; both differentiable. [`crate::score_tokens`]
/// computes them from hidden states, without all logits at once.
///
/// * `logits`: `(N, V)`; `targets`: `(N,)` u32, each below `V`.
/// * Returns `(N,)` and `(N,)`, in f32.
pub fn token_log_probs(logits: &Tensor, targets: &Tensor) -> Result<(Tensor, Tensor)> {
    let (count, vocabulary) = logits.dims2()?;
    // To candle's gather, fewer targets than rows are enough, and the largest u32 is a target that gives 0. Those on a GPU
    // are not looked at: that would wait for it.
    let is_outside = |target: &u32| *target as usize >= vocabulary;
    if targets.dims() != [count] || targets.device().is_cpu() && targets.to_vec1::<u32>()?.iter().any(is_outside) {
        let (found, shape) = (targets.shape(), logits.shape());
        bail!("token_log_probs: targets of shape {found:?}, or beyond the vocabulary, for logits of shape {shape:?}");
    }
    let log_probs = candle_nn::ops::log_softmax(&logits.to_dtype(DType::F32)?, D::Minus1)?;
    let chosen = log_probs.gather(&targets.contiguous()?.unsqueeze(1)?, 1)?.squeeze(1)?;
    let entropy = (log_probs.exp()? * &log_probs)?.sum(D::Minus1)?.neg()?;
    Ok((chosen, entropy))
}

/// Fills `weights` with `exp(logits - max)`; returns their sum, the largest logit and the entropy.
#[inline(always)]
fn softmax_sums(weights: &mut [f32], logits: &[f32]) -> (f32, f32, f32) {
    let top = max(logits);
    for (weight, logit) in weights.iter_mut().zip(logits) {
        *weight = exp(logit - top);
    }
    let total = sum(weights);
    // -sum p log p, with log p = (logit - top) - ln(total).
    let mean = dot(weights, logits) / total - top;
    (total, top, total.ln() - mean)
}

/// Log-probability of `target`, and entropy of the distribution.
pub(crate) fn score(logits: &[f32], target: usize) -> (f32, f32) {
    let mut weights = vec![0.0; logits.len()];
    wide(
        #[inline(always)]
        || {
            let (total, top, entropy) = softmax_sums(&mut weights, logits);
            (logits[target] - top - total.ln(), entropy)
        },
    )
}

/// Replaces the logits of one distribution by the gradients by them, given the gradients by its log-probability and by
/// its entropy.
pub(crate) fn logit_gradients(logits: &mut [f32], target: usize, by_log_prob: f32, by_entropy: f32) {
    let mut weights = vec![0.0; logits.len()];
    wide(
        #[inline(always)]
        || {
            let (total, top, entropy) = softmax_sums(&mut weights, logits);
            let offset = entropy - top - total.ln();
            // d logp / d logit = onehot - p; d entropy / d logit = -p (log p + entropy).
            for (logit, weight) in logits.iter_mut().zip(&weights) {
                *logit = weight * ((-by_log_prob - by_entropy * (*logit + offset)) / total);
            }
            logits[target] += by_log_prob;
        },
    );
}
