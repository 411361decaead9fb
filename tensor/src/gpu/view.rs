//! A decoder as a batch on a GPU reads it: its sizes, and its weights as they lie.

use candle_core::Tensor;

use super::kernels::{HEAD_STEP, LARGEST_HEAD, LARGEST_VOCABULARY};
use crate::{Angles, Heads};

/// What the kernels must know of a model besides its weights.
#[derive(Debug, Clone)]
pub struct Sizes {
    /// Of the residual stream.
    pub hidden_size: usize,
    /// Of the feed-forward layers.
    pub intermediate_size: usize,
    /// Tokens that logits are of.
    pub vocab_size: usize,
    /// Of every layer.
    pub heads: Heads,
    /// Added to the mean square under the root of a norm.
    pub rms_norm_eps: f64,
    /// Of every layer; all of a head turns.
    pub angles: Angles,
}

impl Sizes {
    /// Whether the kernels can work with heads and a vocabulary of this size.
    pub fn are_served(heads: &Heads, vocab_size: usize) -> bool {
        heads.width.is_multiple_of(HEAD_STEP) && heads.width <= LARGEST_HEAD && vocab_size <= LARGEST_VOCABULARY
    }
}

/// One matrix.
#[derive(Debug)]
pub struct MatrixView {
    /// `(out, in)` where it is transposed, otherwise `(in, out)`.
    pub weight: Tensor,
    /// Whether outputs come first.
    pub transposed: bool,
}

/// Low-rank terms of maps of the same input, one rank and scale for all; a map without a term has zeros.
#[derive(Debug)]
pub struct AdapterView {
    /// `(maps * rank, in)`.
    pub a: Tensor,
    /// `(sum of outs, rank)`.
    pub b: Tensor,
    /// What the terms are multiplied by.
    pub scale: f64,
}

/// Maps of the same input, their outputs side by side.
#[derive(Debug)]
pub struct MapsView {
    /// Side by side.
    pub matrices: Vec<MatrixView>,
    /// `(sum of outs,)`.
    pub bias: Option<Tensor>,
    /// Terms of the maps, where there are any.
    pub adapter: Option<AdapterView>,
}

/// One layer as Llama, Qwen2 and Qwen3 have it.
#[derive(Debug)]
pub struct LayerView {
    /// Norm in front of attention.
    pub input_norm: Tensor,
    /// Queries, keys and values.
    pub query_key_value: MapsView,
    /// Norms of queries and keys (Qwen3).
    pub head_norms: Option<(Tensor, Tensor)>,
    /// What follows attention.
    pub output: MapsView,
    /// Norm in front of the feed-forward layer.
    pub inner_norm: Tensor,
    /// Gate and values.
    pub gate_up: MapsView,
    /// What follows the gate.
    pub down: MapsView,
}

/// The weights of a decoder; kernels read them in the format of the embedding, norms and biases in f32.
#[derive(Debug)]
pub struct DecoderView {
    /// Sizes of all layers.
    pub sizes: Sizes,
    /// `(vocabulary, hidden)`.
    pub embedding: Tensor,
    /// In order.
    pub layers: Vec<LayerView>,
    /// The last norm.
    pub norm: Tensor,
    /// `(vocabulary, hidden)`.
    pub head: Tensor,
}
