//! The judge for Python. The class that people use is `grpo_sandbox.Judge`, in Python; this is what it stands on.

use grpo_sandbox::{Sandbox, THREAD_STACK};
use grpo_verify::arena::{self, Arena, Rules, Workers};
use grpo_verify::config::Layers;
use grpo_verify::environment::Environment;
use grpo_verify::judge::{Item, Judge, JudgeError};
use grpo_verify::reward::Rule;
use grpo_verify::seed::Seed;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// A judge with its settings.
#[pyclass(frozen)]
struct Native {
    judge: Judge,
}

#[pymethods]
impl Native {
    #[new]
    fn new(
        py: Python<'_>,
        env: String,
        workers: u32,
        games: u32,
        seed: u64,
        settings: Vec<String>,
    ) -> PyResult<Native> {
        if games == 0 {
            return Err(PyValueError::new_err("games = 0: expected at least 1"));
        }
        let open = || open(&env, workers, Seed::root(seed).games(games as usize), &settings);
        Ok(Native { judge: py.detach(|| on_thread(open))?? })
    }

    /// Judgements as a JSON list.
    fn judge(&self, py: Python<'_>, completions: Vec<String>, ids: Vec<String>) -> PyResult<String> {
        if completions.len() != ids.len() {
            let words = format!("{} completions and {} ids: expected an id for each", completions.len(), ids.len());
            return Err(PyValueError::new_err(words));
        }
        let items =
            completions.into_iter().zip(ids).map(|(completion, id)| Item { id, completion }).collect::<Vec<_>>();
        let judgements = py.detach(|| on_thread(|| self.judge.judge(&items)))?.map_err(|error| match error {
            JudgeError::Arena(_) => machine(error),
            JudgeError::UnknownTask { .. } | JudgeError::TooLong { .. } => PyValueError::new_err(error.to_string()),
        })?;
        serde_json::to_string(&judgements).map_err(machine)
    }

    /// Whether completions answer tasks, so that they need ids.
    #[getter]
    fn has_tasks(&self) -> bool {
        self.judge.arena().environment().has_tests()
    }
}

fn open(env: &str, workers: u32, games: Vec<Seed>, settings: &[String]) -> PyResult<Judge> {
    let mut layers = Layers::default();
    for setting in settings {
        layers.assignment(setting).map_err(user)?;
    }
    let config = layers.resolve().map_err(user)?;
    let mut environment = Environment::open(env).map_err(user)?;
    Rule::check(&config.reward, &environment).map_err(user)?;
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir().map_err(machine)?, || ()).map_err(machine)?;
    let rules = Rules::of(&config);
    let workers = workers as usize;
    let unanswering = arena::complete(&sandbox, &mut environment, &rules, workers).map_err(machine)?;
    if let Some(first) = unanswering.into_iter().next() {
        return Err(user(first));
    }
    let arena = Arena::new(sandbox, environment, rules, Workers::new(workers)).map_err(machine)?;
    Ok(Judge::new(arena, &config.reward, games).telling(config.rollout.feedback))
}

/// On a thread with as much stack as a program needs; Python's own may have less.
fn on_thread<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(THREAD_STACK).spawn_scoped(scope, work).map_err(machine)?;
        thread.join().map_err(|_| PyRuntimeError::new_err("the judge panicked; this is a bug in grpo-2048"))
    })
}

fn user(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn machine(error: impl std::error::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

#[pymodule]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Native>()
}
