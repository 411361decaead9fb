//! Checks on the sizes and numbers of a configuration, before anything is allocated or computed from them.

use std::collections::BTreeSet;

use crate::families::architecture::{DecoderConfig, PolicyError, RopeScaling};

/// Whether a number is finite and above 0.
fn is_positive(number: f64) -> bool {
    number > 0.0 && number.is_finite()
}

/// Largest size that a model may name; the product of two stays within 64 bits.
const SIZE_MAX: usize = 1 << 31;

/// One more than the largest number between `before` and the following dot in any of the names; 0 if there is none.
pub(crate) fn indices<'a>(names: impl IntoIterator<Item = &'a String>, before: &str) -> usize {
    let index = |name: &String| name.split_once(before)?.1.split_once('.')?.0.parse::<usize>().ok();
    names.into_iter().filter_map(index).max().map_or(0, |index| index.saturating_add(1))
}

impl RopeScaling {
    /// Whether frequencies can be scaled by these numbers.
    fn is_sound(&self) -> bool {
        let bounds = is_positive(self.low_freq_factor) && self.low_freq_factor < self.high_freq_factor;
        let bounded = bounds && is_positive(self.high_freq_factor) && self.original_max_position_embeddings > 0;
        is_positive(self.factor) && (self.is_linear() || bounded)
    }
}

