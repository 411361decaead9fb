//! The MPI library, loaded at run time, so that the same binary works with and without it. The package contains all
//! unsafe code for it.
//!
//! Three collectives of MPI 3.0 are used, in their non-blocking forms, because a process that waits in a blocking one
//! keeps its core busy. Implementations differ in their handles of the communicator of all processes, of types and of
//! the sum: they are addresses of symbols in Open MPI, numbers of the header `mpi.h` in MPICH, and the small numbers of
//! MPI 5.0, chapter 20, in the standard ABI.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// The library cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MpiError {
    /// The library lacks a function.
    #[error("{file}: is no usable library of MPI: {reason}")]
    Unusable { file: String, reason: String },
    /// A function of the library failed.
    #[error("{call} failed with code {code}")]
    Failed {
        call: &'static str,
        /// The error code that it returned.
        code: i32,
    },
    /// There are more elements than a collective can send.
    #[error(
        "{count} {unit} are more than processes can exchange at once; expected at most {most}: lower grpo.micro_batch",
        most = c_int::MAX
    )]
    TooLong {
        count: usize,
        /// What is counted.
        unit: &'static str,
    },
}

/// A communicator, datatype, operation or request. It is a pointer or an `int`, depending on the implementation.
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

/// The maximum length of the text of `MPI_Get_library_version`, in any implementation, in bytes.
const LONGEST_VERSION: usize = 8192;
/// What most messages are counted in.
const BYTES: &str = "bytes";
/// The address of empty buffers.
static NOTHING: u8 = 0;
/// For this time a process that waits yields its core between checks of a request.
const YIELDS: Duration = Duration::from_micros(200);
/// The maximum time that it then sleeps between two checks.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// The handles and constants of an implementation.
struct Names {
    world: Handle,
    byte: Handle,
    float: Handle,
    sum: Handle,
    /// `MPI_THREAD_SERIALIZED`: only one thread at a time calls the library.
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
    /// Locked during a collective, because calls of the library must not overlap.
    turn: Mutex<()>,
    /// Keeps the functions above loaded.
    _library: Library,
}

/// A library that was found and is not started yet.
pub struct Found {
    library: Library,
    /// The name that the loader found it by.
    pub file: String,
    /// The first line of its own description.
    pub version: String,
}

/// The first of `files` that the loader finds, or its message for each of them.
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
    /// The handles of the library `file`.
    fn of(library: &Library, file: &str) -> Result<Names, String> {
        if let Ok(world) = symbol::<Handle>(library, "ompi_mpi_comm_world") {
            let [byte, float] = [symbol(library, "ompi_mpi_byte")?, symbol(library, "ompi_mpi_float")?];
            return Ok(Names { world, byte, float, sum: symbol(library, "ompi_mpi_op_sum")?, serialized: 2 });
        }
        Ok(match is_of_standard_abi(file) {
            true => Names { world: 0x101, byte: 0x247, float: 0x210, sum: 0x21, serialized: 2048 },
            false => {
                let [byte, float] = [0x4c00_010d, 0x4c00_040a];
                Names { world: 0x4400_0000, byte, float, sum: 0x5800_0003, serialized: 2 }
            }
        })
    }
}

impl Mpi {
    /// Starts a library. Waits until all processes of the job do so.
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

    /// The rank of this process.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of processes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Gathers the bytes of all processes, in the order of the ranks. Rank r has `lengths[r]` bytes.
    pub fn gather(&self, mine: &[u8], lengths: &[usize]) -> Result<Vec<u8>, MpiError> {
        let (counts, starts) = places(lengths)?;
        let own = count(mine.len(), BYTES)?;
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

    /// Sends `given[r]` bytes of `mine` to rank r, and returns the bytes that this process receives, `taken[r]` from
    /// rank r; both in the order of the ranks.
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

    /// The sum of the vectors of all processes, of equal length, added in an order that the library chooses. By the
    /// standard all processes receive identical results (MPI 3.0, section 5.9.6).
    pub fn sum(&self, mine: &[f32]) -> Result<Vec<f32>, MpiError> {
        let own = count(mine.len(), "numbers")?;
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

    /// Waits for a request. It first yields and then sleeps between checks, so that short waits are fast and long ones
    /// do not keep the core busy.
    fn complete(&self, mut request: Handle) -> Result<(), MpiError> {
        let (begin, mut sleep) = (Instant::now(), Duration::from_micros(20));
        loop {
            let mut done = 0;
            // The buffer is at least as large as the status of any implementation.
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

    /// Ends the use of MPI. All processes call this together.
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

/// An error if a function of the library returned another code than success. By default the library ends the process
/// itself in this case.
fn checked(call: &'static str, code: c_int) -> Result<(), MpiError> {
    if code == 0 { Ok(()) } else { Err(MpiError::Failed { call, code }) }
}

/// The address of a buffer. It is [`NOTHING`] for an empty vector, whose own address may be 1, which is Open MPI's
/// `MPI_IN_PLACE`.
fn start(bytes: &[u8]) -> *const c_void {
    if bytes.is_empty() { (&raw const NOTHING).cast() } else { bytes.as_ptr().cast() }
}

/// A buffer of this number of bytes with a valid address even if it is empty.
fn room(lengths: &[usize]) -> Vec<u8> {
    let length = lengths.iter().sum();
    let mut room = Vec::with_capacity(1.max(length));
    room.resize(length, 0);
    room
}

/// Byte counts as the library takes them, and the offset of each.
fn places(lengths: &[usize]) -> Result<(Vec<c_int>, Vec<c_int>), MpiError> {
    let mut at = 0;
    let mut starts = Vec::with_capacity(lengths.len());
    for length in lengths {
        starts.push(count(at, BYTES)?);
        at += length;
    }
    count(at, BYTES)?;
    Ok((lengths.iter().map(|length| count(*length, BYTES)).collect::<Result<_, _>>()?, starts))
}

/// A count as the library takes it, of elements that are called `unit`.
fn count(elements: usize, unit: &'static str) -> Result<c_int, MpiError> {
    c_int::try_from(elements).map_err(|_| MpiError::TooLong { count: elements, unit })
}

/// Whether the file of a library is called as the standard ABI calls it. Folders of its path may have any name.
fn is_of_standard_abi(file: &str) -> bool {
    Path::new(file).file_name().is_some_and(|name| name.to_string_lossy().contains("mpi_abi"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_counted_in_what_was_to_be_sent() {
        let most = c_int::MAX as usize;
        assert_eq!(count(most, "numbers").unwrap(), c_int::MAX);
        let told = count(most + 1, "numbers").unwrap_err().to_string();
        assert!(told.starts_with("2147483648 numbers are more") && told.contains("at most 2147483647:"), "{told}");
        let told = places(&[most, 1]).unwrap_err().to_string();
        assert!(told.starts_with("2147483648 bytes are more"), "{told}");
    }

    #[test]
    fn the_standard_abi_is_known_by_the_file_and_not_by_its_folder() {
        for file in ["libmpi_abi.so.0", "/opt/mpich/lib/libmpi_abi.so.0.0.1"] {
            assert!(is_of_standard_abi(file), "{file}");
        }
        for file in ["libmpi.so.12", "/opt/mpich-mpi_abi/lib/libmpi.so.12"] {
            assert!(!is_of_standard_abi(file), "{file}");
        }
    }
}
