//! All completions of a run, compressed for the page, and the reasons why programs failed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::columns::rounded;
use super::completions::{LoggedCompletion, cut, step_floor};
use crate::environment::{Floor, Verdict};
use crate::metrics::in_page;

/// Maximum number of bytes of the compressed completions of one run, before base64. The default run of 64 completions
/// in 200 steps takes a fifth of it.
pub const PACKED_BYTES: usize = 4 << 20;
/// Maximum number of reasons that are listed.
const REASONS_MAX: usize = 40;
/// Number of programs that are shown for a reason.
const EXAMPLES: usize = 2;
/// Number of last steps whose failures are also counted separately.
const LATE_STEPS: usize = 10;

/// One completion of the page's list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogEntry {
    pub step: usize,
    /// Its index in the step.
    pub index: usize,
    /// Style of the prompt.
    pub style: String,
    /// The kind of its failure; empty if it did not fail.
    pub failure: String,
    /// The reason of the failure, as in the log.
    pub reason: String,
    pub reward: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advantage: Option<f64>,
    /// Mean score of its games, counted as [`Floor`] says; with tasks, the share of tests.
    pub score: f64,
    /// Whether its program was tried on a honeypot.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub honeypot: bool,
    /// The prompt; empty where it is that of the completion before.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    pub source: String,
}

impl LogEntry {
    /// The entries of a step, with each prompt once.
    pub fn of_step(logged: &[LoggedCompletion]) -> Vec<LogEntry> {
        let floor = step_floor(logged);
        let before = |at: usize| at.checked_sub(1).map(|before| logged[before].prompt.as_str());
        let entry = |(at, one): (usize, &LoggedCompletion)| {
            let prompt = if before(at) == Some(&one.prompt) { String::new() } else { one.prompt.clone() };
            LogEntry { prompt, ..LogEntry::of(one, floor) }
        };
        logged.iter().enumerate().map(entry).collect()
    }

    fn of(logged: &LoggedCompletion, floor: Floor) -> LogEntry {
        let (failure, reason) = failure(logged).unwrap_or_default();
        LogEntry {
            step: logged.step,
            index: logged.index,
            style: logged.style.clone(),
            failure,
            reason,
            reward: rounded(logged.reward),
            advantage: logged.advantage.map(rounded),
            prompt: String::new(),
            score: rounded(logged.evaluation.mean_score(floor)),
            honeypot: logged.evaluation.tests().is_some_and(|tests| tests.honeypot),
            source: cut(&logged.source()),
        }
    }
}

/// The kind and reason of a failure; none if the completion played every game or passed every test.
fn failure(logged: &LoggedCompletion) -> Option<(String, String)> {
    let evaluation = &logged.evaluation;
    let verdict = evaluation.verdict.as_str();
    if verdict == Verdict::Succeeded.name() {
        return None;
    }
    // A game of another kind of failure may come before one that has a reason; then the completion has none.
    let reasons = evaluation.games.iter().filter_map(|game| game.reason.as_deref());
    let broken_off = reasons.take(usize::from(!evaluation.reason.is_empty())).next();
    // Only a program that played has games, and no reason but that of a game.
    if broken_off.is_some() || (evaluation.reason.is_empty() && !evaluation.games.is_empty()) {
        let failed = evaluation.tests().and_then(|tests| tests.failed.as_ref());
        let reason = failed.map(|failed| &*failed.reason).or(broken_off).map_or("after its first move", unplaced);
        return Some((verdict.to_owned(), reason.to_owned()));
    }
    let kind = if logged.finish == "length" { Verdict::Cut.name() } else { verdict };
    let is_told = kind != Verdict::NoFunction.name();
    Some((kind.to_owned(), if is_told { unplaced(&evaluation.reason).to_owned() } else { String::new() }))
}

/// A reason without the number of a line, so that the same mistake in different lines is counted once.
fn unplaced(reason: &str) -> &str {
    let before = reason.strip_prefix("line ").and_then(|placed| placed.split_once(": "));
    let after = reason.strip_suffix(')').and_then(|placed| placed.rsplit_once(" (line "));
    before.map(|(_, reason)| reason).or(after.map(|(reason, _)| reason)).unwrap_or(reason)
}

