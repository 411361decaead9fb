//! `grpo-2048 eval`: how good are the programs of this model, on boards it never trained on?

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use super::options::{Flags, SourceArgs, WorkerArgs};
use super::{CliError, loading, output, playing};
use crate::config::{ArenaConfig, Config};
use crate::environment::{self, Baseline, GameLimits};
use crate::metrics::{Console, EvaluationRecord, Event};
use crate::train::evaluation::{self, Protocol};
use crate::train::scoring::{Episode, Stage};

/// Sample programs from a model and play them on held-out boards
///
/// The boards and the sampling seeds are fixed: two models, or one before and after training, are compared alike.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  grpo-2048 eval\n  grpo-2048 eval --model runs/train-001/checkpoint-40 --samples 256 --json"
)]
pub struct EvalArgs {
    /// "builtin", a Hugging Face id, a local directory (a checkpoint too), or a .gguf file
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// PEFT adapter to put on the model
    #[arg(long, value_name = "DIR")]
    adapter: Option<PathBuf>,
    /// "auto", "cpu", "cuda" or "cuda:N"
    #[arg(long, value_name = "D")]
    device: Option<String>,
    /// Completions sampled
    #[arg(long, value_name = "N")]
    samples: Option<u32>,
    /// Games each of them plays
    #[arg(long, value_name = "K")]
    games: Option<u32>,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

impl EvalArgs {
    /// Samples, plays and prints.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let mut flags = Flags::default();
        flags
            .add("model", self.model.clone())
            .add("adapter", self.adapter.as_ref().map(|path| path.display().to_string()))
            .add("device", self.device.clone())
            .add("samples", self.samples)
            .add("eval_games", self.games)
            .add("parallel_rewards", self.workers.chosen());
        let config = self.source.resolve(&flags)?;
        let device = loading::device(&config.model.device)?;
        let policy = loading::policy_shown(&config, &device, console)?;
        let prompts = loading::prompts(&config, &policy)?;
        let arena = playing::open_arena(&config, console)?;
        let stage = Stage { policy: &policy, arena: &arena, config: &config };
        let protocol = Protocol { samples: config.train.eval_samples, games: config.train.eval_games };
        let wait = console.wait(&format!("sampling {} programs from {}", protocol.samples, config.model.model));
        let mut observer = |event: Event<'_>| {
            if let Event::Decoding { tokens, finished, total } = event {
                wait.say(format!("decoding: {tokens} tokens, {finished}/{total} written"));
            }
        };
        let (record, episodes) =
            evaluation::evaluate(&stage, &prompts, protocol, 0, &mut observer).map_err(CliError::run)?;
        drop(wait);
        let baselines = baselines(protocol.games, &config.arena);
        output::print(&if self.json {
            json(&config, &record, &baselines)?
        } else {
            text(&config, &record, &episodes, &baselines)
        })
    }
}

/// Mean scores of strategies written in Rust, on the same boards.
fn baselines(games: usize, rules: &ArenaConfig) -> BTreeMap<&'static str, f64> {
    let limits = GameLimits { freeze_after: rules.freeze_after as u32, moves_max: rules.moves_max as u32 };
    let boards = evaluation::held_out_boards(games);
    let mean = |baseline: Baseline| {
        let scores = boards.iter().map(|&seed| {
            let Ok(outcome) = environment::play(&mut baseline.player(seed), seed, &limits);
            outcome.score as f64
        });
        (baseline.name(), scores.sum::<f64>() / games as f64)
    };
    Baseline::ALL.into_iter().map(mean).collect()
}

fn json(config: &Config, record: &EvaluationRecord, baselines: &BTreeMap<&str, f64>) -> Result<String, CliError> {
    let mut object = serde_json::json!({ "model": config.model.model, "adapter": config.model.adapter });
    let record = serde_json::to_value(record).map_err(CliError::run)?;
    if let (Some(object), serde_json::Value::Object(record)) = (object.as_object_mut(), record) {
        object.extend(record.into_iter().filter(|(key, _)| key != "step"));
        object.insert("baselines".into(), serde_json::to_value(baselines).map_err(CliError::run)?);
    }
    Ok(format!("{object}\n"))
}

fn text(
    config: &Config,
    record: &EvaluationRecord,
    episodes: &[Episode],
    baselines: &BTreeMap<&'static str, f64>,
) -> String {
    let mut verdicts = BTreeMap::<&str, usize>::new();
    episodes.iter().for_each(|episode| *verdicts.entry(episode.evaluation.verdict.name()).or_default() += 1);
    let verdicts: Vec<String> = verdicts.iter().map(|(verdict, count)| format!("{verdict} {count}")).collect();
    let baselines: Vec<String> = baselines.iter().map(|(name, score)| format!("{name} {score:.0}")).collect();
    format!(
        "{}: {} programs, {} held-out games each\n\
         mean score   {:.0}\n\
         plays        {:.0}%   ({})\n\
         best tile    {}\n\
         mean reward  {:.3}\n\
         baselines    {}\n",
        config.model.model,
        record.samples,
        record.games,
        record.mean_score,
        100.0 * record.frac_played,
        verdicts.join(", "),
        record.max_tile,
        record.reward,
        baselines.join(", ")
    )
}
