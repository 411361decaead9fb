//! The output projection and the softmax over the vocabulary as one operation, some rows at a time.

mod chunks;
mod fused;
mod gpu;
pub(crate) mod log_probs;

use std::ops::Range;
use std::sync::Mutex;

use candle_core::{D, DType, Result, Tensor, bail};

use crate::Weight;
use crate::attached::attached;
use crate::head::fused::{ScoreByBlocks, ScoreTokens};
use crate::serving::{can_fuse, on_gpu};
use chunks::{BLOCK, Wanted, chunks};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreSettings {
    /// Divisor of the logits.
    pub temperature: f64,
    /// Bytes of the logits that are held at once, at least those of 64 rows. It changes memory, not the result.
    pub logit_bytes: usize,
}

impl ScoreSettings {
    /// Rows whose logits are held at once.
    pub fn rows(&self, vocabulary: usize) -> usize {
        (self.logit_bytes / (4 * vocabulary) / BLOCK).max(1) * BLOCK
    }
}

/// Log-probability of each target, and entropy of the distribution that the target is drawn from, in nats; both
/// differentiable.
///
/// Logits and their gradients exist only for a chunk of rows at a time, because the backward pass computes the logits
/// again. No gradient is computed for a weight that is not trained.
///
/// * `hidden`: `(N, H)`; `weight`: `(V, H)`; `targets`: `(N,)` u32, each below `V`.
/// * Returns `(N,)` and `(N,)`, in f32, from logits in f32 whatever the formats of the arguments.
pub fn score_tokens(
    hidden: &Tensor,
    weight: &Weight,
    targets: &Tensor,
    how: ScoreSettings,
) -> Result<(Tensor, Tensor)> {
    if !can_fuse([hidden].into_iter().chain(weight.dense())) {
        return by_tensors(hidden, &weight.tensor()?, targets, how, None);
    }
    let (count, vocabulary) = (hidden.dim(0)?, weight.dim(0)?);
    let targets = targets.to_vec1::<u32>()?;
    if targets.len() != count || targets.iter().any(|target| *target as usize >= vocabulary) {
        bail!("score_tokens: {} targets for {count} rows and a vocabulary of {vocabulary}", targets.len());
    }
    let (scale, rows) = ((1.0 / how.temperature) as f32, how.rows(vocabulary));
    let op = ScoreTokens { targets, scale, rows, last: Mutex::default() };
    let hidden = hidden.contiguous()?;
    let both = match weight {
        Weight::Dense(weight) => hidden.apply_op2(&weight.contiguous()?, op)?,
        Weight::Packed(_) => hidden.apply_op1(ScoreByBlocks { weight: weight.clone(), op })?,
    };
    columns(&both)
}

/// Log-probabilities and entropies, which lie side by side.
fn columns(both: &Tensor) -> Result<(Tensor, Tensor)> {
    Ok((both.narrow(1, 0, 1)?.squeeze(1)?, both.narrow(1, 1, 1)?.squeeze(1)?))
}

/// Like [`score_tokens`], with soft-capped logits: `cap * tanh(logit / cap)`, before the division by the temperature.
pub fn score_capped_tokens(
    hidden: &Tensor,
    weight: &Weight,
    targets: &Tensor,
    how: ScoreSettings,
    cap: f64,
) -> Result<(Tensor, Tensor)> {
    by_tensors(hidden, &weight.tensor()?, targets, how, Some(cap))
}

#[cfg(test)]
pub(crate) fn plain(hidden: &Tensor, weight: &Tensor, targets: &Tensor, temperature: f64) -> Result<(Tensor, Tensor)> {
    let logits = hidden.to_dtype(DType::F32)?.matmul(&weight.to_dtype(DType::F32)?.t()?)?;
    log_probs::token_log_probs(&(logits / temperature)?, targets)
}

pub(crate) fn by_tensors(
    hidden: &Tensor,
    weight: &Tensor,
    targets: &Tensor,
    how: ScoreSettings,
    cap: Option<f64>,
) -> Result<(Tensor, Tensor)> {
    if cap.is_none() && on_gpu(hidden) {
        let head = gpu::Head {
            hidden: hidden.contiguous()?.detach(),
            weight: weight.contiguous()?.detach(),
            targets: targets.contiguous()?,
            scale: 1.0 / how.temperature,
            chunks: chunks(hidden.dim(0)?, how.rows(weight.dim(0)?)).collect(),
        };
        let (scores, sums) = gpu::score(&head)?;
        let wanted = Wanted::of(hidden, weight);
        let both = attached(scores, &[hidden, weight], move |grad| {
            let (dhidden, dweight) = gpu::score_slopes(&head, &sums, grad, wanted)?;
            Ok([dhidden, dweight, None])
        })?;
        return columns(&both);
    }
    let op = ByTensors {
        hidden: hidden.contiguous()?.detach(),
        weight: weight.detach(),
        targets: targets.unsqueeze(1)?,
        scale: 1.0 / how.temperature,
        cap,
        rows: how.rows(weight.dim(0)?),
        wanted: Wanted::of(hidden, weight),
    };
    columns(&attached(op.forward()?, &[hidden, weight], move |grad| op.backward(grad))?)
}

