//! Text to token ids and back, with stop ids and the chat template, which models ship beside the vocabulary.
//!
//! Takes `tokenizer.json`, and `tokenizer_config.json`, `special_tokens_map.json` and `generation_config.json` if they
//! exist. Does not know prompts; `prompt` renders the template.

mod added;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::{PolicyError, weights};

const FILE: &str = "tokenizer.json";
const CONFIG: &str = "tokenizer_config.json";
const GENERATION: &str = "generation_config.json";
const MODEL: &str = "config.json";

/// File in which older models name special tokens, such as those that begin and end a text.
const SPECIAL: &str = "special_tokens_map.json";

/// The key of the ids that end a text, in `generation_config.json` and `config.json`.
const ENDS: &str = "eos_token_id";
/// Keys that stand beside it in both.
const BESIDE_ENDS: [&str; 2] = ["bos_token_id", "pad_token_id"];

/// File with the chat template, which some models have in place of a key of `tokenizer_config.json`.
const TEMPLATE: &str = "chat_template.jinja";

/// Content of a JSON file.
type Settings = Map<String, Value>;

/// A space, as SentencePiece represents it.
const SPACE: &str = "\u{2581}";

/// Classes of transformers 4, also with `Fast` after the name, that put the token which begins a sequence before a text where
/// `add_bos_token` is true or not there, whatever the post-processor in the file does. In transformers 5 the post-processor
/// decides.
const ASKS_FOR_BEGIN: &[&str] = &["LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"];

/// The tokenizer of a model.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    stop_ids: Vec<u32>,
    chat_template: Option<String>,
    bos_token: Option<String>,
    eos_token: Option<String>,
    /// `tokenizer_config.json` and `generation_config.json`, of which most is not read, for those who read what is saved.
    config: Settings,
    generation: Settings,
}

impl Tokenizer {
    /// Reads the text of `tokenizer.json` and of the two other files, if they exist.
    pub fn from_json(
        tokenizer: &str,
        tokenizer_config: Option<&str>,
        generation_config: Option<&str>,
    ) -> Result<Self, PolicyError> {
        let generation = object(GENERATION, generation_config)?;
        let ends = generation.get(ENDS).cloned().unwrap_or_default();
        Self::of(tokenizer, object(CONFIG, tokenizer_config)?, generation, ends)
    }

    /// Reads the files of a model directory. A `chat_template.jinja` takes precedence over the template in the
    /// configuration.
    ///
    /// # Errors
    /// Besides files that cannot be read, a tokenizer that has no tokens for the letters of programs.
    pub fn from_dir(dir: &Path) -> Result<Self, PolicyError> {
        let path = dir.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(PolicyError::file(&path))?;
        weights::refuse_pointer(text.as_bytes(), &path)?;
        let parsed = |name: &str| object(name, optional(dir, name)?.as_deref());
        let (mut config, mut generation, mut model) = (parsed(CONFIG)?, parsed(GENERATION)?, parsed(MODEL)?);
        // As transformers does, which does not read the older file where the newer one lists added tokens.
        let mut older = if config.contains_key(added::BY_ID) { Settings::new() } else { parsed(SPECIAL)? };
        older.retain(|key, _| config.get(key).is_none_or(Value::is_null));
        config.append(&mut older);
        // Models without that file, or whose file names no end, name their end in `config.json`, under the same key.
        generation.retain(|key, value| key != ENDS || !value.is_null());
        let ends = generation.get(ENDS).cloned().or_else(|| model.remove(ENDS)).unwrap_or_default();
        if !dir.join(GENERATION).exists() {
            // Where there is that file, transformers takes these from it alone.
            let taken = BESIDE_ENDS.iter().filter_map(|key| model.remove_entry(*key));
            generation.extend(taken.filter(|(_, id)| !id.is_null()));
        }
        let mut tokenizer = Self::of(&text, config, generation, ends)?;
        tokenizer.check_letters()?;
        if let Some(template) = optional(dir, TEMPLATE)? {
            tokenizer.chat_template = Some(template);
        }
        Ok(tokenizer)
    }

