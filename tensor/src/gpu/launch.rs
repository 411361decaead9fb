//! How the operations of an update are launched on a GPU. The file `gpu.rs` of each operation takes tensors and
//! returns tensors, without a graph. It launches as few kernels as the arithmetic allows, converts to f32 inside the
//! kernels rather than in memory, and sums in f32 in an order that depends on shapes alone.

use candle_core::{DType, Device, Result, Shape, Tensor, bail};

#[cfg(feature = "cuda")]
use super::cuda::Cuda;
use super::emulated::{Emulated, is_emulated};
use super::machine::Machine;
use super::params::{Params, THREADS, name};
use super::products::{Matrices, Products};

/// Rows per block of kernels that use one warp for each row.
pub(crate) const WARPS: usize = THREADS / 32;

/// Whether the kernels can work on this tensor.
pub(crate) fn serves(tensor: &Tensor) -> bool {
    matches!(tensor.dtype(), DType::F32 | DType::BF16 | DType::F16) && on(tensor.device()).is_some()
}

/// The machine that kernels run on.
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

    /// An uninitialised tensor, which a kernel or a product fills completely. On the processor no number is in it, so that
    /// what is left out shows.
    pub(crate) fn empty(&self, shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        if matches!(self.on, On::Processor(_)) && dtype.is_float() {
            return Tensor::full(f32::NAN, shape, &self.device)?.to_dtype(dtype);
        }
        // Safety: callers write every number before any is read.
        unsafe { Tensor::empty(shape, dtype, &self.device) }
    }

    /// The address of a contiguous tensor's numbers, valid for as long as the tensor lives.
    pub(crate) fn address(&self, tensor: &Tensor) -> Result<u64> {
        match self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(ref machine) => machine.address(tensor),
            On::Processor(ref machine) => machine.address(tensor),
        }
    }

    /// A contiguous tensor as a batch of matrices over its last two dimensions.
    pub(crate) fn matrices(&self, tensor: &Tensor) -> Result<Matrices> {
        let (Some(stride), address) = (tensor.dims().last().copied(), self.address(tensor)?) else {
            bail!("expected a matrix, found a number");
        };
        let rows = tensor.dims().iter().rev().nth(1).copied().unwrap_or(1);
        Ok(Matrices { address, stride, step: rows * stride, transposed: false, dtype: tensor.dtype() })
    }

    /// Runs a kernel on a grid of blocks of [`THREADS`].
    ///
    /// # Safety
    ///
    /// The addresses in `params` must belong to live tensors that are large enough for the sizes in `params`.
    pub(crate) unsafe fn launch<P: Params>(&self, kernel: &str, [x, y]: [usize; 2], params: &P) -> Result<()> {
        match self.on {
            #[cfg(feature = "cuda")]
            // Safety: the caller's promise.
            On::Gpu(ref machine) => unsafe { machine.launch(kernel, [x, y, 1], THREADS, params) },
            // Safety: the caller's promise.
            On::Processor(ref machine) => unsafe { machine.launch(kernel, [x, y, 1], THREADS, params) },
        }
    }

    /// Runs the variant of a kernel for numbers of type `dtype`.
    ///
    /// # Safety
    ///
    /// As for [`Gpu::launch`].
    pub(crate) unsafe fn typed<P: Params>(&self, kernel: &str, dtype: DType, blocks: usize, params: &P) -> Result<()> {
        // Safety: the caller's promise.
        unsafe { self.launch(&name(kernel, dtype)?, [blocks, 1], params) }
    }

    /// Runs a batch of matrix products.
    ///
    /// # Safety
    ///
    /// The matrices must lie within live tensors.
    pub(crate) unsafe fn products(&self, products: &Products) -> Result<()> {
        match self.on {
            #[cfg(feature = "cuda")]
            // Safety: the caller's promise.
            On::Gpu(ref machine) => unsafe { machine.products(products) },
            // Safety: the caller's promise.
            On::Processor(ref machine) => unsafe { machine.products(products) },
        }
    }
}
