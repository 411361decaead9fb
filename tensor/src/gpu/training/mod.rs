//! What an update runs on a GPU: the layers and the head, forwards and backwards, as few launches as their arithmetic
//! allows, and nothing widened in memory that a kernel can widen as it reads.
//!
//! Takes tensors and gives tensors, without a graph; `kernels` attaches them to one. Sums are taken in f32, in an order
//! that depends on shapes alone.

mod adapted;
mod attention;
mod gate;
mod head;
mod linear;
mod norm;

use candle_core::{DType, Device, Result, Shape, Tensor, bail};

pub(crate) use adapted::{adapted_linear, adapted_linear_slopes};
pub use attention::SCORE_BYTES;
#[cfg(test)]
pub(crate) use attention::{Limits, both_with};
pub(crate) use attention::{causal_attention, causal_attention_slope};
pub(crate) use gate::{silu_mul, silu_mul_slope};
pub(crate) use head::{Head, score, score_slopes};
pub(crate) use linear::{weight_slope, wide_linear};
pub(crate) use norm::{rms_norm, rms_norm_slopes};

#[cfg(feature = "cuda")]
use super::cuda::Cuda;
use super::emulated::{Emulated, is_emulated};
use super::machine::Machine;
use super::params::{Params, THREADS, name};
use super::products::{Matrices, Products};

/// Rows that a block serves where each has a warp.
const WARPS: usize = THREADS / 32;

/// Whether the kernels can work on this tensor.
pub(crate) fn serves(tensor: &Tensor) -> bool {
    matches!(tensor.dtype(), DType::F32 | DType::BF16 | DType::F16) && on(tensor.device()).is_some()
}

/// Where kernels run.
enum On {
    #[cfg(feature = "cuda")]
    Gpu(Cuda),
    Processor(Emulated),
}

#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
fn on(device: &Device) -> Option<On> {
    #[cfg(feature = "cuda")]
    if let Device::Cuda(device) = device {
        return Some(On::Gpu(Cuda::new(device)));
    }
    if is_emulated() {
        return Emulated::open().map(On::Processor);
    }
    None
}

/// The GPU that a tensor is on.
struct Gpu {
    on: On,
    device: Device,
}

impl Gpu {
    fn of(tensor: &Tensor) -> Result<Self> {
        let device = tensor.device().clone();
        let Some(on) = on(&device) else { bail!("expected a tensor on a GPU, found one on {:?}", device.location()) };
        Ok(Gpu { on, device })
    }

    /// A tensor that a kernel or a product writes all of.
    fn empty(&self, shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        // Safety: callers write every number before any is read.
        unsafe { Tensor::empty(shape, dtype, &self.device) }
    }

    /// Where the numbers of a contiguous tensor lie, for as long as it lives.
    fn address(&self, tensor: &Tensor) -> Result<u64> {
        match self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(ref machine) => machine.address(tensor),
            On::Processor(ref machine) => machine.address(tensor),
        }
    }

    /// The last two dimensions of a contiguous tensor as matrices, those before as their number.
    fn matrices(&self, tensor: &Tensor) -> Result<Matrices> {
        let (Some(stride), address) = (tensor.dims().last().copied(), self.address(tensor)?) else {
            bail!("expected a matrix, found a number");
        };
        let rows = tensor.dims().iter().rev().nth(1).copied().unwrap_or(1);
        Ok(Matrices { address, stride, step: rows * stride, transposed: false })
    }

    /// Runs a kernel on blocks of [`THREADS`].
    ///
    /// # Safety
    ///
    /// The addresses in `params` must be of live tensors, and those large enough for the sizes there.
    unsafe fn launch<P: Params>(&self, kernel: &str, (x, y): (usize, usize), params: &P) -> Result<()> {
        match self.on {
            #[cfg(feature = "cuda")]
            // Safety: as the caller promises.
            On::Gpu(ref machine) => unsafe { machine.launch(kernel, [x, y, 1], THREADS, params) },
            // Safety: as the caller promises.
            On::Processor(ref machine) => unsafe { machine.launch(kernel, [x, y, 1], THREADS, params) },
        }
    }

    /// The same for the kernel of this name for numbers of a type.
    ///
    /// # Safety
    ///
    /// As for [`Gpu::launch`].
    unsafe fn typed<P: Params>(&self, (kernel, dtype): (&str, DType), blocks: usize, params: &P) -> Result<()> {
        // Safety: as the caller promises.
        unsafe { self.launch(&name(kernel, dtype)?, (blocks, 1), params) }
    }

    /// Runs a batch of matrix products.
    ///
    /// # Safety
    ///
    /// The matrices must lie within live tensors.
    unsafe fn products(&self, products: &Products) -> Result<()> {
        match self.on {
            #[cfg(feature = "cuda")]
            // Safety: as the caller promises.
            On::Gpu(ref machine) => unsafe { machine.products(products) },
            // Safety: as the caller promises.
            On::Processor(ref machine) => unsafe { machine.products(products) },
        }
    }
}
