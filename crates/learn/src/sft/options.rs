//! What a supervised run is given: its settings, and the model.

use std::path::PathBuf;

use candle_core::Device;

use crate::config::SftConfig;
use crate::policy::Policy;
use crate::prompt::PromptSet;
use crate::seed::Seed;

use super::lessons::Lessons;

/// The settings of a supervised run.
#[derive(Debug, Clone)]
pub struct SftOptions {
    /// The settings of training.
    pub config: SftConfig,
    /// The root seed.
    pub seed: Seed,
    /// The directory for model and checkpoints. A run with the same settings that is found there is continued.
    pub output_dir: PathBuf,
    /// The device of tensors.
    pub device: Device,
    /// Maximum number of parts of a step that are computed at the same time. Does not change any result.
    pub at_once: usize,
}

/// A model to train.
#[derive(Debug)]
pub struct Learner {
    /// The model. Its adapters are trained if it has some, all of its weights otherwise.
    pub policy: Policy,
    /// The prompts of all styles, or of the tasks.
    pub prompts: PromptSet,
    /// What it reads of tasks; none for programs of the corpus, as answers to the prompts.
    pub lessons: Option<Lessons>,
    /// The name of the model and of what it reads. A run is continued only with the same.
    pub name: String,
}
