//! The threads that play the games; without any, the caller plays them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, unbounded};
use grpo_sandbox::{SESSIONS_MAX, THREAD_STACK};
use parking_lot::Mutex;

use super::error::ArenaError;
use super::play::PlayGame;
use super::player::sessions;
use crate::config::Workers;
use crate::environment::Environment;

/// One game to play, by the thread of this number. A whole program would be a longer tail at the end of a batch.
pub(super) type Job = Box<dyn FnOnce(usize) + Send>;

/// Jobs that have not begun. Those of a lower turn go first. Within a turn, batches give one job each, again and
/// again, so that a short batch does not wait for the whole of a long one.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// A token for each job that waits.
    tokens: Receiver<()>,
}

struct Waiting {
    turns: BTreeMap<usize, VecDeque<Line>>,
    batches: u64,
    /// Taken when no more jobs can come.
    tokens: Option<Sender<()>>,
}

/// The jobs of one batch, as they came; never empty.
struct Line {
    batch: u64,
    jobs: VecDeque<Job>,
}

impl Queue {
    fn new() -> Queue {
        let (sender, tokens) = unbounded();
        let waiting = Waiting { turns: BTreeMap::new(), batches: 0, tokens: Some(sender) };
        Queue { waiting: Mutex::new(waiting), tokens }
    }

    /// A number for a new batch.
    pub fn enrol(&self) -> u64 {
        let mut waiting = self.waiting.lock();
        waiting.batches += 1;
        waiting.batches
    }

    pub fn push(&self, turn: usize, batch: u64, job: Job) {
        let mut waiting = self.waiting.lock();
        let lines = waiting.turns.entry(turn).or_default();
        match lines.iter_mut().find(|line| line.batch == batch) {
            Some(line) => line.jobs.push_back(job),
            None => lines.push_back(Line { batch, jobs: VecDeque::from([job]) }),
        }
        if let Some(tokens) = &waiting.tokens {
            tokens.send(()).expect("the queue holds a receiver itself");
        }
    }

    /// Waits for the next job; none once no more can come.
    fn next(&self) -> Option<Job> {
        self.tokens.recv().ok()?;
        self.waiting.lock().pop()
    }

    fn close(&self) {
        self.waiting.lock().tokens = None;
    }
}

impl Waiting {
    /// The next job; its batch is then the last of its turn.
    fn pop(&mut self) -> Option<Job> {
        let mut turn = self.turns.first_entry()?;
        let mut line = turn.get_mut().pop_front()?;
        let job = line.jobs.pop_front();
        if !line.jobs.is_empty() {
            turn.get_mut().push_back(line);
        } else if turn.get().is_empty() {
            turn.remove();
        }
        job
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
            // A thread ends by a panic only outside of games, and then no result is waited for.
            let _ = thread.join();
        }
    }
}