/// The names of the honeypots among the tasks of steps. They are known by the programs that were tried on them, because a
/// completion without a program has no tests that tell.
pub fn honeypots<'a>(steps: &[&'a [LogEntry]]) -> BTreeSet<&'a str> {
    let tried = steps.iter().copied().flatten().filter(|entry| entry.honeypot);
    tried.map(|entry| entry.style.as_str()).collect()
}

/// A reason why programs failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reason {
    /// Its kind.
    pub failure: String,
    /// The reason, without names that differ from program to program.
    pub reason: String,
    pub count: usize,
    /// Number of failures in the last steps.
    pub late: usize,
    /// Examples, the newest first.
    pub examples: Vec<LogEntry>,
}

/// The failures of a run by their reasons. Completions of honeypots, which no honest program passes, are in no count but
/// their own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failures {
    pub completions: usize,
    pub failed: usize,
    /// Number of completions of the last steps.
    pub late: usize,
    pub late_failed: usize,
    /// Number of last steps.
    pub late_steps: usize,
    /// The reasons, the most frequent first.
    pub reasons: Vec<Reason>,
    /// Number of failures for other reasons.
    pub rarer: usize,
    /// Number of completions of honeypots.
    pub honeypots: usize,
}

impl Failures {
    /// Counts the failures of `steps`, each with its completions, in the order of the steps.
    pub fn of(steps: &[&[LogEntry]]) -> Failures {
        let late_from = steps.len().saturating_sub(LATE_STEPS);
        let logged: usize = steps.iter().map(|step| step.len()).sum();
        let honeypots = honeypots(steps);
        let counts = |entry: &&LogEntry| !honeypots.contains(entry.style.as_str());
        let steps: Vec<Vec<&LogEntry>> = steps.iter().map(|step| step.iter().filter(counts).collect()).collect();
        let mut found: BTreeMap<(String, String), Reason> = BTreeMap::new();
        for (at, entry) in steps.iter().enumerate().flat_map(|(at, step)| step.iter().map(move |&entry| (at, entry))) {
            if entry.failure.is_empty() {
                continue;
            }
            let key = (entry.failure.clone(), without_names(&entry.reason));
            let reason = found.entry(key.clone()).or_insert_with(|| Reason {
                failure: key.0,
                reason: key.1,
                count: 0,
                late: 0,
                examples: Vec::new(),
            });
            reason.count += 1;
            reason.late += usize::from(at >= late_from);
            reason.examples.retain(|example| example.source != entry.source);
            reason.examples.insert(0, entry.clone());
            reason.examples.truncate(EXAMPLES);
        }
        let mut reasons: Vec<Reason> = found.into_values().collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.count));
        let rarer = reasons.iter().skip(REASONS_MAX).map(|reason| reason.count).sum();
        reasons.truncate(REASONS_MAX);
        let all = |steps: &[Vec<&LogEntry>]| steps.iter().map(Vec::len).sum::<usize>();
        let failed =
            |steps: &[Vec<&LogEntry>]| steps.iter().flatten().filter(|entry| !entry.failure.is_empty()).count();
        Failures {
            completions: all(&steps),
            failed: failed(&steps),
            late: all(&steps[late_from..]),
            late_failed: failed(&steps[late_from..]),
            late_steps: steps.len() - late_from,
            reasons,
            rarer,
            honeypots: logged - all(&steps),
        }
    }
}

/// A reason with `…` for names in quotes, so that the same mistake is counted once. Grammar stays: what is in backticks, and
/// punctuation, as in `Expected an expression or a ')'`.
fn without_names(reason: &str) -> String {
    let mut kept = String::new();
    let mut rest = reason;
    while let Some(start) = opening_quote(rest) {
        let Some(length) = rest[start + 1..].find('\'') else { break };
        let quoted = &rest[start + 1..][..length];
        kept.push_str(&rest[..start]);
        kept.push_str(&format!("'{}'", if is_punctuation(quoted) { quoted } else { "…" }));
        rest = &rest[start + length + 2..];
    }
    kept.push_str(rest);
    kept
}

