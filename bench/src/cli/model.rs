//! `grpo-2048-bench generate` and `train`: the cost of a model on this machine, compared with PyTorch.

use std::ffi::OsStr;
use std::rc::Rc;
use std::time::Instant;

use clap::Args;
use clap::builder::PossibleValuesParser;
use cpu_time::ProcessTime;

use super::gauges;
use crate::model::{Measurement, ModelWork, Peer, PeerModel, Sheet, Way};
use crate::{Clocks, Python};
use grpo_2048::cli::CliError;
use grpo_2048::cli::for_bench::{Flags, SourceArgs, loading, output};
use grpo_2048::config::{Config, Layers};
use grpo_2048::metrics::{Console, aligned};
use grpo_2048::plural::counted;
use grpo_2048::policy::{Device, KNOWN_SHAPES, KnownShape, Policy};
use grpo_2048::seed::{Purpose, Seed};

/// The default shape, which is suitable for every machine.
const SMALLEST: &str = "smollm2-135m";
/// PyTorch's names of number formats.
const DTYPES: [&str; 3] = ["float32", "bfloat16", "float16"];
/// Which updates a peer makes.
const CHECKPOINTING: [&str; 3] = ["on", "off", "both"];

/// Time the completions of one training step
///
/// Prompts of random tokens are fed once a group, and every completion has the length that is asked for. Beside tokens a
/// second stand the seconds of each phase, the most memory that was in use, and the share of the roofline: bytes that
/// decoding has to read, over what a large copy moves on the same device in the same round.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048-bench generate
  grpo-2048-bench generate --random-weights qwen2.5-1.5b --batch 64 --groups 8 --new-tokens 512
  grpo-2048-bench generate --batch 8 --groups 1 --against rollout.num_generations=32
  RAYON_NUM_THREADS=1 grpo-2048-bench generate --peer python3 --groups 32")]
pub struct GenerateArgs {
    /// Completions
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = count(4096), help_heading = "Work")]
    batch: u32,
    /// Prompts that they belong to, the same number to each
    #[arg(long, value_name = "P", default_value_t = 4, value_parser = count(4096), help_heading = "Work")]
    groups: u32,
    #[command(flatten)]
    shared: SharedArgs,
}

/// Time one GRPO update on synthetic episodes
///
/// Beside tokens a second (prompts included) stand the seconds of each stage, those of parts that run side by side
/// added up, the most memory that was in use, and model flops utilisation (MFU): operations of the update, counted from
/// the shapes and without what checkpointing computes again, over those of a large square product on the same device
/// in the same round.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048-bench train
  grpo-2048-bench train --micro-batch 8 --against grpo.micro_batch=2 --against grpo.gradient_checkpointing=on
  grpo-2048-bench train --random-weights qwen2.5-1.5b --lora-r 32 --batch 64 --groups 8 --new-tokens 512
  RAYON_NUM_THREADS=1 grpo-2048-bench train --peer python3")]
pub struct TrainBenchArgs {
    /// Completions
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = count(4096), help_heading = "Work")]
    batch: u32,
    /// Prompts that they belong to, the same number to each, at least two
    #[arg(long, value_name = "P", default_value_t = 2, value_parser = count(4096), help_heading = "Work")]
    groups: u32,
    /// Completions that pass through the model at once
    #[arg(long, value_name = "N", value_parser = count(4096), help_heading = "Work")]
    micro_batch: Option<u32>,
    #[command(flatten)]
    shared: SharedArgs,
}

