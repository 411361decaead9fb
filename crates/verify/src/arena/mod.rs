//! Plays programs in games inside the sandbox, inline or in a pool of workers.
//!
//! Takes programs as completions finish, and the seeds of their games; gives one [`Evaluation`] for each, in the order
//! of the completions whatever the workers did. Workers hand out the games themselves. Both ways of working run the same
//! code. A program's fault is a [`Verdict`](crate::environment::Verdict); the machine's fault is an [`ArenaError`]. Does
//! not know models, rewards or where text came from.

mod answers;
mod batch;
mod cache;
mod checker;
mod crew;
mod differences;
mod entry;
mod error;
mod evaluation;
mod evaluator;
mod loaded;
mod play;
mod player;
mod rules;
mod scoring;
mod script;
mod solver;
mod task;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use grpo_sandbox::Sandbox;
pub use grpo_sandbox::{Difference, FUEL_PER_SECOND};

pub use self::answers::{Unanswering, complete};
use self::cache::EvaluationCache;
use self::crew::Crew;
pub use self::crew::workers_max;
use self::differences::Differences;
pub use self::error::ArenaError;
pub use self::evaluation::{Evaluation, FirstCallFault, GameUsage, Start, Usage, is_of_the_budget};
use self::play::{PlayGame, Runner};
pub use self::rules::Rules;
pub use self::scoring::{OnEvaluated, Scoring};
use crate::config::Config;
pub use crate::config::{OnDifference, Workers};
use crate::environment::{Case, Environment, Outcome};
use crate::program::{Program, Rejection};
use crate::seed::Seed;

/// Where programs are played. Threads start once and live as long as this and all that share them do.
pub struct Arena {
    crew: Arc<Crew>,
    rules: Arc<Rules>,
    cache: Arc<EvaluationCache>,
    differences: Arc<Differences>,
}

impl Arena {
    /// An arena for the programs of `environment`, played in `sandbox` under `rules`.
    /// Tests whose answers a reference has yet to compute ([`complete`]) are passed by nobody.
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
