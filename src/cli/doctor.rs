//! `grpo-2048 doctor`: is this machine ready, and what do the budgets mean on it?

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox};
use serde::Serialize;

use super::options::{Flags, SourceArgs};
use super::playing::{self, Opened};
use super::{CliError, loading, output, preflight};
use crate::arena::{Arena, Rules, Workers};
use crate::config::Config;
use crate::metrics::{Console, Stream};
use crate::policy;
use crate::preflight::{Level, Report};

/// Instances timed for the median.
const INSTANCES: usize = 21;
/// Free space below which a run is likely to die while saving.
const DISK_LOW_BYTES: u64 = 1 << 30;
/// The smallest strategy.
const IDLE: &str = "def strategy(board):\n    return 'W'\n";

/// Check the machine and the reward: device, model, disk, sandbox, budgets, reference players
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 doctor                        this machine, and the built-in model
  grpo-2048 doctor --model smollm2.gguf   would this model load, and is its reward in order?
  grpo-2048 doctor --json | jq '.findings[] | select(.level != \"ok\")'

Exit codes:
  0  ready
  1  something would stop a run
  2  wrong input")]
pub struct DoctorArgs {
    /// Model to look for: "builtin", a Hugging Face id, a directory or a .gguf file
    #[arg(long, value_name = "M", help_heading = "What to check")]
    model: Option<String>,
    /// "auto", "cpu", "cuda" or "cuda:N"
    #[arg(long, value_name = "D", help_heading = "What to check")]
    device: Option<String>,
    /// Where a run would write
    #[arg(long, value_name = "DIR", help_heading = "What to check")]
    output_dir: Option<PathBuf>,
    /// One JSON object instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// One line of the report.
#[derive(Debug, Serialize)]
struct Finding {
    subject: Cow<'static, str>,
    level: Level,
    finding: String,
}

/// The object of `--json`.
#[derive(Serialize)]
struct Examined<'a> {
    version: &'static str,
    findings: &'a [Finding],
    /// The reference players and what their rewards show; null when nothing could be played.
    reward: Option<&'a Report>,
}

/// A finding that stops a run; the findings themselves have been printed.
#[derive(Debug, thiserror::Error)]
#[error("not ready to train: {0}")]
struct NotReady(String);

impl Finding {
    fn ok(subject: &'static str, finding: impl Into<String>) -> Finding {
        Finding { subject: subject.into(), level: Level::Ok, finding: finding.into() }
    }

    fn warning(subject: &'static str, finding: impl Into<String>) -> Finding {
        Finding { subject: subject.into(), level: Level::Warning, finding: finding.into() }
    }

    fn problem(subject: &'static str, finding: impl std::fmt::Display) -> Finding {
        Finding { subject: subject.into(), level: Level::Problem, finding: finding.to_string() }
    }
}

impl DoctorArgs {
    /// Examines and prints.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let mut flags = Flags::default();
        flags
            .add("model", self.model.clone())
            .add("device", self.device.clone())
            .add("output_dir", self.output_dir.as_ref().map(|path| path.display().to_string()));
        let config = self.source.resolve(&flags)?;
        let mut findings = vec![processor()];
        findings.extend(device_and_model(&config));
        findings.push(disk(&config.train.output_dir));
        let sandbox = sandbox(&config, console, &mut findings);
        let reward = sandbox.and_then(|sandbox| reward(sandbox, &config, console, &mut findings));
        output::print(&if self.json { json(&findings, reward.as_ref())? } else { text(&findings, reward.as_ref()) })?;
        let problems = findings.iter().filter(|finding| finding.level == Level::Problem);
        let problems: Vec<&str> = problems.map(|finding| &*finding.subject).collect();
        if problems.is_empty() { Ok(()) } else { Err(CliError::run(NotReady(problems.join(", ")))) }
    }
}

fn processor() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let features = processor_features();
    let words = if features.is_empty() { std::env::consts::ARCH.to_owned() } else { features.join(" ") };
    let line = format!("{cores} cores, {words}");
    match cores {
        1 => Finding::warning("processor", format!("{line}; games and decoding will share one core")),
        _ => Finding::ok("processor", line),
    }
}

