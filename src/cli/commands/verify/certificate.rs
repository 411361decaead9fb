//! What `verify` has found, as a certificate and in words.

use serde::Serialize;

use super::figures::OtherFigure;
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
    /// Of steps whose metrics are not those of their completions, one figure each.
    pub other_figures: Vec<OtherFigure>,
    /// Completions of which the log says in other words what is so. Another build may have written them.
    pub other_words: Vec<Place>,
}

/// Where a completion is in the log.
#[derive(Serialize)]
pub(super) struct Place {
    pub step: usize,
    pub index: usize,
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
    /// Whether the evaluations differ, or the line says something else of them: program, verdict, games, turns, parts of the
    /// reward.
    pub evaluation: bool,
}

impl Certificate {
    /// Completions that are not there.
    fn missing(&self) -> usize {
        self.missing.iter().map(|step| step.completions).sum()
    }

    /// Completions whose rewards differ.
    fn with_other_rewards(&self) -> usize {
        self.differences.iter().filter(|one| one.logged != one.found).count()
    }

    /// Why the run is not confirmed; nothing if it is.
    pub fn unconfirmed(&self) -> Option<String> {
        let (judged, missing, rewards) = (self.completions, self.missing(), self.with_other_rewards());
        let evaluations = self.differences.len() - rewards;
        let words = [
            (rewards, judged, "rewards are not the ones that this run learnt from"),
            (evaluations, judged, "evaluations are not as the log tells, with the same rewards"),
            (self.other_figures.len(), self.steps, "steps have other completions than the metrics of this run tell"),
            (missing, judged + missing, "completions that this run learnt from are missing, and so are their rewards"),
        ];
        let words = words.into_iter().filter(|(count, ..)| *count > 0);
        let words = words.map(|(count, of, are)| format!("{count} of {of} {are}")).collect::<Vec<_>>().join(", and ");
        if words.is_empty() {
            return None;
        }
        let changed = self.environment_changed.as_ref().filter(|_| !self.differences.is_empty()).map(|changed| {
            format!(": {changed}\nhint: put it back as it was, or name a copy of that with --set environment.env=FILE")
        });
        Some(words + &changed.unwrap_or_default())
    }

    pub fn text(&self) -> String {
        let Certificate { run, completions, completions_blake3, interpreter_sha256, .. } = self;
        let steps = counted(self.steps, "step");
        let equal = completions - self.with_other_rewards();
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
        if equal > self.equal {
            let evaluations = equal - self.equal;
            text.push_str(&format!("evaluations that are not as the log tells, with equal rewards: {evaluations}\n"));
        }
        if let Some(Place { step, index }) = self.other_words.first() {
            let lines = counted(self.other_words.len(), "line");
            text.push_str(&format!(
                "{lines} with other words for the same, as another build may write: the first is step {step}, completion {index}\n"
            ));
        }
        for OtherFigure { step, metric, recorded, found } in self.other_figures.iter().take(SHOWN) {
            text.push_str(&format!("step {step}: {metric} is {recorded} in the metrics, {found} by its completions\n"));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said where these of four completions differ, with their rewards in the log and now.
    fn unconfirmed(differences: &[(f64, f64)]) -> (String, Option<String>) {
        let differences: Vec<Difference> = differences
            .iter()
            .zip(0..)
            .map(|(&(logged, found), index)| Difference { step: 1, index, logged, found, evaluation: true })
            .collect();
        let certificate = Certificate {
            run: "run".to_owned(),
            env: String::new(),
            steps: 1,
            completions: 4,
            equal: 4 - differences.len(),
            of_earlier_versions: 0,
            completions_blake3: String::new(),
            grpo_2048: "",
            interpreter_sha256: "",
            numpy_interpreter_sha256: None,
            environment_changed: None,
            differences,
            missing: Vec::new(),
            other_figures: Vec::new(),
            other_words: Vec::new(),
        };
        (certificate.text(), certificate.unconfirmed())
    }

    #[test]
    fn rewards_that_differ_are_counted_apart_from_evaluations_with_the_same_rewards() {
        let same = (0.5, 0.5);
        let (text, none) = unconfirmed(&[]);
        assert!(text.starts_with("4 of 4 rewards of run (1 step) recomputed, equal\n") && none.is_none(), "{text}");
        let (_, one) = unconfirmed(&[(1.0, 0.5)]);
        assert_eq!(one.unwrap(), "1 of 4 rewards are not the ones that this run learnt from");
        let (text, two) = unconfirmed(&[same, same]);
        assert!(text.starts_with("4 of 4 rewards"), "{text}");
        assert!(text.contains(" not as the log tells, with equal rewards: 2\n"), "{text}");
        assert_eq!(two.unwrap(), "2 of 4 evaluations are not as the log tells, with the same rewards");
        let (text, both) = unconfirmed(&[(1.0, 0.5), same, same]);
        assert!(text.starts_with("3 of 4 rewards"), "{text}");
        assert!(text.contains(" not as the log tells, with equal rewards: 2\n"), "{text}");
        assert_eq!(
            both.unwrap(),
            "1 of 4 rewards are not the ones that this run learnt from, and 2 of 4 evaluations are not as the log tells, with the same rewards"
        );
    }
}
