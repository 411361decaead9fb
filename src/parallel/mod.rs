//! Who trains together: processes that a launcher of MPI has started, and what they tell each other.
//!
//! Every process holds the same weights and takes the same decisions. So nothing is sent but what each has computed of
//! a step, and that is put together in an order that does not depend on how many processes there are: what N of them
//! compute is what one computes. A run of one process needs no MPI, and looks for none.

mod assignment;
mod carrier;
mod launcher;
mod sum;
mod watch;

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use assignment::assigned;
use carrier::Route;
use grpo_mpi::{Mpi, MpiError};
pub use launcher::{Launched, Variables, library, local_rank};
pub use sum::VectorSum;
pub use watch::OnLost;
use watch::Watch;

/// Why processes do not train together.
#[derive(Debug, thiserror::Error)]
pub enum ParallelError {
    /// A launcher started several processes, and no library lets them talk.
    #[error(
        "{launcher} started {size} processes, and no library of MPI was found to join them ({}); expected the one that \
         belongs to the launcher, where the loader finds it, or its path in GRPO_2048_MPI", refusals.join("; ")
    )]
    NoLibrary {
        /// What started them.
        launcher: &'static str,
        /// How many.
        size: String,
        /// What the loader said of each name that was tried.
        refusals: Vec<String>,
    },
    /// The library and the launcher are of different implementations.
    #[error(
        "{launcher} started {started} processes, and {library} ({version}) knows of {found}; expected the library of MPI \
         that belongs to the launcher: name it in GRPO_2048_MPI, or start with the launcher that belongs to it"
    )]
    Mixed {
        /// What started them.
        launcher: &'static str,
        /// Processes by its word.
        started: usize,
        /// The file of the library.
        library: String,
        /// Its version.
        version: String,
        /// Processes by its word.
        found: usize,
    },
    /// The library.
    #[error(transparent)]
    Mpi(#[from] MpiError),
    /// NCCL.
    #[error("NCCL: {reason}")]
    Nccl {
        /// What it said.
        reason: String,
    },
    /// A tensor that crosses between processes.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
    /// What came from another process is not what was expected of it.
    #[error("rank {rank}: said something that cannot be read: {reason}")]
    Unreadable {
        /// The process.
        rank: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Processes that cannot tell whether the others are still there.
    #[error(
        "the processes cannot watch each other: {reason}; every machine must reach the one of rank 0 by TCP, by its host \
         name or one of its addresses"
    )]
    Unwatched {
        /// What the system said.
        reason: std::io::Error,
    },
    /// Processes that have computed different things in a step that they should have computed alike.
    #[error(
        "step {step}: rank {rank} has come to other results than rank 0, which is a fault of its machine or a bug; \
         --resume goes on from the newest checkpoint"
    )]
    Apart {
        /// The first of them that differs.
        rank: usize,
        /// The step.
        step: usize,
    },
    /// Processes that must not train together.
    #[error("rank {rank} differs from rank 0: {}; all processes of a run must be alike", differing.join("; "))]
    Differs {
        /// The first of them that differs.
        rank: usize,
        /// What differs: of rank 0 -> of that one.
        differing: Vec<String>,
    },
}

impl ParallelError {
    /// Whether the user's input is at fault, and not the machine.
    pub fn is_user(&self) -> bool {
        matches!(self, ParallelError::NoLibrary { .. } | ParallelError::Mixed { .. } | ParallelError::Differs { .. })
    }
}

/// The processes of a run, as one of them sees them. Clones are the same.
#[derive(Clone, Default)]
pub struct Peers {
    joined: Option<Arc<Joined>>,
}

struct Joined {
    mpi: Mpi,
    /// What was waited for others since it was last asked for.
    waited: Mutex<Duration>,
    /// How gradients cross.
    route: OnceLock<Route>,
    watch: OnceLock<Watch>,
    /// Whether all of them know that they must end.
    apart: AtomicBool,
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

    /// Joins the processes that a launcher has started with this one, by its word in the `environment`; alone where
    /// there is no launcher, or it has started one.
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

