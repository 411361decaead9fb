//! Low-rank adapters (LoRA): fresh ones, and PEFT directories.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::adapters::linear::Lora;
use crate::weights::LoadTarget;
use crate::{DecoderConfig, PolicyError, Precision, weights};
use grpo_base::seed::{Purpose, Seed};
use grpo_config::ModelConfig;

/// Prefix that PEFT puts before the names of the model's own modules.
pub(crate) const PREFIX: &str = "base_model.model.";

pub(crate) const CONFIG: &str = "adapter_config.json";
pub(crate) const WEIGHTS: &str = "adapter_model.safetensors";
/// The files that an adapter is read from.
pub const ADAPTER_FILES: [&str; 2] = [CONFIG, WEIGHTS];

/// Target that stands for every linear layer, as in PEFT.
const ALL_LINEAR: &str = "all-linear";

/// Keys of an adapter configuration that do not change what the adapter computes, or that are checked one by one. Any
/// other key must be empty, because it switches on something that is not implemented.
const HARMLESS: &[&str] = &[
    "alpha_pattern", "auto_mapping", "base_model_name_or_path", "ensure_weight_tying", "eva_config", "exclude_modules",
    "inference_mode", "init_lora_weights", "layers_pattern", "layers_to_transform", "lora_alpha", "megatron_core",
    "peft_type", "peft_version", "qalora_group_size", "r", "rank_pattern", "revision", "runtime_config",
    "target_modules", "task_type", "use_rslora",
];

/// Values of `init_lora_weights` that leave the base model unchanged. Other values change its weights too, so that the
/// adapter's file does not hold the whole result.
const HARMLESS_STARTS: &[&str] = &["gaussian", "eva", "orthogonal", "true", "false"];

/// What to do with an adapter that is not supported.
const MERGE: &str = "or merge it into its model with PEFT's merge_and_unload and name the merged model";

/// What the names of linear layers have in common that are in feed-forward blocks.
const FEED_FORWARD: &str = ".mlp.";

/// Adapters that share one rank.
#[derive(Debug, Clone)]
pub(crate) struct AdapterSet {
    pub rank: usize,
    pub alpha: f64,
    /// Whether the scale divides by the root of the rank, rather than by the rank.
    pub rslora: bool,
    /// Probability that training drops a number of an adapter's input.
    pub dropout: f64,
    /// Number of the model's layers, adapted or not.
    pub layers: usize,
    /// `A` and `B` matrices by PEFT name.
    pub tensors: BTreeMap<String, Tensor>,
}

