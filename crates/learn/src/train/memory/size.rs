//! Sizes for people.

/// Bytes in megabytes or gigabytes of powers of ten: `540 MB`, `1.9 GB`.
pub fn megabytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes < 0.95e9 { format!("{:.0} MB", bytes / 1e6) } else { format!("{:.1} GB", bytes / 1e9) }
}
