//! Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop and save, a later one ends the program at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use parking_lot::Mutex;

use crate::cli::said::{CliError, INTERRUPTED, output};
use crate::metrics::Console;
use crate::train::run_dir::LOCK;

/// Signals within this time are one request: `timeout` sends one to the program and a moment later one to its group, and closing
/// terminals and schedulers send several.
const ONE_REQUEST: Duration = Duration::from_millis(500);
/// Message of a run at the first Ctrl-C.
const AFTER_THIS_STEP: &str = "stopping after this step, with a checkpoint; Ctrl-C again ends at once";
/// Message of a run of several processes at the first Ctrl-C before its first step.
const BEFORE_FIRST_STEP: &str =
    "stopping before the first step, when all processes are as far; Ctrl-C again ends at once";
/// The last message of a run that ends before its first step, and of a dry run that is interrupted.
pub const NOTHING_WRITTEN: &str = "interrupted before the first step: nothing has been written";
/// Message of a command without checkpoints at the first Ctrl-C.
pub const SOON: &str = "stopping; Ctrl-C again ends at once";

/// A flag that Ctrl-C or a scheduler's signal sets; `words` are then printed.
pub fn stop_flag(console: &Console, words: &'static str) -> Result<Arc<AtomicBool>, CliError> {
    let console = console.clone();
    flag_that_tells(move || console.warn(words))
}

/// How far a run is when a signal comes.
enum Phase {
    /// Before the first step, with the directory that the run makes to lock it, if it is known.
    Before(Option<PathBuf>),
    Steps,
    /// After the last step, when all is written, with what is said of what is left out.
    After(&'static str),
}

/// What the signals ask of a run. There is nothing to keep before its first step, and checking it takes a while: a run of one
/// process ends at once there, as it does after its last one. Others stop together, so that none waits for one that has left.
pub struct RunStop {
    asked: Arc<AtomicBool>,
    /// A signal holds it until it has done what it does, so that no run begins meanwhile.
    phase: Arc<Mutex<Phase>>,
}

impl RunStop {
    /// Heeds signals from now on; `is_alone`: whether the run has one process.
    pub fn new(console: &Console, is_alone: bool) -> Result<RunStop, CliError> {
        let phase = Arc::new(Mutex::new(Phase::Before(None)));
        let (console, reached) = (console.clone(), phase.clone());
        let end_saying = {
            let console = console.clone();
            move |words: &str| -> ! {
                console.warn(words);
                console.close();
                end()
            }
        };
        let tell = move || match (&*reached.lock(), is_alone) {
            (Phase::Steps, _) => console.warn(AFTER_THIS_STEP),
            (Phase::Before(_), false) => console.warn(BEFORE_FIRST_STEP),
            (Phase::Before(made), true) => {
                made.iter().for_each(|dir| remove_unused(dir));
                end_saying(NOTHING_WRITTEN)
            }
            (Phase::After(words), _) => end_saying(words),
        };
        Ok(RunStop { asked: flag_that_tells(tell)?, phase })
    }

    /// Has a directory that is not there yet removed again where the run ends before its first step.
    pub fn will_make(&self, dir: &Path) {
        if !dir.exists() {
            *self.phase.lock() = Phase::Before(Some(dir.to_owned()));
        }
    }

    pub fn flag(&self) -> &AtomicBool {
        &self.asked
    }

    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    pub fn begin(&self) {
        *self.phase.lock() = Phase::Steps;
    }

    /// Has signals end the program at once from now on, with these words: all is written that a run is there for.
    pub fn end_with(&self, words: &'static str) {
        *self.phase.lock() = Phase::After(words);
    }
}

/// Removes a directory in which there is nothing but a lock.
fn remove_unused(dir: &Path) {
    let entries = || fs::read_dir(dir).into_iter().flatten().flatten();
    if entries().all(|entry| entry.file_name() == LOCK) {
        // It may not be there yet; whatever else hinders it, a lock in a directory does no harm.
        let _ = fs::remove_file(dir.join(LOCK)).and_then(|()| fs::remove_dir(dir));
    }
}

/// A flag that the first request sets, which then calls `tell`.
fn flag_that_tells(tell: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || match first {
        Some(asked) if asked.elapsed() < ONE_REQUEST => {}
        Some(_) => end(),
        None => {
            first = Some(Instant::now());
            flag.store(true, Ordering::SeqCst);
            tell();
        }
    })
    .map_err(CliError::run)?;
    Ok(stop)
}

/// Ends the program from the thread that signals call.
#[expect(
    clippy::disallowed_methods,
    reason = "Ctrl-C again asks for just that, and a run has nothing to keep before it begins"
)]
fn end() -> ! {
    std::process::exit(i32::from(INTERRUPTED))
}

/// Keeps hangups from a process that was started with them ignored, as `nohup` does: the handler of Ctrl-C takes hangups too
/// and would heed them. They are blocked, which threads inherit, so this comes before all other threads.
pub fn keep_hangups_ignored() {
    // Where the system does not say, the process is as any other.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if is_ignored(&status, Signal::SIGHUP)
        && let Err(error) = SigSet::from(Signal::SIGHUP).thread_block()
    {
        output::complain(&format!("warning: a hangup will end this process: {error}\n"));
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
    fn a_directory_that_was_made_to_be_locked_is_removed_and_one_with_files_stays() {
        let root = tempfile::tempdir().unwrap();
        let [locked, filled] = ["locked", "filled"].map(|name| root.path().join(name));
        for dir in [&locked, &filled] {
            fs::create_dir(dir).unwrap();
            fs::write(dir.join(LOCK), "").unwrap();
        }
        fs::write(filled.join("state.json"), "{}").unwrap();
        for dir in [&locked, &filled, &root.path().join("none")] {
            remove_unused(dir);
        }
        assert!(!locked.exists() && filled.join(LOCK).exists());
    }

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
