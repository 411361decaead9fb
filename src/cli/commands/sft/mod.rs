//! `grpo-2048 sft`: how the built-in model is made, and how any other one is warmed up.

mod lessons;
mod probe;

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;

use crate::arena::Arena;
use crate::cli::arguments::{Flags, SourceArgs, settled, text_path};
use crate::cli::opened::interrupt::RunStop;
use crate::cli::opened::peers::refuse_several;
use crate::cli::opened::{arena, machine, model, runs};
use crate::cli::said::{CliError, output};
use crate::config::{Config, ModelConfig, PrecisionChoice};
use crate::environment::{Environment, game2048};
use crate::metrics::{Console, EvaluationRecord, Progress, duration};
use crate::plural::counted;
use crate::policy::{Device, Policy};
use crate::seed::Seed;
use crate::sft::{self, Learner, SftError, SftOptions, SftProgress, SftSummary};
use crate::shell;

use lessons::lessons;
use probe::Probe;

/// Without a terminal, a line of progress is printed every so many steps of the built-in model. Other models have one
/// for each step.
const LINE_STEPS: usize = 50;
/// The last message where a signal comes after the last step, when programs are tried.
const UNTRIED: &str =
    "stopped after the last step, with the model written: its programs were not tried; the same command tries them";
/// The last message where a signal comes while the settings of a run that is done are compared.
const AS_IT_WAS: &str = "interrupted: the model that is done stays as it was";

/// Train a model on generated programs or on tasks' references, before any reward
///
/// Without --model the built-in model is trained from nothing, and a model directory in Hugging Face layout is written,
/// which `train --model DIR` takes. With --model that model reads the programs in its own chat format, as answers to the
/// prompts that training will give it; by default low-rank adapters learn, and a PEFT directory is written, which
/// `train --model M --adapter DIR` goes on from. With --env TASKS it reads the references of tasks instead, and with
/// --turns 2 as many conversations in which a program that fails is repaired: references with one token changed, with
/// what is told of them. A run that was stopped goes on where it was when the same command is given again, and one that is
/// done stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 sft
  grpo-2048 sft --output-dir runs/small --total-tokens 2000000
  grpo-2048 train --model runs/sft
  grpo-2048 sft --model smollm2.gguf --output-dir runs/warm
  grpo-2048 train --model smollm2.gguf --adapter runs/warm
  grpo-2048 sft --model smollm2.gguf --env tasks.jsonl --turns 2")]
pub struct SftArgs {
    #[command(flatten)]
    flags: Flags,
    /// "builtin" (from nothing), a Hugging Face id, a local directory in its layout, or a .gguf file
    #[arg(long, value_name = "M", help_heading = "Model")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R", help_heading = "Model")]
    revision: Option<String>,
    /// PEFT adapter to go on from, or the run that trained it
    #[arg(long, value_name = "DIR", value_parser = text_path(), help_heading = "Model")]
    adapter: Option<PathBuf>,
    /// Rank of the LoRA adapters; 0 trains every weight
    #[arg(long, value_name = "R", help_heading = "Model")]
    lora_r: Option<u32>,
    /// Send prompts as plain text, without the model's chat template
    #[arg(long, help_heading = "Model")]
    raw_prompt: bool,
    /// What is read: "2048" for generated players, or a file or directory of tasks for their references
    #[arg(long, value_name = "E", help_heading = "Run")]
    env: Option<String>,
    /// Turns of a conversation (T): with several, repairs of programs that fail are read too
    #[arg(long, value_name = "T", help_heading = "Run")]
    turns: Option<u32>,
    /// Where to write the model and its checkpoints
    #[arg(
        id = "written_to",
        long = "output-dir",
        value_name = "DIR",
        default_value = "runs/sft",
        help_heading = "Run"
    )]
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

/// What programs of a run that is done are tried with.
struct Late<'a> {
    config: &'a Config,
    device: &'a Device,
    stop: &'a RunStop,
    console: &'a Console,
}

