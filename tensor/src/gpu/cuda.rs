//! The implementation of `Machine` by an NVIDIA GPU.

use std::ffi::c_void;

use candle_core::cuda_backend::CudaStorage;
use candle_core::cuda_backend::cudarc::cublas::{self, result::gemm_ex, sys as blas};
use candle_core::cuda_backend::cudarc::driver::{
    CudaGraph, CudaSlice, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg, result, sys,
};
use candle_core::{CudaDevice, DType, Error, Result, Storage, Tensor, bail};
use half::{bf16, f16};

use super::machine::{Machine, Memory, Product, launches_are_checked};
use super::modules;
use super::params::Params;
use super::pinned::{Landing, upload};
use super::products::{Matrices, Products};

/// Workspace of cuBLAS, which may not allocate memory while a graph is recorded. NVIDIA advises this size for Hopper.
const WORKSPACE_BYTES: usize = 32 << 20;

/// A device that candle has opened, and its stream.
pub(super) struct Cuda {
    device: CudaDevice,
    /// Kept for as long as cuBLAS may work in it.
    workspace: Option<CudaSlice<u8>>,
}

/// Memory of the device, either allocated here or a tensor's.
pub(super) struct DeviceMemory {
    address: u64,
    _owner: Owner,
}

enum Owner {
    Slice { _slice: CudaSlice<u8> },
    Tensor { _tensor: Tensor },
}

impl Memory for DeviceMemory {
    fn address(&self) -> u64 {
        self.address
    }
}

/// Parameters that are passed to the driver by value.
#[derive(Clone, Copy)]
struct ByValue<P: Params>(P);

// Safety: `Params` are plain numbers in C layout.
unsafe impl<P: Params> DeviceRepr for ByValue<P> {}

impl Cuda {
    /// A machine that only launches kernels.
    pub fn new(device: &CudaDevice) -> Self {
        Cuda { device: device.clone(), workspace: None }
    }

    /// A machine that launches kernels and products, both of which may be recorded.
    pub fn with_products(device: &CudaDevice) -> Result<Self> {
        let workspace = device.alloc_zeros::<u8>(WORKSPACE_BYTES)?;
        let library = device.cublas_handle();
        let address = workspace.device_ptr(&device.cuda_stream()).0;
        // Safety: the workspace lives as long as `self`; `drop` makes cuBLAS stop using it.
        unsafe { blas::cublasSetWorkspace_v2(*library.handle(), address as *mut c_void, WORKSPACE_BYTES) }
            .result()
            .map_err(Error::wrap)?;
        Ok(Cuda { device: device.clone(), workspace: Some(workspace) })
    }

    /// Does what launches something. Where launches are checked, waits before and after it, so that an error is known to
    /// be of what `name` says.
    fn launched(&self, name: &str, launch: impl FnOnce() -> Result<()>) -> Result<()> {
        if !launches_are_checked() {
            return launch();
        }
        let wait = |when: &str| {
            let told = |error| Error::Msg(format!("{when} {name}: {error}"));
            self.device.cuda_stream().synchronize().map_err(told)
        };
        wait("on the GPU, before")?;
        launch()?;
        wait("on the GPU, in")
    }

    fn owned(&self, slice: CudaSlice<u8>) -> DeviceMemory {
        let address = slice.device_ptr(&self.device.cuda_stream()).0;
        DeviceMemory { address, _owner: Owner::Slice { _slice: slice } }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.workspace.is_none() {
            return;
        }
        let library = self.device.cublas_handle();
        // Setting the stream gives cuBLAS its default workspace back. Safety: it already uses this stream. An error
        // has no consequence here: the next batch sets a workspace of its own.
        let _ = unsafe { blas::cublasSetStream_v2(*library.handle(), self.device.cuda_stream().cu_stream().cast()) };
    }
}

