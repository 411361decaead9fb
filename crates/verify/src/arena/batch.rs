//! What those who play and the one who waits share of a batch: behind one lock, what is played, what follows from it,
//! and what came of it. Games that follow from another are jobs of their own, handed out by whoever played that one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use grpo_sandbox::HostError;
use parking_lot::{Condvar, Mutex};

use super::cache::{CacheKey, EvaluationCache};
use super::crew::Queue;
use super::differences::Differences;
use super::entry::{Entry, Next};
use super::evaluation::{Evaluation, GameUsage};
use super::play::{GameError, Numbered, Play, PlayGame, Runner};
use super::{Arena, ArenaError, OnDifference, Rules};
use crate::environment::Environment;
use crate::program::{Program, Rejection};

/// Which game of which entry of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Task {
    entry: usize,
    game: usize,
}

/// A batch at play.
pub(super) struct Batch {
    play_game: Arc<PlayGame>,
    queue: Option<Arc<Queue>>,
    rules: Arc<Rules>,
    /// Games of batches with a lower one are played first.
    turn: usize,
    /// Its number in the queue.
    number: u64,
    state: Mutex<State>,
    /// Called when a game has ended.
    ended: Condvar,
}

struct State {
    environment: Arc<Environment>,
    differences: Arc<Differences>,
    entries: Vec<Entry>,
    /// Entry of a source on its cases.
    known: BTreeMap<CacheKey, usize>,
    /// Games that are played, or wait for it.
    running: usize,
    /// By completion, evaluations that the caller has not received yet, in the order of arrival.
    untold: Vec<(usize, Evaluation)>,
    /// Games in which the sandbox failed, to be played again when nothing else runs.
    stopped: Vec<Task>,
    /// Games in which it has failed once.
    failed: BTreeSet<Task>,
    errors: Vec<ArenaError>,
    /// Nobody waits any more.
    abandoned: bool,
}

impl Batch {
    pub fn new(Arena { crew, rules, differences, .. }: &Arena, turn: usize) -> Batch {
        let (play_game, queue, rules) = (Arc::clone(&crew.play_game), crew.queue.clone(), Arc::clone(rules));
        let number = queue.as_ref().map_or(0, |queue| queue.enrol());
        let state = Mutex::new(State::new(Arc::clone(&crew.environment), Arc::clone(differences)));
        Batch { play_game, queue, rules, turn, number, state, ended: Condvar::new() }
    }

    /// Has the program of completion `index` played, unless it was in this batch or is in `cache`.
    pub fn enter(self: &Arc<Self>, index: usize, program: Program, cases: Vec<Numbered>, cache: &EvaluationCache) {
        let first = self.state.lock().enter(index, program, cases, cache);
        first.into_iter().for_each(|task| self.hand_out(task));
    }

    /// Takes in that completion `index` is no program.
    pub fn reject(&self, index: usize, rejection: Rejection) {
        self.state.lock().untold.push((index, Evaluation::rejected(rejection)));
    }

    /// Takes back the programs whose games have not begun; returns their completions.
    pub fn recall(&self) -> Vec<usize> {
        self.state.lock().recall()
    }

    /// Plays a game here and now, and has the games played that follow from it.
    pub fn play(self: &Arc<Self>, task: Task, worker: Option<usize>) {
        let Some((program, case, runner)) = self.state.lock().wanted(task) else { return };
        let begin = Instant::now();
        // A panic is a result too, so that no one waits for a game that has died.
        let result = catch_unwind(AssertUnwindSafe(|| (self.play_game)(&self.rules, &program, case, runner)))
            .unwrap_or_else(|panic| Err(panicked(panic_message(&*panic))));
        let compiled = matches!(result, Ok(Play::Game { compiled: true, .. }));
        let (wall, failed) = (begin.elapsed(), result.is_err());
        let usage = GameUsage { game: task.game, worker, begin: Some(begin), wall, failed, compiled };
        let next = self.state.lock().take_in(task, result, usage);
        self.ended.notify_all();
        next.for_each(|game| self.hand_out(Task { game, ..task }));
    }

    /// What has been evaluated since it was last asked for, in the order of arrival.
    pub fn news(&self) -> Vec<(usize, Evaluation)> {
        std::mem::take(&mut self.state.lock().untold)
    }

    /// Waits for [`news`](Batch::news); there is none when nothing runs any more.
    pub fn wait_for_news(&self) -> Vec<(usize, Evaluation)> {
        let nothing_new = |state: &mut State| state.untold.is_empty() && state.running > 0;
        let mut state = self.state.lock();
        self.ended.wait_while(&mut state, nothing_new);
        std::mem::take(&mut state.untold)
    }

    /// Plays one of the games again, here and now, in which the sandbox failed. False when there is none.
    pub fn retry(self: &Arc<Self>) -> bool {
        let mut state = self.state.lock();
        let Some(task) = state.stopped.pop() else { return false };
        state.running += 1;
        drop(state);
        self.play(task, None);
        true
    }

