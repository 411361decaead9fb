//! The commands, a file or a folder each, with their arguments and what they do.

mod check;
mod completions;
mod config;
mod corpus;
mod demo;
mod doctor;
mod eval;
mod evolve;
mod export;
mod export_completions;
mod judge;
mod man;
mod monitor;
mod names;
mod play;
mod report;
mod score;
mod sft;
mod tasks;
mod train;
mod verify;

use std::process::ExitCode;

use clap::{Command, CommandFactory, Parser, Subcommand};

use crate::cli::arguments::{Defaults, TerminalArgs, with_defaults};
use crate::cli::said::CliError;
use crate::metrics::Console;
use names::{EXIT_CODES, NAME};

/// Environment variables that the program and its libraries read, at the end of the help.
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
/// A model writes programs in Python; each runs in a sandbox, on the tests of a task of yours or in a game; the results are
/// the rewards, and the rewards move the model (GRPO). The game that comes with it is 2048.
#[derive(Debug, Parser)]
#[command(name = NAME, version, max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = format!("Examples:
  grpo-2048 demo               watch a model learn, in about two minutes
  grpo-2048 train              train the built-in model: good players in ten minutes, all steps in half an hour
  grpo-2048 score strategy.py  how well does this program play?
  grpo-2048 check --env tasks.jsonl  can your tasks be learnt, and their reward not be cheated?
  grpo-2048 doctor             is this machine ready?
  grpo-2048 COMMAND --help     every command has examples of its own

{ENVIRONMENT}

{EXIT_CODES}"))]
pub struct Cli {
    #[command(subcommand)]
    command: Commands,
    #[command(flatten)]
    pub terminal: TerminalArgs,
}

#[derive(Debug, Subcommand)]
enum Commands {
    Demo(demo::DemoArgs),
    Train(Box<train::TrainArgs>),
    Sft(sft::SftArgs),
    Eval(eval::EvalArgs),
    Evolve(evolve::EvolveArgs),
    Score(score::ScoreArgs),
    Judge(judge::JudgeArgs),
    Play(play::PlayArgs),
    Report(report::ReportArgs),
    Tasks(tasks::TasksArgs),
    Export(export::ExportArgs),
    ExportCompletions(export_completions::ExportCompletionsArgs),
    Check(check::CheckArgs),
    Verify(verify::VerifyArgs),
    Doctor(doctor::DoctorArgs),
    Monitor(monitor::MonitorArgs),
    Config(config::ConfigArgs),
    Corpus(corpus::CorpusArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// All commands, as help, completions and manual pages describe them.
pub fn command() -> Command {
    // They are read once, because every command does this at every start.
    let defaults = Defaults::read();
    Cli::command().mut_subcommands(|command| with_defaults(command, &defaults))
}

impl Cli {
    /// Runs the command. `commit` is what the program was built from, where the build knows.
    pub fn run(self, console: &Console, commit: Option<&'static str>) -> Result<ExitCode, CliError> {
        let done = match self.command {
            Commands::Demo(args) => args.run(console, commit),
            Commands::Train(args) => args.run(console, commit),
            Commands::Sft(args) => args.run(console),
            Commands::Eval(args) => args.run(console),
            Commands::Evolve(args) => args.run(console),
            Commands::Monitor(args) => args.run(console),
            Commands::Score(args) => args.run(console),
            Commands::Judge(args) => args.run(console),
            Commands::Play(args) => args.run(console),
            Commands::Report(args) => args.run(console),
            Commands::Tasks(args) => args.run(console),
            Commands::Export(args) => args.run(console),
            Commands::ExportCompletions(args) => args.run(console),
            Commands::Check(args) => return args.run(console),
            Commands::Verify(args) => args.run(console),
            Commands::Doctor(args) => args.run(console, commit),
            Commands::Config(args) => args.run(console),
            Commands::Corpus(args) => args.run(),
            Commands::Completions(args) => args.run(),
            Commands::Man(args) => args.run(),
        };
        done.map(|()| ExitCode::SUCCESS)
    }
}
