//! What runs on a GPU beside candle's operations: the decoding of a batch, the layers and the head of an update, and
//! the update by AdamW. Tokens are drawn on the GPU.
//!
//! Shapes are static and buffers never move, so that one step of decoding is recorded once (a CUDA graph) and replayed
//! for every token. Logits never leave the GPU, and the host looks at a chunk of tokens while the GPU works on the
//! next. The steps, their order and all launches are the same on every `Machine`; `cuda` is an NVIDIA GPU, and
//! `emulated` runs the same kernels on the processor, for tests.

mod batch;
#[cfg(test)]
mod census;
#[cfg(feature = "cuda")]
mod cuda;
mod emulated;
mod kernels;
pub(crate) mod launch;
mod machine;
#[cfg(feature = "cuda")]
pub(crate) mod modules;
#[cfg(any(feature = "cuda", test))]
mod optimizer;
pub(crate) mod params;
#[cfg(feature = "cuda")]
mod pinned;
pub(crate) mod products;
mod step;
#[cfg(test)]
mod tests;
mod view;
mod weights;

use candle_core::{Result as TensorResult, Tensor};

use batch::Rows;
pub use batch::{Drawing, Drawn, Prefilled};
use emulated::Emulated;
pub use emulated::{emulated, emulated_launches, in_both_orders};
pub use kernels::AdamWRates;
#[cfg(feature = "cuda")]
use machine::Machine;
pub use machine::check_launches;
pub use step::CHUNK;
pub use view::{AdapterView, DecoderView, LayerView, MapsView, MatrixView, Sizes, WeightLayout};

/// A batch of sequences on a GPU.
pub struct DeviceBatch {
    rows: Box<dyn Rows>,
}

impl DeviceBatch {
    /// Starts a batch on the GPU that holds the weights, with each prompt repeated; `None` if no GPU holds them.
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables, reason = "a build without CUDA asks no GPU"))]
    pub fn begin(view: &DecoderView, prompts: &Prefilled, drawing: Drawing) -> TensorResult<Option<Self>> {
        match view.embedding.device() {
            #[cfg(feature = "cuda")]
            candle_core::Device::Cuda(device) => {
                crate::device::make_room(view.embedding.device())?;
                let layout = WeightLayout::within(crate::device::room(view.embedding.device())?, view);
                let rows = batch::start(cuda::Cuda::with_products(device)?, view, layout, prompts, drawing)?;
                Ok(Some(DeviceBatch { rows }))
            }
            _ => Ok(None),
        }
    }

    /// Starts a batch whose kernels run on this processor, for tests; `None` where there is no C++ compiler.
    pub fn emulated(
        view: &DecoderView,
        layout: WeightLayout,
        prompts: &Prefilled,
        drawing: Drawing,
    ) -> TensorResult<Option<Self>> {
        let start = |machine| Ok(DeviceBatch { rows: batch::start(machine, view, layout, prompts, drawing)? });
        Emulated::open().map(start).transpose()
    }

    /// Number of sequences that are decoded.
    pub fn rows(&self) -> usize {
        self.rows.rows()
    }

    /// Starts to draw `count` tokens for each sequence, at most [`CHUNK`], and does not wait for them.
    ///
    /// * `uniforms`: `count` numbers in `0..1` for each sequence in turn.
    pub fn enqueue(&mut self, count: usize, uniforms: &[f64]) -> TensorResult<()> {
        self.rows.enqueue(count, uniforms)
    }

    /// Waits for the oldest chunk that was not collected yet; `None` if all are collected.
    pub fn collect(&mut self) -> TensorResult<Option<Drawn>> {
        self.rows.collect()
    }

    /// Drops all sequences but those in `live`, ascending; every chunk must have been collected. Returns which old
    /// sequence each new sequence is.
    pub fn keep(&mut self, live: &[usize]) -> TensorResult<Vec<usize>> {
        self.rows.keep(live)
    }
}

/// A variable, its gradient and its moments: f32, contiguous, on one device.
#[derive(Debug, Clone, Copy)]
pub struct Moved<'a> {
    /// The variable's own storage, which is written to.
    pub value: &'a Tensor,
    /// Only read.
    pub gradient: &'a Tensor,
    /// First moment, which is written to.
    pub mean: &'a Tensor,
    /// Second moment, which is written to.
    pub square: &'a Tensor,
    /// Factor of the value by weight decay.
    pub keep: f64,
}

/// Sum of squares of each tensor, in one launch; the tensors are f32 and contiguous. `None` if they are on no GPU.
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

/// One update by AdamW of all variables in one launch. Returns false, and does nothing, if they are on no GPU.
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
