//! How much memory a device has, and which errors mean that it was too little.

/// Memory of a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes that nobody uses.
    pub free: u64,
    pub total: u64,
}

/// How the CUDA driver, cuBLAS and cuRAND say that there was no memory.
const NO_MEMORY: [&str; 4] =
    ["OUT_OF_MEMORY", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CURAND_STATUS_ALLOCATION_FAILED"];
/// What cuBLAS says where it could not load a kernel, which it does at the first product of a new shape.
const NOT_LOADED: [&str; 3] =
    ["CUBLAS_STATUS_INTERNAL_ERROR", "CUBLAS_STATUS_EXECUTION_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED"];
/// With less free memory than this many bytes a kernel of cuBLAS may find no room.
const CROWDED: u64 = 256 << 20;
/// Bytes that libraries and graphs should find free: they take none from what the pool keeps for tensors.
pub(super) const ROOM: u64 = 2 << 30;

/// Whether an error says that a device ran out of memory.
pub fn is_out_of_memory(error: &str) -> bool {
    NO_MEMORY.iter().any(|word| error.contains(word))
}

/// Whether an error is cuBLAS's for want of room, with so many bytes free.
pub(super) fn wants_room(error: &str, free: u64) -> bool {
    free < CROWDED && NOT_LOADED.iter().any(|word| error.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_cublas_on_a_full_gpu_is_one_of_memory() {
        let failed = "CublasError(CUBLAS_STATUS_INTERNAL_ERROR)";
        assert!(wants_room(failed, 100 << 20) && !wants_room(failed, 1 << 30));
        assert!(!wants_room("CUBLAS_STATUS_NOT_SUPPORTED", 0), "that has another reason");
        assert!(is_out_of_memory("DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")"));
        assert!(is_out_of_memory("CUBLAS_STATUS_INTERNAL_ERROR; 100 MiB of the GPU are free: out of memory"));
        assert!(!is_out_of_memory(failed));
    }
}
