//! `grpo-2048 score`: how well do these programs play, or which tests do they pass?

mod explain;
mod tasks;

use std::path::{Path, PathBuf};

use clap::Args;
use grpo_sandbox::Sandbox;
use serde::Serialize;

use crate::arena::{Arena, ArenaError, Evaluation};
use crate::cli::arguments::{Boards, Flags, SourceArgs, WorkerArgs};
use crate::cli::opened::arena;
use crate::cli::opened::programs::{self, ProgramFile};
use crate::cli::said::{CliError, output};
use crate::config::Config;
use crate::environment::tasks::Tasks;
use crate::environment::{Case, Labels, Outcome, Points, Verdict};
use crate::metrics::{Console, Stream, is_hidden, verdict_style, visible};
use crate::program::{Program, Rejection};
use crate::reward::Rule;
use crate::seed::Seed;
use crate::stats;
use explain::Subject;
use tasks::Attempt;

/// Characters of a reason in the table.
const REASON_WIDTH: usize = 60;

/// Run programs on the tests of tasks, or in games, and print what they come to
///
/// Of tasks (--env tasks.jsonl) a file is tried on the one that --task names, or on every one whose function it defines.
/// A game (--env game.py) asks for its own function. Without --env it is 2048: each file holds a Python function
/// `strategy(board)` that returns "W", "A", "S" or "D", and all files play the same boards. Results depend on the file, the
/// seed and the budget alone, never on the machine or the number of workers.
///
/// The table has the mean score of a program's games and, under +/-, the standard error of that mean.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 score mine.py theirs.py --games 50
  grpo-2048 score *.py --json | jq -s 'sort_by(.mean_score)'
  grpo-2048 score runs/train-001 mine.py                   the best of a run
  grpo-2048 score mine.py --explain                        why is it not compiled?
  grpo-2048 score mine.py --env tasks.jsonl --task add     which tests does it pass?")]
pub struct ScoreArgs {
    #[command(flatten)]
    flags: Flags,
    /// Python files, - for standard input, or directories of runs, for their best.py
    #[arg(value_name = "FILE.py", required = true)]
    files: Vec<PathBuf>,
    /// What the programs are for: "2048", a .jsonl file of tasks, a .py file with a game, or a directory with env.toml
    #[arg(long, value_name = "E", help_heading = "Programs")]
    env: Option<String>,
    /// The task that the programs solve, by its id
    #[arg(long, value_name = "ID", help_heading = "Programs")]
    task: Option<String>,
    /// Games each program plays [default: 10]
    #[arg(long, value_name = "K", help_heading = "Games", value_parser = clap::value_parser!(u32).range(1..))]
    games: Option<u32>,
    /// Root of the boards; 0 for the figures of the documents [default: drawn anew, and told]
    #[arg(id = "games_root", long = "seed", value_name = "S", help_heading = "Games")]
    seed: Option<u64>,
    /// "drawn": boards drawn anew; "published": those of --seed 0; or the digits of drawn ones, to play them again
    /// [default: drawn]
    #[arg(long, value_name = "B", help_heading = "Games", conflicts_with = "games_root", value_parser = Boards::parse)]
    boards: Option<Boards>,
    /// What runs the programs: compiled code where that is certain to do what CPython does (auto), that alone (compiled),
    /// or CPython (interpreter) [default: auto]
    #[arg(long, value_name = "T", help_heading = "Games", value_parser = ["auto", "compiled", "interpreter"])]
    tier: Option<String>,
    /// Say instead which programs are compiled, and which line or what at play keeps the others in the interpreter
    #[arg(long, conflicts_with_all = ["json", "tier"], help_heading = "Output")]
    explain: bool,
    /// One JSON object a line, in the order of the files, instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

impl ScoreArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let files = programs::read_all(&self.files)?;
        let config = self.source.resolve_on(arena::GAMES, &self.flags, console)?;
        self.source.tell_idle("score", console);
        if !self.source.chooses("environment.env", &self.flags)? {
            programs::require_of(&config.environment.env, &files)?;
        }
        let (arena, sandbox) = arena::open_with_sandbox(&config, console)?;
        let of_games = [("--games", self.games.is_some()), ("--seed", self.seed.is_some())];
        arena::refuse_on_tasks(&arena, &config, &[&of_games[..], &[("--boards", self.boards.is_some())]].concat())?;
        let bench = Bench { arena: &arena, sandbox: &sandbox, config: &config, console };
        match arena.environment().tasks() {
            Some(tasks) => self.on_tasks(tasks, &files, &bench),
            None => self.on_games(&files, &bench),
        }
    }

    fn on_tasks(&self, tasks: &Tasks, files: &[ProgramFile], bench: &Bench<'_>) -> Result<(), CliError> {
        let attempts = tasks::attempts(tasks, files, self.task.as_deref())?;
        if self.explain {
            return bench.explain(&attempts.into_iter().map(Attempt::subject).collect::<Vec<_>>());
        }
        let tried = tasks::tried(bench, &attempts)?;
        if self.json { tried.iter().try_for_each(output::json) } else { output::tell(&tasks::table(&tried)) }
    }

    fn on_games(self, files: &[ProgramFile], bench: &Bench<'_>) -> Result<(), CliError> {
        if self.task.is_some() {
            let message = format!("--task with --env {}", bench.config.environment.env);
            return Err(CliError::user_hint(message, "name a .jsonl file of tasks with --env"));
        }
        if self.explain {
            return bench.explain(&bench.subjects(files, Seed::root(self.seed.unwrap_or(0))));
        }
        let scored = match self.seed {
            Some(seed) => bench.played(files, Seed::root(seed))?,
            None => {
                let boards = self.boards.unwrap_or(Boards::Drawn);
                let salt = boards.salt()?;
                let scored = bench.played(files, Seed::root(0).salted(&salt))?;
                boards.tell(&salt, bench.console);
                scored
            }
        };
        let labels = bench.arena.environment().labels();
        if self.json { scored.iter().try_for_each(output::json) } else { output::tell(&table(&scored, labels)) }
    }
}

