//! Factors of an update.

/// Factors of one update by AdamW.
#[derive(Debug, Clone, Copy)]
pub struct AdamWRates {
    /// Factor of the gradients.
    pub scale: f64,
    /// Decay of the first moment (mean of gradients).
    pub beta1: f64,
    /// Decay of the second moment (mean of squared gradients).
    pub beta2: f64,
    /// Learning rate, including the bias correction of the first moment.
    pub rate: f64,
    /// Square root of the bias correction of the second moment.
    pub root_correction: f64,
    /// Added to the square root of the second moment.
    pub epsilon: f64,
}
