//! Products with frozen weights and trained low-rank terms (LoRA).

pub(crate) mod dropout;
mod gpu;
pub(crate) mod residual;

use candle_core::{CpuStorage, CustomOp1, CustomOp3, DType, Layout, Result, Shape, Tensor};

use crate::attached::{Slopes, attached};
use crate::lora::dropout::Masks;
use crate::rows::{Into, Matrix, for_rows, large_product, matmul, slice, with_slice};
use crate::{Weight, can_fuse, on_gpu};

/// A frozen linear map, `x W^T + bias`.
#[derive(Debug, Clone)]
pub struct Frozen {
    /// `(out, in)`.
    pub weight: Weight,
    /// `(out,)`.
    pub bias: Option<Tensor>,
    /// Dropout of `x` as the low-rank term's input.
    pub dropout: Option<Masks>,
}

impl Frozen {
    /// Applies the dropout to `x`, in f32. Applied to the gradient by the term's input, it gives the gradient by `x`.
    fn dropped(&self, x: Tensor) -> Result<Tensor> {
        match &self.dropout {
            Some(masks) => masks.apply(&x),
            None => Ok(x),
        }
    }
}

/// Frozen maps with the same input, and the factors of their low-rank terms.
#[derive(Debug, Clone)]
pub struct Adapted {
    /// First factors, `(maps * r, in)`, stacked.
    pub a: Tensor,
    /// Second factors, `(sum of outs, r)`, stacked.
    pub b: Tensor,
    /// Factor of the low-rank terms.
    pub scale: f64,
    pub maps: Vec<Frozen>,
}

impl Adapted {
    /// Whether a GPU's kernels can map `x`. They do not serve f16, whose range is too small for the smallest numbers
    /// of the factors, nor dropout.
    pub(crate) fn is_served(&self, x: &Tensor) -> bool {
        on_gpu(x) && x.dtype() != DType::F16 && self.maps.iter().all(|map| map.dropout.is_none())
    }

    /// [`adapted_linear`] without a graph. `x` and the factors are contiguous, the factors in f32.
    pub(crate) fn on_gpu(&self, x: &Tensor) -> Result<Tensor> {
        gpu::adapted_linear(x, (&self.a, &self.b), self.scale, &self.maps)
    }

    /// Gradients by `x`, if it is wanted, and by both factors.
    pub(crate) fn slopes_on_gpu(&self, (x, wanted): (&Tensor, bool), grad: &Tensor) -> Result<Slopes> {
        gpu::adapted_linear_slopes((x, wanted), (&self.a, &self.b), self.scale, &self.maps, grad)
    }
}

/// `x W^T + bias + scale (x A^T) B^T` for several maps of one `x`, side by side.
///
/// Only the arguments and the result are kept for the backward pass, and no gradient is computed by weights and
/// biases. Products with weights are in the format of `x`; low-rank terms, their factors and the sums are in f32.
///
/// * `x`: `(N, in)`; `a`: `(maps * r, in)` and `b`: `(sum of outs, r)`, the factors of the maps, stacked.
/// * Returns `(N, sum of outs)`.
///
/// Source: Hu et al. 2021, eq. 3.
pub fn adapted_linear(x: &Tensor, (a, b): (&Tensor, &Tensor), scale: f64, maps: &[Frozen]) -> Result<Tensor> {
    if !can_fuse([x, a, b].into_iter().chain(maps.iter().filter_map(|map| map.weight.dense())))
        || maps.iter().any(|map| map.dropout.is_some())
    {
        return by_tensors(x, (a, b), scale, maps);
    }
    let op = AdaptedLinear { maps: maps.to_vec(), scale: scale as f32 };
    x.contiguous()?.apply_op3(&a.contiguous()?, &b.contiguous()?, op)
}

pub(crate) fn plain(x: &Tensor, (a, b): (&Tensor, &Tensor), scale: f64, maps: &[Frozen]) -> Result<Tensor> {
    let (rank, mut column) = (b.dim(1)?, 0);
    let mut outputs = Vec::new();
    for (index, map) in maps.iter().enumerate() {
        let count = map.weight.dim(0)?;
        let (a, b) = (a.narrow(0, index * rank, rank)?, b.narrow(0, column, count)?);
        let low = map.dropped(x.to_dtype(DType::F32)?)?.matmul(&a.t()?)?.matmul(&b.t()?)?;
        let y = x.matmul(&map.weight.to_dtype(x.dtype())?.t()?)?.to_dtype(DType::F32)?;
        let mut y = (y + (low * scale)?)?;
        if let Some(bias) = &map.bias {
            y = y.broadcast_add(&bias.to_dtype(DType::F32)?)?;
        }
        outputs.push(y.to_dtype(x.dtype())?);
        column += count;
    }
    Tensor::cat(&outputs, 1)
}

pub(crate) fn by_tensors(x: &Tensor, (a, b): (&Tensor, &Tensor), scale: f64, maps: &[Frozen]) -> Result<Tensor> {
    let wide = |factor: &Tensor| factor.detach().to_dtype(DType::F32)?.contiguous();
    let terms = Adapted { a: wide(a)?, b: wide(b)?, scale, maps: maps.to_vec() };
    if terms.is_served(x) {
        let (inputs, wanted) = (x.detach().contiguous()?, x.track_op());
        let value = terms.on_gpu(&inputs)?;
        return attached(value, &[x, a, b], move |grad| terms.slopes_on_gpu((&inputs, wanted), grad));
    }
    let op = ByTensors {
        x: x.contiguous()?.detach(),
        a: a.detach(),
        b: b.detach(),
        scale,
        maps: maps.to_vec(),
        of_x: x.track_op(),
    };
    let value = plain(&op.x, (&op.a, &op.b), scale, maps)?;
    attached(value, &[x, a, b], move |grad| op.backward(grad))
}

