//! Who plays the games: nobody but the caller, or threads that wait for jobs.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam::channel::{Receiver, Sender, unbounded};
use grpo_sandbox::{SESSIONS_MAX, THREAD_STACK};

use super::evaluation::GameUsage;
use super::player::{GameError, Play, PlayGame};
use super::{ArenaError, Rules, Workers};
use crate::program::Program;
use crate::seed::Seed;

/// One game to play. A whole program would be a longer tail at the end of a batch.
pub(super) struct Job {
    pub task: Task,
    /// Jobs of a lower turn are played first.
    pub turn: usize,
    pub rules: Arc<Rules>,
    pub program: Arc<Program>,
    pub seed: Seed,
    pub reports: Sender<Report>,
    /// Set when nobody waits for the report any more.
    pub abandoned: Arc<AtomicBool>,
}

/// Which game of which entry of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Task {
    pub entry: usize,
    pub game: usize,
}

/// What came of a job.
pub(super) struct Report {
    pub task: Task,
    pub result: Result<Play, GameError>,
    pub usage: GameUsage,
}

/// Jobs that nobody has begun yet: by turn, then as they came.
#[derive(Default)]
struct Waiting {
    jobs: Mutex<BTreeMap<(usize, u64), Job>>,
}

impl Waiting {
    fn push(&self, job: Job) {
        let mut jobs = self.jobs();
        // The newest of its turn is the last of it.
        let newest = jobs.range((job.turn, 0)..=(job.turn, u64::MAX)).next_back();
        let place = newest.map_or(0, |((_, place), _)| place + 1);
        jobs.insert((job.turn, place), job);
    }

    fn pop(&self) -> Option<Job> {
        self.jobs().pop_first().map(|(_, job)| job)
    }

    fn jobs(&self) -> MutexGuard<'_, BTreeMap<(usize, u64), Job>> {
        // No lock is held while anything can panic: what is inside is whole.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Plays jobs.
pub(super) struct Crew {
    play_game: Arc<PlayGame>,
    waiting: Arc<Waiting>,
    /// A token for each job that waits. Taken when the threads are to end.
    tokens: Option<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    pub fn start(play_game: Arc<PlayGame>, workers: Workers) -> Result<Crew, ArenaError> {
        let Workers::Pool(count) = workers else {
            return Ok(Crew { play_game, waiting: Arc::default(), tokens: None, threads: Vec::new() });
        };
        let (tokens, calls) = unbounded();
        let mut crew = Crew { play_game, waiting: Arc::default(), tokens: Some(tokens), threads: Vec::new() };
        for index in 0..count.get().min(SESSIONS_MAX) {
            let (play_game, waiting) = (Arc::clone(&crew.play_game), Arc::clone(&crew.waiting));
            let calls = calls.clone();
            let thread = std::thread::Builder::new().name(format!("arena-{index}")).stack_size(THREAD_STACK);
            let started = thread.spawn(move || work(&*play_game, (&calls, &waiting), index));
            crew.threads.push(started.map_err(|source| ArenaError::Threads { workers: count.get(), source })?);
        }
        Ok(crew)
    }

    /// Hands a job to the threads, or plays it here and now.
    pub fn play(&self, job: Job) {
        match &self.tokens {
            Some(tokens) => {
                self.waiting.push(job);
                tokens.send(()).expect("threads outlive the crew's sender");
            }
            None => run(&*self.play_game, &job, None),
        }
    }

    /// Plays a job here and now, whoever else there is.
    pub fn play_here(&self, job: &Job) {
        run(&*self.play_game, job, None);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.tokens = None;
        for thread in self.threads.drain(..) {
            // A thread ends by a panic only outside of games, and there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

fn work(play_game: &PlayGame, (calls, waiting): (&Receiver<()>, &Waiting), worker: usize) {
    while calls.recv().is_ok() {
        let Some(job) = waiting.pop() else { continue };
        if !job.abandoned.load(Ordering::Relaxed) {
            run(play_game, &job, Some(worker));
        }
    }
}

/// Plays a job and reports; a panic is a report too, so nobody waits for a game that has died.
fn run(play_game: &PlayGame, job: &Job, worker: Option<usize>) {
    let begin = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| play_game(&job.rules, &job.program, job.seed)))
        .unwrap_or_else(|panic| Err(GameError::Panicked(panic_message(&*panic))));
    let usage = GameUsage { game: job.task.game, worker, begin, end: Instant::now(), failed: result.is_err() };
    // The batch may have been given up meanwhile.
    let _ = job.reports.send(Report { task: job.task, result, usage });
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
