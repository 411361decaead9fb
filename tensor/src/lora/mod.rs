//! Products with frozen weights and trained low-rank terms (LoRA).

mod adapted;
pub(crate) mod dropout;
mod gpu;
pub(crate) mod residual;
mod split;

use candle_core::{CpuStorage, CustomOp1, CustomOp3, DType, Layout, Result, Shape, Tensor};

use crate::attached::attached;

use crate::rows::{Matrix, for_rows, matmul, slice, with_slice};
use crate::serving::can_fuse;
pub use adapted::{Adapted, Frozen};
use split::{Split, biases, has_bias};

/// `x W^T + bias + scale (x A^T) B^T` for several maps of one `x`, side by side.
///
/// Only the arguments and the result are kept for the backward pass, and no gradient is computed by weights and
/// biases. Products with weights are in the format of `x`; low-rank terms, their factors and the sums are in f32.
///
/// * `x`: `(N, in)`. Returns `(N, sum of outs)`.
///
/// Source: Hu et al. 2021, eq. 3.
pub fn adapted_linear(x: &Tensor, adapted: &Adapted) -> Result<Tensor> {
    let Adapted { a, b, scale, maps } = adapted;
    if !can_fuse([x, a, b].into_iter().chain(maps.iter().filter_map(|map| map.weight.dense())))
        || maps.iter().any(|map| map.dropout.is_some())
    {
        return by_tensors(x, adapted);
    }
    let op = AdaptedLinear { maps: maps.clone(), scale: *scale as f32 };
    x.contiguous()?.apply_op3(&a.contiguous()?, &b.contiguous()?, op)
}

pub(crate) fn plain(x: &Tensor, Adapted { a, b, scale, maps }: &Adapted) -> Result<Tensor> {
    let (rank, mut column) = (b.dim(1)?, 0);
    let mut outputs = Vec::new();
    for (index, map) in maps.iter().enumerate() {
        let count = map.weight.dim(0)?;
        let (a, b) = (a.narrow(0, index * rank, rank)?, b.narrow(0, column, count)?);
        let low = map.dropped(x.to_dtype(DType::F32)?)?.matmul(&a.t()?)?.matmul(&b.t()?)?;
        let y = x.matmul(&map.weight.to_dtype(x.dtype())?.t()?)?.to_dtype(DType::F32)?;
        let mut y = (y + (low * *scale)?)?;
        if let Some(bias) = &map.bias {
            y = y.broadcast_add(&bias.to_dtype(DType::F32)?)?;
        }
        outputs.push(y.to_dtype(x.dtype())?);
        column += count;
    }
    Tensor::cat(&outputs, 1)
}

pub(crate) fn by_tensors(x: &Tensor, adapted: &Adapted) -> Result<Tensor> {
    let (arguments, of_x) = ([x, &adapted.a, &adapted.b], x.track_op());
    if adapted.is_served(x) {
        let (adapted, inputs) = (adapted.detached()?, x.detach().contiguous()?);
        let value = gpu::adapted_linear(&inputs, &adapted, &Split::new(&adapted, inputs.dtype())?)?;
        return attached(value, &arguments, move |grad| {
            let split = Split::new(&adapted, inputs.dtype())?;
            let [dx, da, db] = gpu::adapted_linear_slopes(&inputs, &adapted, &split, grad, of_x)?;
            Ok([dx.map(|dx| dx.to_dtype(inputs.dtype())).transpose()?, da, db])
        });
    }
    let adapted = Adapted { a: adapted.a.detach(), b: adapted.b.detach(), ..adapted.clone() };
    let op = ByTensors { x: x.contiguous()?.detach(), adapted, of_x };
    let value = plain(&op.x, &op.adapted)?;
    attached(value, &arguments, move |grad| op.backward(grad))
}

/// Operands of the backward pass, without a graph.
struct ByTensors {
    x: Tensor,
    adapted: Adapted,
    /// Whether a gradient by `x` is needed.
    of_x: bool,
}

