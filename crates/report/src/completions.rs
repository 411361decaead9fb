//! Reads `completions/step_*.jsonl` and selects the completions that are shown.
//!
//! The files are JSON lines, which other programs can read, too. With pandas:
//!
//! ```python
//! df = pandas.concat(pandas.read_json(f, lines=True) for f in sorted(glob.glob("RUN/completions/*.jsonl")))
//! ```

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ReportError;
use super::columns::rounded;
use super::frames::{Frames, LoggedGame};
use crate::environment::{Ending, Floor, TestsTrace, Transcript, Verdict, points};
use crate::files::lines;
use crate::stats;
use crate::train::COMPLETIONS_VERSION;

/// Maximum number of characters of a program that are shown.
const SOURCE_MAX: usize = 8_000;
/// Maximum number of completions of a step that are shown, with tasks.
const EACH_MAX: usize = 64;
/// The text with which the prompt of a chat model opens the program.
const FENCE: &str = "```python\n";
/// The quantiles of a step's scores, from which the page draws bands.
const QUANTILES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// One line of the log. Keys of later versions are ignored, missing keys are empty.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct LoggedCompletion {
    /// Version of the line; none in the first.
    pub version: Option<u64>,
    pub step: usize,
    /// Its index in the step, group after group.
    pub index: usize,
    /// Style of the prompt; of tasks, the name of the task.
    pub style: String,
    pub prompt: String,
    pub completion: String,
    /// Number of tokens of the completion.
    pub tokens: usize,
    /// Why it ended: `stop`, or `length` if it was truncated.
    pub finish: String,
    pub reward: f64,
    pub reward_parts: serde_json::Map<String, Value>,
    /// The advantage; absent in logs without one.
    pub advantage: Option<f64>,
    /// Digest of the program, if there is one.
    pub program: Option<String>,
    /// Digest of the evaluation.
    pub digest: String,
    /// All turns of its conversation; empty if there was one.
    pub turns: Vec<LoggedTurn>,
    #[serde(flatten)]
    pub evaluation: LoggedEvaluation,
}

/// One turn of a conversation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct LoggedTurn {
    /// What the policy was told before.
    pub told: String,
    pub completion: String,
    /// Number of tokens of the completion.
    pub tokens: usize,
    /// The name of its [`Verdict`].
    verdict: String,
    /// The same in version 2, where `verdict` says how the program started.
    became: Option<String>,
    pub reward: f64,
}

impl LoggedCompletion {
    /// The program's source; of a conversation, each turn with its verdict and with what was told.
    pub fn source(&self) -> String {
        if self.turns.len() < 2 {
            return self.source_of(&self.completion);
        }
        let turn = |(number, turn): (usize, &LoggedTurn)| {
            let told: String = turn.told.lines().map(|line| format!("# > {line}\n")).collect();
            let LoggedTurn { became, verdict, reward, .. } = turn;
            let verdict = became.as_ref().unwrap_or(verdict);
            let source = self.source_of(&turn.completion);
            format!("{told}# turn {}: {verdict}, reward {}\n{}\n", number + 1, rounded(*reward), source.trim_end())
        };
        self.turns.iter().enumerate().map(turn).collect::<Vec<_>>().join("\n")
    }

    /// All turns of its conversation; of most it is one, which the log tells only once.
    pub fn all_turns(&self) -> Cow<'_, [LoggedTurn]> {
        if !self.turns.is_empty() {
            return Cow::Borrowed(&self.turns);
        }
        let (completion, tokens, reward) = (self.completion.clone(), self.tokens, self.reward);
        Cow::Owned(vec![LoggedTurn { completion, tokens, reward, ..LoggedTurn::default() }])
    }

    /// The program of a completion: what its prompt begins of it, and the completion.
    pub fn source_of(&self, completion: &str) -> String {
        format!("{}{}", self.begun(), without_fences(completion))
    }

    /// The beginning of the program in the prompt: what its last fence opens, or else a line of `def strategy`.
    pub fn begun(&self) -> &str {
        let from = |start: usize| &self.prompt[start..];
        let begun = match self.prompt.rfind(FENCE) {
            Some(start) => Some(from(start + FENCE.len())).filter(|begun| !begun.contains("```")),
            None => self.prompt.rfind("def strategy").map(from).filter(|begun| begun.trim_end().lines().count() <= 1),
        };
        begun.unwrap_or_default()
    }
}

