//! What rewards cost: a batch of programs through the arena, and beside it the plain-Python way, in one run. What a
//! model costs is in [`model`].
//!
//! Takes an open sandbox, the rules, clocks and perhaps a `python3`; gives a [`Table`]. Rounds are interleaved, every
//! way once a round, so that a busy machine is busy for all of them. Prints nothing.

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

/// Processes of the plain-Python way that run at once.
const POOL: usize = 8;
/// Ways of the arena: worker counts, 0 being inline, and what runs the programs, where it is not what was asked for.
const ARENAS: [(usize, Option<TierChoice>); 5] =
    [(0, Some(TierChoice::Interpreter)), (0, None), (1, None), (2, None), (8, None)];
/// Seconds of a game in which nobody is to be stopped.
const AMPLE: f64 = 60.0;
/// Of these, one in so many spins in the second piece of work.
const SPINNING_SHARE: usize = 4;
/// Starts in a round, of an instance and of an interpreter. An instance is over in a millisecond.
const STARTS: (usize, usize) = (100, 10);
/// The program of a fresh instance.
const SMALLEST: &str = "def strategy(board):\n    return 'W'\n";

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The arena.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The sandbox could not start an instance.
    #[error(transparent)]
    Sandbox(#[from] HostError),
    /// `python3` did not do what it was asked to.
    #[error("{python}: {message}")]
    Python {
        /// The interpreter.
        python: PathBuf,
        /// What it said.
        message: String,
    },
    /// Completions did not have the length that was asked for.
    #[error("found {found} tokens in all completions, expected {expected}: one ended early")]
    Tokens {
        /// Tokens sampled.
        found: usize,
        /// Completions times their length.
        expected: usize,
    },
    /// The synthetic episodes taught nothing, which is a bug.
    #[error("the update had nothing to learn from")]
    NoSignal,
    /// The rollout.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// The update.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A tensor operation failed.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
    /// The scripts for it could not be written.
    #[error("cannot write the scripts for python3: {0}")]
    Scripts(#[source] std::io::Error),
}

/// Reads a clock.
pub type ReadClock<'a> = &'a (dyn Fn() -> Duration + Sync);

/// What measures.
#[derive(Clone, Copy)]
pub struct Clocks<'a> {
    /// A monotonic clock.
    pub wall: ReadClock<'a>,
    /// What this process has used of processors, all threads together.
    pub cpu: ReadClock<'a>,
}

/// Seconds that something took.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
pub struct Cost {
    /// On the wall.
    pub wall_s: f64,
    /// Of processors, processes it started included.
    pub cpu_s: f64,
}

impl Clocks<'_> {
    /// Runs `work` and says what it cost.
    fn time<T>(&self, work: impl FnOnce() -> T) -> (T, Cost) {
        let (wall, cpu) = ((self.wall)(), (self.cpu)());
        let done = work();
        let (wall, cpu) = ((self.wall)() - wall, (self.cpu)() - cpu);
        (done, Cost { wall_s: wall.as_secs_f64(), cpu_s: cpu.as_secs_f64() })
    }
}

/// What is measured, and with what.
pub struct Rewards<'a> {
    /// Where programs play.
    pub sandbox: &'a Sandbox,
    /// Budget of a game where programs spin; otherwise nobody is stopped.
    pub rules: &'a Rules,
    /// Budget of a process of the plain-Python way where programs spin, seconds on the wall.
    pub timeout_s: f64,
    /// An interpreter to compare with, if there is one.
    pub python: Option<&'a Python>,
    /// What measures.
    pub clocks: Clocks<'a>,
    /// The batch.
    pub programs: &'a [String],
    /// How often everything is done.
    pub rounds: usize,
    /// Above the boards.
    pub seed: Seed,
}

/// A batch, or what comes before any batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Programs such as a training step gives.
    Healthy,
    /// The same, but some never return from a call.
    Spinning,
    /// An interpreter ready for one program, and its end.
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

/// How work is done.
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

/// A way of doing a piece of work, and what came of it so far.
struct Contender<'a> {
    work: Work,
    way: Way<'a>,
    runs: Vec<WayRun>,
}

impl Rewards<'_> {
    /// Measures. `told` hears how many of how many runs are done, and which one comes next.
    pub fn measure(&self, told: &mut dyn FnMut(usize, usize, &str)) -> Result<Table, BenchError> {
        let spinning = programs::with_spinning(self.programs, SPINNING_SHARE);
        let mut contenders = self.contenders();
        let count = contenders.len();
        for round in 0..self.rounds {
            for place in 0..count {
                // Nobody is always the one after the heaviest.
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

    /// Everybody, the one that others are compared with first of its work.
    fn contenders(&self) -> Vec<Contender<'_>> {
        let mut contenders = Vec::new();
        let mut add = |work, way| contenders.push(Contender { work, way, runs: Vec::new() });
        for work in [Work::Healthy, Work::Spinning] {
            for start in StartMethod::ALL {
                // Who spins would never end.
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
                // Nothing is remembered: every round is compiled and played.
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

    /// Budgets: ample where all sides are to do the same work to its end.
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

    /// Of the interpreter: a compiled program that is known costs next to nothing.
    fn start_instances(&self) -> Result<(), HostError> {
        let sandbox = self.sandbox.with_tiers(TierChoice::Interpreter, 0);
        for _ in 0..STARTS.0 {
            let loaded = sandbox.load(SMALLEST, 0, &self.rules.limits);
            if let Err(Unloaded { failure: Failure::Host(error), .. }) = loaded {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Each row is compared with the first of its work, when that is Python. A program's result is what it was in the
    /// first run of its way, in good company; in the arena what it was inline.
    fn table(&self, contenders: &[Contender<'_>]) -> Table {
        let first = |holds: &dyn Fn(&Contender<'_>) -> bool| contenders.iter().find(|other| holds(other));
        let row = |contender: &Contender<'_>| {
            let peer = first(&|other| other.work == contender.work && self.python.is_some());
            let own = first(&|other| match (&contender.way, &other.way) {
                // A budget that is cut is another in the other tier.
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

/// All that has to be the same in every run and in both tiers, which is all but the fuel.
fn result(evaluation: &Evaluation) -> String {
    let verdict = format!("{:?}", evaluation.verdict);
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
