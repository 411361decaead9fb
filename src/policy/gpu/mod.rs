//! What runs on a GPU beside candle's operations: decoding, a batch whose tokens are drawn where the model runs, the
//! layers and the head of an update, and the step of the optimiser.
//!
//! Shapes are static and buffers never move, so that one step is recorded once (a CUDA graph) and replayed for every
//! token; logits never leave the GPU, and the host looks at a chunk of tokens while the GPU works on the next. The
//! steps, their order and all launches are the same on every [`machine::Machine`]; `cuda` is the real one, and tests
//! run the same kernels on the processor.

#[cfg(any(feature = "cuda", test))]
mod batch;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(test)]
mod emulated;
#[cfg(any(feature = "cuda", test))]
mod kernels;
#[cfg(any(feature = "cuda", test))]
mod machine;
#[cfg(any(feature = "cuda", test))]
mod optimizer;
mod params;
mod products;
#[cfg(any(feature = "cuda", test))]
mod start;
#[cfg(any(feature = "cuda", test))]
mod step;
#[cfg(test)]
mod tests;
pub(super) mod training;
#[cfg(any(feature = "cuda", test))]
mod weights;

use std::sync::Arc;

use candle_core::{Result as TensorResult, Tensor};

#[cfg(any(feature = "cuda", test))]
pub(super) use batch::Prefilled;
#[cfg(feature = "cuda")]
use machine::Machine;

use super::sampling::Snapshot;
use super::{Decoder, PolicyError};

/// Tokens that are drawn between two looks of the host: stops are noticed that much later.
pub const CHUNK: usize = 8;

/// A batch of sequences on a GPU.
pub struct DeviceBatch {
    rows: Box<dyn Rows>,
}

/// How long and how sharply a batch is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Drawing {
    /// Sequences for each prompt.
    pub copies: usize,
    /// Tokens a sequence may grow by.
    pub longest: usize,
    /// Logits are divided by it.
    pub temperature: f64,
    /// Whether a step is recorded and replayed, where the machine can.
    pub record: bool,
}

impl DeviceBatch {
    /// Sequences that are decoded.
    pub fn rows(&self) -> usize {
        self.rows.rows()
    }

    /// Starts on `count` tokens for each sequence, at most [`CHUNK`], and does not wait for them.
    ///
    /// * `uniforms`: `count` numbers in `0..1` for each sequence in turn.
    pub fn enqueue(&mut self, count: usize, uniforms: &[f64]) -> TensorResult<()> {
        self.rows.enqueue(count, uniforms)
    }

    /// Waits for the oldest chunk that was not collected yet; none if there is none.
    pub fn collect(&mut self) -> TensorResult<Option<Drawn>> {
        self.rows.collect()
    }

    /// Drops sequences but keeps those in `live`, ascending; every chunk must have been collected. Returns which old
    /// sequence each new one is.
    pub fn keep(&mut self, live: &[usize]) -> TensorResult<Vec<usize>> {
        self.rows.keep(live)
    }
}

/// A batch on some machine.
trait Rows {
    fn rows(&self) -> usize;
    fn enqueue(&mut self, count: usize, uniforms: &[f64]) -> TensorResult<()>;
    fn collect(&mut self) -> TensorResult<Option<Drawn>>;
    fn keep(&mut self, live: &[usize]) -> TensorResult<Vec<usize>>;
}

/// How one step of AdamW moves variables.
#[derive(Debug, Clone, Copy)]
pub struct AdamWRates {
    /// Gradients are multiplied by it.
    pub scale: f64,
    /// Decay of the mean of gradients.
    pub beta1: f64,
    /// Decay of the mean of squared gradients.
    pub beta2: f64,
    /// Learning rate, its correction for young means included.
    pub rate: f64,
    /// Root of the correction for young mean squares.
    pub root_correction: f64,
    /// Added to the root of the mean square.
    pub epsilon: f64,
}

/// A variable, its gradient and its moments: f32, contiguous, on one GPU.
#[derive(Debug, Clone, Copy)]
pub struct Moved<'a> {
    /// The variable's own storage, which is written to.
    pub value: &'a Tensor,
    /// Read only.
    pub gradient: &'a Tensor,
    /// Written to.
    pub mean: &'a Tensor,
    /// Written to.
    pub square: &'a Tensor,
    /// What weight decay leaves of the value.
    pub keep: f64,
}

