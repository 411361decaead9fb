//! What a model card is about: the model, and the records of the run that trained it.

use std::path::Path;

use toml::Table;

use crate::configuration::evaluated_at;
use crate::metrics::{EvaluationRecord, METRICS_FILE};
use crate::{ReportError, completion_files, read_completions};

/// The model that a card describes.
#[derive(Debug, Clone, Default)]
pub struct CardSubject {
    /// Its name: owner and name on the Hub, or a directory.
    pub name: String,
    /// The name of the base model, for readers.
    pub base: String,
    /// The id of the base model on the Hub.
    pub base_id: Option<String>,
    /// The revision of the base model, where it is not that of today.
    pub base_revision: Option<String>,
    pub license: Option<String>,
    /// Whether it is an adapter, which needs its base model.
    pub is_adapter: bool,
    /// The rank of the adapter that was trained, if one was.
    pub rank: Option<u64>,
}

/// The records of the run that trained the model.
#[derive(Debug, Default)]
pub struct Training {
    pub(super) steps: usize,
    pub(super) settings: Table,
    pub(super) first: Option<EvaluationRecord>,
    pub(super) last: Option<EvaluationRecord>,
    /// A prompt of the last step.
    pub(super) prompt: Option<String>,
}

impl Training {
    /// Reads the records of the run in `dir` up to step `steps`.
    pub fn read(dir: &Path, steps: usize) -> Result<Training, ReportError> {
        let text = |name: &str| match std::fs::read_to_string(dir.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(ReportError::io(&dir.join(name))(error)),
            read => Ok(read.unwrap_or_default()),
        };
        let evaluations: Vec<EvaluationRecord> = text(METRICS_FILE)?
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|record: &EvaluationRecord| record.step <= steps)
            .collect();
        let files = completion_files(dir)?;
        let newest = files.iter().rev().find(|(step, _)| *step <= steps);
        let logged = newest.map(|(_, path)| read_completions(path)).transpose()?;
        Ok(Training {
            steps,
            settings: text("config.toml")?.parse().unwrap_or_default(),
            last: evaluations.last().filter(|last| last.step > 0).cloned(),
            first: evaluations.into_iter().next().filter(|first| first.step == 0),
            prompt: logged.and_then(|(logged, _)| logged.into_iter().next()).map(|logged| logged.prompt),
        })
    }

    pub(super) fn setting(&self, section: &str, key: &str) -> Option<String> {
        let value = self.settings.get(section)?.get(key)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    pub(super) fn number(&self, section: &str, key: &str) -> Option<i64> {
        self.settings.get(section)?.get(key)?.as_integer()
    }

    /// The temperature of the last evaluation if it is not that of training. The settings are those of the newest launch, which
    /// may have another; evaluations of earlier versions have nothing else to tell it.
    pub(super) fn evaluated_at(&self) -> Option<String> {
        let recorded = self.last.as_ref().and_then(|last| last.temperature).map(|value| format!("{value:?}"));
        evaluated_at(|section, key| match &recorded {
            Some(recorded) if key == "eval_temperature" => Some(recorded.clone()),
            _ => self.setting(section, key),
        })
    }

    /// The name of the environment without directories of this machine.
    pub(super) fn environment(&self) -> String {
        let named = self.setting("environment", "env").unwrap_or_else(|| "2048".into());
        Path::new(&named).file_name().map_or(named.clone(), |name| name.to_string_lossy().into_owned())
    }

    /// The purpose of the model, in words.
    pub(super) fn purpose(&self) -> String {
        match (self.environment().as_str(), self.first.as_ref().or(self.last.as_ref())) {
            ("2048", _) => "write Python functions that play 2048".into(),
            (file, Some(record)) if record.tasks.is_some() => format!("solve the tasks of `{file}` in Python"),
            (file, _) => format!("write Python functions for `{file}`"),
        }
    }
}
