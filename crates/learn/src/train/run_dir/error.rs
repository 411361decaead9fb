//! Why an output directory cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use crate::config::ConfigError;

#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    #[error(
        "--output-dir {path}: holds a run {with}; add --resume to go on with it, or choose another directory",
        with = if differing.is_empty() { "with this configuration".into() } else { format!("with another configuration ({})", differing.join(", ")) }
    )]
    Occupied {
        path: PathBuf,
        /// Keys that differ, with both values.
        differing: Vec<String>,
    },
    #[error("--output-dir {path}: is not empty and holds no run; choose an empty or new directory")]
    Foreign { path: PathBuf },
    #[error(
        "--output-dir {path}: is the word for the newest run; say ./{path} for a directory of that name, or choose another"
    )]
    Newest { path: PathBuf },
    #[error("--output-dir {path}: is no directory; choose an empty or new one")]
    NoDirectory { path: PathBuf },
    #[error("--output-dir {path}: {source}; choose a directory that can be written to")]
    NotWritable { path: PathBuf, source: io::Error },
    #[error("{path}: {source}; copy it to a directory that can be written to, and go on there")]
    ReadOnly { path: PathBuf, source: io::Error },
    #[error(
        "--resume {path}: no complete checkpoint there; start anew without --resume, in another directory if this one holds steps"
    )]
    NothingToResume { path: PathBuf },
    #[error("{path}: is no run: config.toml, in which a run records its settings, is missing")]
    NoRun { path: PathBuf },
    #[error("--resume {path}: the run was started with other settings: {differing}; drop them, or start a new run", differing = differing.join(", "))]
    Differs {
        path: PathBuf,
        /// Keys that differ, with both values.
        differing: Vec<String>,
    },
    #[error(
        "--resume {path}: {env} has changed since the run began: {}; put it back as it was, or start a new run, which \
         --model or --adapter lets begin with a checkpoint of this one",
        changed.join(", ")
    )]
    Changed {
        path: PathBuf,
        /// The name of the environment.
        env: String,
        /// Its files that have changed, with lines and digests, then and now.
        changed: Vec<String>,
    },
    #[error(
        "--resume {path}: the model {model} has changed since the run began: {}; {way_back}, or start a new run; \
         if what has changed does not matter, the run goes on without the lines \"model file ..\" of its config.toml",
        changed.join(", ")
    )]
    ChangedModel {
        path: PathBuf,
        /// The name of the model.
        model: String,
        /// Its files that have changed, with sizes and digests, then and now.
        changed: Vec<String>,
        /// How the run comes by the model as it was.
        way_back: String,
    },
    #[error("--resume {path}: no checkpoint there is whole: {}; start a new run", damaged.join("; "))]
    Damaged { path: PathBuf, damaged: Vec<String> },
    #[error("--output-dir {path}: was removed or replaced while the run was writing there; what it held is lost")]
    Gone { path: PathBuf },
    #[error(
        "--output-dir {path}: its .lock, which keeps other processes away, was removed or replaced while the run was writing there; \
         {way_on}",
        way_on = match newest.as_deref().and_then(Path::file_name) {
            Some(name) => format!("`--resume` goes on from {}", name.display()),
            None => "no checkpoint is there to go on from".to_owned(),
        }
    )]
    Unlocked {
        path: PathBuf,
        /// The newest checkpoint that is there.
        newest: Option<PathBuf>,
    },
    #[error(
        "--output-dir {path}: was moved while the run was writing there; `--resume` at its new place goes on from the \
         newest checkpoint"
    )]
    Moved { path: PathBuf },
    #[error(
        "--output-dir {path}: its file system has no locks ({source}), which keep two processes from writing one run; choose a directory on another one, or mount it with locks (Lustre: -o flock)"
    )]
    NoLocks { path: PathBuf, source: io::Error },
    #[error("{path}: another process is writing there")]
    Locked { path: PathBuf },
    #[error("{path}: the recorded configuration cannot be read: {source}")]
    Config { path: PathBuf, source: ConfigError },
    #[error(
        "{path}: has no [{section}], which every run records there; put the file back as it was, or start a new run, \
         which --model or --adapter lets begin with a checkpoint of this one"
    )]
    Cut { path: PathBuf, section: &'static str },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl RunDirError {
    /// Whether the user's input is at fault, and not the machine.
    pub fn is_user(&self) -> bool {
        !matches!(
            self,
            RunDirError::Io { .. }
                | RunDirError::Gone { .. }
                | RunDirError::Moved { .. }
                | RunDirError::Unlocked { .. }
        )
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| RunDirError::Io { path: path.to_owned(), source }
    }
}
