//! A small language model with a chat template, as a directory in Hugging Face layout.

use std::fs;
use std::path::Path;

use candle_core::Device;
use grpo_2048::corpus::{self, Mix, vocabulary};
use grpo_2048::environment::game2048::prompts::briefing;
use grpo_2048::policy::{Policy, Tokenizer};
use grpo_2048::prompt::{PromptKind, PromptSet};
use grpo_2048::seed::{Purpose, Seed};
use grpo_2048::sft;

/// A chat template like SmolLM2's, without its default system message.
pub const CHATML: &str = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// Writes a small model with random weights and a vocabulary in which prompts and programs have few tokens.
pub fn write_model(dir: &Path, template: Option<&str>) {
    let plain = Tokenizer::from_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("models/builtin")).unwrap();
    let words = PromptSet::load(PromptKind::Raw, &plain, &briefing().unwrap()).unwrap();
    let mut rng = Seed::root(1).child(Purpose::Corpus, 0).rng();
    let programs = (0..200).map(|_| corpus::program(&mut rng, &Mix::default()).source);
    let texts: Vec<String> = words.prompts().iter().map(|prompt| prompt.text.clone()).chain(programs).collect();
    let markers = ["<|im_start|>", "<|im_end|>"].map(String::from).to_vec();
    let options = vocabulary::VocabularyOptions { size: 1500, token_chars: 12, prompt_tokens: markers };
    let inner = vocabulary::train(texts.iter().map(String::as_str), &options).unwrap();
    let end = inner.token_to_id("<|im_end|>").unwrap();
    let mut shape = sft::builtin_shape();
    shape.vocab_size = inner.get_vocab_size(true);
    (shape.hidden_size, shape.intermediate_size, shape.num_hidden_layers) = (32, 48, 2);
    (shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim) = (2, 1, 16);
    shape.max_position_embeddings = 2048;
    let tokenizer = Tokenizer::from_parts(inner, vec![end], template.map(str::to_owned));
    fs::create_dir_all(dir).unwrap();
    Policy::initialise(shape, tokenizer, Seed::root(3), &Device::Cpu).unwrap().save(dir).unwrap();
}
