//! Gate of the feed-forward block.

use candle_core::{CpuStorage, CustomOp1, D, DType, Layout, Result, Shape, Tensor};

use super::attached::attached;
use super::can_fuse;
use super::rows::{exp, for_rows, slice, wide, with_slice};
use super::training;

/// `silu(gate) * up`, element by element.
///
/// * `gate_up`: `(N, 2 I)`, the gate first. Returns `(N, I)`.
///
/// Source: Shazeer 2020, SwiGLU.
pub fn silu_mul(gate_up: &Tensor) -> Result<Tensor> {
    if !can_fuse([gate_up]) {
        return by_tensors(gate_up);
    }
    gate_up.contiguous()?.apply_op1(SiluMul)
}

pub(super) fn plain(gate_up: &Tensor) -> Result<Tensor> {
    let [gate, up] = halves(gate_up)?;
    (gate.silu()? * up)?.to_dtype(gate_up.dtype())
}

/// Gate and up, in f32.
fn halves(gate_up: &Tensor) -> Result<[Tensor; 2]> {
    let inner = gate_up.dim(1)? / 2;
    let half = |from: usize| gate_up.narrow(D::Minus1, from, inner)?.to_dtype(DType::F32)?.contiguous();
    Ok([half(0)?, half(inner)?])
}

pub(super) fn by_tensors(gate_up: &Tensor) -> Result<Tensor> {
    let inputs = gate_up.detach();
    if training::serves(gate_up) {
        let inputs = inputs.contiguous()?;
        let value = training::silu_mul(&inputs)?;
        return attached(value, &[gate_up], move |grad| {
            Ok([Some(training::silu_mul_slope(&inputs, grad)?), None, None])
        });
    }
    attached(plain(&inputs)?, &[gate_up], move |grad| {
        let ([gate, up], grad) = (halves(&inputs)?, grad.to_dtype(DType::F32)?);
        let sigmoid = ((gate.neg()?.exp()? + 1.0)?).recip()?;
        let silu = (&gate * &sigmoid)?;
        // d silu / d gate = sigmoid + silu (1 - sigmoid).
        let slope = (&sigmoid + (&silu * (1.0 - &sigmoid)?)?)?;
        let dgate_up = Tensor::cat(&[((&grad * up)? * slope)?, (grad * silu)?], D::Minus1)?;
        Ok([Some(dgate_up.to_dtype(inputs.dtype())?), None, None])
    })
}

struct SiluMul;

impl CustomOp1 for SiluMul {
    fn name(&self) -> &'static str {
        "silu_mul"
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
                        *out = gate * up / (1.0 + exp(-gate));
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
                                let sigmoid = 1.0 / (1.0 + exp(-gate[i]));
                                dup[i] = grad[i] * gate[i] * sigmoid;
                                dgate[i] = grad[i] * up[i] * sigmoid * (1.0 + gate[i] * (1.0 - sigmoid));
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