/// Operands of both passes, without a graph.
struct ByTensors {
    hidden: Tensor,
    weight: Tensor,
    /// `(N, 1)`.
    targets: Tensor,
    /// Inverse temperature.
    scale: f64,
    /// Soft cap of the logits.
    cap: Option<f64>,
    /// Rows per chunk.
    rows: usize,
    wanted: Wanted,
}

/// The distributions of a chunk of rows, in f32.
struct Distributions {
    /// `(rows, V)`.
    log_probs: Tensor,
    /// `(rows, V)`.
    probs: Tensor,
    /// `(rows, 1)`.
    entropy: Tensor,
    /// Derivative of the soft cap, if logits are capped: `(rows, V)`.
    bend: Option<Tensor>,
}

impl ByTensors {
    /// Distributions of a chunk, and its hidden states in f32. `weight` is in f32.
    fn distributions(&self, weight: &Tensor, chunk: &Range<usize>) -> Result<(Tensor, Distributions)> {
        let hidden = self.hidden.narrow(0, chunk.start, chunk.len())?.to_dtype(DType::F32)?;
        let (log_probs, bend) = {
            let (logits, bend) = self.bent(hidden.matmul(&weight.t()?)?)?;
            (candle_nn::ops::log_softmax(&(logits * self.scale)?, D::Minus1)?, bend)
        };
        let probs = log_probs.exp()?;
        let entropy = (&probs * &log_probs)?.sum_keepdim(D::Minus1)?.neg()?;
        Ok((hidden, Distributions { log_probs, probs, entropy, bend }))
    }

    /// Soft-capped logits, and the derivative of the cap.
    fn bent(&self, logits: Tensor) -> Result<(Tensor, Option<Tensor>)> {
        let Some(cap) = self.cap else { return Ok((logits, None)) };
        let bent = (logits / cap)?.tanh()?;
        let slope = (1.0 - bent.sqr()?)?;
        Ok(((bent * cap)?, Some(slope)))
    }

    /// Log-probabilities and entropies, `(N, 2)`.
    fn forward(&self) -> Result<Tensor> {
        let weight = self.weight.to_dtype(DType::F32)?;
        let scores = chunks(self.hidden.dim(0)?, self.rows).map(|chunk| {
            let (_, found) = self.distributions(&weight, &chunk)?;
            let targets = self.targets.narrow(0, chunk.start, chunk.len())?;
            Tensor::cat(&[found.log_probs.gather(&targets, 1)?, found.entropy], 1)
        });
        Tensor::cat(&scores.collect::<Result<Vec<_>>>()?, 0)
    }

    fn backward(&self, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let weight = self.weight.to_dtype(DType::F32)?;
        let (mut dhidden, mut dweight) = (Vec::new(), None);
        for chunk in chunks(self.hidden.dim(0)?, self.rows) {
            let (hidden, Distributions { log_probs, probs, entropy, bend }) = self.distributions(&weight, &chunk)?;
            let part = |x: &Tensor| x.narrow(0, chunk.start, chunk.len())?.contiguous();
            let grad = part(grad)?;
            let (chosen, spread) = (grad.narrow(1, 0, 1)?.contiguous()?, grad.narrow(1, 1, 1)?);
            // d logp / d logit = onehot - p; d entropy / d logit = -p (log p + entropy). Tensors as large as the
            // logits are freed as soon as possible.
            let mut slopes = log_probs.broadcast_add(&entropy)?;
            drop(log_probs);
            slopes = slopes.broadcast_mul(&spread)?;
            slopes = slopes.broadcast_add(&chosen)?;
            slopes = (slopes * probs)?;
            slopes = (slopes * -self.scale)?;
            slopes = slopes.scatter_add(&part(&self.targets)?, &(chosen * self.scale)?, 1)?;
            if let Some(bend) = bend {
                slopes = (slopes * bend)?;
            }
            if self.wanted.by_hidden {
                dhidden.push(slopes.matmul(&weight)?.to_dtype(self.hidden.dtype())?);
            }
            if self.wanted.by_weight {
                let term = slopes.t()?.matmul(&hidden)?;
                dweight = Some(match dweight {
                    Some(dweight) => (dweight + term)?,
                    None => term,
                });
            }
        }
        let dhidden = self.wanted.by_hidden.then(|| Tensor::cat(&dhidden, 0)).transpose()?;
        let dweight = dweight.map(|dweight: Tensor| dweight.to_dtype(self.weight.dtype())).transpose()?;
        Ok([dhidden, dweight, None])
    }
}
