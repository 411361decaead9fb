//! The weights of a decoder in memory that kernels and products read.

use candle_core::{DType, Error, Result, Tensor};

use super::machine::{Machine, Memory};
use super::view::{AdapterView, DecoderView, LayerView, MapsView, MatrixView, WeightLayout};

/// A matrix in the type of the model.
pub(super) struct Matrix<M: Machine> {
    pub memory: M::Memory,
    /// Whether it is stored as `(outputs, inputs)`.
    pub transposed: bool,
    pub outputs: usize,
}

/// Low-rank terms of maps with the same input, whose first factors are the last of the maps' matrices.
pub(super) struct Adapter<M: Machine> {
    /// f32 `(rank, outputs)`: neighbouring threads have neighbouring outputs.
    pub b: M::Memory,
    pub rank: usize,
    /// Column where the outputs of each map begin.
    pub begins: Vec<usize>,
    pub scale: f64,
}

/// Maps with the same input, their outputs side by side.
pub(super) struct Maps<M: Machine> {
    /// One for each map, then the first factors of the adapter, `(maps * rank, inputs)`; or one matrix of all of them.
    pub matrices: Vec<Matrix<M>>,
    /// Width of the maps' outputs side by side.
    pub outputs: usize,
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
    pub fn adopt(machine: &M, view: &DecoderView, layout: WeightLayout) -> Result<Self> {
        let dtype = view.embedding.dtype();
        let wide = |tensor: &Tensor| adopt(machine, tensor, DType::F32);
        let layers = view.layers.iter().map(|layer: &LayerView| {
            let head_norms = layer.head_norms.as_ref();
            let head_norms = head_norms.map(|(query, key)| Ok::<_, Error>((wide(query)?, wide(key)?)));
            let maps = |view: &MapsView| Maps::adopt(machine, view, dtype, layout);
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

    /// The largest width that the products of maps with adapters have, with the first factors'.
    pub fn joint_width(&self) -> usize {
        let maps = |layer: &LayerWeights<M>| {
            [&layer.query_key_value, &layer.output, &layer.gate_up, &layer.down].map(Maps::joint_width)
        };
        self.layers.iter().flat_map(maps).max().unwrap_or(0)
    }
}

impl<M: Machine> Maps<M> {
    fn adopt(machine: &M, view: &MapsView, dtype: DType, layout: WeightLayout) -> Result<Self> {
        let matrix = |weight: &Tensor, transposed: bool| {
            let outputs = weight.dim(usize::from(!transposed))?;
            Ok::<_, Error>(Matrix { memory: adopt(machine, weight, dtype)?, transposed, outputs })
        };
        let maps = view.matrices.iter().map(|MatrixView { weight, transposed }| matrix(weight, *transposed));
        let mut matrices = maps.collect::<Result<Vec<_>>>()?;
        let ends = matrices.iter().scan(0, |end, matrix| {
            *end += matrix.outputs;
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        let outputs = ends.last().copied().unwrap_or(0);
        let bias = view.bias.as_ref().map(|bias| adopt(machine, bias, DType::F32)).transpose()?;
        let Some(AdapterView { a, b, scale }) = &view.adapter else {
            return Ok(Maps { matrices, outputs, bias, adapter: None });
        };
        matrices.push(matrix(a, true)?);
        if layout == WeightLayout::Joined && matrices.iter().all(|matrix| matrix.transposed) {
            matrices = vec![joined(machine, &matrices, a.dim(1)? * dtype.size_in_bytes())?];
        }
        let begins = std::iter::once(0).chain(ends).take(view.matrices.len()).collect();
        let b_by_rank = adopt(machine, &b.t()?, DType::F32)?;
        let adapter = Adapter { b: b_by_rank, rank: b.dim(1)?, begins, scale: *scale };
        Ok(Maps { matrices, outputs, bias, adapter: Some(adapter) })
    }

    /// Width of all products side by side; zero where no adapter asks for them in f32.
    fn joint_width(&self) -> usize {
        self.adapter.as_ref().map_or(0, |_| self.matrices.iter().map(|matrix| matrix.outputs).sum())
    }
}

/// A copy of matrices of the same inputs, stored as `(outputs, inputs)`, one under the other: one product instead of
/// several. `row`: bytes of an output's weights.
fn joined<M: Machine>(machine: &M, matrices: &[Matrix<M>], row: usize) -> Result<Matrix<M>> {
    let outputs = matrices.iter().map(|matrix| matrix.outputs).sum();
    let memory = machine.zeros(outputs * row)?;
    let mut at = 0;
    for matrix in matrices {
        machine.copy(&memory, at, &matrix.memory, matrix.outputs * row)?;
        at += matrix.outputs * row;
    }
    Ok(Matrix { memory, transposed: true, outputs })
}

fn adopt<M: Machine>(machine: &M, tensor: &Tensor, dtype: DType) -> Result<M::Memory> {
    machine.adopt(&tensor.to_dtype(dtype)?.contiguous()?)
}

/// The address, or zero for `None`.
pub(super) fn address_or_none<T: Memory>(memory: Option<&T>) -> u64 {
    memory.map_or(0, Memory::address)
}
