//! Low-rank adapters, and the linear maps that they sit on.

pub(crate) mod linear;
pub(crate) mod set;
