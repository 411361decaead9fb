//! What can go wrong with a model: always with the thing, what was found and what was expected.

use std::path::PathBuf;

/// Why a model could not be loaded, run or saved.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A file that is not there or cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file whose content is damaged or is not what its name says.
    #[error("{path}: not a readable {format} file ({message}); fetch it again")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What it should be.
        format: &'static str,
        /// The reader's words.
        message: String,
    },
    /// A family of models this decoder does not cover.
    #[error("{path}: model_type `{found}` is not supported; supported: {supported}")]
    UnsupportedModel {
        /// The file that names the family.
        path: PathBuf,
        /// The family.
        found: String,
        /// What works.
        supported: String,
    },
    /// A model that is not all there.
    #[error("{path}: {missing}; {advice}")]
    Incomplete {
        /// The file or directory.
        path: PathBuf,
        /// What is missing.
        missing: String,
        /// What to do about it.
        advice: String,
    },
    /// A setting of the model's own configuration that cannot work.
    #[error("model configuration: {key} = {found}; expected {expected}")]
    Setting {
        /// Name in config.json.
        key: String,
        /// Its value.
        found: String,
        /// What is allowed.
        expected: String,
    },
    /// A tensor the configuration asks for and the weights have not.
    #[error("weights: `{name}` is missing; expected shape {expected:?}{hint}")]
    MissingTensor {
        /// Name of the tensor.
        name: String,
        /// Shape by the configuration.
        expected: Vec<usize>,
        /// What to look at, or empty.
        hint: String,
    },
    /// A tensor of another shape than the configuration says.
    #[error("weights: `{name}` has shape {found:?}; config.json asks for {expected:?}")]
    WrongShape {
        /// Name of the tensor.
        name: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape by the configuration.
        expected: Vec<usize>,
    },
    /// Numbers that no training gives and that cannot be computed with.
    #[error("weights: `{name}` holds numbers that are not finite; they have diverged")]
    NotFinite {
        /// Name of the tensor.
        name: String,
    },
    /// A tokenizer that can produce ids the model has no embedding for.
    #[error("tokenizer has {found} tokens, the model embeds {expected}; they do not belong together")]
    VocabularyMismatch {
        /// Size of the tokenizer.
        found: usize,
        /// `vocab_size` of the model.
        expected: usize,
    },
    /// A tokenizer or chat template that cannot be used.
    #[error("tokenizer: {message}")]
    Tokenizer {
        /// What is wrong.
        message: String,
    },
    /// An adapter that cannot be used.
    #[error("adapter: {message}")]
    Adapter {
        /// What is wrong.
        message: String,
    },
    /// A name that is nothing we can load.
    #[error(
        "model `{found}`: no such file or directory, and not a Hugging Face id; \
         expected `builtin`, a directory, a .gguf file or owner/name"
    )]
    UnknownModel {
        /// The name.
        found: String,
    },
    /// A model that could not be fetched.
    #[error("{model} (revision {revision}): {message}; {advice}")]
    Hub {
        /// Hugging Face id.
        model: String,
        /// Branch, tag or commit.
        revision: String,
        /// What is wrong.
        message: String,
        /// What to do about it.
        advice: String,
    },
    /// A sequence that does not fit.
    #[error("a sequence of {found} tokens does not fit: {expected} at most ({what})")]
    TooLong {
        /// Its length.
        found: usize,
        /// The limit.
        expected: usize,
        /// Which limit it is.
        what: &'static str,
    },
    /// Arguments of the model's functions that do not fit each other.
    #[error("{what}: found {found}, expected {expected}")]
    Argument {
        /// The argument.
        what: &'static str,
        /// Its value.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A device that is not there.
    #[error("device `{found}`: {reason}")]
    Device {
        /// What was asked for.
        found: String,
        /// Why it cannot be had.
        reason: String,
    },
    /// An error of the tensor library.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

impl PolicyError {
    /// An error of the file system at `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| PolicyError::File { path, source }
    }
}