/// A program that could not be tried, by no doing of its own.
#[derive(Debug, thiserror::Error)]
#[error("{program}: not tried")]
struct Untried {
    program: String,
    source: ArenaError,
}

/// What every trial of programs needs.
struct Bench<'a> {
    arena: &'a Arena,
    /// The sandbox that the arena plays in.
    sandbox: &'a Sandbox,
    config: &'a Config,
    console: &'a Console,
}

impl Bench<'_> {
    /// Evaluates every program on its cases, and shows the progress. One that could not be tried is `named` by its number.
    fn evaluations<C: Copy + Into<Case>>(
        &self,
        programs: &[(Result<Program, Rejection>, &[C])],
        named: impl Fn(usize) -> String,
    ) -> Result<Vec<Evaluation>, CliError> {
        let count = self.console.count(programs.len(), "programs");
        let mut done = 0;
        let mut on_evaluated = |_, _: &Evaluation| {
            done += 1;
            count.show(done, "");
        };
        self.arena.evaluate_all(programs.iter().cloned(), &mut on_evaluated).map_err(|error| match error {
            ArenaError::Host { completion, .. }
            | ArenaError::TiersDiffer { completion, .. }
            | ArenaError::Panicked { completion, .. } => {
                CliError::run(Untried { program: named(completion), source: error })
            }
            error => CliError::run(error),
        })
    }

    /// The programs with their boards, for `--explain`.
    fn subjects<'a>(&self, files: &'a [ProgramFile], boards: Seed) -> Vec<Subject<'a>> {
        let seeds = boards.games(self.config.arena.games);
        let cases: Vec<Case> = seeds.iter().map(|&seed| seed.into()).collect();
        let entry = self.arena.environment().entry(cases[0]);
        let subject = |file: &'a ProgramFile| Subject {
            path: &file.path,
            program: file.program(&entry),
            cases: cases.clone(),
            task: None,
        };
        files.iter().map(subject).collect()
    }

    fn explain(&self, subjects: &[Subject<'_>]) -> Result<(), CliError> {
        output::tell(&explain::lines(self.sandbox, self.config, subjects)?)
    }

    /// Plays all files on the same boards.
    fn played(&self, files: &[ProgramFile], boards: Seed) -> Result<Vec<Scored>, CliError> {
        let seeds = boards.games(self.config.arena.games);
        let entry = self.arena.environment().entry(seeds[0].into());
        let program = |file: &ProgramFile| (file.program(&entry), seeds.as_slice());
        let named = |number: usize| files[number].path.display().to_string();
        let evaluations = self.evaluations(&files.iter().map(program).collect::<Vec<_>>(), named)?;
        let rule = Rule::new(&self.config.reward, self.arena.environment());
        let labels = self.arena.environment().labels();
        let scored = |(file, evaluation): (&ProgramFile, _)| Scored::new(&file.path, evaluation, &rule, labels);
        Ok(files.iter().zip(&evaluations).map(scored).collect())
    }
}

/// One line of `--json`.
#[derive(Serialize)]
struct Scored {
    file: String,
    verdict: Verdict,
    reason: Option<String>,
    reward: f32,
    mean_score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tile: Option<u32>,
    games: Vec<Game>,
    /// Digest of the evaluation, without what depends on the machine.
    digest: String,
}

