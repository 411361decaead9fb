//! Checks that a model directory is complete before any file is read, so that one error names all that is missing and
//! what to do.

use std::path::Path;

use serde_json::Value;

use crate::adapters::set;
use crate::{PolicyError, weights};

/// Extensions of interrupted downloads, by hf-hub, huggingface_hub and browsers.
const CUT_OFF: &[&str] = &["incomplete", "part", "crdownload"];

/// Refuses a directory without the configuration of a model.
pub(crate) fn check_config(dir: &Path) -> Result<(), PolicyError> {
    let incomplete = |missing: String, advice: &str| incomplete(dir, missing, advice);
    let there = |name: &str| dir.join(name).exists();
    if !there("config.json") {
        if there(set::CONFIG) {
            let base = base_model(dir).unwrap_or_else(|| "its base model".into());
            let advice = format!("name {base} with --model, and this directory with --adapter");
            return incomplete("is a PEFT adapter, not a model".into(), &advice);
        }
        if let Some(file) = find(dir, |name| name.ends_with(".gguf")) {
            let advice = format!("name the file itself: {}", dir.join(file).display());
            return incomplete("has no config.json but a .gguf file".into(), &advice);
        }
        let snapshots = dir.join("snapshots");
        if let Some(commit) = find(&snapshots, |_| true) {
            let advice = format!("name the model in it: {}", snapshots.join(commit).display());
            return incomplete("is a directory of the Hub's cache, not a model".into(), &advice);
        }
        return incomplete("config.json is missing".into(), "expected a model in Hugging Face layout");
    }
    Ok(())
}

/// Refuses a directory without a tokenizer or without all of its weights.
pub(crate) fn check_parts(dir: &Path) -> Result<(), PolicyError> {
    let there = |name: &str| dir.join(name).exists();
    if !there("tokenizer.json") {
        let advice = match there("tokenizer.model") || there("vocab.json") {
            true => {
                "its tokenizer is in an older form; convert it with \
                 `AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)` in Python"
            }
            false => "fetch it from where the model came from",
        };
        return incomplete(dir, "tokenizer.json is missing".into(), advice);
    }
    check_weights(dir)
}

fn incomplete(dir: &Path, missing: String, advice: &str) -> Result<(), PolicyError> {
    Err(PolicyError::Incomplete { path: dir.into(), missing, advice: advice.to_owned() })
}

fn check_weights(dir: &Path) -> Result<(), PolicyError> {
    let incomplete = |missing: String, advice: &str| incomplete(dir, missing, advice);
    let expected = weights::files_of(dir)?;
    let absent: Vec<String> =
        expected.iter().filter(|file| !dir.join(file).exists()).map(|file| file.display().to_string()).collect();
    let Some(first) = absent.first() else { return Ok(()) };
    let count = absent.len();
    let cut_off = find(dir, |name| CUT_OFF.iter().any(|end| name.ends_with(&format!(".{end}"))));
    match cut_off {
        Some(file) => incomplete(
            format!("{first} is missing, and {file} is a download that was cut off"),
            "fetch the model again",
        ),
        None if dir.join(weights::INDEX).exists() => incomplete(
            format!(
                "{} names {} files, {count} of them missing: {}",
                weights::INDEX,
                expected.len(),
                absent.join(", ")
            ),
            "fetch them again",
        ),
        None if find(dir, |name| name.starts_with("model-") && name.ends_with(".safetensors")).is_some() => incomplete(
            format!("has shards but no {}", weights::INDEX),
            "fetch that file from where the model came from",
        ),
        None if find(dir, |name| name.starts_with("pytorch_model")).is_some() => incomplete(
            "has pytorch_model.bin and no model.safetensors".into(),
            "save it again in Python with `save_pretrained(DIR, safe_serialization=True)`",
        ),
        None => incomplete(format!("{first} is missing"), "fetch it from where the model came from"),
    }
}

/// The first file of a directory, by name, that `wanted` accepts.
fn find(dir: &Path, wanted: impl Fn(&str) -> bool) -> Option<String> {
    let entries = std::fs::read_dir(dir).ok()?.flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.into_iter().find(|name| wanted(name))
}

/// The model that the adapter in a directory was made for.
fn base_model(dir: &Path) -> Option<String> {
    let described: Value = set::described(dir).ok()?;
    Some(described.get("base_model_name_or_path")?.as_str()?.to_owned())
}

/// Whether a file's name is that of an interrupted download.
pub(crate) fn is_cut_off(path: &Path) -> bool {
    path.extension().is_some_and(|end| CUT_OFF.iter().any(|known| end == *known))
}
