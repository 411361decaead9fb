//! The progress of a step, in words for the progress bar.

use std::time::Instant;

/// The progress of a step, or of an evaluation, whose step is 0.
#[derive(Default)]
pub(super) struct Phase {
    pub step: usize,
    /// The turn of conversations that is being written, from 1.
    pub turn: usize,
    /// When its step began, or a later turn or round of its sampling.
    pub started: Option<Instant>,
    /// Number of tokens sampled so far.
    pub tokens: usize,
    /// Number of these that were sampled before `started`.
    pub earlier: usize,
    /// Number of completions that have ended.
    pub finished: usize,
    /// Number of completions that have a reward.
    pub scored: usize,
    /// Number of all completions.
    pub total: usize,
}

impl Phase {
    /// A phase that starts now.
    pub fn begin(step: usize) -> Phase {
        Phase { step, turn: 1, started: Some(Instant::now()), ..Phase::default() }
    }

    /// Begins another turn, or a round in which groups are sampled again, before which so many tokens were sampled and so many
    /// completions had ended. The others are scored again.
    pub fn begin_turn(&mut self, turn: usize, tokens: usize, finished: usize) {
        let (started, scored) = (Some(Instant::now()), self.scored.min(finished));
        *self = Phase { turn, started, earlier: tokens, scored, ..*self };
    }

    /// Seconds since it started.
    pub fn seconds(&self) -> f64 {
        self.started.map_or(0.0, |started| started.elapsed().as_secs_f64())
    }

    /// What happens `seconds` after the start of the phase, while `next` may be sampled ahead.
    pub fn words(&self, seconds: f64, next: &Phase) -> String {
        let Phase { turn, tokens, finished, scored, .. } = *self;
        let of = if self.step == 0 { "held out, " } else { "" };
        if next.finished < next.total {
            // The total of the next step is shown for both, because all steps have the same and a step from a
            // checkpoint may not have reported its own yet.
            let (written, total) = (next.finished, next.total);
            return format!("rewards: {scored}/{total} scored; meanwhile {written}/{total} of the next step written");
        }
        let total = self.total;
        let of = if turn > 1 { format!("{of}turn {turn}, ") } else { of.to_owned() };
        // A step from a checkpoint has no tokens to show.
        if total > 0 && (finished == total || (tokens == 0 && scored > 0)) {
            return format!("{of}rewards: {scored}/{total} scored");
        }
        let speed = (tokens - self.earlier) as f64 / seconds.max(1e-3);
        format!("{of}decoding: {tokens} tokens at {speed:.0}/s, {finished}/{total} written, {scored} scored")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_what_is_written_and_what_is_waited_for() {
        let words = |phase: Phase| phase.words(2.0, &Phase::default());
        let writing = Phase { step: 1, tokens: 100, finished: 3, scored: 1, total: 8, ..Phase::default() };
        assert_eq!(words(writing), "decoding: 100 tokens at 50/s, 3/8 written, 1 scored");
        let held_out = Phase { tokens: 100, finished: 3, scored: 1, total: 8, ..Phase::default() };
        assert_eq!(words(held_out), "held out, decoding: 100 tokens at 50/s, 3/8 written, 1 scored");
        let waiting = Phase { step: 1, tokens: 100, finished: 8, scored: 5, total: 8, ..Phase::default() };
        assert_eq!(words(waiting), "rewards: 5/8 scored");
        let beside = |finished, total| {
            let next = Phase { finished, total, ..Phase::default() };
            Phase { step: 1, scored: 5, total: 8, ..Phase::default() }.words(2.0, &next)
        };
        assert_eq!(beside(2, 8), "rewards: 5/8 scored; meanwhile 2/8 of the next step written");
        assert_eq!([beside(8, 8), beside(0, 0)], ["rewards: 5/8 scored"; 2].map(String::from));
    }

    #[test]
    fn a_later_turn_goes_on_from_the_conversations_that_have_ended_at_a_speed_of_its_own() {
        let first = || Phase { tokens: 100, finished: 8, scored: 8, total: 8, ..Phase::begin(1) };
        let later = |tokens, finished| {
            let mut phase = first();
            phase.begin_turn(2, 100, 3);
            (phase.tokens, phase.finished) = (tokens, finished);
            phase.words(2.0, &Phase::default())
        };
        assert_eq!(later(100, 3), "turn 2, decoding: 100 tokens at 0/s, 3/8 written, 3 scored");
        assert_eq!(later(140, 5), "turn 2, decoding: 140 tokens at 20/s, 5/8 written, 3 scored");
        assert_eq!(later(160, 8), "turn 2, rewards: 3/8 scored");
    }
}
