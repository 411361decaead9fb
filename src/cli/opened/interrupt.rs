//! Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop and save, the second ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::said::{CliError, INTERRUPTED};
use crate::metrics::Console;

/// Message of a run at the first Ctrl-C.
pub const AFTER_THIS_STEP: &str = "stopping after this step, with a checkpoint; Ctrl-C again ends at once";
/// Message of a command without checkpoints at the first Ctrl-C.
pub const SOON: &str = "stopping; Ctrl-C again ends at once";

/// A flag that Ctrl-C or a scheduler's signal sets; `words` are then printed.
pub fn stop_flag(console: &Console, words: &'static str) -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (flag, console) = (stop.clone(), console.clone());
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            #[expect(clippy::disallowed_methods, reason = "a second Ctrl-C asks for just that")]
            std::process::exit(i32::from(INTERRUPTED));
        }
        console.warn(words);
    })
    .map_err(CliError::run)?;
    Ok(stop)
}
