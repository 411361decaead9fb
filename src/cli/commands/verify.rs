//! `grpo-2048 verify`: were the rewards of this run the ones that its programs earn?

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::arena::{Arena, Evaluation, Rules};
use crate::cli::arguments::{Flags, SourceArgs, WorkerArgs};
use crate::cli::opened::arena;
use crate::cli::opened::runs::{self, report_error};
use crate::cli::said::{CliError, output};
use crate::config::Config;
use crate::environment::Case;
use crate::metrics::{Console, shortest};
use crate::plural::counted;
use crate::program::{Program, Rejection};
use crate::report::{LoggedCompletion, completion_files, read_completions};
use crate::reward::{Judged, Rule};
use crate::train::scoring::step_boards;

/// Differences that are printed.
const SHOWN: usize = 10;

/// Judge all completions of a run again and compare the rewards with those that it learnt from
///
/// A reward follows from the completion, the settings and the boards of its step, never from the machine. So anybody with
/// the directory of a run and its environment can find out whether its rewards were earned. A run that was resumed with
/// other settings, or whose tasks have changed since, differs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 verify runs/train-001                         every reward of the run
  grpo-2048 verify runs/train-001 --every 10              of every tenth step
  grpo-2048 verify runs/train-001 --json > certificate.json

Exit codes:
  0  all rewards are the same
  1  some are not, or the check itself failed
  2  wrong input")]
pub struct VerifyArgs {
    #[command(flatten)]
    flags: Flags,
    /// Directory that the run wrote to, or "latest"
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Judge only every N-th step, beginning with the first
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// One JSON object, the certificate, instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

/// What was found, and all that it depends on.
#[derive(Serialize)]
struct Certificate {
    run: String,
    env: String,
    steps: usize,
    completions: usize,
    /// Those whose reward and evaluation are the same as in the log.
    equal: usize,
    /// BLAKE3 of the logs that were read, in the order of their steps.
    completions_blake3: String,
    grpo_2048: &'static str,
    /// Sha256 of the interpreter that judged.
    interpreter_sha256: &'static str,
    differences: Vec<Difference>,
}

/// A completion whose reward or evaluation is another than in the log.
#[derive(Serialize)]
struct Difference {
    step: usize,
    index: usize,
    logged: f64,
    found: f64,
    /// Whether the evaluations differ: verdict, reason, games.
    evaluation: bool,
}

/// Completions whose rewards cannot be confirmed, by their number.
#[derive(Debug, thiserror::Error)]
#[error("{0} of {1} rewards are not the ones that this run learnt from")]
struct Unconfirmed(usize, usize);

impl VerifyArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let run = runs::named("verify", &self.run)?;
        let files: Vec<(usize, PathBuf)> = completion_files(&run).into_iter().step_by(self.every as usize).collect();
        if files.is_empty() {
            let words = format!("{}: no completions were logged", run.display());
            return Err(CliError::user_hint(words, "name the directory of a run, such as runs/train-001"));
        }
        let layers = self.source.layers_over(&runs::recorded_text(&run)?, &run, &self.flags)?;
        let config = layers.resolve()?;
        let arena = arena::open(&config, console)?.under(Rules::training(&config));
        let certificate = Verification { arena: &arena, config: &config, console }.of(&run, &files)?;
        match self.json {
            true => output::json(&certificate)?,
            false => output::print(&certificate.text())?,
        }
        let (equal, all) = (certificate.equal, certificate.completions);
        if equal == all { Ok(()) } else { Err(CliError::run(Unconfirmed(all - equal, all))) }
    }
}

/// What judges the completions of a run.
struct Verification<'a> {
    arena: &'a Arena,
    config: &'a Config,
    console: &'a Console,
}

