//! `grpo-2048 sft`: how the built-in model is made.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::Args;

use super::options::{Flags, SourceArgs};
use super::{CliError, interrupt, loading, output};
use crate::metrics::{Console, duration};
use crate::seed::Seed;
use crate::train::sft::{self, SftError, SftOptions, SftProgress};

/// Without a terminal, progress is a line every so many steps.
const LINE_STEPS: usize = 50;

/// Train the built-in model from nothing on generated programs
///
/// Writes a model directory in Hugging Face layout, which `train --model DIR` takes. A run that was stopped goes on
/// where it was when the same command is given again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 sft
  grpo-2048 sft --output-dir runs/small --total-tokens 2000000
  grpo-2048 train --model runs/sft")]
pub struct SftArgs {
    /// Where to write the model and its checkpoints
    #[arg(long, value_name = "DIR", default_value = "runs/sft", help_heading = "Run")]
    output_dir: PathBuf,
    /// Root of all chance
    #[arg(long, value_name = "S", help_heading = "Run")]
    seed: Option<u32>,
    /// Tokens seen in all
    #[arg(long, value_name = "N", help_heading = "Run")]
    total_tokens: Option<u32>,
    /// Peak learning rate
    #[arg(long, value_name = "F", help_heading = "Run")]
    sft_learning_rate: Option<f64>,
    /// "auto", "cpu", "cuda" or "cuda:N"
    #[arg(long, value_name = "D", help_heading = "Run")]
    device: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
}

impl SftArgs {
    /// Trains until the end or Ctrl-C.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let mut flags = Flags::default();
        flags
            .add("seed", self.seed)
            .add("total_tokens", self.total_tokens)
            .add("sft_learning_rate", self.sft_learning_rate)
            .add("device", self.device.clone());
        let config = self.source.resolve(&flags)?;
        let stop = interrupt::stop_flag(console, interrupt::AFTER_THIS_STEP)?;
        let options = SftOptions {
            seed: Seed::root(config.train.seed),
            output_dir: self.output_dir.clone(),
            device: loading::device(&config.model.device)?,
            config: config.sft,
        };
        let mut bar = None;
        let mut observe = |progress: &SftProgress| {
            let line = progress_line(progress);
            let bar = bar.get_or_insert_with(|| console.count(progress.steps, "steps"));
            bar.show(progress.step, &line);
            let due = progress.step == progress.steps || progress.step.is_multiple_of(LINE_STEPS);
            if let Some(loss) = progress.held_out_loss {
                console.print(&format!("step {}/{}  held-out loss {loss:.4}", progress.step, progress.steps));
            } else if due && !console.interactive() {
                console.print(&format!("step {}/{}  {line}", progress.step, progress.steps));
            }
            if stop.load(Ordering::SeqCst) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let summary = sft::run(&options, &mut observe).map_err(|error| match error {
            SftError::OtherRun { .. } => CliError::user(error),
            other => CliError::run(other),
        })?;
        drop(bar);
        if summary.interrupted {
            console.print(&format!("stopped at step {}; the same command goes on from there", summary.steps));
            return Err(CliError::Interrupted);
        }
        let dir = self.output_dir.display();
        output::print(&format!(
            "{} steps, {} tokens, held-out loss {:.4}\nmodel  {dir}\ntry    grpo-2048 eval --model {dir}\n",
            summary.steps, summary.tokens, summary.held_out_loss
        ))
    }
}

fn progress_line(progress: &SftProgress) -> String {
    format!(
        "loss {:.4}  norm {:.2}  {:.0} tok/s  {} left",
        progress.loss,
        progress.grad_norm,
        progress.tokens_per_second,
        duration(progress.remaining.as_secs_f64())
    )
}
