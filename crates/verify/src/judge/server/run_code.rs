//! Request and answer of SandboxFusion's `/run_code`, for its existing clients.

use std::collections::BTreeMap;

use grpo_sandbox::{FUEL_PER_SECOND, Fault, HostError, Limits, SOURCE_MAX, Sandbox, ScriptRun};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::counted::Count;

/// Most seconds of the reference machine that a request may ask for.
pub(super) const SECONDS_MAX: f64 = 60.0;

/// Seed of a program's `random`, so that runs repeat.
pub(super) const SEED: u64 = 0;

/// What may stand before a program in a file: SandboxFusion writes one, of which CPython skips it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The end of the guest's words for more output than it keeps (`Output` in `sandbox/guest/streams.py`).
const TOO_MUCH_OUTPUT: &str = " bytes of output";

/// A request. Compiling is part of running a Python program, so `compile_timeout` has no effect.
#[derive(Debug, Deserialize)]
pub(super) struct RunCode {
    code: String,
    language: String,
    stdin: Option<String>,
    #[serde(default = "ten_seconds", deserialize_with = "seconds")]
    run_timeout: f64,
    #[serde(default = "no_limit", rename = "memory_limit_MB", deserialize_with = "whole")]
    memory_limit_mb: i64,
    #[serde(default)]
    files: Count,
    #[serde(default)]
    fetch_files: Count,
}

fn ten_seconds() -> f64 {
    10.0
}

pub(super) fn no_limit() -> i64 {
    -1
}

/// A number, which SandboxFusion takes as text and as true or false too.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<serde_json::Number, D::Error> {
    let found = serde_json::Value::deserialize(deserializer)?;
    let number = match &found {
        serde_json::Value::Number(number) => Some(number.clone()),
        serde_json::Value::String(text) => text.trim().parse().ok(),
        serde_json::Value::Bool(flag) => Some(i32::from(*flag).into()),
        _ => None,
    };
    number.ok_or_else(|| D::Error::custom(format!("found {found}; expected a number")))
}

pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = number(deserializer)?;
    number.as_f64().ok_or_else(|| D::Error::custom(format!("found {number}; expected a smaller number")))
}

/// A whole number, which SandboxFusion takes as `1024.0` too.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = number(deserializer)?;
    let float = || number.as_f64().filter(|float| float.fract() == 0.0).map(|float| float as i64);
    number.as_i64().or_else(float).ok_or_else(|| D::Error::custom(format!("found {number}; expected a whole number")))
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// A whole Python program.
    pub source: String,
    pub stdin: String,
    /// Fuel that it may use.
    pub fuel: u64,
    /// Memory that it asks for, in bytes; `None` means the server's limit.
    pub memory_bytes: Option<u64>,
}

pub type ScriptRunner = dyn Fn(&Job) -> Result<ScriptRun, HostError> + Send + Sync;

/// A runner in `sandbox`, with at most the memory of `limits`; the fuel is the job's.
pub(super) fn script_runner(sandbox: Sandbox, limits: Limits) -> Box<ScriptRunner> {
    Box::new(move |job| {
        let memory_bytes = job.memory_bytes.unwrap_or(u64::MAX).min(limits.memory_bytes);
        let limits = Limits { game_fuel: job.fuel, call_fuel: job.fuel, memory_bytes };
        sandbox.run(&job.source, &job.stdin, SEED, &limits)
    })
}

impl RunCode {
    /// The job of this request, or why this sandbox cannot run it.
    pub fn job(self) -> Result<Job, String> {
        if self.language != "python" {
            return Err(format!("language {:?}: this sandbox runs \"python\" alone", self.language));
        }
        if [self.files, self.fetch_files] != [Count(0); 2] {
            return Err("files, fetch_files: programs in this sandbox have no files; expected none".to_owned());
        }
        if self.run_timeout <= 0.0 {
            return Err(format!("run_timeout = {}; expected more than 0 seconds", self.run_timeout));
        }
        let mut source = self.code;
        if source.starts_with(BYTE_ORDER_MARK) {
            source.remove(0);
        }
        Ok(Job {
            source,
            stdin: self.stdin.unwrap_or_default(),
            fuel: (self.run_timeout.min(SECONDS_MAX) * FUEL_PER_SECOND as f64) as u64,
            memory_bytes: memory_bytes(self.memory_limit_mb),
        })
    }
}

