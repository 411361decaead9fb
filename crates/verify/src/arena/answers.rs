//! Answers that the references of tasks compute, once, before anything is asked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use grpo_sandbox::{Fault, HostError, Sandbox, THREAD_STACK};

use super::differences;
use super::play::{GameError, Unplayed};
use super::solver::Solver;
use super::{ArenaError, Rules, workers_max};
use crate::environment::Environment;
use crate::environment::tasks::{Answer, Tasks};
use crate::program::Program;

/// A reference that gives no answer to a test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line} ({id}): the reference {reason}")]
pub struct Unanswering {
    pub path: String,
    pub line: usize,
    pub id: String,
    /// What it did.
    pub reason: String,
}

/// Has the references of tasks compute the answers that the file leaves to them, on `threads` threads. Gives those that
/// fail; their tests stay without an answer from the first that they fail on. Where the sandbox fails, a reference is run once
/// more with nothing beside it, as programs are.
pub fn complete(
    sandbox: &Sandbox,
    environment: &mut Environment,
    rules: &Rules,
    threads: usize,
) -> Result<Vec<Unanswering>, ArenaError> {
    let most = workers_max(environment);
    let Environment::Tasks(tasks) = environment else { return Ok(Vec::new()) };
    let open: Vec<usize> =
        (0..tasks.tasks().len()).filter(|&at| tasks.tasks()[at].unanswered().next().is_some()).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = workers(threads, open.len(), most);
    std::thread::scope(|scope| {
        let (tasks, open, next, found) = (&*tasks, &open, &next, &found);
        let work = move || {
            while let Some(&at) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                let answers = answers(sandbox, rules, tasks, at);
                found.lock().expect("nothing panics beside it").push((at, answers));
            }
        };
        let threads = (0..workers).map(|_| {
            let thread = std::thread::Builder::new().stack_size(THREAD_STACK);
            thread.spawn_scoped(scope, work).map_err(|source| ArenaError::Threads { workers, source })
        });
        threads.collect::<Result<Vec<_>, _>>().map(drop)
    })?;
    let mut found = found.into_inner().expect("nothing panics beside it");
    found.sort_by_key(|(at, _)| *at);
    let path = tasks.path().display().to_string();
    let mut failing = Vec::new();
    for (at, answered) in found {
        let (answers, failed) = match answered.or_else(|_| answers(sandbox, rules, tasks, at)) {
            Ok(answered) => answered,
            Err(source) => {
                let task = &tasks.tasks()[at];
                return Err(ArenaError::Reference { path, line: task.line, id: task.id.clone(), source });
            }
        };
        let task = &mut tasks.tasks_mut()[at];
        for (test, answer) in answers {
            task.tests[test].expected = Some(answer);
        }
        failing.extend(failed.map(|reason| Unanswering {
            path: path.clone(),
            line: task.line,
            id: task.id.clone(),
            reason,
        }));
    }
    Ok(failing)
}

/// Threads that work at once on so many tasks: no more than the sandbox has room for.
fn workers(threads: usize, tasks: usize, most: usize) -> usize {
    threads.min(most).clamp(1, tasks.max(1))
}

/// The answers that are missing, by test, up to the first that the reference does not give; and what it did there.
type Answers = (Vec<(usize, Answer)>, Option<String>);

/// The answers of CPython, where the tiers differ on the reference.
fn answers(sandbox: &Sandbox, rules: &Rules, tasks: &Tasks, at: usize) -> Result<Answers, HostError> {
    match answers_in(sandbox, rules, tasks, at) {
        Err(HostError::TiersDiffer(difference)) => {
            differences::warn(&difference, "");
            answers_in(&sandbox.interpreting(), rules, tasks, at)
        }
        answered => answered,
    }
}

fn answers_in(sandbox: &Sandbox, rules: &Rules, tasks: &Tasks, at: usize) -> Result<Answers, HostError> {
    let task = &tasks.tasks()[at];
    let source = task.reference.as_deref().unwrap_or_default();
    let mut answers = Vec::new();
    let program = match Program::from_text(source, &task.entry()) {
        Ok(program) => program,
        Err(rejection) => return Ok((answers, Some(format!("is no program: {rejection}")))),
    };
    let mut solver = Solver::new(sandbox, rules, &program, tasks, at);
    for test in task.unanswered() {
        let reason = match solver.answer(test) {
            Ok(Ok(answer)) => {
                answers.push((test, answer));
                continue;
            }
            Ok(Err(fault @ Fault::Raised { .. })) => {
                let say = "where that is right, write it to `tests` with `raises`";
                format!("fails on test {}: {fault}; {say}", test + 1)
            }
            Ok(Err(fault)) => format!("fails on test {}: {fault}", test + 1),
            Err(Unplayed::Rejected(rejection)) => format!("is no program: {rejection}"),
            Err(Unplayed::Faulted { fault, .. }) => format!("fails as it is loaded: {fault}"),
            // The inputs of the test are no values that a call takes.
            Err(Unplayed::Broken(GameError::Host(error @ HostError::Arguments(_)))) => {
                format!("cannot be asked test {}: {error}", test + 1)
            }
            Err(Unplayed::Broken(GameError::Host(error))) => return Err(error),
            Err(Unplayed::Broken(GameError::Environment { message, .. } | GameError::Panicked(message))) => {
                format!("was not asked: {message}")
            }
        };
        return Ok((answers, Some(reason)));
    }
    Ok((answers, None))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use grpo_sandbox::TierChoice;

    use super::*;
    use crate::config::Config;

    #[test]
    fn what_keeps_a_reference_from_being_run_is_an_error_and_no_fault_of_the_reference() {
        let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
        let sandbox = sandbox.with_tiers(TierChoice::Compiled, 0);
        let line = r#"{"id": "t", "prompt": "Do.", "entry_point": "f", "inputs": ["(1,)", "(2,)"], "reference": "import json\n\ndef f(x):\n    return json.dumps(x)"}"#;
        let mut environment = Environment::Tasks(Tasks::of_rows(Path::new("t.jsonl"), "t", line).unwrap());
        let rules = Rules::training(&Config::preset("llm").unwrap());
        for threads in [1, 2] {
            let error = complete(&sandbox, &mut environment, &rules, threads).unwrap_err();
            assert!(matches!(&error, ArenaError::Reference { source: HostError::LeftTier(_), .. }), "{error:?}");
            assert!(error.to_string().starts_with("t.jsonl:1 (t): the reference could not be run: "), "{error}");
        }
        // In CPython the same reference answers.
        let interpreting = sandbox.interpreting();
        assert!(complete(&interpreting, &mut environment, &rules, 1).unwrap().is_empty());
    }

    #[test]
    fn references_run_on_no_more_threads_than_the_sandbox_has_room_for() {
        assert_eq!(
            [(320, 1000), (8, 3), (0, 5), (8, 0)].map(|(threads, tasks)| workers(threads, tasks, 64)),
            [64, 3, 1, 1]
        );
    }
}
