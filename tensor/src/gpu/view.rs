//! A view of a decoder for a batch on a GPU: sizes, and weights in their stored layout.

use candle_core::Tensor;

use super::kernels::{HEAD_STEP, LARGEST_HEAD, LARGEST_VOCABULARY};
use crate::{Angles, Heads};

/// What the kernels need to know of a model besides its weights.
#[derive(Debug, Clone)]
pub struct Sizes {
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Inner width of the feed-forward layers.
    pub intermediate_size: usize,
    pub vocab_size: usize,
    /// Heads of every layer.
    pub heads: Heads,
    /// Added to the mean square inside a norm's square root.
    pub rms_norm_eps: f64,
    /// Rotation angles of every layer; they must rotate all dimensions of a head.
    pub angles: Angles,
}

impl Sizes {
    /// Whether the kernels can work with such heads and a vocabulary of this size.
    pub fn are_served(heads: &Heads, vocab_size: usize) -> bool {
        heads.width.is_multiple_of(HEAD_STEP) && heads.width <= LARGEST_HEAD && vocab_size <= LARGEST_VOCABULARY
    }
}

#[derive(Debug)]
pub struct MatrixView {
    /// `(out, in)` if `transposed`, otherwise `(in, out)`.
    pub weight: Tensor,
    pub transposed: bool,
}

/// How the weights of maps with the same input lie while tokens are drawn. Tokens are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightLayout {
    /// Those with adapters are copied, one under the other and the first factors last: one product each.
    Joined,
    /// As they are: nothing is copied, and a layer has more and smaller products.
    Apart,
}

impl WeightLayout {
    /// Share of the memory left that copies of weights may take: most of it is for sequences.
    const SHARE: u64 = 4;

    /// The layout with `free` bytes of memory left.
    pub fn within(free: u64, view: &DecoderView) -> Self {
        match view.joined_bytes() <= free / Self::SHARE {
            true => WeightLayout::Joined,
            false => WeightLayout::Apart,
        }
    }
}

/// Low-rank terms of maps with the same input. All have one rank and one scale; the factors of a map without a term
/// are zero.
#[derive(Debug)]
pub struct AdapterView {
    /// First factors, `(maps * rank, in)`.
    pub a: Tensor,
    /// Second factors, `(sum of outs, rank)`.
    pub b: Tensor,
    /// Factor of the terms.
    pub scale: f64,
}

/// Maps with the same input, their outputs side by side.
#[derive(Debug)]
pub struct MapsView {
    /// One matrix for each map.
    pub matrices: Vec<MatrixView>,
    /// `(sum of outs,)`.
    pub bias: Option<Tensor>,
    /// Low-rank terms, if any map has one.
    pub adapter: Option<AdapterView>,
}

/// One layer of a model of the kind of Llama, Qwen2 and Qwen3.
#[derive(Debug)]
pub struct LayerView {
    /// Norm before attention.
    pub input_norm: Tensor,
    /// Queries, keys and values.
    pub query_key_value: MapsView,
    /// Norms of queries and keys (Qwen3).
    pub head_norms: Option<(Tensor, Tensor)>,
    /// Output map of attention.
    pub output: MapsView,
    /// Norm before the feed-forward block.
    pub inner_norm: Tensor,
    pub gate_up: MapsView,
    pub down: MapsView,
}

/// The weights of a decoder. Kernels read them in the format of the embedding, except norms and biases, which they
/// read in f32.
#[derive(Debug)]
pub struct DecoderView {
    pub sizes: Sizes,
    /// `(vocabulary, hidden)`.
    pub embedding: Tensor,
    pub layers: Vec<LayerView>,
    /// Final norm.
    pub norm: Tensor,
    /// `(vocabulary, hidden)`.
    pub head: Tensor,
}

impl DecoderView {
    /// Bytes of the copies that [`WeightLayout::Joined`] makes.
    pub fn joined_bytes(&self) -> u64 {
        let maps = |layer: &LayerView| {
            let maps = [&layer.query_key_value, &layer.output, &layer.gate_up, &layer.down];
            maps.map(MapsView::joined_numbers).iter().sum::<usize>()
        };
        let numbers: usize = self.layers.iter().map(maps).sum();
        (numbers * self.embedding.dtype().size_in_bytes()) as u64
    }
}

impl MapsView {
    fn joined_numbers(&self) -> usize {
        let Some(adapter) = &self.adapter else { return 0 };
        self.matrices.iter().map(|matrix| matrix.weight.elem_count()).sum::<usize>() + adapter.a.elem_count()
    }
}
