//! (to come)

pub mod sft;
