//! `grpo-2048 play`: watch one game.
//!
//! The game is played first, in the sandbox, and then shown: the moves on record replayed on the host's own board.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::options::{Flags, SourceArgs};
use super::{CliError, output, playing, score};
use crate::environment::{Game, Move, Outcome};
use crate::metrics::{Console, Stream, board_lines};
use crate::program::Program;

/// Lines a board takes on the screen, heading included.
const FRAME_LINES: usize = 5;

/// Watch a program play one game on a coloured board
///
/// Without a terminal the last board alone is printed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grpo-2048 play mine.py --seed 7 --delay-ms 20")]
pub struct PlayArgs {
    /// Python file with a function strategy(board)
    #[arg(value_name = "FILE.py")]
    file: PathBuf,
    /// Root of the board; `score` with this seed plays it as its first game
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = "Game")]
    seed: u64,
    /// Milliseconds between moves
    #[arg(long, value_name = "D", default_value_t = 60, help_heading = "Game")]
    delay_ms: u64,
    #[command(flatten)]
    source: SourceArgs,
}

impl PlayArgs {
    /// Plays, then shows.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let text = score::read_program(&self.file)?;
        let mut flags = Flags::default();
        flags.add("games", Some(1_u32)).add("parallel_rewards", Some(0_u32));
        let config = self.source.resolve(&flags)?;
        let arena = playing::open_arena(&config, console)?;
        let wait = console.wait("playing");
        let mut scoring = arena.begin();
        scoring.submit(0, Program::from_text(&text), &score::game_seeds(self.seed, 1));
        let evaluations = scoring.finish().map_err(CliError::run)?;
        drop(wait);
        let verdict = &evaluations[0].verdict;
        if let Some(reason) = verdict.reason() {
            return output::print(&format!("{}: {}: {reason}\n", self.file.display(), verdict.name()));
        }
        let outcome = &evaluations[0].games[0];
        if console::Term::stdout().is_term() {
            animate(outcome, Duration::from_millis(self.delay_ms))?;
        } else {
            output::print(&board_lines(&outcome.final_board, Stream::Stdout))?;
        }
        let share = outcome.fuel as f64 / (config.sandbox.game_seconds * grpo_sandbox::FUEL_PER_SECOND as f64);
        output::print(&format!(
            "{}: score {}, best tile {}, {} moves, {:.2} Gfuel ({:.0}% of the budget)\n",
            outcome.ending.name(),
            outcome.score,
            outcome.max_tile,
            outcome.moves,
            outcome.fuel as f64 / 1e9,
            100.0 * share
        ))
    }
}

/// Shows every move of a game on record.
fn animate(outcome: &Outcome, delay: Duration) -> Result<(), CliError> {
    let terminal = console::Term::stdout();
    let mut game = Game::new(outcome.seed);
    let mut last = ' ';
    for (number, letter) in std::iter::once(None).chain(outcome.moves_text.chars().map(Some)).enumerate() {
        if let Some(letter) = letter {
            let Some(direction) = Move::from_text(letter.encode_utf8(&mut [0; 4])) else { continue };
            game.play(direction);
            last = letter;
            std::thread::sleep(delay);
            terminal.clear_last_lines(FRAME_LINES).map_err(CliError::run)?;
        }
        let heading = format!("move {number:>4} {last}   score {}\n", game.score());
        output::print(&format!("{heading}{}", board_lines(&game.board().cells(), Stream::Stdout)))?;
    }
    Ok(())
}