impl SftArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        refuse_several("sft")?;
        let flags = runs::with_trained_adapter(&self.flags, console)?;
        let layers = self.source.layers(&flags)?;
        let config = settled(layers.clone(), console)?;
        self.source.tell_idle("sft", console);
        runs::tell_idle_adapters(&layers, &config.model, console);
        runs::tell_own_dir("sft", &self.output_dir, &config, console);
        model::check_files("--model", &config)?;
        sft::check_dir(&self.output_dir).map_err(refused)?;
        let stop = self.stop(&config, console)?;
        let tasks = tasks(&config, console)?;
        let device = model::device(&config.model.device, console)?;
        let allowance = machine::allowance(&device, &config, 1)?;
        let learner = learner(&config, &device, tasks.as_ref(), console)?;
        let at_once = match (&learner, allowance) {
            (Some(learner), Some(allowance)) => sft::parts_at_once(&learner.policy, &config, allowance.bytes),
            _ => usize::MAX,
        };
        let options = SftOptions {
            seed: Seed::root(config.train.seed),
            output_dir: self.output_dir.clone(),
            device,
            config: config.sft.clone(),
            at_once,
        };
        if let Some(done) = options.check_dir(learner.as_ref()).map_err(refused)? {
            let late = Late { config: &config, device: &options.device, stop: &stop, console };
            return self.tell_done(&done, late, learner, tasks);
        }
        let line_steps = if learner.is_some() { 1 } else { LINE_STEPS };
        let probe = Probe::of(&config, learner.as_ref(), tasks, console)?;
        let before = probe.as_ref().zip(learner.as_ref()).map(|(probe, learner)| probe.plays(&learner.policy));
        let before = before.transpose()?;
        let mut bar = None;
        let mut observe = |progress: &SftProgress| {
            let line = progress_line(progress);
            if bar.is_none() {
                let left = duration(progress.remaining.as_secs_f64());
                console.print(&format!("step {} of {}; about {left} to go", progress.step, progress.steps));
            }
            let bar = bar.get_or_insert_with(|| console.count(progress.steps, "steps"));
            bar.show(progress.step, &line);
            let due = progress.step == progress.steps || progress.step.is_multiple_of(line_steps);
            if let Some(loss) = progress.held_out_loss {
                console.print(&format!("step {}/{}  held-out loss {loss:.4}", progress.step, progress.steps));
            } else if due && console.progress() == Progress::Plain {
                console.print(&format!("step {}/{}  {line}", progress.step, progress.steps));
            }
            if stop.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (summary, policy) = sft::run(&options, learner, &mut || stop.begin(), &mut observe).map_err(refused)?;
        drop(bar);
        if summary.interrupted {
            console.print(&format!("stopped at step {}; the same command goes on from there", summary.steps));
            return Err(CliError::Interrupted);
        }
        let mut played = String::new();
        if let Some((probe, before)) = probe.zip(before) {
            stop.end_with(UNTRIED);
            // In the last step, after which a run stops anyway.
            if stop.is_asked() {
                console.print(UNTRIED);
                return Err(CliError::Interrupted);
            }
            played = self.tried(&probe, &before, &policy)?;
        }
        output::tell(&self.result(&config, &summary, &played))
    }

    /// Heeds signals. A run that is done stays as it is whenever one comes, and is told of before its tasks are read.
    fn stop(&self, config: &Config, console: &Console) -> Result<RunStop, CliError> {
        let stop = RunStop::new(console, true)?;
        stop.will_make(&self.output_dir);
        if sft::is_done(&self.output_dir) {
            stop.end_with(AS_IT_WAS);
            if config.environment.env != game2048::NAME {
                let dir = self.output_dir.display();
                console.print(&format!(
                    "{dir} is done already; references are judged to tell whether it has read the same"
                ));
            }
        }
        Ok(stop)
    }

    /// Tells of a run that is done, and tries its programs if it was stopped before they were.
    fn tell_done(
        &self,
        done: &SftSummary,
        late: Late<'_>,
        learner: Option<Learner>,
        tasks: Option<Arena>,
    ) -> Result<(), CliError> {
        let (config, dir) = (late.config, self.output_dir.display());
        late.console
            .print(&format!("{dir} is at step {} already, the last; another --output-dir trains anew", done.steps));
        let played = done.tried.clone().map_or_else(|| self.tried_late(late, learner, tasks), Ok)?;
        output::tell(&self.result(config, done, &played))
    }

    /// What came of trying programs of the trained policy, which is kept for when the same command is given again.
    fn tried(&self, probe: &Probe<'_>, before: &EvaluationRecord, policy: &Policy) -> Result<String, CliError> {
        let told = probe.told(before, &probe.plays(policy)?);
        sft::keep_tried(&self.output_dir, &told).map_err(|error| refused(error.into()))?;
        Ok(told)
    }

    /// The same of a run that is done and was stopped before its programs were tried.
    fn tried_late(&self, late: Late<'_>, learner: Option<Learner>, tasks: Option<Arena>) -> Result<String, CliError> {
        let Late { config, device, stop, console } = late;
        let probe = Probe::of(config, learner.as_ref(), tasks, console)?;
        let Some((probe, learner)) = probe.zip(learner) else { return Ok(String::new()) };
        stop.end_with(UNTRIED);
        let before = probe.plays(&learner.policy)?;
        // Two models would take twice the memory.
        drop(learner);
        let trained = Config { model: self.trained(&config.model), ..config.clone() };
        self.tried(&probe, &before, &model::policy_shown(&trained, device, console)?)
    }

    /// The settings by which the trained model is loaded: an adapter beside the model, or a whole one.
    fn trained(&self, model: &ModelConfig) -> ModelConfig {
        let (dir, model) = (self.output_dir.display().to_string(), model.clone());
        match self.output_dir.join(model::ADAPTER_CONFIG).exists() {
            true => ModelConfig { adapter: dir, ..model },
            false => ModelConfig { model: dir, revision: "main".to_owned(), ..model },
        }
    }

    /// The summary, and the command that uses what was trained.
    fn result(&self, config: &Config, summary: &SftSummary, played: &str) -> String {
        let (dir, named) = (self.output_dir.display(), shell::path(self.output_dir.display()));
        let result = match self.output_dir.join(model::ADAPTER_CONFIG).exists() {
            true => {
                let (model, asked) = (of_model(config), as_asked(config));
                format!("adapter  {dir}\ntry      grpo-2048 train --model {model} --adapter {named}{asked}")
            }
            false => format!("model  {dir}\ntry    grpo-2048 eval --model {named}{}", as_asked(config)),
        };
        let SftSummary { steps, tokens, first_loss, held_out_loss, .. } = summary;
        let loss = match held_out_loss.is_nan() {
            true => String::new(),
            false => format!("held-out loss: {first_loss:.4} -> {held_out_loss:.4} nats a token\n"),
        };
        format!("{}, {tokens} tokens\n{loss}{played}{result}\n", counted(*steps, "step"))
    }
}