/// Operands of the backward pass, without a graph.
struct ByTensors {
    x: Tensor,
    a: Tensor,
    b: Tensor,
    scale: f64,
    maps: Vec<Frozen>,
    /// Whether a gradient by `x` is needed.
    of_x: bool,
}

impl ByTensors {
    fn backward(&self, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let (x, rank, mut column) = (self.x.to_dtype(DType::F32)?, self.b.dim(1)?, 0);
        let (mut dx, mut da, mut db) = (None, Vec::new(), Vec::new());
        for (index, map) in self.maps.iter().enumerate() {
            let count = map.weight.dim(0)?;
            let (a, b) = (self.a.narrow(0, index * rank, rank)?, self.b.narrow(0, column, count)?);
            let narrow = grad.narrow(1, column, count)?.contiguous()?;
            let (grad, dropped) = (narrow.to_dtype(DType::F32)?, map.dropped(x.clone())?);
            let dlow = (grad.matmul(&b)? * self.scale)?;
            db.push((grad.t()?.matmul(&dropped.matmul(&a.t()?)?)? * self.scale)?);
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
    /// Rows of `x`.
    count: usize,
    inputs: usize,
    rank: usize,
    /// Rank times the number of maps.
    ranks: usize,
}

impl<'a> Operands<'a> {
    fn new((x, a, b): (&'a [f32], &'a [f32], &'a [f32]), inputs: usize, rank: usize) -> Self {
        Operands { x, a, b, count: x.len() / inputs, inputs, rank, ranks: a.len() / inputs }
    }

    fn x(&self) -> Matrix<'a> {
        Matrix::new(self.x, self.count, self.inputs, self.inputs)
    }

    fn a(&self) -> Matrix<'a> {
        Matrix::new(self.a, self.ranks, self.inputs, self.inputs)
    }

    /// The second factor of the map whose outputs begin at `column`.
    fn b(&self, column: usize, outputs: usize) -> Matrix<'a> {
        Matrix::new(&self.b[column * self.rank..], outputs, self.rank, self.rank)
    }

    /// A map's columns of low-rank products, whose rows have `ranks` numbers.
    fn low<'l>(&self, low: &'l [f32], index: usize) -> Matrix<'l> {
        Matrix::new(&low[index * self.rank..], self.count, self.rank, self.ranks)
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
        let mut out = vec![0.0; operands.count * total];
        self.each_map(|index, column, outputs, weight| {
            let out = &mut out[column..];
            large_product(out, total, (operands.x(), weight.t()), (1.0, Into::Overwrite));
            let term = (operands.low(&low, index), operands.b(column, outputs).t());
            large_product(out, total, term, (self.scale, Into::Add));
        })?;
        if self.maps.iter().any(|map| map.bias.is_some()) {
            let bias = self.bias(total)?;
            for_rows(&mut out, total, |_, out| out.iter_mut().zip(&bias).for_each(|(out, bias)| *out += bias));
        }
        Ok(out)
    }

    /// The biases side by side; zero for a map without bias.
    fn bias(&self, total: usize) -> Result<Vec<f32>> {
        let mut all = Vec::with_capacity(total);
        for map in &self.maps {
            match &map.bias {
                Some(bias) => with_slice(bias, |bias| {
                    all.extend_from_slice(bias);
                    Ok(())
                })?,
                None => all.resize(all.len() + map.weight.dim(0)?, 0.0),
            }
        }
        Ok(all)
    }

    /// Gradients by `a` and `b`; writes the gradient by `x` to `dx`, if it is needed.
    fn backward(
        &self,
        operands: Operands<'_>,
        grad: &[f32],
        dx: &mut Option<Vec<f32>>,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let Operands { count, inputs, rank, ranks, .. } = operands;
        let total = operands.b.len() / rank;
        let low = matmul(operands.x(), operands.a().t());
        let (mut dlow, mut db) = (vec![0.0; count * ranks], vec![0.0; operands.b.len()]);
        self.each_map(|index, column, outputs, weight| {
            let grad = Matrix::new(&grad[column..], count, outputs, total);
            let dlow = &mut dlow[index * rank..];
            large_product(dlow, ranks, (grad, operands.b(column, outputs)), (self.scale, Into::Overwrite));
            let db = &mut db[column * rank..][..outputs * rank];
            large_product(db, rank, (grad.t(), operands.low(&low, index)), (self.scale, Into::Overwrite));
            if let Some(dx) = dx {
                let into = if index == 0 { Into::Overwrite } else { Into::Add };
                large_product(dx, inputs, (grad, weight), (1.0, into));
            }
        })?;
        let dlow = Matrix::new(&dlow, count, ranks, ranks);
        if let Some(dx) = dx {
            large_product(dx, inputs, (dlow, operands.a()), (1.0, Into::Add));
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
        let numbers = (slice(x, x_layout)?, slice(a, a_layout)?, slice(b, b_layout)?);
        let out = self.forward(Operands::new(numbers, inputs, rank))?;
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
                    with_slice(grad, |grad| self.backward(Operands::new((x, a, b), inputs, rank), grad, &mut dx))
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

struct AddFrozenBias {
    bias: Tensor,
}

impl CustomOp1 for AddFrozenBias {
    fn name(&self) -> &'static str {
        "add_frozen_bias"
    }

    fn cpu_fwd(&self, y: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut out = slice(y, layout)?.to_vec();
        with_slice(&self.bias, |bias| {
            for_rows(&mut out, bias.len(), |_, out| out.iter_mut().zip(bias).for_each(|(out, bias)| *out += bias));
            Ok(())
        })?;
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(grad.clone()))
    }
}
