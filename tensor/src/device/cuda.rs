//! Examines the NVIDIA driver and NVIDIA's libraries.
//!
//! A library is loaded when one of its functions is first called (`build/loader.c`), so the examination is safe on a
//! machine that has none of them.

use std::ffi::{CStr, c_char, c_int};
use std::path::PathBuf;

use candle_core::cuda::cudarc::cublas::sys::{cublasGetProperty, cublasMath_t, cublasSetMathMode, cublasStatus_t};
use candle_core::cuda::cudarc::curand::sys::{curandGetProperty, curandStatus_t};
use candle_core::cuda::cudarc::driver::result::{self, DriverError, device};
use candle_core::cuda::cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use candle_core::cuda::cudarc::nccl::result::get_nccl_version;
use candle_core::cuda::cudarc::{cublas, curand};
use candle_core::cuda::{CudaDevice, kernels};
use candle_core::{Device, Error};

use crate::gpu::modules;

use super::{CudaExamination, DeviceMemory, DriverFound, LibraryFound, Target, Unusable, Version, pool};

/// The version in the name of the library's file, which has stayed the same over several versions of CUDA.
const CURAND: u32 = 10;

/// The version in the name of NCCL's file.
const NCCL: u32 = 2;

/// A function of the loader, which returns text or null.
type LoaderText = unsafe extern "C" fn() -> *const c_char;

/// What the loader says of one library.
#[derive(Clone, Copy)]
struct Loading {
    /// The file that it was loaded from.
    found: LoaderText,
    /// Why no file was loaded.
    failure: LoaderText,
}

const CUDA_LOADING: Loading = Loading { found: lazy_cuda_found, failure: lazy_cuda_failure };
const CUBLAS_LOADING: Loading = Loading { found: lazy_cublas_found, failure: lazy_cublas_failure };
const CURAND_LOADING: Loading = Loading { found: lazy_curand_found, failure: lazy_curand_failure };
const NCCL_LOADING: Loading = Loading { found: lazy_nccl_found, failure: lazy_nccl_failure };

unsafe extern "C" {
    fn lazy_cuda_found() -> *const c_char;
    fn lazy_cuda_failure() -> *const c_char;
    fn lazy_cublas_found() -> *const c_char;
    fn lazy_cublas_failure() -> *const c_char;
    fn lazy_curand_found() -> *const c_char;
    fn lazy_curand_failure() -> *const c_char;
    fn lazy_nccl_found() -> *const c_char;
    fn lazy_nccl_failure() -> *const c_char;
}

/// Collects what can be told without opening a GPU.
pub fn examine() -> CudaExamination {
    let built_with = Version::of_cuda(sys::CUDA_VERSION);
    CudaExamination {
        built_with,
        kernels: Target::of_ptx(kernels::FILL.ptx()),
        driver: driver(),
        libraries: vec![
            library("cuBLAS", built_with.major, CUBLAS_LOADING, cublas_version),
            library("cuRAND", CURAND, CURAND_LOADING, curand_version),
        ],
        nccl: library("NCCL", NCCL, NCCL_LOADING, nccl_version),
    }
}

/// Opens a GPU that was examined. All threads share one stream, which runs their work in the order of the calls, so no
/// tensor needs events to guard it.
pub fn open(index: usize) -> Result<Device, Unusable> {
    // Only the first line is kept: a backtrace may follow.
    let broken =
        |error: Error| Unusable::Broken { reason: error.to_string().lines().next().unwrap_or_default().to_owned() };
    let device = Device::new_cuda_with_stream(index).map_err(broken)?;
    let cuda = device.as_cuda_device().map_err(broken)?;
    // SAFETY: no tensor exists yet, and all later ones live on the one stream of this device.
    unsafe { cuda.disable_event_tracking() };
    pool::keep_freed_memory(cuda).map_err(|error| Unusable::Broken { reason: error.to_string() })?;
    sum_in_f32(cuda).map_err(|error| Unusable::Broken { reason: error.to_string() })?;
    modules::load(cuda).map_err(broken)?;
    Ok(device)
}

/// Forbids cuBLAS, for all products of this device, to add the parts of a long sum in the format of the result, as it may
/// by default: in bf16, 8 bits of each part would be left.
fn sum_in_f32(device: &CudaDevice) -> Result<(), cublas::result::CublasError> {
    let mode = cublasMath_t::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    // SAFETY: the handle lives as long as the device.
    unsafe { cublasSetMathMode(*device.cublas_handle().handle(), mode) }.result()
}

