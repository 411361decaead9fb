//! Which GPUs there are and what drives them.

use std::fmt;

/// One GPU. What its driver does not tell is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuModel {
    /// What it is called.
    pub name: String,
    /// Its compute capability, major and minor.
    pub capability: Option<(i32, i32)>,
    /// Bytes that are free, and all.
    pub memory: Option<(u64, u64)>,
}

/// The GPUs of a machine, and their driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// Version of the driver.
    pub driver: Option<String>,
    /// Newest CUDA that it runs, major and minor.
    pub cuda: Option<(i32, i32)>,
    /// The GPUs, in the order in which CUDA counts them.
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
