//! Models by their Hugging Face id: from the local cache when they are there, over the network otherwise.

use std::path::PathBuf;

use hf_hub::api::sync::{ApiBuilder, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};

use super::{PolicyError, weights};

/// Files that models may come without.
const OPTIONAL: &[&str] = &["tokenizer_config.json", "generation_config.json", "chat_template.jinja"];

/// Where fetched models are kept: `$HF_HOME/hub`, or the cache of the user.
pub fn hub_cache_dir() -> PathBuf {
    Cache::from_env().path().clone()
}

/// The local directory of a model, its files fetched where they are missing.
pub(super) fn fetch(model: &str, revision: &str) -> Result<PathBuf, PolicyError> {
    let refuse = |message: String| PolicyError::Hub { model: model.into(), revision: revision.into(), message };
    let mut builder = ApiBuilder::from_env();
    if let Ok(token) = std::env::var("HF_TOKEN") {
        builder = builder.with_token(Some(token));
    }
    let api = builder.build().map_err(|error| refuse(error.to_string()))?;
    let repo = api.repo(Repo::with_revision(model.into(), RepoType::Model, revision.into()));
    let get = |file: &str| repo.get(file).map_err(|error| refuse(format!("{file}: {error}")));
    let config = get("config.json")?;
    get("tokenizer.json")?;
    for file in OPTIONAL {
        // Absent from many models; what is needed of them is checked where it is used.
        let _ = repo.get(file);
    }
    fetch_weights(&repo, &get)?;
    Ok(config.parent().map(PathBuf::from).unwrap_or_default())
}

fn fetch_weights(repo: &ApiRepo, get: &impl Fn(&str) -> Result<PathBuf, PolicyError>) -> Result<(), PolicyError> {
    let Ok(index) = repo.get("model.safetensors.index.json") else {
        return get("model.safetensors").map(|_| ());
    };
    for shard in weights::shards(&index)? {
        get(&shard.to_string_lossy())?;
    }
    Ok(())
}
