//! The tensors of layers, by their names.

use std::collections::BTreeMap;

use candle_core::Tensor;

use crate::adapters::linear::Linear;
use crate::adapters::set::AdapterSet;
use crate::layers::norm::Norm;
use crate::{DecoderConfig, PolicyError};
use grpo_tensor::Weight;

/// Takes tensors out of a map by name, and checks their shapes.
pub(crate) struct Source<'a> {
    pub weights: &'a BTreeMap<String, Weight>,
    pub adapters: Option<&'a AdapterSet>,
}

impl Source<'_> {
    pub fn tensor(&self, name: &str, expected: &[usize]) -> Result<Tensor, PolicyError> {
        Ok(self.weight(name, expected)?.tensor()?)
    }

    pub fn weight(&self, name: &str, expected: &[usize]) -> Result<Weight, PolicyError> {
        let Some(weight) = self.weights.get(name) else {
            let tied = "; set tie_word_embeddings if the output projection is the embedding";
            let hint = if name.starts_with("lm_head") { tied } else { "" };
            return Err(PolicyError::MissingTensor {
                name: name.into(),
                expected: expected.to_vec(),
                hint: hint.into(),
            });
        };
        if weight.dims() != expected {
            return Err(PolicyError::WrongShape {
                name: name.into(),
                found: weight.dims(),
                expected: expected.to_vec(),
            });
        }
        Ok(weight.clone())
    }

    pub fn norm(&self, name: &str, width: usize, config: &DecoderConfig) -> Result<Norm, PolicyError> {
        let weight = self.tensor(&format!("{name}.weight"), &[width])?;
        Ok(Norm { weight, epsilon: config.rms_norm_eps, centred: config.model_type.is_gemma() })
    }

    pub fn linear(&self, name: &str, shape: [usize; 2], bias: bool) -> Result<Linear, PolicyError> {
        let [outputs, _] = shape;
        let bias = if bias { Some(self.tensor(&format!("{name}.bias"), &[outputs])?) } else { None };
        let lora = self.adapters.and_then(|adapters| adapters.on(name));
        Ok(Linear { weight: self.weight(&format!("{name}.weight"), &shape)?, bias, lora })
    }
}