    /// How many there are.
    pub fn size(&self) -> usize {
        self.joined.as_ref().map_or(1, |joined| joined.mpi.size())
    }

    /// Whether this one owns the terminal and the files of the run.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// Waits for all processes; gives what each says, in the order of the ranks.
    pub fn gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, ParallelError> {
        let Some(Joined { mpi, waited, .. }) = self.joined.as_deref() else { return Ok(vec![mine.to_vec()]) };
        let begin = Instant::now();
        let lengths = mpi.gather(&(mine.len() as u64).to_le_bytes(), &vec![8; mpi.size()])?;
        // The lengths are nothing to send: what took time is that others were not there yet.
        *waited.lock().unwrap_or_else(PoisonError::into_inner) += begin.elapsed();
        let length = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte));
        let lengths: Vec<usize> = lengths.chunks_exact(8).map(length).collect();
        let all = mpi.gather(mine, &lengths)?;
        let mut rest = all.as_slice();
        Ok(lengths.iter().map(|length| rest.split_off(..*length).unwrap_or_default().to_vec()).collect())
    }

    /// [`gather`](Peers::gather) of numbers, to the last bit.
    pub fn gather_numbers(&self, mine: &[f64]) -> Result<Vec<Vec<f64>>, ParallelError> {
        let Some(_) = &self.joined else { return Ok(vec![mine.to_vec()]) };
        let bytes: Vec<u8> = mine.iter().flat_map(|number| number.to_le_bytes()).collect();
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        Ok(self.gather(&bytes)?.iter().map(|bytes| bytes.chunks_exact(8).map(number).collect()).collect())
    }

    /// [`gather`](Peers::gather) of values.
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

    /// [`gather`](Peers::gather) of lists, one behind the other.
    pub fn gather_lists<T: Serialize + DeserializeOwned>(&self, mine: Vec<T>) -> Result<Vec<T>, ParallelError> {
        Ok(self.gather_values(mine)?.into_iter().flatten().collect())
    }

    /// Refuses to go on where processes differ in any of these things: name and value.
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

    /// Has `lost` called when another process is gone, until all [`leave`](Peers::leave).
    pub fn watch(&self, lost: &OnLost) -> Result<(), ParallelError> {
        if let Some(joined) = &self.joined {
            let watch = Watch::begin(self, lost)?;
            joined.watch.get_or_init(|| watch);
        }
        Ok(())
    }

    /// How many of them share this machine. Known once they are watched.
    pub fn on_this_machine(&self) -> usize {
        let places = self.joined.as_ref().and_then(|joined| Some(&joined.watch.get()?.places));
        places.map_or(1, |places| places.iter().filter(|place| place.host == places[self.rank()].host).count())
    }

    /// Whether all of them have been told that they [do not agree](Peers::agree), so that nobody need be ended.
    pub fn all_know(&self) -> bool {
        self.joined.as_ref().is_none_or(|joined| joined.apart.load(Ordering::SeqCst))
    }

    /// What this process has waited for others since it was last asked.
    pub fn waited(&self) -> Duration {
        let taken =
            |joined: &Arc<Joined>| std::mem::take(&mut *joined.waited.lock().unwrap_or_else(PoisonError::into_inner));
        self.joined.as_ref().map(taken).unwrap_or_default()
    }

    /// Takes leave, when all of them do.
    pub fn leave(&self) {
        if let Some(joined) = &self.joined {
            joined.watch.get().into_iter().for_each(Watch::bye);
            joined.mpi.finalize();
        }
    }

    /// Ends all processes of the run, with the exit code of this one.
    pub fn abort(&self, code: u8) {
        if let Some(joined) = &self.joined {
            joined.mpi.abort(code);
        }
    }
}

/// The part of `0..count` that falls to `rank` of `size`; together they are all of it, in the order of the ranks.
pub fn share(count: usize, rank: usize, size: usize) -> Range<usize> {
    count * rank / size..count * (rank + 1) / size
}
