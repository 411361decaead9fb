//! The same work in PyTorch, by an interpreter of this machine with scripts that the program carries along.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BenchError;
use crate::{Cost, Python};

/// What a script is for, and what it shares with the other.
pub(crate) const SCRIPTS: &[(&str, &str)] = &[
    ("generate.py", include_str!("../../peers/generate.py")),
    ("update.py", include_str!("../../peers/update.py")),
    ("measuring.py", include_str!("../../peers/measuring.py")),
];

/// A model as PyTorch's side gets it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerModel {
    /// Settings as `config.json` has them, and the standard deviation of its weights.
    Config(Value),
    /// A directory or a .gguf file.
    Model(String),
}

/// Somebody else who does the work.
pub struct Peer<'a> {
    /// What it is called in the table.
    pub name: String,
    /// Runs the script.
    pub python: &'a Python,
    /// `generate.py` or `update.py`.
    pub script: &'static str,
    /// The model.
    pub model: &'a PeerModel,
    /// Its numbers, as PyTorch names them.
    pub dtype: &'static str,
    /// Whether an update computes layers again.
    pub checkpointing: bool,
}

/// What a script is to do; the scripts say what each field means.
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
    pub prompt_tokens: usize,
    pub new_tokens: usize,
    pub lora_r: usize,
    pub lora_alpha: f64,
}

/// What a script found.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(flatten)]
    pub cost: Cost,
    pub peak_bytes: f64,
    pub prefill_s: Option<f64>,
    /// Forward, backward and optimiser, in seconds.
    pub stages: Option<BTreeMap<UpdateStage, f64>>,
}

/// A key of the columns of an update.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(super) enum UpdateStage {
    ForwardS,
    BackwardS,
    OptimiserS,
}

impl UpdateStage {
    pub fn key(&self) -> &'static str {
        match self {
            UpdateStage::ForwardS => "forward_s",
            UpdateStage::BackwardS => "backward_s",
            UpdateStage::OptimiserS => "optimiser_s",
        }
    }
}

impl Peer<'_> {
    pub(super) fn run(&self, request: &Request<'_>) -> Result<Answer, BenchError> {
        let work = serde_json::to_string(request).expect("a request is JSON");
        self.python.ask(self.script, None, &work)
    }
}
