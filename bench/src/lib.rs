//! Measures the cost of rewards: a batch of programs in the arena, and the same batch in plain Python processes, in one
//! run. The cost of a model is measured in [`model`].
//!
//! Takes an open sandbox, the rules, clocks and optionally a `python3`; returns a [`Table`]. Every round measures every
//! way once, so that load of the machine affects all of them equally. Prints nothing.

pub mod cli;
pub mod model;
mod programs;
mod python;
mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use grpo_sandbox::{FUEL_PER_SECOND, Failure, HostError, Limits, Sandbox, TierChoice, Unloaded};

use grpo_2048::arena::{Arena, ArenaError, Evaluation, Rules, Workers};
use grpo_2048::environment::game2048::entry;
use grpo_2048::environment::{Ending, Environment, Outcome};
use grpo_2048::grpo::LearnError;
use grpo_2048::program::Program;
use grpo_2048::rollout::RolloutError;
use grpo_2048::seed::{Purpose, Seed};

pub use programs::healthy;
pub use python::{Python, StartMethod};
pub use table::{Innocents, Played, Row, Spread, Table, WORDS, WayRun};

use table::Reference;

/// Number of Python processes that run at the same time.
const POOL: usize = 8;
/// The ways of the arena: number of workers, 0 for inline, and the tier of the sandbox, if it is not the configured
/// one.
const ARENAS: [(usize, Option<TierChoice>); 5] =
    [(0, Some(TierChoice::Interpreter)), (0, None), (1, None), (2, None), (8, None)];
/// Budget of a game in seconds that no healthy program exceeds.
const AMPLE: f64 = 60.0;
/// In [`Work::Spinning`] one of so many programs loops forever.
const SPINNING_SHARE: usize = 4;
/// Number of starts in a round, of an instance and of an interpreter. An instance takes about a millisecond.
const STARTS: (usize, usize) = (100, 10);
/// The program of [`Work::Start`].
const SMALLEST: &str = "def strategy(board):\n    return 'W'\n";

/// A measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The sandbox could not start an instance.
    #[error(transparent)]
    Sandbox(#[from] HostError),
    /// A script in `python3` failed.
    #[error("{python}: {message}")]
    Python { python: PathBuf, message: String },
    #[error("found {found} tokens in all completions, expected {expected}: one ended early")]
    Tokens {
        found: usize,
        /// Number of completions times their length.
        expected: usize,
    },
    /// The synthetic episodes had no advantages, which is a bug.
    #[error("the update had nothing to learn from")]
    NoSignal,
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    #[error(transparent)]
    Learn(#[from] LearnError),
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
    /// A large copy ran at a rate that the memory of the GPU does not have, so that no share of it would mean anything.
    #[error(
        "a large copy moved {copied:.0} GB/s where the memory of this GPU can move {possible:.0} GB/s; expected 60 to \
         105 % of it: is something else running on the GPU?"
    )]
    Copy {
        /// Measured, in GB/s.
        copied: f64,
        /// By the clock and the bus of the memory, in GB/s.
        possible: f64,
    },
    #[error("cannot write the scripts for python3: {0}")]
    Scripts(#[source] std::io::Error),
}

/// Reads a clock.
pub type ReadClock<'a> = &'a (dyn Fn() -> Duration + Sync);

/// The clocks of a measurement.
#[derive(Clone, Copy)]
pub struct Clocks<'a> {
    /// A monotonic clock.
    pub wall: ReadClock<'a>,
    /// The processor time of this process, of all its threads.
    pub cpu: ReadClock<'a>,
}

/// The time of some work, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
pub struct Cost {
    /// Wall-clock time.
    pub wall_s: f64,
    /// Processor time, including that of child processes.
    pub cpu_s: f64,
}

impl Clocks<'_> {
    /// Runs `work` and measures its cost.
    fn time<T>(&self, work: impl FnOnce() -> T) -> (T, Cost) {
        let (wall, cpu) = ((self.wall)(), (self.cpu)());
        let done = work();
        let (wall, cpu) = ((self.wall)() - wall, (self.cpu)() - cpu);
        (done, Cost { wall_s: wall.as_secs_f64(), cpu_s: cpu.as_secs_f64() })
    }
}