    /// The error of the first completion that has one; otherwise leaves what was played to later batches, in the order
    /// in which it was submitted.
    pub fn close(&self, cache: &EvaluationCache) -> Result<(), ArenaError> {
        let mut state = self.state.lock();
        if let Some(first) = std::mem::take(&mut state.errors).into_iter().min_by_key(ArenaError::completion) {
            return Err(first);
        }
        for mut entry in std::mem::take(&mut state.entries) {
            if let Some(evaluation) = entry.evaluation.take() {
                cache.insert(CacheKey { source: entry.shared_source(), cases: entry.cases }, evaluation);
            }
        }
        Ok(())
    }

    /// Nobody waits any more: what has not begun is not played.
    pub fn abandon(&self) {
        self.state.lock().abandoned = true;
    }

    fn hand_out(self: &Arc<Self>, task: Task) {
        match &self.queue {
            Some(queue) => {
                let batch = Arc::clone(self);
                queue.push(self.turn, self.number, Box::new(move |worker| batch.play(task, Some(worker))));
            }
            None => self.play(task, None),
        }
    }
}

impl State {
    fn new(environment: Arc<Environment>, differences: Arc<Differences>) -> State {
        State {
            environment,
            differences,
            entries: Vec::new(),
            known: BTreeMap::new(),
            running: 0,
            untold: Vec::new(),
            stopped: Vec::new(),
            failed: BTreeSet::new(),
            errors: Vec::new(),
            abandoned: false,
        }
    }

    /// The game to be played for it first, if one must be.
    fn enter(&mut self, index: usize, program: Program, cases: Vec<Numbered>, cache: &EvaluationCache) -> Option<Task> {
        let key = CacheKey { source: program.shared_source(), cases: cases.clone() };
        if let Some(&known) = self.known.get(&key) {
            self.entries[known].completions.push(index);
            let evaluation = self.entries[known].evaluation.as_ref().map(Evaluation::reused);
            self.untold.extend(evaluation.map(|evaluation| (index, evaluation)));
            return None;
        }
        let entry = self.entries.len();
        let evaluation = cache.get(&key).as_ref().map(Evaluation::reused);
        self.untold.extend(evaluation.clone().map(|evaluation| (index, evaluation)));
        let is_new = evaluation.is_none();
        self.known.insert(key, entry);
        self.entries.push(Entry::new(index, program, cases, evaluation));
        self.running += usize::from(is_new);
        is_new.then_some(Task { entry, game: 0 })
    }

    /// What a game that begins is played with, unless its batch is no longer waited for.
    fn wanted(&mut self, task: Task) -> Option<(Arc<Program>, Numbered, Runner)> {
        // The job of what was taken back may be found when its batch has been closed.
        let entry = self.entries.get_mut(task.entry)?;
        if self.abandoned || entry.completions.is_empty() {
            return None;
        }
        Some(entry.begin(task.game))
    }

    fn recall(&mut self) -> Vec<usize> {
        let mut recalled = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| !entry.begun && entry.evaluation.is_none()) {
            self.running -= usize::from(!entry.completions.is_empty());
            recalled.append(&mut entry.completions);
        }
        let entries = &self.entries;
        self.known.retain(|_, entry| !entries[*entry].completions.is_empty());
        recalled
    }

    /// Takes in what came of a game; gives the games of its program that follow.
    fn take_in(&mut self, task: Task, result: Result<Play, GameError>, usage: GameUsage) -> Range<usize> {
        self.running -= 1;
        let entry = &mut self.entries[task.entry];
        entry.spend(usage);
        let completion = entry.completions[0];
        match result {
            Ok(play) => return self.take_in_play(task, play),
            Err(GameError::Host(_)) if self.failed.insert(task) => self.stopped.push(task),
            Err(GameError::Host(source)) => self.errors.push(ArenaError::Host { completion, source }),
            Err(GameError::Environment { game, message }) => {
                self.errors.push(ArenaError::Environment { completion, game, message });
            }
            Err(GameError::Panicked(message)) => self.errors.push(ArenaError::Panicked { completion, message }),
        }
        0..0
    }

    fn take_in_play(&mut self, task: Task, play: Play) -> Range<usize> {
        let entry = &mut self.entries[task.entry];
        let completion = entry.completions[0];
        let next = match play {
            Play::Differs(difference) if self.differences.then == OnDifference::Stop => {
                self.errors.push(ArenaError::TiersDiffer { completion, difference });
                0..0
            }
            play => match entry.take_in(task.game, play, &self.environment) {
                Next::Games(games) => games,
                Next::Again => {
                    entry.begin_again().into_iter().for_each(|difference| self.differences.warn(difference));
                    0..1
                }
                Next::Evaluated(start, games) => {
                    self.untold.extend(entry.evaluated(start, games));
                    0..0
                }
            },
        };
        self.running += next.len();
        next
    }
}

/// A panic is a mistake of ours, unless it says that the system had no memory for a thread of the sandbox.
fn panicked(message: String) -> GameError {
    HostError::of_panic(&message).map_or_else(|| GameError::Panicked(message), GameError::Host)
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

impl ArenaError {
    fn completion(&self) -> usize {
        match self {
            ArenaError::Host { completion, .. }
            | ArenaError::Environment { completion, .. }
            | ArenaError::TiersDiffer { completion, .. }
            | ArenaError::Panicked { completion, .. } => *completion,
            // These end what is done before there are completions.
            ArenaError::Reference { .. } | ArenaError::Threads { .. } => 0,
        }
    }
}
