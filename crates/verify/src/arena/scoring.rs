//! The caller's side of a batch: programs go in as completions end, evaluations come out in the order of the
//! completions. Identical programs on the same cases are played once: of earlier batches that counts once they have
//! ended, so that what one process plays again depends on no clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::batch::Batch;
use super::crew::Crew;
use super::evaluation::Evaluation;
use super::verdicts::Verdicts;
use super::{Arena, ArenaError};
use crate::environment::Case;
use crate::program::{Program, Rejection};

/// Called with the index of a completion and its evaluation.
pub type OnEvaluated<'a> = &'a mut dyn FnMut(usize, &Evaluation);

/// A batch being evaluated. It goes on by itself; when it is dropped, what has not begun is not played.
pub struct Scoring {
    batch: Arc<Batch>,
    /// Of earlier batches under the same rules.
    verdicts: Arc<Verdicts>,
    /// Those that have been told of.
    evaluations: BTreeMap<usize, Evaluation>,
    submitted: usize,
    /// Whoever waits keeps the threads alive.
    _crew: Arc<Crew>,
}

impl Arena {
    /// Begins a batch whose games are played after those of lower turns that wait as well, whichever came first. What
    /// is waited for soonest has the lowest turn, and batches of one turn have games played alternately; results do
    /// not depend on it.
    pub fn begin(&self, turn: usize) -> Scoring {
        Scoring {
            batch: Arc::new(Batch::new(self, turn)),
            verdicts: Arc::clone(&self.verdicts),
            evaluations: BTreeMap::new(),
            submitted: 0,
            _crew: Arc::clone(&self.crew),
        }
    }

    /// Has each program tried on its cases, before anything else that waits. One evaluation each, in their order; each
    /// is told of as it comes.
    pub fn evaluate_all<'a, C: Copy + Into<Case> + 'a>(
        &self,
        programs: impl IntoIterator<Item = (Result<Program, Rejection>, &'a [C])>,
        told: OnEvaluated<'_>,
    ) -> Result<Vec<Evaluation>, ArenaError> {
        let mut scoring = self.begin(0);
        for (index, (program, cases)) in programs.into_iter().enumerate() {
            scoring.submit(index, program, cases);
            scoring.tell(told);
        }
        Ok(scoring.finish(told)?.into_values().collect())
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
                let cases: Vec<Case> = cases.iter().map(|&case| case.into()).collect();
                self.batch.enter(index, program, cases, &self.verdicts);
            }
        }
    }

    /// Takes back every program that nobody has begun to play; gives the indices of its completions.
    pub fn recall(&mut self) -> Vec<usize> {
        let recalled = self.batch.recall();
        self.submitted -= recalled.len();
        recalled
    }

    /// Tells of every evaluation that has come since the last time, in the order of arrival, without waiting. Without
    /// workers it comes while its program is submitted.
    pub fn tell(&mut self, told: OnEvaluated<'_>) {
        let news = self.batch.news();
        self.tell_of(news, told);
    }

    /// Waits for the rest, and tells of it as it comes. Returns the evaluations by the completions' indices.
    pub fn finish(mut self, told: OnEvaluated<'_>) -> Result<BTreeMap<usize, Evaluation>, ArenaError> {
        self.wait(told);
        // Alone, so that a crowded machine is no reason the second time.
        while self.batch.retry() {
            self.wait(told);
        }
        self.batch.close(&self.verdicts)?;
        let expected = self.submitted;
        assert_eq!(self.evaluations.len(), expected, "every completion has an index and an evaluation of its own");
        Ok(std::mem::take(&mut self.evaluations))
    }

    /// Waits until nothing runs.
    fn wait(&mut self, told: OnEvaluated<'_>) {
        loop {
            let news = self.batch.wait_for_news();
            let is_over = news.is_empty();
            self.tell_of(news, told);
            if is_over {
                return;
            }
        }
    }

    fn tell_of(&mut self, news: Vec<(usize, Evaluation)>, told: OnEvaluated<'_>) {
        for (index, evaluation) in news {
            told(index, &evaluation);
            self.evaluations.insert(index, evaluation);
        }
    }
}

impl Drop for Scoring {
    fn drop(&mut self) {
        self.batch.abandon();
    }
}
