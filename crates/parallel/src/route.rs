//! The way in which gradients are exchanged.

use grpo_tensor::Nccl;

use crate::config::Reduce;

/// The way in which gradients are exchanged.
pub(super) struct Route {
    pub reduce: Reduce,
    pub nccl: Option<Nccl>,
}