/// The bytes of so many megabytes, of which 0 and less set no limit.
pub(super) fn memory_bytes(mb: i64) -> Option<u64> {
    u64::try_from(mb).ok().filter(|&mb| mb > 0).map(|mb| mb.saturating_mul(1 << 20))
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Answer {
    status: &'static str,
    message: String,
    /// Always absent, because Python programs are not compiled separately.
    compile_result: Option<RunResult>,
    run_result: Option<RunResult>,
    executor_pod_name: Option<String>,
    files: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RunResult {
    status: &'static str,
    /// Seconds of the reference machine, computed from the instructions, so that they are the same on every machine.
    execution_time: f64,
    return_code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl RunResult {
    /// The result of what printed this, and was ended by that fault if there is one.
    pub fn new(stdout: String, end: Option<&Fault>, fuel: u64) -> RunResult {
        let (status, return_code, stderr) = match end {
            None => ("Finished", Some(0), String::new()),
            Some(Fault::OutOfFuel { .. }) => ("TimeLimitExceeded", None, String::new()),
            Some(fault) => {
                let (code, stderr) = exit(fault);
                ("Finished", Some(code), stderr)
            }
        };
        let execution_time = fuel as f64 / FUEL_PER_SECOND as f64;
        RunResult { status, execution_time, return_code, stdout, stderr }
    }
}

impl Answer {
    /// The answer for a run of `source`. The output of a program that failed is empty, and so is the error output of one that did not:
    /// the sandbox keeps none.
    pub fn new(run: Result<ScriptRun, HostError>, source: &str) -> Answer {
        let run = match run {
            Ok(run) => run,
            Err(error) => return Answer::sandbox_error(error.to_string()),
        };
        let (stdout, end) = match run.printed {
            Ok(printed) => (printed, None),
            Err(fault) => (String::new(), Some(fault)),
        };
        let message = end.as_ref().and_then(|fault| own_limit(fault, source)).unwrap_or_default();
        let mut result = RunResult::new(stdout, end.as_ref(), run.fuel);
        if let Some(words) = end.as_ref().and_then(|fault| digits_as_words(fault, source)) {
            (result.return_code, result.stderr) = (Some(1), words);
        }
        let status = if result.return_code == Some(0) { "Success" } else { "Failed" };
        Answer { status, message, run_result: Some(result), ..Answer::default() }
    }

    /// The answer for a program that was not run.
    pub fn sandbox_error(message: String) -> Answer {
        Answer { status: "SandboxError", message, ..Answer::default() }
    }
}

/// What is told of a limit that is this sandbox's and not Python's, if that is what ended the program `source`.
fn own_limit(fault: &Fault, source: &str) -> Option<String> {
    let words = match fault {
        Fault::Raised { kind, message, .. } if kind == "OSError" => message,
        Fault::BadValue { found } => found,
        // It has no mistake in its syntax.
        Fault::NotCompiled { .. } if source.len() > SOURCE_MAX => {
            let found = source.len();
            return Some(format!(
                "this sandbox compiles {SOURCE_MAX} bytes of a program at most; this one has {found}"
            ));
        }
        _ => return None,
    };
    let (_, limit) = words.split_once("more than ")?;
    let bytes = limit.strip_suffix(TOO_MUCH_OUTPUT)?;
    Some(format!("this sandbox keeps {bytes} bytes of standard output at most; a program that prints more fails"))
}

/// The error output of `sys.exit("3")`, whose status is 1. The guest tells a text of digits and a number alike, so that the line
/// which left has to say what it was.
fn digits_as_words(fault: &Fault, source: &str) -> Option<String> {
    let Fault::Raised { kind, message, line, .. } = fault else { return None };
    if kind != "SystemExit" {
        return None;
    }
    let code: i32 = message.parse().ok()?;
    let left = line.and_then(|line| source.lines().nth((line as usize).checked_sub(1)?));
    let is_text = |left: &str| ['"', '\''].iter().any(|quote| left.contains(&format!("xit({quote}{message}{quote})")));
    // Who leaves with the number 0 has no fault.
    (code == 0 || left.is_some_and(is_text)).then(|| format!("{message}\n"))
}

/// The name of CPython's exception with this message for a program that does not compile, of which the guest tells the message alone.
fn syntax_error(message: &str) -> &'static str {
    const INDENTATION: [&str; 4] = [
        "unexpected indent",
        "expected an indented block after ",
        "unindent does not match any outer indentation level",
        "too many levels of indentation",
    ];
    if message == "inconsistent use of tabs and spaces in indentation" {
        return "TabError";
    }
    let is_indentation = INDENTATION.iter().any(|words| message.starts_with(words));
    if is_indentation { "IndentationError" } else { "SyntaxError" }
}

/// The last of Python's lines about an exception, which it names so.
fn traceback(line: u32, raised: &str) -> String {
    format!("Traceback (most recent call last):\n  File \"<program>\", line {line}\n{raised}")
}

/// The exit status and the error output that Python would give.
fn exit(fault: &Fault) -> (i32, String) {
    let (code, words) = match fault {
        Fault::NotCompiled { line, message } => {
            (1, format!("  File \"<program>\", line {line}\n{}: {message}", syntax_error(message)))
        }
        Fault::Raised { kind, message, .. } if kind == "SystemExit" => {
            // Of a status the system keeps eight bits.
            message.parse().map_or_else(|_| (1, message.clone()), |code: i32| (code & 0xff, String::new()))
        }
        Fault::Raised { full_name, message, line: Some(line), .. } => {
            // Python writes no colon after an exception without a message.
            let raised = if message.is_empty() { full_name.clone() } else { format!("{full_name}: {message}") };
            (1, traceback(*line, &raised))
        }
        Fault::OutOfMemory => (1, "MemoryError".to_owned()),
        Fault::StackOverflow { line: Some(line) } => {
            (1, traceback(*line, "RecursionError: maximum recursion depth exceeded"))
        }
        Fault::StackOverflow { line: None } => (1, "RecursionError".to_owned()),
        Fault::Raised { .. } | Fault::BadValue { .. } | Fault::OutOfFuel { .. } => (1, fault.to_string()),
    };
    (code, if words.is_empty() { words } else { words + "\n" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_the_indent_has_the_name_that_cpython_gives_it() {
        for (message, name) in [
            ("unexpected indent", "IndentationError"),
            ("expected an indented block after 'if' statement on line 1", "IndentationError"),
            ("unindent does not match any outer indentation level", "IndentationError"),
            ("inconsistent use of tabs and spaces in indentation", "TabError"),
            ("invalid syntax", "SyntaxError"),
        ] {
            let fault = Fault::NotCompiled { line: 2, message: message.to_owned() };
            assert_eq!(exit(&fault), (1, format!("  File \"<program>\", line 2\n{name}: {message}\n")));
        }
    }
}
