//! The results of a run.

use std::path::PathBuf;

use super::guard::Collapse;
use super::hall_of_fame::Member;
use crate::environment::Labels;
use crate::metrics::{EvaluationRecord, StepRecord};

#[derive(Debug, Clone)]
pub struct RunSummary {
    pub output_dir: PathBuf,
    /// One record per step, including the steps before a resumption.
    pub steps: Vec<StepRecord>,
    /// Held-out evaluations, in order.
    pub evaluations: Vec<EvaluationRecord>,
    /// The best programs, best first.
    pub hall_of_fame: Vec<Member>,
    pub checkpoint: PathBuf,
    /// Whether the user stopped the run before its last step.
    pub interrupted: bool,
    /// Whether the run was a control with shuffled rewards.
    pub control: bool,
    /// How the environment names its figures.
    pub labels: Labels,
    /// Set if the guard stopped the run.
    pub stopped: Option<Stopped>,
}

/// Why the guard stopped a run, and the checkpoint to go back to.
#[derive(Debug, Clone)]
pub struct Stopped {
    pub collapse: Collapse,
    /// The newest checkpoint from before the collapse began, if one is left.
    pub last_good: Option<PathBuf>,
    /// Whether checkpoints hold LoRA adapters and not whole models.
    pub adapters: bool,
}
