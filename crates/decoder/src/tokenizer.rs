//! Text to token ids and back, with stop ids and the chat template, which models ship beside the vocabulary.
//!
//! Takes `tokenizer.json`, and `tokenizer_config.json` and `generation_config.json` if they exist. Does not know
//! prompts; `prompt` renders the template.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use serde_json::{Value, json};

use super::PolicyError;

/// A space, as SentencePiece represents it.
const SPACE: &str = "\u{2581}";

/// The tokenizer of a model.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    stop_ids: Vec<u32>,
    chat_template: Option<String>,
    bos_token: Option<String>,
    eos_token: Option<String>,
}

impl Tokenizer {
    /// Reads the text of `tokenizer.json` and of the two other files, if they exist.
    pub fn from_json(
        tokenizer: &str,
        tokenizer_config: Option<&str>,
        generation_config: Option<&str>,
    ) -> Result<Self, PolicyError> {
        let mut inner = tokenizers::Tokenizer::from_str(tokenizer).map_err(|error| invalid(error.to_string()))?;
        // Some models ship truncation and padding settings of their training; a prompt is never truncated or padded.
        inner.with_truncation(None).map_err(|error| invalid(error.to_string()))?.with_padding(None);
        let parse = |name: &str, text: Option<&str>| -> Result<Value, PolicyError> {
            let parsed = text.map(serde_json::from_str).transpose();
            parsed.map(|value| value.unwrap_or(Value::Null)).map_err(|error| invalid(format!("{name}: {error}")))
        };
        let config = parse("tokenizer_config.json", tokenizer_config)?;
        let generation = parse("generation_config.json", generation_config)?;
        let eos_token = special(&config, "eos_token");
        let named = match generation.get("eos_token_id") {
            Some(Value::Array(ids)) => ids.as_slice(),
            Some(id) => std::slice::from_ref(id),
            None => &[],
        };
        let refused = |id: u64| invalid(format!("eos_token_id = {id}; expected ids below 2^32"));
        let ids = named.iter().filter_map(Value::as_u64).map(|id| u32::try_from(id).map_err(|_| refused(id)));
        let mut stop_ids: BTreeSet<u32> = ids.collect::<Result<_, _>>()?;
        stop_ids.extend(eos_token.as_deref().and_then(|token| inner.token_to_id(token)));
        let chat_template = chat_template(&config);
        Ok(Tokenizer {
            inner,
            stop_ids: stop_ids.into_iter().collect(),
            chat_template,
            bos_token: special(&config, "bos_token"),
            eos_token,
        })
    }

    /// Reads the files of a model directory. A `chat_template.jinja` takes precedence over the template in the
    /// configuration.
    pub fn from_dir(dir: &Path) -> Result<Self, PolicyError> {
        let optional = |name: &str| std::fs::read_to_string(dir.join(name)).ok();
        let path = dir.join("tokenizer.json");
        let text = std::fs::read_to_string(&path).map_err(PolicyError::file(&path))?;
        let config = optional("tokenizer_config.json");
        // Models without that file, or whose file names no end, name their end in `config.json`, under the same key.
        let ends = |text: &String| text.contains("eos_token_id");
        let generation = optional("generation_config.json").filter(ends).or_else(|| optional("config.json"));
        let mut tokenizer = Self::from_json(&text, config.as_deref(), generation.as_deref())?;
        if let Some(template) = optional("chat_template.jinja") {
            tokenizer.chat_template = Some(template);
        }
        Ok(tokenizer)
    }

    /// A tokenizer from its parts, for GGUF files and freshly trained vocabularies.
    pub fn from_parts(inner: tokenizers::Tokenizer, stop_ids: Vec<u32>, chat_template: Option<String>) -> Self {
        let eos_token = stop_ids.first().and_then(|id| inner.id_to_token(*id));
        Tokenizer { inner, stop_ids, chat_template, bos_token: None, eos_token }
    }

    /// A tokenizer without tokens, so that no id ends a completion. For measurements, in which every completion
    /// reaches its longest length.
    pub(super) fn wordless() -> Self {
        Self::from_parts(tokenizers::Tokenizer::new(tokenizers::models::bpe::BPE::default()), Vec::new(), None)
    }

    /// Sets the tokens that begin a sequence and end a turn, for chat templates.
    pub(super) fn with_ends(self, bos_token: Option<String>, eos_token: Option<String>) -> Self {
        Tokenizer { bos_token, eos_token, ..self }
    }

