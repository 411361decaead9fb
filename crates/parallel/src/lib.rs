//! The processes that train one run together, started by an MPI launcher, and the messages that they exchange.
//!
//! Every process has the same weights and makes the same decisions. They exchange only the results of each step, which
//! are combined in an order that does not depend on the number of processes, so N processes compute the same as one. A
//! run of one process does not need MPI and does not load it.

#![forbid(unsafe_code)]

mod assignment;
mod carrier;
mod error;
mod launcher;
mod sum;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use candle_core::Device;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::Reduce;
pub use assignment::assign;
pub use error::ParallelError;
use grpo_config as config;
use grpo_mpi::Mpi;
use grpo_tensor::Nccl;
use grpo_tensor::device::gpu_identity;
pub use launcher::{Launched, Variables, library};
pub use sum::VectorSum;
pub use watch::OnLost;
use watch::Watch;

/// The processes of a run, from the view of one of them. Clones share their state.
#[derive(Clone, Default)]
pub struct Peers {
    joined: Option<Arc<Joined>>,
}

struct Joined {
    mpi: Mpi,
    /// Time that was waited for other processes since it was last taken.
    waited: Mutex<Duration>,
    /// How gradients are exchanged.
    route: OnceLock<Route>,
    watch: OnceLock<Watch>,
    /// Whether the processes have found that they differ, so that all of them end by themselves.
    apart: AtomicBool,
}

/// The way in which gradients are exchanged.
struct Route {
    reduce: Reduce,
    nccl: Option<Nccl>,
}

impl fmt::Debug for Peers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "rank {} of {}", self.rank(), self.size())
    }
}

impl Peers {
    /// A run of one process.
    pub fn alone() -> Peers {
        Peers::default()
    }

    /// Joins the processes that a launcher has started, according to its variables in the `environment`. Without a
    /// launcher, or if it has started one process, the run has one process.
    pub fn join(environment: &Variables<'_>) -> Result<Peers, ParallelError> {
        let Some(launched) = Launched::by(environment) else { return Ok(Peers::alone()) };
        let size = || launched.size.map_or_else(|| "several".to_owned(), |size| size.to_string());
        let found = grpo_mpi::find(&launched.libraries(environment)).map_err(|refusals| ParallelError::NoLibrary {
            launcher: launched.launcher,
            size: size(),
            refusals,
        })?;
        let (library, version) = (found.file.clone(), found.version.clone());
        let mpi = Mpi::start(found)?;
        let (found, launcher) = (mpi.size(), launched.launcher);
        if let Some(started) = launched.size.filter(|started| *started != found) {
            return Err(ParallelError::Mixed { launcher, started, library, version, found });
        }
        Ok(Peers {
            joined: Some(Arc::new(Joined {
                mpi,
                waited: Mutex::default(),
                route: OnceLock::new(),
                watch: OnceLock::new(),
                apart: AtomicBool::new(false),
            })),
        })
    }

    /// Number of this process, from 0.
    pub fn rank(&self) -> usize {
        self.joined.as_ref().map_or(0, |joined| joined.mpi.rank())
    }

    /// Number of processes.
    pub fn size(&self) -> usize {
        self.joined.as_ref().map_or(1, |joined| joined.mpi.size())
    }

