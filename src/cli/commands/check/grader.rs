//! `grpo-2048 check --grader`: can somebody else's reward be cheated?

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::arena::Rules;
use crate::cli::opened::arena;
use crate::cli::said::{CliError, findings, output};
use crate::config::Config;
use crate::environment::Environment;
use crate::metrics::{Console, Stream};
use crate::plural::counted;
use crate::preflight::{Audit, Earned, Form, Grader, Level, audit};

/// What a grader is, where one cannot be asked.
const FORMS: &str = "a grader is http://HOST/PATH, module:function or file.py:function with TRL's signature, or a command; \
    --grader-chat hands completions over as lists of messages";

/// The object of `--json`.
#[derive(Serialize)]
struct Audited<'a> {
    env: &'a str,
    grader: &'a str,
    level: Level,
    #[serde(flatten)]
    audit: &'a Audit,
}

/// How a grader was asked for.
pub struct Auditing<'a> {
    pub grader: &'a str,
    pub form: Form,
    /// Time for one completion.
    pub each: Duration,
    pub json: bool,
}

/// Audits a grader on the tasks of `environment`, prints what was found, and returns how serious it is.
pub fn run(
    asked: &Auditing<'_>,
    config: &Config,
    environment: Environment,
    console: &Console,
) -> Result<Level, CliError> {
    let started = Instant::now();
    let refused = |why: String| CliError::user_hint(format!("--grader {}: {why}", asked.grader), FORMS);
    if environment.tasks().is_none() {
        let why = format!("--grader with --env {}", config.environment.env);
        return Err(CliError::user_hint(why, "a grader is shown programs for tasks with tests, and a game has none"));
    }
    // Graders are told the answers of tests, some of which references compute.
    let opened = arena::open_unchecked(config, environment, console)?;
    let arena = opened.arena.under(Rules::training(config));
    let tasks = arena.environment().tasks().expect("looked at above");
    let wait = console.wait("starting the grader");
    let grader = Grader::open(asked.grader, asked.form, asked.each).map_err(refused)?;
    let told = |what, done, of| wait.say(format!("asking the grader: {what} {done}/{of}"));
    let audit = audit(tasks, &grader, &told).map_err(|error| refused(error.to_string()))?;
    drop(wait);
    let (env, level) = (config.environment.env.as_str(), audit.level());
    match asked.json {
        true => output::json(&Audited { env, grader: grader.name(), level, audit: &audit })?,
        false => output::tell(&text(env, grader.name(), &audit, started.elapsed().as_secs_f64()))?,
    }
    Ok(level)
}

fn text(env: &str, grader: &str, audit: &Audit, seconds: f64) -> String {
    let completions = counted(audit.completions, "completion");
    let title = format!("{env} through {grader}: {completions}");
    let mut text = format!("{}\n\n", Stream::Stdout.style().bold().apply_to(title));
    text.push_str(&findings::text(&findings::of_report(&audit.report, ""), output::columns()));
    let paid: Vec<&Earned> = audit.earned.iter().filter(|earned| earned.is_cheat && earned.paid > 0).collect();
    if !paid.is_empty() {
        let head = ["earns more than doing nothing", "reward", "nothing", "tasks"].map(str::to_owned).to_vec();
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(paid.into_iter().map(row)).collect();
        text.push_str(&format!("\n{}", output::aligned(&rows)));
    }
    let verdict = match audit.report.of_level(Level::Problem).count() {
        0 => Stream::Stdout.style().green().apply_to("nothing earns more than it should".to_owned()),
        problems => Stream::Stdout.style().red().bold().apply_to(format!("problems: {problems}")),
    };
    text.push_str(&format!("\n{verdict} ({seconds:.1} s)\n"));
    text
}

fn row(earned: &Earned) -> Vec<String> {
    let reward = |reward: Option<f64>| reward.map_or(output::NOTHING.to_owned(), |reward| format!("{reward:.2}"));
    vec![
        earned.attempt.to_owned(),
        reward(earned.reward),
        reward(earned.nothing),
        format!("{} of {}", earned.paid, earned.tasks),
    ]
}