    /// The chat template that [`from_dir`](Self::from_dir) would take, without the rest of the tokenizer.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn chat_template_in(dir: &Path) -> Result<Option<String>, PolicyError> {
        match optional(dir, TEMPLATE)? {
            None => Ok(chat_template(&object(CONFIG, optional(dir, CONFIG)?.as_deref())?)),
            template => Ok(template),
        }
    }

    /// * `ends`: the ids that end a text, one or a list.
    fn of(tokenizer: &str, config: Settings, generation: Settings, ends: Value) -> Result<Self, PolicyError> {
        let refused = |error: tokenizers::Error| invalid(format!("{FILE}: {error}"));
        let mut inner = tokenizers::Tokenizer::from_str(tokenizer).map_err(refused)?;
        // Some models ship truncation and padding settings of their training; a prompt is never truncated or padded.
        inner.with_truncation(None).map_err(refused)?.with_padding(None);
        let listed = added::listed(&inner, &config);
        inner.add_tokens(listed).map_err(refused)?;
        let further = added::named(&inner, &config);
        inner.add_tokens(further).map_err(refused)?;
        let named = match ends {
            Value::Array(ids) => ids,
            id => vec![id],
        };
        let refused = |id: u64| invalid(format!("{ENDS} = {id}; expected ids below 2^32"));
        let ids = named.iter().filter_map(Value::as_u64).map(|id| u32::try_from(id).map_err(|_| refused(id)));
        let mut stop_ids: BTreeSet<u32> = ids.collect::<Result<_, _>>()?;
        let eos_token = special(&config, "eos_token");
        stop_ids.extend(eos_token.as_deref().and_then(|token| inner.token_to_id(token)));
        if let Some(token) = eos_token.as_ref().filter(|_| stop_ids.is_empty()) {
            return Err(invalid(format!(
                "{CONFIG}: eos_token = {token}; expected a token of {FILE}, since no other ends a text"
            )));
        }
        Ok(Tokenizer {
            inner,
            stop_ids: stop_ids.into_iter().collect(),
            chat_template: chat_template(&config),
            bos_token: special(&config, "bos_token"),
            eos_token,
            config,
            generation,
        })
    }

    /// The same without added tokens for which a model with so many embeddings has none: Gemma 3 without images comes with
    /// the token of an image. Spelt in a text they are letters. Those that the model itself writes stay.
    pub(super) fn within(mut self, embeddings: usize) -> Result<Self, PolicyError> {
        // An id without a token and without an embedding is never sampled, and nothing that is learnt can end with it.
        let inner = &self.inner;
        self.stop_ids.retain(|id| (*id as usize) < embeddings || inner.id_to_token(*id).is_some());
        if self.vocab_size() <= embeddings {
            return Ok(self);
        }
        let refused = |error: tokenizers::Error| invalid(format!("{FILE}: {error}"));
        let text = self.inner.to_string(false).map_err(refused)?;
        let mut file = object(FILE, Some(text.as_str()))?;
        if let Some(Value::Array(added)) = file.get_mut("added_tokens") {
            added.retain(|token| self.needs(token, embeddings));
        }
        let inner = tokenizers::Tokenizer::from_str(&Value::Object(file).to_string()).map_err(refused)?;
        Ok(Tokenizer { inner, ..self })
    }

    /// Whether an added token has an embedding, begins or ends a text, or stands in the chat template.
    fn needs(&self, added: &Value, embeddings: usize) -> bool {
        let id = added["id"].as_u64().and_then(|id| u32::try_from(id).ok());
        let content = added["content"].as_str().unwrap_or_default();
        let written = [&self.bos_token, &self.eos_token, &self.chat_template].into_iter().flatten();
        id.is_none_or(|id| (id as usize) < embeddings || self.stop_ids.contains(&id))
            || written.map(String::as_str).any(|written| written.contains(content))
    }

    /// Refuses a tokenizer that fails on ASCII or ignores all of it: prompts would be empty.
    fn check_letters(&self) -> Result<(), PolicyError> {
        let letters: String = (b' '..=b'~').map(char::from).collect();
        match self.inner.encode_fast(letters, false) {
            Ok(encoding) if encoding.is_empty() => {
                Err(invalid(format!("{FILE}: it has no tokens for letters and digits; expected those of the model")))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(invalid(format!("{FILE}: it cannot encode letters and digits ({error})"))),
        }
    }

    /// A tokenizer from its parts, for GGUF files and freshly trained vocabularies.
    pub fn from_parts(inner: tokenizers::Tokenizer, stop_ids: Vec<u32>, chat_template: Option<String>) -> Self {
        let eos_token = stop_ids.first().and_then(|id| inner.id_to_token(*id));
        let (config, generation) = (Settings::new(), Settings::new());
        Tokenizer { inner, stop_ids, chat_template, bos_token: None, eos_token, config, generation }
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
        // Post-processors and truncation, which may fail, are not applied, and a vocabulary without the letters of
        // programs is refused when it is read.
        self.inner.encode_fast(text, false).map(|encoding| encoding.get_ids().to_vec()).unwrap_or_default()
    }

    /// Token ids of `text` that begins a sequence: those that the tokenizer puts before a text, such as the one that begins
    /// a sequence, unless the text begins with them, then those of the text. What it puts after a text is not added.
    pub fn encode_opening(&self, text: &str) -> Vec<u32> {
        let (ids, opening) = (self.encode(text), self.opening());
        if ids.starts_with(&opening) { ids } else { [opening, ids].concat() }
    }

    /// Token ids that are put before a text: those of the post-processor, unless transformers makes another one.
    fn opening(&self) -> Vec<u32> {
        let class = self.config.get("tokenizer_class").and_then(Value::as_str).unwrap_or_default();
        let begin = self.bos_token.as_deref().and_then(|token| self.inner.token_to_id(token));
        if let Some(begin) = begin.filter(|_| ASKS_FOR_BEGIN.contains(&class.trim_end_matches("Fast"))) {
            let is_added = self.config.get("add_bos_token").and_then(Value::as_bool).unwrap_or(true);
            return Vec::from_iter(is_added.then_some(begin));
        }
        // A letter has a token, so that what is put before it ends there.
        self.inner.encode_fast("a", true).map_or(Vec::new(), |around| {
            let first = around.get_special_tokens_mask().iter().position(|special| *special == 0);
            around.get_ids()[..first.unwrap_or(0)].to_vec()
        })
    }

    /// Token ids of `text` that continues other text, without the space that some tokenizers put before a text.
    pub fn encode_further(&self, text: &str) -> Vec<u32> {
        let Some(line) = self.spaced_line() else { return self.encode(text) };
        let both = self.encode(&format!("\n{text}"));
        both.strip_prefix(line.as_slice()).map_or_else(|| self.encode(text), <[u32]>::to_vec)
    }

    /// Token ids of a line's end, if a space is put before a text. What follows it is encoded and decoded as it is, where a
    /// space at the beginning of a text may be one token with the word after it, and is lost when it is decoded.
    fn spaced_line(&self) -> Option<Vec<u32>> {
        let line = self.encode("\n");
        let first = line.first().and_then(|id| self.inner.id_to_token(*id));
        (first.as_deref() == Some(SPACE)).then_some(line)
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

    /// Text of `ids` that continues other text, without special tokens: with the space that it may begin with, of which some
    /// tokenizers take one away at the beginning of a text.
    pub fn decode_further(&self, ids: &[u32]) -> String {
        let further = self.spaced_line().and_then(|line| {
            let both = self.decode(&[line.as_slice(), ids].concat());
            both.strip_prefix(&self.decode(&line)).map(str::to_owned)
        });
        further.unwrap_or_else(|| self.decode(ids))
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

    /// Writes `tokenizer.json`, `tokenizer_config.json` and `generation_config.json`, with all that the model came with.
    pub fn save(&self, dir: &Path) -> Result<(), PolicyError> {
        let text = self.inner.to_string(false).map_err(|error| invalid(error.to_string()))?;
        let mut config = self.config.clone();
        if config.is_empty() {
            config.insert("tokenizer_class".into(), "PreTrainedTokenizerFast".into());
            config.insert("clean_up_tokenization_spaces".into(), false.into());
        }
        for (key, found, value) in [
            ("bos_token", special(&config, "bos_token"), &self.bos_token),
            ("eos_token", special(&config, "eos_token"), &self.eos_token),
            ("chat_template", chat_template(&config), &self.chat_template),
        ] {
            if let Some(value) = value.as_ref().filter(|_| found != *value) {
                config.insert(key.into(), value.clone().into());
            }
        }
        write(dir, FILE, text)?;
        write(dir, CONFIG, format!("{:#}\n", Value::Object(config)))?;
        self.save_generation(dir)
    }

    /// Whether the model's own `generation_config.json` says what ends a text.
    pub(super) fn names_its_ends(&self) -> bool {
        self.generation.contains_key(ENDS)
    }

    /// Writes `generation_config.json` with what ends a text, which transformers looks for there alone if there is such a file.
    pub(super) fn save_generation(&self, dir: &Path) -> Result<(), PolicyError> {
        let mut generation = self.generation.clone();
        if !self.stop_ids.is_empty() {
            generation.entry(ENDS).or_insert_with(|| json!(self.stop_ids));
        }
        match generation.is_empty() {
            true => Ok(()),
            false => write(dir, GENERATION, format!("{:#}\n", Value::Object(generation))),
        }
    }
}

fn write(dir: &Path, name: &str, text: String) -> Result<(), PolicyError> {
    let path = dir.join(name);
    std::fs::write(&path, text).map_err(PolicyError::file(&path))
}

/// The chat template; if there are several, the one named `default`.
fn chat_template(config: &Settings) -> Option<String> {
    let template = match config.get("chat_template")? {
        Value::Array(several) => several.iter().find(|one| one["name"] == "default")?.get("template")?,
        template => template,
    };
    template.as_str().map(str::to_owned)
}

/// The text of a special token.
fn special(config: &Settings, key: &str) -> Option<String> {
    config.get(key).and_then(added::content).map(str::to_owned)
}

/// The text of a file that a model may lack.
fn optional(dir: &Path, name: &str) -> Result<Option<String>, PolicyError> {
    let path = dir.join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(PolicyError::File { path, source: error }),
    }
}

/// The content of a file that a model may lack; `name` is named in errors.
fn object(name: &str, text: Option<&str>) -> Result<Settings, PolicyError> {
    let parsed = text.map(serde_json::from_str).transpose();
    parsed.map(Option::unwrap_or_default).map_err(|error| invalid(format!("{name}: {error}")))
}

fn invalid(message: String) -> PolicyError {
    PolicyError::Tokenizer { message }
}
