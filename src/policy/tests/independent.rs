//! The same models as candle-transformers computes them: forwards alone, and one position.

use candle_transformers::models::{gemma2, llama, mistral, phi3, qwen2, qwen3, qwen3_moe};

use super::*;

/// Logits of the last position by candle-transformers, whose models are right at inference; none where they do not run.
pub(super) fn independent_last_logits(policy: &Policy, ids: &[u32]) -> Option<Tensor> {
    let config = policy.decoder().config();
    let tensors: HashMap<String, Tensor> =
        policy.weights.iter().map(|(name, tensor)| (name.clone(), tensor.tensor().unwrap().detach())).collect();
    let builder = candle_nn::VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
    let mut json = config.to_json();
    let ids = Tensor::new(vec![ids.to_vec()], &Device::Cpu).unwrap();
    // What theirs insist on.
    json["eos_token_id"] = 0.into();
    json["max_window_layers"] = 0.into();
    json["use_sliding_window"] = false.into();
    let logits = match config.model_type {
        ModelType::Llama => {
            let config: llama::LlamaConfig = serde_json::from_value(json).unwrap();
            let config = config.into_config(false);
            let mut cache = llama::Cache::new(false, DType::F32, &config, &Device::Cpu).unwrap();
            llama::Llama::load(builder, &config).unwrap().forward(&ids, 0, &mut cache).unwrap()
        }
        ModelType::Mistral => {
            // Theirs counts the tokens before a token, and not the token itself.
            json["sliding_window"] = config.sliding_window.map(|window| window.tokens - 1).into();
            let config: mistral::Config = serde_json::from_value(json).unwrap();
            mistral::Model::new(&config, builder).unwrap().forward(&ids, 0).unwrap()
        }
        ModelType::Qwen2 => {
            json["sliding_window"] = 64.into();
            let config: qwen2::Config = serde_json::from_value(json).unwrap();
            qwen2::ModelForCausalLM::new(&config, builder).unwrap().forward(&ids, 0).unwrap()
        }
        ModelType::Qwen3 => {
            let config: qwen3::Config = serde_json::from_value(json).unwrap();
            qwen3::ModelForCausalLM::new(&config, builder).unwrap().forward(&ids, 0).unwrap()
        }
        ModelType::Qwen3Moe => {
            let config: qwen3_moe::Config = serde_json::from_value(json).unwrap();
            qwen3_moe::ModelForCausalLM::new(&config, builder).unwrap().forward(&ids, 0).unwrap()
        }
        ModelType::Gemma2 => {
            // In theirs the window slides in every layer.
            let config: gemma2::Config = serde_json::from_value(json).unwrap();
            gemma2::Model::new(false, &config, builder).unwrap().forward(&ids, 0).unwrap()
        }
        // Theirs stops at sequences longer than the window.
        ModelType::Gemma3 => return None,
        ModelType::Phi3 => {
            let config: phi3::Config = serde_json::from_value(json).unwrap();
            phi3::Model::new(&config, builder).unwrap().forward(&ids, 0).unwrap()
        }
    };
    Some(logits.flatten_all().unwrap())
}
