//! `grpo-2048 doctor`: is this machine ready, and what do the budgets mean on it?

mod caches;
mod machine;
mod model;
mod sandbox;

use std::path::PathBuf;

use clap::Args;
use grpo_sandbox::Sandbox;
use serde::Serialize;

use crate::arena::Rules;
use crate::cli::arguments::{Flags, SourceArgs, text_path};
use crate::cli::opened::{arena, reward_check};
use crate::cli::said::{CliError, Finding, findings, output};
use crate::config::Config;
use crate::metrics::Console;
use crate::preflight::{Level, Report};

/// Check the machine and the reward: device, model, disk, sandbox, budgets, reference players
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 doctor                        this machine, and the built-in model
  grpo-2048 doctor --model smollm2.gguf   would this model load?
  grpo-2048 doctor --json | jq '.findings[] | select(.level != \"ok\")'

Exit codes:
  0  ready
  1  something would stop a run
  2  wrong input")]
pub struct DoctorArgs {
    #[command(flatten)]
    flags: Flags,
    /// Model to look for: "builtin", a Hugging Face id, a directory or a .gguf file
    #[arg(long, value_name = "M", help_heading = "What to check")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R", help_heading = "What to check")]
    revision: Option<String>,
    /// "auto", "cpu", "cuda" or "cuda:N"
    #[arg(long, value_name = "D", help_heading = "What to check")]
    device: Option<String>,
    /// Where a run would write
    #[arg(long, value_name = "DIR", value_parser = text_path(), help_heading = "What to check")]
    output_dir: Option<PathBuf>,
    /// One JSON object instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// The object of `--json`.
#[derive(Serialize)]
struct Examined<'a> {
    version: &'static str,
    commit: Option<&'static str>,
    findings: &'a [Finding],
    /// The reference players and what their rewards show; null when nothing could be played.
    reward: Option<&'a Report>,
}

impl DoctorArgs {
    /// `commit` is what the program was built from.
    pub fn run(self, console: &Console, commit: Option<&'static str>) -> Result<(), CliError> {
        let config = self.source.resolve(&self.flags, console)?;
        let mut findings = vec![machine::program(commit), machine::processor(), machine::memory(), machine::gpu()];
        findings.extend(machine::cuda());
        findings.push(machine::mpi());
        findings.extend(model::device_and_model(&config));
        findings.extend([caches::models(), caches::disk(&config.train.output_dir)]);
        let sandbox = sandbox::examine(&config, console, &mut findings);
        let reward = sandbox.and_then(|sandbox| reward(sandbox, &config, console, &mut findings));
        match self.json {
            true => {
                let version = env!("CARGO_PKG_VERSION");
                output::json(&Examined { version, commit, findings: &findings, reward: reward.as_ref() })?;
            }
            false => output::tell(&text(&findings, reward.as_ref()))?,
        }
        let problems = findings.iter().filter(|finding| finding.level == Level::Problem);
        let problems: Vec<&str> = problems.map(|finding| &*finding.subject).collect();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(CliError::Run(format!("not ready to train: {}", problems.join(", ")).into())),
        }
    }
}

/// Whether the reward of this configuration pays for playing well.
fn reward(sandbox: Sandbox, config: &Config, console: &Console, findings: &mut Vec<Finding>) -> Option<Report> {
    let environment = match arena::environment(config) {
        Ok(environment) => environment,
        Err(error) => {
            findings.push(Finding::problem("reward", error.to_string(), "name another with --set environment.env=..."));
            return None;
        }
    };
    let examined = arena::unchecked_in(sandbox, config, environment, console)
        .and_then(|opened| reward_check::examine(config, &opened.arena.under(Rules::training(config)), console));
    match examined {
        Ok(report) => {
            findings.extend(findings::of_report(&report, "reward "));
            Some(report)
        }
        Err(error) => {
            findings.push(Finding::problem("reward", error, "the sandbox could not play; see the lines above"));
            None
        }
    }
}

fn text(findings: &[Finding], reward: Option<&Report>) -> String {
    let mut text = findings::text(findings, output::columns());
    text.push_str(&reward.map(findings::chart).unwrap_or_default());
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    text.push_str(&match (count(Level::Problem), count(Level::Warning)) {
        (0, 0) => "\nready to train\n".to_owned(),
        (0, warnings) => format!("\nready to train; warnings: {warnings}\n"),
        (problems, warnings) => format!("\nproblems: {problems}; warnings: {warnings}\n"),
    });
    text
}
