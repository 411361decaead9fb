//! `grpo-2048 score`: how well do these programs play?

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::options::{Flags, SourceArgs, WorkerArgs};
use super::{CliError, output, playing};
use crate::arena::Evaluation;
use crate::environment::{Outcome, Points};
use crate::metrics::{Console, Stream};
use crate::reward::Rule;
use crate::seed::{Purpose, Seed};

/// Room for a reason in the table.
const REASON_WIDTH: usize = 60;

/// Play programs in the sandbox and print their scores
///
/// Each file holds a Python function `strategy(board)` that returns "W", "A", "S" or "D". All files play the same
/// boards. Scores depend on the file, the seed and the budget alone, never on the machine or the number of workers.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 score mine.py theirs.py --games 50
  grpo-2048 score *.py --json | jq -s 'sort_by(.mean_score)'")]
pub struct ScoreArgs {
    /// Python files
    #[arg(value_name = "FILE.py", required = true)]
    files: Vec<PathBuf>,
    /// Games each program plays
    #[arg(long, value_name = "K", default_value_t = 10, help_heading = "Games", value_parser = clap::value_parser!(u32).range(1..))]
    games: u32,
    /// Root of the boards
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = "Games")]
    seed: u64,
    /// One JSON object a line, in the order of the files, instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

impl ScoreArgs {
    /// Plays and prints.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let texts: Vec<String> = self.files.iter().map(|path| read_program(path)).collect::<Result<_, _>>()?;
        let mut flags = Flags::default();
        flags.add("games", Some(self.games)).add("parallel_rewards", self.workers.chosen());
        let config = self.source.resolve(&flags)?;
        let seeds = game_seeds(self.seed, config.arena.games);
        let arena = playing::open_arena(&config, console)?;

        let count = console.count(texts.len(), "programs");
        let mut done = 0;
        let mut on_evaluated = |_, _: &Evaluation| {
            done += 1;
            count.show(done, "");
        };
        let programs = texts.iter().map(|text| (arena.program(text, seeds[0].into()), seeds.as_slice()));
        let evaluations = arena.evaluate_all(programs, &mut on_evaluated).map_err(CliError::run)?;
        drop(count);

        let rule = Rule::new(&config.reward, arena.environment());
        let scored: Vec<Scored> = self
            .files
            .iter()
            .zip(&evaluations)
            .map(|(path, evaluation)| Scored::new(path, evaluation, &rule))
            .collect();
        if self.json { print_lines(&scored) } else { output::print(&table(&scored)) }
    }
}

/// The boards of `score` and `play`, which are the same.
pub fn game_seeds(root: u64, games: usize) -> Vec<Seed> {
    (0..games as u64).map(|game| Seed::root(root).child(Purpose::Game, game)).collect()
}

/// The text of a file that should hold a program.
pub fn read_program(path: &Path) -> Result<String, CliError> {
    if path.is_dir() {
        return Err(CliError::user_hint(format!("{}: is a directory", path.display()), "expected a Python file"));
    }
    let bytes =
        std::fs::read(path).map_err(|error| CliError::user_path(format!("{}: {error}", path.display()), path))?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        CliError::user_hint(
            format!("{}: not UTF-8 text, at byte {offset}", path.display()),
            "expected a Python file saved as UTF-8",
        )
    })
}

/// One line of `--json`.
#[derive(Serialize)]
struct Scored {
    file: String,
    verdict: &'static str,
    reason: Option<String>,
    reward: f32,
    mean_score: f64,
    max_tile: u32,
    games: Vec<Game>,
    /// Of everything above that must not depend on the machine.
    digest: String,
}

/// One game of a line of `--json`.
#[derive(Serialize)]
struct Game {
    seed: String,
    score: Points,
    max_tile: u32,
    moves: u32,
    ending: &'static str,
    fuel: u64,
    moves_text: String,
}

impl Scored {
    fn new(path: &Path, evaluation: &Evaluation, rule: &Rule) -> Scored {
        Scored {
            file: path.display().to_string(),
            verdict: evaluation.verdict.name(),
            reason: evaluation.verdict.reason(),
            reward: rule.score(evaluation).value,
            mean_score: evaluation.mean_score(),
            max_tile: evaluation.max_tile(),
            games: evaluation.games.iter().map(Game::new).collect(),
            digest: evaluation.digest(),
        }
    }
}

