//! One distinct program of a batch: its games, and what follows when one of them ends.
//!
//! The first game of a program is played alone. When its very first call fails, that is the verdict, and the other
//! games are not paid for.
//!
//! Where the tiers of the sandbox differ in any of its games, all of them are played again in the interpreter. So an
//! evaluation follows from the program and its cases alone, whichever of its games ended first.

use std::ops::Range;
use std::sync::Arc;

use grpo_sandbox::Difference;

use super::evaluation::{Evaluation, FirstCallFault, GameUsage, Start, Usage};
use super::play::{Numbered, Play, Runner};
use crate::environment::{Ending, Environment, Outcome};
use crate::program::Program;

pub(super) struct Entry {
    program: Arc<Program>,
    pub cases: Vec<Numbered>,
    games: Vec<Option<Outcome>>,
    runner: Runner,
    /// The first of its games in which the tiers were seen to differ.
    differs: Option<(usize, Box<Difference>)>,
    usage: Usage,
    /// Completions that are this program; the first one is the one it is played for. None once it was taken back.
    pub completions: Vec<usize>,
    /// Whether a game of it was begun.
    pub begun: bool,
    pub evaluation: Option<Evaluation>,
}

/// What follows when a game of a program has ended.
pub(super) enum Next {
    /// These of its games are played now.
    Games(Range<usize>),
    /// All of its games are played again in the interpreter, the first of them alone.
    Again,
    /// It is evaluated.
    Evaluated(Start, Vec<Outcome>),
}

impl Entry {
    pub fn new(completion: usize, program: Program, cases: Vec<Numbered>, evaluation: Option<Evaluation>) -> Entry {
        Entry {
            program: Arc::new(program),
            games: vec![None; cases.len()],
            cases,
            runner: Runner::Chosen,
            differs: None,
            usage: Usage::default(),
            completions: vec![completion],
            begun: false,
            evaluation,
        }
    }

    pub fn shared_source(&self) -> Arc<str> {
        self.program.shared_source()
    }

    /// What a game of it that begins is played with.
    pub fn begin(&mut self, game: usize) -> (Arc<Program>, Numbered, Runner) {
        self.begun = true;
        (Arc::clone(&self.program), self.cases[game], self.runner)
    }

    /// Takes in what a game cost, whatever came of it.
    pub fn spend(&mut self, usage: GameUsage) {
        self.usage.games.push(usage);
    }

    /// Takes in a game that has ended.
    pub fn take_in(&mut self, game: usize, play: Play, environment: &Environment) -> Next {
        let is_first = game == 0;
        // In a later batch of its games the program draws other chance: one unlucky start says nothing of the other games.
        let is_start = is_first && self.cases[0].number == 0;
        let unplayed = |entry: &Entry| environment.unplayed(entry.cases[game].case, Ending::Raised);
        let outcome = match play {
            Play::Rejected(rejection) if is_start => return Next::Evaluated(Start::Rejected(rejection), Vec::new()),
            // Only a program that looks at `random` while it loads comes here.
            Play::Rejected(_) => unplayed(self),
            Play::Game { outcome, reason: Some(reason), .. } if is_start && !outcome.has_begun() => {
                let fault = FirstCallFault { ending: outcome.ending, reason };
                let others = self.cases[1..].iter().map(|one| environment.unplayed(one.case, fault.ending));
                let games = std::iter::once(outcome).chain(others).collect();
                return Next::Evaluated(Start::Faulted(fault), games);
            }
            Play::Game { outcome, reason, .. } => {
                Outcome { reason: reason.filter(|_| !outcome.ending.is_well()), ..outcome }
            }
            Play::Differs(difference) => {
                if self.differs.as_ref().is_none_or(|(first, _)| game < *first) {
                    self.differs = Some((game, difference));
                }
                if is_first {
                    return Next::Again;
                }
                unplayed(self)
            }
        };
        self.games[game] = Some(outcome);
        match self.games.iter().all(Option::is_some) {
            true if self.differs.is_some() && self.runner == Runner::Chosen => Next::Again,
            true => Next::Evaluated(Start::Played, std::mem::take(&mut self.games).into_iter().flatten().collect()),
            false if is_first => Next::Games(1..self.games.len()),
            false => Next::Games(0..0),
        }
    }

    /// Makes all games ready to be played in the interpreter; gives where the tiers were seen to differ.
    pub fn begin_again(&mut self) -> Option<&Difference> {
        // What was played is thrown away, and did not run compiled from the first call to the last.
        self.usage.games.iter_mut().for_each(|game| game.compiled = false);
        self.runner = Runner::Interpreter;
        self.games.fill(None);
        self.differs.as_ref().map(|(_, difference)| &**difference)
    }

    /// Keeps what it was evaluated to; gives that by its completions, the one that it was played for last.
    pub fn evaluated(&mut self, start: Start, games: Vec<Outcome>) -> Vec<(usize, Evaluation)> {
        let difference = self.differs.take().map(|(_, difference)| difference);
        let usage = Usage { difference, ..std::mem::take(&mut self.usage) };
        let evaluation = Evaluation { start, games, usage };
        let mut told: Vec<_> = self.completions[1..].iter().map(|&index| (index, evaluation.reused())).collect();
        told.push((self.completions[0], evaluation.clone()));
        self.evaluation = Some(evaluation);
        told
    }
}
