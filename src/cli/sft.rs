//! `grpo-2048 sft`: how the built-in model is made, and how any other one is warmed up.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::Args;

use super::options::{Flags, SourceArgs};
use super::{CliError, interrupt, loading, output, playing};
use crate::arena::{Arena, Rules};
use crate::config::{Config, Precision};
use crate::environment::Environment;
use crate::metrics::{Console, EvaluationRecord, Event, duration};
use crate::policy::{Device, Policy};
use crate::prompt::PromptSet;
use crate::seed::Seed;
use crate::train::evaluation::{Protocol, evaluate};
use crate::train::scoring::Stage;
use crate::train::sft::{self, Learner, SftError, SftOptions, SftProgress, SftSummary};

/// Without a terminal, progress is a line every so many steps of the built-in model, and one a step of others.
const LINE_STEPS: usize = 50;

/// Train a model on generated programs, before any reward
///
/// Without --model the built-in model is trained from nothing, and a model directory in Hugging Face layout is written,
/// which `train --model DIR` takes. With --model that model reads the programs in its own chat format, as answers to the
/// prompts that training will give it; by default low-rank adapters learn, and a PEFT directory is written, which
/// `train --model M --adapter DIR` goes on from. A run that was stopped goes on where it was when the same command is
/// given again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 sft
  grpo-2048 sft --output-dir runs/small --total-tokens 2000000
  grpo-2048 train --model runs/sft
  grpo-2048 sft --model smollm2.gguf --output-dir runs/warm
  grpo-2048 train --model smollm2.gguf --adapter runs/warm")]
pub struct SftArgs {
    /// "builtin" (from nothing), a Hugging Face id, a local directory in its layout, or a .gguf file
    #[arg(long, value_name = "M", help_heading = "Model")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R", help_heading = "Model")]
    revision: Option<String>,
    /// PEFT adapter to go on from
    #[arg(long, value_name = "DIR", help_heading = "Model")]
    adapter: Option<PathBuf>,
    /// Rank of the LoRA adapters; 0 trains every weight
    #[arg(long, value_name = "R", help_heading = "Model")]
    lora_r: Option<u32>,
    /// Send prompts as plain text, without the model's chat template
    #[arg(long, help_heading = "Model")]
    raw_prompt: bool,
    /// Where to write the model and its checkpoints
    #[arg(long, value_name = "DIR", default_value = "runs/sft", help_heading = "Run")]
    output_dir: PathBuf,
    /// Root of all chance
    #[arg(long, value_name = "S", help_heading = "Run")]
    seed: Option<u32>,
    /// Tokens seen in all
    #[arg(long, value_name = "N", help_heading = "Run")]
    total_tokens: Option<u32>,
    /// Peak learning rate
    #[arg(long, value_name = "F", help_heading = "Run")]
    sft_learning_rate: Option<f64>,
    /// "auto", "cpu", "cuda" or "cuda:N"
    #[arg(long, value_name = "D", help_heading = "Run")]
    device: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
}

impl SftArgs {
    /// Trains until the end or Ctrl-C.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let mut flags = Flags::default();
        flags
            .add("model", self.model.clone())
            .add("revision", self.revision.clone())
            .add("adapter", self.adapter.as_ref().map(|path| path.display().to_string()))
            .add("lora_r", self.lora_r)
            .add("raw_prompt", self.raw_prompt.then_some(true))
            .add("seed", self.seed)
            .add("total_tokens", self.total_tokens)
            .add("sft_learning_rate", self.sft_learning_rate)
            .add("device", self.device.clone());
        let config = self.source.resolve(&flags)?;
        let stop = interrupt::stop_flag(console, interrupt::AFTER_THIS_STEP)?;
        let device = loading::device(&config.model.device)?;
        let learner = learner(&config, &device, console)?;
        let options = SftOptions {
            seed: Seed::root(config.train.seed),
            output_dir: self.output_dir.clone(),
            device,
            config: config.sft.clone(),
        };
        let line_steps = if learner.is_some() { 1 } else { LINE_STEPS };
        let probe = Probe::of(&config, learner.as_ref(), console)?;
        let before = probe.as_ref().zip(learner.as_ref()).map(|(probe, learner)| probe.plays(&learner.policy));
        let before = before.transpose()?;
        let mut bar = None;
        let mut observe = |progress: &SftProgress| {
            let line = progress_line(progress);
            if bar.is_none() {
                let left = duration(progress.remaining.as_secs_f64());
                console.print(&format!(
                    "{} steps to step {}, about {left} at this pace",
                    progress.steps - progress.step + 1,
                    progress.steps
                ));
            }
            let bar = bar.get_or_insert_with(|| console.count(progress.steps, "steps"));
            bar.show(progress.step, &line);
            let due = progress.step == progress.steps || progress.step.is_multiple_of(line_steps);
            if let Some(loss) = progress.held_out_loss {
                console.print(&format!("step {}/{}  held-out loss {loss:.4}", progress.step, progress.steps));
            } else if due && !console.interactive() {
                console.print(&format!("step {}/{}  {line}", progress.step, progress.steps));
            }
            if stop.load(Ordering::SeqCst) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (summary, policy) = sft::run(&options, learner, &mut observe).map_err(|error| match error {
            SftError::OtherRun { .. } | SftError::NothingFits { .. } | SftError::NoEnd => CliError::user(error),
            other => CliError::run(other),
        })?;
        drop(bar);
        if summary.interrupted {
            console.print(&format!("stopped at step {}; the same command goes on from there", summary.steps));
            return Err(CliError::Interrupted);
        }
        let after = probe.as_ref().map(|probe| probe.plays(&policy)).transpose()?;
        let dir = self.output_dir.display();
        let result = match self.output_dir.join("adapter_config.json").exists() {
            true => format!("adapter  {dir}\ntry      grpo-2048 train --model {} --adapter {dir}", config.model.model),
            false => format!("model  {dir}\ntry    grpo-2048 eval --model {dir}"),
        };
        let SftSummary { steps, tokens, first_loss, held_out_loss, .. } = summary;
        let loss = format!("held-out loss: {first_loss:.4} -> {held_out_loss:.4} nats a token");
        let played = before.zip(after).map(|(before, after)| played(&before, &after)).unwrap_or_default();
        output::print(&format!("{steps} steps, {tokens} tokens\n{loss}\n{played}{result}\n"))
    }
}

