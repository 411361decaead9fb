//! The families of models: what they are called, the sizes and switches of each, and the tensors that follow from them.

pub(crate) mod architecture;
pub(crate) mod family;
pub(crate) mod shapes;
