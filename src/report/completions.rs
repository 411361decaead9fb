//! `completions/step_*.jsonl`: what was written, what it played, and which few are worth a look.
//!
//! The files are plain JSON lines and need no program of ours to be read. With pandas or polars:
//!
//! ```python
//! df = pandas.concat(pandas.read_json(f, lines=True) for f in sorted(glob.glob("RUN/completions/*.jsonl")))
//! df = polars.read_ndjson("RUN/completions/*.jsonl", infer_schema_length=None)
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ReportError;
use super::frames::Frames;
use super::metrics::rounded;
use crate::environment::{TestsTrace, Transcript, points};
use crate::seed::Seed;
use crate::stats;
use crate::train::COMPLETIONS_VERSION;

/// Characters of a program that are shown.
const SOURCE_MAX: usize = 8_000;
/// Completions of a step that are shown, where all are.
const EACH_MAX: usize = 64;
/// What a prompt opens the program with, where it is a chat.
const FENCE: &str = "```python\n";
/// Shares of a step's programs that scored no more: what a band of the distribution is drawn from.
const QUANTILES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// One line of the log; keys of later versions are passed over, those that are lacking are empty.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct LoggedCompletion {
    /// Step it belongs to.
    pub step: usize,
    /// Its position in the step, group after group.
    pub index: usize,
    /// Style of the prompt.
    pub style: String,
    /// Text given to the policy.
    pub prompt: String,
    /// Text it wrote.
    pub completion: String,
    /// Why it ended: `stop`, or `length` where it was cut.
    pub finish: String,
    /// The reward.
    pub reward: f64,
    /// What the reward is made of.
    pub reward_parts: serde_json::Map<String, Value>,
    /// Relative to its group; absent where nothing was learnt from it.
    pub advantage: Option<f64>,
    /// Digest of the program, when there is one.
    pub program: Option<String>,
    /// Verdict and games.
    #[serde(flatten)]
    pub evaluation: LoggedEvaluation,
}

impl LoggedCompletion {
    /// The completion after what the prompt began of the program: the line after the fence that it opened, or a function.
    pub fn source(&self) -> String {
        let fenced = self.prompt.rfind(FENCE).map(|start| &self.prompt[start + FENCE.len()..]);
        let completion = without_fences(&self.completion);
        let begun = fenced.or_else(|| self.prompt.rfind("def strategy").map(|start| &self.prompt[start..]));
        match begun.filter(|begun| begun.trim_end().lines().count() <= 1) {
            Some(begun) => format!("{begun}{completion}"),
            None => completion.to_owned(),
        }
    }
}

/// Verdict and games of a logged completion.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "WrittenEvaluation")]
pub struct LoggedEvaluation {
    /// `played`, `rejected` or `faulted`.
    pub verdict: String,
    /// Why it did not play, in the words of the log; empty when it did.
    pub reason: String,
    /// What became of it; before version 2 of what did not play alone, by the names of endings.
    pub became: String,
    /// The games.
    pub games: Vec<LoggedGame>,
}

/// Keys of a line of version 2; before, verdict and games were an object of their own, and a verdict with a reason too.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenEvaluation {
    verdict: Value,
    reason: Option<String>,
    became: String,
    games: Vec<LoggedGame>,
    evaluation: Option<Box<WrittenEvaluation>>,
}

impl From<WrittenEvaluation> for LoggedEvaluation {
    fn from(written: WrittenEvaluation) -> LoggedEvaluation {
        let WrittenEvaluation { verdict, reason, became, games, evaluation } = written;
        if let Some(inner) = evaluation {
            return (*inner).into();
        }
        let (verdict, became, reason) = match verdict {
            Value::String(verdict) => (verdict, became, reason.unwrap_or_default()),
            Value::Object(named) => {
                let Some((verdict, why)) = named.into_iter().next() else { return LoggedEvaluation::default() };
                let field = |names: [&str; 2]| names.iter().find_map(|name| why.get(name)?.as_str());
                let kind = why.as_str().or_else(|| field(["why", "ending"])).unwrap_or_default().to_owned();
                let reason = field(["message", "reason"]).unwrap_or_default().to_owned();
                (verdict, kind, reason)
            }
            _ => ("unknown".into(), became, String::new()),
        };
        LoggedEvaluation { verdict, reason, became, games }
    }
}

/// One logged game, or a task that was tried.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct LoggedGame {
    /// What fixed the chance of a game; a task has none.
    pub seed: Option<Seed>,
    /// Points; of a task, the share of its tests that were passed.
    pub score: f64,
    /// Largest tile; of 2048 only.
    pub max_tile: Option<u32>,
    /// Why it stopped.
    pub ending: String,
    /// Letters the strategy chose.
    pub moves_text: String,
    /// Tiles at the end.
    pub final_board: [[u32; 4]; 4],
    /// How the tests of a task went.
    pub tests: Option<TestsTrace>,
    /// What a game written in Python told.
    pub transcript: Option<Transcript>,
}

impl LoggedEvaluation {
    /// What became of it, or how far it came where the log does not say.
    pub fn told(&self) -> &str {
        if self.became.is_empty() { &self.verdict } else { &self.became }
    }

    /// How the tests of its task went; none of a game, and of what is no program.
    pub fn tests(&self) -> Option<&TestsTrace> {
        self.games.first()?.tests.as_ref()
    }

    /// Mean score of the games; 0 without games.
    pub fn mean_score(&self) -> f64 {
        stats::mean(self.games.iter().map(|game| game.score))
    }
}

