//! The output projection and the softmax over the vocabulary on the CPU, in f32.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor};

use super::{BLOCK, chunks};
use crate::Weight;
use crate::head::log_probs::{logit_gradients, score};
use crate::rows::{Matrix, for_rows, matmul, slice, with_slice};

/// Turns `(N, H)` and `(V, H)` into `(N, 2)`: log-probability and entropy.
pub(super) struct ScoreTokens {
    pub targets: Vec<u32>,
    /// Inverse temperature.
    pub scale: f32,
    /// Rows per chunk.
    pub rows: usize,
    /// Logits of the forward pass's last chunk, which the backward pass need not compute again.
    pub last: Mutex<Option<Vec<f32>>>,
}

#[derive(Clone, Copy)]
struct Operands<'a> {
    hidden: &'a [f32],
    weight: &'a [f32],
    width: usize,
}

impl<'a> Operands<'a> {
    fn vocabulary(&self) -> usize {
        self.weight.len() / self.width
    }

    fn hidden(&self, rows: Range<usize>) -> Matrix<'a> {
        Matrix::new(&self.hidden[rows.start * self.width..], rows.len(), self.width, self.width)
    }

    fn weight(&self) -> Matrix<'a> {
        Matrix::new(self.weight, self.vocabulary(), self.width, self.width)
    }
}

impl ScoreTokens {
    fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        chunks(self.targets.len(), self.rows)
    }

    fn logits(&self, operands: Operands<'_>, rows: Range<usize>) -> Vec<f32> {
        let mut logits = matmul(operands.hidden(rows), operands.weight().t());
        if self.scale != 1.0 {
            for_rows(&mut logits, operands.vocabulary(), |_, row| {
                row.iter_mut().for_each(|logit| *logit *= self.scale)
            });
        }
        logits
    }

    fn forward(&self, operands: Operands<'_>) -> Vec<f32> {
        let (count, vocabulary) = (self.targets.len(), operands.vocabulary());
        let mut out = vec![0.0; count * 2];
        for chunk in self.chunks() {
            let logits = self.logits(operands, chunk.clone());
            for_rows(&mut out[2 * chunk.start..2 * chunk.end], 2, |row, out| {
                let target = self.targets[chunk.start + row] as usize;
                (out[0], out[1]) = score(&logits[row * vocabulary..][..vocabulary], target);
            });
            if chunk.end == count {
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(logits);
            }
        }
        out
    }

    /// Accumulates the gradients by hidden states and by the weight, if they are needed.
    fn backward(
        &self,
        operands: Operands<'_>,
        grad: &[f32],
        dhidden: &mut Option<Vec<f32>>,
        dweight: &mut Option<Vec<f32>>,
    ) {
        let (width, vocabulary) = (operands.width, operands.vocabulary());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        for chunk in self.chunks() {
            let kept = if chunk.end == self.targets.len() { last.take() } else { None };
            let mut slopes = kept.unwrap_or_else(|| self.logits(operands, chunk.clone()));
            for_rows(&mut slopes, vocabulary, |row, logits| {
                let row = chunk.start + row;
                logit_gradients(logits, self.targets[row] as usize, grad[2 * row], grad[2 * row + 1]);
            });
            if let Some(dhidden) = dhidden {
                let slopes = Matrix::new(&slopes, chunk.len(), vocabulary, vocabulary);
                let product = slopes.times(operands.weight()).scaled(self.scale).on_threads();
                product.write(&mut dhidden[chunk.start * width..], width);
            }
            let Some(dweight) = dweight else { continue };
            for from in chunk.clone().step_by(BLOCK) {
                let rows = from..(from + BLOCK).min(chunk.end);
                let slopes = &slopes[(from - chunk.start) * vocabulary..];
                let slopes = Matrix::new(slopes, rows.len(), vocabulary, vocabulary);
                slopes.t().times(operands.hidden(rows)).scaled(self.scale).on_threads().add_to(dweight, width);
            }
        }
    }
}

impl CustomOp2 for ScoreTokens {
    fn name(&self) -> &'static str {
        "score_tokens"
    }

    fn cpu_fwd(
        &self,
        hidden: &CpuStorage,
        hidden_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (count, width) = hidden_layout.shape().dims2()?;
        let operands = Operands { hidden: slice(hidden, hidden_layout)?, weight: slice(weight, weight_layout)?, width };
        Ok((CpuStorage::F32(self.forward(operands)), (count, 2).into()))
    }

    fn bwd(
        &self,
        hidden: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let width = hidden.dim(1)?;
        let zeros = |of: &Tensor| of.track_op().then(|| vec![0.0; of.elem_count()]);
        let (mut dhidden, mut dweight) = (zeros(hidden), zeros(weight));
        with_slice(hidden, |hidden| {
            with_slice(weight, |weight| {
                let operands = Operands { hidden, weight, width };
                with_slice(grad, |grad| {
                    self.backward(operands, grad, &mut dhidden, &mut dweight);
                    Ok(())
                })
            })
        })?;
        let tensor = |values: Option<Vec<f32>>, of: &Tensor| {
            values.map(|values| Tensor::from_vec(values, of.shape(), of.device())).transpose()
        };
        Ok((tensor(dhidden, hidden)?, tensor(dweight, weight)?))
    }
}

/// [`ScoreTokens`] with a weight in blocks. Each pass expands the blocks and frees the numbers afterwards.
pub(super) struct ScoreByBlocks {
    pub weight: Weight,
    pub op: ScoreTokens,
}

impl CustomOp1 for ScoreByBlocks {
    fn name(&self) -> &'static str {
        "score_by_blocks"
    }

    fn cpu_fwd(&self, hidden: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let ((count, width), hidden) = (layout.shape().dims2()?, slice(hidden, layout)?);
        let scores = self.weight.with_numbers(|weight| Ok(self.op.forward(Operands { hidden, weight, width })))?;
        Ok((CpuStorage::F32(scores), (count, 2).into()))
    }

    fn bwd(&self, hidden: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (width, mut dhidden) = (hidden.dim(1)?, Some(vec![0.0; hidden.elem_count()]));
        with_slice(hidden, |hidden| {
            self.weight.with_numbers(|weight| {
                with_slice(grad, |grad| {
                    self.op.backward(Operands { hidden, weight, width }, grad, &mut dhidden, &mut None);
                    Ok(())
                })
            })
        })?;
        dhidden.map(|values| Tensor::from_vec(values, hidden.shape(), hidden.device())).transpose()
    }
}
