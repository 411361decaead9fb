//! The two interpreters: one with numpy for programs that say its name or are to have it, one without for all others.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::HostError;
use crate::artifact::NUMPY;
use crate::engine::Interpreter;

/// Both, of which the one with numpy is opened for the first program that wants it.
pub(crate) struct Interpreters {
    plain: Arc<Interpreter>,
    numpy: Mutex<Option<Arc<Interpreter>>>,
    cache: PathBuf,
}

impl Interpreters {
    pub(crate) fn new(plain: Interpreter, cache: &Path) -> Interpreters {
        Interpreters { plain: Arc::new(plain), numpy: Mutex::default(), cache: cache.to_owned() }
    }

    /// Whether a program has been run with numpy.
    pub(crate) fn has_opened_numpy(&self) -> bool {
        self.numpy.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The interpreter without numpy.
    pub(crate) fn plain(&self) -> &Arc<Interpreter> {
        &self.plain
    }

    /// The interpreter with numpy.
    pub(crate) fn with_numpy(&self) -> Result<Arc<Interpreter>, HostError> {
        // Opening changes nothing before it has succeeded, so a panic in it leaves nothing half done.
        let mut opened = self.numpy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(numpy) = &*opened {
            return Ok(Arc::clone(numpy));
        }
        let on_compile = || tracing::warn!("compiling the Python sandbox with numpy, once: about 25 s");
        let numpy = Arc::new(Interpreter::of(&NUMPY, self.plain.engine.clone(), &self.cache, on_compile)?);
        *opened = Some(Arc::clone(&numpy));
        Ok(numpy)
    }
}

/// Whether a program gets the interpreter with numpy by its text, so that the choice is the same everywhere. One that
/// hides the word has no numpy, unless it is given it.
pub(crate) fn says_numpy(source: &str) -> bool {
    source.contains("numpy")
}