/// The completions of one step in figures, and some of them in full.
#[derive(Debug, Clone, Serialize)]
pub struct StepSummary {
    /// The step.
    pub step: usize,
    /// Mean scores of the completions at the tenth, quarter, half, three quarters and nine tenths.
    pub quantiles: [f64; 5],
    /// Best mean score.
    pub best: f64,
    /// Best, median and worst; of tasks, all of them.
    #[serde(skip)]
    pub samples: Vec<ShownSample>,
}

/// A completion to be shown, with its games.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownSample {
    /// The step.
    pub step: usize,
    /// `best`, `median` or `worst` of its step; of tasks, which do not compare, `each`.
    pub place: &'static str,
    /// Style of the prompt.
    pub style: String,
    /// What became of it.
    pub verdict: String,
    /// Why no more.
    pub reason: String,
    /// The reward.
    pub reward: f64,
    /// What was learnt from it.
    pub advantage: Option<f64>,
    /// Mean score.
    pub score: f64,
    /// The program, from its `def` when the prompt began it.
    pub source: String,
    /// Its games, where there are boards to show.
    pub games: Vec<Frames>,
    /// How the tests of its task went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestsTrace>,
    /// Its games, where they are those of a file of Python.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transcripts: Vec<ToldGame>,
}

/// A game of a file of Python.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToldGame {
    /// The seed, in the digits of the log.
    pub seed: String,
    /// Score on record.
    #[serde(serialize_with = "points")]
    pub score: f64,
    /// Why it stopped.
    pub ending: String,
    /// What it told.
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
    fn of(logged: &LoggedCompletion, place: &'static str) -> ShownSample {
        ShownSample {
            step: logged.step,
            place,
            style: logged.style.clone(),
            verdict: logged.evaluation.told().to_owned(),
            reason: logged.evaluation.reason.clone(),
            reward: rounded(logged.reward),
            advantage: logged.advantage.map(rounded),
            score: rounded(logged.evaluation.mean_score()),
            source: cut(&logged.source()),
            games: logged.evaluation.games.iter().filter_map(Frames::of).collect(),
            tests: logged.evaluation.tests().cloned(),
            transcripts: logged.evaluation.games.iter().filter_map(ToldGame::of).collect(),
        }
    }
}

/// The files of a run's log, by step.
pub fn completion_files(run: &Path) -> Vec<(usize, PathBuf)> {
    let entries = fs::read_dir(run.join("completions")).into_iter().flatten().flatten();
    let mut files: Vec<(usize, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let step = name.to_str()?.strip_prefix("step_")?.strip_suffix(".jsonl")?.parse().ok()?;
            Some((step, entry.path()))
        })
        .collect();
    files.sort();
    files
}

/// The lines of one file, and how many of them were none.
pub fn read_completions(path: &Path) -> Result<(Vec<LoggedCompletion>, usize), ReportError> {
    let text = fs::read(path).map_err(ReportError::io(path))?;
    let found = text.split(|&byte| byte == b'\n').next().and_then(|line| serde_json::from_slice::<Value>(line).ok());
    if let Some(found) = found.and_then(|line| line["version"].as_u64()).filter(|&found| found > COMPLETIONS_VERSION) {
        return Err(ReportError::Later { path: path.to_owned(), found });
    }
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let parsed: Vec<Option<LoggedCompletion>> = lines.map(|line| serde_json::from_slice(line).ok()).collect();
    let unreadable = parsed.iter().filter(|line| line.is_none()).count();
    Ok((parsed.into_iter().flatten().collect(), unreadable))
}

/// Figures and samples of a step; `None` of nothing.
pub fn summarise(step: usize, mut logged: Vec<LoggedCompletion>) -> Option<StepSummary> {
    let is_tasks = logged.iter().any(|logged| logged.evaluation.tests().is_some());
    // In the order of the log, which is task after task.
    let each =
        logged.iter().filter(|_| is_tasks).take(EACH_MAX).map(|logged| ShownSample::of(logged, "each")).collect();
    let key = |logged: &LoggedCompletion| (logged.evaluation.mean_score(), logged.reward);
    logged.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal));
    let last = logged.len().checked_sub(1)?;
    // Best first, so the quantile of a share lies at its complement.
    let at = |share: f64| logged[((1.0 - share) * last as f64).round() as usize].evaluation.mean_score();
    let quantiles = QUANTILES.map(|share| rounded(at(share)));
    let samples = if is_tasks { each } else { chosen(&logged) };
    Some(StepSummary { step, quantiles, best: rounded(logged[0].evaluation.mean_score()), samples })
}

/// The best, the median and the worst of completions that are ranked, each program once.
fn chosen(ranked: &[LoggedCompletion]) -> Vec<ShownSample> {
    let last = ranked.len() - 1;
    let places = [(0, "best"), (last / 2, "median"), (last, "worst")];
    let mut samples: Vec<ShownSample> =
        places.iter().map(|&(index, place)| ShownSample::of(&ranked[index], place)).collect();
    samples.dedup_by(|later, earlier| {
        later.source == earlier.source && later.games == earlier.games && later.transcripts == earlier.transcripts
    });
    samples
}

/// A completion without the fences that it opens and closes: the model does not mean them as lines of the program.
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

/// As much of a program as is shown.
pub(super) fn cut(source: &str) -> String {
    match source.char_indices().nth(SOURCE_MAX) {
        Some((end, _)) => format!("{}\n# ... cut here by the report", &source[..end]),
        None => source.to_owned(),
    }
}
