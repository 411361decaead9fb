//! A snapshot of the weights, as kernels and products read them.

use candle_core::{DType, Result, Tensor};

use super::machine::{Machine, Memory};
use crate::policy::sampling::{Projection, Snapshot};

/// Where one layer's weights are.
pub(super) struct LayerWeights<M: Machine> {
    pub input_norm: M::Memory,
    pub query_key_value: M::Memory,
    /// f32; none without biases.
    pub bias: Option<M::Memory>,
    /// Of queries and keys (Qwen3).
    pub head_norms: Option<(M::Memory, M::Memory)>,
    pub output: M::Memory,
    pub inner_norm: M::Memory,
    pub gate_up: M::Memory,
    pub down: M::Memory,
}

/// Where the weights are: norms and biases in f32, the rest in the type of the model.
pub(super) struct Weights<M: Machine> {
    pub embedding: M::Memory,
    pub layers: Vec<LayerWeights<M>>,
    pub norm: M::Memory,
    pub head: M::Memory,
}

impl<M: Machine> Weights<M> {
    /// Nothing is copied but what has another type or order here.
    pub fn adopt(machine: &M, snapshot: &Snapshot, dtype: DType) -> Result<Self> {
        let as_type = |tensor: &Tensor, dtype| machine.adopt(&tensor.to_dtype(dtype)?.contiguous()?);
        let wide = |tensor: &Tensor| as_type(tensor, DType::F32);
        let matrix = |projection: &Projection| as_type(&projection.weight()?, dtype);
        let layers = snapshot.layers.iter().map(|layer| {
            let head_norms = layer.head_norms.as_ref();
            Ok(LayerWeights {
                input_norm: wide(&layer.input_norm)?,
                query_key_value: matrix(&layer.query_key_value)?,
                bias: layer.query_key_value.bias()?.as_ref().map(wide).transpose()?,
                head_norms: head_norms
                    .map(|(query, key)| Ok::<_, candle_core::Error>((wide(query)?, wide(key)?)))
                    .transpose()?,
                output: matrix(&layer.output)?,
                inner_norm: wide(&layer.inner_norm)?,
                gate_up: matrix(&layer.gate_up)?,
                down: matrix(&layer.down)?,
            })
        });
        Ok(Weights {
            embedding: as_type(&snapshot.embedding, dtype)?,
            layers: layers.collect::<Result<_>>()?,
            norm: wide(&snapshot.norm)?,
            head: matrix(&snapshot.head)?,
        })
    }
}

/// An address, or zero for what is not there.
pub(super) fn address_or_none<T: Memory>(memory: Option<&T>) -> u64 {
    memory.map_or(0, Memory::address)
}
