//! The tokenizer inside a GGUF file, rebuilt to behave as the model's own `tokenizer.json`.
//!
//! The file names how text is split before byte pairs are merged, and each name stands for a pattern that only
//! programs know. An unknown name is refused: with another pattern the model would silently read other tokens than it
//! was trained on.

use std::collections::BTreeSet;

use candle_core::quantized::gguf_file::Value;
use tokenizers::decoders::byte_level::ByteLevel as ByteLevelDecoder;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, SplitDelimiterBehavior};

use crate::files::gguf::header::{Header, whole};
use crate::{PolicyError, Tokenizer};

/// Pattern of Qwen2's `tokenizer.json`, which splits digits one by one.
const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Pattern of Llama 3's `tokenizer.json`, which groups up to three digits.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The key of how text is split.
const PRE: &str = "tokenizer.ggml.pre";

/// Its values in files of Llama 3.
const LLAMA3_NAMES: &[&str] = &["llama-bpe", "llama3", "llama-v3"];

/// Tokens that end a turn or a text in the supported families. A file names one or two of them; generation stops at
/// all.
const ENDS: &[&str] = &["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"];

/// Numbers of token types in the file.
const CONTROL: usize = 3;
const USER_DEFINED: usize = 4;

/// How text is split before byte pairs are merged.
struct Cutting {
    compose: bool,
    parts: Vec<PreTokenizerWrapper>,
    /// Whether a piece that is itself a token becomes this token without merges.
    whole_first: bool,
}

/// The tokenizer, with the ids that end a completion and the chat template.
pub(crate) fn tokenizer(header: &Header<'_>) -> Result<Tokenizer, PolicyError> {
    let tokens = texts(header, "tokenizer.ggml.tokens")?;
    let mut inner = joining(header, &tokens)?;
    let kinds: Vec<usize> = match header.content.metadata.get("tokenizer.ggml.token_type") {
        Some(Value::Array(kinds)) => kinds.iter().map(|kind| whole(kind).unwrap_or(0)).collect(),
        _ => Vec::new(),
    };
    let of_kind = |wanted: usize| {
        let found = tokens.iter().zip(&kinds).filter(move |(_, kind)| **kind == wanted);
        found.map(move |(token, _)| AddedToken::from(token.clone(), wanted == CONTROL).normalized(false))
    };
    let added = inner.add_special_tokens(of_kind(CONTROL)).and_then(|_| inner.add_tokens(of_kind(USER_DEFINED)));
    added.map_err(|error| invalid(header, &error))?;

    let id = |key: &str| {
        let id = header.content.metadata.get(key).and_then(whole);
        id.map(|id| u32::try_from(id).map_err(|_| header.corrupt(format!("`{key}` is {id}")))).transpose()
    };
    let (begin, end, turn) =
        (id("tokenizer.ggml.bos_token_id")?, id("tokenizer.ggml.eos_token_id")?, id("tokenizer.ggml.eot_token_id")?);
    let named = [end, turn].into_iter().flatten();
    let control = |id: &u32| kinds.get(*id as usize) == Some(&CONTROL);
    let known = ENDS.iter().filter_map(|end| inner.token_to_id(end)).filter(control);
    let stop_ids: BTreeSet<u32> = named.chain(known).collect();
    // Files of Llama 3 rarely say that it begins a sequence with this token, and llama.cpp puts it there all the same.
    let opens = match header.content.metadata.get("tokenizer.ggml.add_bos_token") {
        Some(Value::Bool(opens)) => *opens,
        _ => header.text(PRE).is_some_and(|name| LLAMA3_NAMES.contains(&name)),
    };
    let [begin_token, end_token] = [begin, end].map(|id| id.and_then(|id| inner.id_to_token(id)));
    if let (true, Some(begin), Some(id)) = (opens, &begin_token, begin) {
        let template = TemplateProcessing::builder()
            .try_single(format!("{begin}:0 $A:0"))
            .and_then(|builder| builder.try_pair(format!("{begin}:0 $A:0 {begin}:1 $B:1")))
            .map(|builder| builder.special_tokens(vec![(begin.clone(), id)]).build());
        if let Ok(Ok(template)) = template {
            inner.with_post_processor(Some(template));
        }
    }
    let template = header.text("tokenizer.chat_template").map(str::to_owned);
    Ok(Tokenizer::from_parts(inner, stop_ids.into_iter().collect(), template).with_ends(begin_token, end_token))
}

