//! Log-probability of the chosen token.

use candle_core::{CpuStorage, CustomOp1, D, DType, Layout, Result, Shape, Tensor, bail};

use crate::rows::{dot, exp, for_rows, max, slice, sum, wide, with_slice};
use crate::serving::can_fuse;

/// Log-probability of each target and entropy of each distribution, in nats; both differentiable.
///
/// * `logits`: `(N, V)`; `targets`: `(N,)` u32, each below `V`.
/// * Returns `(N,)` and `(N,)`.
pub fn token_log_probs(logits: &Tensor, targets: &Tensor) -> Result<(Tensor, Tensor)> {
    if !can_fuse([logits]) {
        return plain(logits, targets);
    }
    let (count, vocabulary) = logits.dims2()?;
    let targets = targets.to_vec1::<u32>()?;
    if targets.len() != count || targets.iter().any(|target| *target as usize >= vocabulary) {
        bail!("token_log_probs: {} targets for logits of shape {:?}", targets.len(), logits.shape());
    }
    let both = logits.contiguous()?.apply_op1(TokenLogProbs { targets })?;
    Ok((both.narrow(1, 0, 1)?.squeeze(1)?, both.narrow(1, 1, 1)?.squeeze(1)?))
}

pub(crate) fn plain(logits: &Tensor, targets: &Tensor) -> Result<(Tensor, Tensor)> {
    let log_probs = candle_nn::ops::log_softmax(&logits.to_dtype(DType::F32)?, D::Minus1)?;
    let chosen = log_probs.gather(&targets.unsqueeze(1)?, 1)?.squeeze(1)?;
    let entropy = (log_probs.exp()? * &log_probs)?.sum(D::Minus1)?.neg()?;
    Ok((chosen, entropy))
}

/// `(N, V)` logits to `(N, 2)`: log-probability and entropy.
struct TokenLogProbs {
    targets: Vec<u32>,
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

impl CustomOp1 for TokenLogProbs {
    fn name(&self) -> &'static str {
        "token_log_probs"
    }

    fn cpu_fwd(&self, logits: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let logits = slice(logits, layout)?;
        let (count, vocabulary) = layout.shape().dims2()?;
        let mut out = vec![0.0; count * 2];
        for_rows(&mut out, 2, |row, out| {
            let logits = &logits[row * vocabulary..][..vocabulary];
            (out[0], out[1]) = score(logits, self.targets[row] as usize);
        });
        Ok((CpuStorage::F32(out), (count, 2).into()))
    }

    fn bwd(&self, logits: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (_, vocabulary) = logits.dims2()?;
        let mut out = vec![0.0; logits.elem_count()];
        with_slice(logits, |logits| {
            with_slice(grad, |grad| {
                out.copy_from_slice(logits);
                for_rows(&mut out, vocabulary, |row, out| {
                    logit_gradients(out, self.targets[row] as usize, grad[2 * row], grad[2 * row + 1]);
                });
                Ok(())
            })
        })?;
        Ok(Some(Tensor::from_vec(out, logits.shape(), logits.device())?))
    }
}
