//! Frozen weights of maps with the same input, one after the other in memory: a GPU then multiplies by all in one product.

use std::collections::BTreeMap;

use candle_core::{Result as TensorResult, Tensor};

use crate::DecoderConfig;
use grpo_tensor::{self as kernels, Weight};

/// Lays weights on a GPU together. Each stays a tensor of its own, a view of all.
pub(crate) fn lay_together(weights: &mut BTreeMap<String, Weight>, config: &DecoderConfig) -> TensorResult<()> {
    for layer in 0..config.num_hidden_layers {
        let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
        let attention = config.query_key_value().into_iter().map(|(part, _)| name(part)).collect();
        let blocks = config.blocks(layer).into_iter().map(|(block, inner)| {
            config.gate_up(inner).into_iter().map(|(part, _)| name(&format!("{block}.{part}"))).collect()
        });
        for names in std::iter::once(attention).chain(blocks) {
            together(weights, names)?;
        }
    }
    Ok(())
}

fn together(weights: &mut BTreeMap<String, Weight>, names: Vec<String>) -> TensorResult<()> {
    // What is missing or has another shape is refused where the layers are made.
    let tensors = names.iter().map(|name| weights.get(name)?.dense().filter(|tensor| kernels::on_gpu(tensor)));
    let Some(tensors) = tensors.collect::<Option<Vec<&Tensor>>>() else { return Ok(()) };
    let alike = |tensor: &Tensor| tensor.dtype() == tensors[0].dtype() && tensor.dims()[1..] == tensors[0].dims()[1..];
    if tensors.len() < 2 || !tensors.iter().all(|tensor| alike(tensor)) {
        return Ok(());
    }
    let (all, rows) = (Tensor::cat(&tensors, 0)?, tensors.iter().map(|tensor| tensor.dim(0)).collect::<Vec<_>>());
    let mut begin = 0;
    for (name, rows) in names.into_iter().zip(rows) {
        let rows = rows?;
        weights.insert(name, all.narrow(0, begin, rows)?.into());
        begin += rows;
    }
    Ok(())
}
