//! Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop and save, the second ends the program at once.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, Signal};

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

/// Keeps hangups from a process that was started with them ignored, as `nohup` does: the handler of Ctrl-C takes hangups too
/// and would heed them. They are blocked, which threads inherit, so this comes before all other threads.
pub fn keep_hangups_ignored() {
    // Where the system does not say, the process is as any other.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if is_ignored(&status, Signal::SIGHUP)
        && let Err(error) = SigSet::from(Signal::SIGHUP).thread_block()
    {
        eprintln!("warning: a hangup will end this process: {error}");
    }
}

/// Whether a process with this `/proc/self/status` ignores the signal.
fn is_ignored(status: &str, signal: Signal) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    ignored.is_some_and(|signals| (signals >> (signal as i32 - 1)) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_which_signals_are_ignored() {
        let status = |ignored: &str| format!("Name:\tgrpo-2048\nSigBlk:\t0000000000000001\n{ignored}\nSigCgt:\t0001");
        for (line, expected) in [
            ("SigIgn:\t0000000000001001", true),
            ("SigIgn:\t0000000000001000", false),
            ("SigIgn:\tx", false),
            ("", false),
        ] {
            assert_eq!(is_ignored(&status(line), Signal::SIGHUP), expected, "{line}");
        }
    }
}
