//! Ctrl-C: the first asks the run to stop and save, the second ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::CliError;
use crate::metrics::Console;

/// Exit code of a program that was interrupted: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// A flag that Ctrl-C sets.
pub fn stop_flag(console: &Console) -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (flag, console) = (stop.clone(), console.clone());
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        console.print("stopping after this step, with a checkpoint; Ctrl-C again ends at once");
    })
    .map_err(CliError::run)?;
    Ok(stop)
}
