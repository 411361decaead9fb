//! How much memory a device has.

/// Memory of a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes that nobody uses.
    pub free: u64,
    pub total: u64,
}
