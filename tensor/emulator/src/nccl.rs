//! NCCL, for GPUs in software of processes on one machine: every message is a file in a folder that the id names.
//!
//! A real one queues its work on a stream; here the work of the stream is done first, and then what was asked for, at
//! once or at the end of its group. Sums are taken from the last rank to the first: no program may count on an order.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use crate::driver::{state, with};
use crate::exports;

const SUCCESS: u32 = 0;
const CUDA_ERROR: u32 = 1;
const SYSTEM_ERROR: u32 = 2;
const INVALID_ARGUMENT: u32 = 4;
/// 2.27.3.
const VERSION: c_int = 22_703;
/// `ncclFloat32`.
const FLOAT: c_int = 7;
/// `ncclSum`.
const SUM: c_int = 0;
const PATIENCE: Duration = Duration::from_secs(300);

#[repr(C)]
struct UniqueId {
    text: [u8; 128],
}

/// One of the processes, and how many messages it has sent to each and had from each.
struct Comm {
    folder: PathBuf,
    rank: usize,
    sent: Vec<usize>,
    had: Vec<usize>,
}

/// What was asked for in a group: of whom, by which stream, where the numbers lie, and how many bytes.
#[derive(Clone, Copy)]
struct Asked {
    comm: *mut Comm,
    stream: u64,
    peer: usize,
    address: u64,
    bytes: u64,
    sends: bool,
}

thread_local! {
    /// Groups that are open, one in another, and what was asked for in them.
    static GROUP: RefCell<(usize, Vec<Asked>)> = const { RefCell::new((0, Vec::new())) };
}

impl Comm {
    fn send(&mut self, peer: usize, bytes: &[u8]) -> Result<(), u32> {
        let name = format!("{}-{peer}-{}", self.rank, self.sent[peer]);
        self.sent[peer] += 1;
        let written = self.folder.join(format!("{name}.part"));
        let done = fs::write(&written, bytes).and_then(|()| fs::rename(&written, self.folder.join(name)));
        done.map_err(|_| SYSTEM_ERROR)
    }

