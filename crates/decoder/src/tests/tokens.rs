//! What a model ships beside its vocabulary: ends, templates, and settings that must not cut a prompt.

use super::*;

/// A directory with the tokenizer of these tests and the given files.
fn tokenizer_of(files: &[(&str, Value)]) -> Tokenizer {
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
    let generation = |value: Value| ("generation_config.json", json!({ "eos_token_id": value }));
    assert_eq!(tokenizer_of(&[generation(json!(7))]).stop_ids(), [7]);
    let several = [generation(json!([9, 7])), ("tokenizer_config.json", json!({"eos_token": "5"}))];
    let several = tokenizer_of(&several);
    assert_eq!((several.stop_ids(), several.end_id()), (&[5, 7, 9][..], Some(5)));
    // A file that does not name an end leaves it to config.json.
    let config = ("config.json", json!({ "eos_token_id": 4 }));
    let silent = ("generation_config.json", json!({ "temperature": 0.7 }));
    assert_eq!(tokenizer_of(&[silent, config.clone()]).stop_ids(), [4]);
    assert_eq!(tokenizer_of(&[config]).end_id(), Some(4));
    assert_eq!(tokenizer_of(&[]).end_id(), None);
}

#[test]
fn an_end_that_the_model_cannot_write_is_none() {
    for (ends, known) in [(json!([9999, 7]), Some(7)), (json!(9999), None)] {
        let dir = tempfile::tempdir().unwrap();
        policy(config(), 61).save(dir.path()).unwrap();
        let generation = json!({ "eos_token_id": ends });
        std::fs::write(dir.path().join("generation_config.json"), generation.to_string()).unwrap();
        let loaded = load(&settings_of(dir.path())).unwrap();
        assert_eq!(loaded.tokenizer().stop_ids(), Vec::from_iter(known));
        assert_eq!(loaded.tokenizer().end_id(), known);
    }
}

#[test]
fn the_template_is_the_file_or_the_text_or_the_default_of_several() {
    let config = |value: Value| ("tokenizer_config.json", json!({ "chat_template": value }));
    assert_eq!(tokenizer_of(&[config("one".into())]).chat_template(), Some("one"));
    let several = json!([
        {"name": "tool_use", "template": "other"},
        {"name": "default", "template": "chosen"},
    ]);
    assert_eq!(tokenizer_of(&[config(several)]).chat_template(), Some("chosen"));
    let file = ("chat_template.jinja", json!(2048));
    assert_eq!(tokenizer_of(&[config("one".into()), file]).chat_template(), Some("2048"));
    assert_eq!(tokenizer_of(&[]).chat_template(), None);
}

