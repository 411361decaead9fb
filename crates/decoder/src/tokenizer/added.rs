//! Added tokens that stand in a model's configuration and not in its `tokenizer.json`. transformers adds them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tokenizers::{AddedToken, Tokenizer};

/// The key of added tokens by their ids.
pub(super) const BY_ID: &str = "added_tokens_decoder";

/// The keys of further special tokens: a list, or an object with their names.
const SEVERAL: &[&str] = &["additional_special_tokens", "extra_special_tokens"];

/// The added tokens that the configuration lists by their ids, in this order. Their flags hold where `tokenizer.json` has
/// others, but what is special there stays so, as in transformers.
pub(super) fn listed(inner: &Tokenizer, config: &Map<String, Value>) -> Vec<AddedToken> {
    let listed = config.get(BY_ID).and_then(Value::as_object).into_iter().flatten();
    let own = inner.get_added_vocabulary();
    let tokens = listed.filter_map(|(id, token)| {
        let id: u32 = id.parse().ok()?;
        Some((id, added(token, own.is_special_token(content(token)?))?))
    });
    tokens.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// The special tokens that the configuration names, where the vocabulary has them and they are no added tokens yet. Others
/// stay letters: transformers puts them after the vocabulary, where no model has learnt them.
pub(super) fn named(inner: &Tokenizer, config: &Map<String, Value>) -> Vec<AddedToken> {
    let single = config.iter().filter(|(key, _)| key.ends_with("_token")).map(|(_, token)| token);
    let several = SEVERAL.iter().filter_map(|key| config.get(*key)).flat_map(|tokens| match tokens {
        Value::Array(tokens) => tokens.iter().collect::<Vec<_>>(),
        Value::Object(tokens) => tokens.values().collect(),
        _ => Vec::new(),
    });
    let known = inner.get_added_vocabulary().get_vocab();
    let is_new =
        |token: &AddedToken| !known.contains_key(&token.content) && inner.token_to_id(&token.content).is_some();
    single.chain(several).filter_map(|token| added(token, true)).filter(is_new).collect()
}

/// The text of a token, which is written as a string or as an object with its content.
pub(super) fn content(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token.get("content")?.as_str())
}

/// The token with its flags; `special`: whether it is special whatever they say.
fn added(token: &Value, special: bool) -> Option<AddedToken> {
    let flag = |key: &str| token.get(key).and_then(Value::as_bool);
    let plain = AddedToken::from(content(token)?, special || flag("special").unwrap_or(false));
    let normalized = flag("normalized").unwrap_or(plain.normalized);
    let plain = plain.normalized(normalized).single_word(flag("single_word").unwrap_or(false));
    Some(plain.lstrip(flag("lstrip").unwrap_or(false)).rstrip(flag("rstrip").unwrap_or(false)))
}
