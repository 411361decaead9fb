//! What every part stands on: seeds, statistics, files that are written whole, words of commands, requests of HTTP, lines of JSON. Knows nothing above.

#![forbid(unsafe_code)]

pub mod causes;
pub mod files;
pub mod http;
mod json_line;
pub mod plural;
pub mod seed;
pub mod shell;
pub mod stats;

pub use json_line::{in_one_line, json_line};