/// One game of a line of `--json`.
#[derive(Serialize)]
struct Game {
    seed: String,
    score: Points,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tile: Option<u32>,
    moves: u32,
    ending: &'static str,
    fuel: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves_text: Option<String>,
}

impl Scored {
    fn new(path: &Path, evaluation: &Evaluation, rule: &Rule, labels: Labels) -> Scored {
        Scored {
            file: visible(&path.display().to_string()),
            verdict: evaluation.verdict(false),
            reason: evaluation.reason(),
            reward: rule.score(evaluation).value,
            mean_score: evaluation.mean_score(),
            max_tile: labels.has_tiles().then(|| evaluation.max_tile()),
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
            max_tile: outcome.board().map(|board| board.max_tile),
            moves: outcome.moves(),
            ending: outcome.ending.name(),
            fuel: outcome.fuel,
            moves_text: outcome.board().map(|board| board.moves_text.clone()),
        }
    }
}

fn table(scored: &[Scored], labels: Labels) -> String {
    let more = labels.finer(&scored.iter().map(|line| line.mean_score).collect::<Vec<_>>());
    let row = |line: &Scored| {
        let moves = line.games.iter().map(|game| u64::from(game.moves)).sum::<u64>() as f64;
        let moves = moves / line.games.len().max(1) as f64;
        let mut row = vec![line.file.clone(), coloured(line.verdict)];
        row.push(labels.written_finer(line.mean_score, more));
        row.push(match standard_error(&line.games) {
            Some(error) => labels.written_finer(error, more),
            None => output::NOTHING.to_owned(),
        });
        row.extend(labels.has_tiles().then(|| line.max_tile.unwrap_or(0).to_string()));
        row.extend([format!("{moves:.0}"), format!("{:.3}", line.reward)]);
        let reason = line.reason.as_deref().map(|reason| cut(reason, 2 * REASON_WIDTH));
        let ended = (!line.games.is_empty()).then(|| endings(&line.games));
        row.push(ended.into_iter().chain(reason).collect::<Vec<_>>().join("; "));
        row
    };
    let head = ["file", "verdict", "score", "+/-", "tile", "moves", "reward", "how games ended"];
    let head = head.into_iter().filter(|name| labels.has_tiles() || *name != "tile").map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(scored.iter().map(row)).collect();
    output::remarked(&rows, 2)
}

fn coloured(verdict: Verdict) -> String {
    verdict_style(verdict, Stream::Stdout).apply_to(verdict.name()).to_string()
}

/// `game_over 9, out_of_fuel 1`.
fn endings(games: &[Game]) -> String {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    games.iter().for_each(|game| *counts.entry(game.ending).or_default() += 1);
    let words: Vec<String> = counts.iter().map(|(ending, count)| format!("{ending} {count}")).collect();
    words.join(", ")
}

/// Standard error of the mean score, which a single game does not tell.
fn standard_error(games: &[Game]) -> Option<f64> {
    let variance = stats::variance(games.iter().map(|game| game.score.0));
    (games.len() > 1).then(|| (variance / games.len() as f64).sqrt())
}

/// One line of at most `width` columns, without control characters.
fn cut(text: &str, width: usize) -> String {
    let clean: String = text.chars().map(|letter| if is_hidden(letter) { ' ' } else { letter }).collect();
    console::truncate_str(&clean, width, "...").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(score: u32) -> Game {
        Game {
            seed: String::new(),
            score: Points(f64::from(score)),
            max_tile: Some(4),
            moves: 2,
            ending: "game_over",
            fuel: 1,
            moves_text: Some("WA".into()),
        }
    }

    #[test]
    fn the_standard_error_is_that_of_the_mean() {
        // 2, 4, 4, 4, 5, 5, 7, 9: sample variance 32/7, so the error of the mean is sqrt(32/7/8).
        let games: Vec<Game> = [2, 4, 4, 4, 5, 5, 7, 9].map(game).into();
        assert!((standard_error(&games).unwrap() - (32.0_f64 / 56.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_single_game_has_no_standard_error() {
        assert_eq!((standard_error(&[game(7)]), standard_error(&[])), (None, None));
        assert_eq!(standard_error(&[game(7), game(7)]), Some(0.0));
    }

    #[test]
    fn a_long_reason_is_cut_to_one_line() {
        assert_eq!(cut("line one\nline two", 60), "line one line two");
        assert_eq!(cut("abcdefgh", 6), "abc...");
        assert_eq!(cut("a\u{202e}b\u{200b}\u{2066}c\u{feff}", 60), "a b  c ");
    }
}
