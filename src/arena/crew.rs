//! Who plays the games: nobody but the caller, or threads that wait for jobs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, unbounded};
use grpo_sandbox::{SESSIONS_MAX, THREAD_STACK};
use parking_lot::Mutex;

use super::play::PlayGame;
use super::player::sessions;
use super::{ArenaError, Workers};
use crate::environment::Environment;

/// One game to play, by the thread of this number. A whole program would be a longer tail at the end of a batch.
pub(super) type Job = Box<dyn FnOnce(usize) + Send>;

/// Jobs that nobody has begun yet: by turn, then as they came.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// A token for each job that waits.
    tokens: Receiver<()>,
}

struct Waiting {
    jobs: BTreeMap<(usize, u64), Job>,
    pushed: u64,
    /// Taken when no more jobs can come.
    tokens: Option<Sender<()>>,
}

impl Queue {
    fn new() -> Queue {
        let (sender, tokens) = unbounded();
        let waiting = Waiting { jobs: BTreeMap::new(), pushed: 0, tokens: Some(sender) };
        Queue { waiting: Mutex::new(waiting), tokens }
    }

    /// Jobs of a lower turn are played first.
    pub fn push(&self, turn: usize, job: Job) {
        let mut waiting = self.waiting.lock();
        waiting.pushed += 1;
        let place = (turn, waiting.pushed);
        waiting.jobs.insert(place, job);
        if let Some(tokens) = &waiting.tokens {
            tokens.send(()).expect("the queue holds a receiver itself");
        }
    }

    /// Waits for the next job; none once no more can come.
    fn next(&self) -> Option<Job> {
        self.tokens.recv().ok()?;
        self.waiting.lock().jobs.pop_first().map(|(_, job)| job)
    }

    fn close(&self) {
        self.waiting.lock().tokens = None;
    }
}

/// Most threads that can play at once in an environment: each needs sessions of the sandbox.
pub fn workers_max(environment: &Environment) -> usize {
    SESSIONS_MAX / sessions(environment)
}

/// Plays jobs.
pub(super) struct Crew {
    pub play_game: Arc<PlayGame>,
    pub environment: Arc<Environment>,
    /// What the threads take their jobs from; none where the caller plays.
    pub queue: Option<Arc<Queue>>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    pub fn start(
        play_game: Arc<PlayGame>,
        environment: Arc<Environment>,
        workers: Workers,
    ) -> Result<Crew, ArenaError> {
        let Workers::Pool(count) = workers else {
            return Ok(Crew { play_game, environment, queue: None, threads: Vec::new() });
        };
        let queue = Arc::new(Queue::new());
        let mut crew = Crew { play_game, environment, queue: Some(Arc::clone(&queue)), threads: Vec::new() };
        for index in 0..count.get().min(workers_max(&crew.environment)) {
            let queue = Arc::clone(&queue);
            let work = move || {
                while let Some(play) = queue.next() {
                    play(index);
                }
            };
            let thread = std::thread::Builder::new().name(format!("arena-{index}")).stack_size(THREAD_STACK);
            let started = thread.spawn(work);
            crew.threads.push(started.map_err(|source| ArenaError::Threads { workers: count.get(), source })?);
        }
        Ok(crew)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if let Some(queue) = &self.queue {
            queue.close();
        }
        for thread in self.threads.drain(..) {
            // A thread ends by a panic only outside of games, and there is nobody left to tell.
            let _ = thread.join();
        }
    }
}
