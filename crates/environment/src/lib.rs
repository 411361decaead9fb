//! Environments: what programs must do, and how they are judged.
//!
//! An [`Environment`] says what a policy is asked ([`Briefing`]), what its answers must define ([`program`] finds it in a
//! completion), which cases a program is tried on, and how much a score is worth. The result of a case is an [`Outcome`].
//! Pure: does not know where programs come from, nor the sandbox in which they run.

#![forbid(unsafe_code)]

mod briefing;
mod evaluator;
mod floor;
pub mod game2048;
mod labels;
mod outcome;
pub mod program;
mod script;
pub mod tasks;
mod trace;
mod value;
mod verdict;

pub use briefing::{Briefing, Example, Request};
pub use evaluator::{EVALUATED, Evaluator, PREPARED};
pub use floor::Floor;
pub use labels::{Labels, Worth};
pub use outcome::{Case, Ending, Outcome, Points, points};
pub use script::{MOVES, Reference, ScriptError, ScriptGame};
pub use trace::{BoardTrace, FailedTest, TestsTrace, Trace, Transcript};
pub use value::{Dict, Equality, Int, Set, Value, ValueError};
pub use verdict::Verdict;

use grpo_base::{files, in_one_line, seed};
use grpo_config as config;

use std::path::{Path, PathBuf};

use self::tasks::{DIRECTORY_FILE, Directory, DirectoryError, RulesFile, Tasks, TasksError};
use crate::program::Entry;

/// The problem that programs are written for.
#[derive(Debug, Clone)]
pub enum Environment {
    /// The game 2048, with native rules.
    Game2048,
    /// A game whose rules are a file of Python.
    Script(ScriptGame),
    /// A file of Python that gives a program its score.
    Evaluator(Evaluator),
    Tasks(Tasks),
}

