//! Where tensors live.

pub use candle_core::Device;
use candle_core::DeviceLocation;

use super::PolicyError;

/// The device that a setting names: "auto", "cpu", "cuda" or "cuda:N".
pub fn open_device(name: &str) -> Result<Device, PolicyError> {
    let refused = |reason: String| PolicyError::Device { found: name.to_owned(), reason };
    let index = match name {
        "auto" => return Ok(Device::cuda_if_available(0)?),
        "cpu" => return Ok(Device::Cpu),
        "cuda" => Some(0),
        _ => name.strip_prefix("cuda:").and_then(|index| index.parse().ok()),
    };
    let index = index.ok_or_else(|| refused("expected \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"".to_owned()))?;
    if !cfg!(feature = "cuda") {
        let hint = "this program was built without CUDA; build with `--features cuda`, or use cpu";
        return Err(refused(hint.to_owned()));
    }
    Device::new_cuda(index).map_err(|error| refused(error.to_string()))
}

/// A device in words.
pub fn device_name(device: &Device) -> String {
    match device.location() {
        DeviceLocation::Cpu => "cpu".to_owned(),
        DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    }
}
