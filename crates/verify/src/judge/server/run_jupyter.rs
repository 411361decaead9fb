//! Request and answer of SandboxFusion's `/run_jupyter`: the cells of a notebook, in one interpreter that keeps their state
//! to the end of the request.

use std::collections::BTreeMap;

use grpo_sandbox::{FUEL_PER_SECOND, Failure, Fault, FuelScope, HostError, Limits, Sandbox};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::counted::{Count, Texts};
use super::run_code::{RunResult, SECONDS_MAX, SEED, memory_bytes, no_limit, seconds, whole};

/// Defines `run_cell`.
const CELLS: &str = include_str!("cells.py");
/// Least seconds of a cell: the interpreter itself takes part of them to begin.
const CELL_SECONDS_MIN: f64 = 1.0;
/// Most cells of a request.
const CELLS_MAX: usize = 256;
/// Most bytes of JSON that the cells of a request tell together: whoever does not take an answer leaves it in memory.
const TOLD_BYTES_MAX: usize = 4 << 20;
/// Characters of the name and of the message of an exception that are kept where the rest is not.
const SHORT: usize = 200;

#[derive(Debug, Deserialize)]
pub(super) struct RunJupyter {
    cells: Texts<CELLS_MAX>,
    /// 0 is no limit of its own.
    #[serde(default, deserialize_with = "seconds")]
    cell_timeout: f64,
    #[serde(default = "forty_five_seconds", deserialize_with = "seconds")]
    total_timeout: f64,
    #[serde(default = "no_limit", rename = "memory_limit_MB", deserialize_with = "whole")]
    memory_limit_mb: i64,
    #[serde(default = "python3")]
    kernel: String,
    #[serde(default)]
    files: Count,
    #[serde(default)]
    fetch_files: Count,
}

fn forty_five_seconds() -> f64 {
    45.0
}

fn python3() -> String {
    "python3".to_owned()
}

/// Cells to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    /// The source of each.
    pub sources: Vec<String>,
    /// Fuel that one of them may use.
    pub cell_fuel: u64,
    /// Fuel that all of them may use.
    pub fuel: u64,
    /// Memory that they ask for, in bytes; `None` means the server's limit.
    pub memory_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellsRun {
    /// What each cell told, as JSON, or its fault. Cells after the end of the interpreter are missing.
    pub told: Vec<Result<String, Fault>>,
    /// What ended the interpreter before the last cell, if anything did.
    pub end: Option<Fault>,
    pub fuel: u64,
}

pub type CellRunner = dyn Fn(&Cells) -> Result<CellsRun, HostError> + Send + Sync;

/// A runner in `sandbox`, with at most the memory of `limits`; the fuel is that of the cells.
pub(super) fn cell_runner(sandbox: Sandbox, limits: Limits) -> Box<CellRunner> {
    let sandbox = sandbox.interpreting();
    Box::new(move |cells| {
        let memory_bytes = cells.memory_bytes.unwrap_or(u64::MAX).min(limits.memory_bytes);
        let limits = Limits { game_fuel: cells.fuel, call_fuel: cells.cell_fuel, memory_bytes };
        // All cells share an interpreter: that with numpy, if one of them names it.
        let numpy = cells.sources.iter().any(|source| source.contains("numpy"));
        let sandbox = if numpy { sandbox.with_numpy() } else { sandbox.clone() };
        let mut session = match sandbox.load(CELLS, SEED, &limits) {
            Ok(session) => session,
            Err(unloaded) => {
                let fault = program(unloaded.failure)?;
                return Ok(CellsRun { told: Vec::new(), end: Some(fault), fuel: unloaded.fuel });
            }
        };
        let (mut run, mut left) = (CellsRun { told: Vec::new(), end: None, fuel: 0 }, TOLD_BYTES_MAX);
        for (number, source) in (1..).zip(&cells.sources) {
            let told = session.call("run_cell", &json!([source, number]).to_string());
            let told = told.map(Ok).or_else(|failure| program(failure).map(Err))?;
            run.end = told.as_ref().err().filter(|_| session.is_spent()).cloned();
            run.told.push(told.map(|told| within(told, &mut left)));
            if run.end.is_some() {
                break;
            }
        }
        Ok(CellsRun { fuel: session.fuel_used(), ..run })
    })
}

/// What a cell told, where it is within what is `left`; otherwise how much was left out, with its exception in short.
fn within(told: String, left: &mut usize) -> String {
    if let Some(rest) = left.checked_sub(told.len()) {
        *left = rest;
        return told;
    }
    let bytes = told.len();
    let note = format!("... {bytes} bytes left out: the cells of a request tell {TOLD_BYTES_MAX} together at most");
    let short = |text: String| text.chars().take(SHORT).collect::<String>();
    let error = serde_json::from_str::<ToldCell>(&told).ok().and_then(|(.., error)| error);
    let error = error.map(|(name, message, _)| named(&short(name), short(message)));
    json!([note, "", null, error]).to_string()
}

/// The program's fault, if it is that.
fn program(failure: Failure) -> Result<Fault, HostError> {
    match failure {
        Failure::Program(fault) => Ok(fault),
        Failure::Host(error) => Err(error),
    }
}

