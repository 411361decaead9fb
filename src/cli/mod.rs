//! Commands: what the user typed becomes a configuration, a run, and an exit code.
//!
//! Results go to standard output, narration and the bar to standard error. Knows every part of the program and
//! decides nothing that a result depends on.

mod chance;
mod check;
mod completions;
mod config;
mod corpus;
mod doctor;
mod dry_run;
mod error;
mod eval;
mod export;
mod export_completions;
mod findings;
#[doc(hidden)]
pub mod for_bench;
mod gpu_watch;
mod interrupt;
mod judge;
mod launch;
mod loading;
mod man;
mod memory;
mod monitor;
mod near;
mod options;
mod output;
mod page;
mod parquet_table;
mod peers;
mod play;
mod playing;
mod preflight;
mod report;
mod runs;
mod score;
mod sft;
mod step_trace;
mod tasks;
mod terminal;
mod train;
mod unknown_flag;

use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use tracing_subscriber::EnvFilter;

pub use error::CliError;

use crate::metrics::Console;

/// What the program is called.
const NAME: &str = "grpo-2048";

/// What the program's exit says, at the end of a help.
const EXIT_CODES: &str = "Exit codes:
  0    done
  1    the run failed
  2    wrong input
  3    stopped by the guard: it can no longer learn
  130  interrupted, after a checkpoint";

/// What of the environment the program and its libraries read, at the end of the help.
const ENVIRONMENT: &str = "Environment:
  HF_TOKEN, HF_TOKEN_PATH         token of the Hugging Face Hub, or a file with it
  HF_HOME, HF_HUB_CACHE           where fetched models are kept (else XDG_CACHE_HOME)
  HF_ENDPOINT                     another address of the Hub
  HF_HUB_OFFLINE=1                fetch nothing (or TRANSFORMERS_OFFLINE=1)
  HTTPS_PROXY, NO_PROXY           how the Hub is reached
  GRPO_2048_CACHE                 where the compiled sandbox is kept
  RAYON_NUM_THREADS               threads of products on the CPU
  CANDLE_NUM_THREADS              threads of the tensor library's own pool (1)
  CUDA_VISIBLE_DEVICES            which GPUs there are
  RUST_LOG                        messages of the libraries, as in RUST_LOG=debug
  NO_COLOR, CLICOLOR_FORCE=1      no colour, colour in pipes too";

/// Teach a language model to write programs, by running them
///
/// A model writes Python functions that play 2048; each plays in a sandbox; the scores are the rewards, and the
/// rewards move the model (GRPO).
#[derive(Debug, Parser)]
#[command(name = NAME, version, max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = format!("Examples:
  grpo-2048 train              train the built-in model: good players in ten minutes, all steps in half an hour
  grpo-2048 score strategy.py  how well does this program play?
  grpo-2048 check --env tasks.jsonl  can your tasks be learnt, and their reward not be cheated?
  grpo-2048 doctor             is this machine ready?
  grpo-2048 COMMAND --help     every command has examples of its own

{ENVIRONMENT}

{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: Commands,
    #[command(flatten)]
    terminal: terminal::TerminalArgs,
}

#[derive(Debug, Subcommand)]
enum Commands {
    Train(Box<train::TrainArgs>),
    Sft(sft::SftArgs),
    Eval(eval::EvalArgs),
    Score(score::ScoreArgs),
    Judge(judge::JudgeArgs),
    Play(play::PlayArgs),
    Report(page::ReportArgs),
    Tasks(tasks::TasksArgs),
    Export(export::ExportArgs),
    ExportCompletions(export_completions::ExportCompletionsArgs),
    Check(check::CheckArgs),
    Doctor(doctor::DoctorArgs),
    Monitor(monitor::MonitorArgs),
    Config(config::ConfigArgs),
    Corpus(corpus::CorpusArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// All commands, as help, completions and manual pages describe them.
pub fn command() -> Command {
    Cli::command().mut_subcommands(options::with_defaults)
}

/// Runs the program on the arguments of the process. `commit` is what it was built from, where the build knows.
pub fn run(commit: Option<&'static str>) -> ExitCode {
    let cli: Cli = match parsed(command(), commit) {
        Ok(cli) => cli,
        Err(answered) => return answered,
    };
    let console = cli.terminal.console();
    start_logging(&console, cli.terminal.verbose);
    let done = match cli.command {
        Commands::Train(args) => args.run(&console, commit),
        Commands::Sft(args) => args.run(&console),
        Commands::Eval(args) => args.run(&console),
        Commands::Monitor(args) => args.run(&console),
        Commands::Score(args) => args.run(&console),
        Commands::Judge(args) => args.run(&console),
        Commands::Play(args) => args.run(&console),
        Commands::Report(args) => args.run(&console),
        Commands::Tasks(args) => args.run(),
        Commands::Export(args) => args.run(&console),
        Commands::ExportCompletions(args) => args.run(),
        Commands::Check(args) => return args.run(&console).unwrap_or_else(|error| error.report()),
        Commands::Doctor(args) => args.run(&console, commit),
        Commands::Config(args) => args.run(&console),
        Commands::Corpus(args) => args.run(),
        Commands::Completions(args) => args.run(),
        Commands::Man(args) => args.run(),
    };
    ended(done, &console)
}

/// The arguments of the process, as `command` reads them. What it cannot read, or asks for help alone, is answered and
/// gives what to exit with.
fn parsed<T: FromArgMatches>(command: Command, commit: Option<&'static str>) -> Result<T, ExitCode> {
    let typed: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    terminal::color(&typed);
    let version = commit.map(|commit| format!("{} ({commit})", env!("CARGO_PKG_VERSION")));
    let command = command.version(version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()));
    let parsed = command.clone().try_get_matches().and_then(|matches| T::from_arg_matches(&matches));
    parsed.map_err(|error| {
        if let Some(meant) = unknown_flag::meant(&error, &command, &typed) {
            return meant.report();
        }
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// What to exit with; an error is told.
fn ended(done: Result<(), CliError>, console: &Console) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // What still spins would write over the words.
            console.close();
            error.report()
        }
    }
}

/// Messages of the libraries, above the bars. `RUST_LOG` wins over `-v`.
fn start_logging(console: &Console, verbose: u8) {
    let level = ["warn", "info", "debug"][usize::from(verbose.min(2))];
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    // A subscriber that is set already is that of a test.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(console::colors_enabled_stderr())
        .without_time()
        .with_target(false)
        .with_writer(console.clone())
        .try_init();
}
