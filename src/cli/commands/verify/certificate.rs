//! What `verify` has found, as a certificate and in words.

use serde::Serialize;

use crate::plural::counted;

/// Differences that are printed, and steps with missing completions.
const SHOWN: usize = 10;

/// What was found, and all that it depends on.
#[derive(Serialize)]
pub(super) struct Certificate {
    pub run: String,
    pub env: String,
    pub steps: usize,
    pub completions: usize,
    /// Those whose reward and evaluation are the same as in the log.
    pub equal: usize,
    /// Those whose lines are of an earlier version of the log, so that what they say of games and verdict was not compared.
    #[serde(skip_serializing_if = "is_none_of")]
    pub of_earlier_versions: usize,
    /// BLAKE3 of the logs that were read, in the order of their steps.
    pub completions_blake3: String,
    pub grpo_2048: &'static str,
    pub interpreter_sha256: &'static str,
    /// Sha256 of the interpreter with numpy, if it judged any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numpy_interpreter_sha256: Option<&'static str>,
    /// How the environment differs from what the run began with, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_changed: Option<String>,
    pub differences: Vec<Difference>,
    pub missing: Vec<Missing>,
}

/// A step that learnt from more completions than are in the log.
#[derive(Serialize)]
pub(super) struct Missing {
    pub step: usize,
    /// How many are not there.
    pub completions: usize,
    pub of: usize,
}

/// A completion whose reward or evaluation is another than in the log.
#[derive(Serialize)]
pub(super) struct Difference {
    pub step: usize,
    pub index: usize,
    pub logged: f64,
    pub found: f64,
    /// Whether the evaluations differ, or the line says something else of them: verdict, games, parts of the reward.
    pub evaluation: bool,
}

impl Certificate {
    /// Completions that are not there.
    pub fn missing(&self) -> usize {
        self.missing.iter().map(|step| step.completions).sum()
    }

    pub fn text(&self) -> String {
        let Certificate { run, equal, completions, completions_blake3, interpreter_sha256, .. } = self;
        let steps = counted(self.steps, "step");
        let mut text = format!(
            "{equal} of {} rewards of {run} ({steps}) recomputed, equal\n\
             completions  blake3 {completions_blake3}\n\
             judged by    grpo-2048 {}, interpreter sha256 {interpreter_sha256}\n",
            completions + self.missing(),
            self.grpo_2048
        );
        if let Some(numpy) = self.numpy_interpreter_sha256 {
            text.push_str(&format!("             and with numpy, sha256 {numpy}\n"));
        }
        if self.of_earlier_versions > 0 {
            let lines = counted(self.of_earlier_versions, "line");
            text.push_str(&format!(
                "{lines} of an earlier version: what they say of verdicts and games was not compared\n"
            ));
        }
        for Missing { step, completions, of } in self.missing.iter().take(SHOWN) {
            text.push_str(&format!("step {step}: missing {completions} of {of} completions\n"));
        }
        for one in self.differences.iter().take(SHOWN) {
            let why = if one.evaluation { "its evaluation differs" } else { "its evaluation is the same" };
            let Difference { step, index, logged, found, .. } = one;
            text.push_str(&format!("step {step}, completion {index}: {logged} in the log, {found} now; {why}\n"));
        }
        text
    }
}

fn is_none_of(count: &usize) -> bool {
    *count == 0
}