impl DecoderConfig {
    /// Refuses sizes that cannot work together.
    pub fn check(&self) -> Result<(), PolicyError> {
        for (key, value) in [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("intermediate_size", self.intermediate_size),
            ("max_position_embeddings", self.max_position_embeddings),
        ] {
            if value == 0 || value > SIZE_MAX {
                return Err(PolicyError::setting(key, value, "a number above 0, at most 2^31"));
            }
        }
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            let (found, expected) = (self.num_key_value_heads, "a divisor of num_attention_heads");
            return Err(PolicyError::setting("num_key_value_heads", found, expected));
        }
        if self.head_dim == 0 || self.head_dim > SIZE_MAX || !self.head_dim.is_multiple_of(2) {
            return Err(PolicyError::setting("head_dim", self.head_dim, "an even number above 0, at most 2^31"));
        }
        self.check_rotation()?;
        if self.sliding_window.is_some_and(|window| window.tokens == 0) {
            return Err(PolicyError::setting("sliding_window", 0, "a number above 0, or null"));
        }
        self.check_experts()?;
        for (key, value) in [
            ("rms_norm_eps", Some(self.rms_norm_eps)),
            ("rope_theta", Some(self.rope_theta)),
            ("rope_local_base_freq", self.sliding_window.and_then(|window| window.rope_theta)),
            ("query_pre_attn_scalar", self.query_pre_attn_scalar.map(|scalar| scalar as f64)),
            ("attn_logit_softcapping", self.attn_logit_softcapping),
            ("final_logit_softcapping", self.final_logit_softcapping),
        ] {
            if let Some(found) = value.filter(|value| !is_positive(*value)) {
                return Err(PolicyError::setting(key, found, "a number above 0"));
            }
        }
        Ok(())
    }

    /// Refuses weights with more or fewer layers, or fewer experts, than the configuration asks for, and those of
    /// another family. After this check the configuration's tensors can be listed without allocating more than the
    /// file holds.
    pub(crate) fn check_names<'a>(
        &self,
        names: impl IntoIterator<Item = &'a String> + Clone,
    ) -> Result<(), PolicyError> {
        self.check_beginnings(names.clone())?;
        let missing = |name: String, expected: Vec<usize>| {
            Err(PolicyError::MissingTensor { name, expected, hint: String::new() })
        };
        let (layers, asked) = (indices(names.clone(), "model.layers."), self.num_hidden_layers);
        if layers > asked {
            let expected = format!("{layers}, the layers that the weights have");
            return Err(PolicyError::setting("num_hidden_layers", asked, expected));
        }
        if layers < asked {
            return missing(format!("model.layers.{layers}.input_layernorm.weight"), vec![self.hidden_size]);
        }
        if let Some(experts) = &self.experts {
            let found = indices(names.clone(), ".mlp.experts.");
            let layer = (0..asked).find(|layer| self.experts_of(*layer).is_some());
            if let Some(layer) = layer.filter(|_| found < experts.num_experts) {
                return missing(
                    format!("model.layers.{layer}.mlp.experts.{found}.gate_proj.weight"),
                    vec![experts.moe_intermediate_size, self.hidden_size],
                );
            }
        }
        self.check_strays(names)
    }

    /// Refuses weights whose names begin otherwise, because the decoder was saved alone or within another module.
    fn check_beginnings<'a>(&self, names: impl IntoIterator<Item = &'a String> + Clone) -> Result<(), PolicyError> {
        let embedding = "model.embed_tokens.weight";
        let Some(found) = names.clone().into_iter().find(|name| name.ends_with("embed_tokens.weight")) else {
            return Ok(());
        };
        if names.into_iter().any(|name| name == embedding) {
            return Ok(());
        }
        let hint = format!(
            "; it is there as `{found}`: in Python, load it as the causal language model that it is, merged and without \
             wrappers, and save it with `save_pretrained(DIR)`"
        );
        let expected = vec![self.vocab_size, self.hidden_size];
        Err(PolicyError::MissingTensor { name: embedding.into(), expected, hint })
    }

    /// Refuses biases and norms of the decoder that the family does not have, because ignoring them would change the
    /// numbers. Other tensors, such as buffers of rotations and masks or the head of a reward model, may stay unread.
    fn check_strays<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Result<(), PolicyError> {
        let known: BTreeSet<String> = self.tensors().into_iter().map(|(name, _)| name).collect();
        let is_stray = |name: &&String| {
            let is_own = ["model.layers.", "model.norm.", "lm_head."].iter().any(|start| name.starts_with(start));
            is_own && (name.ends_with(".bias") || name.ends_with("norm.weight")) && !known.contains(*name)
        };
        let Some(name) = names.into_iter().find(is_stray) else { return Ok(()) };
        let found = format!("{} with a tensor `{name}`", self.model_type);
        let expected =
            format!("the tensors of {} alone; what it does not read would change the numbers", self.model_type);
        Err(PolicyError::setting("model_type", found, expected))
    }

    fn check_rotation(&self) -> Result<(), PolicyError> {
        let rotated = self.rotary_dim();
        if rotated == 0 || rotated > self.head_dim || !rotated.is_multiple_of(2) {
            let expected = format!("a share of head_dim = {} that is an even number", self.head_dim);
            return Err(PolicyError::setting("partial_rotary_factor", self.partial_rotary_factor, expected));
        }
        if let Some(found) = self.rope_scaling.filter(|scaling| !scaling.is_sound()) {
            let expected = "positive numbers, low_freq_factor below high_freq_factor";
            return Err(PolicyError::setting("rope_scaling", format!("{found:?}"), expected));
        }
        let Some(long) = &self.long_rope else { return Ok(()) };
        for (key, factors) in [("short_factor", &long.short_factor), ("long_factor", &long.long_factor)] {
            if factors.len() != rotated / 2 || factors.iter().any(|factor| !is_positive(*factor)) {
                let expected = format!("{} numbers above 0", rotated / 2);
                return Err(PolicyError::setting(key, format!("{factors:?}"), expected));
            }
        }
        Ok(())
    }

    fn check_experts(&self) -> Result<(), PolicyError> {
        let Some(experts) = &self.experts else { return Ok(()) };
        for (key, value) in [
            ("num_experts", experts.num_experts),
            ("moe_intermediate_size", experts.moe_intermediate_size),
            ("decoder_sparse_step", experts.decoder_sparse_step),
        ] {
            if value == 0 || value > SIZE_MAX {
                return Err(PolicyError::setting(key, value, "a number above 0, at most 2^31"));
            }
        }
        match experts.num_experts_per_tok {
            taken if taken == 0 || taken > experts.num_experts => {
                let expected = format!("1 to num_experts = {}", experts.num_experts);
                Err(PolicyError::setting("num_experts_per_tok", taken, expected))
            }
            _ => Ok(()),
        }
    }
}