/// Splitting, merges and decoding, without special tokens.
fn joining(header: &Header<'_>, tokens: &[String]) -> Result<tokenizers::Tokenizer, PolicyError> {
    let model = header.text("tokenizer.ggml.model").unwrap_or("(none)");
    if model != "gpt2" {
        let expected = "gpt2, byte pairs; of a model with another tokenizer load the directory with its tokenizer.json";
        return Err(PolicyError::setting("tokenizer.ggml.model", model, expected));
    }
    let cutting = cutting(header)?;
    let vocabulary: Vocab = tokens.iter().zip(0..).map(|(token, id)| (token.clone(), id)).collect();
    let pair = |merge: &String| merge.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned()));
    let merges: Option<Vec<_>> = texts(header, "tokenizer.ggml.merges")?.iter().map(pair).collect();
    let merges = merges.ok_or_else(|| header.corrupt("tokenizer: a merge without a space in it".into()))?;
    let bpe = BPE::builder().vocab_and_merges(vocabulary, merges).ignore_merges(cutting.whole_first).build();
    let mut inner = tokenizers::Tokenizer::new(bpe.map_err(|error| invalid(header, &error))?);
    if cutting.compose {
        inner.with_normalizer(Some(NFC)).map_err(|error| invalid(header, &error))?;
    }
    inner.with_pre_tokenizer(Some(Sequence::new(cutting.parts)));
    inner.with_decoder(Some(ByteLevelDecoder::default()));
    Ok(inner)
}

fn cutting(header: &Header<'_>) -> Result<Cutting, PolicyError> {
    let name = header.text(PRE).unwrap_or("(none)");
    let bytes = |cut: bool| -> PreTokenizerWrapper { ByteLevel::new(false, true, cut).into() };
    let split = |pattern: &str| -> Result<Vec<PreTokenizerWrapper>, PolicyError> {
        let pattern = SplitPattern::Regex(pattern.into());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
        Ok(vec![split.map_err(|error| invalid(header, &error))?.into(), bytes(false)])
    };
    let plain = |parts| Cutting { compose: false, parts, whole_first: false };
    match name {
        "gpt-2" | "gpt2" => Ok(plain(vec![bytes(true)])),
        "smollm" => Ok(plain(vec![Digits::new(true).into(), bytes(true)])),
        "qwen2" | "deepseek-r1-qwen" => Ok(Cutting { compose: true, ..plain(split(QWEN2)?) }),
        name if LLAMA3_NAMES.contains(&name) => Ok(Cutting { whole_first: true, ..plain(split(LLAMA3)?) }),
        _ => {
            let known =
                "gpt-2, smollm, qwen2 or llama-bpe; of another model load the directory with its tokenizer.json";
            Err(PolicyError::setting(PRE, name, known))
        }
    }
}

fn texts(header: &Header<'_>, key: &str) -> Result<Vec<String>, PolicyError> {
    let Some(Value::Array(values)) = header.content.metadata.get(key) else {
        return Err(header.corrupt(format!("no list `{key}`")));
    };
    let texts: Option<Vec<String>> = values.iter().map(|value| value.to_string().ok().cloned()).collect();
    texts.ok_or_else(|| header.corrupt(format!("`{key}` holds something else than text")))
}

fn invalid(header: &Header<'_>, error: &dyn std::fmt::Display) -> PolicyError {
    header.corrupt(format!("tokenizer: {}", error.to_string().lines().next().unwrap_or_default()))
}
