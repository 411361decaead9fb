//! `grpo-2048 bench`: what does it cost on this machine?

mod gauges;
mod model;
mod rewards;

use clap::{Args, Subcommand};

use super::CliError;
use crate::metrics::Console;

/// Measure this machine
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  grpo-2048 bench rewards\n  grpo-2048 bench generate --random-weights smollm2-135m"
)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Rewards(rewards::RewardsArgs),
    Generate(model::GenerateArgs),
    Train(model::TrainArgs),
}

impl BenchArgs {
    /// Measures and prints.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        match self.what {
            What::Rewards(args) => args.run(console),
            What::Generate(args) => args.run(console),
            What::Train(args) => args.run(console),
        }
    }
}
