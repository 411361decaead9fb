//! The kernels in the driver of a GPU.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use candle_core::cuda_backend::cudarc::driver::CudaModule;
use candle_core::cuda_backend::cudarc::nvrtc::Ptx;
use candle_core::cuda_backend::kernels;
use candle_core::{CudaDevice, Error, Result};

/// Machine code for some GPUs and PTX for the others, compiled by `build.rs`.
static KERNELS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.fatbin"));

/// Candle's modules that every run needs some function of, each with one of its functions.
const CANDLES: [(&str, &kernels::Module); 8] = [
    ("affine_f32", &kernels::AFFINE),
    ("badd_f32", &kernels::BINARY),
    ("cast_f32_f32", &kernels::CAST),
    ("fill_f32", &kernels::FILL),
    ("is_u32_f32", &kernels::INDEXING),
    ("fast_sum_f32", &kernels::REDUCE),
    ("where_u8_f32", &kernels::TERNARY),
    ("ucopy_f32", &kernels::UNARY),
];

/// How long the driver took for all modules when the first GPU was opened.
static TAKEN: OnceLock<Duration> = OnceLock::new();

/// The program's own kernels, loaded at the first call for a GPU.
pub(super) fn own(device: &CudaDevice) -> Result<Arc<CudaModule>> {
    static LOADED: Mutex<BTreeMap<usize, Arc<CudaModule>>> = Mutex::new(BTreeMap::new());
    let (mut loaded, stream) = (LOADED.lock().unwrap_or_else(PoisonError::into_inner), device.cuda_stream());
    let context = stream.context();
    if let Some(module) = loaded.get(&context.ordinal()) {
        return Ok(module.clone());
    }
    let module = context.load_module(Ptx::from_binary(KERNELS.to_vec())).map_err(Error::wrap)?;
    loaded.insert(context.ordinal(), module.clone());
    Ok(module)
}

/// Loads all modules. The driver translates those that have no machine code for this GPU, and keeps what it made.
pub(crate) fn load(device: &CudaDevice) -> Result<()> {
    let begin = Instant::now();
    own(device)?;
    for (function, module) in CANDLES {
        device.get_or_load_func(function, module)?;
    }
    TAKEN.get_or_init(|| begin.elapsed());
    Ok(())
}

/// Seconds that [`load`] took at first.
pub(crate) fn seconds() -> Option<f64> {
    TAKEN.get().map(Duration::as_secs_f64)
}