/// How products of factors of this type are computed, when tokens are drawn as when they are scored: sums are in f32, and
/// factors in f32 may be rounded to 11 bits where `model.tf32` allows it. candle's own products ask the same.
fn compute_type(factors: DType) -> blas::cublasComputeType_t {
    match factors == DType::F32 && candle_core::cuda::gemm_reduced_precision_f32() {
        true => blas::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
        false => blas::cublasComputeType_t::CUBLAS_COMPUTE_32F,
    }
}

fn data_type(dtype: DType) -> Result<blas::cudaDataType> {
    Ok(match dtype {
        DType::F32 => blas::cudaDataType_t::CUDA_R_32F,
        DType::BF16 => blas::cudaDataType_t::CUDA_R_16BF,
        DType::F16 => blas::cudaDataType_t::CUDA_R_16F,
        other => bail!("product on a GPU: found numbers of type {other:?}, expected f32, bf16 or f16"),
    })
}

impl Machine for Cuda {
    type Memory = DeviceMemory;
    type Pending = Landing;
    type Recording = CudaGraph;

    fn zeros(&self, bytes: usize) -> Result<DeviceMemory> {
        Ok(self.owned(self.device.alloc_zeros::<u8>(bytes.max(1))?))
    }

    fn adopt(&self, tensor: &Tensor) -> Result<DeviceMemory> {
        let (storage, layout) = tensor.storage_and_layout();
        let Storage::Cuda(storage) = &*storage else { bail!("expected a tensor on the GPU") };
        if !layout.is_contiguous() {
            bail!("expected a contiguous tensor");
        }
        let offset = (layout.start_offset() * tensor.dtype().size_in_bytes()) as u64;
        let address = base(storage, tensor.dtype(), &self.device)? + offset;
        Ok(DeviceMemory { address, _owner: Owner::Tensor { _tensor: tensor.clone() } })
    }

    fn write(&self, to: &DeviceMemory, bytes: &[u8]) -> Result<()> {
        // Safety: callers write no more than they allocated, and free it in the order of the stream.
        unsafe { upload(&self.device.cuda_stream(), to.address, bytes) }
    }

    fn copy(&self, to: &DeviceMemory, at: usize, from: &DeviceMemory, bytes: usize) -> Result<()> {
        let (stream, to) = (self.device.cuda_stream(), to.address + at as u64);
        // Safety: callers copy no more than both memories hold.
        unsafe { result::memcpy_dtod_async(to, from.address, bytes, stream.cu_stream()) }.map_err(Error::wrap)
    }

    fn read(&self, from: &DeviceMemory, bytes: usize) -> Result<Landing> {
        // Safety: callers read no more than they allocated, and free it in the order of the stream.
        unsafe { Landing::start(&self.device.cuda_stream(), from.address, bytes) }
    }

    fn wait(&self, pending: Landing) -> Result<Vec<u8>> {
        pending.wait()
    }

    unsafe fn launch<P: Params>(&self, kernel: &str, grid: [usize; 3], threads: usize, params: &P) -> Result<()> {
        let function = modules::own(&self.device)?.load_function(kernel).map_err(Error::wrap)?;
        let [x, y, z] = grid.map(|blocks| blocks as u32);
        let config = LaunchConfig { grid_dim: (x, y, z), block_dim: (threads as u32, 1, 1), shared_mem_bytes: 0 };
        let params = ByValue(*params);
        let stream = self.device.cuda_stream();
        let mut builder = stream.launch_builder(&function);
        builder.arg(&params);
        // Safety: the caller's promise; the kernel takes this one structure.
        self.launched(kernel, || unsafe { builder.launch(config) }.map(drop).map_err(Error::wrap))
    }

