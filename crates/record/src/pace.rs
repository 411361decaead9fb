//! How long a run still takes: its steps and held-out evaluations to come, by what such parts took before.

use std::collections::VecDeque;

use super::event::RunHeader;

/// Number of the newest steps whose times predict those to come.
const PREDICTING: usize = 5;

/// The parts of a run that are to come, and what such parts took.
#[derive(Default)]
pub(super) struct Pace {
    /// Number of steps to come.
    steps: usize,
    max_steps: usize,
    /// Seconds of the newest steps, at most [`PREDICTING`].
    step_times: VecDeque<f64>,
    /// Number of steps between evaluations, as [`RunHeader`] has it.
    evaluations: Option<usize>,
    /// The first step whose evaluation, if it has one, is to come.
    unevaluated: usize,
    /// Seconds of the newest evaluation; 0 before the first.
    evaluation_time: f64,
}

impl Pace {
    /// The pace of a run that starts, or continues.
    pub fn of(header: &RunHeader) -> Pace {
        let steps = header.max_steps.saturating_sub(header.resumed_from);
        let RunHeader { max_steps, evaluations, evaluation_time, .. } = *header;
        Pace { steps, max_steps, evaluations, evaluation_time, ..Pace::default() }
    }

    /// Step number `step` is done, and took so many seconds. Its evaluation, if it has one, is to come.
    pub fn step_done(&mut self, step: usize, seconds: f64) {
        self.steps = self.max_steps.saturating_sub(step);
        self.unevaluated = self.unevaluated.max(step);
        self.step_times.push_back(seconds);
        if self.step_times.len() > PREDICTING {
            self.step_times.pop_front();
        }
    }

    /// The evaluation after step number `step` is done, and took so many seconds.
    pub fn evaluated(&mut self, step: usize, seconds: f64) {
        self.unevaluated = self.unevaluated.max(step + 1);
        self.evaluation_time = seconds;
    }

    /// Seconds that the steps and evaluations to come are expected to take; none before the first step is done, and when
    /// nothing is to come. The choice of the best programs is left out: a run makes it once, so nothing tells how long
    /// it takes.
    pub fn left(&self) -> Option<f64> {
        let evaluations = self.evaluations_left();
        if self.steps == 0 && evaluations == 0 {
            return None;
        }
        Some(self.steps as f64 * self.step_time()? + evaluations as f64 * self.evaluation_time)
    }

    /// Number of evaluations to come. They are counted and not listed, because a run may be meant to last until it is stopped.
    fn evaluations_left(&self) -> usize {
        let before = |step: usize, every: usize| step.saturating_sub(1).checked_div(every).unwrap_or(0);
        match self.evaluations {
            Some(every) if self.unevaluated <= self.max_steps => {
                1 + before(self.max_steps, every) - before(self.unevaluated, every)
            }
            _ => 0,
        }
    }

    /// Seconds that a step to come is expected to take; none before the first. It is the median of the newest steps, the
    /// lower one of two, because one in which the machine was asleep or did other things says nothing of the next.
    fn step_time(&self) -> Option<f64> {
        let mut sorted: Vec<f64> = self.step_times.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len().saturating_sub(1) / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_that_took_long_does_not_lengthen_those_to_come() {
        let mut pace = Pace::default();
        // A run that was measured on a machine that did other things in its second step, and writes longer programs later.
        let paces = [101.0, 1062.0, 105.0, 112.0, 133.0, 132.0, 133.0].map(|step_time| {
            pace.step_done(1, step_time);
            pace.step_time().unwrap()
        });
        assert_eq!(paces, [101.0, 101.0, 105.0, 105.0, 112.0, 132.0, 132.0]);
    }

    #[test]
    fn the_time_that_is_left_has_the_evaluations_to_come_as_long_as_the_newest_was() {
        let header = RunHeader { max_steps: 6, evaluations: Some(2), ..RunHeader::default() };
        let mut pace = Pace::of(&header);
        pace.evaluated(0, 50.0);
        assert_eq!(pace.left(), None, "no step is done");
        pace.step_done(1, 10.0);
        assert_eq!(pace.left(), Some(5.0 * 10.0 + 3.0 * 50.0));
        pace.step_done(2, 10.0);
        assert_eq!(pace.left(), Some(4.0 * 10.0 + 3.0 * 50.0), "that of this step is to come");
        pace.evaluated(2, 70.0);
        assert_eq!(pace.left(), Some(4.0 * 10.0 + 2.0 * 70.0));

        let mut resumed = Pace::of(&RunHeader { resumed_from: 5, evaluation_time: 70.0, ..header });
        resumed.step_done(6, 10.0);
        assert_eq!(resumed.left(), Some(70.0));
        resumed.evaluated(6, 60.0);
        assert_eq!(resumed.left(), None, "nothing is to come");
    }

    #[test]
    fn a_run_that_is_meant_to_last_until_it_is_stopped_begins_at_once() {
        // To list its evaluations would take all memory, or to look for the one at its end all day.
        let most = usize::MAX;
        for (evaluations, expected) in [(None, 0), (Some(0), 1), (Some(1), most - 1), (Some(7), most / 7 + 1)] {
            let header = RunHeader { max_steps: most, evaluations, ..RunHeader::default() };
            let mut pace = Pace::of(&header);
            pace.step_done(1, 10.0);
            pace.evaluated(1, 50.0);
            assert_eq!(pace.evaluations_left(), expected, "every {evaluations:?}");
            assert!(pace.left().is_some());
        }
    }
}
