//! Log-probability of the token that was chosen.

use candle_core::{D, Result, Tensor};

/// Log-probability of each target and entropy of each distribution, in nats; both differentiable.
///
/// * `logits`: `(N, V)`; `targets`: `(N,)` u32, each below `V`.
/// * Returns `(N,)` and `(N,)`.
pub fn token_log_probs(logits: &Tensor, targets: &Tensor) -> Result<(Tensor, Tensor)> {
    plain(logits, targets)
}

fn plain(logits: &Tensor, targets: &Tensor) -> Result<(Tensor, Tensor)> {
    let log_probs = candle_nn::ops::log_softmax(logits, D::Minus1)?;
    let chosen = log_probs.gather(&targets.unsqueeze(1)?, 1)?.squeeze(1)?;
    let entropy = (log_probs.exp()? * &log_probs)?.sum(D::Minus1)?.neg()?;
    Ok((chosen, entropy))
}
