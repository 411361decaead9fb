//! Decides whether a GPU, its driver and NVIDIA's libraries can run this build, and says why not. The module is pure:
//! the caller passes in what was found.

use std::fmt;
use std::path::PathBuf;

/// A version of CUDA, or a compute capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

/// The GPUs that a build's kernels run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The compute capability that a GPU must have.
    pub capability: Version,
    /// Whether a GPU must have exactly this capability, rather than this or a higher one.
    pub exact: bool,
}

/// A driver that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverFound {
    /// The newest CUDA that the driver runs.
    pub cuda: Version,
    /// Name and compute capability of each GPU.
    pub gpus: Vec<(String, Version)>,
}

/// A library that is loaded when the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryFound {
    pub name: &'static str,
    /// The major version that this build calls.
    pub expected: u32,
    /// Path and version, or why the library was not found.
    pub found: Result<(PathBuf, Version), String>,
}

/// What a build with CUDA finds on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CudaExamination {
    /// The version of the CUDA toolkit that the build was made with.
    pub built_with: Version,
    /// What the build's kernels were compiled for; `None` if they do not say.
    pub kernels: Option<Target>,
    /// The driver, or why there is none.
    pub driver: Result<DriverFound, String>,
    pub libraries: Vec<LibraryFound>,
    /// NCCL, which only several processes need.
    pub nccl: LibraryFound,
}

/// Why a GPU cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("this program was built without CUDA; build it with `make cuda`, or use cpu")]
    NotBuilt,
    #[error("no NVIDIA driver answers ({reason})")]
    NoDriver { reason: String },
    #[error(
        "the NVIDIA driver runs CUDA up to {found}, this program was built with {expected}; \
         update the driver, or build with an older toolkit"
    )]
    OldDriver { found: Version, expected: Version },
    #[error("the NVIDIA driver shows no GPU; is one hidden by CUDA_VISIBLE_DEVICES, or not given to this container?")]
    NoGpu,
    #[error("the NVIDIA driver shows {count} GPU{}, numbered from 0", if *count == 1 { "" } else { "s" })]
    NoSuchGpu { count: usize },
    #[error(
        "{name} has compute capability {found}, the kernels of this program are for {expected}; \
         build with CUDA_COMPUTE_CAP={}{}",
        found.major,
        found.minor
    )]
    OtherGpu { name: String, found: Version, expected: Target },
    #[error(
        "{name} was not found ({reason}); install the libraries of CUDA {expected}, or name the folder that holds them in \
         GRPO_2048_CUDA_LIBS"
    )]
    NoLibrary { name: &'static str, expected: Version, reason: String },
    #[error("{name} {found} was found in {}, this program calls version {expected}", path.display())]
    OtherLibrary { name: &'static str, path: PathBuf, found: Version, expected: u32 },
    #[error("it cannot be opened: {reason}")]
    Broken { reason: String },
}

impl Version {
    /// Reads CUDA's own version number, such as 13000 for 13.0.
    pub fn of_cuda(number: u32) -> Version {
        Version { major: number / 1000, minor: number % 1000 / 10 }
    }
}

impl Target {
    /// Reads the `.target` line of PTX code.
    pub fn of_ptx(text: &str) -> Option<Target> {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(".target"))?;
        let name = line.split(',').next()?.trim().strip_prefix("sm_")?;
        let digits = name.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let number: u32 = digits.parse().ok()?;
        let capability = Version { major: number / 10, minor: number % 10 };
        Some(Target { capability, exact: digits.len() < name.len() })
    }

    /// Whether the driver can translate the kernels for such a GPU.
    pub fn runs_on(self, capability: Version) -> bool {
        if self.exact { capability == self.capability } else { capability >= self.capability }
    }
}

impl CudaExamination {
    /// Whether the GPU with this number can be used.
    pub fn check(&self, index: usize) -> Result<(), Unusable> {
        let driver = match &self.driver {
            Ok(driver) => driver,
            Err(reason) => return Err(Unusable::NoDriver { reason: reason.clone() }),
        };
        if driver.cuda < self.built_with {
            return Err(Unusable::OldDriver { found: driver.cuda, expected: self.built_with });
        }
        let Some((name, capability)) = driver.gpus.get(index) else {
            let count = driver.gpus.len();
            return Err(if count == 0 { Unusable::NoGpu } else { Unusable::NoSuchGpu { count } });
        };
        if let Some(expected) = self.kernels.filter(|kernels| !kernels.runs_on(*capability)) {
            return Err(Unusable::OtherGpu { name: name.clone(), found: *capability, expected });
        }
        self.libraries.iter().try_for_each(|library| library.check(self.built_with))
    }
}

impl LibraryFound {
    /// Its version, where it is one that this build calls.
    pub fn usable(&self) -> Option<Version> {
        self.found.as_ref().ok().map(|(_, version)| *version).filter(|version| version.major == self.expected)
    }

    fn check(&self, built_with: Version) -> Result<(), Unusable> {
        let (name, expected) = (self.name, self.expected);
        match &self.found {
            Err(reason) => Err(Unusable::NoLibrary { name, expected: built_with, reason: reason.clone() }),
            Ok((path, found)) if found.major != expected => {
                Err(Unusable::OtherLibrary { name, path: path.clone(), found: *found, expected })
            }
            Ok(_) => Ok(()),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.capability, if self.exact { "alone" } else { "and above" })
    }
}

impl fmt::Display for LibraryFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Ok((path, version)) => write!(f, "{} {version} ({})", self.name, path.display()),
            Err(reason) => write!(f, "no {} ({reason})", self.name),
        }
    }
}
