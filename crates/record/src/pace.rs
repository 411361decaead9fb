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
    /// The steps whose evaluations are to come.
    evaluations: Vec<usize>,
    /// Seconds of the newest evaluation; 0 before the first.
    evaluation_time: f64,
}

impl Pace {
    /// The pace of a run that starts, or continues.
    pub fn of(header: &RunHeader) -> Pace {
        let steps = header.max_steps.saturating_sub(header.resumed_from);
        let (evaluations, evaluation_time) = (header.evaluations.clone(), header.evaluation_time);
        Pace { steps, max_steps: header.max_steps, step_times: VecDeque::new(), evaluations, evaluation_time }
    }

    /// Step number `step` is done, and took so many seconds. Its evaluation, if it has one, is to come.
    pub fn step_done(&mut self, step: usize, seconds: f64) {
        self.steps = self.max_steps.saturating_sub(step);
        self.evaluations.retain(|due| *due >= step);
        self.step_times.push_back(seconds);
        if self.step_times.len() > PREDICTING {
            self.step_times.pop_front();
        }
    }

    /// The evaluation after step number `step` is done, and took so many seconds.
    pub fn evaluated(&mut self, step: usize, seconds: f64) {
        self.evaluations.retain(|due| *due > step);
        self.evaluation_time = seconds;
    }

    /// Seconds that the steps and evaluations to come are expected to take; none before the first step is done, and when
    /// nothing is to come. The choice of the best programs is left out: a run makes it once, so nothing tells how long
    /// it takes.
    pub fn left(&self) -> Option<f64> {
        let evaluations = self.evaluations.len();
        if self.steps == 0 && evaluations == 0 {
            return None;
        }
        Some(self.steps as f64 * self.step_time()? + evaluations as f64 * self.evaluation_time)
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
        let header = RunHeader { max_steps: 6, evaluations: vec![2, 4, 6], ..RunHeader::default() };
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
}