/// A measurement of rewards.
pub struct Rewards<'a> {
    /// The sandbox that programs play in.
    pub sandbox: &'a Sandbox,
    /// The rules of games. Their budget applies if some programs loop forever; otherwise the budget is ample.
    pub rules: &'a Rules,
    /// Wall-clock budget of a Python process if some programs loop forever, in seconds.
    pub timeout_s: f64,
    /// An interpreter to compare with, if there is one.
    pub python: Option<&'a Python>,
    pub clocks: Clocks<'a>,
    /// The sources of the batch's programs.
    pub programs: &'a [String],
    pub rounds: usize,
    /// The seed that boards are derived from.
    pub seed: Seed,
}

/// A piece of work that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Programs like those of a training step.
    Healthy,
    /// The same, but some programs loop forever.
    Spinning,
    /// The start and end of an interpreter for one program.
    Start,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::Healthy => "healthy",
            Work::Spinning => "1/4 spinning",
            Work::Start => "start",
        }
    }
}

/// A way of doing the work.
enum Way<'a> {
    Arena { name: String, sandbox: Sandbox, workers: Workers, choice: Option<TierChoice> },
    Processes { python: &'a Python, start: StartMethod },
    Instance,
    Interpreter(&'a Python),
}

impl Way<'_> {
    fn name(&self) -> String {
        match self {
            Way::Arena { name, .. } => name.clone(),
            Way::Processes { start: StartMethod::Calls, .. } => "python3 (calls alone)".into(),
            Way::Processes { start, .. } => format!("python3 pool of {POOL} ({})", start.name()),
            Way::Instance => "sandbox instance".into(),
            Way::Interpreter(_) => "python3 -I -c pass".into(),
        }
    }
}

/// A way of doing a piece of work, with its results so far.
struct Contender<'a> {
    work: Work,
    way: Way<'a>,
    runs: Vec<WayRun>,
}

