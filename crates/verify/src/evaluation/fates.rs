//! Fates of completions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::arena::{Evaluation, Verdict};
use crate::environment::{Ending, Labels};
use crate::program::Rejection;

/// How a completion ended, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Its program played all games to an end that was not its fault, or passed all tests.
    Succeeded,
    /// It gave a wrong answer in a test.
    WrongAnswer,
    /// A call hung, or took too much memory or stack.
    OutOfBudget,
    /// Too many of its moves changed nothing.
    Froze,
    /// It returned something that is no move, or no value.
    BadValue,
    /// It raised an exception.
    Raised,
    /// Its program does not compile.
    NotCompiled,
    /// The text does not contain the requested function.
    NoFunction,
    /// It was cut at the longest length allowed, and the part that exists is of no use.
    Cut,
}

impl Fate {
    /// All fates, the best first.
    pub const ALL: [Fate; 9] = [
        Fate::Succeeded,
        Fate::WrongAnswer,
        Fate::OutOfBudget,
        Fate::Froze,
        Fate::BadValue,
        Fate::Raised,
        Fate::NotCompiled,
        Fate::NoFunction,
        Fate::Cut,
    ];

    /// The fate of a completion; `cut`: whether it ended at the longest length allowed.
    pub fn of(evaluation: &Evaluation, cut: bool) -> Fate {
        match &evaluation.verdict {
            _ if evaluation.plays() => Fate::Succeeded,
            Verdict::Rejected(_) | Verdict::Faulted(_) if cut => Fate::Cut,
            Verdict::Rejected(Rejection::NoFunction { .. }) => Fate::NoFunction,
            Verdict::Rejected(Rejection::NotCompiled { .. } | Rejection::TooLong { .. }) => Fate::NotCompiled,
            Verdict::Faulted(fault) => Fate::by(fault.ending),
            Verdict::Played => {
                let endings = evaluation.games.iter().map(|game| game.ending);
                endings.filter(|ending| !ending.is_well()).map(Fate::by).next().unwrap_or(Fate::Succeeded)
            }
        }
    }

    fn by(ending: Ending) -> Fate {
        match ending {
            Ending::GameOver | Ending::OutOfFuel | Ending::MoveLimit | Ending::Passed => Fate::Succeeded,
            Ending::WrongAnswer => Fate::WrongAnswer,
            Ending::Hung | Ending::OutOfMemory | Ending::StackOverflow => Fate::OutOfBudget,
            Ending::Freeze => Fate::Froze,
            Ending::BadMove => Fate::BadValue,
            Ending::Raised => Fate::Raised,
        }
    }

    /// The name in metrics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Succeeded => "succeeded",
            Fate::WrongAnswer => "wrong_answer",
            Fate::OutOfBudget => "out_of_budget",
            Fate::Froze => "froze",
            Fate::BadValue => "bad_value",
            Fate::Raised => "raised",
            Fate::NotCompiled => "not_compiled",
            Fate::NoFunction => "no_function",
            Fate::Cut => "cut",
        }
    }

    fn in_words(self, labels: Labels, longest: usize) -> String {
        let bad_value = if labels == Labels::Tests { "return no value" } else { "return no move" };
        match self {
            Fate::Succeeded => labels.succeed().into(),
            Fate::WrongAnswer => "answer wrongly".into(),
            Fate::OutOfBudget => "hang or take too much".into(),
            Fate::Froze => "freeze (moves that change nothing)".into(),
            Fate::BadValue => bad_value.into(),
            Fate::Raised => "raise an exception".into(),
            Fate::NotCompiled => "do not compile".into(),
            Fate::NoFunction => "hold no program".into(),
            Fate::Cut => format!("are cut at {longest} tokens"),
        }
    }
}

/// Counts of fates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fates {
    counts: BTreeMap<Fate, usize>,
    /// The first reason for each kind of failure.
    reasons: BTreeMap<Fate, String>,
}

