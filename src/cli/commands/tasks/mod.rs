//! `grpo-2048 tasks`: files of tasks, converted from data sets or begun anew.

mod convert;
mod honeypot;
mod new;
mod show;

use clap::{Args, Subcommand};

use crate::cli::said::CliError;
use crate::metrics::Console;

/// Begin a file of tasks, convert one, show a task as a model sees it, or add honeypots
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 tasks new mine
  grpo-2048 tasks show mine
  grpo-2048 tasks convert mbpp.jsonl --output mbpp.tasks.jsonl
  grpo-2048 tasks honeypot mine")]
pub struct TasksArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Convert(convert::ConvertArgs),
    Honeypot(honeypot::HoneypotArgs),
    New(new::NewArgs),
    Show(show::ShowArgs),
}

impl TasksArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        match self.what {
            What::Convert(args) => args.run(),
            What::Honeypot(args) => args.run(console),
            What::New(args) => args.run(),
            What::Show(args) => args.run(console),
        }
    }
}
