//! How much memory a device has, and which errors mean that it was too little.

use candle_core::{Device, Error, Result};

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
const ROOM: u64 = 2 << 30;

/// Whether an error says that a device ran out of memory.
pub fn is_out_of_memory(error: &str) -> bool {
    NO_MEMORY.iter().any(|word| error.contains(word))
}

/// The error, as one of missing memory where it is cuBLAS's for want of room on `device`.
pub fn explained(error: Error, device: &Device) -> Error {
    let text = error.to_string();
    match super::device_memory(device) {
        Ok(Some(memory)) if wants_room(&text, memory.free) => {
            Error::Msg(format!("{text}; {} MiB of the GPU are free: out of memory", memory.free >> 20))
        }
        _ => error,
    }
}

fn wants_room(error: &str, free: u64) -> bool {
    free < CROWDED && NOT_LOADED.iter().any(|word| error.contains(word))
}

/// Gives what the pool keeps back to the driver if little is free.
pub fn make_room(device: &Device) -> Result<()> {
    match super::device_memory(device)? {
        Some(memory) if memory.free < ROOM => super::trim_memory(device),
        _ => Ok(()),
    }
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
        let error = explained(Error::Msg(failed.into()), &Device::Cpu);
        assert_eq!(error.to_string(), failed, "nobody asks the processor");
    }
}
