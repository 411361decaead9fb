//! Plays programs in games inside the sandbox, inline or in a pool of workers.
//!
//! Takes programs as completions finish, and the seeds of their games; gives one [`Evaluation`] for each, in the order
//! of the completions whatever the workers did. Games are handed out by those who play: nobody has to look. Both ways of
//! working run the same code. A program's fault is a [`Verdict`](crate::environment::Verdict); the machine's fault is an [`ArenaError`]. Does not know
//! models, rewards or where text came from.

mod answers;
mod batch;
mod cache;
mod checker;
mod crew;
mod differences;
mod evaluation;
mod play;
mod player;
mod scoring;
mod script;
mod solver;
mod task;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

pub use grpo_sandbox::{Difference, FUEL_PER_SECOND};
use grpo_sandbox::{HostError, Limits, Sandbox};

pub use self::answers::{Unanswering, complete};
use self::cache::EvaluationCache;
use self::crew::Crew;
pub use self::crew::workers_max;
use self::differences::Differences;
pub use self::evaluation::{Evaluation, FirstCallFault, GameUsage, Start, Usage};
use self::play::{PlayGame, Runner};
pub use self::scoring::{OnEvaluated, Scoring};
use crate::config::{ArenaConfig, Config, SandboxConfig};
pub use crate::config::{OnDifference, Workers};
use crate::environment::game2048::GameLimits;
use crate::environment::{Case, Environment, Outcome};
use crate::program::{Program, Rejection};
use crate::seed::Seed;

/// What a program may use, and when a game is stopped. Part of the definition of every score.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Fuel and memory of one game.
    pub limits: Limits,
    /// When a game stops though moves are left.
    pub game: GameLimits,
    /// Whether a program that passes every test of a task in the compiled tier is played once more in the interpreter,
    /// whose fuel and word then count: what `reward.fuel_bonus` pays does not depend on the tier.
    pub interprets_passing: bool,
}

impl Rules {
    /// The rules that a configuration asks for, outside training.
    pub fn of(config: &Config) -> Rules {
        Rules { interprets_passing: config.reward.fuel_bonus > 0.0, ..Rules::new(&config.sandbox, &config.arena) }
    }

    /// The limits alone, where nothing is rewarded.
    pub fn new(sandbox: &SandboxConfig, arena: &ArenaConfig) -> Rules {
        let game_fuel = sandbox.game_seconds * FUEL_PER_SECOND as f64;
        Rules {
            limits: Limits {
                game_fuel: game_fuel as u64,
                call_fuel: (game_fuel * sandbox.call_share) as u64,
                memory_bytes: sandbox.memory_mib << 20,
            },
            game: GameLimits {
                freeze_after: u32::try_from(arena.freeze_after).unwrap_or(u32::MAX),
                moves_max: u32::try_from(arena.moves_max).unwrap_or(u32::MAX),
            },
            interprets_passing: false,
        }
    }

    /// The rules of training games: the same, with a budget of their own, so that scores compare across runs whatever
    /// their training games were given.
    pub fn training(config: &Config) -> Rules {
        let sandbox = SandboxConfig { game_seconds: config.train.game_seconds, ..config.sandbox.clone() };
        Rules { limits: Rules::new(&sandbox, &config.arena).limits, ..Rules::of(config) }
    }
}

