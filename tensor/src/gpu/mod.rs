//! What runs on a GPU beside candle's operations: decoding, a batch whose tokens are drawn where the model runs, the
//! layers and the head of an update, and the step of the optimiser.
//!
//! Shapes are static and buffers never move, so that one step is recorded once (a CUDA graph) and replayed for every
//! token; logits never leave the GPU, and the host looks at a chunk of tokens while the GPU works on the next. The
//! steps, their order and all launches are the same on every `Machine`; `cuda` is the real one, and `emulated`
//! runs the same kernels on the processor, for tests.

mod batch;
#[cfg(feature = "cuda")]
mod cuda;
mod emulated;
mod kernels;
pub(crate) mod launch;
mod machine;
#[cfg(any(feature = "cuda", test))]
mod optimizer;
pub(crate) mod params;
pub(crate) mod products;
mod start;
mod step;
#[cfg(test)]
mod tests;
mod view;
mod weights;

use candle_core::{Result as TensorResult, Tensor};

pub use batch::Prefilled;
use emulated::Emulated;
pub use emulated::{emulated, in_both_orders};
#[cfg(feature = "cuda")]
use machine::Machine;
pub use view::{AdapterView, DecoderView, LayerView, MapsView, MatrixView, Sizes};

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
    /// Prompts that have been fed, each repeated, on the GPU that the weights are on; none where they are on none.
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables, reason = "a build without CUDA asks no GPU"))]
    pub fn begin(view: &DecoderView, prompts: &Prefilled, drawing: Drawing) -> TensorResult<Option<Self>> {
        match view.embedding.device() {
            #[cfg(feature = "cuda")]
            candle_core::Device::Cuda(device) => {
                start::start(cuda::Cuda::with_products(device)?, view, prompts, drawing).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The same with the kernels on this processor, for tests; none where there is no C++ compiler.
    pub fn emulated(view: &DecoderView, prompts: &Prefilled, drawing: Drawing) -> TensorResult<Option<Self>> {
        Emulated::open().map(|machine| start::start(machine, view, prompts, drawing)).transpose()
    }

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
#[cfg_attr(not(feature = "cuda"), allow(unused_variables, reason = "a build without CUDA asks no GPU"))]
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
#[cfg_attr(not(feature = "cuda"), allow(unused_variables, reason = "a build without CUDA asks no GPU"))]
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
