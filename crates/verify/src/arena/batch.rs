//! What those who play and the one who waits share of a batch: behind one lock, what is played, what follows from it,
//! and what came of it.
//!
//! The first game of a program is played alone. When its very first call fails, that is the verdict, and the other
//! games are not paid for; otherwise they follow as jobs of their own, handed out by whoever played the first.
//!
//! Where the tiers of the sandbox differ in any of its games, all of them are played again in the interpreter. So an
//! evaluation follows from the program and its cases alone, whichever of its games ended first.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use grpo_sandbox::{Difference, HostError};
use parking_lot::{Condvar, Mutex};

use super::cache::{CacheKey, EvaluationCache};
use super::crew::Queue;
use super::differences::Differences;
use super::evaluation::{Evaluation, FirstCallFault, GameUsage, Start, Usage};
use super::play::{GameError, Numbered, Play, PlayGame, Runner};
use super::{Arena, ArenaError, OnDifference, Rules};
use crate::environment::{Ending, Environment, Outcome};
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

/// One distinct program of the batch.
struct Entry {
    program: Arc<Program>,
    cases: Vec<Numbered>,
    games: Vec<Option<Outcome>>,
    runner: Runner,
    /// The first of its games in which the tiers were seen to differ.
    differs: Option<(usize, Box<Difference>)>,
    usage: Usage,
    /// Completions that are this program; the first one is the one it is played for. None once it was taken back.
    completions: Vec<usize>,
    /// Whether a game of it was begun.
    begun: bool,
    evaluation: Option<Evaluation>,
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
        for Entry { program, cases, evaluation, .. } in std::mem::take(&mut state.entries) {
            if let Some(evaluation) = evaluation {
                cache.insert(CacheKey { source: program.source().to_owned(), cases }, evaluation);
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
        let key = CacheKey { source: program.source().to_owned(), cases: cases.clone() };
        if let Some(&known) = self.known.get(&key) {
            self.entries[known].completions.push(index);
            let evaluation = self.entries[known].evaluation.as_ref().map(reused);
            self.untold.extend(evaluation.map(|evaluation| (index, evaluation)));
            return None;
        }
        let entry = self.entries.len();
        let evaluation = cache.get(&key).as_ref().map(reused);
        self.untold.extend(evaluation.clone().map(|evaluation| (index, evaluation)));
        let is_new = evaluation.is_none();
        self.known.insert(key, entry);
        self.entries.push(Entry {
            program: Arc::new(program),
            games: vec![None; cases.len()],
            cases,
            runner: Runner::Chosen,
            differs: None,
            usage: Usage::default(),
            completions: vec![index],
            begun: false,
            evaluation,
        });
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
        entry.begun = true;
        Some((Arc::clone(&entry.program), entry.cases[task.game], entry.runner))
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
        entry.usage.games.push(usage);
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
        let is_first = task.game == 0;
        let outcome = match play {
            Play::Rejected(rejection) if is_first => {
                self.evaluated(task.entry, Start::Rejected(rejection), Vec::new());
                return 0..0;
            }
            Play::Game { outcome, reason: Some(reason), .. } if is_first && !outcome.has_begun() => {
                let fault = FirstCallFault { ending: outcome.ending, reason };
                let others = entry.cases[1..].iter().map(|one| self.environment.unplayed(one.case, fault.ending));
                let games = std::iter::once(outcome).chain(others).collect();
                self.evaluated(task.entry, Start::Faulted(fault), games);
                return 0..0;
            }
            Play::Differs(difference) if self.differences.then == OnDifference::Stop => {
                self.errors.push(ArenaError::TiersDiffer { completion: entry.completions[0], difference });
                return 0..0;
            }
            Play::Differs(difference) => {
                if entry.differs.as_ref().is_none_or(|(game, _)| task.game < *game) {
                    entry.differs = Some((task.game, difference));
                }
                if is_first {
                    return self.begin_again(task.entry);
                }
                self.environment.unplayed(entry.cases[task.game].case, Ending::Raised)
            }
            // Only a program that looks at `random` while it loads comes here.
            Play::Rejected(_) => self.environment.unplayed(entry.cases[task.game].case, Ending::Raised),
            Play::Game { outcome, reason, .. } => {
                Outcome { reason: reason.filter(|_| !outcome.ending.is_well()), ..outcome }
            }
        };
        entry.games[task.game] = Some(outcome);
        let next = if is_first { 1..entry.games.len() } else { 0..0 };
        self.running += next.len();
        if entry.games.iter().all(Option::is_some) {
            if entry.differs.is_some() && entry.runner == Runner::Chosen {
                return self.begin_again(task.entry);
            }
            let games = std::mem::take(&mut entry.games).into_iter().flatten().collect();
            self.evaluated(task.entry, Start::Played, games);
        }
        next
    }

    /// Has all games of an entry played in the interpreter, the first of them alone; gives that one.
    fn begin_again(&mut self, entry: usize) -> Range<usize> {
        let entry = &mut self.entries[entry];
        if let Some((_, difference)) = &entry.differs {
            self.differences.warn(difference);
        }
        // What was played is thrown away, and did not run compiled from the first call to the last.
        entry.usage.games.iter_mut().for_each(|game| game.compiled = false);
        entry.runner = Runner::Interpreter;
        entry.games.fill(None);
        self.running += 1;
        0..1
    }

    fn evaluated(&mut self, entry: usize, start: Start, games: Vec<Outcome>) {
        let entry = &mut self.entries[entry];
        let difference = entry.differs.take().map(|(_, difference)| difference);
        let usage = Usage { difference, ..std::mem::take(&mut entry.usage) };
        let evaluation = Evaluation { start, games, usage };
        self.untold.extend(entry.completions[1..].iter().map(|&index| (index, reused(&evaluation))));
        self.untold.push((entry.completions[0], evaluation.clone()));
        entry.evaluation = Some(evaluation);
    }
}

fn reused(evaluation: &Evaluation) -> Evaluation {
    // Nothing was played for it, but the tiers differ on it all the same.
    let difference = evaluation.usage.difference.clone();
    Evaluation { usage: Usage { reused: true, difference, ..Usage::default() }, ..evaluation.clone() }
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