impl Verification<'_> {
    fn of(&self, run: &Path, files: &[(usize, PathBuf)]) -> Result<Certificate, CliError> {
        let count = self.console.count(files.len(), "steps");
        let (mut logs, mut completions, mut differences) = (blake3::Hasher::new(), 0, Vec::new());
        for (done, (step, path)) in files.iter().enumerate() {
            count.show(done, "");
            logs.update(&fs::read(path).map_err(CliError::run)?);
            let (logged, unreadable) = read_completions(path).map_err(report_error)?;
            if unreadable > 0 {
                let words = format!("{}: {} cannot be read", path.display(), counted(unreadable, "line"));
                return Err(CliError::user(words));
            }
            completions += logged.len();
            differences.extend(self.step(*step, &logged)?);
        }
        drop(count);
        Ok(Certificate {
            run: run.display().to_string(),
            env: self.config.environment.env.clone(),
            steps: files.len(),
            completions,
            equal: completions - differences.len(),
            completions_blake3: logs.finalize().to_hex().to_string(),
            grpo_2048: env!("CARGO_PKG_VERSION"),
            interpreter_sha256: grpo_sandbox::SHA256,
            differences,
        })
    }

    /// The differences of a step.
    fn step(&self, step: usize, logged: &[LoggedCompletion]) -> Result<Vec<Difference>, CliError> {
        let entered = logged.iter().map(|one| self.entered(step, one)).collect::<Result<Vec<_>, _>>()?;
        let programs = entered.iter().map(|(program, cases)| (program.clone(), &cases[..]));
        let evaluations = self.arena.evaluate_all(programs, &mut |_, _| ()).map_err(CliError::run)?;
        let rule = Rule::new(&self.config.reward, self.arena.environment());
        let found = |(one, evaluation): (&LoggedCompletion, &Evaluation)| {
            let (logged, tokens) = earned(one);
            let tokens = Some((tokens, self.config.rollout.max_completion_length));
            let found = shortest(rule.score(Judged { evaluation, tokens }).value);
            let differs = evaluation.digest() != one.digest;
            let difference = Difference { step, index: one.index, logged, found, evaluation: differs };
            (differs || found != logged).then_some(difference)
        };
        Ok(logged.iter().zip(&evaluations).filter_map(found).collect())
    }

    /// The program of a completion, and what it was tried on.
    fn entered(
        &self,
        step: usize,
        logged: &LoggedCompletion,
    ) -> Result<(Result<Program, Rejection>, Vec<Case>), CliError> {
        let environment = self.arena.environment();
        let task = environment.tasks().map(|tasks| {
            let place = tasks.tasks().iter().position(|task| task.id == logged.style);
            place.map(|place| place as u32).ok_or_else(|| {
                let message =
                    format!("step {step}: the task `{}` is not in {}", logged.style, self.config.environment.env);
                CliError::user_hint(message, "judge the run with the tasks that it was trained on: --env FILE")
            })
        });
        let cases = environment.cases(task.transpose()?, &step_boards(self.config, step).1);
        // A prompt may have begun the program, and the log does not say so: the digest does.
        let read = [logged.source_of(&logged.completion), logged.completion.clone()]
            .map(|text| self.arena.program(&text, cases[0]));
        let is_it =
            |program: &Result<Program, Rejection>| program.as_ref().ok().map(Program::digest_text) == logged.program;
        let [first, second] = read;
        Ok((if is_it(&first) || !is_it(&second) { first } else { second }, cases))
    }
}

/// The reward of the program that was judged, and the tokens that were written up to its end: of a conversation, those of
/// the turn that counts.
fn earned(logged: &LoggedCompletion) -> (f64, usize) {
    let place = logged.turns.iter().rposition(|turn| turn.completion == logged.completion);
    let tokens = |place: usize| logged.turns[..=place].iter().map(|turn| turn.tokens).sum();
    place.map_or((logged.reward, logged.tokens), |place| (logged.turns[place].reward, tokens(place)))
}

impl Certificate {
    fn text(&self) -> String {
        let Certificate { run, equal, completions, completions_blake3, interpreter_sha256, .. } = self;
        let steps = counted(self.steps, "step");
        let mut text = format!(
            "{equal} of {} rewards of {run} ({steps}) recomputed, equal\n\
             completions  blake3 {completions_blake3}\n\
             judged by    grpo-2048 {}, interpreter sha256 {interpreter_sha256}\n",
            completions, self.grpo_2048
        );
        for one in self.differences.iter().take(SHOWN) {
            let why = if one.evaluation { "its evaluation differs" } else { "its evaluation is the same" };
            let Difference { step, index, logged, found, .. } = one;
            text.push_str(&format!("step {step}, completion {index}: {logged} in the log, {found} now; {why}\n"));
        }
        text
    }
}
