//! Counts of verdicts of completions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::arena::{Evaluation, is_of_the_budget};
use crate::environment::{Labels, Verdict};
use crate::plural::percent;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    counts: BTreeMap<Verdict, usize>,
    /// The first reason for each kind of failure.
    reasons: BTreeMap<Verdict, String>,
}

impl VerdictCounts {
    /// Counts the verdicts of completions; `cut` as in [`Evaluation::verdict`].
    pub fn of<'a>(completions: impl IntoIterator<Item = (&'a Evaluation, bool)>) -> VerdictCounts {
        let mut counts = VerdictCounts::default();
        for (evaluation, cut) in completions {
            let verdict = evaluation.verdict(cut);
            *counts.counts.entry(verdict).or_default() += 1;
            if let Some(reason) = evaluation.reason() {
                counts.reasons.entry(verdict).or_insert(reason);
            }
        }
        counts
    }

    /// VerdictCounts from counts by name.
    pub fn counted(count: impl Fn(&str) -> usize) -> VerdictCounts {
        let counts =
            Verdict::ALL.into_iter().map(|verdict| (verdict, count(verdict.name()))).filter(|(_, count)| *count > 0);
        VerdictCounts { counts: counts.collect(), reasons: BTreeMap::new() }
    }

    /// Number of completions by the name of their verdict, for verdicts that occur.
    pub fn by_name(&self) -> BTreeMap<&'static str, usize> {
        self.counts.iter().map(|(verdict, count)| (verdict.name(), *count)).collect()
    }

    /// Number of completions.
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    pub fn share(&self, verdict: Verdict) -> f64 {
        self.counts.get(&verdict).copied().unwrap_or(0) as f64 / self.total().max(1) as f64
    }

    /// Shares in words, such as `12% play, 60% are cut at 128 tokens, 28% do not compile`: first success, then the
    /// failures by their number.
    pub fn in_words(&self, labels: Labels, longest: usize) -> String {
        let mut rest: Vec<Verdict> =
            self.counts.keys().copied().filter(|verdict| *verdict != Verdict::Succeeded).collect();
        rest.sort_by_key(|verdict| Reverse(self.counts[verdict]));
        let all = [Verdict::Succeeded].into_iter().chain(rest);
        let words =
            all.map(|verdict| format!("{} {}", percent(self.share(verdict)), verdict.in_words(labels, longest)));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The reason of one of the most frequent failures, if it has one.
    pub fn example(&self) -> Option<&str> {
        let commonest = self.reasons.iter().max_by_key(|(verdict, _)| (self.counts[verdict], Reverse(**verdict)));
        commonest.map(|(_, reason)| reason.as_str())
    }

    /// Whether the most frequent failure is that a program had used up its budget, so that it may only be slow.
    pub fn lacks_time(&self) -> bool {
        self.example().is_some_and(is_of_the_budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{FirstCallFault, Start};
    use crate::environment::{Case, Ending, Environment};
    use crate::program::Rejection;
    use crate::seed::Seed;

    fn evaluation(start: Start, endings: &[Ending]) -> Evaluation {
        let game = |ending: &Ending| Environment::Game2048.unplayed(Case::Seed(Seed::root(1)), *ending);
        Evaluation { start, games: endings.iter().map(game).collect(), usage: Default::default() }
    }

    fn refused() -> Evaluation {
        let rejection = Rejection::NotCompiled { line: 3, lines: 9, message: "'(' was never closed".into() };
        Evaluation::rejected(rejection)
    }

    #[test]
    fn a_completion_becomes_what_its_verdict_its_first_failure_and_its_length_say() {
        let faulted = |ending| Start::Faulted(FirstCallFault { ending, reason: "NameError: x".into() });
        let cases = [
            (evaluation(Start::Played, &[Ending::GameOver, Ending::OutOfFuel]), false, Verdict::Succeeded),
            (evaluation(Start::Played, &[Ending::GameOver]), true, Verdict::Succeeded),
            (evaluation(Start::Played, &[Ending::GameOver, Ending::Freeze, Ending::Raised]), true, Verdict::Froze),
            (evaluation(Start::Played, &[Ending::WrongAnswer]), false, Verdict::WrongAnswer),
            (evaluation(faulted(Ending::Raised), &[Ending::Raised]), false, Verdict::Raised),
            (evaluation(faulted(Ending::BadMove), &[Ending::BadMove]), true, Verdict::Cut),
            (evaluation(faulted(Ending::Hung), &[Ending::Hung]), false, Verdict::OutOfBudget),
            (refused(), false, Verdict::NotCompiled),
            (refused(), true, Verdict::Cut),
            (Evaluation::rejected(Rejection::NoFunction { wanted: "x".into() }), false, Verdict::NoFunction),
        ];
        for (evaluation, cut, expected) in cases {
            assert_eq!(evaluation.verdict(cut), expected, "{:?}", evaluation.start);
        }
    }

    #[test]
    fn failures_are_told_by_their_number_with_an_example_of_the_commonest() {
        let (well, refused) = (evaluation(Start::Played, &[Ending::GameOver]), refused());
        let rows = [(&well, false, 1), (&refused, false, 4), (&refused, true, 27)];
        let rows = rows.into_iter().flat_map(|(row, cut, count)| std::iter::repeat_n((row, cut), count));
        let counts = VerdictCounts::of(rows);
        assert_eq!(counts.in_words(Labels::Board, 128), "3% play, 84% are cut at 128 tokens, 13% do not compile");
        assert_eq!(counts.example(), Some("line 3 of 9: '(' was never closed"));
        let again = VerdictCounts::counted(|name| counts.by_name().get(name).copied().unwrap_or(0));
        assert_eq!((again.by_name(), again.total()), (counts.by_name(), 32));
    }
}