/// The user can mend the output directory and the model; every other error fails the run.
fn refused(error: SftError) -> CliError {
    match error {
        SftError::Dir(problem) if problem.is_user() => CliError::user(problem),
        SftError::Foreign { .. }
        | SftError::OtherRun { .. }
        | SftError::Damaged { .. }
        | SftError::NothingFits { .. }
        | SftError::NoEnd => CliError::user(error),
        other => CliError::run(other),
    }
}

/// The model that was read, as the next command is told of it.
fn of_model(config: &Config) -> String {
    let ModelConfig { model, revision, .. } = &config.model;
    match revision.as_str() {
        "main" => shell::quoted(model),
        revision => format!("{} --revision {}", shell::quoted(model), shell::quoted(revision)),
    }
}

/// The flags by which the next command asks as this one did: in plain text, and of the tasks that were read.
fn as_asked(config: &Config) -> String {
    let (env, turns) = (&config.environment.env, config.rollout.turns);
    let plain = if config.model.raw_prompt { " --raw-prompt" } else { "" };
    match (env == game2048::NAME, turns) {
        (true, _) => plain.to_owned(),
        (false, 1) => format!("{plain} --env {}", shell::path(env)),
        (false, _) => format!("{plain} --env {} --turns {turns}", shell::path(env)),
    }
}

/// What judges programs for the tasks that are read; `None` where the corpus is read.
fn tasks(config: &Config, console: &Console) -> Result<Option<Arena>, CliError> {
    let env = &config.environment.env;
    if *env == game2048::NAME {
        if config.rollout.turns > 1 {
            console.warn("rollout.turns: the corpus has no repairs, so single programs are read; --env TASKS has some");
        }
        return Ok(None);
    }
    if config.model.model == "builtin" {
        let message = format!("--env {env}: the built-in model reads players of 2048, and nothing else");
        let hint = "name a language model with --model; without a warm-up it is `grpo-2048 train --env E --model M`";
        return Err(CliError::user_hint(message, hint));
    }
    let arena = arena::open(config, console)?;
    match arena.environment().tasks() {
        Some(_) => Ok(Some(arena)),
        None => Err(CliError::user_hint(
            format!("environment.env = {env}: expected \"{}\" or tasks", game2048::NAME),
            "a game has no references to read; models start with `grpo-2048 train --env E --model M`",
        )),
    }
}

/// The model to train; `None` for the built-in one, which begins from random weights.
fn learner(
    config: &Config,
    device: &Device,
    tasks: Option<&Arena>,
    console: &Console,
) -> Result<Option<Learner>, CliError> {
    if config.model.model == "builtin" {
        return from_nothing(&config.model).map(|()| None);
    }
    let policy = model::policy_shown(config, device, console)?;
    let prompts = model::prompts(config, &policy, tasks.map_or(&Environment::Game2048, Arena::environment))?;
    let lessons = tasks.map(|arena| lessons(config, &policy, &prompts, arena, console)).transpose()?;
    Ok(Some(Learner { policy, prompts, lessons, model: config.model.clone() }))
}

/// Refuses settings that the built-in model, all weights of which are made here, would pass by.
fn from_nothing(model: &ModelConfig) -> Result<(), CliError> {
    let ModelConfig { precision, lora_r, adapter, revision, .. } = model;
    let message = match () {
        () if !matches!(precision, PrecisionChoice::Auto | PrecisionChoice::F32) => {
            "model.precision: found a half format, expected auto or f32: the built-in model is made in f32".to_owned()
        }
        () if !adapter.is_empty() => {
            format!("model.adapter: found {adapter}, expected none: the built-in model is made from nothing")
        }
        () if revision != "main" => {
            format!("model.revision: found {revision}, expected main: the built-in model is made from nothing")
        }
        () if *lora_r > 0 => {
            format!("model.lora_r: found {lora_r}, expected 0: every weight of the built-in model is trained")
        }
        () => return Ok(()),
    };
    Err(CliError::user_hint(message, "name another model with --model, or leave the key away"))
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