    unsafe fn product(&self, product: &Product) -> Result<()> {
        let Product { rows, inputs, outputs, .. } = *product;
        let (operation, weight_stride) = match product.transposed {
            true => (blas::cublasOperation_t::CUBLAS_OP_T, inputs),
            false => (blas::cublasOperation_t::CUBLAS_OP_N, outputs),
        };
        let (of_inputs, of_output) = (data_type(product.dtype)?, data_type(product.out_dtype)?);
        let (one, zero) = (1.0_f32, 0.0_f32);
        // cuBLAS is column-major: it sees all three matrices transposed, so it computes out^T = weight^T x^T. Safety:
        // the caller's promise; the factors are read before the call returns.
        let product = || unsafe {
            gemm_ex(
                *self.device.cublas_handle().handle(),
                operation,
                blas::cublasOperation_t::CUBLAS_OP_N,
                outputs as i32,
                rows as i32,
                inputs as i32,
                std::ptr::from_ref(&one).cast(),
                product.weight as *const c_void,
                of_inputs,
                weight_stride as i32,
                product.x as *const c_void,
                of_inputs,
                inputs as i32,
                std::ptr::from_ref(&zero).cast(),
                product.out as *mut c_void,
                of_output,
                product.out_stride as i32,
                compute_type(product.dtype),
                blas::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        self.launched("a product", || product().map_err(Error::wrap))
    }

    unsafe fn products(&self, products: &Products) -> Result<()> {
        let Products { out, left, right, count, rows, inner, columns, adds } = *products;
        let operation = |matrices: Matrices| match matrices.transposed {
            true => blas::cublasOperation_t::CUBLAS_OP_T,
            false => blas::cublasOperation_t::CUBLAS_OP_N,
        };
        let (of_inputs, of_output) = (data_type(left.dtype)?, data_type(out.dtype)?);
        let (one, kept) = (1.0_f32, f32::from(u8::from(adds)));
        // cuBLAS is column-major: it sees all three matrices transposed, so it computes out^T = right^T left^T.
        // Safety: the caller's promise; the factors are read before the call returns.
        let product = || unsafe {
            cublas::result::gemm_strided_batched_ex(
                *self.device.cublas_handle().handle(),
                operation(right),
                operation(left),
                columns as i32,
                rows as i32,
                inner as i32,
                std::ptr::from_ref(&one).cast(),
                right.address as *const c_void,
                of_inputs,
                right.stride as i32,
                right.step as i64,
                left.address as *const c_void,
                of_inputs,
                left.stride as i32,
                left.step as i64,
                std::ptr::from_ref(&kept).cast(),
                out.address as *mut c_void,
                of_output,
                out.stride as i32,
                out.step as i64,
                count as i32,
                compute_type(left.dtype),
                blas::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        self.launched("a product", || product().map_err(Error::wrap))
    }

    fn address(&self, tensor: &Tensor) -> Result<u64> {
        Ok(self.adopt(tensor)?.address())
    }

    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<CudaGraph>> {
        // What is recorded runs later, and cannot be waited for one by one.
        if launches_are_checked() {
            return Ok(None);
        }
        let stream = self.device.cuda_stream();
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode).map_err(Error::wrap)?;
        let done = work();
        // Recording must end even if the work failed.
        let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).map_err(Error::wrap);
        done?;
        graph
    }

    unsafe fn replay(&self, recording: &CudaGraph) -> Result<()> {
        recording.launch().map_err(Error::wrap)
    }
}

/// The address of a storage's first number.
fn base(storage: &CudaStorage, dtype: DType, device: &CudaDevice) -> Result<u64> {
    let stream = device.cuda_stream();
    Ok(match dtype {
        DType::F32 => storage.as_cuda_slice::<f32>()?.device_ptr(&stream).0,
        DType::BF16 => storage.as_cuda_slice::<bf16>()?.device_ptr(&stream).0,
        DType::F16 => storage.as_cuda_slice::<f16>()?.device_ptr(&stream).0,
        DType::U32 => storage.as_cuda_slice::<u32>()?.device_ptr(&stream).0,
        other => bail!("found numbers of type {other:?}, expected f32, bf16, f16 or u32"),
    })
}
