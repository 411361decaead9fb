//! `grpo-2048 play`: watch a game, or two programs on the same board.
//!
//! The games are played in the sandbox first. Then the recorded moves are replayed and shown.

mod contestant;
mod keys;
mod panel;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::arguments::{Flags, SourceArgs};
use crate::cli::opened::{arena, programs};
use crate::cli::said::{CliError, output};
use crate::metrics::Console;
use crate::seed::Seed;
use crate::shell;

use contestant::Contestant;
use keys::{Keys, Wish};
use panel::{Layout, Panel, frame};

/// Watch a program play one game on a coloured board, or two programs beside each other
///
/// Two programs start on the same board and get the same chance. A blank holds the games, q ends them. Without a terminal the last boards alone are printed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 play mine.py --seed 7 --delay-ms 20
  grpo-2048 play mine.py theirs.py
  grpo-2048 play runs/train-001               the best program of a run
  grpo-2048 play mine.py theirs.py | cat      how it ended, without watching")]
pub struct PlayArgs {
    /// Python files with a function strategy(board), one or two; the directory of a run for its best.py
    #[arg(value_name = "FILE.py", required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,
    /// Root of the board; `score` with this seed plays it as its first game
    #[arg(id = "games_root", long = "seed", value_name = "S", default_value_t = 0, help_heading = "Game")]
    seed: u64,
    /// Milliseconds between moves
    #[arg(long, visible_alias = "delay", value_name = "D", default_value_t = 60, help_heading = "Game")]
    delay_ms: u64,
    #[command(flatten)]
    source: SourceArgs,
}

impl PlayArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let files = programs::read_all(&self.files)?;
        let mut flags = Flags::default();
        flags.add("games", Some(1_u32)).add("parallel_rewards", Some(0_u32));
        let config = self.source.resolve(&flags, console)?;
        if !self.source.chooses("environment.env", &flags)? {
            programs::require_of(&config.environment.env, &files)?;
        }
        let arena = arena::open(&config, console)?;
        if !arena.environment().labels().has_tiles() {
            let name = &config.environment.env;
            return Err(CliError::user_hint(
                format!(
                    "environment.env = {name}: `play` shows boards of 2048, and {} has none",
                    arena.environment().name()
                ),
                format!("grpo-2048 score --env {} says how programs do there", shell::quoted(name)),
            ));
        }
        let wait = console.wait("playing");
        let seeds = Seed::root(self.seed).games(1);
        let entry = arena.environment().entry(seeds[0].into());
        let programs = files.iter().map(|file| (file.program(&entry), seeds.as_slice()));
        let evaluations = arena.evaluate_all(programs, &mut |_, _| ()).map_err(CliError::run)?;
        drop(wait);
        let budget_fuel = config.sandbox.game_seconds * grpo_sandbox::FUEL_PER_SECOND as f64;
        let played = files.iter().zip(&evaluations);
        let contestants: Vec<Contestant> =
            played.map(|(file, evaluation)| Contestant::new(&file.path, evaluation, budget_fuel)).collect();
        show(&contestants, Duration::from_millis(self.delay_ms))?;
        output::tell(&result(&contestants))
    }
}

/// Shows every move on a terminal with room for it, and the last boards elsewhere.
fn show(contestants: &[Contestant], delay: Duration) -> Result<(), CliError> {
    let mut panels: Vec<Panel<'_>> = contestants.iter().map(Panel::new).collect();
    let terminal = console::Term::stdout();
    let (rows, columns) = terminal.size();
    let layout = Layout::fit(panels.len(), columns.into(), rows.into()).filter(|_| terminal.is_term());
    let Some(layout) = layout else {
        for panel in &mut panels {
            while panel.step() {}
        }
        return output::print(&frame(&panels, Layout::PLAIN));
    };
    let mut keys = Keys::open();
    if keys.are_there() {
        output::print("space: hold and go on, q: end\n")?;
    }
    let mut text = frame(&panels, layout);
    output::print(&text)?;
    loop {
        let moved = panels.iter_mut().fold(false, |moved, panel| panel.step() | moved);
        if !moved {
            return Ok(());
        }
        match keys.wait(delay) {
            Wish::GoOn => {}
            Wish::Leave => return Ok(()),
            Wish::Interrupt => return Err(CliError::Interrupted),
        }
        // The frame is overwritten and not cleared, so that nothing flickers.
        terminal.move_cursor_up(text.lines().count()).map_err(CliError::run)?;
        text = frame(&panels, layout);
        output::print(&text)?;
    }
}

/// The figures of each game, and who is ahead of two.
fn result(contestants: &[Contestant]) -> String {
    let [first, second] = contestants else {
        return contestants.iter().map(|only| format!("{}: {}\n", only.name, only.result())).collect();
    };
    let width = first.name.chars().count().max(second.name.chars().count());
    let line = |contestant: &Contestant| format!("{:<width$}  {}\n", contestant.name, contestant.result());
    let mut text = format!("\n{}{}", line(first), line(second));
    if let (Ok(left), Ok(right)) = (&first.played, &second.played) {
        let (ahead, more, less) = match left.score >= right.score {
            true => (first, left.score, right.score),
            false => (second, right.score, left.score),
        };
        text.push_str(&match more - less {
            0.0 => "equal scores\n".to_owned(),
            difference => format!("{} is ahead by {difference}\n", ahead.name),
        });
    }
    text
}