#[derive(Deserialize)]
struct Settings {
    peft_type: String,
    r: usize,
    lora_alpha: f64,
    #[serde(default)]
    use_rslora: bool,
    #[serde(default)]
    lora_dropout: f64,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl AdapterSet {
    /// Factor of the product `B A`.
    ///
    /// Source: Kalajdzievski 2023 for the root of the rank.
    pub fn scale(&self) -> f64 {
        let rank = self.rank as f64;
        self.alpha / if self.rslora { rank.sqrt() } else { rank }
    }

    /// The adapter on a linear layer, by the layer's own name.
    pub fn on(&self, module: &str) -> Option<Lora> {
        let factor = |side: &str| self.tensors.get(&format!("{PREFIX}{module}.lora_{side}.weight"));
        let (a, b) = (factor("A")?.clone(), factor("B")?.clone());
        // The random stream of a layer must not depend on which other layers carry adapters.
        let number = module.bytes().fold(0, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        Some(Lora { a, b, scale: self.scale(), dropout: self.dropout, number })
    }

    /// Fresh adapters on the linear layers that `settings` name. `A` has the variance that PEFT draws it with and `B`
    /// is zero, so that training starts from the base model itself.
    pub fn fresh(
        config: &DecoderConfig,
        settings: &ModelConfig,
        seed: Seed,
        device: &Device,
    ) -> Result<Self, PolicyError> {
        let ModelConfig { lora_r, lora_alpha, use_rslora, lora_dropout, lora_target_modules: targets, .. } = settings;
        let all = targets.iter().any(|target| target == ALL_LINEAR);
        let modules = modules(config);
        if let Some(target) = targets.iter().find(|target| !all && !parts(&modules).contains(target.as_str())) {
            let (family, parts) = (config.model_type, Vec::from_iter(parts(&modules)).join(", "));
            let message = format!(
                "model.lora_target_modules names {target}, which carries no adapter in {family} models; expected of {parts}"
            );
            return Err(PolicyError::Adapter { message });
        }
        let mut tensors = BTreeMap::new();
        for (index, (module, [outputs, inputs])) in modules.into_iter().enumerate() {
            let part = part(&module);
            if !all && !targets.iter().any(|target| target == part) {
                continue;
            }
            // The variance of PEFT's uniform draw from -1/sqrt(in) to 1/sqrt(in).
            let std = 1.0 / (3.0 * inputs as f64).sqrt();
            let a = weights::normal(&[*lora_r, inputs], std, seed.child(Purpose::Init, index as u64), device)?;
            let b = Tensor::zeros((outputs, *lora_r), DType::F32, device)?;
            tensors.insert(format!("{PREFIX}{module}.lora_A.weight"), a);
            tensors.insert(format!("{PREFIX}{module}.lora_B.weight"), b);
        }
        Ok(AdapterSet {
            rank: *lora_r,
            alpha: *lora_alpha,
            rslora: *use_rslora,
            dropout: *lora_dropout,
            layers: config.num_hidden_layers,
            tensors,
        })
    }

    /// Reads a PEFT directory made for a model of this shape.
    pub fn load(dir: &Path, config: &DecoderConfig, device: &Device) -> Result<Self, PolicyError> {
        let set = Self::read(dir, config.num_hidden_layers, device)?;
        set.check(config)?;
        Ok(set)
    }

    /// Reads a PEFT directory for a model with so many layers, of which nothing else is known.
    pub fn read(dir: &Path, layers: usize, device: &Device) -> Result<Self, PolicyError> {
        let settings: Settings = described(dir)?;
        settings.check()?;
        let path = dir.join(WEIGHTS);
        if !path.exists() && dir.join("adapter_model.bin").exists() {
            let message = "its weights are in adapter_model.bin, which can run code when it is opened; \
                           save it again with PEFT, which writes adapter_model.safetensors";
            return Err(PolicyError::Adapter { message: message.into() });
        }
        let tensors = weights::read_file(&path, LoadTarget { device, precision: Precision::F32 })?;
        let Settings { r: rank, lora_alpha: alpha, use_rslora: rslora, lora_dropout: dropout, .. } = settings;
        Ok(AdapterSet { rank, alpha, rslora, dropout, layers, tensors })
    }

    /// The model's weights with the adapters merged into them.
    pub fn merge(&self, weights: &BTreeMap<String, Tensor>) -> Result<BTreeMap<String, Tensor>, PolicyError> {
        let merged = weights.iter().map(|(name, weight)| {
            let lora = name.strip_suffix(".weight").and_then(|module| self.on(module));
            Ok((name.clone(), lora.map_or(Ok(weight.clone()), |lora| lora.merged_into(weight))?))
        });
        merged.collect()
    }

    /// Writes a PEFT directory; `base_model` is where the model came from.
    pub fn save(&self, dir: &Path, base_model: &str) -> Result<(), PolicyError> {
        let config = json!({
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base_model,
            "r": self.rank,
            "lora_alpha": self.alpha,
            "use_rslora": self.rslora,
            "lora_dropout": self.dropout,
            "bias": "none",
            "fan_in_fan_out": false,
            "inference_mode": true,
            "init_lora_weights": true,
            "target_modules": self.targets(),
        });
        let path = dir.join(CONFIG);
        std::fs::write(&path, format!("{config:#}\n")).map_err(PolicyError::file(&path))?;
        weights::write_file(&self.tensors, &dir.join(WEIGHTS))
    }

    /// Modules that carry adapters, as PEFT finds them: by the last part of their names if all layers are alike,
    /// otherwise by their whole names.
    fn targets(&self) -> BTreeSet<&str> {
        let modules =
            || self.tensors.keys().filter_map(|name| name.strip_prefix(PREFIX)?.strip_suffix(".lora_A.weight"));
        let parts: BTreeSet<&str> = modules().map(part).collect();
        let alike = modules().count() == parts.len() * self.layers;
        if alike { parts } else { modules().collect() }
    }

    /// Checks that every tensor belongs to a layer of the model, has the right shape, and comes with its other factor.
    pub fn check(&self, config: &DecoderConfig) -> Result<(), PolicyError> {
        let mut expected = BTreeMap::new();
        for (module, [outputs, inputs]) in modules(config) {
            expected.insert(format!("{PREFIX}{module}.lora_A.weight"), vec![self.rank, inputs]);
            expected.insert(format!("{PREFIX}{module}.lora_B.weight"), vec![outputs, self.rank]);
        }
        let refuse = |message: String| Err(PolicyError::AdapterTensors { message });
        if self.tensors.is_empty() {
            return refuse("no tensors".into());
        }
        for (name, tensor) in &self.tensors {
            let Some(shape) = expected.get(name) else {
                // Of a layer without experts, where earlier versions had adapters.
                let is_dense = ["gate_proj", "up_proj", "down_proj"]
                    .iter()
                    .any(|map| name.contains(&format!("{FEED_FORWARD}{map}.")));
                if config.experts.is_some() && is_dense {
                    return refuse(format!(
                        "`{name}` sits on a feed-forward block, where PEFT loses adapters of models with experts; merge it \
                         with what trained it (`export --merge` of an earlier version) and name the merged model"
                    ));
                }
                let missed = "does not sit on a linear layer of this model";
                return refuse(format!("`{name}` {missed}; take its own model, {MERGE}"));
            };
            if tensor.dims() != shape {
                let (found, rank) = (tensor.dims(), self.rank);
                return refuse(format!(
                    "`{name}` has shape {found:?}; the model and r = {rank} of adapter_config.json ask for {shape:?}"
                ));
            }
            let other = match name.contains(".lora_A.") {
                true => name.replace(".lora_A.", ".lora_B."),
                false => name.replace(".lora_B.", ".lora_A."),
            };
            if !self.tensors.contains_key(&other) {
                return refuse(format!("`{other}` is missing; `{name}` is there"));
            }
        }
        Ok(())
    }
}

impl Settings {
    /// Refuses, by name, settings that would change the numbers and are not implemented.
    fn check(&self) -> Result<(), PolicyError> {
        let refuse = |message: String| Err(PolicyError::Adapter { message: format!("{CONFIG}: {message}") });
        if self.peft_type != "LORA" {
            return refuse(format!("peft_type is {}; expected LORA", self.peft_type));
        }
        if self.r == 0 {
            return refuse("r is 0; expected at least 1".into());
        }
        let alpha = self.lora_alpha as f32;
        if !alpha.is_finite() || alpha <= 0.0 {
            return refuse(format!("lora_alpha is {:?}; expected a number of 32 bits above 0", self.lora_alpha));
        }
        if !(0.0..1.0).contains(&self.lora_dropout) {
            return refuse(format!("lora_dropout is {}; expected 0 to below 1", self.lora_dropout));
        }
        for key in ["rank_pattern", "alpha_pattern"] {
            if self.others.get(key).is_some_and(is_on) {
                let expected = "one rank and one alpha for all layers";
                return refuse(format!("{key} is not supported; expected {expected}, {MERGE}"));
            }
        }
        let start =
            self.others.get("init_lora_weights").map(|start| start.to_string().trim_matches('"').to_lowercase());
        if let Some(start) = start.filter(|start| !HARMLESS_STARTS.contains(&start.as_str())) {
            return refuse(format!(
                "init_lora_weights = {start} changed the base model as well; \
                 convert it with PEFT's path_initial_model_for_weight_conversion"
            ));
        }
        let unknown = self.others.iter().find(|(key, value)| {
            let neutral = key.as_str() == "bias" && *value == "none";
            !HARMLESS.contains(&key.as_str()) && !neutral && is_on(value)
        });
        match unknown {
            Some((key, value)) => {
                let expected = "plain LoRA, with or without use_rslora";
                refuse(format!("{key} = {value} is not supported; expected {expected}, {MERGE}"))
            }
            None => Ok(()),
        }
    }
}

/// The configuration of the adapter in a directory.
pub(crate) fn described<T: DeserializeOwned>(dir: &Path) -> Result<T, PolicyError> {
    let path = dir.join(CONFIG);
    let text = std::fs::read_to_string(&path).map_err(PolicyError::file(&path))?;
    let corrupt = |message| PolicyError::Corrupt { path, format: "adapter configuration", message };
    serde_json::from_str(&text).map_err(|error| corrupt(error.to_string()))
}

/// Whether a value switches a setting on.
fn is_on(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(on) => *on,
        Value::Array(items) => !items.is_empty(),
        Value::Object(items) => !items.is_empty(),
        Value::Number(_) | Value::String(_) => true,
    }
}

/// The last part of a layer's name.
fn part(module: &str) -> &str {
    module.rsplit('.').next().unwrap_or_default()
}

/// The names by which `model.lora_target_modules` knows these layers.
fn parts(modules: &[(String, [usize; 2])]) -> BTreeSet<&str> {
    modules.iter().map(|(module, _)| part(module)).collect()
}

/// Linear layers that can carry adapters, with their shapes (out, in).
fn modules(config: &DecoderConfig) -> Vec<(String, [usize; 2])> {
    let linear = config.tensors().into_iter().filter_map(|(name, shape)| {
        let module = name.strip_suffix("_proj.weight")?;
        // PEFT cannot name experts, because transformers keeps those of a layer in one tensor. In models that have any it
        // takes the name of every feed-forward map for that tensor, and loses the adapters of layers without experts.
        if config.experts.is_some() && module.contains(FEED_FORWARD) {
            return None;
        }
        Some((format!("{module}_proj"), [*shape.first()?, *shape.get(1)?]))
    });
    linear.collect()
}
