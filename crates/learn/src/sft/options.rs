//! What a supervised run is given: its settings, and the model.

use std::path::PathBuf;

use candle_core::Device;
use serde_json::{Map, json};

use crate::config::{ModelConfig, SftConfig};
use crate::policy::Policy;
use crate::prompt::PromptSet;
use crate::seed::Seed;
use crate::train::run_dir::{self, Fingerprint};

use super::lessons::Lessons;
use super::saving::{self, Saved, check_dir};
use super::{SftError, SftSummary};

#[derive(Debug, Clone)]
pub struct SftOptions {
    pub config: SftConfig,
    pub seed: Seed,
    /// The directory for model and checkpoints. A run with the same settings that is found there is continued.
    pub output_dir: PathBuf,
    pub device: Device,
    /// Maximum number of parts of a step that are computed at the same time. Does not change any result.
    pub at_once: usize,
}

impl SftOptions {
    /// Refuses a directory that another process writes to, or with a run of other settings or of another model than `learner`, before
    /// there is work to lose. Returns what came of the run that is done there already, if there is one.
    pub fn check_dir(&self, learner: Option<&Learner>) -> Result<Option<SftSummary>, SftError> {
        check_dir(&self.output_dir)?;
        let _lock = run_dir::lock(&self.output_dir)?;
        let done = Saved::check(&self.output_dir, &self.settings(learner))?;
        if done.is_some() {
            saving::tidy(&self.output_dir)?;
        }
        Ok(done)
    }

    /// What must be equal to continue from a checkpoint.
    pub(super) fn settings(&self, learner: Option<&Learner>) -> Fingerprint {
        let model = learner.map_or_else(|| json!({ "model": "builtin" }), |learner| json!(learner.model));
        let digest = learner.and_then(|learner| learner.lessons.as_ref()).map(Lessons::digest);
        let mut sft = json!(self.config);
        // How many programs are tried before and after changes nothing of what is trained.
        if let Some(sft) = sft.as_object_mut() {
            sft.remove("eval_samples");
        }
        let sections = [("sft", sft), ("model", model), ("train", json!({ "seed": self.seed.get() }))];
        let named = Map::from_iter([("lessons of --env".to_owned(), json!(digest))]);
        let loaded = learner.map(|learner| &learner.model);
        let model = loaded.map(|model| format!("{model:?}, ")).unwrap_or_default();
        let digest = digest.map(|digest| format!("{digest}, ")).unwrap_or_default();
        let config = serde_json::to_string(&self.config).unwrap_or_default();
        let fingerprint = Fingerprint::new(named, &sections, format!("{model}{digest}seed {}, {config}", self.seed));
        match loaded {
            Some(model) => fingerprint.with_files(model),
            None => fingerprint,
        }
    }
}

#[derive(Debug)]
pub struct Learner {
    /// The model. Its adapters are trained if it has some, all of its weights otherwise.
    pub policy: Policy,
    /// The prompts of all styles, or of the tasks.
    pub prompts: PromptSet,
    /// What it reads of tasks; none for programs of the corpus, as answers to the prompts.
    pub lessons: Option<Lessons>,
    /// The settings that the model was loaded with. A run is continued only with the same, and the same lessons.
    pub model: ModelConfig,
}