/// Verdict and games of a logged completion.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "WrittenEvaluation")]
pub struct LoggedEvaluation {
    /// The name of its [`Verdict`].
    pub verdict: String,
    /// Why it never played or broke a game off, as in the log; empty if it did neither.
    pub reason: String,
    pub games: Vec<LoggedGame>,
}

/// The keys of a line. In version 2, the verdict is below `became`, and `verdict` says how the program started. Before,
/// verdict and games were inside `evaluation`, and a verdict with a reason was an object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenEvaluation {
    verdict: Value,
    reason: Option<String>,
    became: Option<String>,
    games: Vec<LoggedGame>,
    evaluation: Option<Box<WrittenEvaluation>>,
}

impl From<WrittenEvaluation> for LoggedEvaluation {
    fn from(written: WrittenEvaluation) -> LoggedEvaluation {
        let WrittenEvaluation { verdict, reason, became, games, evaluation } = written;
        if let Some(inner) = evaluation {
            return (*inner).into();
        }
        let (verdict, reason) = match (verdict, became) {
            (_, Some(became)) => (became, reason.unwrap_or_default()),
            (Value::String(started), None) if started == "played" => (of_games(&games).into(), String::new()),
            (Value::String(verdict), None) => (verdict, reason.unwrap_or_default()),
            (Value::Object(named), None) => {
                let Some((started, why)) = named.into_iter().next() else { return LoggedEvaluation::default() };
                let field = |names: [&str; 2]| names.iter().find_map(|name| why.get(name)?.as_str());
                let kind = why.as_str().or_else(|| field(["why", "ending"])).unwrap_or(&started);
                let verdict =
                    ending(kind).map_or_else(|| kind.to_owned(), |ending| Verdict::from(ending).name().into());
                (verdict, field(["message", "reason"]).unwrap_or_default().to_owned())
            }
            _ => ("unknown".into(), String::new()),
        };
        LoggedEvaluation { verdict, reason, games }
    }
}

fn ending(name: &str) -> Option<Ending> {
    Ending::ALL.into_iter().find(|ending| ending.name() == name)
}

/// The verdict of a program that played these games.
fn of_games(games: &[LoggedGame]) -> &'static str {
    let failed = games.iter().filter_map(|game| ending(&game.ending)).find(|ending| !ending.is_well());
    failed.map_or(Verdict::Succeeded, Verdict::from).name()
}

impl LoggedEvaluation {
    /// The results of its task's tests; none for games, and without a program.
    pub fn tests(&self) -> Option<&TestsTrace> {
        self.games.first()?.tests.as_ref()
    }

    /// Mean score of the games, of which those that fail count as `floor` says.
    pub fn mean_score(&self, floor: Floor) -> f64 {
        let counted = |game: &LoggedGame| (game.score, ending(&game.ending).is_none_or(Ending::is_well));
        floor.mean(self.games.iter().map(counted))
    }
}

/// What failing counts as in a step.
pub fn step_floor(logged: &[LoggedCompletion]) -> Floor {
    Floor::of(logged.iter().flat_map(|logged| &logged.evaluation.games).map(|game| game.score))
}

/// Statistics of the completions of one step, and some of the completions.
#[derive(Debug, Clone, Serialize)]
pub struct StepSummary {
    pub step: usize,
    pub completions: usize,
    /// Those that succeed: that play, or pass all tests.
    pub succeeded: usize,
    /// The 0.1, 0.25, 0.5, 0.75 and 0.9 quantiles of the completions' mean scores, linear between neighbours.
    pub quantiles: [f64; 5],
    pub best: f64,
    /// The best, median and worst completion; with tasks, the first of them in the order of the log.
    #[serde(skip)]
    pub samples: Vec<ShownSample>,
}