    /// Whether this process has rank 0, which writes to the terminal and to the files of the run.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// Waits for all processes; returns the bytes of each, in the order of the ranks.
    pub fn gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, ParallelError> {
        let Some(Joined { mpi, waited, .. }) = self.joined.as_deref() else { return Ok(vec![mine.to_vec()]) };
        let begin = Instant::now();
        let lengths = mpi.gather(&(mine.len() as u64).to_le_bytes(), &vec![8; mpi.size()])?;
        // Sending the lengths takes almost no time itself, so the time is that of waiting for other processes.
        *waited.lock() += begin.elapsed();
        let length = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte));
        let lengths: Vec<usize> = lengths.chunks_exact(8).map(length).collect();
        let all = mpi.gather(mine, &lengths)?;
        let mut rest = all.as_slice();
        Ok(lengths.iter().map(|length| rest.split_off(..*length).unwrap_or_default().to_vec()).collect())
    }

    /// Like [`gather`](Peers::gather), for numbers, with all their bits.
    pub fn gather_numbers(&self, mine: &[f64]) -> Result<Vec<Vec<f64>>, ParallelError> {
        let Some(_) = &self.joined else { return Ok(vec![mine.to_vec()]) };
        let bytes: Vec<u8> = mine.iter().flat_map(|number| number.to_le_bytes()).collect();
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        Ok(self.gather(&bytes)?.iter().map(|bytes| bytes.chunks_exact(8).map(number).collect()).collect())
    }

    /// Like [`gather`](Peers::gather), for values, as JSON.
    pub fn gather_values<T: Serialize + DeserializeOwned>(&self, mine: T) -> Result<Vec<T>, ParallelError> {
        if self.joined.is_none() {
            return Ok(vec![mine]);
        }
        let said = self.gather(&serde_json::to_vec(&mine).expect("what is told has string keys only"))?;
        let read = |(rank, bytes): (usize, Vec<u8>)| {
            let unreadable = |error: serde_json::Error| ParallelError::Unreadable { rank, reason: error.to_string() };
            serde_json::from_slice(&bytes).map_err(unreadable)
        };
        said.into_iter().enumerate().map(read).collect()
    }

    /// Like [`gather`](Peers::gather), for lists, which are concatenated.
    pub fn gather_lists<T: Serialize + DeserializeOwned>(&self, mine: Vec<T>) -> Result<Vec<T>, ParallelError> {
        Ok(self.gather_values(mine)?.into_iter().flatten().collect())
    }

    /// Returns an error if processes differ in any of these properties, each with its name and value.
    pub fn agree(&self, on: Vec<(String, String)>) -> Result<(), ParallelError> {
        let all = self.gather_values(on)?;
        for (rank, other) in all.iter().enumerate() {
            let differing: Vec<String> = all[0]
                .iter()
                .zip(other)
                .filter(|(first, other)| first != other)
                .map(|((name, first), (_, other))| format!("{name}: {first} -> {other}"))
                .collect();
            if !differing.is_empty() {
                self.joined.iter().for_each(|joined| joined.apart.store(true, Ordering::SeqCst));
                return Err(ParallelError::Differs { rank, differing });
            }
        }
        Ok(())
    }

    /// Has `lost` called when another process ends, until all [`leave`](Peers::leave).
    pub fn watch(&self, lost: &OnLost) -> Result<(), ParallelError> {
        if let Some(joined) = &self.joined {
            let watch = Watch::begin(self.rank(), |place| self.gather_values(place), lost)?;
            joined.watch.get_or_init(|| watch);
        }
        Ok(())
    }

    /// Number of processes that compute in the memory of `device`, this one among them: those that have the same GPU, or
    /// those of the machine. All processes call this together, after [`watch`](Peers::watch).
    pub fn sharing(&self, device: &Device) -> Result<usize, ParallelError> {
        // A GPU that cannot be told from others counts as one of its own, as it is where each process is shown one.
        let all = self.gather_values(gpu_identity(device).ok())?;
        Ok(if device.is_cpu() { self.on_this_machine() } else { alike(&all, self.rank()) })
    }

    /// Index of the GPU that this process takes, of those that it is shown: the identities of these are `shown`, in the
    /// order of their indices. None if it is shown none. In the order of the ranks, each process takes the first of those
    /// that the fewest have taken before it. Host names take no part, since containers of one machine have names of their
    /// own, nor do variables of launchers, since not all set one. All processes call this together.
    pub fn own_gpu(&self, shown: Vec<String>) -> Result<Option<usize>, ParallelError> {
        Ok(dealt(&self.gather_values(shown)?)[self.rank()])
    }

    /// Number of processes of this machine.
    fn on_this_machine(&self) -> usize {
        let watch = self.joined.as_ref().and_then(|joined| joined.watch.get());
        watch.map_or(1, |watch| watch.on_its_machine(self.rank()))
    }

    /// Whether all processes know that they [do not agree](Peers::agree), so that each ends by itself.
    pub fn all_know(&self) -> bool {
        self.joined.as_ref().is_none_or(|joined| joined.apart.load(Ordering::SeqCst))
    }

    /// Takes the time that this process has waited for others since the last call.
    pub fn waited(&self) -> Duration {
        let taken = |joined: &Arc<Joined>| std::mem::take(&mut *joined.waited.lock());
        self.joined.as_ref().map(taken).unwrap_or_default()
    }

    /// Ends the exchange of messages. All processes call this together, and wait for each other: asleep, while a library may
    /// keep a core busy in its own end, and watched, so that no one waits for a process that has died.
    pub fn leave(&self) {
        if let Some(joined) = &self.joined {
            // Where the library fails there is nobody to wait for.
            let _ = self.gather(&[0]);
            joined.watch.get().into_iter().for_each(Watch::bye);
            joined.mpi.finalize();
        }
    }

    /// Ends all processes of the run, with the exit code of this one.
    pub fn abort(&self, code: u8) {
        if let Some(joined) = &self.joined {
            joined.watch.get().into_iter().for_each(Watch::abort);
            joined.mpi.abort(code);
        }
    }
}

