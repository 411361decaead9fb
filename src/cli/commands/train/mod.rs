//! `grpo-2048 train`: the loop.

mod dry_run;
mod launched;
mod summary;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

use clap::Args;

use crate::arena::Rules;
use crate::cli::arguments::{Flags, SourceArgs, WorkerArgs, boards, settled, text_path};
use crate::cli::commands::names::EXIT_CODES;
use crate::cli::opened::interrupt::{NOTHING_WRITTEN, RunStop};
use crate::cli::opened::machine::allowance;
use crate::cli::opened::peers::{agree, any_stops, device_of, first_of, parallel_error, with_peers};
use crate::cli::opened::reward_check::RewardCheck;
use crate::cli::opened::{arena, model, runs};
use crate::cli::said::CliError;
use crate::config::{Config, Layers};
use crate::environment::Environment;
use crate::metrics::Console;
use crate::parallel::Peers;
use crate::policy::{Location, Policy};
use crate::prompt::PromptSet;
use crate::reward::Rule;
use crate::rollout::slow_on_gpu;
use crate::train::run_dir::{self, Reopened, RunDir};
use crate::train::{Run, TrainError};

use launched::Launched;
use trace::TraceArgs;

/// Train a model by GRPO on the results of the programs it writes
///
/// A step samples groups x num-generations programs, runs each on the tests of its task, or in the same games, and moves
/// the model towards the better ones of each group. Without arguments the built-in model learns to write players of 2048.
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  grpo-2048 train                                 the built-in model, about
                                                  half an hour on two cores
  grpo-2048 train --sequential --steps 2          look at every program
  grpo-2048 train --model smollm2.gguf --steps 3  a language model, with LoRA
  grpo-2048 train --model Qwen/Qwen2.5-Coder-0.5B-Instruct --device cuda
  grpo-2048 train --config grpo.yaml --dry-run    a configuration of TRL: what
                                                  it means here, memory, time
  grpo-2048 train --resume latest --steps 200     go on with the newest run
  grpo-2048 train --steps 2 --trace step.json     see who did what when, in Perfetto

{EXIT_CODES}"))]
pub struct TrainArgs {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    step: StepArgs,
    /// What programs are written for: "2048", a .jsonl file of tasks, a .py file with a game, or a directory with env.toml
    #[arg(long, value_name = "E", help_heading = "Programs")]
    env: Option<String>,
    /// Games each program plays where there are no tasks; all completions of a group play the same ones
    #[arg(long, value_name = "K", help_heading = "Programs")]
    games: Option<u32>,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
struct ModelArgs {
    /// "builtin", a Hugging Face id, a local directory in its layout, or a .gguf file
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R")]
    revision: Option<String>,
    /// PEFT adapter to go on from, as `sft` and checkpoints are, or the run that trained it
    #[arg(long, value_name = "DIR", value_parser = text_path())]
    adapter: Option<PathBuf>,
    /// Rank of the LoRA adapters; 0 trains every weight
    #[arg(long, value_name = "R")]
    lora_r: Option<u32>,
    /// Send prompts as plain text, without the model's chat template
    #[arg(long)]
    raw_prompt: bool,
    /// "auto", "cpu", "cuda" or "cuda:N"
    #[arg(long, value_name = "D")]
    device: Option<String>,
    /// Most of a GPU's memory that training may take, as a share of it
    #[arg(long, value_name = "F")]
    gpu_memory_fraction: Option<f64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
struct RunArgs {
    /// Last step of the run
    #[arg(long, value_name = "N")]
    steps: Option<u32>,
    /// Root of all chance; the same seed gives the same run. Without it the boards of games are drawn anew
    #[arg(long, value_name = "S")]
    seed: Option<u32>,
    /// Where to write; without it the next of runs/train-001, -002, ...
    #[arg(long, value_name = "DIR", value_parser = text_path())]
    output_dir: Option<PathBuf>,
    /// Checkpoint every N steps, and at the end
    #[arg(long, value_name = "N")]
    save_steps: Option<u32>,
    /// Held-out evaluation every N steps; 0: only first and last
    #[arg(long, value_name = "N")]
    eval_steps: Option<u32>,
    /// Go on with the run in DIR; "latest": with that in --output-dir, or else with the newest of runs/train-001, -002, ...
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "latest", conflicts_with = "preset", value_parser = text_path())]
    resume: Option<PathBuf>,
    /// Check everything, print configuration, memory and time as they would be, and write nothing
    #[arg(long, conflicts_with = "trace")]
    dry_run: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Step")]
struct StepArgs {
    /// Prompts a step (P)
    #[arg(long, value_name = "P")]
    groups: Option<u32>,
    /// Completions for each prompt (G); at least 2
    #[arg(long, value_name = "G")]
    num_generations: Option<u32>,
    /// Longest completion, in tokens
    #[arg(long, value_name = "T")]
    max_completion_length: Option<u32>,
    /// Softmax temperature of sampling
    #[arg(long, value_name = "F")]
    temperature: Option<f64>,
    /// Turns (T): the policy is told what came of its program and writes again, until every test is passed
    #[arg(long, value_name = "T")]
    turns: Option<u32>,
    /// Peak learning rate of AdamW
    #[arg(long, value_name = "F")]
    learning_rate: Option<f64>,
    /// Servers of vLLM that write the completions, such as http://localhost:8000; several: commas between them
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    rollouts: Option<Vec<String>>,
    /// 1: write the next step while the programs of this one run, before its update
    #[arg(long, value_name = "N")]
    steps_ahead: Option<u32>,
}

/// Says what keeps a GPU from sampling by its own kernels, before a run takes ten times as long as it could.
fn warn_of_slow_sampling(policy: &Policy, config: &Config, prompts: &PromptSet, console: &Console) {
    let longest = prompts.prompts().iter().map(|prompt| prompt.ids.len()).max().unwrap_or(0);
    if let Some(words) = slow_on_gpu(policy, &config.rollout, longest) {
        console.print(&format!("warning: {words}"));
    }
}

/// Refuses tasks that are all held out: no prompt would be left to train on.
fn require_training_tasks(environment: &Environment, config: &Config) -> Result<(), CliError> {
    if environment.tasks().is_none_or(|tasks| tasks.trained() > 0) {
        return Ok(());
    }
    Err(CliError::user_hint(
        format!("--env {}: every task is held out, expected some to train on", config.environment.env),
        "leave \"split\" out of the tasks to train on; `grpo-2048 eval` asks those that are held out",
    ))
}

/// The steps that the resumed run has made, and whether nothing is left to do, not even after its last step. A run that has made
/// more steps than it is asked for is left as it is: it was not evaluated there, and has not ended. All processes get what the
/// first one finds, because another machine may have an older copy of the run.
fn steps_done(
    resumed: Option<&Path>,
    reopened: Option<&Reopened>,
    config: &Config,
    peers: &Peers,
) -> Result<(usize, bool), CliError> {
    let done = match (reopened, resumed) {
        (Some(reopened), _) => run_dir::step_of(&reopened.newest).unwrap_or(0),
        (None, Some(run)) if peers.leads() => run_dir::steps_done(run).map_err(TrainError::from)?,
        _ => 0,
    };
    let last = config.train.max_steps;
    let is_whole = |run| done > last || done == last && run_dir::has_ended(run, done);
    first_of(peers, (done, resumed.is_some_and(is_whole)))
}

impl TrainArgs {
    /// Trains with all processes that were started together. `commit` is what the program was built from, where the
    /// build knows.
    pub fn run(self, console: &Console, commit: Option<&str>) -> Result<(), CliError> {
        with_peers(console, |peers, console, begun| self.train(peers, console, commit, begun))
    }

