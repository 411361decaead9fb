//! Batches of matrix products, given by the addresses and strides of the matrices.

use candle_core::DType;

/// A batch of matrices in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrices {
    /// Address of the first matrix.
    pub address: u64,
    /// Numbers from one row to the next.
    pub stride: usize,
    /// Numbers from one matrix to the next.
    pub step: usize,
    /// Whether each matrix is read transposed.
    pub transposed: bool,
}

impl Matrices {
    /// The transposed matrices.
    pub fn t(self) -> Self {
        Matrices { transposed: !self.transposed, ..self }
    }

    /// The matrices that begin `numbers` numbers of this type further on.
    pub fn after(self, numbers: usize, dtype: DType) -> Self {
        Matrices { address: self.address + (numbers * dtype.size_in_bytes()) as u64, ..self }
    }
}

/// `out = left right`, or `out += left right`, for each matrix of a batch: `(rows, inner)` times `(inner, columns)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Products {
    pub out: Matrices,
    pub left: Matrices,
    pub right: Matrices,
    pub count: usize,
    pub rows: usize,
    pub inner: usize,
    pub columns: usize,
    /// Type of `left` and `right`; sums are computed in f32.
    pub dtype: DType,
    pub out_dtype: DType,
    /// Whether the product is added to `out` rather than written over it.
    pub adds: bool,
}

impl Products {
    /// A single product of matrices of type `dtype`, which overwrites `out`.
    pub fn one(
        (out, out_dtype): (Matrices, DType),
        (left, right): (Matrices, Matrices),
        [rows, inner, columns]: [usize; 3],
        dtype: DType,
    ) -> Self {
        Products { out, left, right, count: 1, rows, inner, columns, dtype, out_dtype, adds: false }
    }
}
