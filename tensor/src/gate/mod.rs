//! Gate of the feed-forward block.

pub(crate) mod gpu;

use candle_core::{CpuStorage, CustomOp1, D, DType, Layout, Result, Shape, Tensor};

use crate::attached::attached;
use crate::rows::{exp, for_rows, slice, wide, with_slice};
use crate::serving::{can_fuse, on_gpu};

/// Activation function of the gate. Each one is `x sigmoid(z)` with its own `z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// `z = x`.
    Silu,
    /// GELU by its tanh approximation: `z = 2 sqrt(2 / pi) (x + 0.044715 x^3)`.
    ///
    /// Source: Hendrycks and Gimpel 2016, section 2; `gelu_pytorch_tanh`.
    Gelu,
}

/// `2 sqrt(2 / pi)`.
const GELU_SLOPE: f64 = 1.595_769_121_605_730_7;
const GELU_CUBE: f64 = 0.044_715;

/// `activation(gate) * up`, element by element.
///
/// * `gate_up`: `(N, 2 I)`, the gate first. Returns `(N, I)`.
///
/// Source: Shazeer 2020, SwiGLU and GEGLU.
pub fn gated(gate_up: &Tensor, activation: Activation) -> Result<Tensor> {
    if !can_fuse([gate_up]) {
        return by_tensors(gate_up, activation);
    }
    let gate_up = gate_up.contiguous()?;
    match activation {
        Activation::Silu => gate_up.apply_op1(Gated(Silu)),
        Activation::Gelu => gate_up.apply_op1(Gated(Gelu)),
    }
}

pub(crate) fn plain(gate_up: &Tensor, activation: Activation) -> Result<Tensor> {
    let [gate, up] = halves(gate_up)?;
    (activation.apply(&gate)? * up)?.to_dtype(gate_up.dtype())
}

impl Activation {
    fn apply(self, gate: &Tensor) -> Result<Tensor> {
        match self {
            Activation::Silu => gate.silu(),
            Activation::Gelu => gate.gelu(),
        }
    }

    /// `z`, and the derivative of `z` if that is not 1.
    fn z(self, gate: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
        match self {
            Activation::Silu => Ok((gate.clone(), None)),
            Activation::Gelu => {
                let square = gate.sqr()?;
                let z = ((gate * ((&square * GELU_CUBE)? + 1.0)?)? * GELU_SLOPE)?;
                Ok((z, Some(((square * (3.0 * GELU_CUBE * GELU_SLOPE))? + GELU_SLOPE)?)))
            }
        }
    }
}

/// Gate and up as separate tensors, in f32.
fn halves(gate_up: &Tensor) -> Result<[Tensor; 2]> {
    let inner = gate_up.dim(1)? / 2;
    let half = |from: usize| gate_up.narrow(D::Minus1, from, inner)?.to_dtype(DType::F32)?.contiguous();
    Ok([half(0)?, half(inner)?])
}

pub(crate) fn by_tensors(gate_up: &Tensor, activation: Activation) -> Result<Tensor> {
    let inputs = gate_up.detach();
    if activation == Activation::Silu && on_gpu(gate_up) {
        let inputs = inputs.contiguous()?;
        let value = gpu::silu_mul(&inputs, None)?;
        return attached(value, &[gate_up], move |grad| Ok([Some(gpu::silu_mul(&inputs, Some(grad))?), None, None]));
    }
    attached(plain(&inputs, activation)?, &[gate_up], move |grad| {
        let ([gate, up], grad) = (halves(&inputs)?, grad.to_dtype(DType::F32)?);
        let (z, z_slope) = activation.z(&gate)?;
        let sigmoid = ((z.neg()?.exp()? + 1.0)?).recip()?;
        let opened = (&gate * &sigmoid)?;
        // d opened / d gate = sigmoid + opened (1 - sigmoid) dz / d gate.
        let mut bend = (&opened * (1.0 - &sigmoid)?)?;
        if let Some(z_slope) = z_slope {
            bend = (bend * z_slope)?;
        }
        let slope = (sigmoid + bend)?;
        let dgate_up = Tensor::cat(&[((&grad * up)? * slope)?, (grad * opened)?], D::Minus1)?;
        Ok([Some(dgate_up.to_dtype(inputs.dtype())?), None, None])
    })
}

/// The `z` of an activation, as a type so that it is compiled into the loops.
trait Gate: Copy + Send + Sync {
    fn z(x: f32) -> f32;
    fn slope(x: f32) -> f32;
}

#[derive(Clone, Copy)]
struct Silu;

impl Gate for Silu {
    #[inline(always)]
    fn z(x: f32) -> f32 {
        x
    }

    #[inline(always)]
    fn slope(_: f32) -> f32 {
        1.0
    }
}

#[derive(Clone, Copy)]
struct Gelu;

impl Gate for Gelu {
    #[inline(always)]
    fn z(x: f32) -> f32 {
        GELU_SLOPE as f32 * (x + GELU_CUBE as f32 * x * x * x)
    }

    #[inline(always)]
    fn slope(x: f32) -> f32 {
        GELU_SLOPE as f32 * (1.0 + 3.0 * GELU_CUBE as f32 * x * x)
    }
}

struct Gated<G>(G);

impl<G: Gate> CustomOp1 for Gated<G> {
    fn name(&self) -> &'static str {
        "gated"
    }

    fn cpu_fwd(&self, gate_up: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let gate_up = slice(gate_up, layout)?;
        let (count, width) = layout.shape().dims2()?;
        let inner = width / 2;
        let mut out = vec![0.0; count * inner];
        for_rows(&mut out, inner, |row, out| {
            let (gate, up) = gate_up[row * width..][..width].split_at(inner);
            wide(
                #[inline(always)]
                || {
                    for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                        *out = gate * up / (1.0 + exp(-G::z(*gate)));
                    }
                },
            );
        });
        Ok((CpuStorage::F32(out), (count, inner).into()))
    }

    fn bwd(&self, gate_up: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (_, width) = gate_up.dims2()?;
        let inner = width / 2;
        let mut out = vec![0.0; gate_up.elem_count()];
        with_slice(gate_up, |gate_up| {
            with_slice(grad, |grad| {
                for_rows(&mut out, width, |row, out| {
                    let (gate, up) = gate_up[row * width..][..width].split_at(inner);
                    let (dgate, dup) = out.split_at_mut(inner);
                    let grad = &grad[row * inner..][..inner];
                    wide(
                        #[inline(always)]
                        || {
                            for i in 0..inner {
                                let sigmoid = 1.0 / (1.0 + exp(-G::z(gate[i])));
                                dup[i] = grad[i] * gate[i] * sigmoid;
                                let bend = gate[i] * (1.0 - sigmoid) * G::slope(gate[i]);
                                dgate[i] = grad[i] * up[i] * sigmoid * (1.0 + bend);
                            }
                        },
                    );
                });
                Ok(())
            })
        })?;
        Ok(Some(Tensor::from_vec(out, gate_up.shape(), gate_up.device())?))
    }
}