impl RunJupyter {
    /// The cells of this request, or why this sandbox cannot run them.
    pub fn cells(self) -> Result<Cells, String> {
        if self.kernel != "python3" {
            return Err(format!("kernel {:?}: this sandbox runs \"python3\" alone", self.kernel));
        }
        if [self.files, self.fetch_files] != [Count(0); 2] {
            return Err("files, fetch_files: cells in this sandbox have no files; expected none".to_owned());
        }
        let (found, seconds) = (self.cells.found, self.total_timeout);
        if found > CELLS_MAX {
            return Err(format!("{found} cells; expected at most {CELLS_MAX}"));
        }
        if seconds <= 0.0 || self.cell_timeout < 0.0 {
            let found = format!("total_timeout = {seconds}, cell_timeout = {}", self.cell_timeout);
            return Err(format!("{found}; expected more than 0 seconds, and at least 0"));
        }
        let fuel = |seconds: f64| (seconds.min(SECONDS_MAX) * FUEL_PER_SECOND as f64) as u64;
        let cell = if self.cell_timeout == 0.0 { SECONDS_MAX } else { self.cell_timeout.max(CELL_SECONDS_MIN) };
        Ok(Cells {
            sources: self.cells.first,
            cell_fuel: fuel(cell),
            fuel: fuel(seconds),
            memory_bytes: memory_bytes(self.memory_limit_mb),
        })
    }
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Answer {
    status: &'static str,
    message: String,
    /// How the interpreter ended.
    driver: Option<RunResult>,
    cells: Vec<Cell>,
    executor_pod_name: Option<String>,
    files: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct Cell {
    stdout: String,
    stderr: String,
    display: Vec<Displayed>,
    error: Vec<Raised>,
}

#[derive(Debug, Serialize)]
struct Displayed {
    #[serde(rename = "text/plain")]
    text: String,
}

#[derive(Debug, Serialize)]
struct Raised {
    ename: String,
    evalue: String,
    #[serde(serialize_with = "as_lines")]
    traceback: String,
}

fn as_lines<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(text.lines())
}

/// What `run_cell` gives: two outputs, what is displayed, and the exception.
type ToldCell = (String, String, Option<String>, Option<(String, String, String)>);

impl Cell {
    fn new(told: Result<String, Fault>) -> Cell {
        let told = told.map(|told| serde_json::from_str::<ToldCell>(&told));
        let (stdout, stderr, display, error) = match told {
            Ok(Ok(told)) => told,
            // A cell has replaced what runs the cells.
            Ok(Err(error)) => (String::new(), String::new(), None, Some(named("ValueError", error.to_string()))),
            Err(fault) => (String::new(), String::new(), None, Some(of_fault(&fault))),
        };
        Cell {
            stdout,
            stderr,
            display: display.into_iter().map(|text| Displayed { text }).collect(),
            error: error.into_iter().map(|(ename, evalue, traceback)| Raised { ename, evalue, traceback }).collect(),
        }
    }
}

fn named(name: &str, message: String) -> (String, String, String) {
    (name.to_owned(), message.clone(), format!("{name}: {message}"))
}

/// The exception that stands for a fault that no program can catch.
fn of_fault(fault: &Fault) -> (String, String, String) {
    let name: &str = match fault {
        // In the words of the request, which knows of no calls and no games.
        Fault::OutOfFuel { scope } => {
            let words = match scope {
                FuelScope::Call => "the cell has used up its cell_timeout",
                FuelScope::Game => "the cells have used up their total_timeout",
            };
            return named("TimeoutError", words.to_owned());
        }
        Fault::OutOfMemory => "MemoryError",
        Fault::StackOverflow { .. } => "RecursionError",
        Fault::Raised { kind, .. } => kind,
        Fault::NotCompiled { .. } | Fault::BadValue { .. } => "ValueError",
    };
    named(name, fault.to_string())
}

impl Answer {
    pub fn new(run: Result<CellsRun, HostError>) -> Answer {
        let CellsRun { told, end, fuel } = match run {
            Ok(run) => run,
            Err(error) => return Answer::sandbox_error(error.to_string()),
        };
        let driver = RunResult::new(String::new(), end.as_ref(), fuel);
        let status = if end.is_none() { "Success" } else { "Failed" };
        let cells = told.into_iter().map(Cell::new).collect();
        Answer { status, driver: Some(driver), cells, ..Answer::default() }
    }

    /// The answer for cells that were not run.
    pub fn sandbox_error(message: String) -> Answer {
        Answer { status: "SandboxError", message, ..Answer::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_takes_too_long_says_which_of_the_two_times_is_used_up() {
        let told = |scope| of_fault(&Fault::OutOfFuel { scope });
        assert_eq!(told(FuelScope::Call), named("TimeoutError", "the cell has used up its cell_timeout".into()));
        assert_eq!(told(FuelScope::Game), named("TimeoutError", "the cells have used up their total_timeout".into()));
    }

    #[test]
    fn what_is_too_much_is_left_out_and_said_so_with_its_exception_in_short() {
        let told = json!(["x".repeat(900), "", "1", ["KeyError", "k".repeat(900), "t".repeat(900)]]).to_string();
        let mut left = told.len() + 20;
        assert_eq!(within(told.clone(), &mut left), told);
        let (note, err, shown, error): ToldCell = serde_json::from_str(&within(told.clone(), &mut left)).unwrap();
        assert!(note.starts_with(&format!("... {} bytes left out: ", told.len())), "{note}");
        let short = "k".repeat(SHORT);
        assert_eq!((err, shown, error), (String::new(), None, Some(named("KeyError", short))));
        let small = r#"["2\n","",null,null]"#;
        assert_eq!(
            (within(small.to_owned(), &mut left), left),
            (small.to_owned(), 20 - small.len()),
            "what fits is kept"
        );
        let (note, .., error): ToldCell = serde_json::from_str(&within("[1, 2, 3, 4]".into(), &mut 0)).unwrap();
        assert!(note.starts_with("... 12 bytes left out") && error.is_none(), "{note}");
    }
}
