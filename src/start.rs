//! How a process of the program begins: its allocator, threads and stack.

use std::backtrace::Backtrace;
use std::ffi::c_int;
use std::io::Write;
use std::process::ExitCode;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Training allocates and frees large tensors all the time; glibc gives each back to the kernel.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The backward pass walks the graph of a whole update recursively; 8 MiB do not hold a deep one.
const STACK_BYTES: usize = 64 << 20;

/// Threads of the tensor library's own pool, which waits by spinning: with more than one it takes half of the
/// processor from matrix products and games. Kernels and products share the cores by other means.
const TENSOR_THREADS: (&str, &str) = ("CANDLE_NUM_THREADS", "1");

/// Milliseconds until the allocator gives freed pages back to the kernel, by the header's number of the option; -1 is
/// never. An update frees what the next one asks for: giving it back and faulting it in again took a third of its time.
const PURGE_DELAY: (libmimalloc_sys::mi_option_t, i8) = (15, -1);

/// The command that gives them back after the allocator's own delay of a second: of many requests at once, little is used again.
const GIVES_BACK: &str = "judge";

/// Set by `make`; here and not in the library, so that a commit alone builds nothing else anew.
const COMMIT: Option<&str> = option_env!("GRPO_2048_COMMIT");

/// Whether a panic tells its backtrace.
const BACKTRACE: &str = "RUST_BACKTRACE";

/// Has panics tell their backtrace from here, where the user wants one. The standard library's own way holds a lock, which
/// an allocation that fails meanwhile takes once more: where the system refuses memory, the program would hang.
#[expect(clippy::disallowed_methods, reason = "the standard library reads it from the environment alone")]
fn tell_backtraces() {
    if std::env::var_os(BACKTRACE).is_none_or(|style| style == "0") {
        return;
    }
    // SAFETY: no other thread has been started that could read the environment meanwhile.
    unsafe { std::env::set_var(BACKTRACE, "0") };
    std::panic::set_hook(Box::new(|panic| complain(&format!("{panic}\n{}\n", Backtrace::force_capture()))));
}

/// Prints lines to standard error. Where they cannot be written, the exit code still says how the program ended: a panic here
/// would be one inside a panic, which aborts.
fn complain(lines: &str) {
    let _ = std::io::stderr().lock().write_all(lines.as_bytes());
}

/// Runs `program`, which is told what commit it was built from where `make` has built it.
#[expect(clippy::disallowed_methods, reason = "the tensor library reads its threads from the environment alone")]
pub fn start(program: fn(Option<&'static str>) -> ExitCode) -> ExitCode {
    // Wherever the word stands, because flags may come first: a file of this name costs another command no more than time.
    if std::env::args_os().all(|word| word != GIVES_BACK) {
        // SAFETY: sets a number that the allocator reads.
        unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY.0, PURGE_DELAY.1.into()) };
    }
    if std::env::var_os(TENSOR_THREADS.0).is_none() {
        // SAFETY: no other thread has been started that could read the environment meanwhile.
        unsafe { std::env::set_var(TENSOR_THREADS.0, TENSOR_THREADS.1) };
    }
    tell_backtraces();
    outlive_file_limits();
    let thread = std::thread::Builder::new().name("grpo-2048".into()).stack_size(STACK_BYTES);
    match thread.spawn(move || program(COMMIT.filter(|commit| !commit.is_empty()))) {
        Ok(running) => running.join().unwrap_or(ExitCode::FAILURE),
        Err(error) => {
            complain(&format!("error: cannot start a thread: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Lets a write beyond the limit on file sizes (`ulimit -f`) fail as any other does: its signal would end the program without a word.
/// The signal is caught, because programs that are started inherit what is blocked or ignored, and not what is caught.
fn outlive_file_limits() {
    extern "C" fn nothing(_: c_int) {}
    let caught = SigAction::new(SigHandler::Handler(nothing), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing. Of a signal that may be caught nothing is refused.
    let _ = unsafe { sigaction(Signal::SIGXFSZ, &caught) };
}
