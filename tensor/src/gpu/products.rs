//! Batches of matrix products, given by the addresses and strides of the matrices.

use candle_core::DType;

/// A batch of matrices in memory, all of one type.
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
    pub dtype: DType,
}

impl Matrices {
    /// The transposed matrices.
    pub fn t(self) -> Self {
        Matrices { transposed: !self.transposed, ..self }
    }

    /// The matrices that begin `numbers` numbers further on.
    pub fn after(self, numbers: usize) -> Self {
        Matrices { address: self.address + (numbers * self.dtype.size_in_bytes()) as u64, ..self }
    }
}

/// `out = left right`, or `out += left right`, for each matrix of a batch: `(rows, inner)` times `(inner, columns)`.
/// `left` and `right` are of one type; sums are computed in f32.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Products {
    pub out: Matrices,
    pub left: Matrices,
    pub right: Matrices,
    pub count: usize,
    pub rows: usize,
    pub inner: usize,
    pub columns: usize,
    /// Whether the product is added to `out` rather than written over it.
    pub adds: bool,
}

impl Products {
    /// A single product, which overwrites `out`.
    pub fn one(out: Matrices, left: Matrices, right: Matrices, [rows, inner, columns]: [usize; 3]) -> Self {
        Products { out, left, right, count: 1, rows, inner, columns, adds: false }
    }

    /// The same products, added to `out`.
    pub fn added(self) -> Self {
        Products { adds: true, ..self }
    }
}