    /// Token ids of `text`. Special tokens that are written out in the text are recognised, and none are added.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        // `encode` fails only because of a post-processor or a truncation setting, and neither is applied here.
        self.inner.encode_fast(text, false).map(|encoding| encoding.get_ids().to_vec()).unwrap_or_default()
    }

    /// Token ids of `text` that continues other text, without the space that some tokenizers put before a text.
    pub fn encode_further(&self, text: &str) -> Vec<u32> {
        let mut ids = self.encode(text);
        let opens = |ids: &[u32]| ids.first().and_then(|id| self.inner.id_to_token(*id)).as_deref() == Some(SPACE);
        if opens(&self.encode("\n")) && opens(&ids) {
            ids.remove(0);
        }
        ids
    }

    /// Token ids of `text` that others wrote and that continues other text. Where it spells an added token, such as the
    /// one that ends a turn, it becomes the tokens of the letters: nobody but the chat template writes that token.
    pub fn encode_plain(&self, text: &str) -> Vec<u32> {
        let added = self.inner.get_added_vocabulary().get_added_tokens_decoder();
        #[expect(clippy::disallowed_methods, reason = "a set has no order")]
        let names: BTreeSet<&str> = added.values().map(|token| token.content.as_str()).collect();
        // A text that is cut within a token does not contain the token.
        let mut cuts = BTreeSet::from([0, text.len()]);
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let within = name.chars().next().map_or(0, char::len_utf8);
            let overlapping = text.char_indices().filter(|(at, _)| text[*at..].starts_with(name));
            cuts.extend(overlapping.map(|(at, _)| at + within));
        }
        let cuts: Vec<usize> = cuts.into_iter().collect();
        let mut ids: Vec<u32> =
            cuts.windows(2).flat_map(|piece| self.encode_further(&text[piece[0]..piece[1]])).collect();
        // What remains is a token of one character, one that a normaliser makes of other letters, or the unknown one.
        ids.retain(|id| !self.stop_ids.contains(id) && !added.get(id).is_some_and(|token| token.special));
        ids
    }

    /// Text of `ids`, without special tokens.
    pub fn decode(&self, ids: &[u32]) -> String {
        self.inner.decode(ids, true).unwrap_or_default()
    }

    /// Ids that end a completion, ascending.
    pub fn stop_ids(&self) -> &[u32] {
        &self.stop_ids
    }

    /// The id that ends a finished turn; sampling stops at any of [`Tokenizer::stop_ids`].
    pub fn end_id(&self) -> Option<u32> {
        let named = self.eos_token.as_deref().and_then(|token| self.inner.token_to_id(token));
        named.or_else(|| self.stop_ids.first().copied())
    }

    /// The id of a token, if it exists.
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// Jinja template of the model's chat format.
    pub fn chat_template(&self) -> Option<&str> {
        self.chat_template.as_deref()
    }

    /// Token that begins a sequence, for templates.
    pub fn bos_token(&self) -> Option<&str> {
        self.bos_token.as_deref()
    }

    /// Token that ends a turn, for templates.
    pub fn eos_token(&self) -> Option<&str> {
        self.eos_token.as_deref()
    }

    /// Number of rows that an embedding needs to have one for every token.
    #[expect(clippy::disallowed_methods, reason = "a maximum has no order")]
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab(true).values().map(|id| *id as usize + 1).max().unwrap_or(0)
    }

    /// Writes `tokenizer.json`, `tokenizer_config.json` and `generation_config.json`.
    pub fn save(&self, dir: &Path) -> Result<(), PolicyError> {
        let text = self.inner.to_string(false).map_err(|error| invalid(error.to_string()))?;
        let mut config = json!({ "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": false });
        for (key, value) in
            [("bos_token", &self.bos_token), ("eos_token", &self.eos_token), ("chat_template", &self.chat_template)]
        {
            if let Some(value) = value {
                config[key] = json!(value);
            }
        }
        let generation = json!({ "eos_token_id": self.stop_ids });
        let files = [
            ("tokenizer.json", text),
            ("tokenizer_config.json", format!("{config:#}\n")),
            ("generation_config.json", format!("{generation:#}\n")),
        ];
        for (name, text) in files {
            let path = dir.join(name);
            std::fs::write(&path, text).map_err(PolicyError::file(&path))?;
        }
        Ok(())
    }
}

/// The chat template; if there are several, the one named `default`.
fn chat_template(config: &Value) -> Option<String> {
    let template = match config.get("chat_template")? {
        Value::Array(several) => several.iter().find(|one| one["name"] == "default")?.get("template")?,
        template => template,
    };
    template.as_str().map(str::to_owned)
}

/// The text of a special token, which is written as a string or as an object with its content.
fn special(config: &Value, key: &str) -> Option<String> {
    let value = config.get(key)?;
    value.as_str().or_else(|| value.get("content").and_then(Value::as_str)).map(str::to_owned)
}

fn invalid(message: String) -> PolicyError {
    PolicyError::Tokenizer { message }
}
