//! Answers that the references of tasks compute, once, before anything is asked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use grpo_sandbox::{Sandbox, THREAD_STACK};

use super::Rules;
use super::player::Unplayed;
use super::task::Solver;
use crate::environment::Environment;
use crate::environment::tasks::{Answer, Task};
use crate::program::Program;

/// A reference that gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswersError {
    /// The user's to mend.
    #[error("{path}:{line}: task {id}: its reference {reason}")]
    Reference {
        /// The file.
        path: String,
        /// Line of the task.
        line: usize,
        /// Name of the task.
        id: String,
        /// What it did.
        reason: String,
    },
    /// The machine's.
    #[error("cannot compute the answers of references: {0}")]
    Machine(String),
}

/// Has the references of tasks compute the answers that the file leaves to them, on `threads` threads.
pub fn complete(
    sandbox: &Sandbox,
    environment: &mut Environment,
    rules: &Rules,
    threads: usize,
) -> Result<(), AnswersError> {
    let Environment::Tasks(tasks) = environment else { return Ok(()) };
    let path = tasks.path().display().to_string();
    let open: Vec<usize> =
        (0..tasks.tasks().len()).filter(|&at| tasks.tasks()[at].unanswered().next().is_some()).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let (tasks, open, next, found) = (&*tasks, &open, &next, &found);
        let work = move || {
            while let Some(&at) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                let answers = answers(sandbox, rules, &tasks.tasks()[at]);
                found.lock().expect("nothing panics beside it").push((at, answers));
            }
        };
        let threads = (0..threads.clamp(1, open.len().max(1))).map(|_| {
            let thread = std::thread::Builder::new().stack_size(THREAD_STACK);
            thread.spawn_scoped(scope, work).map_err(|error| AnswersError::Machine(error.to_string()))
        });
        threads.collect::<Result<Vec<_>, _>>().map(drop)
    })?;
    let mut found = found.into_inner().expect("nothing panics beside it");
    found.sort_by_key(|(at, _)| *at);
    for (at, answers) in found {
        let task = &mut tasks.tasks_mut()[at];
        let at_fault =
            |reason| AnswersError::Reference { path: path.clone(), line: task.line, id: task.id.clone(), reason };
        for (test, answer) in answers.map_err(at_fault)? {
            task.tests[test].expected = Some(answer);
        }
    }
    Ok(())
}

/// The answers that are missing, by test; or what is wrong with the reference, in words.
fn answers(sandbox: &Sandbox, rules: &Rules, task: &Task) -> Result<Vec<(usize, Answer)>, String> {
    let source = task.reference.as_deref().unwrap_or_default();
    let program =
        Program::from_text(source, &task.entry()).map_err(|rejection| format!("is no program: {rejection}"))?;
    let mut solver = Solver::new(sandbox, rules, &program, task);
    let missing: Vec<usize> = task.unanswered().collect();
    let answer = |test: usize| match solver.answer(test) {
        Ok(Ok(answer)) => Ok((test, answer)),
        Ok(Err(fault)) => Err(format!("fails on test {}: {fault}", test + 1)),
        Err(Unplayed::Rejected(rejection)) => Err(format!("is no program: {rejection}")),
        Err(Unplayed::Faulted(fault)) => Err(format!("fails as it is loaded: {fault}")),
        Err(Unplayed::Broken(error)) => Err(format!("could not be run: {error:?}")),
    };
    missing.into_iter().map(answer).collect()
}
