//! The driver: devices, memory, copies, events, graphs.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::queue::{Queues, Work};
use crate::{DeviceFault, exports, fault};

pub const SUCCESS: u32 = 0;
pub const INVALID_VALUE: u32 = 1;
const OUT_OF_MEMORY: u32 = 2;
const INVALID_CONTEXT: u32 = 201;
pub const INVALID_IMAGE: u32 = 200;
pub const NOT_FOUND: u32 = 500;
const NOT_READY: u32 = 600;
const ILLEGAL_ADDRESS: u32 = 700;
const CAPTURE_UNSUPPORTED: u32 = 900;

/// `CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT`, `CU_MEMPOOL_ATTR_USED_MEM_CURRENT` and `CU_MEMPOOL_ATTR_USED_MEM_HIGH`.
const RESERVED_MEM_CURRENT: u32 = 5;
const USED_MEM_CURRENT: u32 = 7;
const USED_MEM_HIGH: u32 = 8;
/// `CU_MEMHOSTALLOC_WRITECOMBINED`.
const WRITE_COMBINED: c_uint = 4;

/// What the one GPU can do: that of an A100, the first that the program supports.
const CAPABILITY: (c_int, c_int) = (8, 0);
const NAME: &CStr = c"GPU in software";
/// CUDA 13.0, where `GPU_EMULATOR_CUDA` names no other.
const VERSION: c_int = 13_000;

/// The version of CUDA that the driver runs, and the libraries are of.
pub fn version_of_cuda() -> c_int {
    let asked = std::env::var("GPU_EMULATOR_CUDA").ok();
    let numbers = asked.as_deref().and_then(|text| text.split_once('.'));
    let number =
        |(major, minor): (&str, &str)| Some(1000 * major.parse::<c_int>().ok()? + 10 * minor.parse::<c_int>().ok()?);
    numbers.and_then(number).unwrap_or(VERSION)
}

