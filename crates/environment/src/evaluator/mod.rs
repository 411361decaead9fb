//! Evaluators: a file of Python whose `evaluate(program_path)` gives a program its score, as OpenEvolve's examples have one.
//!
//! Takes the file, and the program to begin with beside it; gives the text for a policy and the source that the sandbox
//! runs. An evaluator imports the program, so both are in one instance of the sandbox: it holds in what leaves the
//! interpreter, not a program that reaches for the evaluator's own variables (docs/evolve.md).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::briefing::{Briefing, Example, Request};
use super::script::{ANCHOR_SHARE, Module, ScriptError, positive, read};
use super::value::Value;
use crate::program::{Entry, Program};

/// The file beside an evaluator with the program to begin with, as OpenEvolve's examples call it.
pub(super) const INITIAL: &str = "initial_program.py";
/// Runs an evaluator on a program.
const HARNESS: &str = include_str!("harness.py");
/// The functions of the harness: the first readies the evaluator, the second has it try the program.
pub const PREPARED: &str = "prepared";
pub const EVALUATED: &str = "evaluated";

/// An evaluator. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Evaluator(Arc<Contents>);

#[derive(Debug)]
struct Contents {
    path: PathBuf,
    name: String,
    rules: String,
    source: String,
    scale: f64,
    initial: Option<String>,
}

impl Evaluator {
    /// The evaluator of a file with this source, and the program beside it, without running either; none if the file has the
    /// rules of a game.
    pub(super) fn from_source(path: &Path, source: &str) -> Result<Option<Evaluator>, ScriptError> {
        let module = Module::parse(path, source)?;
        let evaluates = module.defines("evaluate") || module.binds_otherwise("evaluate");
        // An evaluator may have a `step` of its own, and a game an `evaluate`.
        let is_game = module.defines("step") && (module.defines("reset") || module.assigns("ENTRY"));
        if is_game || !evaluates {
            return Ok(None);
        }
        module.require_function("evaluate", &["program_path"])?;
        let scale = module.constant("SCALE")?.map_or(Ok(1.0), |constant| positive(&constant))?;
        let rules = module.docstring().unwrap_or_default();
        let initial = path.with_file_name(INITIAL);
        let initial = initial.is_file().then(|| read(&initial)).transpose()?;
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let of_folder = whole.parent().and_then(Path::file_name);
        let name = match path.file_stem() {
            // Examples call all of them evaluator.py, each in a folder of its own.
            Some(stem) if stem == "evaluator" => of_folder.unwrap_or(stem),
            Some(stem) => stem,
            None => path.as_os_str(),
        };
        let name = name.to_string_lossy().into_owned();
        let (path, source) = (path.to_owned(), source.to_owned());
        Ok(Some(Evaluator(Arc::new(Contents { path, name, rules, scale, initial, source }))))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Its name: that of its folder, if the file is called evaluator.py.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The score that earns a reward of 1.
    pub fn scale(&self) -> f64 {
        self.0.scale
    }

    /// Score of a simple program; the penalties for failures are relative to it.
    pub fn anchor(&self) -> f64 {
        self.0.scale * ANCHOR_SHARE
    }

    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The program beside it that a search begins with, if there is one.
    pub fn initial(&self) -> Option<&str> {
        self.0.initial.as_deref()
    }

    /// What a program must define: the evaluator alone knows.
    pub fn entry(&self) -> Entry {
        Entry::Module
    }

    /// The instructions for a policy. The program to begin with is the example of what a program defines.
    pub fn briefing(&self) -> Briefing {
        let Contents { name, rules, initial, .. } = &*self.0;
        let words = format!(
            "Write a whole program of Python, with the functions that the evaluator of {name} calls. Its score is the \
             combined_score that the evaluator gives; the higher, the better. Answer with one Python code block and \
             nothing else."
        );
        let example = initial.as_ref().map(|initial| Example { request: words.clone(), program: initial.clone() });
        let request = Request { style: name.clone(), example, words, ..Request::default() };
        Briefing { system: rules.clone(), requests: vec![request] }
    }

    /// The source of an instance that evaluates `program` when [`PREPARED`] and then [`EVALUATED`] are called.
    pub fn instance(&self, program: &Program) -> String {
        let text = |source: &str| Value::Str(source.to_owned()).to_string();
        let (evaluator, program) = (text(&self.0.source), text(program.source()));
        let file = text(&self.0.path.file_name().unwrap_or_default().to_string_lossy());
        format!("{HARNESS}\nEVALUATOR_FILE = {file}\nEVALUATOR_TEXT = {evaluator}\nPROGRAM_TEXT = {program}\n")
    }
}
