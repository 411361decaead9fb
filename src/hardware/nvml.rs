//! Reads GPUs by NVIDIA's management library (NVML), which is loaded at run time.

use std::fmt;
use std::path::{Path, PathBuf};

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;

use super::{GpuError, GpuReading, GpuSource, Slowdown};

/// NVML's reasons for lower clocks. Idle GPUs and clocks set by a user are not slowdowns.
const SLOWDOWNS: [(ThrottleReasons, Slowdown); 5] = [
    (ThrottleReasons::SW_POWER_CAP, Slowdown::Power),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, Slowdown::Heat),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, Slowdown::Heat),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, Slowdown::Hardware),
    (ThrottleReasons::HW_SLOWDOWN, Slowdown::Hardware),
];

/// The library's file.
const FILE: &str = "libnvidia-ml.so.1";
/// Where drivers lie that the system's loader is not told of: containers, and Linux on Windows.
const USUAL: [&str; 2] = ["/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"];

/// One GPU. Values that the driver does not provide are absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuModel {
    pub name: String,
    /// Its compute capability, major and minor.
    pub capability: Option<(i32, i32)>,
    /// Free and total memory, in bytes.
    pub memory: Option<(u64, u64)>,
}

/// The GPUs of a machine, and their driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    pub driver: Option<String>,
    /// The newest version of CUDA that it supports, major and minor.
    pub cuda: Option<(i32, i32)>,
    /// The GPUs, in the order of CUDA.
    pub gpus: Vec<GpuModel>,
}

impl fmt::Display for GpuModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some((major, minor)) = self.capability {
            write!(f, ", compute capability {major}.{minor}")?;
        }
        if let Some((free, total)) = self.memory {
            write!(f, ", {:.1} GB free of {:.1} GB", free as f64 / 1e9, total as f64 / 1e9)?;
        }
        Ok(())
    }
}

impl fmt::Display for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for gpu in &self.gpus {
            write!(f, "{gpu}; ")?;
        }
        match &self.driver {
            Some(driver) => write!(f, "driver {driver}")?,
            None => f.write_str("a driver that does not say its version")?,
        }
        match self.cuda {
            Some((major, minor)) => write!(f, ", CUDA up to {major}.{minor}"),
            None => Ok(()),
        }
    }
}

/// All GPUs of this machine, or those that are visible to CUDA.
pub struct NvmlSource {
    library: Nvml,
    /// The driver's indices, in the order of [`GpuSource::names`].
    indices: Vec<u32>,
    names: Vec<String>,
    /// What tells each GPU from all others, in the same order: 32 hexadecimal digits.
    identities: Vec<String>,
}

impl NvmlSource {
    /// Opens the driver's library: where the system finds it, else in one of `folders`, else where drivers usually lie.
    /// `visible` is the value of `CUDA_VISIBLE_DEVICES`, if it is set; the GPUs then have its order.
    pub fn open(visible: Option<&str>, folders: &[PathBuf]) -> Result<NvmlSource, GpuError> {
        let no_driver = |error: NvmlError| GpuError::NoDriver(error.to_string());
        let files = folders.iter().map(PathBuf::as_path).chain(USUAL.map(Path::new)).map(|folder| folder.join(FILE));
        let loaded = |file: PathBuf| Nvml::builder().lib_path(file.as_os_str()).init().ok();
        let library = Nvml::init().or_else(|error| files.filter(|file| file.is_file()).find_map(loaded).ok_or(error));
        let library = library.map_err(no_driver)?;
        let count = library.device_count().map_err(no_driver)?;
        let identified = |index| library.device_by_index(index).and_then(|device| device.uuid()).unwrap_or_default();
        let uuids: Vec<String> = (0..count).map(identified).collect();
        let indices = match visible {
            Some(list) => chosen(list, &uuids),
            None => (0..count).collect(),
        };
        if indices.is_empty() {
            return Err(GpuError::NoGpu);
        }
        let named = |&index: &u32| library.device_by_index(index).and_then(|device| device.name());
        let names = indices.iter().map(|index| named(index).unwrap_or_else(|_| "NVIDIA GPU".into())).collect();
        let identities = indices.iter().map(|index| digits(&uuids[*index as usize])).collect();
        Ok(NvmlSource { library, indices, names, identities })
    }

