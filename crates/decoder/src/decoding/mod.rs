//! Sampling: a copy of the weights, a key-value cache, and no graph.

pub(crate) mod device_batch;
pub(crate) mod sampling;
pub(crate) mod snapshot;
