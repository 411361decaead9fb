//! The caller's side of a batch: programs go in as completions end, evaluations come out in the order of the
//! completions. Identical programs on the same cases are played once: of earlier batches that counts once they have
//! ended, so that what one process plays again depends on no clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::batch::Batch;
use super::cache::EvaluationCache;
use super::crew::Crew;
use super::evaluation::Evaluation;
use super::play::Numbered;
use super::{Arena, ArenaError};
use crate::environment::Case;
use crate::program::{Program, Rejection};

/// Called with the index of a completion and its evaluation.
pub type OnEvaluated<'a> = &'a mut dyn FnMut(usize, &Evaluation);

/// A batch being evaluated. It goes on by itself; when it is dropped, what has not begun is not played.
pub struct Scoring {
    batch: Arc<Batch>,
    /// Of earlier batches under the same rules.
    cache: Arc<EvaluationCache>,
    /// Those for which `OnEvaluated` has been called.
    evaluations: BTreeMap<usize, Evaluation>,
    submitted: usize,
    /// The number of the first case of each.
    first: usize,
    /// Whoever waits keeps the threads alive.
    _crew: Arc<Crew>,
}

impl Arena {
    /// Begins a batch. Games of lower turns are played first, whichever batch came first; batches of the same turn play
    /// games alternately. Results do not depend on it.
    pub fn begin(&self, turn: usize) -> Scoring {
        Scoring {
            batch: Arc::new(Batch::new(self, turn)),
            cache: Arc::clone(&self.cache),
            evaluations: BTreeMap::new(),
            submitted: 0,
            first: 0,
            _crew: Arc::clone(&self.crew),
        }
    }

    /// Evaluates all programs, ahead of batches that wait. Returns one evaluation for each, in their order;
    /// `on_evaluated` is called for each as soon as it is there.
    pub fn evaluate_all<'a, C: Copy + Into<Case> + 'a>(
        &self,
        programs: impl IntoIterator<Item = (Result<Program, Rejection>, &'a [C])>,
        on_evaluated: OnEvaluated<'_>,
    ) -> Result<Vec<Evaluation>, ArenaError> {
        self.evaluate_from(0, programs, on_evaluated)
    }

    /// The same of programs that have been tried on `first` cases before these: by the number of a case, a program draws other
    /// chance in each.
    pub fn evaluate_from<'a, C: Copy + Into<Case> + 'a>(
        &self,
        first: usize,
        programs: impl IntoIterator<Item = (Result<Program, Rejection>, &'a [C])>,
        on_evaluated: OnEvaluated<'_>,
    ) -> Result<Vec<Evaluation>, ArenaError> {
        let mut scoring = self.begin(0);
        scoring.first = first;
        for (index, (program, cases)) in programs.into_iter().enumerate() {
            scoring.submit(index, program, cases);
            scoring.tell(on_evaluated);
        }
        Ok(scoring.finish(on_evaluated)?.into_values().collect())
    }
}

impl Scoring {
    /// Has completion `index` evaluated on these cases. Completions of one group get the same ones.
    ///
    /// # Panics
    /// Without cases, which is a bug of the caller.
    pub fn submit<C: Copy + Into<Case>>(&mut self, index: usize, program: Result<Program, Rejection>, cases: &[C]) {
        assert!(!cases.is_empty(), "completion {index} has no case to be tried on");
        self.submitted += 1;
        match program {
            Err(rejection) => self.batch.reject(index, rejection),
            Ok(program) => {
                let cases =
                    cases.iter().zip(self.first..).map(|(&case, number)| Numbered { number, case: case.into() });
                self.batch.enter(index, program, cases.collect(), &self.cache);
            }
        }
    }

    /// Takes back every program whose games have not begun; returns the indices of its completions.
    pub fn recall(&mut self) -> Vec<usize> {
        let recalled = self.batch.recall();
        self.submitted -= recalled.len();
        recalled
    }

    /// Calls `on_evaluated` for every evaluation that has arrived since the last call, in the order of arrival, without
    /// waiting. Without workers an evaluation arrives while its program is submitted.
    pub fn tell(&mut self, on_evaluated: OnEvaluated<'_>) {
        let news = self.batch.news();
        self.tell_of(news, on_evaluated);
    }

    /// Waits for the other evaluations, and calls `on_evaluated` for each. Returns all by the completions' indices.
    pub fn finish(mut self, on_evaluated: OnEvaluated<'_>) -> Result<BTreeMap<usize, Evaluation>, ArenaError> {
        self.wait(on_evaluated);
        // Alone, so that a crowded machine is no reason the second time.
        while self.batch.retry() {
            self.wait(on_evaluated);
        }
        self.batch.close(&self.cache)?;
        let expected = self.submitted;
        assert_eq!(self.evaluations.len(), expected, "every completion has an index and an evaluation of its own");
        Ok(std::mem::take(&mut self.evaluations))
    }

    /// Waits until nothing runs.
    fn wait(&mut self, on_evaluated: OnEvaluated<'_>) {
        loop {
            let news = self.batch.wait_for_news();
            let is_over = news.is_empty();
            self.tell_of(news, on_evaluated);
            if is_over {
                return;
            }
        }
    }

    fn tell_of(&mut self, news: Vec<(usize, Evaluation)>, on_evaluated: OnEvaluated<'_>) {
        for (index, evaluation) in news {
            on_evaluated(index, &evaluation);
            self.evaluations.insert(index, evaluation);
        }
    }
}

impl Drop for Scoring {
    fn drop(&mut self) {
        self.batch.abandon();
    }
}
