//! A snapshot of the weights, as kernels and products read them.

use candle_core::{DType, Result, Tensor};

use super::machine::{Machine, Memory};
use crate::policy::Decoder;
use crate::policy::linear::{Linear, Lora};
use crate::policy::sampling::{Projection, Snapshot};

/// One matrix.
pub(super) struct Matrix<M: Machine> {
    pub memory: M::Memory,
    /// Whether it lies as `(outputs, inputs)`.
    pub transposed: bool,
    pub outputs: usize,
}

/// Low-rank terms of maps of the same input, one rank and scale for all; a map without a term has zeros.
pub(super) struct Adapter<M: Machine> {
    /// In the type of the model `(maps * rank, inputs)`.
    pub a: M::Memory,
    /// f32 `(outputs, rank)`.
    pub b: M::Memory,
    pub rank: usize,
    pub scale: f64,
}

/// Maps of the same input, their outputs side by side.
pub(super) struct Maps<M: Machine> {
    pub matrices: Vec<Matrix<M>>,
    /// f32; none without biases.
    pub bias: Option<M::Memory>,
    pub adapter: Option<Adapter<M>>,
}

/// Where one layer's weights are.
pub(super) struct LayerWeights<M: Machine> {
    pub input_norm: M::Memory,
    pub query_key_value: Maps<M>,
    /// Of queries and keys (Qwen3).
    pub head_norms: Option<(M::Memory, M::Memory)>,
    pub output: Maps<M>,
    pub inner_norm: M::Memory,
    pub gate_up: Maps<M>,
    pub down: Maps<M>,
}

/// Where the weights are: norms and biases in f32, the rest in the type of the model.
pub(super) struct Weights<M: Machine> {
    pub embedding: M::Memory,
    pub layers: Vec<LayerWeights<M>>,
    pub norm: M::Memory,
    pub head: Matrix<M>,
}

impl<M: Machine> Weights<M> {
    /// Nothing is copied but what has another type or order here.
    pub fn adopt(machine: &M, decoder: &Decoder, snapshot: &Snapshot, dtype: DType) -> Result<Self> {
        let wide = |tensor: &Tensor| adopt(machine, tensor, DType::F32);
        let layers = snapshot.layers.iter().zip(&decoder.layers).map(|(layer, source)| {
            let head_norms = layer.head_norms.as_ref();
            let head_norms = head_norms.map(|(query, key)| Ok::<_, candle_core::Error>((wide(query)?, wide(key)?)));
            // Models with more blocks are not served.
            let (block, of_block) = (&layer.blocks[0], &source.blocks[0]);
            let maps = |projection: &Projection, source: &[Linear]| Maps::adopt(machine, (projection, source), dtype);
            Ok(LayerWeights {
                input_norm: wide(&layer.input_norm)?,
                query_key_value: maps(&layer.query_key_value, &source.query_key_value)?,
                head_norms: head_norms.transpose()?,
                output: maps(&layer.output, std::slice::from_ref(&source.output))?,
                inner_norm: wide(&layer.inner_norm)?,
                gate_up: maps(&block.gate_up, &of_block.gate_up)?,
                down: maps(&block.down, std::slice::from_ref(&of_block.down))?,
            })
        });
        // The snapshot's head may be widened; products here widen as they read.
        let head = &decoder.head.weight.tensor()?.detach();
        Ok(Weights {
            embedding: adopt(machine, &snapshot.embedding.tensor()?, dtype)?,
            layers: layers.collect::<Result<_>>()?,
            norm: wide(&snapshot.norm)?,
            head: Matrix { memory: adopt(machine, head, dtype)?, transposed: true, outputs: head.dim(0)? },
        })
    }

    /// Numbers a row that the products with the first factors of adapters give at most.
    pub fn low_width(&self) -> usize {
        let maps = |layer: &LayerWeights<M>| {
            [&layer.query_key_value, &layer.output, &layer.gate_up, &layer.down].map(Maps::low_width)
        };
        self.layers.iter().flat_map(maps).max().unwrap_or(0)
    }
}