/// Why a batch has no evaluations. Never a program's doing.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The sandbox itself failed twice, the second time alone on the machine.
    #[error("completion {completion}: the sandbox failed, and once more with nothing beside it")]
    Host {
        /// Index of the completion whose game it was.
        completion: usize,
        /// What went wrong.
        source: HostError,
    },
    /// The tiers of the sandbox differ on a program, and that was to stop.
    #[error("completion {completion}: {difference}; sandbox.on_difference = \"judge\" goes on with CPython's verdict")]
    TiersDiffer {
        /// Index of the completion whose program it is.
        completion: usize,
        /// The program, and both answers.
        difference: Box<Difference>,
    },
    /// Our own code panicked in a game.
    #[error("completion {completion}: a worker panicked: {message}; this is a bug in grpo-2048")]
    Panicked {
        /// Index of the completion whose game it was.
        completion: usize,
        /// What the panic said.
        message: String,
    },
    /// The user's own game failed, and not through what a program did: no score would mean anything.
    #[error("{}: {message}", game.display())]
    Environment {
        /// Index of the completion whose game it was.
        completion: usize,
        /// The file of its rules.
        game: PathBuf,
        /// What it was asked, at which move, and what it did.
        message: String,
    },
    /// The system gave no threads.
    #[error("cannot start {workers} worker threads; lower --parallel-rewards or use --sequential")]
    Threads {
        /// How many were asked for.
        workers: usize,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Where programs are played. Threads start once and live as long as this and all that share them do.
pub struct Arena {
    crew: Arc<Crew>,
    rules: Arc<Rules>,
    cache: Arc<EvaluationCache>,
    differences: Arc<Differences>,
}

impl Arena {
    /// An arena for the programs of `environment`, played in `sandbox` under `rules`.
    pub fn new(
        sandbox: Sandbox,
        environment: impl Into<Arc<Environment>>,
        rules: Rules,
        workers: Workers,
    ) -> Result<Arena, ArenaError> {
        let environment = environment.into();
        let (here, interpreting) = (Arc::clone(&environment), sandbox.interpreting());
        let play_game = move |rules: &_, program: &_, case, runner| match runner {
            Runner::Chosen => player::try_on(&sandbox, &here, rules, program, case),
            Runner::Interpreter => player::try_on(&interpreting, &here, rules, program, case),
        };
        Arena::with_player(Arc::new(play_game), environment, rules, workers)
    }

    /// The same, with what follows where the tiers of the sandbox differ on a program.
    pub fn on_difference(self, then: OnDifference) -> Arena {
        Arena { differences: Arc::new(Differences::new(then)), cache: Arc::default(), ..self }
    }

    /// What programs are written for.
    pub fn environment(&self) -> &Environment {
        &self.crew.environment
    }

    /// The program in a text that answers a request of the environment, to be tried on `case`.
    pub fn program(&self, text: &str, case: Case) -> Result<Program, Rejection> {
        Program::from_text(text, &self.environment().entry(case))
    }

    fn with_player(
        play_game: Arc<PlayGame>,
        environment: Arc<Environment>,
        rules: Rules,
        workers: Workers,
    ) -> Result<Arena, ArenaError> {
        let crew = Arc::new(Crew::start(play_game, environment, workers)?);
        let (cache, differences) = (Arc::default(), Arc::new(Differences::new(OnDifference::Judge)));
        Ok(Arena { crew, rules: Arc::new(rules), cache, differences })
    }

    /// The same workers under other rules.
    pub fn under(&self, rules: Rules) -> Arena {
        let (crew, differences) = (Arc::clone(&self.crew), Arc::clone(&self.differences));
        Arena { crew, rules: Arc::new(rules), cache: Arc::default(), differences }
    }
}

impl Arena {
    /// An arena of 2048 without a sandbox: `play` says what comes of each game. For tests of what waits for games.
    pub fn stand_in(
        play: impl Fn(&Program, Seed) -> Outcome + Send + Sync + 'static,
        workers: Workers,
    ) -> Result<Arena, ArenaError> {
        let config = Config::preset("builtin").expect("presets are tested");
        let play_game = move |_: &_, program: &_, case, _| {
            let play::Numbered { case: Case::Seed(seed), .. } = case else { unreachable!("2048 has no tasks") };
            Ok(play::Play::Game { outcome: play(program, seed), reason: None, compiled: false })
        };
        Arena::with_player(Arc::new(play_game), Arc::new(Environment::Game2048), Rules::training(&config), workers)
    }
}
