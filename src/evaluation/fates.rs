//! What became of completions, and what to change where few of them are of use.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::arena::{Evaluation, Verdict};
use crate::config::Config;
use crate::environment::{Ending, Labels};
use crate::program::Rejection;

/// What became of a completion, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It played all its games to an end that is no fault of its own, or passed all tests.
    Succeeded,
    /// A test got another answer than the expected one.
    WrongAnswer,
    /// One call hung, or took too much memory or stack.
    OutOfBudget,
    /// Too many of its moves changed nothing.
    Froze,
    /// It answered something that is no move, or no value.
    BadValue,
    /// It raised an exception.
    Raised,
    /// Python refuses it.
    NotCompiled,
    /// What was asked for is not in the text.
    NoFunction,
    /// It had not ended at the longest length allowed, and what there is of it is of no use.
    Cut,
}

impl Fate {
    /// `cut`: whether the completion ended at the longest length allowed.
    pub fn of(evaluation: &Evaluation, cut: bool) -> Fate {
        match &evaluation.verdict {
            _ if evaluation.plays() => Fate::Succeeded,
            Verdict::Rejected(_) | Verdict::Faulted(_) if cut => Fate::Cut,
            Verdict::Rejected(Rejection::NoFunction { .. }) => Fate::NoFunction,
            Verdict::Rejected(Rejection::NotCompiled { .. }) => Fate::NotCompiled,
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

/// Below this share of completions that succeed it is worth saying what to change.
const FEW: f64 = 0.5;
/// Below this share next to nothing can be learnt.
const HARDLY_ANY: f64 = 0.1;
/// Above this share of cut completions the length is what to change first.
const MANY_CUT: f64 = 0.1;
/// Temperature of sampling at which a small model makes fewer slips.
const COOLER: f64 = 0.7;

/// How many completions became what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fates {
    counts: BTreeMap<Fate, usize>,
    /// Of each kind of failure, the first reason.
    reasons: BTreeMap<Fate, String>,
}

impl Fates {
    /// Counts completions; `cut` as in [`Fate::of`].
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

    /// Completions of each kind that occurs, by its name.
    pub fn by_name(&self) -> BTreeMap<&'static str, usize> {
        self.counts.iter().map(|(fate, count)| (fate.name(), *count)).collect()
    }

    /// Completions in all.
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// Share of them that became this.
    pub fn share(&self, fate: Fate) -> f64 {
        self.counts.get(&fate).copied().unwrap_or(0) as f64 / self.total().max(1) as f64
    }

    /// `12% play, 60% are cut at 128 tokens, 28% do not compile`: those that succeed, then the rest by their number.
    pub fn in_words(&self, labels: Labels, longest: usize) -> String {
        let mut rest: Vec<Fate> = self.counts.keys().copied().filter(|fate| *fate != Fate::Succeeded).collect();
        rest.sort_by_key(|fate| Reverse(self.counts[fate]));
        let all = [Fate::Succeeded].into_iter().chain(rest);
        let words = all.map(|fate| format!("{:.0}% {}", 100.0 * self.share(fate), fate.in_words(labels, longest)));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Why one of the commonest failures failed, if it says so.
    pub fn example(&self) -> Option<&str> {
        let commonest = self.reasons.iter().max_by_key(|(fate, _)| (self.counts[fate], Reverse(**fate)));
        commonest.map(|(_, reason)| reason.as_str())
    }

    /// All of it as lines: what became of them, an example of a failure, and what to change.
    pub fn told(&self, config: &Config, labels: Labels) -> Vec<String> {
        let words = self.in_words(labels, config.rollout.max_completion_length);
        let mut lines = vec![format!("of {} completions {words}", self.total())];
        let advice = self.advice(config, labels);
        if !advice.is_empty() {
            lines.extend(self.example().map(|reason| format!("for example: {reason}")));
        }
        lines.extend(advice.into_iter().map(|advice| format!("try {advice}")));
        lines
    }

    /// What to change where few succeed, the most promising first; nothing where many do.
    pub fn advice(&self, config: &Config, labels: Labels) -> Vec<String> {
        let succeeded = self.share(Fate::Succeeded);
        let mut advice = Vec::new();
        if self.total() == 0 || succeeded >= FEW {
            return advice;
        }
        let (longest, model) = (config.rollout.max_completion_length, config.model.model.as_str());
        if self.share(Fate::Cut) >= MANY_CUT {
            advice.push(format!("longer completions: --max-completion-length {}", 2 * longest));
        }
        if model == "builtin" {
            return advice;
        }
        if succeeded < HARDLY_ANY && config.model.adapter.is_empty() && labels == Labels::Board {
            let warm = "--output-dir runs/warm";
            advice.push(format!(
                "a warm-up: grpo-2048 sft --model {model} {warm}, then train --model {model} --adapter runs/warm"
            ));
        }
        if config.rollout.temperature > COOLER {
            advice.push(format!("fewer slips: --temperature {COOLER}"));
        }
        if succeeded < HARDLY_ANY && labels == Labels::Tests {
            advice.push("easier tasks among the first, a larger --num-generations, or --set reward.tests=share".into());
        }
        advice
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Fault;
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
        let faulted = |ending| Verdict::Faulted(Fault { ending, reason: "NameError: x".into() });
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
    fn advice_names_flags_with_figures_and_is_silent_where_many_succeed() {
        let well = evaluation(Verdict::Played, &[Ending::GameOver]);
        let fates = |well_ones: usize, refused_ones: usize, cut_ones: usize| {
            let refused = refused();
            let well = std::iter::repeat_n((&well, false), well_ones);
            let refused_ones = std::iter::repeat_n((&refused, false), refused_ones);
            Fates::of(well.chain(refused_ones).chain(std::iter::repeat_n((&refused, true), cut_ones)))
        };
        let mut config = Config::preset("llm").unwrap();
        config.rollout.max_completion_length = 128;
        config.model.model = "m.gguf".into();
        let found = fates(1, 4, 27);
        assert_eq!(found.in_words(Labels::Board, 128), "3% play, 84% are cut at 128 tokens, 12% do not compile");
        assert_eq!(found.example(), Some("line 3 of 9: '(' was never closed"));
        let advice = found.advice(&config, Labels::Board).join("; ");
        for words in ["--max-completion-length 256", "sft --model m.gguf", "--adapter runs/warm", "--temperature 0.7"] {
            assert!(advice.contains(words), "{words} in {advice}");
        }
        assert_eq!(fates(20, 10, 2).advice(&config, Labels::Board), [""; 0]);
        // What is warm already wants no other warm-up, and tasks have none.
        config.model.adapter = "runs/warm".into();
        assert!(!fates(1, 4, 27).advice(&config, Labels::Board).join("; ").contains("sft"));
        assert!(fates(0, 8, 0).advice(&config, Labels::Tests).join("; ").contains("reward.tests=share"));
    }
}
