//! Pinned memory of the host, which copies to and from a GPU pass through.
//!
//! It is kept from one use to the next, for the whole process, because the driver waits for all work before it allocates
//! or frees any. It is not write-combined: the host reads it, which would be a hundred times slower.

use std::sync::{Mutex, PoisonError};

use candle_core::cuda_backend::cudarc::driver::{
    CudaEvent, CudaStream, DriverError, PinnedHostSlice, result,
    sys::{CUevent_flags, CUresult},
};
use candle_core::{Error, Result};

/// Bytes up to which an upload passes through pinned memory. What is larger is rare, and waits.
const LARGEST_UPLOAD: usize = 1 << 20;
/// Uploads under way before the oldest is waited for.
const MOST_UPLOADS: usize = 8;

/// Memory that nobody uses, of all GPUs.
static FREE: Mutex<Vec<PinnedHostSlice<u8>>> = Mutex::new(Vec::new());
/// Memory that uploads may still be read from, the oldest first, with the event after which they are not.
static UPLOADS: Mutex<Vec<(PinnedHostSlice<u8>, CudaEvent)>> = Mutex::new(Vec::new());

/// Bytes on their way to the host.
pub(super) struct Landing {
    /// Taken when this is dropped.
    host: Option<PinnedHostSlice<u8>>,
    bytes: usize,
    /// Completes when the bytes have arrived. The pinned memory's own event does not serve: nothing records it,
    /// because event tracking of tensors is off.
    arrived: CudaEvent,
}

impl Landing {
    /// Starts to copy `bytes` bytes from the GPU's address `from`.
    ///
    /// # Safety
    ///
    /// As many bytes must be there until the copy is over.
    pub unsafe fn start(stream: &CudaStream, from: u64, bytes: usize) -> Result<Self> {
        let mut host = take(stream, bytes).map_err(Error::wrap)?;
        let to = &mut host.as_mut_slice().map_err(Error::wrap)?[..bytes];
        // Safety: the caller's promise; the host's memory stays until the event below has completed.
        unsafe { result::memcpy_dtoh_async(to, from, stream.cu_stream()) }.map_err(Error::wrap)?;
        // A thread that waits for it sleeps, and leaves its core to those that judge.
        let arrived = stream.record_event(Some(FLAGS)).map_err(Error::wrap)?;
        Ok(Landing { host: Some(host), bytes, arrived })
    }

    /// Waits for the bytes.
    pub fn wait(self) -> Result<Vec<u8>> {
        self.arrived.synchronize().map_err(told)?;
        let host = self.host.as_ref().expect("taken by drop alone");
        Ok(host.as_slice().map_err(Error::wrap)?[..self.bytes].to_vec())
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        let Some(host) = self.host.take() else { return };
        // The copy may still be under way where nobody waited for it.
        match self.arrived.synchronize() {
            Ok(()) => give_back(host),
            // Memory of a GPU that has failed is neither used again nor freed.
            Err(_) => {
                let _ = Box::leak(Box::new(host));
            }
        }
    }
}

/// Copies bytes to the GPU's address `to`; they may be dropped at once.
///
/// # Safety
///
/// As many bytes must be there until the copy is over.
pub(super) unsafe fn upload(stream: &CudaStream, to: u64, bytes: &[u8]) -> Result<()> {
    if bytes.len() > LARGEST_UPLOAD {
        // Safety: the caller's promise; a copy from pageable memory has left that memory on return.
        return unsafe { result::memcpy_htod_async(to, bytes, stream.cu_stream()) }.map_err(Error::wrap);
    }
    let mut uploads = UPLOADS.lock().unwrap_or_else(PoisonError::into_inner);
    while uploads.len() >= MOST_UPLOADS || uploads.first().is_some_and(|(_, gone)| gone.is_complete()) {
        let (host, gone) = uploads.remove(0);
        gone.synchronize().map_err(Error::wrap)?;
        give_back(host);
    }
    let mut host = take(stream, bytes.len()).map_err(Error::wrap)?;
    let from = &mut host.as_mut_slice().map_err(Error::wrap)?[..bytes.len()];
    from.copy_from_slice(bytes);
    // Safety: the caller's promise; the host's memory is not used again before the event below has completed.
    unsafe { result::memcpy_htod_async(to, from, stream.cu_stream()) }.map_err(Error::wrap)?;
    uploads.push((host, stream.record_event(Some(FLAGS)).map_err(Error::wrap)?));
    Ok(())
}

/// The error of a wait. A kernel that fails is reported by whatever waits next, without its name.
fn told(error: DriverError) -> Error {
    let DriverError(status) = error;
    match status {
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_LAUNCH_FAILED => Error::Msg(format!(
            "{status:?}: a kernel has failed that was launched before; --set train.cuda_check=true names it, and \
             compute-sanitizer says where in it"
        )),
        _ => Error::wrap(error),
    }
}

const FLAGS: CUevent_flags = CUevent_flags::CU_EVENT_BLOCKING_SYNC;

/// Pinned memory for at least `bytes` bytes, in the context of the stream.
fn take(stream: &CudaStream, bytes: usize) -> std::result::Result<PinnedHostSlice<u8>, DriverError> {
    let context = stream.context();
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let fits = |host: &PinnedHostSlice<u8>| host.len() >= bytes && host.context().ordinal() == context.ordinal();
    if let Some(place) = free.iter().position(fits) {
        return Ok(free.swap_remove(place));
    }
    drop(free);
    context.bind_to_thread()?;
    // Safety: what is read of it was written before, by a copy or by the host.
    unsafe { context.alloc_pinned_with_flags::<u8>(bytes.next_power_of_two().max(4096), 0) }
}

fn give_back(host: PinnedHostSlice<u8>) {
    FREE.lock().unwrap_or_else(PoisonError::into_inner).push(host);
}