impl ByTensors {
    fn backward(&self, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let Adapted { a, b, scale, maps } = &self.adapted;
        let (x, rank, mut column) = (self.x.to_dtype(DType::F32)?, b.dim(1)?, 0);
        let (mut dx, mut da, mut db) = (None, Vec::new(), Vec::new());
        for (index, map) in maps.iter().enumerate() {
            let count = map.weight.dim(0)?;
            let (a, b) = (a.narrow(0, index * rank, rank)?, b.narrow(0, column, count)?);
            let narrow = grad.narrow(1, column, count)?.contiguous()?;
            let (grad, dropped) = (narrow.to_dtype(DType::F32)?, map.dropped(x.clone())?);
            let dlow = (grad.matmul(&b)? * *scale)?;
            db.push((grad.t()?.matmul(&dropped.matmul(&a.t()?)?)? * *scale)?);
            da.push(dlow.t()?.matmul(&dropped)?);
            column += count;
            if !self.of_x {
                continue;
            }
            let of_weight = narrow.matmul(&map.weight.to_dtype(narrow.dtype())?)?.to_dtype(DType::F32)?;
            let term = (of_weight + map.dropped(dlow.matmul(&a)?)?)?;
            dx = Some(match dx {
                Some(dx) => (dx + term)?,
                None => term,
            });
        }
        let dx = dx.map(|dx: Tensor| dx.to_dtype(self.x.dtype())).transpose()?;
        Ok([dx, Some(Tensor::cat(&da, 0)?), Some(Tensor::cat(&db, 0)?)])
    }
}

struct AdaptedLinear {
    maps: Vec<Frozen>,
    scale: f32,
}

/// Numbers and sizes of the three arguments.
#[derive(Clone, Copy)]
struct Operands<'a> {
    x: &'a [f32],
    a: &'a [f32],
    b: &'a [f32],
    inputs: usize,
    rank: usize,
}

impl<'a> Operands<'a> {
    /// Rows of `x`.
    fn count(&self) -> usize {
        self.x.len() / self.inputs
    }

    /// Rank times the number of maps.
    fn ranks(&self) -> usize {
        self.a.len() / self.inputs
    }

    fn x(&self) -> Matrix<'a> {
        Matrix::new(self.x, self.count(), self.inputs, self.inputs)
    }

    fn a(&self) -> Matrix<'a> {
        Matrix::new(self.a, self.ranks(), self.inputs, self.inputs)
    }

    /// The second factor of the map whose outputs begin at `column`.
    fn b(&self, column: usize, outputs: usize) -> Matrix<'a> {
        Matrix::new(&self.b[column * self.rank..], outputs, self.rank, self.rank)
    }

    /// A map's columns of low-rank products, whose rows have `ranks` numbers.
    fn low<'l>(&self, low: &'l [f32], index: usize) -> Matrix<'l> {
        Matrix::new(&low[index * self.rank..], self.count(), self.rank, self.ranks())
    }
}

