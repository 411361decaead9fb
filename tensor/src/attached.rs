//! Tensor operations with a backward pass of their own.
//!
//! Candle keeps the result of every operation and computes gradients by all of its arguments, frozen or not. Here a
//! kernel computes its result from detached tensors and attaches that result to the graph: only the arguments and the
//! result are kept, and only the gradients that are needed are computed. This works on every device and in every
//! format; the CPU has faster operations for f32.

use std::sync::{Mutex, PoisonError};

use candle_core::backend::{BackendDevice, BackendStorage};
use candle_core::{
    CpuStorage, CudaStorage, CustomOp3, DType, InplaceOp1, Layout, Result, Shape, Storage, Tensor, bail,
};

/// Gradients by up to three arguments; `None` for an argument that needs no gradient.
pub(super) type Slopes = [Option<Tensor>; 3];

type Backward = Box<dyn Fn(&Tensor) -> Result<Slopes> + Send + Sync>;

/// Puts `value` into the graph as a node above `arguments`; `backward` turns the node's gradient into gradients by the
/// arguments.
///
/// `value` must be freshly computed and must not be in a graph: the node takes over its storage, so nobody else may
/// read it afterwards.
pub(super) fn attached(
    value: Tensor,
    arguments: &[&Tensor],
    backward: impl Fn(&Tensor) -> Result<Slopes> + Send + Sync + 'static,
) -> Result<Tensor> {
    let tracked = arguments.iter().any(|argument| argument.track_op());
    let (Some(first), Some(last)) = (arguments.first(), arguments.last()) else { bail!("attached: no arguments") };
    if !tracked {
        return Ok(value);
    }
    let value = value.contiguous()?;
    if value.layout().start_offset() != 0 {
        bail!("attached: expected a freshly computed tensor, found a view");
    }
    let shape = value.shape().clone();
    let taken = Taken::default();
    value.inplace_op1(&taken)?;
    let second = arguments[1.min(arguments.len() - 1)];
    first.apply_op3(second, last, Attached { value: taken.0, shape, backward: Box::new(backward) })
}

/// A scalar whose gradient by `x` is `slope`. The backward pass of a part of a graph starts from it.
pub fn with_slope(x: &Tensor, slope: &Tensor) -> Result<Tensor> {
    let slope = slope.clone();
    attached(Tensor::zeros((), DType::F32, x.device())?, &[x], move |_| Ok([Some(slope.clone()), None, None]))
}

/// Takes the storage out of a tensor that is not needed any more.
#[derive(Default)]
struct Taken(Mutex<Option<Storage>>);

impl Taken {
    fn put(&self, storage: Storage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(storage);
    }
}

/// Takes the storage and leaves a single zero in its place.
fn take<S: BackendStorage>(storage: &mut S) -> Result<S>
where
    S::Device: BackendDevice<Storage = S>,
{
    let rest = storage.device().zeros_impl(&Shape::from(1), storage.dtype())?;
    Ok(std::mem::replace(storage, rest))
}

impl InplaceOp1 for Taken {
    fn name(&self) -> &'static str {
        "take"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, _: &Layout) -> Result<()> {
        self.put(Storage::Cpu(take(storage)?));
        Ok(())
    }

    fn cuda_fwd(&self, storage: &mut CudaStorage, _: &Layout) -> Result<()> {
        self.put(Storage::Cuda(take(storage)?));
        Ok(())
    }
}

struct Attached {
    value: Mutex<Option<Storage>>,
    shape: Shape,
    backward: Backward,
}

impl Attached {
    fn value(&self) -> Result<Storage> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(|| candle_core::Error::Msg("attached: computed twice".into()))
    }
}

impl CustomOp3 for Attached {
    fn name(&self) -> &'static str {
        "attached"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        match self.value()? {
            Storage::Cpu(value) => Ok((value, self.shape.clone())),
            _ => bail!("attached: the value is not where its arguments are"),
        }
    }

    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        match self.value()? {
            Storage::Cuda(value) => Ok((value, self.shape.clone())),
            _ => bail!("attached: the value is not where its arguments are"),
        }
    }

    fn bwd(
        &self,
        _: &Tensor,
        _: &Tensor,
        _: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let [first, second, third] = (self.backward)(&grad.contiguous()?)?;
        Ok((first, second, third))
    }
}
