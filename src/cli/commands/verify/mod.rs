//! `grpo-2048 verify`: were the rewards of this run the ones that its programs earn?

mod certificate;
mod figures;
mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use self::certificate::{Certificate, Difference, Missing, Place};
use self::line::{Found, Logged, is_of_today};
use crate::arena::{Arena, Evaluation, Rules};
use crate::cli::arguments::{Flags, SourceArgs, WorkerArgs};
use crate::cli::opened::arena;
use crate::cli::opened::runs::{self, report_error};
use crate::cli::said::{CliError, output};
use crate::config::Config;
use crate::environment::Case;
use crate::files::lines;
use crate::metrics::{Console, METRICS_FILE, shortest};
use crate::plural::counted;
use crate::program::Program;
use crate::report::{LoggedCompletion, LoggedTurn, ReportError, completion_files, parse_completions};
use crate::reward::{Judged, Rule};
use crate::seed::Seed;
use crate::train::Combined;
use crate::train::run_dir::ENDED;
use crate::train::scoring::step_boards;

/// What to do where the environment is not that of the run, or not where it was.
const OF_THE_RUN: &str = "judge the run with what it was trained on: --set environment.env=FILE";

/// Judge all completions of a run again and compare the rewards with those that it learnt from
///
/// A reward follows from the completion, the settings and the boards of its step, never from the machine. So anybody with
/// the directory of a run and its environment can find out whether its rewards were earned. A run that was resumed with
/// other settings, or whose tasks have changed since, differs. Completions that a step learnt from and that are no longer
/// there are missing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 verify runs/train-001                         every reward of the run
  grpo-2048 verify runs/train-001 --every 10              of every tenth step
  grpo-2048 verify runs/train-001 --json > certificate.json

Exit codes:
  0  all rewards are the same
  1  some are not, completions are missing or figures differ, or the check failed
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

/// An error of opening; one of the environment says how to name that of the run.
fn of_the_run(error: CliError) -> CliError {
    let is_of_env = matches!(&error, CliError::User { message, .. } if message.starts_with("--env "));
    match arena::without_flag(error) {
        CliError::User { message, hint: None } if is_of_env => CliError::user_hint(message, OF_THE_RUN),
        other => other,
    }
}

impl VerifyArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let run = runs::named("verify", &self.run)?;
        runs::require_directory("verify", &run)?;
        let steps: Vec<(usize, Kept)> =
            steps(&run).map_err(report_error)?.into_iter().step_by(self.every as usize).collect();
        if steps.is_empty() {
            let words = format!("{}: no completions were logged", run.display());
            let hint = match runs::is_search(&run) {
                true => format!("{}; `score` tries it, and `verify` takes a run of `train`", runs::OF_A_SEARCH),
                false => "name the directory of a run, such as runs/train-001".to_owned(),
            };
            return Err(CliError::user_hint(words, hint));
        }
        let layers = self.source.layers_over(&runs::recorded_text(&run)?, &run, &self.flags)?;
        let config = layers.resolve()?;
        let changed = runs::changed_environment(&run, &config.environment.env);
        if let Some(changed) = &changed {
            console.warn(&format!("warning: {changed}; what it judges otherwise by now has other rewards"));
        }
        let (arena, sandbox) = arena::open_with_sandbox(&config, console).map_err(of_the_run)?;
        let arena = arena.under(Rules::training(&config));
        let mut certificate = Verification {
            arena: &arena,
            rule: Rule::new(&config.reward, arena.environment()),
            config: &config,
            console,
        }
        .of(&run, &steps)?;
        certificate.environment_changed = changed;
        certificate.numpy_interpreter_sha256 = sandbox.has_opened_numpy().then_some(grpo_sandbox::NUMPY_SHA256);
        match self.json {
            true => output::json(&certificate)?,
            false => output::tell(&certificate.text())?,
        }
        let Some(unconfirmed) = certificate.unconfirmed() else { return Ok(()) };
        Err(CliError::Run(unconfirmed.into()))
    }
}

/// What is kept of a step.
#[derive(Default)]
struct Kept {
    /// The file of its completions, if it is there.
    path: Option<PathBuf>,
    /// Its line in the metrics, if that is there.
    measured: Option<Value>,
}

