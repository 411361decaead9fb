//! The library of MPI, looked for when the program runs: one binary with and without it. What is
//! unsafe about it stays in this package.
//!
//! Of MPI 3.0 three collectives are used, the non-blocking ones, since a process that waits in a blocking one burns its
//! core. What differs between implementations is what they call the communicator of all processes, types and sums:
//! Open MPI's are addresses of symbols, MPICH's numbers of its header `mpi.h`, and those of the standard ABI the
//! small numbers of MPI 5.0, chapter 20.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// Why the library is of no use.
#[derive(Debug, thiserror::Error)]
pub enum MpiError {
    /// A library without a function that is needed.
    #[error("{file}: is no usable library of MPI: {reason}")]
    Unusable {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A function of the library failed.
    #[error("{call} failed with code {code}")]
    Failed {
        /// Its name.
        call: &'static str,
        /// What it gave.
        code: i32,
    },
    /// More than a collective can take.
    #[error(
        "{bytes} bytes are more than processes can exchange at once; expected at most 2 GiB: lower grpo.micro_batch"
    )]
    TooLong {
        /// How many.
        bytes: usize,
    },
}

/// A communicator, a datatype, an operation or a request: a pointer or an `int`, either of which fits.
type Handle = usize;

type Init = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
type Ask = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type Test = unsafe extern "C" fn(*mut Handle, *mut c_int, *mut c_void) -> c_int;
type Gather = unsafe extern "C" fn(
    *const c_void,
    c_int,
    Handle,
    *mut c_void,
    *const c_int,
    *const c_int,
    Handle,
    Handle,
    *mut Handle,
) -> c_int;
type Exchange = unsafe extern "C" fn(
    *const c_void,
    *const c_int,
    *const c_int,
    Handle,
    *mut c_void,
    *const c_int,
    *const c_int,
    Handle,
    Handle,
    *mut Handle,
) -> c_int;
type Reduce = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Handle, Handle, Handle, *mut Handle) -> c_int;

/// Longest text that `MPI_Get_library_version` gives, in any implementation.
const LONGEST_VERSION: usize = 8192;
/// What is sent where there is nothing to send.
static NOTHING: u8 = 0;
/// How long a process that waits looks again and again, giving its core to others in between.
const YIELDS: Duration = Duration::from_micros(200);
/// How long it then sleeps at most between two looks.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// What an implementation calls things.
struct Names {
    world: Handle,
    byte: Handle,
    float: Handle,
    sum: Handle,
    /// That one thread at a time calls the library.
    serialized: c_int,
}

