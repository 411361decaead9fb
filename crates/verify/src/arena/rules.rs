//! The limits under which programs are tried.

use grpo_sandbox::{FUEL_PER_SECOND, Limits};

use crate::config::{ArenaConfig, Config, SandboxConfig};
use crate::environment::game2048::GameLimits;

/// What a program may use, and when a game is stopped. Part of the definition of every score.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Fuel and memory of one game.
    pub limits: Limits,
    /// The same of a task that is only evaluated, where that is another budget.
    pub held_out: Option<Limits>,
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
            held_out: None,
            interprets_passing: false,
        }
    }

    /// The rules of training games: the same, with a budget of their own, so that scores compare across runs whatever
    /// their training games were given. Tasks that are held out keep the budget of evaluations, the only ones that ask them.
    pub fn training(config: &Config) -> Rules {
        let sandbox = SandboxConfig { game_seconds: config.train.game_seconds, ..config.sandbox.clone() };
        let evaluated = Rules::of(config);
        let limits = Rules::new(&sandbox, &config.arena).limits;
        Rules { limits, held_out: Some(evaluated.limits), ..evaluated }
    }
}
