//! What a model ships beside its vocabulary: ends, templates, and settings that must not cut a prompt.

use super::*;

/// A directory with the tokenizer of these tests and the given files.
fn tokenizer_of(files: &[(&str, serde_json::Value)]) -> Tokenizer {
    let dir = tempfile::tempdir().unwrap();
    tokenizer().save(dir.path()).unwrap();
    for name in ["tokenizer_config.json", "generation_config.json"] {
        std::fs::remove_file(dir.path().join(name)).unwrap();
    }
    for (name, content) in files {
        std::fs::write(dir.path().join(name), content.to_string()).unwrap();
    }
    Tokenizer::from_dir(dir.path()).unwrap()
}

#[test]
fn ends_are_a_number_or_a_list_and_the_tokens_own_is_among_them() {
    let generation =
        |value: serde_json::Value| ("generation_config.json", serde_json::json!({ "eos_token_id": value }));
    assert_eq!(tokenizer_of(&[generation(serde_json::json!(7))]).stop_ids(), [7]);
    let several =
        [generation(serde_json::json!([9, 7])), ("tokenizer_config.json", serde_json::json!({"eos_token": "5"}))];
    let several = tokenizer_of(&several);
    assert_eq!((several.stop_ids(), several.end_id()), (&[5, 7, 9][..], Some(5)));
    // A file that does not name an end leaves it to config.json.
    let config = ("config.json", serde_json::json!({ "eos_token_id": 4 }));
    let silent = ("generation_config.json", serde_json::json!({ "temperature": 0.7 }));
    assert_eq!(tokenizer_of(&[silent, config.clone()]).stop_ids(), [4]);
    assert_eq!(tokenizer_of(&[config]).end_id(), Some(4));
    assert_eq!(tokenizer_of(&[]).end_id(), None);
}

#[test]
fn the_template_is_the_file_or_the_text_or_the_default_of_several() {
    let config = |value: serde_json::Value| ("tokenizer_config.json", serde_json::json!({ "chat_template": value }));
    assert_eq!(tokenizer_of(&[config("one".into())]).chat_template(), Some("one"));
    let several = serde_json::json!([
        {"name": "tool_use", "template": "other"},
        {"name": "default", "template": "chosen"},
    ]);
    assert_eq!(tokenizer_of(&[config(several)]).chat_template(), Some("chosen"));
    let file = ("chat_template.jinja", serde_json::json!(2048));
    assert_eq!(tokenizer_of(&[config("one".into()), file]).chat_template(), Some("2048"));
    assert_eq!(tokenizer_of(&[]).chat_template(), None);
}

#[test]
fn a_tokenizer_that_ships_a_longest_length_cuts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    tokenizer().save(dir.path()).unwrap();
    let path = dir.path().join("tokenizer.json");
    let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    json["truncation"] =
        serde_json::json!({"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0});
    json["padding"] = serde_json::json!({
        "strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "0",
    });
    std::fs::write(&path, json.to_string()).unwrap();
    assert_eq!(Tokenizer::from_dir(dir.path()).unwrap().encode("12345"), [1, 2, 3, 4, 5]);
}

#[test]
fn text_that_goes_on_begins_without_the_space_of_sentencepiece() {
    let text = serde_json::json!({
        "version": "1.0", "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u{2581}"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"},
        ]},
        "model": {"type": "BPE", "vocab": {"\u{2581}": 0, "a": 1, "\u{2581}a": 2, "b": 3, "\n": 4},
                  "merges": ["\u{2581} a"]},
    });
    let tokenizer = Tokenizer::from_json(&text.to_string(), None, None).unwrap();
    assert_eq!(tokenizer.encode("\na b"), [0, 4, 1, 0, 3]);
    assert_eq!(tokenizer.encode_further("\na b"), [4, 1, 0, 3]);
    assert_eq!(tokenizer.encode_further(" b"), [0, 3]);
}
