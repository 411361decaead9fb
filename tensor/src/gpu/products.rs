//! Batches of matrix products, by where their matrices lie.

use candle_core::DType;

/// Where the matrices of a batch lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrices {
    /// Of the first.
    pub address: u64,
    /// Numbers from row to row.
    pub stride: usize,
    /// Numbers from matrix to matrix.
    pub step: usize,
    /// Whether each is read with rows and columns exchanged.
    pub transposed: bool,
}

impl Matrices {
    /// Rows and columns exchanged.
    pub fn t(self) -> Self {
        Matrices { transposed: !self.transposed, ..self }
    }

    /// The part behind the first `numbers` numbers of this type.
    pub fn after(self, numbers: usize, dtype: DType) -> Self {
        Matrices { address: self.address + (numbers * dtype.size_in_bytes()) as u64, ..self }
    }
}

/// `out = left right`, or that added to `out`, for each of a batch: `(rows, inner)` times `(inner, columns)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Products {
    pub out: Matrices,
    pub left: Matrices,
    pub right: Matrices,
    pub count: usize,
    pub rows: usize,
    pub inner: usize,
    pub columns: usize,
    /// Of `left` and `right`; sums are taken in f32.
    pub dtype: DType,
    pub out_dtype: DType,
    /// Whether `out` keeps what it holds.
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
