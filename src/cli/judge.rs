//! `grpo-2048 judge`: rewards for the completions of anybody's trainer.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::options::{Flags, SourceArgs, WorkerArgs};
use super::score::game_seeds;
use super::{CliError, playing};
use crate::judge::{Judge, Judgement, LinesError, judge_lines};
use crate::metrics::Console;

/// What stands for standard input.
const STDIN: &str = "-";

/// Judge completions of another trainer: JSON lines in, rewards out
///
/// Each line is {"id": "...", "completion": "..."}: the task (in a game, any name) and what a policy wrote. Each line out is
/// {"id", "reward", "verdict", "passed", "tests", "score", "fuel", "parts", "reason"}, in the order of the input, as soon
/// as it and all before it are judged; input may be endless. A line that is no item ends it with exit code 2; it never
/// earns a reward. Rewards depend on the completion, the environment and the settings alone.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 judge completions.jsonl > rewards.jsonl
  grpo-2048 judge --env tasks.jsonl --parallel-rewards 16 < completions.jsonl
  grpo-2048 judge --env tasks.jsonl --set reward.tests=all -")]
pub struct JudgeArgs {
    /// JSON lines; - is standard input
    #[arg(value_name = "FILE", default_value = STDIN)]
    file: PathBuf,
    /// What completions were written for: "2048", a file of tasks, a game, or a directory
    #[arg(long, value_name = "E", help_heading = "Judging")]
    env: Option<String>,
    /// Games each program plays, where there are no tasks
    #[arg(long, value_name = "K", default_value_t = 10, help_heading = "Judging", value_parser = clap::value_parser!(u32).range(1..))]
    games: u32,
    /// Root of the games
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = "Judging")]
    seed: u64,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

impl JudgeArgs {
    /// Judges and prints.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let mut flags = Flags::default();
        flags.add("env", self.env).add("games", Some(self.games)).add("parallel_rewards", self.workers.chosen());
        let config = self.source.resolve(&flags)?;
        let (input, name) = open(&self.file, console)?;
        let games = game_seeds(self.seed, config.arena.games);
        let judge = Arc::new(Judge::new(playing::open_arena(&config, console)?, &config.reward, games));

        let mut stdout = io::stdout().lock();
        let judged = judge_lines(&judge, input, &name, &mut |judgement| print(&mut stdout, judgement));
        match judged {
            // A reader that has seen enough ends nothing badly.
            Err(LinesError::System { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error @ LinesError::Line { .. }) => Err(CliError::user(error)),
            judged => judged.map_err(CliError::run),
        }
    }
}

fn open(file: &Path, console: &Console) -> Result<(Box<dyn Read + Send>, String), CliError> {
    if file == Path::new(STDIN) {
        if io::stdin().is_terminal() {
            console.print("reading JSON lines from the terminal; Ctrl-D ends them");
        }
        return Ok((Box::new(io::stdin()), "stdin".to_owned()));
    }
    let name = file.display().to_string();
    if file.is_dir() {
        return Err(CliError::user_hint(format!("{name}: is a directory"), "expected a file of JSON lines"));
    }
    let opened = File::open(file).map_err(|error| CliError::user_path(format!("{name}: {error}"), file))?;
    Ok((Box::new(opened), name))
}

/// One line, at once: a trainer may wait for it before it sends the next.
fn print(output: &mut impl Write, judgement: &Judgement) -> io::Result<()> {
    let mut line = serde_json::to_vec(judgement)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}
