//! The output projection and the softmax over the vocabulary on a GPU, a chunk of rows at a time.

use std::ops::Range;

use candle_core::{DType, Result, Tensor};

use super::Wanted;
use crate::gpu::launch::Gpu;
use crate::gpu::params::params;
use crate::gpu::products::{Matrices, Products};

params! {
    /// Scores the targets of a chunk.
    ScoreLogits {
        scores: u64, sums: u64, logits: u64, targets: u64, vocabulary: u32, stride: u32, scale: f32, padding: u32,
    }
    /// Turns logits into gradients by logits, in place.
    LogitSlopes {
        logits: u64, sums: u64, slopes: u64, targets: u64, vocabulary: u32, stride: u32, scale: f32, padding: u32,
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Head {
    /// `(N, H)`, contiguous.
    pub hidden: Tensor,
    /// `(V, H)`, contiguous.
    pub weight: Tensor,
    /// `(N,)`, u32, contiguous, each below `V`.
    pub targets: Tensor,
    /// Factor of the logits.
    pub scale: f64,
    /// Chunks of rows; the logits of one chunk exist at a time.
    pub chunks: Vec<Range<usize>>,
}

/// Hidden states and weight, converted to one format.
struct Pass {
    gpu: Gpu,
    hidden: Tensor,
    weight: Tensor,
    /// f32, room for the logits of the longest chunk.
    logits: Tensor,
}

/// Log-probabilities and entropies, `(N, 2)`, and the sums over logits that [`score_slopes`] needs; all f32.
pub(crate) fn score(head: &Head) -> Result<(Tensor, Tensor)> {
    let pass = Pass::new(head)?;
    let count = head.hidden.dim(0)?;
    let (scores, sums) = (pass.gpu.empty((count, 2), DType::F32)?, pass.gpu.empty((count, 3), DType::F32)?);
    for rows in &head.chunks {
        pass.project(rows)?;
        let params = ScoreLogits {
            scores: row(&pass.gpu, &scores, rows)?,
            sums: row(&pass.gpu, &sums, rows)?,
            logits: pass.gpu.address(&pass.logits)?,
            targets: pass.gpu.address(&head.targets)? + 4 * rows.start as u64,
            vocabulary: pass.vocabulary() as u32,
            stride: pass.stride() as u32,
            scale: head.scale as f32,
            padding: 0,
        };
        // Safety: the chunk's logits, scores, sums and targets have an entry for each of its rows.
        unsafe { pass.gpu.launch("score_logits", [rows.len(), 1], &params)? };
    }
    Ok((scores, sums))
}

/// Gradients by hidden states and by the weight, as far as they are wanted; `slope` is the gradient of the scores,
/// contiguous.
pub(crate) fn score_slopes(
    head: &Head,
    sums: &Tensor,
    slope: &Tensor,
    wanted: Wanted,
) -> Result<(Option<Tensor>, Option<Tensor>)> {
    let pass = Pass::new(head)?;
    // Gradients by single logits are small, and about half of them underflow in f16.
    let format = if pass.weight.dtype() == DType::BF16 { DType::BF16 } else { DType::F32 };
    let (hidden, weight) = (pass.hidden.to_dtype(format)?, pass.weight.to_dtype(format)?);
    let dhidden = wanted.by_hidden.then(|| pass.gpu.empty(hidden.shape(), format)).transpose()?;
    let dweight = wanted.by_weight.then(|| pass.gpu.empty(weight.shape(), DType::F32)).transpose()?;
    for rows in &head.chunks {
        pass.project(rows)?;
        let params = LogitSlopes {
            logits: pass.gpu.address(&pass.logits)?,
            sums: row(&pass.gpu, sums, rows)?,
            slopes: row(&pass.gpu, slope, rows)?,
            targets: pass.gpu.address(&head.targets)? + 4 * rows.start as u64,
            vocabulary: pass.vocabulary() as u32,
            stride: pass.stride() as u32,
            scale: head.scale as f32,
            padding: 0,
        };
        // Safety: as in `score`.
        unsafe { pass.gpu.typed("logit_slopes", format, rows.len(), &params)? };
        let slopes = pass.slopes(format)?;
        let of_chunk = |tensor: &Tensor| part(&pass.gpu, tensor, rows);
        if let Some(dhidden) = &dhidden {
            let sizes = [rows.len(), pass.vocabulary(), weight.dim(1)?];
            pass.run(Products::one(of_chunk(dhidden)?, slopes, pass.gpu.matrices(&weight)?, sizes))?;
        }
        if let Some(dweight) = &dweight {
            let sizes = [pass.vocabulary(), rows.len(), weight.dim(1)?];
            let product = Products::one(pass.gpu.matrices(dweight)?, slopes.t(), of_chunk(&hidden)?, sizes);
            pass.run(Products { adds: rows.start > 0, ..product })?;
        }
    }
    let dhidden = dhidden.map(|dhidden| dhidden.to_dtype(head.hidden.dtype())).transpose()?;
    let dweight = dweight.map(|dweight| dweight.to_dtype(head.weight.dtype())).transpose()?;
    Ok((dhidden, dweight))
}

impl Pass {
    fn new(head: &Head) -> Result<Self> {
        let gpu = Gpu::of(&head.hidden)?;
        let Head { hidden, weight, chunks, .. } = head;
        // A weight that is trained is in f32, and then the logits are computed in f32 too.
        let format = if hidden.dtype() == weight.dtype() { hidden.dtype() } else { DType::F32 };
        let longest = chunks.iter().map(Range::len).max().unwrap_or(0);
        let logits = gpu.empty((longest, weight.dim(0)?.next_multiple_of(8)), DType::F32)?;
        Ok(Pass { gpu, hidden: hidden.to_dtype(format)?, weight: weight.to_dtype(format)?, logits })
    }

    fn vocabulary(&self) -> usize {
        self.weight.dims()[0]
    }

    /// Numbers from one row of logits to the next.
    fn stride(&self) -> usize {
        self.logits.dims()[1]
    }

    /// Computes the logits of a chunk.
    fn project(&self, rows: &Range<usize>) -> Result<()> {
        let (hidden, weight) = (part(&self.gpu, &self.hidden, rows)?, self.gpu.matrices(&self.weight)?.t());
        let sizes = [rows.len(), self.hidden.dim(1)?, self.vocabulary()];
        self.run(Products::one(self.gpu.matrices(&self.logits)?, hidden, weight, sizes))
    }

    /// The gradients by logits, which have overwritten the logits in `format`.
    fn slopes(&self, format: DType) -> Result<Matrices> {
        let logits = self.gpu.matrices(&self.logits)?;
        let narrower = DType::F32.size_in_bytes() / format.size_in_bytes();
        Ok(Matrices { stride: logits.stride * narrower, step: logits.step * narrower, dtype: format, ..logits })
    }

    fn run(&self, products: Products) -> Result<()> {
        // Safety: chunks lie within the tensors of their matrices.
        unsafe { self.gpu.products(&products) }
    }
}

/// Some rows of a matrix.
fn part(gpu: &Gpu, tensor: &Tensor, rows: &Range<usize>) -> Result<Matrices> {
    let whole = gpu.matrices(tensor)?;
    Ok(whole.after(rows.start * whole.stride))
}

/// The address of some rows of a matrix.
fn row(gpu: &Gpu, tensor: &Tensor, rows: &Range<usize>) -> Result<u64> {
    Ok(part(gpu, tensor, rows)?.address)
}
