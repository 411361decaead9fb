//! Models by their Hugging Face id: from the local cache if they are there, otherwise over the network.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};

use crate::{PolicyError, weights};

pub(crate) mod push;

/// Files that a model may lack; the card names the licence. They are fetched before the weights, so that a cache with
/// weights has been asked for them.
pub(crate) const OPTIONAL: &[&str] =
    &["tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "chat_template.jinja", "README.md"];

/// Files that every model needs besides its weights.
pub(crate) const REQUIRED: &[&str] = &["config.json", "tokenizer.json"];

const ENDPOINT: &str = "https://huggingface.co";

/// Directory of the cache in which Hugging Face's programs keep their locks, one directory for each model.
const LOCKS: &str = ".locks";
/// The lock that a process of this program holds while it fetches a model.
const TURN: &str = "grpo-2048.lock";

/// Settings of the access to the Hub, from the variables that Hugging Face's own programs read.
#[derive(Debug, Clone)]
pub(crate) struct HubSettings {
    pub endpoint: String,
    /// Cache directory of fetched models.
    pub cache: PathBuf,
    pub token: Option<String>,
    /// Whether only the cache is used.
    pub offline: bool,
}

impl HubSettings {
    /// Those of this process.
    pub fn given() -> Self {
        Self::from_env(&|name| std::env::var(name).ok())
    }

    /// Reads HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_TOKEN_PATH and HF_HUB_OFFLINE through `variable`.
    pub fn from_env(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let home = || given("HOME").map(PathBuf::from).or_else(std::env::home_dir).unwrap_or_default();
        let caches = || given("XDG_CACHE_HOME").map_or_else(|| home().join(".cache"), PathBuf::from);
        let hub_home = given("HF_HOME").map_or_else(|| caches().join("huggingface"), PathBuf::from);
        let token_path = given("HF_TOKEN_PATH").map_or_else(|| hub_home.join("token"), PathBuf::from);
        let filed = || fs::read_to_string(token_path).ok();
        let token = given("HF_TOKEN").or_else(filed).map(|token| token.trim().to_owned());
        let on = |name: &str| {
            given(name).is_some_and(|value| matches!(value.to_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE"))
        };
        HubSettings {
            endpoint: given("HF_ENDPOINT").map_or_else(|| ENDPOINT.into(), |url| url.trim_end_matches('/').into()),
            cache: given("HF_HUB_CACHE").map_or_else(|| hub_home.join("hub"), PathBuf::from),
            token: token.filter(|token| !token.is_empty()),
            offline: on("HF_HUB_OFFLINE") || on("TRANSFORMERS_OFFLINE"),
        }
    }
}

/// Cache directory of fetched models.
pub fn hub_cache_dir() -> PathBuf {
    HubSettings::given().cache
}

/// The local directory of a model; missing files are fetched.
pub(crate) fn fetch(model: &str, revision: &str, settings: &HubSettings) -> Result<PathBuf, PolicyError> {
    let hub = Hub { model, revision, settings };
    if let Some(dir) = hub.complete() {
        return Ok(dir);
    }
    if settings.offline {
        return Err(hub.not_cached());
    }
    let _turn = hub.turn();
    // Whoever had to wait finds what another process has fetched meanwhile.
    hub.complete().map_or_else(|| hub.download(), Ok)
}

/// The local directory of a model if there is one, complete or not.
pub(crate) fn cached(model: &str, revision: &str, settings: &HubSettings) -> Option<PathBuf> {
    Hub { model, revision, settings }.snapshot()
}

/// Files without which the model in `dir` cannot be loaded.
fn missing_files(dir: &Path) -> Vec<String> {
    let names = REQUIRED.iter().map(PathBuf::from).chain(weights::files_of(dir).unwrap_or_default());
    // A link to an interrupted download is dangling, so it counts as missing too.
    names.filter(|name| !dir.join(name).exists()).map(|name| name.display().to_string()).collect()
}

/// One model of the Hub.
struct Hub<'a> {
    model: &'a str,
    revision: &'a str,
    settings: &'a HubSettings,
}

impl Hub<'_> {
    fn refuse(&self, message: impl Into<String>, advice: impl Into<String>) -> PolicyError {
        PolicyError::Hub {
            model: self.model.into(),
            revision: self.revision.into(),
            message: message.into(),
            advice: advice.into(),
        }
    }

    fn repo(&self) -> Repo {
        Repo::with_revision(self.model.into(), RepoType::Model, self.revision.into())
    }

    fn cache_dir(&self) -> PathBuf {
        self.settings.cache.join(self.repo().folder_name())
    }

    /// The directory of this revision in the cache, complete or not. A revision is a branch, a tag or a commit.
    fn snapshot(&self) -> Option<PathBuf> {
        let dir = self.cache_dir();
        let named = fs::read_to_string(dir.join("refs").join(self.revision)).ok();
        let commit = named.as_deref().map_or(self.revision, str::trim);
        Some(dir.join("snapshots").join(commit)).filter(|dir| dir.is_dir())
    }

    /// The directory of this revision if it lacks nothing.
    fn complete(&self) -> Option<PathBuf> {
        self.snapshot().filter(|dir| missing_files(dir).is_empty())
    }

    /// Waits until no other process of this program fetches the model, and keeps them from it while the file lives: the
    /// processes that MPI starts together all want it. The system takes the lock back from a process that dies. Where
    /// files cannot be locked there is no waiting.
    fn turn(&self) -> Option<File> {
        let dir = self.settings.cache.join(LOCKS).join(self.repo().folder_name());
        fs::create_dir_all(&dir).ok()?;
        let file = File::options().create(true).truncate(false).write(true).open(dir.join(TURN)).ok()?;
        file.lock().ok().map(|()| file)
    }

    /// The error for a model that is not in the cache while the network may not be used.
    fn not_cached(&self) -> PolicyError {
        let advice = "unset HF_HUB_OFFLINE to fetch it, or name a local directory or a .gguf file";
        let Some(dir) = self.snapshot() else {
            let cache = self.settings.cache.display();
            return self.refuse(format!("not in the cache {cache}, and HF_HUB_OFFLINE is set"), advice);
        };
        let missing = missing_files(&dir).join(", ");
        let cut_off = match self.half_fetched() {
            Some(blob) => format!(" (a download was cut off: {})", blob.display()),
            None => String::new(),
        };
        let place = dir.display();
        self.refuse(format!("HF_HUB_OFFLINE is set, and {place} lacks {missing}{cut_off}"), advice)
    }

    fn half_fetched(&self) -> Option<PathBuf> {
        let blobs = fs::read_dir(self.cache_dir().join("blobs")).ok()?.flatten().map(|entry| entry.path());
        let mut cut_off: Vec<PathBuf> = blobs.filter(|path| crate::files::directory::is_cut_off(path)).collect();
        cut_off.sort();
        cut_off.into_iter().next()
    }

    fn download(&self) -> Result<PathBuf, PolicyError> {
        let HubSettings { endpoint, cache, token, .. } = self.settings;
        let builder = ApiBuilder::from_cache(Cache::new(cache.clone()));
        let builder = builder.with_endpoint(endpoint.clone()).with_token(token.clone());
        let api = builder.build().map_err(|error| self.refuse(error.to_string(), "see `grpo-2048 doctor`"))?;
        let repo = api.repo(self.repo());
        let get = |file: &str| obtained(&repo, file).map_err(|error| self.explained(file, &error, &repo));
        let config = get("config.json")?;
        for file in OPTIONAL {
            match obtained(&repo, file) {
                Err(error) if status(&error) != Some(404) => return Err(self.explained(file, &error, &repo)),
                _ => {}
            }
        }
        get("tokenizer.json")?;
        let is_absent = |error: &ApiError| status(error) == Some(404);
        match obtained(&repo, weights::FILE) {
            Ok(_) => {}
            Err(error) if !is_absent(&error) => return Err(self.explained(weights::FILE, &error, &repo)),
            Err(absent) => match obtained(&repo, weights::INDEX) {
                Ok(index) => {
                    for shard in weights::shards(&index)? {
                        get(&shard.to_string_lossy())?;
                    }
                }
                Err(error) if is_absent(&error) => return Err(self.explained(weights::FILE, &absent, &repo)),
                Err(error) => return Err(self.explained(weights::INDEX, &error, &repo)),
            },
        }
        Ok(config.parent().map(PathBuf::from).unwrap_or_default())
    }

    /// The error for a file that could not be fetched, with advice. The Hub gives the same answer for a model that
    /// does not exist and for one that may not be seen, so the model itself is requested too.
    fn explained(&self, file: &str, error: &ApiError, repo: &ApiRepo) -> PolicyError {
        let endpoint = &self.settings.endpoint;
        let Some(status) = status(error) else {
            return match error {
                ApiError::RequestError(error) => self.refuse(
                    format!("{endpoint} cannot be reached ({error})"),
                    "check the network; a local directory, a .gguf file or a model in the cache works without one",
                ),
                error => self.refuse(format!("{file}: {error}"), "try again, or fetch the model by other means"),
            };
        };
        let answer = repo.info_request().config().http_status_as_error(false).build().call();
        let code = answer.as_ref().ok().and_then(|answer| {
            let code = answer.headers().get("x-error-code")?;
            code.to_str().ok().map(str::to_owned)
        });
        let found = answer.as_ref().is_ok_and(|answer| answer.status().is_success());
        let token = if self.settings.token.is_some() { "the token that is set" } else { "no token" };
        match (status, code.as_deref()) {
            (_, Some("RevisionNotFound")) => {
                self.refuse("there is no such revision of this model", "name a branch, tag or commit with --revision")
            }
            (401 | 403, code) if found || code == Some("GatedRepo") => self.refuse(
                format!("access to this model is gated, and {token} does not open it"),
                format!("accept its conditions at {endpoint}/{}, then set HF_TOKEN", self.model),
            ),
            (404, _) if found => self.refuse(
                format!("the model has no {file}"),
                "expected a model with config.json, tokenizer.json and safetensors weights; \
                 of a repository of .gguf files, fetch one and name it",
            ),
            (401 | 403 | 404, _) => self.refuse(
                format!("{endpoint} knows no such model, or {token} may not see it"),
                "check the spelling (owner/name, letter case counts); for a private model set HF_TOKEN",
            ),
            (status, _) => self.refuse(format!("{file}: {endpoint} answers {status}"), "try again later"),
        }
    }
}

/// A file of the model, from the cache or over the network. A program that fetches it already is waited for, however long
/// that takes: hf-hub itself gives up after five seconds.
fn obtained(repo: &ApiRepo, file: &str) -> Result<PathBuf, ApiError> {
    loop {
        match repo.get(file) {
            // An error of the file system means that it knows no locks, so that waiting would have no end.
            Err(ApiError::LockAcquisition(lock)) => File::create(lock)?.lock()?,
            other => return other,
        }
    }
}

/// The HTTP status of the answer, if there was one.
fn status(error: &ApiError) -> Option<u16> {
    match error {
        ApiError::RequestError(error) => match error.as_ref() {
            ureq::Error::StatusCode(status) => Some(*status),
            _ => None,
        },
        ApiError::TooManyRetries(error) => status(error),
        _ => None,
    }
}

/// Whether the name is `owner/name`, and not a path that happens to be missing.
pub(crate) fn is_hub_id(model: &str) -> bool {
    let part = |part: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed)
    };
    model.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}
