//! What a line of the log says of a completion, beside what came of its programs.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::arena::Evaluation;
use crate::config::RolloutConfig;
use crate::environment::{Case, Environment, Outcome, Points};
use crate::feedback::feedback;
use crate::metrics::shortest;
use crate::report::{LoggedCompletion, LoggedTurn};
use crate::train::{COMPLETIONS_VERSION, Combined};

/// A completion in the log: as it is read, as it stands there, its turns, and what their programs were tried on.
#[derive(Clone, Copy)]
pub(super) struct Logged<'a> {
    pub one: &'a LoggedCompletion,
    pub line: &'a Value,
    pub turns: &'a [LoggedTurn],
    pub cases: &'a [Case],
    /// Whether the digest of a program in it is that of its answer.
    pub is_of_program: bool,
}

/// What came of a completion.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    /// Of its turns.
    pub judged: &'a [&'a Evaluation],
    pub combined: &'a Combined,
    pub environment: &'a Environment,
    pub rollout: &'a RolloutConfig,
}

/// Lines of earlier versions have other words for some of what a line says.
pub(super) fn is_of_today(one: &LoggedCompletion) -> bool {
    one.version == Some(COMPLETIONS_VERSION)
}

impl Logged<'_> {
    /// Whether it says what is so, but for [words](Self::has_other_words).
    pub fn tells(&self, found: Found<'_>) -> bool {
        !is_of_today(self.one) || self.tells_answer(found) && self.tells_turns(found)
    }

    /// Whether it says in sentences something else of what came of a completion than this program does. Another build may have
    /// said the same in other words.
    pub fn has_other_words(&self, Found { judged, combined, environment, rollout }: Found<'_>) -> bool {
        let is_reason = |object: &Value, evaluation: &Evaluation| object["reason"] == json!(evaluation.reason());
        let reply = |evaluation: &Evaluation| feedback(environment, self.cases, evaluation, rollout.feedback);
        let of_turns = self.written().iter().zip(judged);
        let are_reasons = of_turns.clone().all(|(turn, evaluation)| is_reason(turn, evaluation));
        let are_told = of_turns
            .zip(self.written().iter().skip(1))
            .all(|((_, evaluation), next)| next["told"] == reply(evaluation));
        is_of_today(self.one) && !(are_reasons && are_told && is_reason(self.line, judged[combined.answer]))
    }

    /// Its turns as they stand there; none where there is one.
    fn written(&self) -> &[Value] {
        self.line["turns"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Whether it says of its answer what is so: program, verdict, parts of the reward, and the course of each of its games. Keys of
    /// earlier versions, which others would read in their place, it has none.
    fn tells_answer(&self, Found { judged, combined, .. }: Found<'_>) -> bool {
        let Logged { one, line, .. } = self;
        let (answer, reward) = (judged[combined.answer], &combined.reward);
        let evidence = |game: &Outcome| Outcome { reason: None, ..game.clone() };
        let logged = Vec::<Outcome>::deserialize(&line["games"]).unwrap_or_default();
        let are_games = logged.iter().map(evidence).eq(answer.games.iter().map(evidence));
        let is_part =
            |(name, value): &(&str, f32)| one.reward_parts.get(*name).and_then(Value::as_f64) == Some(shortest(*value));
        let are_parts = reward.parts.len() == one.reward_parts.len() && reward.parts.iter().all(is_part);
        let is_verdict = line["verdict"] == answer.verdict(one.finish == "length").name();
        let is_of_one_version = ["evaluation", "became"].iter().all(|key| line.get(key).is_none());
        self.is_of_program && are_games && are_parts && is_verdict && is_of_one_version
    }

    /// Whether it has turns where there may be several, none after one that ends a conversation, says of each what it was judged
    /// to be, and repeats the one that is its answer.
    fn tells_turns(&self, Found { judged, combined, environment, rollout }: Found<'_>) -> bool {
        let Logged { one, line, turns, .. } = self;
        if one.turns.is_empty() {
            return rollout.turns == 1;
        }
        let is_told = |(number, (turn, evaluation)): (usize, (&Value, &&Evaluation))| {
            let tests = evaluation.games.first().and_then(Outcome::tests);
            let is_cut = turn["finish"] == "length";
            let found = json!({
                "verdict": evaluation.verdict(is_cut).name(),
                "failed": tests.and_then(|tests| tests.failed.as_ref()),
                "score": Points(evaluation.mean_score()),
            });
            let ends = is_cut || environment.has_tests() && evaluation.plays();
            let is_last = number + 1 == turns.len();
            says(turn, &found)
                && turn.get("became").is_none()
                && (is_last || !ends)
                && (number > 0 || turn["told"] == "")
        };
        let written = self.written();
        let repeated = ["completion", "finish", "reason"].iter().all(|key| line[key] == written[combined.answer][key]);
        let tokens: usize = turns.iter().map(|turn| turn.tokens).sum();
        let has_all = turns.len() <= rollout.turns && tokens == one.tokens;
        has_all && repeated && written.iter().zip(judged).enumerate().all(is_told)
    }
}

/// Whether an object has all of `found`.
fn says(object: &Value, found: &Value) -> bool {
    found.as_object().is_some_and(|found| found.iter().all(|(key, value)| object[key] == *value))
}