    fn receive(&mut self, peer: usize) -> Result<Vec<u8>, u32> {
        let path = self.folder.join(format!("{peer}-{}-{}", self.rank, self.had[peer]));
        self.had[peer] += 1;
        let begin = Instant::now();
        while !path.exists() {
            if begin.elapsed() > PATIENCE {
                return Err(SYSTEM_ERROR);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let bytes = fs::read(&path).map_err(|_| SYSTEM_ERROR)?;
        let _ = fs::remove_file(path);
        Ok(bytes)
    }

    /// What all ranks have, in their order.
    fn all(&mut self, own: &[u8]) -> Result<Vec<Vec<u8>>, u32> {
        (0..self.sent.len()).try_for_each(|peer| self.send(peer, own))?;
        (0..self.had.len()).map(|peer| self.receive(peer)).collect()
    }
}

/// Numbers of the GPU once the stream has done its work.
fn read(stream: u64, address: u64, bytes: u64) -> Result<Vec<u8>, u32> {
    let mut found = vec![0; bytes as usize];
    let status = with(|queues| {
        queues.finish(stream)?;
        let from = queues.memory.bytes(address, bytes)?;
        // Safety: checked.
        unsafe { std::ptr::copy_nonoverlapping(from, found.as_mut_ptr(), found.len()) };
        Ok(0)
    });
    if status == 0 { Ok(found) } else { Err(CUDA_ERROR) }
}

fn write(stream: u64, address: u64, bytes: &[u8]) -> Result<(), u32> {
    let status = with(|queues| {
        queues.finish(stream)?;
        let to = queues.memory.bytes(address, bytes.len() as u64)?;
        // Safety: checked.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(0)
    });
    if status == 0 { Ok(()) } else { Err(CUDA_ERROR) }
}

fn status(done: Result<(), u32>) -> u32 {
    done.err().unwrap_or(SUCCESS)
}

/// Whether exchanges come to no end, as where another process hangs. The stream then gets on no more.
fn hangs() -> bool {
    let asked = std::env::var_os("GPU_EMULATOR_NCCL_HANGS").is_some();
    if asked {
        state().hangs = true;
    }
    asked
}

/// Does what was asked for in groups that have ended: what is sent first, so that nobody waits for who waits for it.
fn do_all(asked: &[Asked]) -> Result<(), u32> {
    if hangs() {
        return Ok(());
    }
    for Asked { comm, stream, peer, address, bytes, .. } in asked.iter().filter(|asked| asked.sends) {
        // Safety: the program holds the communicator until it has ended it.
        unsafe { &mut **comm }.send(*peer, &read(*stream, *address, *bytes)?)?;
    }
    for Asked { comm, stream, peer, address, bytes, .. } in asked.iter().filter(|asked| !asked.sends) {
        // Safety: as above.
        let found = unsafe { &mut **comm }.receive(*peer)?;
        if found.len() as u64 != *bytes {
            eprintln!("emulated GPU: NCCL: {} bytes were sent and {bytes} expected", found.len());
            return Err(INVALID_ARGUMENT);
        }
        write(*stream, *address, &found)?;
    }
    Ok(())
}

fn ask(one: Asked, kind: c_int) -> u32 {
    if kind != FLOAT {
        return INVALID_ARGUMENT;
    }
    GROUP.with_borrow_mut(|(depth, asked)| match *depth {
        0 => status(do_all(&[one])),
        _ => {
            asked.push(one);
            SUCCESS
        }
    })
}

exports! {
    fn ncclGetVersion(version: &mut c_int) {
        *version = VERSION;
        SUCCESS
    }

    fn ncclGetUniqueId(id: &mut UniqueId) {
        let since = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        let folder = std::env::temp_dir().join(format!("gpu-emulator-{}-{since}", std::process::id()));
        let text = folder.to_string_lossy().into_owned();
        if text.len() > id.text.len() || fs::create_dir(&folder).is_err() {
            return SYSTEM_ERROR;
        }
        id.text = [0; 128];
        id.text[..text.len()].copy_from_slice(text.as_bytes());
        SUCCESS
    }

    fn ncclCommInitRank(comm: &mut *mut Comm, size: c_int, id: UniqueId, rank: c_int) {
        let text: Vec<u8> = id.text.into_iter().take_while(|byte| *byte != 0).collect();
        let (size, rank) = (size as usize, rank as usize);
        let folder = PathBuf::from(String::from_utf8_lossy(&text).into_owned());
        let mut one = Comm { folder, rank, sent: vec![0; size], had: vec![0; size] };
        // All wait for all.
        let met = one.all(&[]).map(|_| ());
        *comm = Box::into_raw(Box::new(one));
        status(met)
    }

    fn ncclCommAbort(comm: *mut Comm) {
        // Safety: given by `ncclCommInitRank`, and not ended before.
        let comm = unsafe { Box::from_raw(comm) };
        // The last one finds it empty.
        let _ = fs::remove_dir(comm.folder);
        SUCCESS
    }

    fn ncclCommDestroy(comm: *mut Comm) { ncclCommAbort(comm) }

    fn ncclGroupStart() {
        GROUP.with_borrow_mut(|(depth, _)| *depth += 1);
        SUCCESS
    }

    fn ncclGroupEnd() {
        let asked = GROUP.with_borrow_mut(|(depth, asked)| {
            *depth -= 1;
            if *depth == 0 { std::mem::take(asked) } else { Vec::new() }
        });
        status(do_all(&asked))
    }

    fn ncclSend(address: u64, count: usize, kind: c_int, peer: c_int, comm: *mut Comm, stream: u64) {
        ask(Asked { comm, stream, peer: peer as usize, address, bytes: 4 * count as u64, sends: true }, kind)
    }

    fn ncclRecv(address: u64, count: usize, kind: c_int, peer: c_int, comm: *mut Comm, stream: u64) {
        ask(Asked { comm, stream, peer: peer as usize, address, bytes: 4 * count as u64, sends: false }, kind)
    }

    fn ncclAllGather(from: u64, to: u64, count: usize, kind: c_int, comm: *mut Comm, stream: u64) {
        if kind != FLOAT {
            return INVALID_ARGUMENT;
        }
        if hangs() {
            return SUCCESS;
        }
        // Safety: the program holds the communicator until it has ended it.
        let all = read(stream, from, 4 * count as u64).and_then(|own| unsafe { &mut *comm }.all(&own));
        status(all.and_then(|all| write(stream, to, &all.concat())))
    }

    fn ncclAllReduce(from: u64, to: u64, count: usize, kind: c_int, operation: c_int, comm: *mut Comm, stream: u64) {
        if (kind, operation) != (FLOAT, SUM) {
            return INVALID_ARGUMENT;
        }
        if hangs() {
            return SUCCESS;
        }
        // Safety: as above.
        let all = read(stream, from, 4 * count as u64).and_then(|own| unsafe { &mut *comm }.all(&own));
        let numbers = |bytes: Vec<u8>| bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let add = |sum: Vec<f32>, other: Vec<f32>| sum.iter().zip(other).map(|(sum, number)| sum + number).collect();
        let sum = all.map(|all| all.into_iter().rev().map(numbers).reduce(add).unwrap_or_default());
        status(sum.and_then(|sum| write(stream, to, &sum.into_iter().flat_map(f32::to_le_bytes).collect::<Vec<_>>())))
    }

    fn cuDeviceGetUuid(uuid: &mut [u8; 16], _device: c_int) {
        *uuid = [0; 16];
        let number = std::env::var("GPU_EMULATOR_UUID").ok().and_then(|text| text.parse().ok());
        uuid[..4].copy_from_slice(&number.unwrap_or_else(std::process::id).to_le_bytes());
        SUCCESS
    }

    fn cuDeviceGetUuid_v2(uuid: &mut [u8; 16], device: c_int) { cuDeviceGetUuid(uuid, device) }
}

#[unsafe(no_mangle)]
extern "C" fn ncclGetErrorString(status: u32) -> *const c_char {
    const TEXTS: [&CStr; 5] = [c"no error", c"CUDA", c"system", c"internal", c"invalid argument"];
    TEXTS.get(status as usize).unwrap_or(&c"unknown").as_ptr()
}