#[test]
fn a_tokenizer_that_ships_a_longest_length_cuts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    tokenizer().save(dir.path()).unwrap();
    change_json(&dir.path().join("tokenizer.json"), |json| {
        json["truncation"] = json!({"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0});
        json["padding"] = json!({
            "strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0,
            "pad_token": "0",
        });
    });
    assert_eq!(Tokenizer::from_dir(dir.path()).unwrap().encode("12345"), [1, 2, 3, 4, 5]);
}

#[test]
fn the_class_of_a_tokenizer_may_ask_for_the_token_that_begins_a_sequence() {
    let opened = |mut config: Value| {
        config["bos_token"] = "7".into();
        tokenizer_of(&[("tokenizer_config.json", config)]).encode_opening("12")
    };
    let of = |class: &str, adds: bool| opened(json!({ "tokenizer_class": class, "add_bos_token": adds }));
    assert_eq!([of("LlamaTokenizerFast", true), of("LlamaTokenizer", false)], [vec![7, 1, 2], vec![1, 2]]);
    assert_eq!(opened(json!({ "tokenizer_class": "GemmaTokenizer" })), [7, 1, 2]);
    // Of other classes the file decides, and this one says nothing.
    assert_eq!(of("PreTrainedTokenizerFast", true), [1, 2]);
    let config = json!({ "tokenizer_class": "LlamaTokenizer", "bos_token": { "content": "7" } });
    assert_eq!(tokenizer_of(&[("tokenizer_config.json", config)]).encode_opening("712"), [7, 1, 2]);
}

#[test]
fn an_added_token_without_an_embedding_is_letters_unless_the_model_writes_it() {
    let loaded = |config: Value| {
        let dir = tempfile::tempdir().unwrap();
        let settings = super::peft::tiny("llama", dir.path());
        let added = json!([{
            "id": 32, "content": "<12>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true,
        }]);
        change_json(&dir.path().join("tokenizer.json"), |json| json["added_tokens"] = added);
        std::fs::write(dir.path().join("tokenizer_config.json"), config.to_string()).unwrap();
        load(&settings)
    };
    let policy = loaded(json!({})).unwrap();
    assert_eq!(policy.tokenizer().encode("1<12>3"), [1, 12, 1, 2, 14, 3]);
    for needed in [json!({ "chat_template": "<12>1" }), json!({ "eos_token": "<12>" })] {
        let error = loaded(needed).unwrap_err().to_string();
        assert!(error.contains("33 tokens, the model embeds 32"), "{error}");
    }
}

#[test]
fn a_token_is_special_by_its_text_wherever_the_configuration_lists_it() {
    let dir = tempfile::tempdir().unwrap();
    tokenizer().save(dir.path()).unwrap();
    let token = |id: u32, content: &str, special: bool| {
        json!({
            "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": special,
        })
    };
    change_json(&dir.path().join("tokenizer.json"), |json| {
        json["added_tokens"] = json!([token(40, "<12>", true), token(41, "<21>", false)]);
    });
    let swapped = json!({ "added_tokens_decoder": { "40": { "content": "<21>" }, "41": { "content": "<12>" } } });
    std::fs::write(dir.path().join("tokenizer_config.json"), swapped.to_string()).unwrap();
    let tokenizer = Tokenizer::from_dir(dir.path()).unwrap();
    let decoded = |text: &str| tokenizer.decode(&tokenizer.encode(text));
    assert_eq!([decoded("<12>"), decoded("<21>")], ["", "<21>"]);
}

#[test]
fn an_added_token_that_the_configuration_alone_names_is_one_token() {
    let added = json!({
        "41": { "content": "<21>", "special": false, "normalized": false },
        "40": { "content": "<12>", "special": true },
    });
    let named = |added: Value| {
        let config = json!({ "added_tokens_decoder": added, "eos_token": "<12>" });
        let generation = json!({ "eos_token_id": 3 });
        tokenizer_of(&[("tokenizer_config.json", config), ("generation_config.json", generation)])
    };
    let tokenizer = named(added);
    assert_eq!(tokenizer.encode("1<12>3<21>"), [1, 40, 3, 41]);
    assert_eq!([tokenizer.decode(&[40]), tokenizer.decode(&[41])], ["", "<21>"]);
    assert_eq!(tokenizer.stop_ids(), [3, 40]);
    // Saved, it is in the tokenizer's own file, and not added again.
    let dir = tempfile::tempdir().unwrap();
    tokenizer.save(dir.path()).unwrap();
    assert_eq!(read_json(&dir.path().join("tokenizer.json"))["added_tokens"].as_array().unwrap().len(), 2);
    let again = Tokenizer::from_dir(dir.path()).unwrap();
    assert_eq!((again.encode("1<12>3<21>"), again.vocab_size()), (vec![1, 40, 3, 41], 42));
    // What is special there stays so, whatever the configuration says, and when it is saved once more.
    let plain = json!({ "added_tokens_decoder": { "40": { "content": "<12>", "special": false } } });
    std::fs::write(dir.path().join("tokenizer_config.json"), plain.to_string()).unwrap();
    for _ in 0..2 {
        let again = Tokenizer::from_dir(dir.path()).unwrap();
        assert_eq!(again.decode(&[40]), "");
        again.save(dir.path()).unwrap();
    }
    assert_eq!(named(json!({})).encode("<12>"), [12, 1, 2, 14]);
}

#[test]
fn the_ends_of_an_older_model_are_in_a_file_of_their_own() {
    let older = ("special_tokens_map.json", json!({ "bos_token": "7", "eos_token": { "content": "9" } }));
    let of = |config: Value| {
        let tokenizer = tokenizer_of(&[("tokenizer_config.json", config), older.clone()]);
        (tokenizer.bos_token().map(str::to_owned), tokenizer.stop_ids().to_vec())
    };
    assert_eq!(tokenizer_of(std::slice::from_ref(&older)).eos_token(), Some("9"));
    assert_eq!(of(json!({})), (Some("7".into()), vec![9]));
    assert_eq!(of(json!({ "eos_token": "5", "bos_token": null })), (Some("7".into()), vec![5]));
    // As in transformers, a file with the newer list of added tokens stands alone.
    assert_eq!(of(json!({ "added_tokens_decoder": {} })), (None, vec![]));
}

#[test]
fn a_token_of_the_vocabulary_that_either_file_names_as_special_is_one_token() {
    let mut file = characters(40);
    file["model"]["vocab"]["<12>"] = 40.into();
    let encoded = |name: &str, content: Value| {
        tokenizer_of(&[("tokenizer.json", file.clone()), (name, content)]).encode("1<12>3<21>")
    };
    for naming in [
        json!({ "eos_token": "<12>" }),
        json!({ "pad_token": { "content": "<12>", "normalized": false } }),
        json!({ "additional_special_tokens": ["<12>", "<21>"] }),
        json!({ "extra_special_tokens": { "image": "<12>" } }),
    ] {
        for name in ["tokenizer_config.json", "special_tokens_map.json"] {
            // The vocabulary does not have <21>, so it stays letters.
            assert_eq!(encoded(name, naming.clone()), [1, 40, 3, 12, 2, 1, 14], "{name}: {naming}");
        }
    }
    assert_eq!(encoded("tokenizer_config.json", json!({})), [1, 12, 1, 2, 14, 3, 12, 2, 1, 14]);
}

#[test]
fn flags_of_an_added_token_are_those_of_the_configuration() {
    let token = |alone: bool| {
        json!({
            "id": 40, "content": "<12>", "single_word": alone, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true,
        })
    };
    let mut file = characters(40);
    file["added_tokens"] = json!([token(false)]);
    let config = json!({ "added_tokens_decoder": { "40": token(true) } });
    let tokenizer = tokenizer_of(&[("tokenizer.json", file), ("tokenizer_config.json", config)]);
    assert_eq!([tokenizer.encode("<12>"), tokenizer.encode("1<12>3")], [vec![40], vec![1, 12, 1, 2, 14, 3]]);
}

/// A tokenizer that puts a space before every text and takes one away from what it decodes, as that of Llama 2 does.
fn spaced() -> Tokenizer {
    Tokenizer::from_json(include_str!("spaced_tokenizer.json"), None, None).unwrap()
}

#[test]
fn text_that_goes_on_begins_without_the_space_of_sentencepiece() {
    let tokenizer = spaced();
    assert_eq!(tokenizer.encode("\na b"), [0, 4, 1, 0, 3]);
    assert_eq!(tokenizer.encode_further("\na b"), [4, 1, 0, 3]);
    assert_eq!(tokenizer.encode_further(" b"), [0, 3]);
    // The space may be one token with the first word.
    assert_eq!((tokenizer.encode("a b"), tokenizer.encode_further("a b")), (vec![2, 0, 3], vec![1, 0, 3]));
    assert_eq!((tokenizer.encode_further(" a"), tokenizer.encode_further("")), (vec![2], vec![]));
}

#[test]
fn text_that_goes_on_keeps_the_space_that_it_begins_with() {
    let tokenizer = spaced();
    for text in [" a", "a", "  b", "\n a b", ""] {
        let ids = tokenizer.encode_further(text);
        assert_eq!(tokenizer.decode_further(&ids), text, "{ids:?}");
    }
    // As the answer to a prompt that ends in `return` it would be another name without its space.
    assert_eq!((tokenizer.decode(&[2]), tokenizer.decode_further(&[2])), ("a".to_owned(), " a".to_owned()));
}