#[derive(Debug, Args)]
struct SharedArgs {
    /// Tokens of a prompt
    #[arg(long, value_name = "N", default_value_t = 168, value_parser = count(1 << 17), help_heading = "Work")]
    prompt_tokens: u32,
    /// Tokens of a completion
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = count(1 << 17), help_heading = "Work")]
    new_tokens: u32,
    /// Shape of a model to draw weights for, so that no file is needed; the smallest if nothing is named
    #[arg(
        long,
        value_name = "SHAPE",
        value_parser = shapes(),
        conflicts_with_all = ["model", "revision"],
        help_heading = "Model"
    )]
    random_weights: Option<String>,
    /// A local directory in Hugging Face layout, a .gguf file, or a Hugging Face id
    #[arg(long, value_name = "M", help_heading = "Model")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R", help_heading = "Model")]
    revision: Option<String>,
    /// Rank of the LoRA adapters; 0 trains every weight
    #[arg(long, value_name = "R", help_heading = "Model")]
    lora_r: Option<u32>,
    /// "auto", "cpu" or "cuda:0"
    #[arg(long, value_name = "D", help_heading = "Model")]
    device: Option<String>,
    /// Measure the same with one setting changed, and print the ratio; may be repeated
    #[arg(long, value_name = "SECTION.KEY=VALUE", help_heading = "Comparison")]
    against: Vec<String>,
    /// Interpreter with torch, transformers and peft that does the same work
    #[arg(long, value_name = "PYTHON", help_heading = "Comparison")]
    peer: Option<String>,
    /// Numbers that PyTorch computes with, comma-separated; without it what suits the device
    #[arg(
        long,
        value_name = "DTYPE",
        value_delimiter = ',',
        requires = "peer",
        value_parser = DTYPES,
        help_heading = "Comparison"
    )]
    peer_dtype: Vec<String>,
    /// Completions that pass through PyTorch's model at once in an update; without it all of them
    #[arg(long, value_name = "N", requires = "peer", value_parser = count(4096), help_heading = "Comparison")]
    peer_micro_batch: Option<u32>,
    /// Updates of PyTorch with activations computed again, without, or both in turn
    #[arg(
        long,
        value_name = "on|off|both",
        requires = "peer",
        default_value = "both",
        value_parser = CHECKPOINTING,
        hide_possible_values = true,
        help_heading = "Comparison"
    )]
    peer_checkpointing: String,
    /// How often everything is measured, in turn
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = count(1000), help_heading = "Measurement")]
    rounds: u32,
    /// Root of weights, prompts and sampling
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = "Measurement")]
    seed: u64,
    /// One JSON object instead of a table
    #[arg(long, help_heading = "Measurement")]
    json: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// A parser for numbers from 1 to `most`.
fn count(most: i64) -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=most)
}

fn shapes() -> PossibleValuesParser {
    KNOWN_SHAPES.iter().map(|shape| shape.name).collect::<Vec<_>>().into()
}

impl GenerateArgs {
    /// Measures and prints.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let batch = Batch { completions: self.batch, groups: self.groups, micro_batch: None };
        self.shared.run(ModelWork::Generate, batch, console)
    }
}

impl TrainBenchArgs {
    /// Measures and prints.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let Self { batch, groups, micro_batch, shared } = self;
        if batch < 2 * groups {
            let message = format!("--batch {batch}: expected at least two completions for each of --groups {groups}");
            return Err(CliError::user_hint(message, "a group of one has no advantage to learn from"));
        }
        shared.run(ModelWork::Update, Batch { completions: batch, groups, micro_batch }, console)
    }
}

/// The size of a batch.
#[derive(Clone, Copy)]
struct Batch {
    completions: u32,
    groups: u32,
    micro_batch: Option<u32>,
}

impl SharedArgs {
    fn run(&self, work: ModelWork, batch: Batch, console: &Console) -> Result<(), CliError> {
        let configs = self.configs(batch, console)?;
        let pythons = self.python()?;
        let first = &configs[0].1;
        let device = loading::device(&first.model.device, console)?;
        let (shape, model) = self.model(first);
        let ways = ways(configs, shape, Seed::root(self.seed), &device, console)?;
        let peers = match &pythons {
            Some(python) => self.peers(work, python, &model, &device),
            None => Vec::new(),
        };
        let started = Instant::now();
        let wall = || started.elapsed();
        let cpu = || ProcessTime::now().as_duration();
        let gauges = gauges::open(&device, console);
        let measurement = Measurement {
            ways: &ways,
            prompt_tokens: self.prompt_tokens as usize,
            peers: &peers,
            clocks: Clocks { wall: &wall, cpu: &cpu },
            gauges: gauges.as_ref(),
            rounds: self.rounds as usize,
            seed: Seed::root(self.seed),
        };
        console.print("measuring every way once a round, in turn");
        let bar = console.count(self.rounds as usize, "runs");
        let sheet = measurement.measure(work, &mut |done, total, words| bar.show_of(done, total, words));
        drop(bar);
        self.print(&sheet.map_err(CliError::run)?, work, &ways[0].config, !peers.is_empty())
    }