/// The library, started.
pub struct Mpi {
    names: Names,
    gather: Gather,
    exchange: Exchange,
    reduce: Reduce,
    test: Test,
    abort: unsafe extern "C" fn(Handle, c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    rank: usize,
    size: usize,
    /// Held while a collective is on: the library was promised that calls do not overlap.
    turn: Mutex<()>,
    /// Holds the functions above.
    _library: Library,
}

/// A library that was found, and not started.
pub struct Found {
    library: Library,
    /// As the loader knows it.
    pub file: String,
    /// In its own words, the first line.
    pub version: String,
}

/// The first of `files` that the loader finds; otherwise what it said of each.
pub fn find(files: &[String]) -> Result<Found, Vec<String>> {
    let mut refusals = Vec::new();
    for file in files {
        // SAFETY: a library of MPI does nothing when it is loaded but set up its own variables. Its symbols are global
        // since its components, which it loads itself, look for them.
        match unsafe { Library::open(Some(file), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(library) => match version(&library) {
                Ok(version) => return Ok(Found { library, file: file.clone(), version }),
                Err(reason) => refusals.push(format!("{file}: {reason}")),
            },
            Err(error) => refusals.push(error.to_string()),
        }
    }
    Err(refusals)
}

fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: callers ask for functions by the types that the standard of MPI gives them, and for variables as their
    // addresses.
    unsafe { library.get::<T>(name.as_bytes()) }.map(|found| *found).map_err(|error| error.to_string())
}

fn version(library: &Library) -> Result<String, String> {
    let ask: Version = symbol(library, "MPI_Get_library_version")?;
    let (mut text, mut length) = (vec![0_u8; LONGEST_VERSION], 0);
    // SAFETY: may be called before MPI is started; the buffer is as long as any implementation wants it.
    unsafe { ask(text.as_mut_ptr().cast(), &raw mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().unwrap_or_default().trim_end_matches('\0');
    Ok(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl Names {
    /// Names of the library called `file`.
    fn of(library: &Library, file: &str) -> Result<Names, String> {
        if let Ok(world) = symbol::<Handle>(library, "ompi_mpi_comm_world") {
            let [byte, float] = [symbol(library, "ompi_mpi_byte")?, symbol(library, "ompi_mpi_float")?];
            return Ok(Names { world, byte, float, sum: symbol(library, "ompi_mpi_op_sum")?, serialized: 2 });
        }
        Ok(match file.contains("mpi_abi") {
            true => Names { world: 0x101, byte: 0x247, float: 0x210, sum: 0x21, serialized: 2048 },
            false => {
                let [byte, float] = [0x4c00_010d, 0x4c00_040a];
                Names { world: 0x4400_0000, byte, float, sum: 0x5800_0003, serialized: 2 }
            }
        })
    }
}

impl Mpi {
    /// Starts a library that was found. Waits until all processes of the job have come this far.
    pub fn start(Found { library, file, .. }: Found) -> Result<Mpi, MpiError> {
        let unusable = |reason: String| MpiError::Unusable { file: file.clone(), reason };
        let names = Names::of(&library, &file).map_err(unusable)?;
        let init: Init = symbol(&library, "MPI_Init_thread").map_err(unusable)?;
        let [rank, size]: [Ask; 2] = [
            symbol(&library, "MPI_Comm_rank").map_err(unusable)?,
            symbol(&library, "MPI_Comm_size").map_err(unusable)?,
        ];
        let mut mpi = Mpi {
            gather: symbol(&library, "MPI_Iallgatherv").map_err(unusable)?,
            exchange: symbol(&library, "MPI_Ialltoallv").map_err(unusable)?,
            reduce: symbol(&library, "MPI_Iallreduce").map_err(unusable)?,
            test: symbol(&library, "MPI_Test").map_err(unusable)?,
            abort: symbol(&library, "MPI_Abort").map_err(unusable)?,
            finalize: symbol(&library, "MPI_Finalize").map_err(unusable)?,
            names,
            rank: 0,
            size: 1,
            turn: Mutex::new(()),
            _library: library,
        };
        let mut provided = 0;
        // SAFETY: is called once, and may be without the arguments of the program.
        let code = unsafe { init(std::ptr::null_mut(), std::ptr::null_mut(), mpi.names.serialized, &raw mut provided) };
        checked("MPI_Init_thread", code)?;
        let ask = |ask: Ask, name| {
            let mut value = 0;
            // SAFETY: MPI is started, and the communicator is that of all processes.
            checked(name, unsafe { ask(mpi.names.world, &raw mut value) })?;
            Ok::<_, MpiError>(usize::try_from(value).unwrap_or(0))
        };
        (mpi.rank, mpi.size) = (ask(rank, "MPI_Comm_rank")?, ask(size, "MPI_Comm_size")?);
        Ok(mpi)
    }

    /// Number of this process.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// What every process says, in the order of the ranks; of rank r that is `lengths[r]` bytes.
    pub fn gather(&self, mine: &[u8], lengths: &[usize]) -> Result<Vec<u8>, MpiError> {
        let (counts, starts) = places(lengths)?;
        let own = count(mine.len())?;
        let mut all = room(lengths);
        let mut request: Handle = 0;
        let _turn = self.turn.lock();
        let Names { world, byte, .. } = self.names;
        // SAFETY: every buffer is as long as its counts say and lives until the request is complete, below.
        let code = unsafe {
            let (from, to) = (start(mine), all.as_mut_ptr().cast());
            (self.gather)(from, own, byte, to, counts.as_ptr(), starts.as_ptr(), byte, world, &raw mut request)
        };
        checked("MPI_Iallgatherv", code)?;
        self.complete(request)?;
        Ok(all)
    }

    /// Gives `mine` to the others, `given[r]` bytes to rank r, and what they give to this one, `taken[r]` bytes from
    /// rank r, both in the order of the ranks.
    pub fn exchange(&self, mine: &[u8], given: &[usize], taken: &[usize]) -> Result<Vec<u8>, MpiError> {
        let ((send, send_from), (receive, receive_at)) = (places(given)?, places(taken)?);
        assert_eq!(mine.len(), given.iter().sum::<usize>(), "a count of bytes that is none");
        let mut all = room(taken);
        let mut request: Handle = 0;
        let _turn = self.turn.lock();
        let Names { world, byte, .. } = self.names;
        // SAFETY: as above.
        let code = unsafe {
            let (from, to) = (start(mine), all.as_mut_ptr().cast());
            let (sent, taken) = ((send.as_ptr(), send_from.as_ptr()), (receive.as_ptr(), receive_at.as_ptr()));
            (self.exchange)(from, sent.0, sent.1, byte, to, taken.0, taken.1, byte, world, &raw mut request)
        };
        checked("MPI_Ialltoallv", code)?;
        self.complete(request)?;
        Ok(all)
    }

    /// The sum of what all processes have, as many numbers from each, added in an order that the library chooses. The
    /// standard has all processes receive identical results (MPI 3.0, section 5.9.6).
    pub fn sum(&self, mine: &[f32]) -> Result<Vec<f32>, MpiError> {
        let own = count(mine.len())?;
        let mut all = vec![0.0_f32; mine.len()];
        let mut request: Handle = 0;
        let _turn = self.turn.lock();
        let Names { world, float, sum, .. } = self.names;
        // SAFETY: both buffers hold as many numbers as the count says and live until the request is complete, below.
        let code = unsafe {
            let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
            (self.reduce)(from, to, own, float, sum, world, &raw mut request)
        };
        checked("MPI_Iallreduce", code)?;
        self.complete(request)?;
        Ok(all)
    }

    /// Waits for a request without keeping the core busy: what is there soon is not slept for.
    fn complete(&self, mut request: Handle) -> Result<(), MpiError> {
        let (begin, mut sleep) = (Instant::now(), Duration::from_micros(20));
        loop {
            let mut done = 0;
            // As large as the status of any implementation.
            let mut status = [0_u64; 16];
            // SAFETY: the request is that of a collective that has begun, and its buffers are alive.
            let code = unsafe { (self.test)(&raw mut request, &raw mut done, status.as_mut_ptr().cast()) };
            checked("MPI_Test", code)?;
            if done != 0 {
                return Ok(());
            }
            match begin.elapsed() < YIELDS {
                true => thread::yield_now(),
                false => {
                    thread::sleep(sleep);
                    sleep = (2 * sleep).min(LONGEST_SLEEP);
                }
            }
        }
    }

    /// Takes leave of the others, all of which do the same.
    pub fn finalize(&self) {
        let _turn = self.turn.lock();
        // SAFETY: no request is open, and nothing of the library is called afterwards.
        unsafe { (self.finalize)() };
    }

    /// Ends all processes of the job, this one with `code`.
    pub fn abort(&self, code: u8) {
        // SAFETY: MPI is started.
        unsafe { (self.abort)(self.names.world, c_int::from(code)) };
    }
}

/// An error where a function of the library gave another code than that of success. In general it ends the process
/// itself then.
fn checked(call: &'static str, code: c_int) -> Result<(), MpiError> {
    if code == 0 { Ok(()) } else { Err(MpiError::Failed { call, code }) }
}

/// Where bytes lie. Those of an empty vector are at address 1, which is what Open MPI calls `MPI_IN_PLACE`.
fn start(bytes: &[u8]) -> *const c_void {
    if bytes.is_empty() { (&raw const NOTHING).cast() } else { bytes.as_ptr().cast() }
}

/// Room for so many bytes, at an address of its own even where there are none.
fn room(lengths: &[usize]) -> Vec<u8> {
    let length = lengths.iter().sum();
    let mut room = Vec::with_capacity(1.max(length));
    room.resize(length, 0);
    room
}

/// Counts of bytes and where each begins.
fn places(lengths: &[usize]) -> Result<(Vec<c_int>, Vec<c_int>), MpiError> {
    let mut at = 0;
    let mut starts = Vec::with_capacity(lengths.len());
    for length in lengths {
        starts.push(count(at)?);
        at += length;
    }
    count(at)?;
    Ok((lengths.iter().map(|length| count(*length)).collect::<Result<_, _>>()?, starts))
}

fn count(bytes: usize) -> Result<c_int, MpiError> {
    c_int::try_from(bytes).map_err(|_| MpiError::TooLong { bytes })
}
