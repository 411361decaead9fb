//! Measures the cost of a model: completions and updates, and the same in PyTorch, in one run.
//!
//! Takes policies with their configurations, clocks, gauges, and optionally a `python3` with PyTorch; returns a
//! [`Sheet`]. Bytes and operations are counted from shapes, and the device's rates of both are measured in every round.
//! A figure that cannot be measured is marked as such. Prompts consist of random tokens, and no completion ends early.

mod count;
mod generation;
mod peer;
mod rates;
mod sheet;
#[cfg(test)]
mod tests;
mod update;

use std::collections::BTreeMap;
use std::rc::Rc;

use rand::Rng;

pub(super) use peer::SCRIPTS;
pub use peer::{Peer, PeerModel};
pub use rates::Rates;
pub use sheet::{Column, Figure, Sheet, SheetRow};

use super::{BenchError, Clocks, Cost, ReadClock};
use grpo_2048::config::Config;
use grpo_2048::policy::{Policy, device_name, trim_memory};
use grpo_2048::prompt::Prompt;
use grpo_2048::seed::{Purpose, Seed};

/// The figures of one round of one way, by the key of the column. Missing figures could not be measured.
type Round = BTreeMap<&'static str, f64>;

/// A model with its configuration.
pub struct Way {
    /// The setting in which it differs from the first way, as the user wrote it; empty for the first.
    pub change: String,
    /// The configuration: groups, completions per group, their length, the division of updates.
    pub config: Config,
    pub policy: Rc<Policy>,
}

impl Way {
    fn name(&self) -> String {
        if self.change.is_empty() { "grpo-2048".into() } else { self.change.clone() }
    }
}

/// Gauges of memory and GPU.
pub trait Gauges {
    /// Starts a new reading.
    fn begin(&self);

    /// The reading since [`begin`](Gauges::begin).
    fn read(&self) -> Reading;
}

/// A reading of gauges. Values that cannot be measured are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reading {
    /// Maximum of the device's memory in use, in bytes.
    pub peak_bytes: Option<u64>,
    /// Mean utilisation of the GPU, in percent.
    pub gpu_percent: Option<f64>,
}

/// A measurement of models.
pub struct Measurement<'a> {
    /// The model without a change, then with each change; all on one device.
    pub ways: &'a [Way],
    /// Number of tokens of each prompt.
    pub prompt_tokens: usize,
    /// Other programs that do the same work.
    pub peers: &'a [Peer<'a>],
    pub clocks: Clocks<'a>,
    pub gauges: &'a dyn Gauges,
    pub rounds: usize,
    /// The seed of prompts and sampling.
    pub seed: Seed,
}

/// The work that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelWork {
    /// Sampling of completions.
    Generate,
    /// One GRPO update on synthetic episodes.
    Update,
}

impl ModelWork {
    fn columns(self) -> &'static [Column] {
        match self {
            ModelWork::Generate => generation::COLUMNS,
            ModelWork::Update => update::COLUMNS,
        }
    }
}

/// The clock of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Processor time, which does not depend on other programs; for one thread on the CPU.
    Processor,
    /// Wall-clock time.
    Wall,
}

impl Basis {
    /// The clock in words.
    pub fn words(self) -> &'static str {
        match self {
            Basis::Processor => "processor seconds",
            Basis::Wall => "seconds on the wall",
        }
    }
}