/// A completion that is shown, with its games.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownSample {
    pub step: usize,
    /// `best`, `median` or `worst` of its step; with tasks, which cannot be ranked, `each`.
    pub place: &'static str,
    /// Style of the prompt.
    pub style: String,
    /// The name of its [`Verdict`].
    pub verdict: String,
    /// Why it failed; empty if it did not.
    pub reason: String,
    pub reward: f64,
    pub advantage: Option<f64>,
    /// Mean score of its games, counted as [`Floor`] says; with tasks, the share of tests.
    pub score: f64,
    /// The program's source, including the part in the prompt.
    pub source: String,
    /// Its games of 2048.
    pub games: Vec<Frames>,
    /// The results of its task's tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestsTrace>,
    /// Its games of an environment in Python.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transcripts: Vec<ToldGame>,
}

/// A game of an environment in Python.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToldGame {
    /// The seed, as in the log.
    pub seed: String,
    /// The logged score.
    #[serde(serialize_with = "points")]
    pub score: f64,
    /// The name of its ending.
    pub ending: String,
    #[serde(flatten)]
    pub transcript: Transcript,
}

impl ToldGame {
    fn of(game: &LoggedGame) -> Option<ToldGame> {
        let transcript = game.transcript.clone()?;
        Some(ToldGame { seed: game.seed?.to_string(), score: game.score, ending: game.ending.clone(), transcript })
    }
}

impl ShownSample {
    fn of(logged: &LoggedCompletion, place: &'static str, floor: Floor) -> ShownSample {
        ShownSample {
            step: logged.step,
            place,
            style: logged.style.clone(),
            verdict: logged.evaluation.verdict.clone(),
            reason: logged.evaluation.reason.clone(),
            reward: rounded(logged.reward),
            advantage: logged.advantage.map(rounded),
            score: rounded(logged.evaluation.mean_score(floor)),
            source: cut(&logged.source()),
            games: logged.evaluation.games.iter().filter_map(Frames::of).collect(),
            tests: logged.evaluation.tests().cloned(),
            transcripts: logged.evaluation.games.iter().filter_map(ToldGame::of).collect(),
        }
    }
}

/// Step and path of each file of a run's log, in the order of the steps; none where nothing was logged.
pub fn completion_files(run: &Path) -> Result<Vec<(usize, PathBuf)>, ReportError> {
    let dir = run.join("completions");
    let entries = fs::read_dir(&dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut files: Vec<(usize, PathBuf)> = ReportError::if_there(&dir, entries)?
        .into_iter()
        .filter_map(|entry| {
            let name = entry.file_name();
            let step = name.to_str()?.strip_prefix("step_")?.strip_suffix(".jsonl")?.parse().ok()?;
            Some((step, entry.path()))
        })
        .collect();
    files.sort();
    Ok(files)
}

/// The lines of one file, and the number of unreadable lines.
pub fn read_completions(path: &Path) -> Result<(Vec<LoggedCompletion>, usize), ReportError> {
    parse_completions(path, &fs::read(path).map_err(ReportError::io(path))?)
}

/// Like [`read_completions`] for the bytes of the file.
pub fn parse_completions(path: &Path, text: &[u8]) -> Result<(Vec<LoggedCompletion>, usize), ReportError> {
    let lines = lines(text);
    let found = lines.first().and_then(|line| serde_json::from_slice::<Value>(line).ok());
    if let Some(found) = found.and_then(|line| line["version"].as_u64()).filter(|&found| found > COMPLETIONS_VERSION) {
        return Err(ReportError::Later { path: path.to_owned(), found });
    }
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    let parsed: Vec<Option<LoggedCompletion>> = lines.map(|line| serde_json::from_slice(line).ok()).collect();
    let unreadable = parsed.iter().filter(|line| line.is_none()).count();
    Ok((parsed.into_iter().flatten().collect(), unreadable))
}

/// Summarises a step; none if it has no completions.
pub fn summarise(step: usize, mut logged: Vec<LoggedCompletion>) -> Option<StepSummary> {
    let is_tasks = logged.iter().any(|logged| logged.evaluation.tests().is_some());
    let completions = logged.len();
    let succeeded = logged.iter().filter(|logged| logged.evaluation.verdict == Verdict::Succeeded.name()).count();
    let floor = step_floor(&logged);
    // Samples keep the order of the log, which is by task.
    let shown = logged.iter().filter(|_| is_tasks).take(EACH_MAX);
    let each = shown.map(|logged| ShownSample::of(logged, "each", floor)).collect();
    let mean = |logged: &LoggedCompletion| logged.evaluation.mean_score(floor);
    let key = |logged: &LoggedCompletion| (mean(logged), logged.reward);
    logged.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal));
    let best = rounded(mean(logged.first()?));
    let mut scores: Vec<f64> = logged.iter().map(mean).collect();
    scores.sort_by(f64::total_cmp);
    // As `eval_game/median_score` has it: of an even number, the median is the mean of the two in the middle.
    let quantiles = QUANTILES.map(|share| rounded(stats::quantile(&scores, share)));
    let samples = if is_tasks { each } else { chosen(&logged, floor) };
    Some(StepSummary { step, completions, succeeded, quantiles, best, samples })
}

