//! Games whose rules are a file of Python.
//!
//! Takes the file and reads its declarations before anything of it runs: the text for a policy, what a program must
//! define, how much a score is worth, and players of known strength. Does not play the game: that needs the sandbox,
//! which this module does not know.

mod file;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::briefing::{Briefing, Example, Request};
use super::outcome::{Case, Ending, Outcome};
use super::trace::{Trace, Transcript};
use super::value::Value;
use crate::program::{Entry, Program};
use crate::seed::Seed;
pub use file::ScriptError;
pub(super) use file::{Constant, Module, read};

/// Default length of the longest game, in moves. Chosen: ten times a game of 2048 that reaches its tile.
pub const MOVES: u32 = 10_000;
/// Largest number of moves that a file may ask for. Chosen, as `arena.moves_max`.
const MOVES_MAX: u32 = 100_000;
/// Default score of a simple program, as a share of the scale: that of 2048, 2500 / 40000.
pub(super) const ANCHOR_SHARE: f64 = 1.0 / 16.0;
/// Names that a file may leave out.
const OPTIONAL: [&str; 5] = ["ANCHOR", "EXAMPLE", "MOVES", "NAME", "REFERENCES"];
/// Characters of the longest name.
const NAME_MAX: usize = 40;

/// A game written in Python. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ScriptGame(Arc<Contents>);

#[derive(Debug)]
struct Contents {
    path: PathBuf,
    name: String,
    rules: String,
    source: String,
    entry: Entry,
    scale: f64,
    anchor: f64,
    moves_max: u32,
    /// Whether the file says it.
    says_moves: bool,
    references: Vec<Reference>,
    example: Option<Example>,
    usual_actions: OnceLock<BTreeSet<String>>,
    misspelt: Vec<(String, &'static str)>,
}

/// A player of known strength, for the check before a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub name: String,
    /// Rank of players of about equal strength, from 1; higher is stronger.
    pub rank: u8,
    pub source: String,
}

impl ScriptGame {
    /// Reads a file without running it.
    pub fn open(path: &Path) -> Result<ScriptGame, ScriptError> {
        ScriptGame::from_source(path, read(path)?)
    }