    fn train(
        self,
        peers: &Peers,
        console: &Console,
        commit: Option<&str>,
        begun: &OnceLock<PathBuf>,
    ) -> Result<(), CliError> {
        let started = Instant::now();
        let resumed = self.resumed()?;
        let layers = arena::count_epochs(self.layers(resumed.as_deref(), peers, console)?)?;
        let config = settled(layers.clone(), console)?;
        self.source.tell_idle("train", console);
        runs::tell_idle_adapters(&layers, &config.model, console);
        agree(peers, &config)?;
        let reopened = self.check(resumed.as_deref(), &config, peers, console)?;
        model::check_files("--model", &config)?;
        let (done, is_whole) = steps_done(resumed.as_deref(), reopened.as_ref(), &config, peers)?;
        if let Some(run) = resumed.as_deref().filter(|_| is_whole) {
            let run = run.display();
            console.print(&format!(
                "{run} is at step {done} already; --steps N with a larger N goes on, counted from the run's first step"
            ));
            return Ok(());
        }
        let traced = self.trace.chosen(done, config.train.max_steps)?;
        let stop = RunStop::new(console, peers.size() == 1)?;
        let device = model::device(&device_of(&config.model.device, peers)?, console)?;
        let allowance = allowance(&device, &config, peers.sharing(&device).map_err(parallel_error)?)?;
        if self.run.dry_run && !peers.leads() {
            return Ok(());
        }
        let arena = arena::open(&config, console)?;
        require_training_tasks(arena.environment(), &config)?;
        // The reward is checked while the model is loaded: for a language model both take about as long.
        let check = if peers.leads() { Some(RewardCheck::start(&config, &arena, console)?) } else { None };
        let mut policy = model::policy_shown(&config, &device, console)?;
        let prompts = model::prompts(&config, &policy, arena.environment())?;
        let arena = check.map_or_else(|| Ok(arena.under(Rules::training(&config))), RewardCheck::finish)?;
        let servers = Run::servers(&config, &prompts)?;
        if peers.leads() && servers.is_none() {
            warn_of_slow_sampling(&policy, &config, &prompts, console);
        }
        self.heed(&stop, peers, console)?;
        let alone = Peers::alone();
        let run = Run {
            config: &config,
            policy: &mut policy,
            servers,
            arena: &arena,
            rule: Rule::new(&config.reward, arena.environment()),
            prompts: &prompts,
            allowance,
            stop: stop.flag(),
            peers: if self.run.dry_run { &alone } else { peers },
            measure: &|_| BTreeMap::new(),
        };
        if self.run.dry_run {
            return dry_run::report(run, peers, &layers, done, console);
        }
        if !arena.environment().has_tests() {
            boards::tell(&layers, console);
        }
        if let Some(run) = resumed.as_deref() {
            console.print(&format!("going on from step {done} of {}", run.display()));
        }
        let resumed = resumed.is_some();
        Launched { resumed, reopened, traced, commit, started, begun }.train(run, console)
    }