impl AdaptedLinear {
    /// Calls `each(index, first column, outputs, weight)` for every map.
    fn each_map(&self, mut each: impl FnMut(usize, usize, usize, Matrix<'_>)) -> Result<()> {
        let mut column = 0;
        for (index, map) in self.maps.iter().enumerate() {
            let (outputs, inputs) = (map.weight.dim(0)?, map.weight.dim(1)?);
            map.weight.with_numbers(|weight| {
                each(index, column, outputs, Matrix::new(weight, outputs, inputs, inputs));
                Ok(())
            })?;
            column += outputs;
        }
        Ok(())
    }

    fn forward(&self, operands: Operands<'_>) -> Result<Vec<f32>> {
        let total = operands.b.len() / operands.rank;
        let low = matmul(operands.x(), operands.a().t());
        let mut out = vec![0.0; operands.count() * total];
        self.each_map(|index, column, outputs, weight| {
            let out = &mut out[column..];
            operands.x().times(weight.t()).on_threads().write(out, total);
            let term = operands.low(&low, index).times(operands.b(column, outputs).t());
            term.scaled(self.scale).on_threads().add_to(out, total);
        })?;
        if has_bias(&self.maps) {
            add_to_rows(&mut out, &biases(&self.maps)?)?;
        }
        Ok(out)
    }

    /// Gradients by `a` and `b`; writes the gradient by `x` to `dx`, if it is needed.
    fn backward(
        &self,
        operands: Operands<'_>,
        grad: &[f32],
        dx: &mut Option<Vec<f32>>,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let Operands { inputs, rank, .. } = operands;
        let (count, ranks) = (operands.count(), operands.ranks());
        let total = operands.b.len() / rank;
        let low = matmul(operands.x(), operands.a().t());
        let (mut dlow, mut db) = (vec![0.0; count * ranks], vec![0.0; operands.b.len()]);
        self.each_map(|index, column, outputs, weight| {
            let grad = Matrix::new(&grad[column..], count, outputs, total);
            let of_low = grad.times(operands.b(column, outputs)).scaled(self.scale).on_threads();
            of_low.write(&mut dlow[index * rank..], ranks);
            let of_b = grad.t().times(operands.low(&low, index)).scaled(self.scale).on_threads();
            of_b.write(&mut db[column * rank..][..outputs * rank], rank);
            let of_x = grad.times(weight).on_threads();
            match dx {
                Some(dx) if index == 0 => of_x.write(dx, inputs),
                Some(dx) => of_x.add_to(dx, inputs),
                None => {}
            }
        })?;
        let dlow = Matrix::new(&dlow, count, ranks, ranks);
        if let Some(dx) = dx {
            dlow.times(operands.a()).on_threads().add_to(dx, inputs);
        }
        Ok((matmul(dlow.t(), operands.x()), db))
    }
}

impl CustomOp3 for AdaptedLinear {
    fn name(&self) -> &'static str {
        "adapted_linear"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        a: &CpuStorage,
        a_layout: &Layout,
        b: &CpuStorage,
        b_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let ((count, inputs), (total, rank)) = (x_layout.shape().dims2()?, b_layout.shape().dims2()?);
        let (x, a, b) = (slice(x, x_layout)?, slice(a, a_layout)?, slice(b, b_layout)?);
        let out = self.forward(Operands { x, a, b, inputs, rank })?;
        Ok((CpuStorage::F32(out), (count, total).into()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        a: &Tensor,
        b: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (inputs, rank) = (x.dim(1)?, b.dim(1)?);
        let mut dx = x.track_op().then(|| vec![0.0; x.elem_count()]);
        let (da, db) = with_slice(x, |x| {
            with_slice(a, |a| {
                with_slice(b, |b| {
                    with_slice(grad, |grad| self.backward(Operands { x, a, b, inputs, rank }, grad, &mut dx))
                })
            })
        })?;
        let dx = dx.map(|dx| Tensor::from_vec(dx, x.shape(), x.device())).transpose()?;
        let da = Tensor::from_vec(da, a.shape(), a.device())?;
        Ok((dx, Some(da), Some(Tensor::from_vec(db, b.shape(), b.device())?)))
    }
}

/// `y + bias`. Unlike candle's sum it computes no gradient by the bias.
///
/// * `y`: `(N, out)`; `bias`: `(out,)`, not trained. Added in f32, returned in the format of `y`.
pub fn add_frozen_bias(y: &Tensor, bias: &Tensor) -> Result<Tensor> {
    if !can_fuse([y, bias]) {
        let value = add_bias(&y.detach(), &bias.detach())?;
        return attached(value, &[y], |grad| Ok([Some(grad.clone()), None, None]));
    }
    y.contiguous()?.apply_op1(AddFrozenBias { bias: bias.detach() })
}

/// `y + bias`, added in f32; both differentiable.
pub fn add_bias(y: &Tensor, bias: &Tensor) -> Result<Tensor> {
    y.to_dtype(DType::F32)?.broadcast_add(&bias.to_dtype(DType::F32)?)?.to_dtype(y.dtype())
}

/// Adds `bias` to each row of `out`.
fn add_to_rows(out: &mut [f32], bias: &Tensor) -> Result<()> {
    with_slice(bias, |bias| {
        for_rows(out, bias.len(), |_, out| out.iter_mut().zip(bias).for_each(|(out, bias)| *out += bias));
        Ok(())
    })
}

struct AddFrozenBias {
    bias: Tensor,
}

impl CustomOp1 for AddFrozenBias {
    fn name(&self) -> &'static str {
        "add_frozen_bias"
    }

    fn cpu_fwd(&self, y: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut out = slice(y, layout)?.to_vec();
        add_to_rows(&mut out, &self.bias)?;
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(grad.clone()))
    }
}
