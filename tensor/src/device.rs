//! The device that tensors live on: the CPU, or a GPU that is examined before it is used.

#[cfg(feature = "cuda")]
mod cuda;
mod examination;
mod memory;
#[cfg(feature = "cuda")]
mod pool;
#[cfg(feature = "cuda")]
mod quantized;

#[cfg(test)]
mod tests;

pub use candle_core::Device;
use candle_core::DeviceLocation;

pub use examination::{CudaExamination, DriverFound, LibraryFound, Target, Unusable, Version};
pub use memory::{DeviceMemory, is_out_of_memory};

/// What the device setting asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// A GPU if one can be used, otherwise the CPU.
    Auto,
    Cpu,
    /// The GPU with this number.
    Cuda(usize),
}

impl Wish {
    fn of(name: &str) -> Option<Wish> {
        match name {
            "auto" => Some(Wish::Auto),
            "cpu" => Some(Wish::Cpu),
            "cuda" => Some(Wish::Cuda(0)),
            _ => name.strip_prefix("cuda:")?.parse().ok().map(Wish::Cuda),
        }
    }
}

/// Opens the device that a setting names: "auto", "cpu", "cuda" or "cuda:N". If "auto" finds no GPU that can be used,
/// this is the CPU, together with the reason. The error says why the named device cannot be used, or that the name is
/// unknown.
pub fn open_device(name: &str) -> Result<(Device, Option<Unusable>), String> {
    match Wish::of(name) {
        None => Err("expected \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"".to_owned()),
        Some(Wish::Cpu) => Ok((Device::Cpu, None)),
        Some(Wish::Auto) => match cuda_device(0) {
            Ok(device) => Ok((device, None)),
            Err(Unusable::NotBuilt) => Ok((Device::Cpu, None)),
            Err(unusable) => Ok((Device::Cpu, Some(unusable))),
        },
        Some(Wish::Cuda(index)) => match cuda_device(index) {
            Ok(device) => Ok((device, None)),
            Err(unusable) => Err(unusable.to_string()),
        },
    }
}

/// What this build, the driver and NVIDIA's libraries report; `None` in a build without CUDA.
pub fn examine_cuda() -> Option<CudaExamination> {
    #[cfg(feature = "cuda")]
    return Some(cuda::examine());
    #[cfg(not(feature = "cuda"))]
    None
}

/// Seconds that a GPU's driver took to load the kernels when the first one was opened; `None` before. Most of it is
/// translating those that have no machine code for this GPU, which it keeps for the next start.
pub fn loading_seconds() -> Option<f64> {
    #[cfg(feature = "cuda")]
    return crate::gpu::modules::seconds();
    #[cfg(not(feature = "cuda"))]
    None
}

/// Memory of a GPU, as its driver reports it; `None` for the CPU.
pub fn device_memory(device: &Device) -> candle_core::Result<Option<DeviceMemory>> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => Ok(Some(cuda::memory(device)?)),
        _ => Ok(None),
    }
}

/// The error, as one of missing memory where it is cuBLAS's for want of room on `device`.
pub fn explained(error: candle_core::Error, device: &Device) -> candle_core::Error {
    let text = error.to_string();
    match device_memory(device) {
        Ok(Some(found)) if memory::wants_room(&text, found.free) => {
            candle_core::Error::Msg(format!("{text}; {} MiB of the GPU are free: out of memory", found.free >> 20))
        }
        _ => error,
    }
}

/// Gives what the pool keeps back to the driver if little is free.
pub fn make_room(device: &Device) -> candle_core::Result<()> {
    match device_memory(device)? {
        Some(found) if found.free < memory::ROOM => trim_memory(device),
        _ => Ok(()),
    }
}

/// Bytes of a GPU that tensors can still take: free ones, and those that the pool keeps. None on a processor.
#[cfg(feature = "cuda")]
pub(crate) fn room(device: &Device) -> candle_core::Result<u64> {
    match device {
        Device::Cuda(device) => Ok(cuda::memory(device)?.free + pool::idle(device)?),
        _ => Ok(0),
    }
}

/// Gives memory of a GPU that no tensor uses back to its driver, from which libraries and other programs take theirs.
pub fn trim_memory(device: &Device) -> candle_core::Result<()> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => pool::trim(device),
        _ => Ok(()),
    }
}

/// The most bytes that tensors took together on a GPU since [`reset_peak_memory`]; `None` for the CPU.
pub fn peak_memory(device: &Device) -> candle_core::Result<Option<u64>> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => pool::peak(device),
        _ => Ok(None),
    }
}

/// Begins to count [`peak_memory`] from what is in use now.
pub fn reset_peak_memory(device: &Device) -> candle_core::Result<()> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => pool::reset_peak(device),
        _ => Ok(()),
    }
}

/// Bytes a second that a GPU's memory can move, by its clock and the width of its bus; `None` where nobody says.
pub fn memory_rate(device: &Device) -> Option<f64> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => pool::memory_rate(device),
        _ => None,
    }
}

/// What tells a GPU from all others, those of other machines included.
pub fn gpu_identity(device: &Device) -> candle_core::Result<String> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => cuda::identity(device),
        _ => candle_core::bail!("{} is no GPU of NVIDIA's", device_name(device)),
    }
}

/// The [`gpu_identity`] of each GPU that the driver shows, in the order of their numbers; empty where none answers.
pub fn gpu_identities() -> Vec<String> {
    #[cfg(feature = "cuda")]
    return cuda::identities();
    #[cfg(not(feature = "cuda"))]
    Vec::new()
}

/// The compute capability of a GPU, major and minor; `None` for any other device.
pub fn compute_capability(device: &Device) -> candle_core::Result<Option<(i32, i32)>> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => {
            let found = device.cuda_stream().context().compute_capability();
            found.map(Some).map_err(candle_core::Error::wrap)
        }
        _ => Ok(None),
    }
}

/// The name of a device as the setting spells it.
pub fn device_name(device: &Device) -> String {
    match device.location() {
        DeviceLocation::Cpu => "cpu".to_owned(),
        DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    }
}

fn cuda_device(index: usize) -> Result<Device, Unusable> {
    examine_cuda().ok_or(Unusable::NotBuilt)?.check(index)?;
    #[cfg(feature = "cuda")]
    return cuda::open(index);
    #[cfg(not(feature = "cuda"))]
    Err(Unusable::NotBuilt)
}
