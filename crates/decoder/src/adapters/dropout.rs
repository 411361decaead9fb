//! Random seeds of dropout.

use std::sync::Arc;

use grpo_tensor::Masks;

use grpo_base::seed::{Purpose, Seed};

/// The seeds of one pass over some sequences.
///
/// A mask depends on the seed of its row and on the layer, so it is the same however rows are batched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropout {
    rows: Arc<[Seed]>,
}

impl Dropout {
    /// One seed for each row.
    pub fn new(rows: impl IntoIterator<Item = Seed>) -> Self {
        Dropout { rows: rows.into_iter().collect() }
    }

    /// The masks of the layer with this number.
    pub(crate) fn masks(&self, layer: u64, probability: f64) -> Masks {
        Masks::new(self.rows.iter().map(|row| row.child(Purpose::Dropout, layer).rng()).collect(), probability)
    }
}
