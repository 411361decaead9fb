//! Weights that products read: plain numbers, or quantised blocks.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};

use crate::attached::attached;
use crate::linear::blocks::Blocks;
use crate::linear::linear;
use crate::rows::with_slice;

/// A matrix `(out, in)`.
#[derive(Debug, Clone)]
pub enum Weight {
    /// Plain numbers, trained or not.
    Dense(Tensor),
    /// Quantised blocks on the CPU, which are not trained. They are expanded to f32 wherever numbers are needed, and
    /// the numbers are freed after use.
    ///
    /// Source: Dettmers et al. 2023, section 3.
    Packed(Arc<Blocks>),
}

impl From<Tensor> for Weight {
    fn from(tensor: Tensor) -> Self {
        Weight::Dense(tensor)
    }
}

impl Weight {
    /// The tensor, if the weight is dense.
    pub fn dense(&self) -> Option<&Tensor> {
        match self {
            Weight::Dense(tensor) => Some(tensor),
            Weight::Packed(_) => None,
        }
    }

    /// The tensor, if the weight is trained.
    pub fn trained(&self) -> Option<&Tensor> {
        self.dense().filter(|tensor| tensor.track_op())
    }

    /// The weight as a tensor; blocks are expanded to f32.
    pub fn tensor(&self) -> Result<Tensor> {
        match self {
            Weight::Dense(tensor) => Ok(tensor.clone()),
            Weight::Packed(blocks) => Tensor::from_vec(blocks.numbers(), &blocks.dims()[..], &Device::Cpu),
        }
    }

    /// The weight as a tensor of format `dtype`.
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor> {
        self.tensor()?.to_dtype(dtype)
    }

    /// Runs `function` on the weight's numbers, in f32 on the CPU.
    pub(crate) fn with_numbers<R>(&self, function: impl FnOnce(&[f32]) -> Result<R>) -> Result<R> {
        match self {
            Weight::Dense(tensor) => with_slice(tensor, function),
            Weight::Packed(blocks) => function(&blocks.numbers()),
        }
    }

    /// The weight without a graph.
    pub fn detach(&self) -> Self {
        match self {
            Weight::Dense(tensor) => Weight::Dense(tensor.detach()),
            Weight::Packed(_) => self.clone(),
        }
    }

    /// A copy whose numbers no training changes.
    pub fn copied(&self) -> Result<Self> {
        match self {
            // Of a view the numbers that it shows alone.
            Weight::Dense(tensor) => Ok(Weight::Dense(tensor.detach().force_contiguous()?)),
            Weight::Packed(_) => Ok(self.clone()),
        }
    }

    pub fn held(&self) -> usize {
        match self {
            Weight::Dense(tensor) => tensor.elem_count() * tensor.dtype().size_in_bytes(),
            Weight::Packed(blocks) => blocks.held(),
        }
    }

    pub fn dims(&self) -> Vec<usize> {
        match self {
            Weight::Dense(tensor) => tensor.dims().to_vec(),
            Weight::Packed(blocks) => blocks.dims().to_vec(),
        }
    }

    /// The dimension `index` of `(out, in)`.
    pub fn dim(&self, index: usize) -> Result<usize> {
        match self {
            Weight::Dense(tensor) => tensor.dim(index),
            Weight::Packed(blocks) => Ok(blocks.dims()[index]),
        }
    }

    pub fn device(&self) -> &Device {
        self.dense().map_or(&Device::Cpu, Tensor::device)
    }

    /// Format of the numbers; f32 for blocks, which are expanded to it.
    pub fn dtype(&self) -> DType {
        self.dense().map_or(DType::F32, Tensor::dtype)
    }

    /// The rows of some outputs, `(N, in)`; `ids`: `(N,)` u32.
    pub fn rows(&self, ids: &Tensor) -> Result<Tensor> {
        match self {
            Weight::Dense(tensor) => tensor.index_select(ids, 0),
            Weight::Packed(blocks) => blocks.rows(ids),
        }
    }

    /// `x W^T`, differentiable by `x`, and by the weight if it is trained.
    ///
    /// * `x`: `(N, in)`. Returns `(N, out)`.
    pub fn linear(&self, x: &Tensor) -> Result<Tensor> {
        let weight = match self {
            Weight::Dense(tensor) => return linear(x, tensor),
            Weight::Packed(_) => self.clone(),
        };
        let value = linear(&x.contiguous()?.detach(), &weight.tensor()?)?;
        attached(value, &[x], move |grad| Ok([Some(grad.matmul(&weight.tensor()?)?), None, None]))
    }
}