impl Fates {
    /// Counts the fates of completions; `cut` as in [`Fate::of`].
    pub fn of<'a>(completions: impl IntoIterator<Item = (&'a Evaluation, bool)>) -> Fates {
        let mut fates = Fates::default();
        for (evaluation, cut) in completions {
            let fate = Fate::of(evaluation, cut);
            *fates.counts.entry(fate).or_default() += 1;
            if let Some(reason) = evaluation.verdict.reason() {
                fates.reasons.entry(fate).or_insert(reason);
            }
        }
        fates
    }

    /// Fates from counts by name.
    pub fn counted(count: impl Fn(&str) -> usize) -> Fates {
        let counts = Fate::ALL.into_iter().map(|fate| (fate, count(fate.name()))).filter(|(_, count)| *count > 0);
        Fates { counts: counts.collect(), reasons: BTreeMap::new() }
    }

    /// Number of completions by the name of their fate, for fates that occur.
    pub fn by_name(&self) -> BTreeMap<&'static str, usize> {
        self.counts.iter().map(|(fate, count)| (fate.name(), *count)).collect()
    }

    /// Number of completions.
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// Share of completions with this fate.
    pub fn share(&self, fate: Fate) -> f64 {
        self.counts.get(&fate).copied().unwrap_or(0) as f64 / self.total().max(1) as f64
    }

    /// Shares in words, such as `12% play, 60% are cut at 128 tokens, 28% do not compile`: first success, then the
    /// failures by their number.
    pub fn in_words(&self, labels: Labels, longest: usize) -> String {
        let mut rest: Vec<Fate> = self.counts.keys().copied().filter(|fate| *fate != Fate::Succeeded).collect();
        rest.sort_by_key(|fate| Reverse(self.counts[fate]));
        let all = [Fate::Succeeded].into_iter().chain(rest);
        let words = all.map(|fate| format!("{:.0}% {}", 100.0 * self.share(fate), fate.in_words(labels, longest)));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The reason of one of the most frequent failures, if it has one.
    pub fn example(&self) -> Option<&str> {
        let commonest = self.reasons.iter().max_by_key(|(fate, _)| (self.counts[fate], Reverse(**fate)));
        commonest.map(|(_, reason)| reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::FirstCallFault;
    use crate::environment::{Case, Environment};
    use crate::seed::Seed;

    fn evaluation(verdict: Verdict, endings: &[Ending]) -> Evaluation {
        let game = |ending: &Ending| Environment::Game2048.unplayed(Case::Seed(Seed::root(1)), *ending);
        Evaluation { verdict, games: endings.iter().map(game).collect(), usage: Default::default() }
    }

    fn refused() -> Evaluation {
        let rejection = Rejection::NotCompiled { line: 3, lines: 9, message: "'(' was never closed".into() };
        Evaluation::rejected(rejection)
    }

    #[test]
    fn a_completion_becomes_what_its_verdict_its_first_failure_and_its_length_say() {
        let faulted = |ending| Verdict::Faulted(FirstCallFault { ending, reason: "NameError: x".into() });
        let cases = [
            (evaluation(Verdict::Played, &[Ending::GameOver, Ending::OutOfFuel]), false, Fate::Succeeded),
            (evaluation(Verdict::Played, &[Ending::GameOver]), true, Fate::Succeeded),
            (evaluation(Verdict::Played, &[Ending::GameOver, Ending::Freeze, Ending::Raised]), true, Fate::Froze),
            (evaluation(Verdict::Played, &[Ending::WrongAnswer]), false, Fate::WrongAnswer),
            (evaluation(faulted(Ending::Raised), &[Ending::Raised]), false, Fate::Raised),
            (evaluation(faulted(Ending::BadMove), &[Ending::BadMove]), true, Fate::Cut),
            (evaluation(faulted(Ending::Hung), &[Ending::Hung]), false, Fate::OutOfBudget),
            (refused(), false, Fate::NotCompiled),
            (refused(), true, Fate::Cut),
            (Evaluation::rejected(Rejection::NoFunction { wanted: "x".into() }), false, Fate::NoFunction),
        ];
        for (evaluation, cut, expected) in cases {
            assert_eq!(Fate::of(&evaluation, cut), expected, "{:?}", evaluation.verdict);
        }
    }

    #[test]
    fn failures_are_told_by_their_number_with_an_example_of_the_commonest() {
        let (well, refused) = (evaluation(Verdict::Played, &[Ending::GameOver]), refused());
        let rows = [(&well, false, 1), (&refused, false, 4), (&refused, true, 27)];
        let rows = rows.into_iter().flat_map(|(row, cut, count)| std::iter::repeat_n((row, cut), count));
        let fates = Fates::of(rows);
        assert_eq!(fates.in_words(Labels::Board, 128), "3% play, 84% are cut at 128 tokens, 12% do not compile");
        assert_eq!(fates.example(), Some("line 3 of 9: '(' was never closed"));
        let again = Fates::counted(|name| fates.by_name().get(name).copied().unwrap_or(0));
        assert_eq!((again.by_name(), again.total()), (fates.by_name(), 32));
    }
}
