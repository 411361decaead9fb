//! What a memory plan is computed from.

use crate::config::Config;
use crate::policy::{DecoderConfig, Precision};
use grpo_tensor::Kernels;

/// Bytes of an f32.
pub(super) const F32: u64 = 4;

#[derive(Debug, Clone, Copy)]
pub struct Workload<'a> {
    pub shape: &'a DecoderConfig,
    /// Number of trained weights.
    pub trained: usize,
    /// Number of tokens of the longest prompt.
    pub prompt: usize,
    pub config: &'a Config,
    /// Whose memory is counted.
    pub place: Place,
    /// Number of parts of an update that can be computed at the same time.
    pub cores: usize,
    /// Number of processes that train together.
    pub processes: usize,
    /// Number format of frozen weights and activations.
    pub precision: Precision,
    pub kernels: Kernels,
    /// Bytes of the model if its weights stay quantised as in their file; none otherwise.
    pub packed: Option<u64>,
    /// Probability of dropout in front of adapters in updates. An adapter that is loaded has its own, whatever the settings say.
    pub dropout: f64,
}

/// Where tensors are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the processor's memory, with the program and its games.
    Host,
    Gpu,
}
