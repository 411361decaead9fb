//! Shared by the fused kernels: a tensor's numbers as a slice, parallel work by rows, vector arithmetic, matrix
//! products.

use candle_core::{CpuStorage, Layout, Result, Storage, Tensor, bail};
use rayon::prelude::*;

/// Rows that one task works on. This fixes the order of sums over rows, so it never depends on the number of threads.
pub(super) const ROWS_PER_TASK: usize = 32;

/// Independent partial sums of a reduction: two AVX2 registers, or one of AVX-512.
const LANES: usize = 16;

pub(super) fn slice<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let Some((start, end)) = layout.contiguous_offsets() else {
        bail!("kernel: expected a contiguous tensor, found {layout:?}");
    };
    Ok(&storage.as_slice::<f32>()?[start..end])
}

/// Runs `function` on the numbers of `x`, which is made contiguous first if it is not.
pub(super) fn with_slice<R>(x: &Tensor, function: impl FnOnce(&[f32]) -> Result<R>) -> Result<R> {
    let x = x.contiguous()?;
    let (storage, layout) = x.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => function(slice(storage, layout)?),
        _ => bail!("kernel: expected a tensor on the cpu"),
    }
}

/// Calls `function(index, row of out)` for each row of `width` numbers, in parallel tasks of some rows.
pub(super) fn for_rows(out: &mut [f32], width: usize, function: impl Fn(usize, &mut [f32]) + Sync) {
    let work = |(task, rows): (usize, &mut [f32])| {
        for (index, row) in rows.chunks_exact_mut(width).enumerate() {
            function(task * ROWS_PER_TASK + index, row);
        }
    };
    // Handing over a single task costs more than most tasks take.
    if out.len() <= width * ROWS_PER_TASK {
        return work((0, out));
    }
    out.par_chunks_mut(width * ROWS_PER_TASK).enumerate().for_each(work);
}

/// Whether the machine has those parts of AVX-512 that [`wide`] and [`wide_fused`] compile for.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
}

/// Runs `function` with the widest vector instructions that the machine has. To be compiled for them, `function` and
/// all its callees must be `#[inline(always)]`. No operation is fused or reordered, so the numbers are the same on
/// every machine.
#[inline(always)]
pub(super) fn wide<R>(function: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
        fn avx512<R>(function: impl FnOnce() -> R) -> R {
            function()
        }
        #[target_feature(enable = "avx2")]
        fn avx2<R>(function: impl FnOnce() -> R) -> R {
            function()
        }
        if has_avx512() {
            // Safety: the machine has these instructions.
            return unsafe { avx512(function) };
        }
        if is_x86_feature_detected!("avx2") {
            // Safety: the machine has these instructions.
            return unsafe { avx2(function) };
        }
    }
    function()
}

/// Like [`wide`], but products may be fused into sums, which halves their cost and rounds once; `function` is told
/// whether they are. On machines without fused instructions the last digits differ.
#[inline(always)]
pub(super) fn wide_fused<R>(function: impl FnOnce(bool) -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,fma")]
        fn avx512<R>(function: impl FnOnce(bool) -> R) -> R {
            function(true)
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<R>(function: impl FnOnce(bool) -> R) -> R {
            function(true)
        }
        let fused = is_x86_feature_detected!("fma");
        if fused && has_avx512() {
            // Safety: the machine has these instructions.
            return unsafe { avx512(function) };
        }
        if fused && is_x86_feature_detected!("avx2") {
            // Safety: the machine has these instructions.
            return unsafe { avx2(function) };
        }
    }
    function(cfg!(target_arch = "aarch64"))
}

/// `sum + a * b`, rounded once if `fused`, otherwise twice.
#[inline(always)]
pub(super) fn add_product(fused: bool, sum: f32, a: f32, b: f32) -> f32 {
    if fused { a.mul_add(b, sum) } else { a * b + sum }
}

/// Dot product, summed in an order that depends on the length alone.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    fold(lanes) + rest
}

/// Sum, in an order that depends on the length alone.
#[inline(always)]
pub(super) fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            lanes[lane] += block[lane];
        }
    }
    fold(lanes) + rest.iter().sum::<f32>()
}

/// Largest value; negative infinity if there is none.
#[inline(always)]
pub(super) fn max(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            lanes[lane] = larger(lanes[lane], block[lane]);
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, b| larger(a, *b))
}

