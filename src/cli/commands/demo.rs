//! `grpo-2048 demo`: a model learns while one watches, and what to do next.

use std::path::Path;

use clap::{Args, FromArgMatches};

use super::{Cli, command};
use crate::cli::opened::peers::refuse_several;
use crate::cli::said::{CliError, output};
use crate::metrics::Console;
use crate::train::run_dir::{self, RunDirError};

/// Watch a model learn, in about two minutes, and see its report
///
/// Trains the built-in model for forty steps with short games (`--preset demo`), always with the same boards and chance,
/// writes the report, and says what to do next. Needs no network and no GPU.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 demo               writes runs/demo-001 and its report.html
  grpo-2048 demo --steps 20    half as long
  grpo-2048 train              the same model, all of its steps, a second a game")]
pub struct DemoArgs {
    /// Steps of training [default: 40]
    // An id of its own: that of the flag of `train` would show that command's default.
    #[arg(id = "demo_steps", long = "steps", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    steps: Option<u32>,
}

impl DemoArgs {
    pub fn run(self, console: &Console, commit: Option<&'static str>) -> Result<(), CliError> {
        // Each process would take a directory of its own.
        refuse_several("demo")?;
        let dir = run_dir::next_free(Path::new(run_dir::RUNS), "demo").map_err(refused)?;
        let run = dir.display().to_string();
        let steps = self.steps.map(|steps| steps.to_string());
        let steps = steps.iter().flat_map(|steps| ["--steps", steps]);
        let train =
            ["train", "--preset", "demo", "--seed", "1", "--output-dir", &run].into_iter().chain(steps).collect();
        for words in [train, vec!["report", &run]] {
            let matches = command().try_get_matches_from([vec!["grpo-2048"], words].concat());
            let typed = matches.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(CliError::run)?;
            typed.run(console, commit)?;
        }
        output::print(&next(&run))
    }
}

/// The user can go elsewhere; a full disk fails the run.
fn refused(error: RunDirError) -> CliError {
    let hint = "it writes below runs, where it is called: call it in another directory, or say `grpo-2048 train --preset \
                demo --output-dir DIR`";
    if error.is_user() { CliError::user_hint(error, hint) } else { CliError::run(error) }
}

fn next(run: &str) -> String {
    format!(
        "
what next
  look at it          {run}/report.html in a browser; {run}/best.py is the best program
  play its best       grpo-2048 play {run}
  all of the steps    grpo-2048 train
  tasks of your own   grpo-2048 tasks new mine; grpo-2048 check --env mine; grpo-2048 train --env mine --model M
  another trainer     grpo-2048 judge --env mine < completions.jsonl
"
    )
}