/// Sum of squares of each tensor, f32 and contiguous, in one launch; none where they are on no GPU.
#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
pub fn device_square_sums(tensors: &[&Tensor]) -> TensorResult<Option<Vec<f64>>> {
    #[cfg(feature = "cuda")]
    if let Some(candle_core::Device::Cuda(device)) = tensors.first().map(|tensor| tensor.device()) {
        let machine = cuda::Cuda::new(device);
        let adopted = tensors.iter().map(|tensor| Ok((machine.adopt(tensor)?, tensor.elem_count())));
        let adopted = adopted.collect::<TensorResult<Vec<_>>>()?;
        return optimizer::square_sums(&machine, &adopted).map(Some);
    }
    Ok(None)
}

/// One step of AdamW for all variables in one launch. Returns whether they are on a GPU: elsewhere nothing is done.
#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
pub fn device_adamw(moved: &[Moved<'_>], rates: &AdamWRates) -> TensorResult<bool> {
    #[cfg(feature = "cuda")]
    if let Some(candle_core::Device::Cuda(device)) = moved.first().map(|moved| moved.value.device()) {
        let machine = cuda::Cuda::new(device);
        let slots = moved.iter().map(|moved| {
            Ok(optimizer::Slots {
                value: machine.adopt(moved.value)?,
                gradient: machine.adopt(moved.gradient)?,
                mean: machine.adopt(moved.mean)?,
                square: machine.adopt(moved.square)?,
                count: moved.value.elem_count(),
                keep: moved.keep as f32,
            })
        });
        let slots = slots.collect::<TensorResult<Vec<_>>>()?;
        optimizer::step(&machine, &slots, rates)?;
        return Ok(true);
    }
    Ok(false)
}

/// Tokens of one chunk on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// Of each row in turn, one for each place of the chunk; none where the logits were no finite numbers.
    pub tokens: Vec<Vec<Option<u32>>>,
    /// Their log-probabilities, in nats.
    pub logprobs: Vec<Vec<f32>>,
}

/// Tokens of the longest sequence.
#[cfg(any(feature = "cuda", test))]
fn longest(prompts: &[&[u32]], drawing: Drawing) -> usize {
    prompts.iter().map(|prompt| prompt.len()).max().unwrap_or(0) + drawing.longest
}

impl Decoder {
    /// A batch of these prompts on the GPU that the model is on; none on a CPU, and none for a model whose shapes the
    /// kernels do not know.
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
    pub fn device_batch(
        &self,
        weights: &Arc<Snapshot>,
        prompts: &[&[u32]],
        drawing: Drawing,
    ) -> Result<Option<DeviceBatch>, PolicyError> {
        #[cfg(feature = "cuda")]
        let slots = longest(prompts, drawing);
        #[cfg(feature = "cuda")]
        if let candle_core::Device::Cuda(device) = self.device()
            && start::supported(self.config(), weights, weights.embedding.dtype(), slots)
        {
            let prompts = self.prefilled(weights.clone(), prompts)?;
            let dtype = weights.embedding.dtype();
            return Ok(Some(start::start(
                cuda::Cuda::with_products(device)?,
                (self, weights),
                &prompts,
                drawing,
                dtype,
            )?));
        }
        Ok(None)
    }
}

#[cfg(test)]
impl Decoder {
    /// The same with the kernels on this processor; none where there is no C++ compiler.
    pub(crate) fn emulated_batch(&self, prompts: &[&[u32]], drawing: Drawing) -> Option<DeviceBatch> {
        let machine = emulated::Emulated::open()?;
        let (weights, dtype) = (self.snapshot().unwrap(), self.precision().format());
        assert!(start::supported(self.config(), &weights, dtype, longest(prompts, drawing)));
        let prompts = self.prefilled(weights.clone(), prompts).unwrap();
        Some(start::start(machine, (self, &weights), &prompts, drawing, dtype).unwrap())
    }
}