/// Number of processes with the GPU of this rank, itself among them.
fn alike(all: &[Option<String>], rank: usize) -> usize {
    let own = &all[rank];
    all.iter().filter(|other| own.is_some() && *other == own).count().max(1)
}

/// The index of the GPU that each rank takes, of those that it is shown.
fn dealt(shown: &[Vec<String>]) -> Vec<Option<usize>> {
    let (mut takers, mut own) = (BTreeMap::<&str, usize>::new(), Vec::with_capacity(shown.len()));
    for gpus in shown {
        let count = |index: &usize| takers.get(gpus[*index].as_str()).copied().unwrap_or(0);
        let index = (0..gpus.len()).min_by_key(count);
        if let Some(index) = index {
            *takers.entry(gpus[index].as_str()).or_default() += 1;
        }
        own.push(index);
    }
    own
}

/// The range of `0..count` that belongs to `rank` of `size`. The ranges of all ranks are contiguous, in their order.
pub fn share(count: usize, rank: usize, size: usize) -> Range<usize> {
    count * rank / size..count * (rank + 1) / size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_takes_a_gpu_that_none_has_whichever_of_them_it_is_shown() {
        let dealt = |shown: &[&[&str]]| {
            let shown: Vec<Vec<String>> =
                shown.iter().map(|gpus| gpus.iter().map(|gpu| (*gpu).to_owned()).collect()).collect();
            dealt(&shown)
        };
        // All are shown the GPUs of their machine, as on bare metal, or in containers with host names of their own.
        let (both, other) = (&["a", "b"][..], &["c", "d"][..]);
        assert_eq!(dealt(&[both, both, both]), [Some(0), Some(1), Some(0)]);
        assert_eq!(dealt(&[both, other, both, other]), [Some(0), Some(0), Some(1), Some(1)], "two machines in turn");
        // Each is shown one, which has the number 0; some are shown what others are shown under another number.
        assert_eq!(dealt(&[&["a"], &["b"], &["c"]]), [Some(0); 3]);
        assert_eq!(dealt(&[both, &["b", "a"], &["a", "b", "c"]]), [Some(0), Some(0), Some(2)]);
        // One computes on its processor.
        assert_eq!(dealt(&[both, &[], both]), [Some(0), None, Some(1)]);
        assert_eq!(Peers::alone().own_gpu(vec!["a".to_owned()]).unwrap(), Some(0));
    }

    #[test]
    fn processes_share_a_gpu_by_its_identity_and_not_by_its_number() {
        let gpus = ["a", "b", "a", "a"].map(|gpu| Some(gpu.to_owned()));
        let sharing = |all: &[Option<String>]| (0..all.len()).map(|rank| alike(all, rank)).collect::<Vec<_>>();
        assert_eq!(sharing(&gpus), [3, 1, 3, 3]);
        // Each is shown one GPU, whose identity nobody knows.
        assert_eq!(sharing(&[None, None]), [1, 1]);
        assert_eq!(Peers::alone().sharing(&Device::Cpu).unwrap(), 1);
    }
}