impl Measurement<'_> {
    /// Measures. `told` is called with the number of runs that are done, the number of all runs, and the name of the
    /// next.
    pub fn measure(&self, work: ModelWork, told: &mut dyn FnMut(usize, usize, &str)) -> Result<Sheet, BenchError> {
        let decoder = self.ways[0].policy.decoder();
        let mut probe = rates::Probe::new(decoder.device(), decoder.dtype())?;
        let mut updates: Vec<_> = self.ways.iter().map(|_| update::Updates::default()).collect();
        if !decoder.device().is_cpu() {
            // A first run compiles kernels and allocates memory, which is not measured.
            for way in 0..self.ways.len() {
                self.own(work, way, &mut updates, None)?;
            }
        }
        let contenders = self.peers.len() + self.ways.len();
        let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); contenders];
        let mut failures = vec![None; self.peers.len()];
        let mut rates = Vec::new();
        for round in 0..self.rounds {
            told(round * (contenders + 1), self.rounds * (contenders + 1), "the device alone");
            let measured = probe.measure(self.clock())?;
            for place in 0..contenders {
                // The order rotates, so that no way always follows the most demanding one.
                let contender = (place + round) % contenders;
                let name = self.name(contender);
                told(round * (contenders + 1) + place + 1, self.rounds * (contenders + 1), &name);
                let found = match contender.checked_sub(self.ways.len()) {
                    None => {
                        let mut found = self.own(work, contender, &mut updates, Some(&measured))?;
                        // The memory of the probe is not part of the work.
                        found.entry("peak_bytes").and_modify(|bytes| *bytes -= probe.held_bytes() as f64);
                        found
                    }
                    // A peer that cannot do the work is a fact about the peer.
                    Some(peer) if failures[peer].is_some() => Round::new(),
                    Some(peer) => self.of_peer(work, &self.peers[peer]).unwrap_or_else(|error| {
                        failures[peer] = Some(error.to_string());
                        Round::new()
                    }),
                };
                rounds[contender].push(found);
            }
            rates.push(measured);
        }
        Ok(Sheet { failures: self.named(failures), ..self.sheet(work, &rounds, &rates) })
    }

    fn own(
        &self,
        work: ModelWork,
        way: usize,
        updates: &mut [update::Updates],
        rates: Option<&Rates>,
    ) -> Result<Round, BenchError> {
        self.gauges.begin();
        let mut round = match work {
            ModelWork::Generate => generation::round(self, &self.ways[way], rates)?,
            ModelWork::Update => updates[way].round(self, &self.ways[way], rates)?,
        };
        let reading = self.gauges.read();
        round.extend(reading.peak_bytes.map(|bytes| ("peak_bytes", bytes as f64)));
        round.extend(reading.gpu_percent.map(|percent| ("gpu_percent", percent)));
        Ok(round)
    }

    /// The peers that could not do the work, and why.
    fn named(&self, failures: Vec<Option<String>>) -> Vec<(String, String)> {
        self.peers.iter().zip(failures).filter_map(|(peer, why)| Some((peer.name.clone(), why?))).collect()
    }

    fn of_peer(&self, work: ModelWork, peer: &Peer<'_>) -> Result<Round, BenchError> {
        let Way { config, policy, .. } = &self.ways[0];
        // It needs the memory that no tensor of ours holds.
        trim_memory(policy.decoder().device())?;
        let answer = peer.run(&peer::Request {
            model: peer.model,
            device: device_name(policy.decoder().device()),
            dtype: peer.dtype,
            checkpointing: peer.checkpointing,
            threads: rayon::current_num_threads(),
            seed: self.seed.get() % (1 << 32),
            groups: config.rollout.groups,
            rows: config.completions_per_step(),
            micro_batch: peer.micro_batch.unwrap_or(config.completions_per_step()),
            prompt_tokens: self.prompt_tokens,
            new_tokens: config.rollout.max_completion_length,
            lora_r: config.model.lora_r,
            lora_alpha: config.model.lora_alpha,
        })?;
        let mut round = rated(self.tokens(work, &self.ways[0]), answer.cost);
        round.extend(answer.prefill_s.map(|seconds| ("prefill_s", seconds)));
        if let Some(stages) = answer.stages {
            let peer::Stages { forward_s, backward_s, optimiser_s } = stages;
            round.extend([("forward_s", forward_s), ("backward_s", backward_s), ("optimiser_s", optimiser_s)]);
        }
        round.insert("peak_bytes", answer.peak_bytes);
        Ok(round)
    }

    /// Number of tokens that rates count: sampled ones, or for updates all that pass through the model.
    fn tokens(&self, work: ModelWork, way: &Way) -> usize {
        let new = way.config.rollout.max_completion_length;
        let each = if work == ModelWork::Generate { new } else { self.prompt_tokens + new };
        way.config.completions_per_step() * each
    }

    fn name(&self, contender: usize) -> String {
        match contender.checked_sub(self.ways.len()) {
            None => self.ways[contender].name(),
            Some(peer) => self.peers[peer].name.clone(),
        }
    }

    fn on_cpu(&self) -> bool {
        self.ways[0].policy.decoder().device().is_cpu()
    }

    fn basis(&self) -> Basis {
        let alone = self.on_cpu() && rayon::current_num_threads() == 1;
        if alone { Basis::Processor } else { Basis::Wall }
    }

    /// The clock of times.
    fn clock(&self) -> ReadClock<'_> {
        match self.basis() {
            Basis::Processor => self.clocks.cpu,
            Basis::Wall => self.clocks.wall,
        }
    }

    /// A prompt of random tokens for each group.
    fn prompts(&self, way: &Way) -> Vec<Prompt> {
        let vocabulary = way.policy.decoder().config().vocab_size as u32;
        let prompt = |id: u32| {
            let mut rng = self.seed.child(Purpose::Prompt, u64::from(id)).rng();
            Prompt {
                id,
                style: "plain".into(),
                ids: (0..self.prompt_tokens).map(|_| rng.random_range(0..vocabulary)).collect(),
                ..Prompt::default()
            }
        };
        (0..way.config.rollout.groups as u32).map(prompt).collect()
    }

    fn sheet(&self, work: ModelWork, rounds: &[Vec<Round>], rates: &[Rates]) -> Sheet {
        let rate = if self.on_cpu() { "tokens_per_cpu_s" } else { "tokens_per_s" };
        let (first, peer) = (&rounds[0], rounds.get(self.ways.len()));
        let row = |(contender, own): (usize, &Vec<Round>)| {
            let is_peer = contender >= self.ways.len();
            let change = (contender > 0 && !is_peer).then_some(first.as_slice());
            let peer = peer.filter(|_| contender != self.ways.len()).map(Vec::as_slice);
            let figure = |column: &Column| match column.key {
                "ratio" => Figure::ratio(own, change, rate),
                "peer_ratio" => Figure::ratio(own, peer, rate),
                "gpu_percent" if self.on_cpu() => Figure::Nothing,
                key if is_peer && column.is_own => Figure::of_peer(own, key),
                key => Figure::of(own, key),
            };
            SheetRow { way: self.name(contender), figures: work.columns().iter().map(figure).collect() }
        };
        Sheet {
            columns: work.columns(),
            rows: rounds.iter().enumerate().map(row).collect(),
            device: device_name(self.ways[0].policy.decoder().device()),
            dtype: self.ways[0].policy.decoder().dtype().as_str(),
            threads: rayon::current_num_threads(),
            basis: self.basis(),
            rounds: self.rounds,
            rates: Rates::spreads(rates),
            peer: self.peers.first().map(|peer| peer.name.clone()),
            failures: Vec::new(),
        }
    }
}

/// The rates of `tokens` at this cost.
fn rated(tokens: usize, cost: Cost) -> Round {
    let tokens = tokens as f64;
    Round::from([("tokens_per_s", tokens / cost.wall_s), ("tokens_per_cpu_s", tokens / cost.cpu_s)])
}
