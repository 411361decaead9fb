//! GGUF files as llama.cpp writes them. `tests/goldens/gguf_files.py` made them, with the numbers of transformers.

use super::*;

const NAMES: &[&str] = &["llama-quantised", "smollm-linear", "qwen2", "qwen3"];

#[derive(serde::Deserialize)]
struct Expected {
    eos: u32,
    stop_ids: Vec<u32>,
    texts: Vec<Encoded>,
}

#[derive(serde::Deserialize)]
struct Encoded {
    text: String,
    ids: Vec<u32>,
    decoded: String,
}

fn golden(name: &str, ending: &str) -> std::path::PathBuf {
    goldens().join("gguf").join(format!("{name}.{ending}"))
}

fn loaded(name: &str) -> Policy {
    load(&settings_of(&golden(name, "gguf"))).unwrap()
}

#[test]
fn every_quantisation_and_family_gives_the_logits_of_transformers() {
    for name in NAMES {
        let policy = loaded(name);
        let expected = candle_core::safetensors::load(golden(name, "safetensors"), &Device::Cpu).unwrap();
        let ids = expected["ids"].to_dtype(DType::U32).unwrap();
        let logits = logits_of(&policy, &ids);
        let largest = expected["logits"].abs().unwrap().flatten_all().unwrap().max(0).unwrap();
        let found = largest_difference(&logits, &expected["logits"]) / largest.to_scalar::<f32>().unwrap();
        assert!(found < 1e-5, "{name}: logits differ by {found}, relative to the largest");
    }
}

#[test]
fn what_the_header_says_of_the_rotation_and_the_head_is_heeded() {
    let config = |name: &str| loaded(name).decoder().config().clone();
    let llama = config("llama-quantised");
    let scaling = llama.rope_scaling.unwrap();
    assert_eq!((scaling.factor, scaling.original_max_position_embeddings), (8.0, 8192));
    assert!(!llama.tie_word_embeddings && config("smollm-linear").tie_word_embeddings);
    assert_eq!(config("smollm-linear").rope_scaling, Some(RopeScaling::linear(2.0)));
    assert_eq!(["qwen2", "qwen3"].map(|name| config(name).model_type), [ModelType::Qwen2, ModelType::Qwen3]);
    assert_eq!(config("qwen3").head_dim, 6);
}

#[test]
fn text_is_cut_into_the_tokens_of_the_models_own_tokenizer() {
    for name in NAMES {
        let text = std::fs::read_to_string(golden(name, "json")).unwrap();
        let expected: Expected = serde_json::from_str(&text).unwrap();
        let policy = loaded(name);
        let tokenizer = policy.tokenizer();
        assert_eq!(tokenizer.stop_ids(), expected.stop_ids, "{name}");
        assert_eq!(tokenizer.eos_token().and_then(|token| tokenizer.token_id(token)), Some(expected.eos), "{name}");
        let dir = tempfile::tempdir().unwrap();
        tokenizer.save(dir.path()).unwrap();
        let saved = Tokenizer::from_dir(dir.path()).unwrap();
        for Encoded { text, ids, decoded } in &expected.texts {
            for tokenizer in [tokenizer, &saved] {
                assert_eq!(&tokenizer.encode(text), ids, "{name}: {text:?}");
                assert_eq!(&tokenizer.decode(ids), decoded, "{name}: {text:?}");
            }
        }
        assert_eq!(saved.stop_ids(), expected.stop_ids, "{name}");
    }
}

#[test]
fn a_file_of_llama_3_begins_a_sequence_with_its_token_though_it_does_not_say_so() {
    for (name, opens) in [("llama-quantised", true), ("smollm-linear", false), ("qwen2", false)] {
        let policy = loaded(name);
        let tokenizer = policy.tokenizer();
        let begin = tokenizer.bos_token().and_then(|token| tokenizer.token_id(token)).unwrap();
        let expected = opens.then_some(begin).into_iter().chain(tokenizer.encode("a"));
        assert_eq!(tokenizer.encode_opening("a"), expected.collect::<Vec<u32>>(), "{name}");
    }
}

/// A file with one text of its header changed for another of the same length.
fn refusal_with(name: &str, from: &str, to: &str) -> String {
    assert_eq!(from.len(), to.len());
    refusal_after(name, (from, 0), to.as_bytes())
}