impl Game {
    fn new(outcome: &Outcome) -> Game {
        Game {
            seed: outcome.seed().map(|seed| seed.to_string()).unwrap_or_default(),
            score: Points(outcome.score),
            max_tile: outcome.max_tile(),
            moves: outcome.moves(),
            ending: outcome.ending.name(),
            fuel: outcome.fuel,
            moves_text: outcome.moves_text().to_owned(),
        }
    }
}

fn print_lines(scored: &[Scored]) -> Result<(), CliError> {
    for line in scored {
        let text = serde_json::to_string(line).map_err(CliError::run)?;
        output::print(&format!("{text}\n"))?;
    }
    Ok(())
}

fn table(scored: &[Scored]) -> String {
    let width = scored.iter().map(|line| line.file.chars().count()).max().unwrap_or(4).max(4);
    let bold = Stream::Stdout.style().bold();
    let header = format!(
        "{:<width$}  {:<8}  {:>8}  {:>6}  {:>6}  {:>6}  {:>6}  {}",
        "file", "verdict", "score", "+/-", "tile", "moves", "reward", "how games ended"
    );
    let mut text = format!("{}\n", bold.apply_to(header));
    for line in scored {
        let moves = line.games.iter().map(|game| u64::from(game.moves)).sum::<u64>() as f64;
        let moves = moves / line.games.len().max(1) as f64;
        let style = match line.verdict {
            "played" => Stream::Stdout.style().green(),
            "rejected" => Stream::Stdout.style().yellow(),
            _ => Stream::Stdout.style().red(),
        };
        text.push_str(&format!(
            "{:<width$}  {}  {:>8.0}  {:>6.0}  {:>6}  {:>6.0}  {:>6.3}  {}\n",
            line.file,
            style.apply_to(format!("{:<8}", line.verdict)),
            line.mean_score,
            standard_error(&line.games),
            line.max_tile,
            moves,
            line.reward,
            line.reason.as_deref().map_or_else(|| endings(&line.games), |reason| cut(reason, REASON_WIDTH))
        ));
    }
    text
}

/// `game_over 9, out_of_fuel 1`.
fn endings(games: &[Game]) -> String {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    games.iter().for_each(|game| *counts.entry(game.ending).or_default() += 1);
    let words: Vec<String> = counts.iter().map(|(ending, count)| format!("{ending} {count}")).collect();
    words.join(", ")
}

/// Standard error of the mean score; 0 for a single game.
fn standard_error(games: &[Game]) -> f64 {
    if games.len() < 2 {
        return 0.0;
    }
    let count = games.len() as f64;
    let mean = games.iter().map(|game| game.score.0).sum::<f64>() / count;
    let squares: f64 = games.iter().map(|game| (game.score.0 - mean).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

/// One line of at most `width` characters that cannot steer the terminal.
fn cut(text: &str, width: usize) -> String {
    let clean: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if clean.chars().count() <= width {
        return clean;
    }
    clean.chars().take(width - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(score: u32) -> Game {
        Game {
            seed: String::new(),
            score: Points(f64::from(score)),
            max_tile: 4,
            moves: 2,
            ending: "game_over",
            fuel: 1,
            moves_text: "WA".into(),
        }
    }

    #[test]
    fn the_standard_error_is_that_of_the_mean() {
        // 2, 4, 4, 4, 5, 5, 7, 9: sample variance 32/7, so the error of the mean is sqrt(32/7/8).
        let games: Vec<Game> = [2, 4, 4, 4, 5, 5, 7, 9].map(game).into();
        assert!((standard_error(&games) - (32.0_f64 / 56.0).sqrt()).abs() < 1e-12);
        assert_eq!(standard_error(&games[..1]), 0.0);
    }

    #[test]
    fn a_long_reason_is_cut_to_one_line() {
        assert_eq!(cut("line one\nline two", 60), "line one line two");
        assert_eq!(cut("abcdefgh", 6), "abc...");
    }
}