    /// The configuration of the flags, then with each change: the change and the configuration.
    fn configs(&self, batch: Batch, console: &Console) -> Result<Vec<(String, Config)>, CliError> {
        let Batch { completions, groups, micro_batch } = batch;
        if !completions.is_multiple_of(groups) {
            let message = format!("--batch {completions}: expected a multiple of --groups {groups}");
            return Err(CliError::user_hint(message, "every prompt has the same number of completions"));
        }
        // A configuration with one completion per prompt is not valid, because it cannot be learnt from, but it can be
        // sampled.
        let alone = completions == groups;
        let size = if alone { 2 } else { completions / groups };
        let mut flags = Flags::default();
        flags
            .add("model", self.model.as_deref())
            .add("revision", self.revision.as_deref())
            .add("lora_r", self.lora_r)
            .add("device", self.device.as_deref())
            .add("groups", Some(groups))
            .add("num_generations", Some(size))
            .add("max_completion_length", Some(self.new_tokens))
            .add("micro_batch", micro_batch);
        let mut source = self.source.clone();
        if self.model.is_none() {
            source.preset.get_or_insert_with(|| "llm".into());
        }
        let config = source.resolve(&flags, console)?;
        let recorded = toml::to_string(&config).map_err(CliError::run)?;
        let changed = |change: &String| {
            let mut layers = Layers::default();
            layers.text("the configuration", &recorded)?;
            layers.assignment_of("--against", change)?;
            Ok((change.clone(), layers.resolve()?))
        };
        let changes = self.against.iter().map(changed).collect::<Result<Vec<_>, CliError>>()?;
        let mut all: Vec<(String, Config)> = [(String::new(), config)].into_iter().chain(changes).collect();
        if alone {
            let untouched = all.iter_mut().filter(|(change, _)| !change.starts_with("rollout.num_generations"));
            untouched.for_each(|(_, config)| config.rollout.num_generations = 1);
        }
        Ok(all)
    }

    /// The shape for random weights, if no model is named, and the model for PyTorch.
    fn model(&self, config: &Config) -> (Option<&'static KnownShape>, PeerModel) {
        if self.model.is_some() {
            return (None, PeerModel::Model(config.model.model.clone()));
        }
        let name = self.random_weights.as_deref().unwrap_or(SMALLEST);
        let shape = KNOWN_SHAPES.iter().find(|shape| shape.name == name).expect("a possible value");
        let mut json = shape.config.to_json();
        json["initializer_range"] = shape.spread.into();
        (Some(shape), PeerModel::Config(json))
    }

    /// The interpreter of the peer, which must exist if it is named.
    fn python(&self) -> Result<Option<Python>, CliError> {
        let Some(name) = &self.peer else { return Ok(None) };
        match Python::with_torch(OsStr::new(name)).map_err(CliError::run)? {
            None => Err(CliError::user_hint(
                format!("--peer {name}: no Python 3 with torch, transformers and peft runs under this name"),
                "name the interpreter of an environment that has them: pip install torch transformers peft",
            )),
            found => Ok(found),
        }
    }

