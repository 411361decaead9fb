//! The decoder against an independent implementation, against itself by another way, and against differences.

mod adapters;
mod device_decoding;
mod device_updates;
mod dropout;
mod exports;
mod files;
mod gguf_files;
mod gradients;
mod hub;
mod keeping;
mod packed;
mod peft;
mod push;
mod reading;
mod server;
mod tokens;
mod variants;

use std::collections::BTreeMap;

use candle_core::{D, DType, Device, Tensor};
use serde_json::json;

use super::*;
use grpo_config::Config;

/// A small configuration with grouped heads.
pub(super) fn config() -> DecoderConfig {
    DecoderConfig {
        vocab_size: 40,
        hidden_size: 24,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 6,
        intermediate_size: 32,
        tie_word_embeddings: true,
        max_position_embeddings: 64,
        ..DecoderConfig::LLAMA
    }
}

/// The file of a tokenizer of so many characters.
fn characters(count: u8) -> Value {
    let vocab: serde_json::Map<String, Value> =
        (0..count).map(|id| (char::from(b'0' + id).to_string(), id.into())).collect();
    json!({
        "version": "1.0", "added_tokens": [], "model": { "type": "BPE", "vocab": vocab, "merges": [] },
    })
}

fn tokenizer() -> Tokenizer {
    Tokenizer::from_json(&characters(40).to_string(), None, Some(r#"{"eos_token_id": 3}"#)).unwrap()
}

/// Fresh weights made larger and uneven, biases and norms too, so that every term shows.
fn policy(config: DecoderConfig, seed: u64) -> Policy {
    let policy = Policy::initialise(config, tokenizer(), Seed::root(seed), &Device::Cpu).unwrap();
    disturb(&policy, 0.3, seed + 1000);
    policy
}

/// Moves every trained variable, from a seed of its own.
fn disturb(policy: &Policy, by: f64, seed: u64) {
    for (index, var) in policy.trainable().values().enumerate() {
        let noise = weights::normal(var.dims(), by, Seed::root(seed + index as u64), &Device::Cpu).unwrap();
        var.set(&(var.as_tensor() + noise).unwrap().detach()).unwrap();
    }
}

/// Files that other programs wrote.
fn goldens() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/goldens")
}

/// Settings for the model at `path`.
fn settings_of(path: &Path) -> ModelConfig {
    ModelConfig { model: path.display().to_string(), ..Config::preset("builtin").unwrap().model }
}

fn load(settings: &ModelConfig) -> Result<Policy, PolicyError> {
    Policy::load(settings, Seed::root(0), &Device::Cpu)
}

fn refusal_of(settings: &ModelConfig) -> String {
    load(settings).unwrap_err().to_string()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn change_json(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut json = read_json(path);
    change(&mut json);
    std::fs::write(path, json.to_string()).unwrap();
}

fn families() -> Vec<(&'static str, DecoderConfig)> {
    let untied = DecoderConfig { tie_word_embeddings: false, ..config() };
    let of = |model_type| DecoderConfig { model_type, ..untied.clone() };
    let window = SlidingWindow { tokens: 5, full_every: 0, rope_theta: None };
    vec![
        ("llama", config()),
        ("llama untied", untied.clone()),
        ("qwen2", DecoderConfig { model_type: ModelType::Qwen2, ..config() }),
        ("qwen3", DecoderConfig { head_dim: 10, ..of(ModelType::Qwen3) }),
        ("mistral", DecoderConfig { head_dim: 10, sliding_window: Some(window), ..of(ModelType::Mistral) }),
        ("phi3", DecoderConfig { partial_rotary_factor: 0.7, ..of(ModelType::Phi3) }),
        ("gemma2", gemma2()),
        ("gemma3", gemma3()),
        ("qwen3_moe", DecoderConfig { tie_word_embeddings: false, ..qwen3_moe() }),
    ]
}

/// Bounds within reach of its scores and logits.
pub(super) fn gemma2() -> DecoderConfig {
    DecoderConfig {
        model_type: ModelType::Gemma2,
        head_dim: 10,
        // What candle-transformers takes whatever this says.
        query_pre_attn_scalar: Some(10),
        attn_logit_softcapping: Some(2.0),
        final_logit_softcapping: Some(3.0),
        sliding_window: Some(SlidingWindow { tokens: 40, full_every: 2, rope_theta: None }),
        ..config()
    }
}

/// Layers that see little, and one between them that sees all.
pub(super) fn gemma3() -> DecoderConfig {
    DecoderConfig {
        model_type: ModelType::Gemma3,
        num_hidden_layers: 3,
        head_dim: 10,
        query_pre_attn_scalar: Some(6),
        sliding_window: Some(SlidingWindow { tokens: 5, full_every: 2, rope_theta: Some(100.0) }),
        ..config()
    }
}

/// A layer of experts between two without.
pub(super) fn qwen3_moe() -> DecoderConfig {
    let experts = Experts {
        num_experts: 5,
        num_experts_per_tok: 2,
        moe_intermediate_size: 12,
        norm_topk_prob: true,
        decoder_sparse_step: 2,
        mlp_only_layers: vec![],
    };
    DecoderConfig {
        model_type: ModelType::Qwen3Moe,
        num_hidden_layers: 3,
        head_dim: 10,
        experts: Some(experts),
        ..config()
    }
}

fn ids(rows: usize, steps: usize, seed: u32) -> Vec<Vec<u32>> {
    let token = |row: usize, step: usize| (seed + row as u32 * 7 + step as u32 * 13 + (step * step) as u32) % 40;
    (0..rows).map(|row| (0..steps).map(|step| token(row, step)).collect()).collect()
}

/// Logits of rows of tokens.
fn logits_of(policy: &Policy, ids: &Tensor) -> Tensor {
    policy.decoder().logits(&policy.decoder().hidden(ids, Adapters::On).unwrap()).unwrap()
}

fn full_logits(policy: &Policy, ids: &[Vec<u32>]) -> Tensor {
    logits_of(policy, &Tensor::new(ids.to_vec(), &Device::Cpu).unwrap())
}

fn largest_difference(a: &Tensor, b: &Tensor) -> f32 {
    assert_eq!(a.dims(), b.dims());
    (a - b).unwrap().abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar().unwrap()
}

#[test]
fn logits_agree_with_candle_transformers() {
    for (family, config) in families() {
        if config.model_type == ModelType::Gemma3 {
            continue;
        }
        let found = policy(config, 1).compared(&ids(1, 23, 5)[0]).unwrap().expect(family);
        assert!(found.difference < 1e-4 && found.magnitude > 0.1, "{family}: {found:?}");
    }
}

#[test]
fn what_candle_transformers_lacks_is_not_compared() {
    let linear = DecoderConfig { rope_scaling: Some(RopeScaling::linear(2.0)), ..config() };
    let wide = DecoderConfig { head_dim: 10, ..config() };
    let tied = DecoderConfig { model_type: ModelType::Mistral, ..config() };
    let untied = DecoderConfig { tie_word_embeddings: false, ..gemma2() };
    let experts = qwen3_moe().experts.map(|experts| Experts { mlp_only_layers: vec![1], ..experts });
    for lacking in [gemma3(), linear, wide, tied, untied, DecoderConfig { experts, ..qwen3_moe() }] {
        assert_eq!(policy(lacking, 1).compared(&ids(1, 23, 5)[0]).unwrap(), None);
    }
}

/// By how much the logits of decoding differ from those of the whole sequences at each step, where the first `read` tokens
/// are read at once.
fn errors_of_decoding(policy: &Policy, sequences: &[Vec<u32>], read: usize) -> Vec<f32> {
    let (decoder, length, expected) = (policy.decoder(), sequences[0].len(), full_logits(policy, sequences));
    let mut cache = decoder.new_cache(sequences.len(), length).unwrap();
    let prompts: Vec<&[u32]> = sequences.iter().map(|ids| &ids[..read]).collect();
    let mut logits = vec![decoder.prefill(&prompts, &mut cache).unwrap()];
    for step in read..length {
        let next: Vec<&[u32]> = sequences.iter().map(|ids| &ids[step..=step]).collect();
        logits.push(decoder.feed(&next, &mut cache).unwrap());
    }
    let at = |step: usize| expected.narrow(1, step, 1).unwrap().squeeze(1).unwrap();
    (read - 1..).zip(logits).map(|(step, logits)| largest_difference(&logits, &at(step))).collect()
}

#[test]
fn decoding_with_a_cache_is_the_full_forward() {
    for (family, config) in families() {
        let errors = errors_of_decoding(&policy(config, 2), &ids(3, 20, 1), 5);
        assert!(errors.iter().all(|error| *error < 1e-4), "{family} differs by {errors:?}");
    }
}

#[test]
fn i13_a_padded_row_is_the_row_alone() {
    let policy = policy(config(), 3);
    let prompts = [vec![1, 2, 3], vec![4; 19], vec![5]];
    let borrowed: Vec<&[u32]> = prompts.iter().map(Vec::as_slice).collect();
    let mut together = policy.decoder().new_cache(3, 32).unwrap();
    let mut logits = vec![policy.decoder().prefill(&borrowed, &mut together).unwrap()];
    let next: [&[u32]; 3] = [&[7], &[8], &[9]];
    logits.push(policy.decoder().feed(&next, &mut together).unwrap());
    for (row, prompt) in borrowed.iter().enumerate() {
        let mut alone = policy.decoder().new_cache(1, 32).unwrap();
        let first = policy.decoder().prefill(&[prompt], &mut alone).unwrap();
        let second = policy.decoder().feed(&next[row..=row], &mut alone).unwrap();
        for (together, alone) in logits.iter().zip([first, second]) {
            let found = largest_difference(&together.narrow(0, row, 1).unwrap(), &alone);
            assert!(found < 1e-5, "row {row} differs by {found}");
        }
    }
}

#[test]
fn a_row_that_goes_on_has_the_bits_of_reading_it_again() {
    // So many experts that one row has at most 204 logits of them in the first turn, and all three have 372: a general
    // product sums up to 256 of them in another order.
    let experts = qwen3_moe().experts.map(|experts| Experts { num_experts: 12, ..experts });
    let many_experts = ("many experts", DecoderConfig { experts, ..qwen3_moe() });
    for (family, config) in families().into_iter().chain([many_experts]) {
        let policy = policy(config, 6);
        let decoder = policy.decoder();
        let conversations = [ids(1, 31, 1), ids(1, 24, 2), ids(1, 40, 3)].concat();
        // In the second turn rows are fed token by token, and one of them not at all.
        let turns: [[usize; 3]; 3] = [[5, 9, 17], [12, 9, 30], [31, 24, 33]];
        let mut cache = decoder.new_cache(3, 40).unwrap();
        for (turn, ends) in turns.iter().enumerate() {
            let mut last: BTreeMap<usize, Vec<f32>> = BTreeMap::new();
            while cache.lengths() != ends {
                let upto = |row: usize, at: usize| if turn == 1 { ends[row].min(at + 1) } else { ends[row] };
                let next = |(row, at): (usize, &usize)| &conversations[row][*at..upto(row, *at)];
                let next: Vec<&[u32]> = cache.lengths().iter().enumerate().map(next).collect();
                let logits = decoder.feed(&next, &mut cache).unwrap().to_vec2::<f32>().unwrap();
                let fed = (0..3).filter(|row| !next[*row].is_empty());
                last.extend(fed.zip(logits));
            }
            for (row, logits) in last {
                let whole = &conversations[row][..ends[row]];
                let expected = decoder.prefill(&[whole], &mut decoder.new_cache(1, 40).unwrap()).unwrap();
                assert_eq!(vec![logits], expected.to_vec2::<f32>().unwrap(), "{family}, row {row} of turn {turn}");
            }
        }
    }
}

#[test]
fn padding_on_the_right_changes_nothing_before_it() {
    let policy = policy(config(), 4);
    let long = ids(2, 20, 3);
    let short: Vec<Vec<u32>> = long.iter().map(|ids| ids[..11].to_vec()).collect();
    let expected = full_logits(&policy, &short);
    let found = largest_difference(&full_logits(&policy, &long).narrow(1, 0, 11).unwrap(), &expected);
    assert!(found < 1e-5, "differs by {found}");
}

#[test]
fn expanded_and_selected_rows_go_on_as_their_originals() {
    let policy = policy(config(), 5);
    let decoder = policy.decoder();
    let mut cache = decoder.new_cache(2, 16).unwrap();
    decoder.prefill(&[&[1, 2, 3], &[4, 5]], &mut cache).unwrap();
    cache.select(&[0, 0, 1, 1]).unwrap();
    assert_eq!(cache.rows(), 4);
    decoder.feed(&[&[6], &[7], &[8], &[9]], &mut cache).unwrap();
    cache.select(&[3, 0]).unwrap();
    let logits = decoder.feed(&[&[10], &[11]], &mut cache).unwrap();
    for (row, sequence) in [vec![4, 5, 9, 10], vec![1, 2, 3, 6, 11]].into_iter().enumerate() {
        let last = sequence.len() - 1;
        let expected = full_logits(&policy, &[sequence]).get(0).unwrap().get(last).unwrap();
        let found = largest_difference(&logits.get(row).unwrap(), &expected);
        assert!(found < 1e-5, "row {row} differs by {found}");
    }
}

#[test]
fn a_cache_that_is_full_or_misused_says_so() {
    let policy = policy(config(), 5);
    let decoder = policy.decoder();
    let mut cache = decoder.new_cache(1, 3).unwrap();
    decoder.prefill(&[&[1, 2, 3]], &mut cache).unwrap();
    assert!(matches!(decoder.feed(&[&[1]], &mut cache), Err(PolicyError::TooLong { found: 4, expected: 3, .. })));
    assert!(matches!(cache.select(&[1]), Err(PolicyError::Argument { .. })));
    assert!(matches!(decoder.new_cache(1, 65), Err(PolicyError::TooLong { .. })));
    let nothing = decoder.prefill(&[&[]], &mut decoder.new_cache(1, 4).unwrap());
    assert!(matches!(nothing, Err(PolicyError::Argument { .. })));
}

/// Mean negative log-likelihood of each token after the first, and a term in the entropy.
fn loss(policy: &Policy, ids: &[Vec<u32>]) -> Tensor {
    let logits = full_logits(policy, ids);
    let (rows, steps, vocabulary) = logits.dims3().unwrap();
    let logits = logits.narrow(1, 0, steps - 1).unwrap().reshape((rows * (steps - 1), vocabulary)).unwrap();
    let targets: Vec<u32> = ids.iter().flat_map(|ids| ids[1..].to_vec()).collect();
    let targets = Tensor::new(targets, &Device::Cpu).unwrap();
    let (logp, entropy) = grpo_tensor::token_log_probs(&logits, &targets).unwrap();
    (logp.mean(D::Minus1).unwrap().neg().unwrap() - (entropy.mean(D::Minus1).unwrap() * 0.1).unwrap()).unwrap()
}

/// Derivative of the loss along `direction`, by symmetric differences of step `h`.
fn slope(policy: &Policy, ids: &[Vec<u32>], name: &str, direction: &Tensor, h: f64) -> f64 {
    let var = &policy.trainable()[name];
    let start = var.as_detached_tensor().copy().unwrap();
    let at = |h: f64| {
        var.set(&(&start + (direction * h).unwrap()).unwrap()).unwrap();
        f64::from(loss(policy, ids).to_scalar::<f32>().unwrap())
    };
    let slope = (at(h) - at(-h)) / (2.0 * h);
    var.set(&start).unwrap();
    slope
}

fn check_gradients(what: &str, policy: &Policy) {
    let sequences = ids(2, 12, 2);
    let gradients = loss(policy, &sequences).backward().unwrap();
    for (name, var) in policy.trainable() {
        let gradient = gradients.get(var).unwrap_or_else(|| panic!("{what}: {name} has no gradient"));
        let norm = gradient.sqr().unwrap().sum_all().unwrap().to_scalar::<f32>().unwrap().sqrt();
        assert!(norm > 0.0, "{what}: the gradient of {name} is zero");
        // Along the gradient itself the slope is its norm.
        let direction = (gradient / f64::from(norm)).unwrap().detach();
        // Where the loss is steep it is bent, too.
        let slope = slope(policy, &sequences, name, &direction, 4e-3 / f64::from(norm.max(1.0)));
        let error = (slope - f64::from(norm)).abs();
        assert!(error < 0.01 * f64::from(norm) + 2e-4, "{what}: {name} has slope {slope}, gradient {norm}");
    }
}

#[test]
fn every_variable_gets_the_gradient_that_differences_give() {
    for (family, config) in families() {
        check_gradients(family, &policy(config, 6));
    }
}

#[test]
fn a_saved_model_is_loaded_bit_for_bit() {
    let dir = tempfile::tempdir().unwrap();
    for (family, config) in families() {
        let policy = policy(config, 7);
        policy.save(dir.path()).unwrap();
        let loaded = load(&settings_of(dir.path())).unwrap();
        assert_eq!(loaded.decoder().config(), policy.decoder().config(), "{family}");
        assert_eq!(loaded.tokenizer().stop_ids(), [3]);
        let names: Vec<&String> = loaded.trainable().keys().collect();
        assert_eq!(names, policy.trainable().keys().collect::<Vec<_>>());
        for (name, var) in policy.trainable() {
            assert_eq!(largest_difference(var, &loaded.trainable()[name]), 0.0, "{family}: {name}");
        }
    }
}

#[test]
fn set_trainable_checks_before_it_changes_anything() {
    let policy = policy(config(), 8);
    let name = policy.trainable().keys().next().unwrap().clone();
    let mut tensors: BTreeMap<String, Tensor> =
        policy.trainable().iter().map(|(name, var)| (name.clone(), var.zeros_like().unwrap())).collect();
    tensors.insert(name, Tensor::zeros((1, 1), DType::F32, &Device::Cpu).unwrap());
    assert!(matches!(policy.set_trainable(&tensors), Err(PolicyError::WrongShape { .. })));
    assert!(
        policy.trainable().values().all(|var| var.abs().unwrap().sum_all().unwrap().to_scalar::<f32>().unwrap() > 0.0)
    );
}
