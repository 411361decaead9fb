//! One batch: programs go in as completions end, evaluations come out in the order of the completions.
//!
//! The first game of a program is played alone. When its very first call fails, that is the verdict, and the other
//! games are not paid for; otherwise they follow as jobs of their own. Identical programs on the same seeds are played
//! once: of earlier batches that counts once they have ended, so that what is played again depends on no clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam::channel::{Receiver, Sender, unbounded};

use super::crew::{Crew, Job, Report, Task};
use super::evaluation::{Evaluation, Fault, Usage, Verdict};
use super::player::{GameError, Play};
use super::verdicts::{Key, Verdicts};
use super::{ArenaError, Rules};
use crate::environment::game2048::unplayed;
use crate::environment::{Ending, Outcome};
use crate::program::{Program, Rejection};
use crate::seed::Seed;

/// Called with the index of a completion and its evaluation.
type OnEvaluated<'a> = &'a mut dyn FnMut(usize, &Evaluation);

/// A batch being evaluated.
pub struct Scoring {
    crew: Arc<Crew>,
    rules: Arc<Rules>,
    /// Of earlier batches under the same rules.
    verdicts: Arc<Verdicts>,
    /// Games of batches with a lower one are played first.
    turn: usize,
    /// Completions whose evaluation nobody has been told of yet, in the order of arrival.
    untold: VecDeque<usize>,
    entries: Vec<Entry>,
    /// Entry of a source on its seeds, in this batch.
    known: BTreeMap<Key, usize>,
    evaluations: BTreeMap<usize, Evaluation>,
    submitted: usize,
    errors: Vec<ArenaError>,
    /// Games in which the sandbox failed, to be played again when nothing else runs.
    stopped: Vec<Task>,
    /// Games that are being played again, or were.
    retried: BTreeSet<Task>,
    running: usize,
    reports: (Sender<Report>, Receiver<Report>),
    abandoned: Arc<AtomicBool>,
}

/// One distinct program of the batch.
struct Entry {
    program: Arc<Program>,
    seeds: Vec<Seed>,
    games: Vec<Option<Outcome>>,
    usage: Usage,
    /// Completions that are this program; the first one is the one it is played for.
    completions: Vec<usize>,
    state: State,
}

enum State {
    Playing,
    Evaluated(Evaluation),
    Broken,
}