    fn peers<'a>(&self, work: ModelWork, python: &'a Python, model: &'a PeerModel, device: &Device) -> Vec<Peer<'a>> {
        let usual: &[&str] = if device.is_cpu() { &DTYPES[..2] } else { &DTYPES[1..2] };
        let asked = DTYPES.into_iter().filter(|dtype| match self.peer_dtype.as_slice() {
            [] => usual.contains(dtype),
            some => some.iter().any(|some| some == dtype),
        });
        let of = |dtype: &'static str| match work {
            ModelWork::Generate => vec![("transformers", "generate.py", false, dtype)],
            ModelWork::Update => [("torch and PEFT", false), ("torch and PEFT, checkpointing", true)]
                .into_iter()
                .filter(|(_, again)| self.peer_checkpointing != if *again { "off" } else { "on" })
                .map(|(name, again)| (name, "update.py", again, dtype))
                .collect(),
        };
        let peer = |(name, script, checkpointing, dtype)| Peer {
            name: format!("{name}, {dtype}"),
            python,
            script,
            model,
            dtype,
            checkpointing,
            micro_batch: self.peer_micro_batch.map(|count| count as usize),
        };
        asked.flat_map(of).map(peer).collect()
    }

    fn print(&self, sheet: &Sheet, work: ModelWork, config: &Config, compared: bool) -> Result<(), CliError> {
        if self.json {
            let text = serde_json::to_string(sheet).map_err(CliError::run)?;
            return output::print(&format!("{text}\n"));
        }
        let name = self.model.as_deref().or(self.random_weights.as_deref()).unwrap_or(SMALLEST);
        let source = if self.model.is_some() { "" } else { ", random weights" };
        let rollout = &config.rollout;
        let what = match work {
            ModelWork::Generate => "",
            ModelWork::Update => "in an update ",
        };
        let mut text = format!(
            "{name}{source} on {}: {} {what}of {}, {} of {}\n",
            sheet.device,
            counted(config.completions_per_step(), "completion"),
            counted(rollout.max_completion_length, "token"),
            counted(rollout.groups, "prompt"),
            self.prompt_tokens
        );
        text.push_str(&format!(
            "{} in turn, threads: {}; times are {}; median (lowest to highest)\n",
            counted(sheet.rounds, "round"),
            sheet.threads,
            sheet.basis.words()
        ));
        text.push_str(&format!("the device alone, {}: {}\n", sheet.dtype, sheet.rates_text()));
        if compared || !self.against.is_empty() {
            let rate = if sheet.device == "cpu" { "tokens a CPU second" } else { "tokens a second" };
            text.push_str(&format!("against: how many times as many {rate}, taken in each round\n"));
        }
        if let Some(peer) = &sheet.peer {
            text.push_str(&format!("the peer: {peer}\n"));
        }
        for (peer, why) in &sheet.failures {
            text.push_str(&format!("unmeasured: {peer}: {why}\n"));
        }
        text.push_str(&format!("\n{}", aligned(&sheet.cells(), 1, output::columns())));
        output::print(&text)
    }
}

/// The model of each configuration. Configurations with equal model settings share it.
fn ways(
    configs: Vec<(String, Config)>,
    shape: Option<&KnownShape>,
    seed: Seed,
    device: &Device,
    console: &Console,
) -> Result<Vec<Way>, CliError> {
    let mut ways: Vec<Way> = Vec::new();
    for (change, config) in configs {
        if config.model.device != ways.first().map_or(&config.model.device, |way| &way.config.model.device).as_str() {
            let message = format!("--against {change}: all ways are measured on one device");
            return Err(CliError::user_hint(message, "measure each device in a run of its own"));
        }
        let known = ways.iter().find(|way| way.config.model == config.model);
        let policy = match (known, shape) {
            (Some(way), _) => Rc::clone(&way.policy),
            (None, Some(shape)) => {
                let wait = console.wait(&format!("drawing weights of {}", shape.name));
                let policy = Policy::random(shape, &config.model, seed.child(Purpose::Init, 0), device);
                drop(wait);
                Rc::new(policy.map_err(CliError::run)?)
            }
            (None, None) => Rc::new(loading::policy_shown(&config, device, console)?.without_words()),
        };
        ways.push(Way { change, config, policy });
    }
    Ok(ways)
}
