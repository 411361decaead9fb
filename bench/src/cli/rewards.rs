//! `grpo-2048-bench rewards`: the cost of a batch of rewards, compared with plain Python.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use cpu_time::ProcessTime;
use grpo_sandbox::Sandbox;

use crate::{Clocks, Python, Rewards, Table, WORDS, healthy};
use grpo_2048::arena::Rules;
use grpo_2048::cli::CliError;
use grpo_2048::cli::for_bench::{Flags, SourceArgs, output, playing};
use grpo_2048::config::Config;
use grpo_2048::environment::game2048::entry;
use grpo_2048::metrics::{Console, aligned};
use grpo_2048::plural::counted;
use grpo_2048::program::Program;
use grpo_2048::report::{LoggedCompletion, completion_files, read_completions};
use grpo_2048::seed::Seed;

/// The default interpreter to compare with.
const PYTHON: &str = "python3";

/// Time the rewards of one training step, beside the plain-Python way
///
/// A batch of different programs plays one game each, to its end: in the sandbox, interpreted, and as it is set to run
/// programs (compiled, unless the configuration says otherwise) inline and with 1, 2 and 8 workers; and, when there is a
/// python3, in a process a program, 8 at a time, and in one process where the calls of the programs alone are counted. Then
/// the same with a quarter of the programs spinning, each stopped after as many seconds on the wall, in a process, as a
/// game in the sandbox has of a reference core.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  grpo-2048-bench rewards\n  grpo-2048-bench rewards --rounds 1 --completions 16 --json"
)]
pub struct RewardsArgs {
    /// Programs of a batch
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(4..=4096))]
    completions: u32,
    /// Programs to measure with, those of a run: the different ones among its completions, the latest first
    #[arg(long, value_name = "RUN")]
    programs: Option<PathBuf>,
    /// How often everything is measured, in turn
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Root of the programs and their boards
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Interpreter to compare with [default: python3, if there is one]
    #[arg(long, value_name = "NAME")]
    python: Option<String>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArgs,
}

impl RewardsArgs {
    /// Measures and prints.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let config = self.source.resolve(&Flags::default(), console)?;
        let python = self.python(console)?;
        let cache = Sandbox::default_cache_dir().map_err(CliError::run)?;
        let (sandbox, _) = playing::open_sandbox(&cache, console)?;
        let sandbox = playing::in_tiers(&sandbox, &config.sandbox);
        let (count, seed) = (self.completions as usize, Seed::root(self.seed));
        let programs = match &self.programs {
            Some(run) => programs_of(run, count)?,
            None => healthy(count, seed),
        };
        let started = Instant::now();
        let wall = || started.elapsed();
        let cpu = || ProcessTime::now().as_duration();
        let rewards = Rewards {
            sandbox: &sandbox,
            rules: &Rules::new(&config.sandbox, &config.arena),
            timeout_s: config.sandbox.game_seconds,
            python: python.as_ref(),
            clocks: Clocks { wall: &wall, cpu: &cpu },
            programs: &programs,
            rounds: self.rounds as usize,
            seed,
        };
        console.print("measuring every way once a round, in turn");
        let bar = console.count(self.rounds as usize, "runs");
        let table = rewards.measure(&mut |done, total, words| bar.show_of(done, total, words));
        drop(bar);
        self.print(&table.map_err(CliError::run)?, &config, python.is_some())
    }

    /// The interpreter to compare with. An interpreter that the user named must exist; the default need not.
    fn python(&self, console: &Console) -> Result<Option<Python>, CliError> {
        let name = self.python.as_deref().unwrap_or(PYTHON);
        let found = Python::find(OsStr::new(name)).map_err(CliError::run)?;
        match (&found, &self.python) {
            (None, Some(name)) => Err(CliError::user_hint(
                format!("--python {name}: no Python 3 with `resource` and `fork` runs under this name"),
                "name another interpreter, or leave --python away to measure the sandbox alone",
            )),
            (None, None) => {
                console.print("no usable python3 found: the sandbox is measured alone, without ratios");
                Ok(None)
            }
            _ => Ok(found),
        }
    }

    fn print(&self, table: &Table, config: &Config, compared: bool) -> Result<(), CliError> {
        if self.json {
            let text = serde_json::to_string(table).map_err(CliError::run)?;
            return output::print(&format!("{text}\n"));
        }
        let cores = counted(std::thread::available_parallelism().map_or(1, usize::from), "core");
        let mut text = format!(
            "{}, one game each, of {} s where some spin; {} in turn on {cores}: median (lowest to highest)\n",
            counted(table.completions, "program"),
            config.sandbox.game_seconds,
            counted(table.rounds, "round")
        );
        if compared {
            text.push_str("ratio: how many times as long the first row of the same work takes\n");
        }
        text.push_str("changed: innocent programs whose verdict or score was not the same in every run of a way\n");
        text.push_str("stopped: innocent programs whose budget, or time on the wall, was up\n\n");
        text.push_str(&aligned(&table.cells(), WORDS, output::columns()));
        output::print(&text)
    }
}

/// The distinct programs of a run's completions, at most `most`, from the latest step backwards.
fn programs_of(run: &Path, most: usize) -> Result<Vec<String>, CliError> {
    let mut programs = Vec::new();
    let mut known = BTreeSet::new();
    for (_, path) in completion_files(run).map_err(CliError::run)?.iter().rev() {
        let (logged, _) = read_completions(path).map_err(CliError::run)?;
        let sources = logged.iter().map(LoggedCompletion::source);
        // Completions without the function are left out.
        let programs_here = sources.filter_map(|source| Program::from_text(&source, &entry()).ok());
        programs.extend(programs_here.map(|program| program.source().to_owned()).filter(|it| known.insert(it.clone())));
        if programs.len() >= most {
            break;
        }
    }
    programs.truncate(most);
    match programs.is_empty() {
        true => Err(CliError::user_hint(
            format!("--programs {}: no completions of programs for 2048", run.display()),
            "expected the directory of a run",
        )),
        false => Ok(programs),
    }
}
