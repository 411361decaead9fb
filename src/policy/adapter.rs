//! Low-rank adapters: fresh ones, and PEFT directories.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde::Deserialize;
use serde_json::json;

use super::{DecoderConfig, PolicyError, weights};
use crate::seed::{Purpose, Seed};

/// What PEFT puts before the names of the model's own modules.
pub(super) const PREFIX: &str = "base_model.model.";

const CONFIG: &str = "adapter_config.json";
pub(super) const WEIGHTS: &str = "adapter_model.safetensors";

/// Adapters of one rank.
#[derive(Debug, Clone)]
pub(super) struct AdapterSet {
    pub rank: usize,
    pub alpha: f64,
    /// `A` and `B` matrices by PEFT name.
    pub tensors: BTreeMap<String, Tensor>,
}

#[derive(Deserialize)]
struct Settings {
    peft_type: String,
    r: usize,
    lora_alpha: f64,
    #[serde(default)]
    use_dora: bool,
    #[serde(default)]
    use_rslora: bool,
    #[serde(default)]
    rank_pattern: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    alpha_pattern: serde_json::Map<String, serde_json::Value>,
}

impl AdapterSet {
    /// What the product `B A` is multiplied by.
    pub fn scale(&self) -> f64 {
        self.alpha / self.rank as f64
    }

    /// On every linear layer but the output projection: `A` as wide as PEFT draws it, `B` zero, so that training
    /// starts from the model itself.
    pub fn fresh(
        config: &DecoderConfig,
        (rank, alpha): (usize, f64),
        seed: Seed,
        device: &Device,
    ) -> Result<Self, PolicyError> {
        let mut tensors = BTreeMap::new();
        for (index, (module, [outputs, inputs])) in modules(config).into_iter().enumerate() {
            // The variance of PEFT's uniform draw from -1/sqrt(in) to 1/sqrt(in).
            let std = 1.0 / (3.0 * inputs as f64).sqrt();
            let a = weights::normal(&[rank, inputs], std, seed.child(Purpose::Init, index as u64), device)?;
            tensors.insert(format!("{PREFIX}{module}.lora_A.weight"), a);
            tensors
                .insert(format!("{PREFIX}{module}.lora_B.weight"), Tensor::zeros((outputs, rank), DType::F32, device)?);
        }
        Ok(AdapterSet { rank, alpha, tensors })
    }

    /// Reads a PEFT directory made for a model of this shape.
    pub fn load(dir: &Path, config: &DecoderConfig, device: &Device) -> Result<Self, PolicyError> {
        let path = dir.join(CONFIG);
        let text = std::fs::read_to_string(&path).map_err(PolicyError::file(&path))?;
        let settings: Settings = serde_json::from_str(&text).map_err(|error| PolicyError::Corrupt {
            path: path.clone(),
            format: "adapter configuration",
            message: error.to_string(),
        })?;
        settings.check()?;
        let tensors = weights::read_file(&dir.join(WEIGHTS), device)?;
        let set = AdapterSet { rank: settings.r, alpha: settings.lora_alpha, tensors };
        set.check(config)?;
        Ok(set)
    }

    /// Writes a PEFT directory; `base_model` is where the model came from.
    pub fn save(&self, dir: &Path, base_model: &str) -> Result<(), PolicyError> {
        let targets: BTreeSet<&str> =
            self.tensors.keys().filter_map(|name| name.split(".lora_").next()?.rsplit('.').next()).collect();
        let config = json!({
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base_model,
            "r": self.rank,
            "lora_alpha": self.alpha,
            "lora_dropout": 0.0,
            "bias": "none",
            "fan_in_fan_out": false,
            "inference_mode": true,
            "init_lora_weights": true,
            "target_modules": targets,
        });
        let path = dir.join(CONFIG);
        std::fs::write(&path, format!("{config:#}\n")).map_err(PolicyError::file(&path))?;
        weights::write_file(self.tensors.iter().map(|(name, tensor)| (name.clone(), tensor)), &dir.join(WEIGHTS))
    }

    /// Every tensor belongs to a layer of the model, has its shape, and has its other half.
    fn check(&self, config: &DecoderConfig) -> Result<(), PolicyError> {
        let mut expected = BTreeMap::new();
        for (module, [outputs, inputs]) in modules(config) {
            expected.insert(format!("{PREFIX}{module}.lora_A.weight"), vec![self.rank, inputs]);
            expected.insert(format!("{PREFIX}{module}.lora_B.weight"), vec![outputs, self.rank]);
        }
        if self.tensors.is_empty() {
            return Err(PolicyError::Adapter { message: "no tensors".into() });
        }
        for (name, tensor) in &self.tensors {
            let Some(shape) = expected.get(name) else {
                let message = format!("`{name}` does not sit on a linear layer of this model");
                return Err(PolicyError::Adapter { message });
            };
            if tensor.dims() != shape {
                let found = tensor.dims().to_vec();
                return Err(PolicyError::WrongShape { name: name.clone(), found, expected: shape.clone() });
            }
            let other = match name.contains(".lora_A.") {
                true => name.replace(".lora_A.", ".lora_B."),
                false => name.replace(".lora_B.", ".lora_A."),
            };
            if !self.tensors.contains_key(&other) {
                let hint = format!("; `{name}` is there");
                return Err(PolicyError::MissingTensor { expected: expected[&other].clone(), name: other, hint });
            }
        }
        Ok(())
    }
}

impl Settings {
    /// Refuses what would change the numbers and is not implemented.
    fn check(&self) -> Result<(), PolicyError> {
        let refuse = |message: String| Err(PolicyError::Adapter { message });
        match () {
            () if self.peft_type != "LORA" => refuse(format!("peft_type is {}; expected LORA", self.peft_type)),
            () if self.r == 0 => refuse("r is 0; expected at least 1".into()),
            () if self.use_dora || self.use_rslora => refuse("use_dora and use_rslora must be false".into()),
            () if !self.rank_pattern.is_empty() || !self.alpha_pattern.is_empty() => {
                refuse("rank_pattern and alpha_pattern must be empty".into())
            }
            () => Ok(()),
        }
    }
}

/// Linear layers that carry adapters, with their shapes (out, in).
fn modules(config: &DecoderConfig) -> Vec<(String, [usize; 2])> {
    let linear = config.tensors().into_iter().filter_map(|(name, shape)| {
        let module = name.strip_suffix("_proj.weight")?;
        Some((format!("{module}_proj"), [*shape.first()?, *shape.get(1)?]))
    });
    linear.collect()
}