impl Scoring {
    pub(super) fn new(crew: Arc<Crew>, (rules, verdicts): (Arc<Rules>, Arc<Verdicts>), turn: usize) -> Scoring {
        Scoring {
            crew,
            rules,
            verdicts,
            turn,
            untold: VecDeque::new(),
            entries: Vec::new(),
            known: BTreeMap::new(),
            evaluations: BTreeMap::new(),
            submitted: 0,
            errors: Vec::new(),
            stopped: Vec::new(),
            retried: BTreeSet::new(),
            running: 0,
            reports: unbounded(),
            abandoned: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Has completion `index` evaluated on these boards. Completions of one group get the same seeds.
    ///
    /// # Panics
    /// Without seeds, which is a bug of the caller.
    pub fn submit(&mut self, index: usize, program: Result<Program, Rejection>, seeds: &[Seed]) {
        assert!(!seeds.is_empty(), "completion {index} has no game to play");
        self.submitted += 1;
        match program {
            Err(rejection) => self.deliver(index, Evaluation::rejected(rejection)),
            Ok(program) => self.enter(index, program, seeds),
        }
        self.take_in_reports();
    }

    /// Takes in what has been evaluated meanwhile, without waiting, and tells of every evaluation that has come, once,
    /// in the order of arrival. Without workers it comes while its program is submitted.
    pub fn poll(&mut self, on_evaluated: OnEvaluated<'_>) {
        self.take_in_reports();
        while let Some(index) = self.untold.pop_front() {
            on_evaluated(index, &self.evaluations[&index]);
        }
    }

    /// Waits for the rest. Evaluations come in the order of the completions' indices.
    pub fn finish(self) -> Result<Vec<Evaluation>, ArenaError> {
        self.finish_with(&mut |_, _| ())
    }

    /// [`finish`](Scoring::finish), and tells of every evaluation as it comes.
    pub fn finish_with(mut self, on_evaluated: OnEvaluated<'_>) -> Result<Vec<Evaluation>, ArenaError> {
        self.wait(on_evaluated);
        while let Some(task) = self.stopped.pop() {
            // Alone, so that a crowded machine is no reason the second time.
            self.retried.insert(task);
            self.running += 1;
            self.crew.play_here(&self.job(task));
            self.wait(on_evaluated);
        }
        let errors = std::mem::take(&mut self.errors);
        if let Some(first) = errors.into_iter().min_by_key(ArenaError::completion) {
            return Err(first);
        }
        assert_eq!(
            self.evaluations.len(),
            self.submitted,
            "every completion has an index and an evaluation of its own"
        );
        self.remember();
        Ok(std::mem::take(&mut self.evaluations).into_values().collect())
    }

    fn wait(&mut self, on_evaluated: OnEvaluated<'_>) {
        self.poll(on_evaluated);
        while self.running > 0 {
            let report = self.reports.1.recv().expect("this batch holds a sender itself");
            self.take_in(report);
            self.poll(on_evaluated);
        }
    }

    fn take_in_reports(&mut self) {
        while let Ok(report) = self.reports.1.try_recv() {
            self.take_in(report);
        }
    }

    /// Leaves what was played to later batches, in the order in which it was submitted.
    fn remember(&mut self) {
        for entry in std::mem::take(&mut self.entries) {
            if let State::Evaluated(evaluation) = &entry.state {
                self.verdicts.insert((entry.program.source().to_owned(), entry.seeds), evaluation);
            }
        }
    }

    fn enter(&mut self, index: usize, program: Program, seeds: &[Seed]) {
        let key = (program.source().to_owned(), seeds.to_vec());
        if let Some(&known) = self.known.get(&key) {
            self.entries[known].completions.push(index);
            if let State::Evaluated(evaluation) = &self.entries[known].state {
                self.deliver(index, reused(evaluation));
            }
            return;
        }
        let entry = self.entries.len();
        let remembered = self.verdicts.get(&key);
        self.known.insert(key, entry);
        self.entries.push(Entry {
            program: Arc::new(program),
            seeds: seeds.to_vec(),
            games: vec![None; seeds.len()],
            usage: Usage::default(),
            completions: vec![index],
            state: State::Playing,
        });
        match remembered {
            Some(evaluation) => {
                let evaluation = reused(&evaluation);
                self.entries[entry].state = State::Evaluated(evaluation.clone());
                self.deliver(index, evaluation);
            }
            None => self.play(Task { entry, game: 0 }),
        }
    }

    fn play(&mut self, task: Task) {
        self.running += 1;
        self.crew.play(self.job(task));
    }

    fn job(&self, task: Task) -> Job {
        let entry = &self.entries[task.entry];
        Job {
            task,
            turn: self.turn,
            rules: Arc::clone(&self.rules),
            program: Arc::clone(&entry.program),
            seed: entry.seeds[task.game],
            reports: self.reports.0.clone(),
            abandoned: Arc::clone(&self.abandoned),
        }
    }

    fn take_in(&mut self, report: Report) {
        self.running -= 1;
        let entry = &mut self.entries[report.task.entry];
        entry.usage.games.push(report.usage);
        let completion = entry.completions[0];
        let error = match report.result {
            Ok(play) => return self.take_in_play(report.task, play),
            Err(GameError::Host(_)) if !self.retried.contains(&report.task) => {
                return self.stopped.push(report.task);
            }
            Err(GameError::Host(source)) => ArenaError::Host { completion, source },
            Err(GameError::Panicked(message)) => ArenaError::Panicked { completion, message },
        };
        entry.state = State::Broken;
        self.errors.push(error);
    }

    fn take_in_play(&mut self, task: Task, play: Play) {
        let entry = &mut self.entries[task.entry];
        let is_first = task.game == 0;
        match play {
            Play::Rejected(rejection) if is_first => {
                return self.evaluated(task.entry, Verdict::Rejected(rejection), Vec::new());
            }
            Play::Game { outcome, reason: Some(reason) } if is_first && !outcome.has_begun() => {
                let fault = Fault { ending: outcome.ending, reason };
                let seeds = entry.seeds.iter().skip(1);
                let unplayed = seeds.map(|&seed| unplayed(seed, fault.ending)).collect::<Vec<_>>();
                let games = std::iter::once(outcome).chain(unplayed).collect();
                return self.evaluated(task.entry, Verdict::Faulted(fault), games);
            }
            // Only a program that looks at `random` while it loads comes here.
            Play::Rejected(_) => {
                entry.games[task.game] = Some(unplayed(entry.seeds[task.game], Ending::Raised));
            }
            Play::Game { outcome, .. } => entry.games[task.game] = Some(outcome),
        }
        if is_first {
            for game in 1..entry.seeds.len() {
                self.play(Task { entry: task.entry, game });
            }
        }
        let games: Option<Vec<Outcome>> = self.entries[task.entry].games.iter().cloned().collect();
        if let Some(games) = games {
            self.evaluated(task.entry, Verdict::Played, games);
        }
    }

    fn evaluated(&mut self, at: usize, verdict: Verdict, games: Vec<Outcome>) {
        let entry = &mut self.entries[at];
        let evaluation = Evaluation { verdict, games, usage: std::mem::take(&mut entry.usage) };
        entry.state = State::Evaluated(evaluation.clone());
        let completions = entry.completions.clone();
        for &index in &completions[1..] {
            self.deliver(index, reused(&evaluation));
        }
        self.deliver(completions[0], evaluation);
    }

    fn deliver(&mut self, index: usize, evaluation: Evaluation) {
        self.evaluations.insert(index, evaluation);
        self.untold.push_back(index);
    }
}

impl Drop for Scoring {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }
}

fn reused(evaluation: &Evaluation) -> Evaluation {
    Evaluation { usage: Usage { reused: true, ..Usage::default() }, ..evaluation.clone() }
}

impl ArenaError {
    fn completion(&self) -> usize {
        match self {
            ArenaError::Host { completion, .. } | ArenaError::Panicked { completion, .. } => *completion,
            ArenaError::Threads { .. } => 0,
        }
    }
}
