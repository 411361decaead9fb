//! cuBLAS: products of matrices, the columns of which lie one after another.

use std::ffi::{c_int, c_longlong};

use half::{bf16, f16};

use crate::driver::{state, version_of_cuda};
use crate::memory::Memory;
use crate::queue::Work;
use crate::{DeviceFault, exports, fault};

const SUCCESS: u32 = 0;
const NOT_INITIALIZED: u32 = 1;
const INVALID_VALUE: u32 = 7;
const EXECUTION_FAILED: u32 = 13;
const NOT_SUPPORTED: u32 = 15;
/// `CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION`.
const NO_REDUCED_SUMS: u32 = 16;
/// `CUBLAS_COMPUTE_32F_FAST_TF32`.
const FAST_TF32: u32 = 77;

/// A matrix, or as many as there are products.
#[derive(Debug, Clone, Copy)]
struct Matrix {
    address: u64,
    kind: Kind,
    /// Numbers from one column to the next, and from one matrix to the next.
    leading: usize,
    stride: i64,
    transposed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    F32,
    F64,
    F16,
    Bf16,
}

impl Kind {
    /// Of a `cudaDataType`.
    fn of(number: u32) -> Option<Self> {
        match number {
            0 => Some(Kind::F32),
            1 => Some(Kind::F64),
            2 => Some(Kind::F16),
            14 => Some(Kind::Bf16),
            _ => None,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Kind::F64 => 8,
            Kind::F32 => 4,
            Kind::F16 | Kind::Bf16 => 2,
        }
    }
}

/// `c = alpha a b + beta c`, `a` `(m, k)`, `b` `(k, n)`, as many times as there are matrices.
#[derive(Debug, Clone)]
pub struct Product {
    sizes: [usize; 3],
    count: usize,
    factors: [f32; 2],
    a: Matrix,
    b: Matrix,
    c: Matrix,
    /// Whether factors in f32 are rounded to 11 bits (TF32).
    rounds: bool,
}

impl Matrix {
    /// Where the numbers of matrix `index` are, checked for `rows` and `columns` as they lie.
    fn at(&self, memory: &Memory, index: usize, [rows, columns]: [usize; 2]) -> Result<*mut u8, DeviceFault> {
        if self.leading < rows {
            return Err(fault!("columns of {rows} numbers lie {} apart", self.leading));
        }
        let bytes = self.kind.bytes() as i64;
        let numbers = (columns.max(1) - 1) * self.leading + rows;
        let address = self.address.wrapping_add_signed(self.stride * bytes * index as i64);
        memory.bytes(address, (numbers as i64 * bytes) as u64)
    }

    /// The numbers of matrix `index`, the rows of the operation one after another.
    fn read(&self, memory: &Memory, index: usize, [rows, columns]: [usize; 2]) -> Result<Vec<f32>, DeviceFault> {
        let lies = if self.transposed { [columns, rows] } else { [rows, columns] };
        let from = self.at(memory, index, lies)?;
        let mut all = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let (down, right) = if self.transposed { (column, row) } else { (row, column) };
                let place = right * self.leading + down;
                // Safety: checked for all rows and columns.
                all.push(unsafe {
                    match self.kind {
                        Kind::F32 => from.cast::<f32>().add(place).read_unaligned(),
                        Kind::F64 => from.cast::<f64>().add(place).read_unaligned() as f32,
                        Kind::F16 => from.cast::<f16>().add(place).read_unaligned().to_f32(),
                        Kind::Bf16 => from.cast::<bf16>().add(place).read_unaligned().to_f32(),
                    }
                });
            }
        }
        Ok(all)
    }
}

impl Product {
    /// Of three square matrices of f32, the first turned on its side if `transposed` says so.
    #[cfg(test)]
    pub fn of_squares(size: usize, [a, b, c]: [u64; 3], transposed: bool, beta: f32) -> Self {
        let matrix = |address, transposed| Matrix { address, kind: Kind::F32, leading: size, stride: 0, transposed };
        let (a, b, c) = (matrix(a, transposed), matrix(b, false), matrix(c, false));
        Product { sizes: [size; 3], count: 1, factors: [1.0, beta], a, b, c, rounds: false }
    }

    /// The same in TF32.
    #[cfg(test)]
    pub fn rounded(self) -> Self {
        Product { rounds: true, ..self }
    }

    pub fn run(&self, memory: &Memory) -> Result<(), DeviceFault> {
        (0..self.count)
            .try_for_each(|index| self.one(memory, index))
            .map_err(|DeviceFault(why)| fault!("cuBLAS: {why}"))
    }