/// Every step that the run made, with what is kept of it. A step that is being made may have its file already.
fn steps(run: &Path) -> Result<BTreeMap<usize, Kept>, ReportError> {
    let text = |name: &str| {
        let path = run.join(name);
        // Steps whose files are gone are known from this one alone.
        let read = ReportError::if_there(&path, fs::read(&path))?;
        Ok::<_, ReportError>(String::from_utf8_lossy(&read).into_owned())
    };
    // The metrics are read before the files are listed, because a step writes its line after its file.
    let measured = text(METRICS_FILE)?;
    let measured = measured.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let measured: Vec<_> = measured.filter_map(|line| Some((line["step"].as_u64()? as usize, line))).collect();
    let last = measured.iter().map(|(step, _)| *step).chain(text(ENDED)?.trim().parse().ok()).max();
    let mut steps: BTreeMap<_, _> = (1..=last.unwrap_or(0)).map(|step| (step, Kept::default())).collect();
    for (step, path) in completion_files(run)? {
        steps.entry(step).or_default().path = Some(path);
    }
    // Evaluations have lines too.
    for (step, line) in measured.into_iter().filter(|(_, line)| line["reward"].is_number()) {
        steps.entry(step).or_default().measured = Some(line);
    }
    Ok(steps)
}

/// What judges the completions of a run.
struct Verification<'a> {
    arena: &'a Arena,
    rule: Rule,
    config: &'a Config,
    console: &'a Console,
}

impl Verification<'_> {
    fn of(&self, run: &Path, steps: &[(usize, Kept)]) -> Result<Certificate, CliError> {
        let count = self.console.count(steps.len(), "steps");
        let mut logs = blake3::Hasher::new();
        let mut found = Certificate {
            run: run.display().to_string(),
            env: self.config.environment.env.clone(),
            steps: steps.len(),
            completions: 0,
            equal: 0,
            of_earlier_versions: 0,
            completions_blake3: String::new(),
            grpo_2048: env!("CARGO_PKG_VERSION"),
            interpreter_sha256: grpo_sandbox::SHA256,
            numpy_interpreter_sha256: None,
            environment_changed: None,
            differences: Vec::new(),
            missing: Vec::new(),
            other_figures: Vec::new(),
            other_words: Vec::new(),
        };
        for (done, (step, Kept { path, measured })) in steps.iter().enumerate() {
            count.show(done, "");
            let (logged, lines) = path.as_ref().map_or(Ok(<_>::default()), |path| logged(path, *step, &mut logs))?;
            let missing = self.missing(*step, &logged);
            if let (Some(measured), None) = (measured, &missing)
                && logged.iter().all(is_of_today)
            {
                found.other_figures.extend(figures::other(*step, measured, &logged));
            }
            found.missing.extend(missing);
            self.require_parts(*step, &logged)?;
            found.completions += logged.len();
            found.of_earlier_versions += logged.iter().filter(|one| !is_of_today(one)).count();
            self.step(*step, &logged, &lines, &mut found)?;
        }
        drop(count);
        found.equal = found.completions - found.differences.len();
        found.completions_blake3 = logs.finalize().to_hex().to_string();
        Ok(found)
    }

    /// None if the log has every completion of the step.
    fn missing(&self, step: usize, logged: &[LoggedCompletion]) -> Option<Missing> {
        let of = self.config.completions_per_step();
        let there: BTreeSet<usize> = logged.iter().map(|one| one.index).filter(|index| *index < of).collect();
        (there.len() < of).then_some(Missing { step, completions: of - there.len(), of })
    }

    /// Refuses rewards with a part that no setting gives: a program of the user's own added it, and it alone can say what
    /// it is worth.
    fn require_parts(&self, step: usize, logged: &[LoggedCompletion]) -> Result<(), CliError> {
        let is_known = |part: &str| self.rule.names().any(|name| name == part);
        let Some(part) = logged.iter().flat_map(|one| one.reward_parts.keys()).find(|part| !is_known(part)) else {
            return Ok(());
        };
        let names = self.rule.names().collect::<Vec<_>>().join(", ");
        let message =
            format!("step {step}: the rewards have a part `{part}`; with the settings of this run there are: {names}");
        Err(CliError::user_hint(
            message,
            "judge the run with the program that added the part, or name its settings with --set",
        ))
    }

    /// `lines`: the same as they stand there.
    fn step(
        &self,
        step: usize,
        logged: &[LoggedCompletion],
        lines: &[Value],
        found: &mut Certificate,
    ) -> Result<(), CliError> {
        let boards = step_boards(self.config, step).1;
        let cases = logged.iter().map(|one| self.cases(step, one, &boards)).collect::<Result<Vec<_>, _>>()?;
        let turns: Vec<_> = logged.iter().map(LoggedCompletion::all_turns).collect();
        let begun: Vec<_> = logged.iter().zip(&cases).map(|(one, cases)| self.begun(one, cases[0])).collect();
        let mut programs = Vec::new();
        for (((one, cases), turns), begun) in logged.iter().zip(&cases).zip(&turns).zip(&begun) {
            let begun = begun.unwrap_or(one.begun());
            let read = |turn: &LoggedTurn| self.arena.program(&format!("{begun}{}", turn.completion), cases[0]);
            programs.extend(turns.iter().map(|turn| (read(turn), &cases[..])));
        }
        let evaluations = self.arena.evaluate_all(programs, &mut |_, _| ()).map_err(CliError::run)?;
        let mut evaluations = evaluations.iter();
        for ((((one, line), turns), cases), begun) in logged.iter().zip(lines).zip(&turns).zip(&cases).zip(&begun) {
            let judged: Vec<&Evaluation> = evaluations.by_ref().take(turns.len()).collect();
            self.compare(Logged { one, line, turns, cases, is_of_program: begun.is_some() }, &judged, found);
        }
        Ok(())
    }

    /// What the program of a completion was tried on.
    fn cases(&self, step: usize, logged: &LoggedCompletion, boards: &[Seed]) -> Result<Vec<Case>, CliError> {
        let environment = self.arena.environment();
        let task = environment.tasks().map(|tasks| {
            let place = tasks.tasks().iter().position(|task| task.id == logged.style);
            place.map(|place| place as u32).ok_or_else(|| {
                let message =
                    format!("step {step}: the task `{}` is not in {}", logged.style, self.config.environment.env);
                CliError::user_hint(message, OF_THE_RUN)
            })
        });
        Ok(Case::all(task.transpose()?, boards))
    }

    /// What the prompt began of the programs of all turns: the log does not say whether it did, but the digest of the
    /// answer does. None where that is the digest of another program.
    fn begun<'a>(&self, logged: &'a LoggedCompletion, case: Case) -> Option<&'a str> {
        let is_it = |begun: &&str| {
            let program = self.arena.program(&format!("{begun}{}", logged.completion), case);
            program.as_ref().ok().map(Program::digest_text) == logged.program
        };
        [logged.begun(), ""].into_iter().find(is_it)
    }

    /// Compares what the log tells of a completion with what its programs earn: in each turn, all together, and of the answer
    /// in its line. `judged`: what came of its turns.
    fn compare(&self, logged: Logged<'_>, judged: &[&Evaluation], certificate: &mut Certificate) {
        let Logged { one: one @ &LoggedCompletion { step, index, .. }, turns, .. } = logged;
        let (mut tokens, mut found) = (0, Vec::new());
        for (turn, evaluation) in turns.iter().zip(judged) {
            tokens += turn.tokens;
            let tokens = Some((tokens, self.config.rollout.max_completion_length));
            found.push(self.rule.score(Judged { evaluation, tokens, program: None }));
        }
        let rollout = &self.config.rollout;
        let combined = Combined::of(&found.iter().collect::<Vec<_>>(), rollout.turns, &self.config.reward);
        let rewards = turns.iter().zip(&found).map(|(turn, found)| (turn.reward, shortest(found.value)));
        let whole = (one.reward, shortest(combined.reward.value));
        let found = Found { judged, combined: &combined, environment: self.arena.environment(), rollout };
        let evaluation = judged[combined.answer].digest() != one.digest || !logged.tells(found);
        if !evaluation && logged.has_other_words(found) {
            certificate.other_words.push(Place { step, index });
        }
        // The reward of all turns may be right where that of one is not, and the other way round.
        let (logged, found) = std::iter::once(whole).chain(rewards).find(|(a, b)| a != b).unwrap_or(whole);
        if evaluation || logged != found {
            certificate.differences.push(Difference { step, index, logged, found, evaluation });
        }
    }
}