    /// The game of a file with this source.
    pub(super) fn from_source(path: &Path, source: String) -> Result<ScriptGame, ScriptError> {
        let module = Module::parse(path, &source)?;
        let rules = module.docstring()?;
        let entry = entry(&module)?;
        let scale = match module.constant("SCALE")? {
            Some(constant) => positive(&constant)?,
            None => return Err(module.missing("no SCALE; expected the score that is worth 1, such as SCALE = 1000")),
        };
        let anchor = match module.constant("ANCHOR")? {
            Some(constant) => match positive(&constant)? {
                anchor if anchor < scale => anchor,
                _ => {
                    return Err(
                        constant.wrong(&format!("expected less than SCALE = {scale}, the score that is worth 1"))
                    );
                }
            },
            None => scale * ANCHOR_SHARE,
        };
        let contents = Contents {
            path: path.to_owned(),
            name: name(&module, path)?,
            rules,
            entry: entry.clone(),
            scale,
            anchor,
            moves_max: moves_max(&module)?,
            says_moves: module.constant("MOVES")?.is_some(),
            references: references(&module, &entry)?,
            example: example(&module, &entry)?,
            source: source.clone(),
            usual_actions: OnceLock::new(),
            misspelt: module.misspelt(&OPTIONAL),
        };
        module.require_function("reset", &[])?;
        module.require_function("step", &["action"])?;
        Ok(ScriptGame(Arc::new(contents)))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn briefing(&self) -> Briefing {
        let Contents { name, rules, entry, example, .. } = &*self.0;
        let opening = entry.opening();
        let signature = opening.trim_start_matches("def ").trim_end_matches(':');
        let words = format!("Write `{signature}` that scores as high as it can at {name}.");
        let (style, example) = (name.clone(), example.clone());
        let request = Request { style, example, words, opening: opening.clone(), ..Request::default() };
        Briefing { system: rules.clone(), requests: vec![request] }
    }

    /// The function that a program must define; it takes an observation and returns an action.
    pub fn entry(&self) -> &Entry {
        &self.0.entry
    }

    /// Name of that function.
    pub fn function(&self) -> &str {
        match &self.0.entry {
            Entry::Function { name, .. } => name,
            _ => unreachable!("a game asks for a function"),
        }
    }

    /// The score that earns a reward of 1.
    pub fn scale(&self) -> f64 {
        self.0.scale
    }

    /// Score of a simple program; the penalties for failures are relative to it.
    pub fn anchor(&self) -> f64 {
        self.0.anchor
    }

    pub fn moves_max(&self) -> u32 {
        self.0.moves_max
    }

    /// Whether the file says how many moves a game has at most.
    pub fn says_moves(&self) -> bool {
        self.0.says_moves
    }

    /// Players of known strength, weakest first.
    pub fn references(&self) -> &[Reference] {
        &self.0.references
    }

    /// The actions of the reference players, as JSON, once these have played. The game must handle these actions
    /// without an error.
    pub fn usual_actions(&self) -> &OnceLock<BTreeSet<String>> {
        &self.0.usual_actions
    }

    /// Names that the file assigns and nothing reads, each with that of a declaration which it lacks and which may be meant.
    pub fn misspelt(&self) -> &[(String, &'static str)] {
        &self.0.misspelt
    }

    pub fn source(&self) -> &str {
        &self.0.source
    }
}

/// The outcome of a game that ended before its first move.
pub(super) fn unplayed(seed: Seed, ending: Ending) -> Outcome {
    let trace = Trace::Transcript(Transcript::default());
    Outcome { case: Case::Seed(seed), score: 0.0, ending, fuel: 0, trace, reason: None }
}

fn entry(module: &Module) -> Result<Entry, ScriptError> {
    let expected = "expected the signature of the function that a program defines, with one parameter: the observation; \
                    such as ENTRY = \"strategy(board)\"";
    let Some(constant) = module.constant("ENTRY")? else {
        let evaluator = "an evaluator has `def evaluate(program_path):` in its place";
        return Err(module.missing(&format!("no ENTRY; {expected}; {evaluator}")));
    };
    let entry = Entry::function(constant.text()?);
    let one = entry.filter(|entry| matches!(entry, Entry::Function { parameters, .. } if parameters.len() == 1));
    // An identifier may still be a keyword of Python.
    let written = one.filter(|entry| Program::from_text(&format!("{} pass", entry.opening()), entry).is_ok());
    written.ok_or_else(|| constant.wrong(expected))
}

fn name(module: &Module, path: &Path) -> Result<String, ScriptError> {
    let Some(constant) = module.constant("NAME")? else {
        let stem = path.file_stem().unwrap_or_default();
        return Ok(stem.to_string_lossy().chars().take(NAME_MAX).collect());
    };
    let name = constant.text()?.trim();
    let is_name = (1..=NAME_MAX).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    let expected = || constant.wrong(&format!("expected 1 to {NAME_MAX} characters on one line"));
    is_name.then(|| name.to_owned()).ok_or_else(expected)
}

pub(super) fn positive(constant: &Constant) -> Result<f64, ScriptError> {
    let scale = constant.value.real().filter(|number| number.is_finite() && *number > 0.0);
    scale.ok_or_else(|| constant.wrong("expected a number above 0, in points of the game"))
}

fn moves_max(module: &Module) -> Result<u32, ScriptError> {
    let Some(constant) = module.constant("MOVES")? else { return Ok(MOVES) };
    let number = constant.value.as_i64().and_then(|int| u32::try_from(int).ok());
    number.filter(|moves| (1..=MOVES_MAX).contains(moves)).ok_or_else(|| {
        constant.wrong(&format!(
            "expected the moves of the longest game, from 1 to {MOVES_MAX}; call anything else by another name"
        ))
    })
}

fn references(module: &Module, entry: &Entry) -> Result<Vec<Reference>, ScriptError> {
    let Some(constant) = module.constant("REFERENCES")? else { return Ok(Vec::new()) };
    let expected = "expected players by rank, the weakest at 1: {1: \"source\", 2: [\"source\", \"source\"]}";
    let Value::Dict(ranks) = &constant.value else { return Err(constant.wrong(expected)) };
    let mut references = Vec::new();
    for (key, players) in ranks.pairs() {
        let rank = key.as_i64().and_then(|int| u8::try_from(int).ok()).filter(|&rank| rank > 0);
        let rank = rank.ok_or_else(|| {
            constant.error(&format!("found rank {key}; expected 1 to {}, an integer, the weakest at 1", u8::MAX))
        })?;
        let players = match players {
            Value::List(players) | Value::Tuple(players) => players.as_slice(),
            one => std::slice::from_ref(one),
        };
        for (index, player) in players.iter().enumerate() {
            let name = if players.len() == 1 { format!("rank {rank}") } else { format!("rank {rank}, {}", index + 1) };
            let Value::Str(source) = player else { return Err(constant.error(&format!("{name}: {expected}"))) };
            references.push(Reference { source: program(&constant, &name, source, entry)?, name, rank });
        }
    }
    references.sort_by_key(|reference| reference.rank);
    Ok(references)
}

fn example(module: &Module, entry: &Entry) -> Result<Option<Example>, ScriptError> {
    let Some(constant) = module.constant("EXAMPLE")? else { return Ok(None) };
    let pair = match &constant.value {
        Value::Tuple(pair) | Value::List(pair) => pair.as_slice(),
        _ => &[],
    };
    let [Value::Str(request), Value::Str(source)] = pair else {
        return Err(constant.wrong("expected a pair of texts, (\"request\", \"program\")"));
    };
    let source = program(&constant, "the program", source, entry)?;
    Ok(Some(Example { request: request.trim().to_owned(), program: source.trim_end().to_owned() }))
}

/// Parses a program in the file as if a policy had written it.
fn program(constant: &Constant, name: &str, source: &str, entry: &Entry) -> Result<String, ScriptError> {
    match Program::from_text(source, entry) {
        Ok(program) => Ok(program.source().to_owned()),
        Err(rejection) => {
            Err(constant.error(&format!("{name}: {rejection}; expected the text of a program that ENTRY asks for")))
        }
    }
}