#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The name is neither known nor that of a file of a supported kind.
    #[error(
        "{name}: found {found}; expected \"2048\", a .jsonl file of tasks, a .py file with the rules of a game or an \
         evaluator, or a directory with env.toml"
    )]
    Unknown { name: String, found: &'static str },
    /// A path at which there is something other than a file or a directory.
    #[error("{}: found {found}; expected a file, which has an end", path.display())]
    Special { path: PathBuf, found: &'static str },
    #[error(transparent)]
    Tasks(#[from] TasksError),
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error(transparent)]
    Directory(#[from] DirectoryError),
}

impl Environment {
    pub fn open(name: &str) -> Result<Environment, EnvironmentError> {
        let path = Path::new(name);
        if name == game2048::NAME {
            return Ok(Environment::Game2048);
        }
        if path.is_dir() {
            refuse_special(&path.join(DIRECTORY_FILE))?;
            return Environment::described(&Directory::open(path)?);
        }
        refuse_special(path)?;
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => Ok(Environment::Tasks(Tasks::open(path)?)),
            Some("py") => Environment::of_python(path),
            _ => {
                let found = if path.exists() { "a file whose name ends otherwise" } else { "nothing of that name" };
                Err(EnvironmentError::Unknown { name: name.to_owned(), found })
            }
        }
    }

    /// The files that [`open`](Self::open) reads by this name, as far as they exist; none of 2048.
    pub fn files(name: &str) -> Vec<PathBuf> {
        if name == game2048::NAME {
            return Vec::new();
        }
        let (mut files, rules) = match Directory::open(Path::new(name)) {
            Ok(Directory { path, rules: RulesFile::Tasks(rules) | RulesFile::Game(rules), .. }) => (vec![path], rules),
            Err(_) => (Vec::new(), PathBuf::from(name)),
        };
        let is_python = rules.extension().is_some_and(|extension| extension == "py") && rules.is_file();
        // A game does not read what lies beside it.
        if is_python && matches!(Environment::of_python(&rules), Ok(Environment::Evaluator(_))) {
            files.push(rules.with_file_name(evaluator::INITIAL));
        }
        files.push(rules);
        files.retain(|file| file.is_file());
        files
    }

    fn described(directory: &Directory) -> Result<Environment, EnvironmentError> {
        let (RulesFile::Tasks(path) | RulesFile::Game(path)) = &directory.rules;
        refuse_special(path)?;
        directory.has_rules()?;
        match &directory.rules {
            RulesFile::Tasks(path) => Ok(Environment::Tasks(Tasks::open(path)?.described(directory))),
            RulesFile::Game(path) => Environment::of_python(path),
        }
    }

    /// A game, or an evaluator: the functions of the file tell which.
    fn of_python(path: &Path) -> Result<Environment, EnvironmentError> {
        let source = script::read(path)?;
        Ok(match Evaluator::from_source(path, &source)? {
            Some(evaluator) => Environment::Evaluator(evaluator),
            None => Environment::Script(ScriptGame::from_source(path, source)?),
        })
    }

    /// The instructions for a policy that reads text.
    pub fn briefing(&self) -> Briefing {
        match self {
            Environment::Game2048 => game2048::prompts::briefing().expect("the prompts are tested"),
            Environment::Script(game) => game.briefing(),
            Environment::Evaluator(evaluator) => evaluator.briefing(),
            Environment::Tasks(tasks) => tasks.briefing(),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Environment::Game2048 => game2048::NAME,
            Environment::Script(game) => game.name(),
            Environment::Evaluator(evaluator) => evaluator.name(),
            Environment::Tasks(tasks) => tasks.name(),
        }
    }

    /// What a program must define for this case.
    pub fn entry(&self, case: Case) -> Entry {
        match (self, case) {
            (Environment::Tasks(tasks), Case::Task(task)) => tasks.tasks()[task as usize].entry(),
            (Environment::Script(game), _) => game.entry().clone(),
            (Environment::Evaluator(evaluator), _) => evaluator.entry(),
            (Environment::Game2048, _) => game2048::entry(),
            (Environment::Tasks(_), Case::Seed(_)) => wrong_case(),
        }
    }

    /// The outcome of a case that ended before the program's first answer.
    pub fn unplayed(&self, case: Case, ending: Ending) -> Outcome {
        match (self, case) {
            (Environment::Tasks(tasks), Case::Task(task)) => {
                tasks.tasks()[task as usize].unanswered_outcome(case, ending)
            }
            (Environment::Game2048, Case::Seed(seed)) => game2048::unplayed(seed, ending),
            (Environment::Script(_) | Environment::Evaluator(_), Case::Seed(seed)) => script::unplayed(seed, ending),
            (Environment::Game2048 | Environment::Script(_) | Environment::Evaluator(_), Case::Task(_))
            | (Environment::Tasks(_), Case::Seed(_)) => wrong_case(),
        }
    }

    pub fn tasks(&self) -> Option<&Tasks> {
        match self {
            Environment::Tasks(tasks) => Some(tasks),
            Environment::Game2048 | Environment::Script(_) | Environment::Evaluator(_) => None,
        }
    }

    /// Whether programs are judged by tests rather than by a score.
    pub fn has_tests(&self) -> bool {
        matches!(self, Environment::Tasks(_))
    }

    pub fn labels(&self) -> Labels {
        match self {
            Environment::Game2048 => Labels::Board,
            Environment::Script(_) | Environment::Evaluator(_) => Labels::Game,
            Environment::Tasks(_) => Labels::Tests,
        }
    }

    /// The scale of scores; in tasks a score is the share of tests passed.
    pub fn worth(&self) -> Worth {
        match self {
            Environment::Game2048 => game2048::WORTH,
            Environment::Script(game) => Worth { scale: game.scale(), anchor: game.anchor() },
            Environment::Evaluator(evaluator) => Worth { scale: evaluator.scale(), anchor: evaluator.anchor() },
            Environment::Tasks(_) => Worth { scale: 1.0, anchor: 1.0 },
        }
    }

    /// Whether the built-in model can write programs for it: it only writes functions `strategy(board)` of a 4x4 board.
    pub fn suits_builtin_model(&self) -> bool {
        match self {
            Environment::Game2048 => true,
            Environment::Script(game) => *game.entry() == game2048::entry(),
            Environment::Evaluator(_) => false,
            Environment::Tasks(tasks) => tasks.tasks().iter().all(|task| match (task.entry(), game2048::entry()) {
                // Without a test nobody knows how many arguments there are, and without a reference nobody has named them.
                (Entry::Function { name, parameters }, Entry::Function { name: own, parameters: names })
                    if parameters.is_empty() || task.reference.is_none() && parameters.len() == names.len() =>
                {
                    name == own
                }
                (entry, own) => entry == own,
            }),
        }
    }
}

fn refuse_special(path: &Path) -> Result<(), EnvironmentError> {
    files::special(path).map_or(Ok(()), |found| Err(EnvironmentError::Special { path: path.to_owned(), found }))
}

/// Panics, because cases always come from the environment in which they are tried.
pub fn wrong_case() -> ! {
    unreachable!("a case of another kind of environment; this is a bug")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_by_its_end_what_it_holds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tasks");
        std::fs::write(&path, "{}\n").unwrap();
        let told = Environment::open(path.to_str().unwrap()).unwrap_err().to_string();
        let expected = "tasks: found a file whose name ends otherwise; expected \"2048\", a .jsonl file of tasks, ";
        assert!(told.contains(expected), "{told}");
    }
}
