//! The chunks in which rows are scored, and the gradients that are wanted.

use std::ops::Range;

use candle_core::Tensor;

/// Rows whose share of the weight's gradient is summed at once. This fixes the order of that sum: every chunk is a
/// multiple of it, so the size of chunks changes no number.
pub(super) const BLOCK: usize = 64;

/// Which gradients are needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub by_hidden: bool,
    pub by_weight: bool,
}

impl Wanted {
    pub fn of(hidden: &Tensor, weight: &Tensor) -> Self {
        Wanted { by_hidden: hidden.track_op(), by_weight: weight.track_op() }
    }
}

/// Chunks of about `rows` rows. A last chunk of few rows is merged with the one before, because a product with few
/// rows is rounded differently.
pub(super) fn chunks(count: usize, rows: usize) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from;
        from = if start + rows + BLOCK > count { count } else { start + rows };
        (start < count).then_some(start..from)
    })
}