/// The best, the median and the worst of ranked completions, without repeated programs.
fn chosen(ranked: &[LoggedCompletion], floor: Floor) -> Vec<ShownSample> {
    let last = ranked.len() - 1;
    let places = [(0, "best"), (last / 2, "median"), (last, "worst")];
    let mut samples: Vec<ShownSample> =
        places.iter().map(|&(index, place)| ShownSample::of(&ranked[index], place, floor)).collect();
    samples.dedup_by(|later, earlier| {
        later.source == earlier.source && later.games == earlier.games && later.transcripts == earlier.transcripts
    });
    samples
}

/// A completion without its opening and closing Markdown fences, which are not part of the program.
fn without_fences(completion: &str) -> &str {
    let opened = completion.trim_start();
    let mut inner = match opened.strip_prefix("```").and_then(|rest| rest.split_once('\n')) {
        Some((_, rest)) => rest,
        None => completion,
    };
    while let Some(rest) = inner.trim_end().strip_suffix("```") {
        inner = rest;
    }
    inner
}

/// The part of a program that is shown.
pub(super) fn cut(source: &str) -> String {
    match source.char_indices().nth(SOURCE_MAX) {
        Some((end, _)) => format!("{}\n# ... cut here by the report", &source[..end]),
        None => source.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::log::LogEntry;
    use super::*;

    #[test]
    fn a_program_begins_with_all_that_the_prompt_opens_and_not_with_an_example() {
        let begun = |prompt: &str| LoggedCompletion { prompt: prompt.into(), ..Default::default() }.begun().to_owned();
        let opening = "import math\n\nclass Solution:\n    def add(self, ";
        assert_eq!(begun(&format!("As in\n```python\nf(1)\n```\n```python\n{opening}")), opening);
        assert_eq!(begun("As in\n```python\nf(1)\n```\n"), "");
        assert_eq!(
            ["legal\ndef strategy(board):", "def strategy(board):\n    pass"].map(begun),
            ["def strategy(board):", ""]
        );
    }

    #[test]
    fn what_fails_ranks_below_what_plays_though_scores_are_below_zero() {
        let logged = |verdict: &str, games: Value| {
            let line = json!({"version": 2, "step": 1, "completion": verdict, "verdict": "played", "became": verdict,
                "games": games});
            serde_json::from_value::<LoggedCompletion>(line).unwrap()
        };
        let played = |score: f64| logged("succeeded", json!([{"score": score, "ending": "game_over"}]));
        let raised = logged("raised", json!([{"score": 0, "ending": "raised"}]));
        let step = vec![played(-6.0), raised, played(-4.0), logged("not_compiled", json!([]))];
        let listed = LogEntry::of_step(&step).iter().map(|entry| entry.score).collect::<Vec<_>>();
        assert_eq!(listed, [-6.0, -6.0, -4.0, -6.0]);
        let summary = summarise(1, step).unwrap();
        assert_eq!((summary.best, summary.quantiles[2]), (-4.0, -6.0));
        // Each is shown with the score that it has in this order.
        let shown = summary.samples.iter().map(|shown| (shown.place, &*shown.verdict, shown.score)).collect::<Vec<_>>();
        assert_eq!(shown, [("best", "succeeded", -4.0), ("worst", "not_compiled", -6.0)]);
    }
}