/// Instruction sets that the matrix products choose from.
fn processor_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let known = [
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("f16c", std::arch::is_x86_feature_detected!("f16c")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let known: [(&'static str, bool); 0] = [];
    known.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
}

fn device_and_model(config: &Config) -> Vec<Finding> {
    let device = match loading::device(&config.model.device) {
        Ok(device) => device,
        Err(error) => return vec![Finding::problem("device", error)],
    };
    let mut findings = vec![Finding::ok("device", policy::device_name(&device))];
    let started = Instant::now();
    match loading::policy(config, &device) {
        Ok(policy) => {
            findings.push(Finding::ok(
                "model",
                format!(
                    "{}: {:.1} M weights, loaded in {:.1} s",
                    config.model.model,
                    policy.decoder().config().parameters() as f64 / 1e6,
                    started.elapsed().as_secs_f64()
                ),
            ));
        }
        Err(error) => findings.push(Finding::problem("model", error)),
    }
    findings
}

/// What the sandbox costs here, and the sandbox if it opens.
fn sandbox(config: &Config, console: &Console, findings: &mut Vec<Finding>) -> Option<Sandbox> {
    let started = Instant::now();
    let opened = Sandbox::default_cache_dir()
        .map_err(CliError::run)
        .and_then(|cache| playing::open_sandbox(&cache, console).map(|(sandbox, how)| (cache, sandbox, how)));
    let (cache, sandbox, how) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            findings.push(Finding::problem("sandbox", error));
            return None;
        }
    };
    let took = match how {
        Opened::Compiled => format!("compiled in {:.0} s, once", started.elapsed().as_secs_f64()),
        Opened::FromCache => format!("opened in {}", milliseconds(started.elapsed())),
    };
    let size = directory_bytes(&cache) as f64 / 1e6;
    findings.push(Finding::ok("sandbox cache", format!("{} ({size:.0} MB), {took}", cache.display())));
    findings.push(instances(&sandbox, config));
    findings.push(fuel(&sandbox, config));
    Some(sandbox)
}

/// Whether the reward of this configuration pays for playing well.
fn reward(sandbox: Sandbox, config: &Config, console: &Console, findings: &mut Vec<Finding>) -> Option<Report> {
    let rules = Rules::training(config);
    let examined = Arena::new(sandbox, rules, Workers::new(config.arena.parallel_rewards))
        .and_then(|arena| preflight::examine(config, &arena, console));
    match examined {
        Ok(report) => {
            findings.extend(report.findings.iter().map(|finding| Finding {
                subject: format!("reward {}", finding.check.name()).into(),
                level: finding.level,
                finding: preflight::explained(finding),
            }));
            Some(report)
        }
        Err(error) => {
            findings.push(Finding::problem("reward", error));
            None
        }
    }
}

fn instances(sandbox: &Sandbox, config: &Config) -> Finding {
    let mut times = Vec::with_capacity(INSTANCES);
    for seed in 0..INSTANCES as u64 {
        let started = Instant::now();
        let chosen = sandbox.load(IDLE, seed, &limits(config)).and_then(|mut session| session.choose(&[[2; 4]; 4]));
        times.push(started.elapsed());
        match chosen {
            Ok(letter) if letter == "W" => {}
            Ok(letter) => return Finding::problem("sandbox", format!("self-test returned {letter:?}, expected \"W\"")),
            Err(failure) => return Finding::problem("sandbox", format!("self-test: {failure}")),
        }
    }
    times.sort();
    let line = format!(
        "a fresh instance with a program loaded: median {}, worst of {INSTANCES} {}",
        milliseconds(times[INSTANCES / 2]),
        milliseconds(times[INSTANCES - 1])
    );
    match times[INSTANCES / 2] > Duration::from_millis(10) {
        true => Finding::warning("sandbox", format!("{line}; expected below 2 ms, is the machine busy?")),
        false => Finding::ok("sandbox", line),
    }
}

/// Fuel a second on this machine, and what the budget of a game comes to.
fn fuel(sandbox: &Sandbox, config: &Config) -> Finding {
    match sandbox.calibrate() {
        Ok(speed) => {
            let budget = config.sandbox.game_seconds * FUEL_PER_SECOND as f64;
            Finding::ok(
                "fuel",
                format!(
                    "{:.1} Gfuel a second here, {:.1} by definition: a budget of {} s takes {:.2} s of this core",
                    speed / 1e9,
                    FUEL_PER_SECOND as f64 / 1e9,
                    config.sandbox.game_seconds,
                    budget / speed
                ),
            )
        }
        Err(failure) => Finding::problem("fuel", format!("self-test: {failure}")),
    }
}

fn limits(config: &Config) -> Limits {
    Rules::new(&config.sandbox, &config.arena).limits
}

/// Space where a run would write.
fn disk(output_dir: &Path) -> Finding {
    let wanted = if output_dir.as_os_str().is_empty() { Path::new(crate::train::run_dir::RUNS) } else { output_dir };
    let absolute = std::path::absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    let Some(existing) = absolute.ancestors().find(|path| path.exists()) else {
        return Finding::problem("disk", format!("{}: no such place", wanted.display()));
    };
    match rustix::fs::statvfs(existing) {
        Ok(status) => {
            let free = status.f_bavail * status.f_frsize;
            let line = format!("{:.1} GB free for {}", free as f64 / 1e9, wanted.display());
            if free < DISK_LOW_BYTES { Finding::warning("disk", line) } else { Finding::ok("disk", line) }
        }
        Err(error) => Finding::warning("disk", format!("{}: {error}", existing.display())),
    }
}

fn directory_bytes(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(std::fs::Metadata::is_file).map(|file| file.len()).sum()
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", 1e3 * duration.as_secs_f64())
}

fn text(findings: &[Finding], reward: Option<&Report>) -> String {
    let width = findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let (word, style) = match finding.level {
            Level::Ok => ("ok", Stream::Stdout.style().green()),
            Level::Warning => ("warning", Stream::Stdout.style().yellow()),
            Level::Problem => ("problem", Stream::Stdout.style().red().bold()),
        };
        text.push_str(&format!(
            "{}  {:<width$}  {}\n",
            style.apply_to(format!("{word:<8}")),
            finding.subject,
            finding.finding
        ));
    }
    if let Some(report) = reward {
        text.push_str(&format!("\n{}", preflight::chart(report)));
    }
    text
}

fn json(findings: &[Finding], reward: Option<&Report>) -> Result<String, CliError> {
    let object = Examined { version: env!("CARGO_PKG_VERSION"), findings, reward };
    Ok(format!("{}\n", serde_json::to_string(&object).map_err(CliError::run)?))
}
