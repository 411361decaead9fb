//! What every part stands on: seeds, statistics, files that are written whole, words of commands, requests of HTTP. Knows nothing above.

#![forbid(unsafe_code)]

pub mod causes;
pub mod files;
pub mod http;
pub mod plural;
pub mod seed;
pub mod shell;
pub mod stats;
