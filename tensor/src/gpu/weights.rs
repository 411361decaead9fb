//! The weights of a decoder in memory that kernels and products read.

use candle_core::{DType, Result, Tensor};

use super::machine::{Machine, Memory};
use super::view::{AdapterView, DecoderView, LayerView, MapsView, MatrixView};

/// A matrix in the type of the model.
pub(super) struct Matrix<M: Machine> {
    pub memory: M::Memory,
    /// Whether it is stored as `(outputs, inputs)`.
    pub transposed: bool,
    pub outputs: usize,
}

/// Low-rank terms of maps with the same input.
pub(super) struct Adapter<M: Machine> {
    /// `(maps * rank, inputs)`.
    pub a: Matrix<M>,
    /// f32 `(rank, outputs)`: neighbouring threads have neighbouring outputs.
    pub b: M::Memory,
    pub rank: usize,
    pub scale: f64,
}

/// Maps with the same input, their outputs side by side.
pub(super) struct Maps<M: Machine> {
    pub matrices: Vec<Matrix<M>>,
    /// f32; `None` if no map has a bias.
    pub bias: Option<M::Memory>,
    pub adapter: Option<Adapter<M>>,
}

/// The weights of one layer.
pub(super) struct LayerWeights<M: Machine> {
    pub input_norm: M::Memory,
    pub query_key_value: Maps<M>,
    /// Norms of queries and keys (Qwen3).
    pub head_norms: Option<(M::Memory, M::Memory)>,
    pub output: Maps<M>,
    pub inner_norm: M::Memory,
    pub gate_up: Maps<M>,
    pub down: Maps<M>,
}

/// All weights: norms and biases in f32, the rest in the type of the model.
pub(super) struct Weights<M: Machine> {
    pub embedding: M::Memory,
    pub layers: Vec<LayerWeights<M>>,
    pub norm: M::Memory,
    pub head: Matrix<M>,
}

impl<M: Machine> Weights<M> {
    /// Takes the weights over; only those with another type or layout are copied.
    pub fn adopt(machine: &M, view: &DecoderView, dtype: DType) -> Result<Self> {
        let wide = |tensor: &Tensor| adopt(machine, tensor, DType::F32);
        let layers = view.layers.iter().map(|layer: &LayerView| {
            let head_norms = layer.head_norms.as_ref();
            let head_norms = head_norms.map(|(query, key)| Ok::<_, candle_core::Error>((wide(query)?, wide(key)?)));
            let maps = |view: &MapsView| Maps::adopt(machine, view, dtype);
            Ok(LayerWeights {
                input_norm: wide(&layer.input_norm)?,
                query_key_value: maps(&layer.query_key_value)?,
                head_norms: head_norms.transpose()?,
                output: maps(&layer.output)?,
                inner_norm: wide(&layer.inner_norm)?,
                gate_up: maps(&layer.gate_up)?,
                down: maps(&layer.down)?,
            })
        });
        Ok(Weights {
            embedding: adopt(machine, &view.embedding, dtype)?,
            layers: layers.collect::<Result<_>>()?,
            norm: wide(&view.norm)?,
            head: Matrix { memory: adopt(machine, &view.head, dtype)?, transposed: true, outputs: view.head.dim(0)? },
        })
    }

    /// The largest width that a layer's products with the first factors of adapters have.
    pub fn low_width(&self) -> usize {
        let maps = |layer: &LayerWeights<M>| {
            [&layer.query_key_value, &layer.output, &layer.gate_up, &layer.down].map(Maps::low_width)
        };
        self.layers.iter().flat_map(maps).max().unwrap_or(0)
    }
}

impl<M: Machine> Maps<M> {
    fn adopt(machine: &M, view: &MapsView, dtype: DType) -> Result<Self> {
        let matrices = view.matrices.iter().map(|MatrixView { weight, transposed }| {
            let outputs = weight.dim(usize::from(!transposed))?;
            Ok(Matrix { memory: adopt(machine, weight, dtype)?, transposed: *transposed, outputs })
        });
        let matrices = matrices.collect::<Result<_>>()?;
        let bias = view.bias.as_ref().map(|bias| adopt(machine, bias, DType::F32)).transpose()?;
        let adapter = view.adapter.as_ref().map(|adapter| {
            let AdapterView { a, b, scale } = adapter;
            let rank = b.dim(1)?;
            Ok::<_, candle_core::Error>(Adapter {
                a: Matrix { memory: adopt(machine, a, dtype)?, transposed: true, outputs: a.dim(0)? },
                b: adopt(machine, &b.t()?, DType::F32)?,
                rank,
                scale: *scale,
            })
        });
        Ok(Maps { matrices, bias, adapter: adapter.transpose()? })
    }

    /// Width of all outputs side by side.
    pub fn outputs(&self) -> usize {
        self.matrices.iter().map(|matrix| matrix.outputs).sum()
    }

    fn low_width(&self) -> usize {
        self.adapter.as_ref().map_or(0, |adapter| adapter.a.outputs)
    }
}

fn adopt<M: Machine>(machine: &M, tensor: &Tensor, dtype: DType) -> Result<M::Memory> {
    machine.adopt(&tensor.to_dtype(dtype)?.contiguous()?)
}

/// The address, or zero for `None`.
pub(super) fn address_or_none<T: Memory>(memory: Option<&T>) -> u64 {
    memory.map_or(0, Memory::address)
}