/// The completions in the file `path`, whose bytes `logs` takes in, and their lines.
fn logged(
    path: &Path,
    step: usize,
    logs: &mut blake3::Hasher,
) -> Result<(Vec<LoggedCompletion>, Vec<Value>), CliError> {
    let bytes = fs::read(path).map_err(ReportError::io(path)).map_err(report_error)?;
    logs.update(&bytes);
    let refused = |words: String| {
        CliError::user_hint(format!("{}: {words}", path.display()), "put the file back as the run wrote it")
    };
    let (logged, unreadable) = parse_completions(path, &bytes).map_err(report_error)?;
    if unreadable > 0 {
        return Err(refused(format!("{} cannot be read", counted(unreadable, "line"))));
    }
    let mut there = BTreeSet::new();
    for LoggedCompletion { step: of, index, version, .. } in &logged {
        if *version != logged[0].version {
            return Err(refused("has lines of several versions".into()));
        }
        if *of != step {
            return Err(refused(format!("has completions of step {of}, expected those of step {step}")));
        }
        if !there.insert(index) {
            return Err(refused(format!("has completion {index} twice")));
        }
    }
    let lines = lines(&bytes).into_iter().filter_map(|line| serde_json::from_slice::<Value>(line).ok()).collect();
    Ok((logged, lines))
}