thread_local! {
    /// Whether a thread has the context that there is.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The context, as programs hold it.
const CONTEXT: usize = 0x2048;

/// Everything there is.
pub fn state() -> MutexGuard<'static, Queues> {
    static STATE: OnceLock<Mutex<Queues>> = OnceLock::new();
    STATE.get_or_init(|| Mutex::new(Queues::new())).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the GPU, unless it has failed or the thread has no context. A fault is the last.
pub fn with(action: impl FnOnce(&mut Queues) -> Result<u32, DeviceFault>) -> u32 {
    if CURRENT.get() == 0 {
        return INVALID_CONTEXT;
    }
    let mut state = state();
    if state.fault.is_some() {
        return ILLEGAL_ADDRESS;
    }
    match action(&mut state) {
        Ok(status) => status,
        Err(fault) => {
            state.fail(fault);
            ILLEGAL_ADDRESS
        }
    }
}

/// Asks for work.
fn ask(stream: u64, work: Work) -> u32 {
    with(|queues| queues.ask(stream, work).map(|()| SUCCESS))
}

/// What no thread may do while a graph is recorded.
fn unrecorded(action: impl FnOnce(&mut Queues) -> Result<u32, DeviceFault>) -> u32 {
    with(|queues| if queues.any_records() { Ok(CAPTURE_UNSUPPORTED) } else { action(queues) })
}

exports! {
    fn cuInit(_flags: c_uint) { SUCCESS }

    fn cuDriverGetVersion(version: &mut c_int) {
        *version = version_of_cuda();
        SUCCESS
    }

    fn cuDeviceGetCount(count: &mut c_int) {
        *count = 1;
        SUCCESS
    }

    fn cuDeviceGet(device: &mut c_int, ordinal: c_int) {
        *device = ordinal;
        if ordinal == 0 { SUCCESS } else { 101 }
    }

    fn cuDeviceTotalMem_v2(bytes: &mut usize, _device: c_int) {
        *bytes = state().memory.total as usize;
        SUCCESS
    }

    fn cuDeviceGetAttribute(value: &mut c_int, attribute: u32, _device: c_int) {
        *value = match attribute {
            75 => CAPABILITY.0,
            76 => CAPABILITY.1,
            // Memory pools: what is given and taken back in the order of a stream.
            115 => 1,
            16 => 1,
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }

    fn cuDeviceGetDefaultMemPool(pool: &mut usize, _device: c_int) {
        *pool = 1;
        SUCCESS
    }

    fn cuMemPoolSetAttribute(_pool: usize, attribute: u32, _value: *mut c_void) {
        if attribute == USED_MEM_HIGH {
            state().memory.count_highest();
        }
        SUCCESS
    }

    fn cuMemPoolGetAttribute(_pool: usize, attribute: u32, value: &mut u64) {
        let memory = &state().memory;
        *value = match attribute {
            USED_MEM_HIGH => memory.highest,
            // The pool keeps nothing that no tensor uses.
            RESERVED_MEM_CURRENT | USED_MEM_CURRENT => memory.used,
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }

    fn cuMemPoolTrimTo(_pool: usize, _kept: usize) { SUCCESS }

    fn cuDevicePrimaryCtxRetain(context: &mut usize, _device: c_int) {
        *context = CONTEXT;
        SUCCESS
    }

    fn cuDevicePrimaryCtxRelease_v2(_device: c_int) { SUCCESS }

    fn cuCtxGetCurrent(context: &mut usize) {
        *context = CURRENT.get();
        SUCCESS
    }

    fn cuCtxSetCurrent(context: usize) {
        CURRENT.set(context);
        SUCCESS
    }

    fn cuCtxSynchronize() { unrecorded(|queues| queues.finish_all().map(|()| SUCCESS)) }

    fn cuStreamCreate(stream: &mut u64, _flags: c_uint) {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0x100);
        *stream = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        SUCCESS
    }

    fn cuStreamDestroy_v2(stream: u64) { with(|queues| queues.finish(stream).map(|()| SUCCESS)) }

    fn cuStreamSynchronize(stream: u64) { unrecorded(|queues| queues.finish(stream).map(|()| SUCCESS)) }

    fn cuStreamWaitEvent(stream: u64, event: u64, _flags: c_uint) {
        with(|queues| queues.await_event(event, stream).map(|()| SUCCESS))
    }

    fn cuMemGetInfo_v2(free: &mut usize, total: &mut usize) {
        with(|queues| {
            (*free, *total) = (queues.memory.available() as usize, queues.memory.total as usize);
            Ok(SUCCESS)
        })
    }

    fn cuMemAllocAsync(address: &mut u64, bytes: usize, _stream: u64) {
        unrecorded(|queues| match (bytes, queues.memory.allocate(bytes as u64)) {
            (0, _) => Ok(INVALID_VALUE),
            (_, None) => Ok(OUT_OF_MEMORY),
            (_, Some(given)) => {
                *address = given;
                Ok(SUCCESS)
            }
        })
    }

    fn cuMemAlloc_v2(address: &mut u64, bytes: usize) { cuMemAllocAsync(address, bytes, 0) }

    fn cuMemFreeAsync(address: u64, stream: u64) {
        with(|queues| {
            queues.memory.release(address)?;
            queues.ask(stream, Work::Free { address }).map(|()| SUCCESS)
        })
    }

    fn cuMemFree_v2(address: u64) {
        unrecorded(|queues| {
            queues.memory.release(address)?;
            queues.finish_all()?;
            queues.memory.free(address);
            Ok(SUCCESS)
        })
    }

    fn cuMemHostAlloc(address: &mut u64, bytes: usize, flags: c_uint) {
        unrecorded(|queues| {
            *address = Box::leak(vec![u128::MAX; bytes.div_ceil(16)].into_boxed_slice()).as_ptr() as u64;
            queues.pin(*address, bytes as u64, flags & WRITE_COMBINED != 0);
            Ok(SUCCESS)
        })
    }

    fn cuMemFreeHost(address: u64) {
        unrecorded(|queues| {
            let bytes = queues.unpin(address)?;
            queues.finish_all()?;
            let words = std::ptr::slice_from_raw_parts_mut(address as *mut u128, (bytes as usize).div_ceil(16));
            // Safety: leaked when it was pinned.
            drop(unsafe { Box::from_raw(words) });
            Ok(SUCCESS)
        })
    }

    fn cuMemsetD8Async(to: u64, with: u8, bytes: usize, stream: u64) {
        ask(stream, Work::Fill { to, bytes: bytes as u64, with })
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) {
        with(|queues| {
            let work = match queues.is_pinned(from, bytes as u64) {
                true => Work::WritePinned { to, from, bytes: bytes as u64 },
                // Safety: the host's memory is as long as its owner says.
                false => Work::Write { to, bytes: unsafe { std::slice::from_raw_parts(from as *const u8, bytes) }.into() },
            };
            queues.ask(stream, work).map(|()| SUCCESS)
        })
    }

    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) {
        with(|queues| {
            queues.ask_to_read(stream, to, from, bytes as u64)?;
            // Into memory that the system may move, copies are waited for.
            if !queues.is_pinned(to, bytes as u64) {
                queues.finish(stream)?;
            }
            Ok(SUCCESS)
        })
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) {
        ask(stream, Work::Copy { to, from, bytes: bytes as u64 })
    }

    fn cuEventCreate(event: &mut u64, _flags: c_uint) {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        *event = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let event = *event;
        with(|queues| {
            queues.new_event(event);
            Ok(SUCCESS)
        })
    }

    fn cuEventRecord(event: u64, stream: u64) { with(|queues| queues.record_event(event, stream).map(|()| SUCCESS)) }

    fn cuEventSynchronize(event: u64) { unrecorded(|queues| queues.finish_event(event).map(|()| SUCCESS)) }

    fn cuEventQuery(event: u64) {
        with(|queues| Ok(if queues.event_is_done(event)? { SUCCESS } else { NOT_READY }))
    }

    fn cuEventDestroy_v2(_event: u64) { SUCCESS }

    fn cuStreamBeginCapture_v2(stream: u64, _mode: u32) {
        with(|queues| queues.begin_recording(stream).map(|()| SUCCESS))
    }

    fn cuStreamIsCapturing(stream: u64, status: &mut u32) {
        *status = u32::from(state().records(stream));
        SUCCESS
    }

    fn cuStreamEndCapture(stream: u64, graph: &mut *mut c_void) {
        with(|queues| {
            let recorded = queues.end_recording(stream).ok_or_else(|| fault!("no graph is being recorded"))?;
            *graph = Box::into_raw(Box::new(Arc::<[Work]>::from(recorded))).cast();
            Ok(SUCCESS)
        })
    }

    fn cuGraphInstantiateWithFlags(executable: &mut *mut c_void, graph: *mut c_void, _flags: u64) {
        // Safety: given by `cuStreamEndCapture`.
        let recorded = unsafe { &*graph.cast::<Arc<[Work]>>() }.clone();
        *executable = Box::into_raw(Box::new(recorded)).cast();
        SUCCESS
    }

    fn cuGraphUpload(_executable: *mut c_void, _stream: u64) { SUCCESS }

    fn cuGraphLaunch(executable: *mut c_void, stream: u64) {
        // Safety: given by `cuGraphInstantiateWithFlags`.
        ask(stream, Work::Graph(unsafe { &*executable.cast::<Arc<[Work]>>() }.clone()))
    }

    fn cuGraphExecDestroy(executable: *mut c_void) {
        // Safety: given by `cuGraphInstantiateWithFlags`.
        drop(unsafe { Box::from_raw(executable.cast::<Arc<[Work]>>()) });
        SUCCESS
    }

    fn cuGraphDestroy(graph: *mut c_void) {
        // Safety: given by `cuStreamEndCapture`.
        drop(unsafe { Box::from_raw(graph.cast::<Arc<[Work]>>()) });
        SUCCESS
    }

    fn cuDeviceGetName(name: *mut c_char, length: c_int, _device: c_int) {
        let bytes = NAME.to_bytes_with_nul();
        let count = bytes.len().min(usize::try_from(length).unwrap_or(0));
        // Safety: the program has room for as many bytes as it says.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), name.cast(), count) };
        SUCCESS
    }

    fn cuGetErrorName(status: u32, text: &mut *const c_char) {
        let name = match status {
            INVALID_VALUE => c"CUDA_ERROR_INVALID_VALUE",
            OUT_OF_MEMORY => c"CUDA_ERROR_OUT_OF_MEMORY",
            INVALID_CONTEXT => c"CUDA_ERROR_INVALID_CONTEXT",
            INVALID_IMAGE => c"CUDA_ERROR_INVALID_IMAGE",
            NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
            ILLEGAL_ADDRESS => c"CUDA_ERROR_ILLEGAL_ADDRESS",
            CAPTURE_UNSUPPORTED => c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
            _ => c"CUDA_ERROR_UNKNOWN",
        };
        *text = name.as_ptr();
        SUCCESS
    }

    fn cuGetErrorString(status: u32, text: &mut *const c_char) { cuGetErrorName(status, text) }
}
