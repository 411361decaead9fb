//! `grpo-2048 report`: runs as one page in a browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::cli::opened::interrupt;
use crate::cli::opened::runs::{self, report_error};
use crate::cli::said::{CliError, output};
use crate::hardware::GPU_FILE;
use crate::metrics::{Console, LAUNCHES_FILE, METRICS_FILE, TENSORBOARD_DIR};
use crate::report::{Follower, Refresh, RunReader, RunView, html};
use crate::train::run_dir::{
    BEST, CHECKPOINT, COMPLETIONS, CONFIG, DIFFERENCES, ELITES, ENDED, HALL_OF_FAME, LOCK, REPLAYS,
};

/// An `--output` that is no file.
const STDOUT: &str = "-";
/// Name of the page in the directory of a single run.
const PAGE: &str = "report.html";
/// What a run consists of, with its checkpoints; people put pages and tables of their own beside it.
const OWN: [&str; 13] = [
    COMPLETIONS, REPLAYS, DIFFERENCES, METRICS_FILE, LAUNCHES_FILE, HALL_OF_FAME, BEST, CONFIG, ENDED, ELITES,
    GPU_FILE, TENSORBOARD_DIR, LOCK,
];

/// Show runs as one self-contained HTML page
///
/// Learning curves with their intervals, verdicts and endings over time, the distribution of scores, the best programs,
/// and a board that replays logged games; of tasks, every program with its tests and the first that it failed; why
/// programs failed, and all completions to search, of which one run puts at most 4 MiB on the page (packed; a run of 200
/// steps of 64 takes 0.7). Several directories are compared: curves over each other, and a table of the settings in
/// which they differ. The page needs no network, and may be made while a run goes on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 report runs/train-001                  writes runs/train-001/report.html
  grpo-2048 report runs/train-001 runs/train-002   compares; writes report.html here
  grpo-2048 report runs/train-001 --follow --open  in the browser, as the run writes")]
pub struct ReportArgs {
    /// Directories that runs write to, or "latest"
    #[arg(value_name = "DIR", required = true)]
    runs: Vec<PathBuf>,
    /// Where to write the page; - is standard output
    #[arg(long, short, value_name = "FILE", conflicts_with = "follow", help_heading = "Page")]
    output: Option<PathBuf>,
    /// Serve the page on this machine (127.0.0.1) until Ctrl-C; it renews itself while the runs write
    #[arg(long, help_heading = "Page")]
    follow: bool,
    /// Port of --follow; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 2048, requires = "follow", help_heading = "Page")]
    port: u16,
    /// Open the page in the browser
    #[arg(long, help_heading = "Page")]
    open: bool,
}

/// Whether a file is a report, by the end of its title.
fn is_report(there: &[u8]) -> bool {
    let head = &there[..there.len().min(1 << 16)];
    let mark = " · grpo-2048</title>".as_bytes();
    head.starts_with(b"<!doctype html>") && head.windows(mark.len()).any(|part| part == mark)
}

impl ReportArgs {
    pub fn run(mut self, console: &Console) -> Result<(), CliError> {
        for run in &mut self.runs {
            *run = runs::named("report", run)?;
        }
        let mut readers = RunReader::open_all(&self.runs).map_err(report_error)?;
        if self.follow {
            return self.serve(readers, console);
        }
        let path = self.output_path();
        self.runs.iter().try_for_each(|run| refuse_part(run, &path))?;
        let named = format!("--output {}", path.display());
        output::refuse_other(&named, &path, is_report)?;
        let runs: Vec<RunView> =
            readers.iter_mut().map(RunReader::read_whole).collect::<Result<_, _>>().map_err(report_error)?;
        let page = html(&runs, Refresh::Never);
        let is_printed = path.as_os_str() == STDOUT;
        match is_printed {
            true => output::print(&page)?,
            false => output::write_file(named, &path, page.as_bytes())?,
        }
        for (run, note) in runs.iter().flat_map(|run| run.notes.iter().map(move |note| (run, note))) {
            let word = if run.warnings.contains(note) { "warning: " } else { "" };
            console.print(&format!("{word}{}: {note}", run.path));
        }
        if is_printed {
            return Ok(());
        }
        output::print(&format!("{}  ({} KiB)\n", path.display(), page.len().div_ceil(1024)))?;
        if self.open { open(&path.to_string_lossy()) } else { Ok(()) }
    }

    fn output_path(&self) -> PathBuf {
        match (&self.output, self.runs.as_slice()) {
            (Some(path), _) => path.clone(),
            (None, [only]) => only.join(PAGE),
            (None, _) => PathBuf::from(PAGE),
        }
    }

    fn serve(&self, readers: Vec<RunReader>, console: &Console) -> Result<(), CliError> {
        let stop = interrupt::stop_flag(console, interrupt::SOON)?;
        let mut follower = Follower::bind(self.port, readers).map_err(|error| {
            CliError::user_hint(format!("--port {}: {error}", self.port), "choose another, or 0 for a free one")
        })?;
        let address = format!("http://127.0.0.1:{}/", follower.port().map_err(CliError::run)?);
        output::print(&format!("{address}  (Ctrl-C ends it)\n"))?;
        if self.open {
            open(&address)?;
        }
        follower.serve(&stop).map_err(report_error)
    }
}

/// Refuses an `--output` over a file that `run` consists of.
pub fn refuse_part(run: &Path, output: &Path) -> Result<(), CliError> {
    let (Ok(run), Ok(target)) = (run.canonicalize(), output.canonicalize()) else { return Ok(()) };
    let part = target.strip_prefix(run).ok().and_then(|part| part.iter().next()?.to_str());
    match part.is_some_and(|part| OWN.contains(&part) || part.starts_with(CHECKPOINT)) {
        true => Err(CliError::user_hint(
            format!("--output {}: that is a file of the run itself", output.display()),
            "name another file",
        )),
        false => Ok(()),
    }
}

fn open(address: &str) -> Result<(), CliError> {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let address = if Path::new(address).is_relative() && !address.starts_with("http") {
        format!("./{address}")
    } else {
        address.to_owned()
    };
    let started = Command::new(program).arg(&address).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started
        .map(|_| ())
        .map_err(|error| CliError::user_hint(format!("--open: {program}: {error}"), format!("open {address} yourself")))
}