/// A file with other bytes, so many after the beginning of a text of its header.
fn refusal_after(name: &str, (text, after): (&str, usize), to: &[u8]) -> String {
    let mut bytes = std::fs::read(golden(name, "gguf")).unwrap();
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap() + after;
    bytes[at..at + to.len()].copy_from_slice(to);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    refusal_of(&settings_of(&path))
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    // The values follow their keys, after four bytes of type and eight of length.
    for (name, from, to, parts) in [
        ("qwen2", "gpt2", "bert", ["tokenizer.ggml.model = bert", "tokenizer.json"]),
        ("smollm-linear", "smollm", "falcon", ["tokenizer.ggml.pre = falcon", "llama-bpe"]),
        ("smollm-linear", "linear", "dynNTK", ["llama.rope.scaling.type = dynNTK", "linear"]),
        ("llama-quantised", "llama.rope.freq_base", "llama.rope.fREQ_BASE", ["rope_freqs.weight", "Llama 3.1"]),
        // The name of the architecture comes first, and tells what else its tensors may be.
        ("qwen2", "qwen2", "llama", ["llama with a tensor `blk.", "bias"]),
        ("qwen2", "blk.1.attn_k.bias", "blk.1.ffn_up.bias", ["qwen2 with a tensor `blk.1.ffn_up.bias`", "safetensors"]),
        ("qwen3", "blk.1.attn_norm.weight", "blk.1.sub__norm.weight", ["`blk.1.sub__norm.weight`", "safetensors"]),
        ("qwen2", "layer_norm_rms_epsilon", "layer_norm_rms_ePSILON", ["no number", "layer_norm_rms_epsilon"]),
        ("qwen2", "qwen2.embedding_length", "qwen2.attention.causal", ["attention.causal", "expected true"]),
    ] {
        let error = refusal_with(name, from, to);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn what_a_header_claims_is_compared_with_the_file_before_anything_is_made_of_it() {
    // The number of a key follows its name, after four bytes of type.
    let layers = "qwen2.block_count";
    for claimed in [1_u32, 1 << 31, u32::MAX] {
        let error = refusal_after("qwen2", (layers, layers.len() + 4), &claimed.to_le_bytes());
        assert!(error.contains(&format!("qwen2.block_count = {claimed}; expected 2")), "{error}");
    }
    for key in ["qwen2.attention.head_count", "qwen2.feed_forward_length", "qwen2.context_length"] {
        let error = refusal_after("qwen2", (key, key.len() + 4), &u32::MAX.to_le_bytes());
        assert!(error.contains("4294967295") && error.contains("at most 2^31"), "{key}: {error}");
    }
    let epsilon = "qwen2.attention.layer_norm_rms_epsilon";
    for number in [f32::NAN, -1.0, 0.0] {
        let error = refusal_after("qwen2", (epsilon, epsilon.len() + 4), &number.to_le_bytes());
        assert!(error.contains("rms_norm_eps") && error.contains("above 0"), "{error}");
    }
    // A number of another type is no default: the type follows the name of the key.
    for (key, number, expected) in [
        (epsilon, 4_u32, "with a point"),
        ("qwen2.rope.freq_base", 4, "with a point"),
        ("qwen2.attention.head_count_kv", 6, "whole number"),
        ("qwen2.attention.head_count", 6, "whole number"),
    ] {
        let error = refusal_after("qwen2", (key, key.len()), &number.to_le_bytes());
        assert!(error.contains(key) && error.contains(expected), "{error}");
    }
    // Sizes follow the name of a tensor, after four bytes that say how many there are.
    let embedding = "token_embd.weight";
    for size in [0_u64, 1 << 33, 1 << 62, u64::MAX] {
        let error = refusal_after("qwen2", (embedding, embedding.len() + 4), &size.to_le_bytes());
        assert!(error.contains("not a readable GGUF file"), "{size}: {error}");
    }
    let offset = embedding.len() + 4 + 8 + 8 + 4;
    let error = refusal_after("qwen2", (embedding, offset), &[0xFF; 8]);
    assert!(error.contains("cannot be"), "{error}");
}

#[test]
fn a_format_that_is_not_read_is_named_and_no_reason_to_fetch_the_file_again() {
    // The format follows the name of a tensor, the number of its sizes in four bytes, and both sizes in eight each.
    let tensor = "blk.0.attn_q.weight";
    let error = refusal_after("qwen2", (tensor, tensor.len() + 4 + 2 * 8), &23_u32.to_le_bytes());
    assert!(error.contains("IQ4_XS") && error.contains("Q4_K_M") && !error.contains("fetch it again"), "{error}");
    let error = refusal_after("qwen2", (tensor, tensor.len() + 4 + 2 * 8), &1000_u32.to_le_bytes());
    assert!(error.contains("fetch it again"), "{error}");
}

/// A file whose tensors begin at multiples of 0.
fn without_alignment() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    let alignment = candle_core::quantized::gguf_file::Value::U32(0);
    let metadata = [("general.alignment", &alignment)];
    candle_core::quantized::gguf_file::write(&mut std::fs::File::create(&path).unwrap(), &metadata, &[]).unwrap();
    (dir, path)
}

#[test]
fn an_alignment_of_nothing_is_refused() {
    let (_dir, path) = without_alignment();
    let error = refusal_of(&settings_of(&path));
    assert!(error.contains("header cannot be read"), "{error}");
}

#[test]
fn a_header_that_cannot_be_read_tells_no_origin() {
    let (_dir, path) = without_alignment();
    let origin = crate::Origin::of(&settings_of(&path));
    assert_eq!((origin.name.as_str(), origin.hub_id, origin.license), ("model.gguf", None, None));
}
