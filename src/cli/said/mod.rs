//! What commands say: results, findings, and errors with their exit codes. Knows no command, and opens nothing.

mod effective;
mod error;
pub mod findings;
pub mod near;
pub mod output;
pub mod table;

pub use effective::effective;
pub use error::{CliError, INTERRUPTED};