/// The number that NVIDIA gave this GPU.
pub fn identity(device: &CudaDevice) -> Result<String, Error> {
    number(device.cuda_stream().context().cu_device()).map_err(Error::wrap)
}

/// The numbers that NVIDIA gave the GPUs that the driver shows; none where it does not answer.
pub fn identities() -> Vec<String> {
    let count = driver().ok().and_then(|_| device::get_count().ok()).unwrap_or(0);
    (0..count).map_while(|index| device::get(index).and_then(number).ok()).collect()
}

fn number(gpu: sys::CUdevice) -> Result<String, DriverError> {
    let uuid = device::get_uuid(gpu)?;
    Ok(uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect())
}

pub fn memory(device: &CudaDevice) -> Result<DeviceMemory, Error> {
    let (free, total) = device.cuda_stream().context().mem_get_info().map_err(Error::wrap)?;
    Ok(DeviceMemory { free: free as u64, total: total as u64 })
}

fn driver() -> Result<DriverFound, String> {
    located(CUDA_LOADING)?;
    let fails = |what: &str, error: DriverError| format!("{what}: {error}");
    let mut number: c_int = 0;
    // SAFETY: the call writes one number to the given place.
    unsafe { sys::cuDriverGetVersion(&mut number) }.result().map_err(|error| fails("cuDriverGetVersion", error))?;
    let cuda = Version::of_cuda(number.unsigned_abs());
    match result::init() {
        Ok(()) => {}
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(DriverFound { cuda, gpus: Vec::new() }),
        Err(error) => return Err(fails("cuInit", error)),
    }
    let count = device::get_count().map_err(|error| fails("cuDeviceGetCount", error))?;
    let gpus = (0..count).map(|index| gpu(index).map_err(|error| fails("a GPU does not answer", error)));
    Ok(DriverFound { cuda, gpus: gpus.collect::<Result<_, _>>()? })
}

fn gpu(index: c_int) -> Result<(String, Version), DriverError> {
    let gpu = device::get(index)?;
    let number = |attribute: CUdevice_attribute| {
        // SAFETY: the driver has just returned this GPU.
        let number = unsafe { device::get_attribute(gpu, attribute) };
        number.map(i32::unsigned_abs)
    };
    let major = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok((device::get_name(gpu)?, Version { major, minor }))
}

fn library(name: &'static str, expected: u32, loading: Loading, version: fn() -> Option<Version>) -> LibraryFound {
    let found = located(loading).and_then(|path| match version() {
        Some(version) => Ok((path, version)),
        None => Err(format!("{} names no version", path.display())),
    });
    LibraryFound { name, expected, found }
}

fn cublas_version() -> Option<Version> {
    use cublas::sys::libraryPropertyType_t::{MAJOR_VERSION, MINOR_VERSION};
    version_of([MAJOR_VERSION, MINOR_VERSION], |part, number| {
        // SAFETY: the call writes one number to the given place.
        let status = unsafe { cublasGetProperty(part, number) };
        status == cublasStatus_t::CUBLAS_STATUS_SUCCESS
    })
}

fn curand_version() -> Option<Version> {
    use curand::sys::libraryPropertyType_t::{MAJOR_VERSION, MINOR_VERSION};
    version_of([MAJOR_VERSION, MINOR_VERSION], |part, number| {
        // SAFETY: the call writes one number to the given place.
        let status = unsafe { curandGetProperty(part, number) };
        status == curandStatus_t::CURAND_STATUS_SUCCESS
    })
}

/// The version of which `get` writes the parts, major and minor, and says whether it could.
fn version_of<P>(parts: [P; 2], get: impl Fn(P, &mut c_int) -> bool) -> Option<Version> {
    let [major, minor] = parts.map(|part| {
        let mut number = 0;
        get(part, &mut number).then_some(number.unsigned_abs())
    });
    Some(Version { major: major?, minor: minor? })
}

/// As versions from 2.9 on count themselves: 22703 is 2.27.3.
fn nccl_version() -> Option<Version> {
    let number = get_nccl_version().ok()?.unsigned_abs();
    Some(Version { major: number / 10_000, minor: number % 10_000 / 100 })
}

/// The file that a library was loaded from, or why none was.
fn located(Loading { found, failure }: Loading) -> Result<PathBuf, String> {
    // SAFETY: both functions return null, or text that does not change afterwards.
    let text = |pointer: *const c_char| {
        (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
    };
    // SAFETY: the functions have no arguments, and any thread may call them.
    let (found, failure) = unsafe { (text(found()), text(failure())) };
    found.map(PathBuf::from).ok_or_else(|| failure.unwrap_or_default())
}