/// Programs of a language model on held-out boards, before and after.
struct Probe<'a> {
    config: &'a Config,
    arena: Arena,
    prompts: PromptSet,
    console: &'a Console,
}

impl<'a> Probe<'a> {
    /// None for the built-in model, which `eval` looks at, or where none is wanted.
    fn of(config: &'a Config, learner: Option<&Learner>, console: &'a Console) -> Result<Option<Self>, CliError> {
        let Some(learner) = learner.filter(|_| config.sft.eval_samples > 0) else { return Ok(None) };
        let arena = playing::open_arena(config, console)?.under(Rules::new(&config.sandbox, &config.arena));
        Ok(Some(Probe { config, arena, prompts: learner.prompts.clone(), console }))
    }

    fn plays(&self, policy: &Policy) -> Result<EvaluationRecord, CliError> {
        let samples = self.config.sft.eval_samples;
        let bar = self.console.count(samples, "programs");
        if !self.console.interactive() {
            self.console.print(&format!("{samples} programs are written and played"));
        }
        let mut observer = |event: Event<'_>| {
            if let Event::Decoding { tokens, finished, .. } = event {
                bar.show(finished, &format!("written, {tokens} tokens"));
            }
        };
        let stage = Stage { policy, arena: &self.arena, config: self.config };
        let protocol = Protocol { samples, games: 1 };
        evaluate(&stage, &self.prompts, protocol, 0, &mut observer).map_err(CliError::run)
    }
}

/// What the warm-up came to, in games.
fn played(before: &EvaluationRecord, after: &EvaluationRecord) -> String {
    let labels = Environment::Game2048.labels();
    let percent = |record: &EvaluationRecord| format!("{:.0}%", 100.0 * record.succeeded());
    let score = |record: &EvaluationRecord| labels.written(record.score());
    format!(
        "programs that play: {} -> {} of {}\nmean score: {} -> {}\n",
        percent(before),
        percent(after),
        after.samples,
        score(before),
        score(after)
    )
}

/// The model that was named; none where the built-in one is to be made from nothing.
fn learner(config: &Config, device: &Device, console: &Console) -> Result<Option<Learner>, CliError> {
    if config.model.model == "builtin" {
        if !matches!(config.model.precision, Precision::Auto | Precision::F32) {
            let message =
                "model.precision: found a half format, expected auto or f32: the built-in model is made in f32";
            return Err(CliError::user_hint(message, "name another model with --model, or leave the key away"));
        }
        return Ok(None);
    }
    let policy = loading::policy_shown(config, device, console)?;
    let prompts = loading::prompts(config, &policy, &Environment::Game2048)?;
    Ok(Some(Learner { policy, prompts, name: format!("{:?}", config.model) }))
}

fn progress_line(progress: &SftProgress) -> String {
    format!(
        "loss {:.4}  norm {:.2}  {:.0} tok/s  {} left",
        progress.loss,
        progress.grad_norm,
        progress.tokens_per_second,
        duration(progress.remaining.as_secs_f64())
    )
}
