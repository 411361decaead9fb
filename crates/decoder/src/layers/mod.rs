//! The layers of a decoder, with their graph: attention, and what follows it.

pub(crate) mod attention;
pub(crate) mod experts;
pub(crate) mod feed_forward;
mod half;
pub(crate) mod joint;
pub(crate) mod layer;
pub(crate) mod norm;
pub(crate) mod sequences;
pub(crate) mod source;
