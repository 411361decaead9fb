//! What decoding and training need of a GPU: memory, copies, kernels and matrix products. Code outside the
//! implementations of `Machine` is the same for all machines, so that it can be tested without a GPU.

use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::{DType, Result, Tensor};

use super::params::Params;
use super::products::Products;

static CHECKED: AtomicBool = AtomicBool::new(false);

/// Whether a GPU's kernels and products are waited for from now on, each by itself, so that one that fails is named.
/// Otherwise the next call that waits reports it.
pub fn check_launches(on: bool) {
    CHECKED.store(on, Ordering::Relaxed);
}

#[cfg(feature = "cuda")]
pub(super) fn launches_are_checked() -> bool {
    CHECKED.load(Ordering::Relaxed)
}

/// Memory of a machine, freed when dropped.
pub(super) trait Memory {
    /// The address at which kernels see the memory begin.
    fn address(&self) -> u64;
}

/// `out = x weight`: `x` is `(rows, inputs)` and contiguous, `out` is `(rows, outputs)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    pub out: u64,
    /// Numbers from one row of `out` to the next.
    pub out_stride: usize,
    pub x: u64,
    pub weight: u64,
    /// Whether `weight` is stored as `(outputs, inputs)` rather than `(inputs, outputs)`.
    pub transposed: bool,
    pub rows: usize,
    pub inputs: usize,
    pub outputs: usize,
    /// Type of `x` and `weight`; sums are computed in f32.
    pub dtype: DType,
    pub out_dtype: DType,
}

/// A GPU and its one queue of work. Work is done in the order of the calls; only [`Machine::wait`] waits for it.
pub(super) trait Machine {
    type Memory: Memory;
    /// Bytes on their way to the host.
    type Pending;
    /// Recorded work, which can be run again by one call (a CUDA graph).
    type Recording;

    fn zeros(&self, bytes: usize) -> Result<Self::Memory>;

    /// A contiguous tensor as memory, which keeps the tensor alive.
    fn adopt(&self, tensor: &Tensor) -> Result<Self::Memory>;

    /// Copies bytes to the start of `to`.
    fn write(&self, to: &Self::Memory, bytes: &[u8]) -> Result<()>;

    /// Copies `bytes` bytes from the start of one memory to another, from byte `at` of it on.
    fn copy(&self, to: &Self::Memory, at: usize, from: &Self::Memory, bytes: usize) -> Result<()>;

    /// Starts to copy the first `bytes` bytes to the host.
    fn read(&self, from: &Self::Memory, bytes: usize) -> Result<Self::Pending>;

    /// Waits for the bytes of a read.
    fn wait(&self, pending: Self::Pending) -> Result<Vec<u8>>;

    /// Runs a kernel on `grid` blocks of `threads`.
    ///
    /// # Safety
    ///
    /// The addresses in `params` must belong to live memory that is large enough for the sizes in `params`.
    unsafe fn launch<P: Params>(&self, kernel: &str, grid: [usize; 3], threads: usize, params: &P) -> Result<()>;

    /// Runs a matrix product.
    ///
    /// # Safety
    ///
    /// The addresses must belong to live memory that is large enough for the sizes.
    unsafe fn product(&self, product: &Product) -> Result<()>;

    /// Runs a batch of matrix products.
    ///
    /// # Safety
    ///
    /// As for [`Machine::product`].
    unsafe fn products(&self, products: &Products) -> Result<()>;

    /// The address of a contiguous tensor's numbers, valid for as long as the tensor lives.
    fn address(&self, tensor: &Tensor) -> Result<u64>;

    /// Records the kernels and products of `work` instead of running them; `None` if this machine cannot record.
    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Recording>>;

    /// Runs recorded work.
    ///
    /// # Safety
    ///
    /// The memory that the recorded work uses must still live.
    unsafe fn replay(&self, recording: &Self::Recording) -> Result<()>;
}
