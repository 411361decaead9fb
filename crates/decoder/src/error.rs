//! Errors of models. Each one names the file or setting, what was found and what was expected.

use std::path::PathBuf;

/// Why a model could not be loaded, run or saved.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A file that is not there or cannot be read or written.
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    /// A file whose content is damaged or is not what its name says.
    #[error("{path}: not a readable {format} file ({message}); fetch it again")]
    Corrupt { path: PathBuf, format: &'static str, message: String },
    #[error("{path}: model_type `{found}` is not supported; supported: {supported}")]
    UnsupportedModel { path: PathBuf, found: String, supported: String },
    /// A model that is not all there.
    #[error("{path}: {missing}; {advice}")]
    Incomplete { path: PathBuf, missing: String, advice: String },
    /// A setting of the model's own configuration that cannot work.
    #[error("model configuration: {key} = {found}; expected {expected}")]
    Setting { key: String, found: String, expected: String },
    #[error("weights: `{name}` is missing; expected shape {expected:?}{hint}")]
    MissingTensor { name: String, expected: Vec<usize>, hint: String },
    #[error("weights: `{name}` has shape {found:?}; config.json asks for {expected:?}")]
    WrongShape { name: String, found: Vec<usize>, expected: Vec<usize> },
    #[error("{place}: `{name}` holds numbers that are not finite, as after a training that has diverged")]
    NotFinite { place: String, name: String },
    #[error("weights: `{name}` holds numbers that {format} does not reach; expected --dtype bf16 or f32")]
    Unfit { name: String, format: &'static str },
    #[error("tokenizer has {found} tokens, the model embeds {expected}; they do not belong together")]
    VocabularyMismatch { found: usize, expected: usize },
    /// A tokenizer or chat template that cannot be used.
    #[error("tokenizer: {message}")]
    Tokenizer { message: String },
    /// An adapter that cannot be used.
    #[error("adapter: {message}")]
    Adapter { message: String },
    /// An adapter whose tensors are not those of the model, or not those of its own settings.
    #[error("adapter: {message}")]
    AdapterTensors { message: String },
    #[error(
        "model `{found}`: no such file or directory, and not a Hugging Face id; \
         expected `builtin`, a directory, a .gguf file or owner/name"
    )]
    UnknownModel { found: String },
    /// A model that could not be fetched.
    #[error("{model} (revision {revision}): {message}; {advice}")]
    Hub { model: String, revision: String, message: String, advice: String },
    #[error("a sequence of {found} tokens does not fit: {expected} at most ({what})")]
    TooLong { found: usize, expected: usize, what: &'static str },
    /// Arguments of the model's functions that do not fit each other.
    #[error("{what}: found {found}, expected {expected}")]
    Argument { what: &'static str, found: String, expected: String },
    #[error("device `{found}`: {reason}")]
    Device { found: String, reason: String },
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

impl PolicyError {
    /// A setting of the model's own configuration that cannot work.
    pub(crate) fn setting(key: &str, found: impl ToString, expected: impl Into<String>) -> Self {
        PolicyError::Setting { key: key.into(), found: found.to_string(), expected: expected.into() }
    }

    /// Arguments of the model's functions that do not fit each other.
    pub(crate) fn argument(what: &'static str, found: impl ToString, expected: impl Into<String>) -> Self {
        PolicyError::Argument { what, found: found.to_string(), expected: expected.into() }
    }

    /// An error of the file system at `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| PolicyError::File { path, source }
    }
}
