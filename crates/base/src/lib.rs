//! What every part stands on: seeds, statistics, files that are written whole, requests of HTTP. Knows nothing above.

#![forbid(unsafe_code)]

pub mod files;
pub mod http;
pub mod plural;
pub mod seed;
pub mod stats;