/// Whether it is a bracket or an operator of Python, of which the longest have three characters; `_` is a name.
fn is_punctuation(quoted: &str) -> bool {
    (1..=3).contains(&quoted.len()) && quoted.chars().all(|letter| letter.is_ascii_punctuation() && letter != '_')
}

/// Where the first quoted name begins. An apostrophe within a word, as in `can't`, opens none; the one of `b'x'` does.
fn opening_quote(text: &str) -> Option<usize> {
    let is_within_word = |at: usize| {
        let letters = text[..at].chars().rev().take_while(|letter| letter.is_alphanumeric()).take(2).count();
        letters == 2 && text[at + 1..].starts_with(char::is_alphabetic)
    };
    text.match_indices('\'').map(|(at, _)| at).find(|&at| !is_within_word(at))
}

/// Compressed completions, which the page decompresses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PackedLog {
    pub count: usize,
    /// One of so many steps is included: 1 is all.
    pub every: usize,
    /// JSON, compressed (gzip), in base64.
    pub gzip: String,
}

/// Compresses the completions of all steps, or of every second, fourth and so on, so that they take at most `limit`
/// bytes.
pub fn packed(steps: &[&[LogEntry]], limit: usize) -> io::Result<PackedLog> {
    let mut every = 1;
    loop {
        // Steps are counted from the last one, which is always included.
        let chosen: Vec<&LogEntry> = steps.iter().rev().step_by(every).flat_map(|step| step.iter()).collect();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(listed(&chosen).as_bytes())?;
        let bytes = gzip.finish()?;
        if bytes.len() <= limit || every >= steps.len() {
            return Ok(PackedLog { count: chosen.len(), every, gzip: STANDARD.encode(bytes) });
        }
        every *= 2;
    }
}

