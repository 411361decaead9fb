//! The logits of a model as candle-transformers computes them, by code that shares nothing with ours but its tensors.
//!
//! Its models run forwards alone and give the last position; they cannot be trained.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor};
use candle_transformers::models::{gemma2, llama, mistral, phi3, qwen2, qwen3, qwen3_moe};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Adapters, DecoderConfig, ModelType, Policy, PolicyError};

/// How our logits of one position compare with those of candle-transformers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Largest difference between two logits.
    pub difference: f32,
    /// Largest magnitude among theirs.
    pub magnitude: f32,
}

impl Policy {
    /// Computes the logits after `ids` by both implementations, without adapters. `None` if candle-transformers lacks
    /// something that this model has, or if there are no ids. Where a logit is NaN, so is the agreement, and where ours
    /// are not finite, theirs are not computed.
    ///
    /// Theirs are computed in f32 on the processor, from a copy of the weights of 4 bytes each.
    pub fn compared(&self, ids: &[u32]) -> Result<Option<Agreement>, PolicyError> {
        if ids.is_empty() {
            return Ok(None);
        }
        let device = self.decoder.device();
        let hidden = self.decoder.hidden(&Tensor::new(vec![ids.to_vec()], device)?, Adapters::Off)?;
        let ours = self.decoder.logits(&hidden)?.get(0)?.get(ids.len() - 1)?;
        let ours = ours.to_dtype(DType::F32)?.to_device(&Device::Cpu)?.detach();
        if !largest(&ours)?.is_finite() {
            return Ok(Some(Agreement { difference: f32::NAN, magnitude: f32::NAN }));
        }
        let Some(theirs) = self.independent_logits(ids)? else { return Ok(None) };
        Ok(Some(Agreement { difference: largest(&(ours - &theirs)?)?, magnitude: largest(&theirs)? }))
    }

    fn independent_logits(&self, ids: &[u32]) -> Result<Option<Tensor>, PolicyError> {
        let config = self.decoder.config();
        if !is_covered(config, ids.len()) {
            return Ok(None);
        }
        let in_full = |tensor: Tensor| tensor.to_device(&Device::Cpu)?.to_dtype(DType::F32);
        let tensors = self.weights.iter().map(|(name, weight)| Ok((name.clone(), in_full(weight.tensor()?.detach())?)));
        let tensors = tensors.collect::<Result<HashMap<_, _>, PolicyError>>()?;
        let weights = candle_nn::VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
        let logits = last_logits(config, weights, &Tensor::new(vec![ids.to_vec()], &Device::Cpu)?)?;
        Ok(Some(logits.flatten_all()?))
    }
}

/// The largest magnitude; NaN if any number is, which candle's maximum passes over.
fn largest(logits: &Tensor) -> candle_core::Result<f32> {
    let larger = |largest: f32, logit: f32| if logit > largest || logit.is_nan() { logit } else { largest };
    Ok(logits.abs()?.to_vec1()?.into_iter().fold(0.0, larger))
}

/// Whether candle-transformers computes all that `config` asks for, on a sequence of so many tokens.
fn is_covered(config: &DecoderConfig, tokens: usize) -> bool {
    let (family, heads) = (config.model_type, config.num_attention_heads);
    let is_scaled_alike = match family {
        // Theirs scales as Llama 3.1 does.
        ModelType::Llama => config.rope_scaling.is_none_or(|scaling| !scaling.is_linear()),
        _ => config.rope_scaling.is_none(),
    };
    // In most of theirs the window slides in every layer or in none, whatever the settings say.
    let is_seen_alike = family == ModelType::Mistral || config.sliding_window.is_none_or(|it| it.tokens >= tokens);
    // Theirs divides scores by the root of a head's width, which these two divide the hidden width for.
    let is_divided_alike = config.query_pre_attn_scalar.is_none_or(|scalar| scalar == config.head_dim);
    let derives_heads = matches!(family, ModelType::Llama | ModelType::Qwen2 | ModelType::Phi3);
    let has_heads_alike = !derives_heads || config.head_dim * heads == config.hidden_size;
    // Their Mistral always has a head of its own, and their Gemma 2 never has.
    let ends_alike = match family {
        ModelType::Mistral => !config.tie_word_embeddings,
        ModelType::Gemma2 => config.tie_word_embeddings,
        _ => true,
    };
    // Theirs does not read which layers have no experts all the same.
    let has_experts_alike = config.experts.as_ref().is_none_or(|experts| experts.mlp_only_layers.is_empty());
    // The caches of their Gemma 3 refuse its values, which do not lie one after the other.
    let runs = family != ModelType::Gemma3 && config.long_rope.is_none();
    let is_built_alike = has_heads_alike && ends_alike && has_experts_alike;
    runs && is_built_alike && is_scaled_alike && is_seen_alike && is_divided_alike
}

/// Logits (1, 1, vocabulary) after `ids` (1, tokens).
fn last_logits(
    config: &DecoderConfig,
    weights: candle_nn::VarBuilder<'static>,
    ids: &Tensor,
) -> Result<Tensor, PolicyError> {
    let json = their_settings(config);
    let logits = match config.model_type {
        ModelType::Llama => {
            let config = read::<llama::LlamaConfig>(json)?.into_config(false);
            let mut cache = llama::Cache::new(false, DType::F32, &config, &Device::Cpu)?;
            llama::Llama::load(weights, &config)?.forward(ids, 0, &mut cache)
        }
        ModelType::Mistral => mistral::Model::new(&read(json)?, weights)?.forward(ids, 0),
        ModelType::Qwen2 => qwen2::ModelForCausalLM::new(&read(json)?, weights)?.forward(ids, 0),
        ModelType::Qwen3 => qwen3::ModelForCausalLM::new(&read(json)?, weights)?.forward(ids, 0),
        ModelType::Qwen3Moe => qwen3_moe::ModelForCausalLM::new(&read(json)?, weights)?.forward(ids, 0),
        ModelType::Gemma2 => gemma2::Model::new(false, &read(json)?, weights)?.forward(ids, 0),
        ModelType::Gemma3 => unreachable!("not covered"),
        ModelType::Phi3 => phi3::Model::new(&read(json)?, weights)?.forward(ids, 0),
    };
    Ok(logits?)
}

/// The `config.json` of this model with the keys that their readers insist on.
fn their_settings(config: &DecoderConfig) -> Value {
    let mut json = config.to_json();
    json["eos_token_id"] = 0.into();
    json["max_window_layers"] = 0.into();
    json["use_sliding_window"] = false.into();
    match config.model_type {
        // Theirs counts the tokens before a token, and not the token itself.
        ModelType::Mistral => json["sliding_window"] = config.sliding_window.map(|window| window.tokens - 1).into(),
        ModelType::Qwen2 => json["sliding_window"] = config.max_position_embeddings.into(),
        _ => {}
    }
    json
}

fn read<C: DeserializeOwned>(json: Value) -> Result<C, PolicyError> {
    let refused = |error: serde_json::Error| PolicyError::Tensor(candle_core::Error::wrap(error));
    serde_json::from_value(json).map_err(refused)
}
