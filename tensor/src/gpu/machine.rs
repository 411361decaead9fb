//! What decoding and training ask of a GPU: memory, copies, kernels, products. Everything else here is the same on all
//! machines, so that it can be tested on one without a GPU.

use candle_core::{DType, Result, Tensor};

use super::params::Params;
use super::products::Products;

/// Memory of a machine, given back when dropped.
pub(super) trait Memory {
    /// Where it begins, as kernels see it.
    fn address(&self) -> u64;
}

/// `out = x weight`: `x` `(rows, inputs)` and contiguous, `out` `(rows, outputs)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    pub out: u64,
    /// Numbers from one row of `out` to the next.
    pub out_stride: usize,
    pub x: u64,
    pub weight: u64,
    /// Whether `weight` lies as `(outputs, inputs)`; as `(inputs, outputs)` otherwise.
    pub transposed: bool,
    pub rows: usize,
    pub inputs: usize,
    pub outputs: usize,
    /// Of `x` and `weight`; sums are taken in f32.
    pub dtype: DType,
    pub out_dtype: DType,
}

/// A GPU and its one queue of work. What is asked for is done in order; only [`Machine::wait`] waits for it.
pub(super) trait Machine {
    type Memory: Memory;
    /// Bytes on their way to the host.
    type Pending;
    /// Work that can be asked for again at once.
    type Recording;

    /// Memory filled with zeros.
    fn zeros(&self, bytes: usize) -> Result<Self::Memory>;

    /// The numbers of a contiguous tensor, which the memory keeps alive.
    fn adopt(&self, tensor: &Tensor) -> Result<Self::Memory>;

    /// Copies bytes to the start of `to`.
    fn write(&self, to: &Self::Memory, bytes: &[u8]) -> Result<()>;

    /// Copies `bytes` bytes from the start of one memory to that of another.
    fn copy(&self, to: &Self::Memory, from: &Self::Memory, bytes: usize) -> Result<()>;

    /// Starts to copy the first `bytes` bytes to the host.
    fn read(&self, from: &Self::Memory, bytes: usize) -> Result<Self::Pending>;

    /// What was read.
    fn wait(&self, pending: Self::Pending) -> Result<Vec<u8>>;

    /// Runs a kernel on `grid` blocks of `threads`.
    ///
    /// # Safety
    ///
    /// The addresses in `params` must be of live memory, and large enough for the sizes there.
    unsafe fn launch<P: Params>(&self, kernel: &str, grid: [usize; 3], threads: usize, params: &P) -> Result<()>;

    /// Runs a matrix product.
    ///
    /// # Safety
    ///
    /// The addresses must be of live memory, and large enough for the sizes there.
    unsafe fn product(&self, product: &Product) -> Result<()>;

    /// Runs a batch of matrix products.
    ///
    /// # Safety
    ///
    /// As for [`Machine::product`].
    unsafe fn products(&self, products: &Products) -> Result<()>;

    /// Where the numbers of a contiguous tensor lie, for as long as it lives.
    fn address(&self, tensor: &Tensor) -> Result<u64>;

    /// Records the kernels and products of `work` in place of running them; none where this machine cannot.
    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Recording>>;

    /// Runs what was recorded.
    ///
    /// # Safety
    ///
    /// The memory that the recorded work names must still live.
    unsafe fn replay(&self, recording: &Self::Recording) -> Result<()>;
}
