//! `grpo-2048 check`: can this environment be learnt, and can its reward be cheated?

mod grader;
mod kept;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use crate::arena::Rules;
use crate::cli::arguments::{Flags, SourceArgs, WorkerArgs};
use crate::cli::opened::{arena, reward_check};
use crate::cli::said::{CliError, findings, output};
use crate::config::Config;
use crate::environment::Environment;
use crate::environment::tasks::{Kind, Split, Task, Tasks};
use crate::metrics::{Console, Stream};
use crate::plural::counted;
use crate::preflight::{Form, Level, Report};

/// Exit code where something has to be mended.
const PROBLEMS: u8 = 2;

/// Check tasks or a game before training: do references earn all, and cheats nothing?
///
/// Runs the references of the environment, programs that do nothing, and programs that cheat, the way a run would judge
/// them. Each finding names the task, its line, and what can be done. `train` does the same before its first step.
///
/// With --grader somebody else's reward is asked instead, about the same programs: which cheats earn more than doing
/// nothing, and which references less than all? It runs outside of the sandbox, with the rights of its user.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 check --env tasks.jsonl   tasks of your own
  grpo-2048 check --env game.py       a game of your own
  grpo-2048 check --env tasks.jsonl --keep rest.jsonl   go on with those in order
  grpo-2048 check --env tasks.jsonl --json | jq '.findings[].level'
  grpo-2048 check --env tasks.jsonl --grader rewards.py:reward   another's reward

Exit codes:
  0  in order, warnings aside
  1  the check itself failed
  2  something has to be mended, or wrong input")]
pub struct CheckArgs {
    #[command(flatten)]
    flags: Flags,
    /// What to check: "2048", a .jsonl file of tasks, a .py file with a game, or a directory with env.toml
    #[arg(long, value_name = "E", help_heading = "What to check")]
    env: Option<String>,
    /// Somebody else's reward: a command, http://HOST/PATH, module:function or file.py:function
    #[arg(long, value_name = "G", help_heading = "What to check")]
    grader: Option<String>,
    /// Hand completions to the grader as lists of chat messages
    #[arg(long, requires = "grader", help_heading = "What to check")]
    grader_chat: bool,
    /// Seconds that the grader may take for a completion
    #[arg(long, value_name = "S", default_value_t = 30, requires = "grader", help_heading = "What to check", value_parser = clap::value_parser!(u32).range(1..=3600))]
    grader_seconds: u32,
    /// One JSON object with all findings instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Write the tasks without a problem to this file, and say which are left out
    #[arg(long, value_name = "FILE", conflicts_with = "grader", help_heading = "Output")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

/// The object of `--json`.
#[derive(Serialize)]
struct Checked<'a> {
    env: &'a str,
    level: Level,
    #[serde(flatten)]
    report: &'a Report,
}

impl CheckArgs {
    pub fn run(self, console: &Console) -> Result<ExitCode, CliError> {
        let started = Instant::now();
        let (config, environment) = self.opened(console)?;
        // The sandbox's own time is that of references which compute answers.
        let has_tasks = environment.tasks().is_some();
        self.source.tell_idle(if has_tasks { "check --env TASKS" } else { "check" }, console);
        if let Some(grader) = &self.grader {
            let form = if self.grader_chat { Form::Chat } else { Form::Text };
            let each = Duration::from_secs(self.grader_seconds.into());
            let asked = grader::Auditing { grader, form, each, json: self.json };
            return grader::run(&asked, &config, environment, console).map(exit_code);
        }
        if let Some(target) = &self.keep {
            kept::check(target, &environment)?;
        }
        // References that give no answers are among the findings of the check below.
        let opened = arena::open_unchecked(&config, environment, console)?;
        let arena = opened.arena.under(Rules::training(&config));
        let report = reward_check::examine(&config, &arena, console).map_err(CliError::run)?;
        let (env, level) = (config.environment.env.as_str(), report.level());
        match self.json {
            true => output::json(&Checked { env, level, report: &report })?,
            false => {
                output::tell(&text(env, arena.environment(), &report, started.elapsed().as_secs_f64()))?;
            }
        }
        if let (Some(target), Environment::Tasks(tasks)) = (&self.keep, arena.environment()) {
            console.print(&kept::write(target, tasks, &report)?);
        }
        Ok(exit_code(level))
    }

