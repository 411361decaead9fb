//! `grpo-2048-bench`: what does it cost on this machine?

mod gauges;
mod model;
mod rewards;

use std::process::ExitCode;

use clap::{Command, CommandFactory, Parser, Subcommand};
use grpo_2048::cli::CliError;
use grpo_2048::cli::for_bench::{self, TerminalArgs};
use grpo_2048::metrics::Console;

/// Measure this machine
#[derive(Debug, Parser)]
#[command(name = "grpo-2048-bench", version, max_term_width = 110, subcommand_required = true)]
#[command(arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  grpo-2048-bench rewards\n  grpo-2048-bench generate --random-weights smollm2-135m"
)]
struct Cli {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    terminal: TerminalArgs,
}

#[derive(Debug, Subcommand)]
enum What {
    Rewards(rewards::RewardsArgs),
    Generate(model::GenerateArgs),
    Train(model::TrainBenchArgs),
}

/// The command-line interface.
pub fn command() -> Command {
    Cli::command()
}

/// Runs the program with the arguments of the process.
pub fn run(commit: Option<&'static str>) -> ExitCode {
    for_bench::run(command(), commit, |cli: &Cli| &cli.terminal, Cli::measure)
}

impl Cli {
    fn measure(self, console: &Console) -> Result<(), CliError> {
        match self.what {
            What::Rewards(args) => args.run(console),
            What::Generate(args) => args.run(console),
            What::Train(args) => args.run(console),
        }
    }
}
