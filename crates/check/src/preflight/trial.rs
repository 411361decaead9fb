//! Trials of a reward, and the judge that gives their results.

use crate::arena::{Arena, ArenaError, Evaluation};
use crate::config::RewardConfig;
use crate::environment::Case;
use crate::reward::{Reward, Rule};
use crate::seed::{Purpose, Seed};

/// The reward of a program to begin with, or of a reference player, beyond which the scale is surely not that of its scores.
pub(super) const REWARD_EXPECTED: f32 = 10.0;
/// Share of the budget that a reference may use, because a model's first programs are slower.
pub(super) const BUDGET_EXPECTED: f64 = 0.5;

/// A completion and the cases it is to be judged on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The text of a completion: a fenced program.
    pub text: String,
    pub cases: Vec<Case>,
}

impl Trial {
    pub(super) fn new(source: &str, cases: Vec<Case>) -> Trial {
        Trial { text: format!("```python\n{}\n```\n", source.trim_end()), cases }
    }
}

#[derive(Debug, Clone)]
pub struct JudgedTrial {
    pub evaluation: Evaluation,
    pub reward: Reward,
}

/// Turns completions into evidence and reward. The check tests a judge.
pub trait TrialJudge {
    /// One result for each trial, in order.
    fn judge(&self, trials: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError>;
}

/// The judge of training: extraction, arena, reward.
pub struct TrainingPath<'a> {
    pub arena: &'a Arena,
    pub reward: &'a RewardConfig,
}

impl TrialJudge for TrainingPath<'_> {
    fn judge(&self, trials: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError> {
        // The longest games are the last trials; they are started first so that no worker is left waiting at the end.
        let programs =
            trials.iter().rev().map(|trial| (self.arena.program(&trial.text, trial.cases[0]), trial.cases.as_slice()));
        let rule = Rule::new(self.reward, self.arena.environment());
        let evaluations = self.arena.evaluate_all(programs, &mut |_, _| ())?.into_iter().rev();
        Ok(evaluations.map(|evaluation| JudgedTrial { reward: rule.score(&evaluation), evaluation }).collect())
    }
}

/// Receives what is being judged, how many are done, and of how many.
pub type Told<'a> = &'a dyn Fn(&'static str, usize, usize);

/// The first games of the check.
///
/// They differ from training and held-out games and are the same in every run, so that the check depends on the
/// configuration alone.
pub(super) fn seeds(games: usize) -> Vec<Case> {
    (0..games as u64).map(|game| Seed::root(0).child(Purpose::Preflight, game).into()).collect()
}

pub(super) fn judged(judge: &dyn TrialJudge, trials: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError> {
    let judged = judge.judge(trials)?;
    assert_eq!(judged.len(), trials.len(), "one result a trial");
    Ok(judged)
}
