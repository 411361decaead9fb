//! Families of models: their names in `config.json`, and how they differ.

use grpo_tensor::Activation;

/// A family of models, by `model_type` of `config.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelType {
    /// Llama 1 to 3.3, SmolLM2.
    Llama,
    /// Mistral 7B, Nemo and Small.
    Mistral,
    /// Qwen2, Qwen2.5.
    Qwen2,
    /// Qwen3, dense.
    Qwen3,
    /// Qwen3 with experts.
    Qwen3Moe,
    /// Phi-3, Phi-3.5, Phi-4.
    Phi3,
    /// Gemma 2.
    Gemma2,
    /// Gemma 3 without images.
    Gemma3,
}

impl ModelType {
    /// All supported families.
    pub const ALL: &[ModelType] = {
        use ModelType::*;
        &[Llama, Mistral, Qwen2, Qwen3, Qwen3Moe, Phi3, Gemma2, Gemma3]
    };

    /// The value of `model_type` in `config.json`, the class of transformers that computes the family, and the models that
    /// people know it by.
    fn names(self) -> [&'static str; 3] {
        match self {
            ModelType::Llama => ["llama", "LlamaForCausalLM", "Llama 1 to 3.3, SmolLM2"],
            ModelType::Mistral => ["mistral", "MistralForCausalLM", "Mistral 7B, Nemo, Small"],
            ModelType::Qwen2 => ["qwen2", "Qwen2ForCausalLM", "Qwen2, Qwen2.5, Qwen2.5-Coder"],
            ModelType::Qwen3 => ["qwen3", "Qwen3ForCausalLM", "Qwen3, dense"],
            ModelType::Qwen3Moe => ["qwen3_moe", "Qwen3MoeForCausalLM", "Qwen3 with experts, Qwen3-Coder"],
            ModelType::Phi3 => ["phi3", "Phi3ForCausalLM", "Phi-3, Phi-3.5, Phi-4"],
            ModelType::Gemma2 => ["gemma2", "Gemma2ForCausalLM", "Gemma 2"],
            ModelType::Gemma3 => ["gemma3_text", "Gemma3ForCausalLM", "Gemma 3 without images, 270M and 1B"],
        }
    }

    /// The value of `model_type` in `config.json`.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// The family of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|family| family.name() == name)
    }

    /// The class of transformers that computes the family.
    pub(crate) fn class(self) -> &'static str {
        self.names()[1]
    }

    /// Whether query, key and value projections have biases.
    pub fn has_qkv_bias(self) -> bool {
        self == ModelType::Qwen2
    }

    /// Whether queries, keys and values are one map, and gate and up another, rather than three maps and two.
    pub fn is_fused(self) -> bool {
        self == ModelType::Phi3
    }

    /// Whether each query and key head is normed.
    pub fn has_head_norms(self) -> bool {
        matches!(self, ModelType::Qwen3 | ModelType::Qwen3Moe | ModelType::Gemma3)
    }

    /// Whether layers have norms before and after each half, norm weights around 0 instead of 1, a GELU gate, and
    /// embeddings multiplied by the root of their width.
    pub fn is_gemma(self) -> bool {
        matches!(self, ModelType::Gemma2 | ModelType::Gemma3)
    }

    /// Activation function of the gate.
    pub(crate) fn activation(self) -> Activation {
        if self.is_gemma() { Activation::Gelu } else { Activation::Silu }
    }
}

impl std::fmt::Display for ModelType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of families, each with the models that people know it by.
pub(crate) fn in_words(families: &[ModelType]) -> String {
    let in_words = |[name, _, models]: [&str; 3]| format!("{name} ({models})");
    families.iter().map(|family| in_words(family.names())).collect::<Vec<_>>().join(", ")
}