    fn one(&self, memory: &Memory, index: usize) -> Result<(), DeviceFault> {
        let [m, n, k] = self.sizes;
        let rounded = |matrix: &Matrix, sizes| {
            let mut all = matrix.read(memory, index, sizes)?;
            if self.rounds && matrix.kind == Kind::F32 {
                all.iter_mut().for_each(|number| *number = tf32(*number));
            }
            Ok::<_, DeviceFault>(all)
        };
        let (a, b) = (rounded(&self.a, [m, k])?, rounded(&self.b, [k, n])?);
        let to = self.c.at(memory, index, [m, n])?;
        let [alpha, beta] = self.factors;
        let mut sums = vec![0.0_f32; n];
        for row in 0..m {
            sums.fill(0.0);
            for (a, b) in a[row * k..][..k].iter().zip(b.chunks_exact(n)) {
                sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
            }
            for (column, sum) in sums.iter().enumerate() {
                let place = column * self.c.leading + row;
                // Safety: checked for all rows and columns.
                unsafe {
                    match self.c.kind {
                        Kind::F32 => put(to.cast::<f32>().add(place), alpha * sum, beta, f32::from, |x| x),
                        Kind::F64 => put(to.cast::<f64>().add(place), alpha * sum, beta, |x| x as f32, f64::from),
                        Kind::F16 => put(to.cast::<f16>().add(place), alpha * sum, beta, f16::to_f32, f16::from_f32),
                        Kind::Bf16 => {
                            put(to.cast::<bf16>().add(place), alpha * sum, beta, bf16::to_f32, bf16::from_f32);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The nearest number of 11 bits, ties to even.
fn tf32(number: f32) -> f32 {
    if !number.is_finite() {
        return number;
    }
    let bits = number.to_bits();
    f32::from_bits((bits + 0xfff + ((bits >> 13) & 1)) & !0x1fff)
}

/// Adds what was there, which counts for nothing where `beta` is zero.
///
/// # Safety
///
/// `to` must be valid.
unsafe fn put<T: Copy>(to: *mut T, value: f32, beta: f32, wide: impl Fn(T) -> f32, narrow: impl Fn(f32) -> T) {
    // Safety: as the caller promises.
    unsafe {
        let before = if beta == 0.0 { 0.0 } else { beta * wide(to.read_unaligned()) };
        to.write_unaligned(narrow(value + before));
    }
}

/// What a handle points to.
struct Handle {
    stream: u64,
    /// `cublasMath_t`.
    math_mode: u32,
}

fn change(handle: Option<&mut Handle>, how: impl FnOnce(&mut Handle)) -> u32 {
    match handle {
        Some(handle) => {
            how(handle);
            SUCCESS
        }
        None => NOT_INITIALIZED,
    }
}

exports! {
    fn cublasGetProperty(part: u32, value: &mut c_int) {
        *value = if part == 0 { version_of_cuda() / 1000 } else { 0 };
        SUCCESS
    }

    fn cublasCreate_v2(handle: &mut *mut Handle) {
        *handle = Box::into_raw(Box::new(Handle { stream: 0, math_mode: 0 }));
        SUCCESS
    }

    fn cublasDestroy_v2(handle: *mut Handle) {
        // Safety: given by `cublasCreate_v2`.
        drop(unsafe { Box::from_raw(handle) });
        SUCCESS
    }

    fn cublasSetStream_v2(handle: Option<&mut Handle>, stream: u64) { change(handle, |handle| handle.stream = stream) }

    fn cublasSetMathMode(handle: Option<&mut Handle>, mode: u32) { change(handle, |handle| handle.math_mode = mode) }

    fn cublasSetWorkspace_v2(_handle: *mut Handle, workspace: u64, bytes: usize) {
        match state().memory.around(workspace, bytes as u64) {
            Ok(_) if workspace.is_multiple_of(16) => SUCCESS,
            _ => INVALID_VALUE,
        }
    }

    fn cublasGemmEx(
        handle: &Handle, a_operation: u32, b_operation: u32, m: c_int, n: c_int, k: c_int,
        alpha: &f32, a: u64, a_kind: u32, a_leading: c_int, b: u64, b_kind: u32, b_leading: c_int,
        beta: &f32, c: u64, c_kind: u32, c_leading: c_int, compute: u32, algorithm: c_int
    ) {
        cublasGemmStridedBatchedEx(
            handle, a_operation, b_operation, m, n, k, alpha, a, a_kind, a_leading, 0, b, b_kind, b_leading, 0, beta,
            c, c_kind, c_leading, 0, 1, compute, algorithm,
        )
    }

    fn cublasGemmStridedBatchedEx(
        handle: &Handle, a_operation: u32, b_operation: u32, m: c_int, n: c_int, k: c_int,
        alpha: &f32, a: u64, a_kind: u32, a_leading: c_int, a_stride: c_longlong,
        b: u64, b_kind: u32, b_leading: c_int, b_stride: c_longlong,
        beta: &f32, c: u64, c_kind: u32, c_leading: c_int, c_stride: c_longlong,
        count: c_int, compute: u32, _algorithm: c_int
    ) {
        // Sums in f32: CUBLAS_COMPUTE_32F, and those that may round the factors more.
        if !(68..=77).contains(&compute) || [m, n, k, count].iter().any(|size| *size < 0) {
            return NOT_SUPPORTED;
        }
        let matrix = |address: u64, kind: u32, leading: c_int, stride: c_longlong, operation: u32| {
            let (leading, transposed) = (leading as usize, operation != 0);
            Some(Matrix { address, kind: Kind::of(kind)?, leading, stride, transposed })
        };
        let (Some(a), Some(b), Some(c)) = (
            matrix(a, a_kind, a_leading, a_stride, a_operation),
            matrix(b, b_kind, b_leading, b_stride, b_operation),
            matrix(c, c_kind, c_leading, c_stride, 0),
        ) else {
            return NOT_SUPPORTED;
        };
        if c.kind.bytes() == 2 && handle.math_mode & NO_REDUCED_SUMS == 0 {
            eprintln!("emulated GPU: cuBLAS may add in 16 bits where the result has 16: cublasSetMathMode forbids it");
            return NOT_SUPPORTED;
        }
        let (sizes, factors) = ([m, n, k].map(|size| size as usize), [*alpha, *beta]);
        let product = Product { sizes, count: count as usize, factors, a, b, c, rounds: compute == FAST_TF32 };
        let mut state = state();
        match state.ask(handle.stream, Work::Product(product)) {
            Ok(()) if state.fault.is_none() => SUCCESS,
            Ok(()) => EXECUTION_FAILED,
            Err(fault) => {
                state.fail(fault);
                EXECUTION_FAILED
            }
        }
    }
}