/// Completions as JSON, with the escapes of the page.
pub fn listed(entries: &[&LogEntry]) -> String {
    in_page(&serde_json::to_string(entries).expect("string keys and finite numbers"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use serde_json::{Value, json};

    use super::*;

    fn entry(step: usize, verdict: Value, finish: &str) -> LogEntry {
        let logged = json!({"step": step, "completion": format!("program {step}"), "finish": finish,
            "evaluation": {"verdict": verdict, "games": []}});
        LogEntry::of(&serde_json::from_value(logged).unwrap(), Floor::of([]))
    }

    fn raised(step: usize, name: &str) -> LogEntry {
        let reason = format!("NameError: name '{name}' is not defined");
        entry(step, json!({"faulted": {"ending": "raised", "reason": reason}}), "stop")
    }

    #[test]
    fn mistakes_of_one_kind_are_counted_once_with_their_newest_examples() {
        let steps: Vec<Vec<LogEntry>> = (0..12)
            .map(|step| vec![raised(step, &format!("x{step}")), entry(step, json!("played"), "stop")])
            .chain([vec![entry(
                12,
                json!({"rejected": {"why": "not_compiled", "message": "Expected a statement"}}),
                "stop",
            )]])
            .collect();
        let steps: Vec<&[LogEntry]> = steps.iter().map(Vec::as_slice).collect();
        let failures = Failures::of(&steps);
        let told: Vec<_> =
            failures.reasons.iter().map(|one| (&*one.failure, &*one.reason, one.count, one.late)).collect();
        assert_eq!(
            told,
            [("raised", "NameError: name '…' is not defined", 12, 9), ("not_compiled", "Expected a statement", 1, 1)]
        );
        let shown: Vec<usize> = failures.reasons[0].examples.iter().map(|example| example.step).collect();
        assert_eq!(shown, [11, 10]);
        assert_eq!(failures.reasons[0].examples[0].reason, "NameError: name 'x11' is not defined");
        assert_eq!((failures.completions, failures.failed, failures.late, failures.late_failed), (25, 13, 19, 10));
    }

    #[test]
    fn an_apostrophe_within_a_word_opens_no_name() {
        let told = [
            ("can't multiply sequence by non-int of type 'str'", "can't multiply sequence by non-int of type '…'"),
            ("'list' object doesn't support 'x'", "'…' object doesn't support '…'"),
            ("f(b'ab', 'cd') gave ''", "f(b'…', '…') gave '…'"),
            ("name 'a", "name 'a"),
        ];
        told.iter().for_each(|(reason, expected)| assert_eq!(without_names(reason), *expected));
    }

    #[test]
    fn quoted_punctuation_says_what_the_mistake_is_and_stays() {
        for reason in ["Expected an expression or a ')'", "'**=' not supported", "a '.' is missing"] {
            assert_eq!(without_names(reason), reason);
        }
        let told = [
            ("'>' not supported between 'int' and 'str'", "'>' not supported between '…' and '…'"),
            ("name '_' is not defined", "name '…' is not defined"),
            ("gave ' ' and '#####'", "gave '…' and '…'"),
        ];
        told.iter().for_each(|(reason, expected)| assert_eq!(without_names(reason), *expected));
    }

    #[test]
    fn a_prompt_stands_at_the_first_of_the_completions_that_share_it() {
        let of =
            |prompt: &str, advantage: f64| serde_json::from_value(json!({"prompt": prompt, "advantage": advantage}));
        let logged = [of("a", 1.0), of("a", -1.0), of("b", 0.5)].map(Result::unwrap);
        let entries = LogEntry::of_step(&logged);
        assert_eq!(entries.iter().map(|one| one.prompt.as_str()).collect::<Vec<_>>(), ["a", "", "b"]);
        let json: Value = serde_json::from_str(&listed(&entries.iter().collect::<Vec<_>>())).unwrap();
        assert_eq!((&json[1]["advantage"], json[1].get("prompt")), (&json!(-1.0), None));
    }

    #[test]
    fn what_is_cut_is_no_mistake_of_grammar_and_a_game_that_ends_badly_is_one() {
        let refused = json!({"rejected": {"why": "not_compiled", "message": "unexpected EOF"}});
        assert_eq!(entry(1, refused, "length").failure, "cut");
        assert_eq!(entry(1, json!({"rejected": "no_function"}), "stop").failure, "no_function");
        let flat = json!({"version": 2, "verdict": "rejected", "reason": "line 3 of 9: unexpected EOF", "became": "not_compiled"});
        let flat = LogEntry::of(&serde_json::from_value(flat).unwrap(), Floor::of([]));
        assert_eq!((&*flat.failure, &*flat.reason), ("not_compiled", "unexpected EOF"));
        let broken_off = json!({"version": 3, "verdict": "raised", "reason": "game 2 after 1 move: KeyError: 5 (line 3)",
            "games": [{"ending": "game_over"}, {"ending": "raised", "reason": "KeyError: 5 (line 3)"}], "finish": "length"});
        let broken_off = LogEntry::of(&serde_json::from_value(broken_off).unwrap(), Floor::of([]));
        assert_eq!((&*broken_off.failure, &*broken_off.reason), ("raised", "KeyError: 5"));
        let played = |ending: &str| {
            let logged =
                json!({"evaluation": {"verdict": "played", "games": [{"ending": "game_over"}, {"ending": ending}]}});
            LogEntry::of(&serde_json::from_value(logged).unwrap(), Floor::of([])).failure
        };
        assert_eq!((played("freeze"), played("out_of_fuel")), ("froze".into(), String::new()));
    }

    #[test]
    fn what_is_packed_is_bounded_and_holds_the_last_step() {
        // Digests cannot be compressed.
        let noise = |step: usize| (0..40).map(|at| blake3::hash(&[step as u8, at]).to_string()).collect::<String>();
        let steps: Vec<Vec<LogEntry>> =
            (1..=32).map(|step| vec![LogEntry { source: noise(step), ..raised(step, "x") }]).collect();
        let steps: Vec<&[LogEntry]> = steps.iter().map(Vec::as_slice).collect();
        let all = packed(&steps, PACKED_BYTES).unwrap();
        assert_eq!((all.every, all.count), (1, 32));
        let some = packed(&steps, 16 << 10).unwrap();
        assert!(some.gzip.len() <= (16 << 10) / 3 * 4 + 4 && some.every == 4, "{}", some.every);
        let bytes = STANDARD.decode(&some.gzip).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((read.as_array().unwrap().len(), &read[0]["step"], &read[1]["step"]), (8, &json!(32), &json!(28)));
    }
}
