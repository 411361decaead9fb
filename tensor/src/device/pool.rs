//! The driver's pool, which all tensors of a GPU are allocated from, and the rate of the GPU's memory.

use std::ffi::c_void;

use candle_core::Error;
use candle_core::cuda::CudaDevice;
use candle_core::cuda::cudarc::driver::result::{DriverError, device, mem_pool};
use candle_core::cuda::cudarc::driver::sys::{CUdevice_attribute, CUmemPool_attribute, CUmemoryPool};

/// The pool; `None` on a GPU without pools.
fn pool(gpu: &CudaDevice) -> Result<Option<CUmemoryPool>, DriverError> {
    let context = gpu.cuda_stream().context().clone();
    context.bind_to_thread()?;
    // SAFETY: the GPU is open, and its pool lives as long as the driver.
    unsafe {
        match device::get_attribute(
            context.cu_device(),
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
        )? {
            0 => Ok(None),
            _ => device::get_default_mem_pool(context.cu_device()).map(Some),
        }
    }
}

/// Makes the driver keep freed memory for the tensors of the next step. By default it returns freed memory to the
/// system whenever the program waits for the GPU, and maps it again afterwards.
pub fn keep_freed_memory(gpu: &CudaDevice) -> Result<(), DriverError> {
    let Some(pool) = pool(gpu)? else { return Ok(()) };
    set(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, u64::MAX)
}

/// Sets an attribute of the pool that is a u64.
fn set(pool: CUmemoryPool, attribute: CUmemPool_attribute, mut value: u64) -> Result<(), DriverError> {
    // SAFETY: the attribute is a u64, and the pool lives as long as the driver.
    unsafe { mem_pool::set_attribute(pool, attribute, (&raw mut value).cast::<c_void>()) }
}

/// An attribute of the pool that is a u64.
fn get(pool: CUmemoryPool, attribute: CUmemPool_attribute) -> Result<u64, Error> {
    let mut value = 0_u64;
    // SAFETY: as above.
    unsafe { mem_pool::get_attribute(pool, attribute, (&raw mut value).cast::<c_void>()) }.map_err(Error::wrap)?;
    Ok(value)
}

/// Gives memory that no tensor uses back to the system: to libraries that allocate outside the pool, to other programs.
pub fn trim(gpu: &CudaDevice) -> Result<(), Error> {
    gpu.cuda_stream().synchronize().map_err(Error::wrap)?;
    let Some(pool) = pool(gpu).map_err(Error::wrap)? else { return Ok(()) };
    // SAFETY: what is in use is not given back.
    unsafe { mem_pool::trim_to(pool, 0) }.map_err(Error::wrap)
}

/// Bytes that the pool keeps and no tensor uses; none on a GPU without pools.
pub fn idle(gpu: &CudaDevice) -> Result<u64, Error> {
    let Some(pool) = pool(gpu).map_err(Error::wrap)? else { return Ok(0) };
    let kept = get(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
    Ok(kept.saturating_sub(get(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?))
}

/// The most bytes that tensors took together since [`reset_peak`]; `None` on a GPU without pools.
pub fn peak(gpu: &CudaDevice) -> Result<Option<u64>, Error> {
    let Some(pool) = pool(gpu).map_err(Error::wrap)? else { return Ok(None) };
    get(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH).map(Some)
}

/// Begins to count the peak from what is in use now.
pub fn reset_peak(gpu: &CudaDevice) -> Result<(), Error> {
    let Some(pool) = pool(gpu).map_err(Error::wrap)? else { return Ok(()) };
    // Zero is all that the driver takes.
    set(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0).map_err(Error::wrap)
}

/// Bytes a second that the GPU's memory can move by its clock and the width of its bus; `None` where the driver does not
/// say.
pub fn memory_rate(gpu: &CudaDevice) -> Option<f64> {
    let gpu = gpu.cuda_stream().context().cu_device();
    let number = |attribute| {
        // SAFETY: the GPU is open.
        let found = unsafe { device::get_attribute(gpu, attribute) }.ok()?;
        Some(f64::from(found)).filter(|found| *found > 0.0)
    };
    let kilohertz = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?;
    let bits = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?;
    // Two transfers a clock.
    Some(2.0 * 1e3 * kilohertz * bits / 8.0)
}