#[inline(always)]
fn fold(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// `e^x` within 2 units in the last place, without branches so that it can be vectorised. Below the smallest normal
/// number the result stays at about 1e-38 instead of zero.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Adding and subtracting 1.5 * 2^23 rounds to an integer.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts (Cody and Waite 1980). The low bits of the first are zero, so that its product is exact.
    #[allow(clippy::excessive_precision, reason = "constants stand as they are published")]
    const LN2_HIGH: f32 = 0.693_359_375;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.3, 88.3);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let power = shifted - ROUND;
    let r = x - power * LN2_HIGH - power * LN2_LOW;
    // Minimax polynomial of Cephes' expf.
    let mut p = 1.987_569_1e-4_f32;
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_6e-1, 0.5] {
        p = p * r + coefficient;
    }
    let mantissa = p * r * r + r + 1.0;
    // The low bits of `shifted` are the power; the shift drops its other bits.
    mantissa * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

/// Prefetches the line of an address; an invalid address is ignored.
#[inline(always)]
pub(super) fn soon(address: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // Safety: a prefetch has no effect that the program can observe, and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(address.cast());
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// A strided view of numbers as a matrix.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A row-major matrix with rows of `columns` numbers, `row_stride` apart.
    pub fn new(values: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(rows == 0 || (rows - 1) * row_stride + columns <= values.len(), "matrix view out of bounds");
        Matrix { values, rows, columns, row_stride, column_stride: 1 }
    }

    pub fn t(self) -> Self {
        Matrix {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// The product with `b`, to be computed on this thread.
    pub fn times(self, b: Matrix<'a>) -> MatrixProduct<'a> {
        MatrixProduct { a: self, b, scale: 1.0, threads: gemm::Parallelism::None }
    }
}

/// Multiplications from which a product is worth several threads.
const PRODUCT_WORTH_THREADS: usize = 1 << 24;

/// `a b`, on this thread or, if the product is large, on several; the numbers are the same.
pub(super) fn matmul(a: Matrix<'_>, b: Matrix<'_>) -> Vec<f32> {
    let mut out = vec![0.0; a.rows * b.columns];
    a.times(b).on_threads().write(&mut out, b.columns);
    out
}

/// `scale * a b`, before it is computed.
#[derive(Clone, Copy)]
pub(super) struct MatrixProduct<'a> {
    a: Matrix<'a>,
    b: Matrix<'a>,
    scale: f32,
    threads: gemm::Parallelism,
}

impl MatrixProduct<'_> {
    pub fn scaled(self, scale: f32) -> Self {
        MatrixProduct { scale, ..self }
    }

    /// Computed on several threads if the product is large; the numbers are the same.
    pub fn on_threads(self) -> Self {
        let is_large = self.a.rows * self.b.columns * self.a.columns >= PRODUCT_WORTH_THREADS;
        let threads = if is_large { gemm::Parallelism::Rayon(0) } else { gemm::Parallelism::None };
        MatrixProduct { threads, ..self }
    }

    /// Overwrites `out`, whose rows begin `stride` numbers apart.
    pub fn write(self, out: &mut [f32], stride: usize) {
        self.compute(out, stride, false);
    }

    /// Adds the product to `out`, whose rows begin `stride` numbers apart.
    pub fn add_to(self, out: &mut [f32], stride: usize) {
        self.compute(out, stride, true);
    }

    fn compute(self, out: &mut [f32], out_stride: usize, adds: bool) {
        let MatrixProduct { a, b, scale, threads } = self;
        assert_eq!(a.columns, b.rows, "matrix product");
        let (m, n, k) = (a.rows, b.columns, a.columns);
        assert!(m == 0 || (m - 1) * out_stride + n <= out.len(), "product out of bounds");
        let stride = |stride: usize| stride as isize;
        // Safety: the assertions here and in `Matrix::new` keep every access of the three views within their slices,
        // and `out` cannot overlap the others because it is borrowed mutably.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                out.as_mut_ptr(),
                1,
                stride(out_stride),
                adds,
                a.values.as_ptr(),
                stride(a.column_stride),
                stride(a.row_stride),
                b.values.as_ptr(),
                stride(b.column_stride),
                stride(b.row_stride),
                1.0,
                scale,
                false,
                false,
                false,
                threads,
            );
        }
    }
}
