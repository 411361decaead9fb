//! What commands print: results, findings, and errors with their exit codes.

mod effective;
mod error;
pub mod findings;
pub mod near;
pub mod output;

pub use effective::effective;
pub use error::{CliError, INTERRUPTED, SPECIAL_HINT};
pub use findings::Finding;
