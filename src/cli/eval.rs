//! `grpo-2048 eval`: how good are the programs of this model, on boards it never trained on, and beside what?

mod contender;
mod report;
mod table;

use std::path::PathBuf;

use clap::Args;

use super::options::{Flags, SourceArgs, WorkerArgs};
use super::{CliError, loading, output, playing};
use crate::arena::{Arena, Rules};
use crate::config::Config;
use crate::environment::game2048::Baseline;
use crate::evaluation::{self, REPORT, SELECTION, Single, report_boards, selection_boards};
use crate::metrics::Console;

use contender::Contender;
use report::{Games, Report};

/// Word that asks for no baseline.
const NO_BASELINE: &str = "none";

/// Sample programs from a model and play them on held-out boards, beside other models and native strategies
///
/// Boards, sampling seeds and the budget of a game are fixed: two models, or one before and after training, are
/// compared alike. best@n is the expected score of the best of n programs, chosen on some boards and measured on
/// others. Numbers in brackets are 95 % bootstrap intervals over programs; over games, for a single program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 eval                                        the built-in model
  grpo-2048 eval --model runs/train-001/checkpoint-40 --against builtin
  grpo-2048 eval --model runs/train-001/checkpoint-40 --against builtin \\
                 --best-of 2560                         as many programs as 40
                                                        steps of 64 have drawn
  grpo-2048 eval --samples 64 --report-games 0 --json   quick, every program")]
pub struct EvalArgs {
    /// "builtin", a Hugging Face id, a local directory (a checkpoint too), or a .gguf file
    #[arg(long, value_name = "M", help_heading = "Models")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R", help_heading = "Models")]
    revision: Option<String>,
    /// Send prompts as plain text, without the model's chat template
    #[arg(long, help_heading = "Models")]
    raw_prompt: bool,
    /// PEFT adapter to put on the model
    #[arg(long, value_name = "DIR", help_heading = "Models")]
    adapter: Option<PathBuf>,
    /// Another model to evaluate alike, or a PEFT adapter on the same model; may be repeated
    #[arg(long, value_name = "M", help_heading = "Models")]
    against: Vec<String>,
    /// "auto", "cpu", "cuda" or "cuda:N"
    #[arg(long, value_name = "D", help_heading = "Models")]
    device: Option<String>,
    /// Programs sampled from each model
    #[arg(long, value_name = "N", default_value_t = 256, help_heading = "Programs", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: u32,
    /// Selection games each of them plays
    #[arg(long, value_name = "K", default_value_t = SELECTION as u32, help_heading = "Games", value_parser = clap::value_parser!(u32).range(1..=SELECTION as i64))]
    games: u32,
    /// Games on other boards that the best ones play, for best@n; 0: no best@n
    #[arg(long, value_name = "K", default_value_t = 32, help_heading = "Games", value_parser = clap::value_parser!(u32).range(0..=REPORT as i64))]
    report_games: u32,
    /// Also the best of N programs of each --against model (of the model itself without one), found by halving
    #[arg(long, value_name = "N", help_heading = "Programs", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    best_of: Option<u32>,
    /// Native strategies on the same boards, parted by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "random,cycle,greedy", help_heading = "Games", value_parser = baseline_names())]
    baselines: Vec<String>,
    /// One JSON object with every program and its scores, instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

fn baseline_names() -> clap::builder::PossibleValuesParser {
    Baseline::ALL.map(Baseline::name).into_iter().chain([NO_BASELINE]).collect::<Vec<_>>().into()
}

impl EvalArgs {
    /// Samples, plays and prints.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        if self.best_of.is_some() && self.report_games == 0 {
            let hint = "what was chosen is reported on other boards; give --report-games 1 or more";
            return Err(CliError::user_hint("--best-of with --report-games 0", hint));
        }
        let config = self.configuration(None)?;
        let rivals: Vec<Config> =
            self.against.iter().map(|name| self.configuration(Some(name))).collect::<Result<_, _>>()?;
        for rival in &rivals {
            // A mistake in a name should not show after half an hour.
            loading::policy_of("--against", rival, &loading::device(&rival.model.device)?)?;
        }
        let rules = Rules::new(&config.sandbox, &config.arena);
        let arena = playing::open_arena(&config, console)?.under(rules.clone());
        let games = Games {
            selection: self.games as usize,
            report: self.report_games as usize,
            game_seconds: config.sandbox.game_seconds,
        };
        let mut report = Report { games, models: Vec::new(), best_of: Vec::new(), baselines: Vec::new() };
        let chosen_from = if rivals.is_empty() { 0 } else { 1 };
        for (number, config) in [&config].into_iter().chain(&rivals).enumerate() {
            let best_of = self.best_of.filter(|_| number >= chosen_from).map(|count| count as usize);
            self.evaluate(config, &arena, best_of, &mut report, console)?;
        }
        let boards = [selection_boards(games.selection), report_boards(games.report)].concat();
        let asked = |baseline: &Baseline| self.baselines.iter().any(|name| name == baseline.name());
        let play = |baseline| evaluation::play_baseline(baseline, &boards, &rules.game);
        report.baselines = Baseline::ALL.into_iter().filter(asked).map(play).collect::<Vec<Single>>();
        output::print(&if self.json { report.json()? } else { table::text(&report) })
    }

    /// Adds one model to the report.
    fn evaluate(
        &self,
        config: &Config,
        arena: &Arena,
        best_of: Option<usize>,
        report: &mut Report,
        console: &Console,
    ) -> Result<(), CliError> {
        let device = loading::device(&config.model.device)?;
        let policy = loading::policy_shown(config, &device, console)?;
        let prompts = loading::prompts(config, &policy, arena.environment())?;
        let contender = Contender { config, policy: &policy, prompts: &prompts, arena, console };
        report.models.push(contender.evaluate(self.samples as usize, report.games)?);
        if let Some(count) = best_of {
            report.best_of.push(contender.best_of(count, report.games)?);
        }
        Ok(())
    }

    /// The configuration of the model, or of the one it is held against: each has the preset that suits it.
    fn configuration(&self, against: Option<&str>) -> Result<Config, CliError> {
        let mut flags = Flags::default();
        flags.add("device", self.device.clone()).add("parallel_rewards", self.workers.chosen());
        flags.add("raw_prompt", self.raw_prompt.then_some(true));
        let adapter = self.adapter.as_ref().map(|path| path.display().to_string());
        let (model, revision) = (self.model.clone(), self.revision.clone());
        match against {
            None => flags.add("model", model).add("revision", revision).add("adapter", adapter),
            Some(name) if PathBuf::from(name).join("adapter_config.json").is_file() => {
                flags.add("model", model).add("revision", revision).add("adapter", Some(name))
            }
            Some(name) => flags.add("model", Some(name)).add("adapter", Some("")),
        };
        self.source.resolve(&flags)
    }
}
