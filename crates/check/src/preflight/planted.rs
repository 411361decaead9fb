//! The path that runs take, with something done to its results: for the tests of every kind of check.

use std::cell::RefCell;
use std::sync::LazyLock;

use grpo_sandbox::Sandbox;

use super::{JudgedTrial, Report, TrainingPath, Trial, TrialJudge, examine};
use crate::arena::{Arena, ArenaError, Rules, Workers};
use crate::config::Config;
use crate::environment::Environment;

pub static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || eprintln!("compiling the sandbox")).unwrap()
});

struct Planted<'a, F> {
    path: TrainingPath<'a>,
    bug: F,
    seen: RefCell<Vec<Trial>>,
}

impl<F: Fn(&Trial, &mut JudgedTrial)> TrialJudge for Planted<'_, F> {
    fn judge(&self, trials: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError> {
        let mut judged = self.path.judge(trials)?;
        trials.iter().zip(&mut judged).for_each(|(trial, judged)| (self.bug)(trial, judged));
        self.seen.borrow_mut().extend_from_slice(trials);
        Ok(judged)
    }
}

/// What the check finds where `bug` is done to what each program gets, and all that it has tried.
pub fn planted(
    config: &Config,
    environment: Environment,
    bug: impl Fn(&Trial, &mut JudgedTrial),
) -> (Report, Vec<Trial>) {
    let arena = Arena::new(SANDBOX.clone(), environment, Rules::training(config), Workers::new(2)).unwrap();
    let path = TrainingPath { arena: &arena, reward: &config.reward };
    let judge = Planted { path, bug, seen: RefCell::default() };
    let report = examine(config, arena.environment(), &judge, &|_, _, _| ()).unwrap();
    (report, judge.seen.into_inner())
}
