//! `grpo-2048 tasks`: files of tasks, converted from data sets or begun anew.

mod convert;
mod new;
mod rows;

use clap::{Args, Subcommand};

use crate::cli::said::CliError;

/// Write a file of tasks, or convert one
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 tasks new mine
  grpo-2048 tasks convert mbpp.jsonl --output mbpp.tasks.jsonl")]
pub struct TasksArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Convert(convert::ConvertArgs),
    New(new::NewArgs),
}

impl TasksArgs {
    pub fn run(self) -> Result<(), CliError> {
        match self.what {
            What::Convert(args) => args.run(),
            What::New(args) => args.run(),
        }
    }
}
