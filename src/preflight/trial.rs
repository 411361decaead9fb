//! What is shown to a reward, what becomes of it, and who says so.

use crate::arena::{Arena, ArenaError, Evaluation};
use crate::config::RewardConfig;
use crate::environment::Case;
use crate::reward::{Reward, Rule};

/// A completion and the cases it is to be judged on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// What a model might have written: a fenced program.
    pub text: String,
    /// What it is tried on.
    pub cases: Vec<Case>,
}

impl Trial {
    pub(super) fn new(source: &str, cases: Vec<Case>) -> Trial {
        Trial { text: format!("```python\n{}\n```\n", source.trim_end()), cases }
    }
}

/// What became of a trial.
#[derive(Debug, Clone)]
pub struct JudgedTrial {
    /// How it played.
    pub evaluation: Evaluation,
    /// What that is worth.
    pub reward: Reward,
}

/// Turns completions into evidence and reward: what is under test.
pub trait TrialJudge {
    /// One result a trial, in order.
    fn judge(&self, trials: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError>;
}

/// The path that completions take in training: extraction, arena, reward.
pub struct TrainingPath<'a> {
    /// Where programs play.
    pub arena: &'a Arena,
    /// What play is worth.
    pub reward: &'a RewardConfig,
}

impl TrialJudge for TrainingPath<'_> {
    fn judge(&self, trials: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError> {
        // The longest games begin first and leave no tail.
        let programs =
            trials.iter().rev().map(|trial| (self.arena.program(&trial.text, trial.cases[0]), trial.cases.as_slice()));
        let rule = Rule::new(self.reward, self.arena.environment());
        let evaluations = self.arena.evaluate_all(programs, &mut |_, _| ())?.into_iter().rev();
        Ok(evaluations.map(|evaluation| JudgedTrial { reward: rule.score(&evaluation), evaluation }).collect())
    }
}