    /// The environment with the configuration that a run in it would have. Where the built-in model cannot write its
    /// programs, that is the preset `llm`.
    fn opened(&self, console: &Console) -> Result<(Config, Environment), CliError> {
        let config = self.source.resolve(&self.flags, console)?;
        let environment = arena::environment(&config)?;
        if self.source.preset.is_some() || environment.suits_builtin_model() {
            return Ok((config, environment));
        }
        let source = SourceArgs { preset: Some("llm".to_owned()), ..self.source.clone() };
        // What became of the keys of a TRL file has been told above.
        Ok((source.layers(&self.flags)?.resolve()?, environment))
    }
}

fn exit_code(level: Level) -> ExitCode {
    if level == Level::Problem { ExitCode::from(PROBLEMS) } else { ExitCode::SUCCESS }
}

fn text(env: &str, environment: &Environment, report: &Report, seconds: f64) -> String {
    let mut text = format!("{}\n\n", Stream::Stdout.style().bold().apply_to(title(env, environment)));
    text.push_str(&findings::text(&findings::of_report(report, ""), output::columns()));
    text.push_str(&findings::chart(report));
    text.push_str(&format!("\n{} ({seconds:.1} s)\n", verdict(report)));
    text
}

/// The first line, which names what was checked.
fn title(env: &str, environment: &Environment) -> String {
    match environment {
        Environment::Tasks(tasks) => format!("{env}: {}", contents(tasks)),
        Environment::Script(game) => {
            format!("{env}: the game {}, reference players: {}", game.name(), game.references().len())
        }
        Environment::Evaluator(evaluator) => {
            let begins = if evaluator.initial().is_some() { "with" } else { "without" };
            format!("{env}: the evaluator {}, {begins} a program to begin with", evaluator.name())
        }
        Environment::Game2048 => "2048: the game, played natively".to_owned(),
    }
}

fn contents(tasks: &Tasks) -> String {
    let of = |is: fn(&Task) -> bool| tasks.tasks().iter().filter(|task| is(task)).count();
    let tests: usize = tasks.tasks().iter().map(|task| task.tests.len()).sum();
    let kinds = [
        (of(|task| matches!(task.kind, Kind::Function(_))), "function", "functions"),
        (of(|task| task.kind == Kind::Script), "whole program", "whole programs"),
        (of(|task| task.has_checker()), "with a checker", "with a checker"),
        (of(|task| task.split == Split::HeldOut), "held out", "held out"),
    ];
    let kinds = kinds.iter().filter(|(count, ..)| *count > 0);
    let kinds: Vec<String> =
        kinds.map(|&(count, one, many)| format!("{count} {}", if count == 1 { one } else { many })).collect();
    format!("{} ({}), {}", counted(tasks.tasks().len(), "task"), kinds.join(", "), counted(tests, "test"))
}

/// The last line, which says whether all is in order.
fn verdict(report: &Report) -> String {
    let count = |level| report.of_level(level).count();
    let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
    let warnings = if warnings > 0 { format!("; warnings: {warnings}") } else { String::new() };
    let words = match (problems, report.tasks) {
        (0, Some(tasks)) => format!("{} in order", counted(tasks.tasks, "task")),
        (0, None) => "the reward is in order".to_owned(),
        (_, Some(tasks)) if tasks.to_mend > 0 => {
            let in_order = tasks.tasks - tasks.to_mend;
            format!("{}: {in_order} in order, {} to mend", counted(tasks.tasks, "task"), tasks.to_mend)
        }
        (problems, _) => format!("problems: {problems}"),
    };
    let style = Stream::Stdout.style();
    let style = if problems == 0 { style.green() } else { style.red().bold() };
    style.apply_to(format!("{words}{warnings}")).to_string()
}