impl<M: Machine> Maps<M> {
    fn adopt(machine: &M, (projection, source): (&Projection, &[Linear]), dtype: DType) -> Result<Self> {
        match projection {
            // Only a CPU packs, which decodes here in tests alone.
            Projection::Packed(_) => {
                let merged = source.iter().map(|map| {
                    Ok(Linear { weight: map.merged()?.into(), bias: map.bias.as_ref().map(Tensor::detach), lora: None })
                });
                Self::side_by_side(machine, &merged.collect::<Result<Vec<_>>>()?, dtype)
            }
            Projection::Merged { weight, bias } => {
                let matrix =
                    Matrix { memory: adopt(machine, weight, dtype)?, transposed: false, outputs: weight.dim(1)? };
                let bias = bias.as_ref().map(|bias| adopt(machine, bias, DType::F32)).transpose()?;
                Ok(Maps { matrices: vec![matrix], bias, adapter: None })
            }
            Projection::Apart(maps) => Self::side_by_side(machine, maps, dtype),
            Projection::Widening(weight) => {
                let outputs = weight.dim(0)?;
                let matrix = Matrix { memory: adopt(machine, weight, dtype)?, transposed: true, outputs };
                Ok(Maps { matrices: vec![matrix], bias: None, adapter: None })
            }
        }
    }

    /// Each map's weight as it lies, biases and adapters together.
    fn side_by_side(machine: &M, maps: &[Linear], dtype: DType) -> Result<Self> {
        let matrices = maps.iter().map(|map| {
            let outputs = map.weight.dim(0)?;
            Ok(Matrix { memory: adopt(machine, &map.weight.tensor()?, dtype)?, transposed: true, outputs })
        });
        let matrices = matrices.collect::<Result<_>>()?;
        let biases: Option<Vec<&Tensor>> = maps.iter().map(|map| map.bias.as_ref()).collect();
        let bias = biases.map(|biases| adopt(machine, &Tensor::cat(&biases, 0)?, DType::F32)).transpose()?;
        Ok(Maps { matrices, bias, adapter: Adapter::adopt(machine, maps, dtype)? })
    }

    /// Numbers of a row.
    pub fn outputs(&self) -> usize {
        self.matrices.iter().map(|matrix| matrix.outputs).sum()
    }

    fn low_width(&self) -> usize {
        self.adapter.as_ref().map_or(0, |adapter| adapter.rank * self.matrices.len())
    }
}

impl<M: Machine> Adapter<M> {
    fn adopt(machine: &M, maps: &[Linear], dtype: DType) -> Result<Option<Self>> {
        let Some(first) = maps.iter().find_map(|map| map.lora.as_ref()) else { return Ok(None) };
        let (rank, inputs) = first.a.dims2()?;
        let factor = |map: &Linear, of: fn(&Lora) -> &Tensor, (rows, columns): (usize, usize)| match &map.lora {
            Some(lora) => of(lora).to_dtype(DType::F32),
            None => Tensor::zeros((rows, columns), DType::F32, map.weight.device()),
        };
        let a = maps.iter().map(|map| factor(map, |lora| &lora.a, (rank, inputs))).collect::<Result<Vec<_>>>()?;
        let b = maps.iter().map(|map| factor(map, |lora| &lora.b, (map.weight.dim(0)?, rank)));
        let b = b.collect::<Result<Vec<_>>>()?;
        Ok(Some(Adapter {
            a: adopt(machine, &Tensor::cat(&a, 0)?, dtype)?,
            b: adopt(machine, &Tensor::cat(&b, 0)?, DType::F32)?,
            rank,
            scale: first.scale,
        }))
    }
}

/// Whether the adapters of each projection have one rank and one scale.
pub(super) fn alike(snapshot: &Snapshot) -> bool {
    let of_layer = |layer: &crate::policy::sampling::SnapshotLayer| {
        let blocks = layer.blocks.iter().flat_map(|block| [&block.gate_up, &block.down]);
        [&layer.query_key_value, &layer.output].into_iter().chain(blocks).all(|projection| {
            let Projection::Apart(maps) = projection else { return true };
            let mut kinds = maps.iter().filter_map(|map| map.lora.as_ref()).map(|lora| (lora.a.dims()[0], lora.scale));
            kinds.next().is_none_or(|first| kinds.all(|kind| kind == first))
        })
    };
    snapshot.layers.iter().all(of_layer)
}

fn adopt<M: Machine>(machine: &M, tensor: &Tensor, dtype: DType) -> Result<M::Memory> {
    machine.adopt(&tensor.to_dtype(dtype)?.contiguous()?)
}

/// An address, or zero for what is not there.
pub(super) fn address_or_none<T: Memory>(memory: Option<&T>) -> u64 {
    memory.map_or(0, Memory::address)
}
