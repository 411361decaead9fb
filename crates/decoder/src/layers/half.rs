//! Half a layer as one operation of a GPU.

use std::sync::Arc;

use candle_core::backprop::GradStore;
use candle_core::{DType, Result as TensorResult, Tensor};

use crate::adapters::linear::{Adapters, Linear, Lora, joined};
use crate::layers::norm::Norm;
use grpo_tensor::{self as kernels, Adapted, Middle, Prepared, Residual};

/// The parameters of half a layer, `x + last(middle(first(norm(x))))`.
pub(crate) struct HalfLayer<'a> {
    pub norm: &'a Norm,
    pub first: Vec<&'a Linear>,
    pub last: &'a Linear,
    pub prepared: Option<&'a PreparedHalf>,
}

/// The maps of half a layer, and their factors joined and split, for as long as the factors do not change.
#[derive(Debug, Clone)]
pub(crate) struct PreparedHalf {
    /// Of the factors of both the shapes alone.
    first: Adapted,
    last: Adapted,
    factors: Arc<Prepared>,
}

impl HalfLayer<'_> {
    /// Half a layer as one operation; `None` if no GPU can compute it so for `x`.
    pub fn on_gpu(
        &self,
        x: &Tensor,
        middle: impl FnOnce() -> TensorResult<Middle>,
        adapters: &Adapters,
    ) -> TensorResult<Option<Residual>> {
        if !kernels::on_gpu(x) || *adapters == Adapters::Off {
            return Ok(None);
        }
        let (first, last, prepared) = match self.prepared {
            Some(half) => (half.first.clone(), half.last.clone(), Some(half.factors.clone())),
            None => match self.joined(adapters)? {
                Some([first, last]) => (first, last, None),
                None => return Ok(None),
            },
        };
        let (norm, epsilon, middle) = (self.norm.factors()?, self.norm.epsilon, middle()?);
        let half = Residual { norm, epsilon, first, middle, last, prepared };
        Ok(Some(half).filter(|half| half.is_served(x)))
    }

    fn joined(&self, adapters: &Adapters) -> TensorResult<Option<[Adapted; 2]>> {
        Ok(joined(&self.first, adapters)?.zip(joined(&[self.last], adapters)?).map(|(first, last)| [first, last]))
    }

    /// Joins and splits the factors for layers in `format`; `None` where they are none, or have dropout.
    pub fn prepare(&self, format: DType) -> TensorResult<Option<PreparedHalf>> {
        if self.lora().is_none_or(|lora| lora.iter().any(|lora| lora.dropout > 0.0)) {
            return Ok(None);
        }
        let Some([first, last]) = self.joined(&Adapters::On)? else { return Ok(None) };
        let factors = Arc::new(Prepared::new(&first, &last, format)?);
        Ok(Some(PreparedHalf { first: hollow(first)?, last: hollow(last)?, factors }))
    }

    /// Moves the gradients that a backward pass has left with prepared factors to `store`, as views of the joined ones.
    pub fn move_slopes(&self, store: &mut GradStore) -> TensorResult<()> {
        let slopes = self.prepared.and_then(|half| half.factors.take_slopes());
        let (Some([da, db, da_last, db_last]), Some(lora)) = (slopes, self.lora()) else { return Ok(()) };
        let (mut row, mut output) = (0, 0);
        for lora in &lora[..lora.len() - 1] {
            let (rank, outputs) = (lora.a.dim(0)?, lora.b.dim(0)?);
            store.insert(&lora.a, da.narrow(0, row, rank)?);
            store.insert(&lora.b, db.narrow(0, output, outputs)?);
            (row, output) = (row + rank, output + outputs);
        }
        if let Some(last) = lora.last() {
            store.insert(&last.a, da_last);
            store.insert(&last.b, db_last);
        }
        Ok(())
    }

    /// The adapters of the first maps and of the last; `None` unless all have one.
    fn lora(&self) -> Option<Vec<&Lora>> {
        self.first.iter().copied().chain([self.last]).map(|map| map.lora.as_ref()).collect()
    }
}

/// The same maps with the shapes of their factors and none of their memory, once their numbers are where they are read.
fn hollow(maps: Adapted) -> TensorResult<Adapted> {
    let shape = |factor: &Tensor| Tensor::zeros((), DType::F32, factor.device())?.broadcast_as(factor.shape());
    Ok(Adapted { a: shape(&maps.a)?, b: shape(&maps.b)?, ..maps })
}
