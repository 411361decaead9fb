//! The same work in PyTorch, by a Python interpreter of this machine with scripts that are part of the program.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BenchError;
use crate::{Cost, Python};

/// The scripts, and the module that they share: file name and text.
pub(crate) const SCRIPTS: &[(&str, &str)] = &[
    ("generate.py", include_str!("../../peers/generate.py")),
    ("update.py", include_str!("../../peers/update.py")),
    ("measuring.py", include_str!("../../peers/measuring.py")),
];

/// The model for PyTorch.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerModel {
    /// The settings of a `config.json`, with the standard deviation of random weights.
    Config(Value),
    /// A directory or a .gguf file.
    Model(String),
}

/// Another program that does the work.
pub struct Peer<'a> {
    /// Its name in the table.
    pub name: String,
    pub python: &'a Python,
    /// `generate.py` or `update.py`.
    pub script: &'static str,
    pub model: &'a PeerModel,
    /// PyTorch's name of the number format.
    pub dtype: &'static str,
    /// Whether an update recomputes activations.
    pub checkpointing: bool,
    /// Completions that pass through the model at once in an update; all of them if absent.
    pub micro_batch: Option<usize>,
}

/// The input of a script. The scripts explain the fields.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    #[serde(flatten)]
    pub model: &'a PeerModel,
    pub device: String,
    pub dtype: &'static str,
    pub checkpointing: bool,
    pub threads: usize,
    pub seed: u64,
    pub groups: usize,
    pub rows: usize,
    pub micro_batch: usize,
    pub prompt_tokens: usize,
    pub new_tokens: usize,
    pub lora_r: usize,
    pub lora_alpha: f64,
}

/// The output of a script.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(flatten)]
    pub cost: Cost,
    /// Maximum of the memory in use.
    pub peak_bytes: f64,
    /// Time of computing the prompts, in seconds.
    pub prefill_s: Option<f64>,
    /// Forward, backward and optimiser, in seconds.
    pub stages: Option<Stages>,
}

/// The stages of an update.
#[derive(Deserialize)]
pub(super) struct Stages {
    pub forward_s: f64,
    pub backward_s: f64,
    pub optimiser_s: f64,
}

impl Peer<'_> {
    pub(super) fn run(&self, request: &Request<'_>) -> Result<Answer, BenchError> {
        let work = serde_json::to_string(request).expect("a request is JSON");
        self.python.ask(self.script, None, &work)
    }
}