    /// The place of a GPU among the names, by the number that NVIDIA gave it, in hexadecimal digits. CUDA counts the fastest
    /// first and NVML by slots, so a number of one is no number of the other.
    pub fn place(&self, identity: &str) -> Option<usize> {
        self.identities.iter().position(|one| one == identity)
    }

    /// The GPUs and their driver.
    pub fn inventory(&self) -> Inventory {
        let version = self.library.sys_cuda_driver_version().ok();
        let model = |(&index, name): (&u32, &String)| {
            let device = self.library.device_by_index(index).ok();
            let capability = device.as_ref().and_then(|device| device.cuda_compute_capability().ok());
            let memory = device.as_ref().and_then(|device| device.memory_info().ok());
            GpuModel {
                name: name.clone(),
                capability: capability.map(|capability| (capability.major, capability.minor)),
                memory: memory.map(|memory| (memory.free, memory.total)),
            }
        };
        Inventory {
            driver: self.library.sys_driver_version().ok(),
            cuda: version.map(|version| (version / 1000, version % 1000 / 10)),
            gpus: self.indices.iter().zip(&self.names).map(model).collect(),
        }
    }
}

impl GpuSource for NvmlSource {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn read(&mut self) -> Result<Vec<GpuReading>, GpuError> {
        let read = |(index, &number): (usize, &u32)| {
            reading(&self.library, number).map_err(|error| GpuError::Lost { index, reason: error.to_string() })
        };
        self.indices.iter().enumerate().map(read).collect()
    }
}

fn reading(library: &Nvml, number: u32) -> Result<GpuReading, NvmlError> {
    let device = library.device_by_index(number)?;
    let rates = told(device.utilization_rates())?;
    let memory = told(device.memory_info())?;
    let reasons = told(device.current_throttle_reasons())?.unwrap_or(ThrottleReasons::empty());
    let mut slowed: Vec<Slowdown> =
        SLOWDOWNS.into_iter().filter_map(|(reason, slowdown)| reasons.contains(reason).then_some(slowdown)).collect();
    slowed.dedup();
    let watts = |milliwatts: u32| f64::from(milliwatts) / 1000.0;
    Ok(GpuReading {
        utilisation: rates.as_ref().map(|rates| f64::from(rates.gpu)),
        memory_activity: rates.as_ref().map(|rates| f64::from(rates.memory)),
        memory_used: memory.as_ref().map(|memory| memory.used),
        memory_total: memory.as_ref().map(|memory| memory.total),
        power: told(device.power_usage())?.map(watts),
        power_limit: told(device.enforced_power_limit())?.map(watts),
        sm_clock: told(device.clock_info(Clock::SM))?,
        memory_clock: told(device.clock_info(Clock::Memory))?,
        temperature: told(device.temperature(TemperatureSensor::Gpu))?,
        slowed,
    })
}

/// None for a value that the GPU or driver does not support; an error for a GPU that is lost.
fn told<T>(answer: Result<T, NvmlError>) -> Result<Option<T>, NvmlError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error @ (NvmlError::GpuLost | NvmlError::Uninitialized | NvmlError::DriverNotLoaded)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The digits of `GPU-8932f937-d72c-4106-c12f-20bd9faed9f6`.
pub(super) fn digits(uuid: &str) -> String {
    uuid.trim_start_matches("GPU-").chars().filter(|c| c.is_ascii_hexdigit()).collect::<String>().to_lowercase()
}

/// The driver's indices of the GPUs in a list such as `2,0` or `GPU-8932f937`, up to the first unknown one. An empty
/// list hides all GPUs. A part of a GPU, `MIG-GPU-8932f937-../1/0`, is read as the GPU.
pub(super) fn chosen(list: &str, uuids: &[String]) -> Vec<u32> {
    let number = |entry: &str| {
        let by_number = entry.parse().ok().filter(|&number: &usize| number < uuids.len());
        let whole = entry.strip_prefix("MIG-").and_then(|part| part.split('/').next()).unwrap_or(entry);
        let by_uuid = || uuids.iter().position(|uuid| whole.starts_with("GPU-") && uuid.starts_with(whole));
        by_number.or_else(by_uuid).map(|number| number as u32)
    };
    list.split(',').map(str::trim).map_while(number).collect()
}
