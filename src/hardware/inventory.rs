//! The GPUs of a machine and their driver.

use std::fmt;

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
