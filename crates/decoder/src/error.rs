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
    /// A family of models this decoder does not cover.
    #[error("{path}: model_type `{found}` is not supported; supported: {supported}")]
    UnsupportedModel { path: PathBuf, found: String, supported: String },
    /// A model that is not all there.
    #[error("{path}: {missing}; {advice}")]
    Incomplete { path: PathBuf, missing: String, advice: String },
    /// A setting of the model's own configuration that cannot work.
    #[error("model configuration: {key} = {found}; expected {expected}")]
    Setting { key: String, found: String, expected: String },
    /// A tensor the configuration asks for and the weights have not.
    #[error("weights: `{name}` is missing; expected shape {expected:?}{hint}")]
    MissingTensor { name: String, expected: Vec<usize>, hint: String },
    /// A tensor of another shape than the configuration says.
    #[error("weights: `{name}` has shape {found:?}; config.json asks for {expected:?}")]
    WrongShape { name: String, found: Vec<usize>, expected: Vec<usize> },
    /// Numbers that no training gives and that cannot be computed with.
    #[error("{place}: `{name}` holds numbers that are not finite, as after a training that has diverged")]
    NotFinite { place: String, name: String },
    /// A tokenizer that can produce ids the model has no embedding for.
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
    /// A name that is nothing we can load.
    #[error(
        "model `{found}`: no such file or directory, and not a Hugging Face id; \
         expected `builtin`, a directory, a .gguf file or owner/name"
    )]
    UnknownModel { found: String },
    /// A model that could not be fetched.
    #[error("{model} (revision {revision}): {message}; {advice}")]
    Hub { model: String, revision: String, message: String, advice: String },
    /// A sequence that does not fit.
    #[error("a sequence of {found} tokens does not fit: {expected} at most ({what})")]
    TooLong { found: usize, expected: usize, what: &'static str },
    /// Arguments of the model's functions that do not fit each other.
    #[error("{what}: found {found}, expected {expected}")]
    Argument { what: &'static str, found: String, expected: String },
    /// A device that is not there.
    #[error("device `{found}`: {reason}")]
    Device { found: String, reason: String },
    /// An error of the tensor library.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

impl PolicyError {
    /// A setting of the model's own configuration that cannot work.
    pub(crate) fn setting(key: &str, found: impl ToString, expected: impl Into<String>) -> Self {
        PolicyError::Setting { key: key.into(), found: found.to_string(), expected: expected.into() }
    }

    /// An error of the file system at `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| PolicyError::File { path, source }
    }
}
