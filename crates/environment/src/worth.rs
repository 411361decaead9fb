//! What scores are measured by.

/// The scale of an environment's scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// Score that earns a reward of 1.
    pub scale: f64,
    /// Score of a simple player that plays to the end; the penalties for failures are relative to it.
    pub anchor: f64,
}