impl Rewards<'_> {
    /// Measures. `told` is called with the number of runs that are done, the number of all runs, and the name of the
    /// next.
    pub fn measure(&self, told: &mut dyn FnMut(usize, usize, &str)) -> Result<Table, BenchError> {
        let spinning = programs::with_spinning(self.programs, SPINNING_SHARE);
        let mut contenders = self.contenders();
        let count = contenders.len();
        for round in 0..self.rounds {
            for place in 0..count {
                // The order rotates, so that no way always follows the most demanding one.
                let contender = &mut contenders[(place + round) % count];
                let words = format!("{}, {}", contender.work.name(), contender.way.name());
                told(round * count + place, self.rounds * count, &words);
                let programs = if contender.work == Work::Spinning { &spinning } else { self.programs };
                let run = self.run(contender.work, &contender.way, programs)?;
                contender.runs.push(run);
            }
        }
        Ok(self.table(&contenders))
    }

    /// All contenders. The first of each piece of work is the one that others are compared with.
    fn contenders(&self) -> Vec<Contender<'_>> {
        let mut contenders = Vec::new();
        let mut add = |work, way| contenders.push(Contender { work, way, runs: Vec::new() });
        for work in [Work::Healthy, Work::Spinning] {
            for start in StartMethod::ALL {
                // With `Calls` a program that loops forever would not be stopped.
                if let Some(python) = self.python.filter(|_| work == Work::Healthy || start != StartMethod::Calls) {
                    add(work, Way::Processes { python, start });
                }
            }
            for (workers, choice) in ARENAS {
                let name = match (workers, choice) {
                    (0, Some(choice)) => format!("arena inline ({choice:?})").to_lowercase(),
                    (0, None) => "arena inline".to_owned(),
                    (1, _) => "arena 1 worker".into(),
                    _ => format!("arena {workers} workers"),
                };
                let sandbox = choice.map_or(self.sandbox.clone(), |choice| self.sandbox.with_tiers(choice, 0));
                add(work, Way::Arena { name, sandbox, workers: Workers::new(workers), choice });
            }
        }
        if let Some(python) = self.python {
            add(Work::Start, Way::Interpreter(python));
        }
        add(Work::Start, Way::Instance);
        contenders
    }

    fn run(&self, work: Work, way: &Way<'_>, programs: &[String]) -> Result<WayRun, BenchError> {
        let board = self.seed.child(Purpose::Game, 0);
        match way {
            Way::Arena { sandbox, workers, .. } => {
                // Caches are empty, so that every round compiles and plays all programs.
                let arena = Arena::new(sandbox.emptied()?, Environment::Game2048, self.rules(work), *workers)?;
                let (evaluations, cost) = self.clocks.time(|| evaluate(&arena, programs, board));
                Ok(WayRun { cost, played: evaluations?.iter().map(played).collect() })
            }
            Way::Processes { python, start } => python.pool(&python::Batch {
                programs,
                workers: POOL,
                timeout_s: (work == Work::Spinning).then_some(self.timeout_s),
                start: *start,
                freeze_after: self.rules.game.freeze_after,
                moves_max: self.rules.game.moves_max,
                seed: board.get(),
            }),
            Way::Instance => {
                let (started, cost) = self.clocks.time(|| self.start_instances());
                started?;
                let each = |seconds: f64| seconds / STARTS.0 as f64;
                let cost = Cost { wall_s: each(cost.wall_s), cpu_s: each(cost.cpu_s) };
                Ok(WayRun { cost, played: Vec::new() })
            }
            Way::Interpreter(python) => Ok(WayRun { cost: python.start(STARTS.1)?, played: Vec::new() }),
        }
    }

    /// The rules for a piece of work. Healthy programs have an ample budget, so that all ways do the same work to its
    /// end.
    fn rules(&self, work: Work) -> Rules {
        let ample = (AMPLE * FUEL_PER_SECOND as f64) as u64;
        match work {
            Work::Healthy => Rules {
                limits: Limits { game_fuel: ample, call_fuel: ample, ..self.rules.limits },
                ..self.rules.clone()
            },
            Work::Spinning | Work::Start => self.rules.clone(),
        }
    }

    /// Starts instances of the interpreter. Compiled programs are not measured, because a cached one costs almost
    /// nothing.
    fn start_instances(&self) -> Result<(), HostError> {
        let sandbox = self.sandbox.interpreting();
        for _ in 0..STARTS.0 {
            let loaded = sandbox.load(SMALLEST, 0, &self.rules.limits);
            if let Err(Unloaded { failure: Failure::Host(error), .. }) = loaded {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Computes the table. Ratios are relative to the first contender of the same work, if that is Python. The expected
    /// result of a program is that of the first run of the same way with healthy programs; for all ways of the arena
    /// with the same tier it is that of the inline one.
    fn table(&self, contenders: &[Contender<'_>]) -> Table {
        let first = |holds: &dyn Fn(&Contender<'_>) -> bool| contenders.iter().find(|other| holds(other));
        let row = |contender: &Contender<'_>| {
            let peer = first(&|other| other.work == contender.work && self.python.is_some());
            let own = first(&|other| match (&contender.way, &other.way) {
                // Tiers stop a program that exceeds its budget at different places, so they are not compared.
                (Way::Arena { choice, .. }, Way::Arena { choice: others, .. }) => {
                    contender.work == other.work && choice == others
                }
                (Way::Processes { start, .. }, Way::Processes { start: others, .. }) => start == others,
                _ => false,
            });
            let reference = Reference {
                peer: peer.map(|peer| peer.runs.as_slice()),
                results: own.map_or(&[], |own| own.runs[0].played.as_slice()),
                spinning_share: (contender.work == Work::Spinning).then_some(SPINNING_SHARE),
            };
            Row::new(contender.work.name(), contender.way.name(), &contender.runs, reference)
        };
        Table { completions: self.programs.len(), rounds: self.rounds, rows: contenders.iter().map(row).collect() }
    }
}

fn evaluate(arena: &Arena, programs: &[String], board: Seed) -> Result<Vec<Evaluation>, ArenaError> {
    let programs = programs.iter().map(|source| (Program::from_text(source, &entry()), std::slice::from_ref(&board)));
    arena.evaluate_all(programs, &mut |_, _| ())
}

/// The text of everything that must be equal in every run and in both tiers, which is everything except fuel.
fn result(evaluation: &Evaluation) -> String {
    let verdict = format!("{:?}", evaluation.start);
    let game = |game: &Outcome| format!("{} {} {:?}", game.score, game.ending.name(), game.trace);
    evaluation.games.iter().map(game).fold(verdict, |all, game| format!("{all}\n{game}"))
}

fn played(evaluation: &Evaluation) -> Played {
    let late = |ending| matches!(ending, Ending::OutOfFuel | Ending::Hung);
    Played {
        result: result(evaluation),
        stopped: evaluation.games.iter().any(|game| late(game.ending)),
        moves: evaluation.games.iter().map(|game| u64::from(game.moves())).sum(),
    }
}