    /// Ends all processes alike where one of them was asked to stop before the first step, so that none waits for another
    /// that has left. There is nothing trained yet that a checkpoint could keep.
    fn heed(&self, stop: &RunStop, peers: &Peers, console: &Console) -> Result<(), CliError> {
        // The first process makes a dry run alone.
        let stopping = if self.run.dry_run { stop.is_asked() } else { any_stops(peers, stop.is_asked())? };
        // A process alone has ended, or is about to.
        if stopping && peers.size() > 1 {
            console.print(NOTHING_WRITTEN);
            return Err(CliError::Interrupted);
        }
        // A dry run never begins: a signal ends it as long as it measures.
        if !self.run.dry_run {
            stop.begin();
        }
        Ok(())
    }

    /// Refuses a wrong directory of the run before a model is loaded and the reward is checked. The first process opens
    /// the run that is resumed.
    fn check(
        &self,
        resumed: Option<&Path>,
        config: &Config,
        peers: &Peers,
        console: &Console,
    ) -> Result<Option<Reopened>, CliError> {
        // A model of the Hub that has left the cache is fetched to be compared with that of the run.
        let is_away = resumed.is_some() && peers.leads() && Location::here(&config.model).is_err();
        let _wait = is_away.then(|| console.wait(&format!("looking for {}", config.model.model)));
        let checked = match resumed {
            _ if !peers.leads() => Ok(None),
            // Reopening locks the run and sets damaged checkpoints aside.
            Some(run) if self.run.dry_run => {
                let warnings = RunDir::check_settings(run, config).map_err(TrainError::from)?;
                warnings.iter().for_each(|warning| console.print(warning));
                return runs::Trained::open("--resume", run, console).map(|_| None);
            }
            Some(run) => RunDir::reopen(run, config).map(Some),
            None => RunDir::check(config).map(|()| None),
        };
        let checked = checked.map_err(TrainError::from)?;
        checked.iter().flat_map(|reopened| &reopened.notices).for_each(|notice| console.print(notice));
        Ok(checked)
    }

    /// The directory of the run to resume, if one was asked for.
    fn resumed(&self) -> Result<Option<PathBuf>, CliError> {
        let Some(asked) = &self.run.resume else { return Ok(None) };
        let path = match (runs::is_latest(asked), &self.run.output_dir) {
            (true, Some(output_dir)) => output_dir.clone(),
            (true, None) => match self.configured_dir()? {
                Some(output_dir) => output_dir,
                None => runs::named("--resume", asked)?,
            },
            (false, Some(output_dir)) if output_dir != asked => {
                return Err(CliError::user_hint(
                    format!("--output-dir {} with --resume {}", output_dir.display(), asked.display()),
                    "a resumed run goes on where it was; leave --output-dir away",
                ));
            }
            (false, _) => asked.clone(),
        };
        runs::require_directory("--resume", &path)?;
        Ok(Some(path))
    }

    /// The directory that `--config` or `--set` gives to a run, as files of TRL do.
    fn configured_dir(&self) -> Result<Option<PathBuf>, CliError> {
        let layers = self.source.layers_over("", Path::new("--resume"), &self.flags)?;
        if layers.origin("train.output_dir").is_none() {
            return Ok(None);
        }
        let dir = layers.resolve()?.train.output_dir;
        Ok((!dir.as_os_str().is_empty()).then_some(dir))
    }

    fn layers(&self, resumed: Option<&Path>, peers: &Peers, console: &Console) -> Result<Layers, CliError> {
        let mut flags = runs::with_trained_adapter(&self.flags, console)?;
        // Exchanged by processes that draw no boards too: others may, and only the next exchange tells how they differ.
        let drawn = first_of(peers, boards::board_salt()?)?;
        let Some(path) = resumed else {
            let mut layers = self.source.layers(&flags)?;
            if boards::BOARD_KEYS.iter().all(|key| layers.origin(key).is_none()) {
                layers.value(boards::DRAWN, "train.board_salt", drawn)?;
            }
            return Ok(layers);
        };
        let recorded = runs::recorded_text(path)?;
        flags.add("output_dir", Some(path.display().to_string()));
        self.source.layers_over(&recorded, path, &flags)
    }
}
