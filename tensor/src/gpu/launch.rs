//! How the operations of an update are launched on a GPU. Each operation has a file `gpu` of its own, which takes tensors
//! and gives tensors, without a graph: as few launches as its arithmetic allows, nothing widened in memory that a kernel
//! can widen as it reads, and sums in f32 in an order that depends on shapes alone.

use candle_core::{DType, Device, Result, Shape, Tensor, bail};

#[cfg(feature = "cuda")]
use super::cuda::Cuda;
use super::emulated::{Emulated, is_emulated};
use super::machine::Machine;
use super::params::{Params, THREADS, name};
use super::products::{Matrices, Products};

/// Rows that a block serves where each has a warp.
pub(crate) const WARPS: usize = THREADS / 32;

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

#[cfg_attr(not(feature = "cuda"), allow(unused_variables, reason = "a build without CUDA asks no GPU"))]
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
pub(crate) struct Gpu {
    on: On,
    pub(crate) device: Device,
}

impl Gpu {
    pub(crate) fn of(tensor: &Tensor) -> Result<Self> {
        let device = tensor.device().clone();
        let Some(on) = on(&device) else { bail!("expected a tensor on a GPU, found one on {:?}", device.location()) };
        Ok(Gpu { on, device })
    }

    /// A tensor that a kernel or a product writes all of.
    pub(crate) fn empty(&self, shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        // Safety: callers write every number before any is read.
        unsafe { Tensor::empty(shape, dtype, &self.device) }
    }

    /// Where the numbers of a contiguous tensor lie, for as long as it lives.
    pub(crate) fn address(&self, tensor: &Tensor) -> Result<u64> {
        match self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(ref machine) => machine.address(tensor),
            On::Processor(ref machine) => machine.address(tensor),
        }
    }

    /// The last two dimensions of a contiguous tensor as matrices, those before as their number.
    pub(crate) fn matrices(&self, tensor: &Tensor) -> Result<Matrices> {
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
    pub(crate) unsafe fn launch<P: Params>(&self, kernel: &str, (x, y): (usize, usize), params: &P) -> Result<()> {
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
    pub(crate) unsafe fn typed<P: Params>(
        &self,
        (kernel, dtype): (&str, DType),
        blocks: usize,
        params: &P,
    ) -> Result<()> {
        // Safety: as the caller promises.
        unsafe { self.launch(&name(kernel, dtype)?, (blocks, 1), params) }
    }

    /// Runs a batch of matrix products.
    ///
    /// # Safety
    ///
    /// The matrices must lie within live tensors.
    pub(crate) unsafe fn products(&self, products: &Products) -> Result<()> {
        match self.on {
            #[cfg(feature = "cuda")]
            // Safety: as the caller promises.
            On::Gpu(ref machine) => unsafe { machine.products(products) },
            // Safety: as the caller promises.
            On::Processor(ref machine) => unsafe { machine.products(products) },
        }
    }
}
