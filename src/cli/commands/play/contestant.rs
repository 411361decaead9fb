//! A program and the game that it played.

use std::path::Path;

use crate::arena::Evaluation;
use crate::environment::Outcome;
use crate::metrics::visible;
use crate::plural::counted;

/// A program and the game it played.
pub(super) struct Contestant {
    pub name: String,
    /// The game, or why there is none.
    pub played: Result<Outcome, String>,
    /// Fuel that the game could have used.
    pub budget_fuel: f64,
}

impl Contestant {
    pub fn new(path: &Path, evaluation: &Evaluation, budget_fuel: f64) -> Contestant {
        let played = match evaluation.start.reason() {
            Some(reason) => Err(format!("{}: {}", evaluation.verdict(false).name(), visible(&reason))),
            None => Ok(evaluation.games[0].clone()),
        };
        Contestant { name: visible(&path.display().to_string()), played, budget_fuel }
    }

    /// How it ended, short enough for a panel.
    pub fn closing(&self) -> String {
        match &self.played {
            Ok(outcome) => format!("{}, {}", outcome.ending.name(), self.fuel(outcome)),
            Err(reason) => reason.clone(),
        }
    }

    pub fn fuel(&self, outcome: &Outcome) -> String {
        format!("{:.1}% of the fuel", 100.0 * outcome.fuel as f64 / self.budget_fuel)
    }

    /// All figures of the game.
    pub fn result(&self) -> String {
        match &self.played {
            Ok(outcome) => format!(
                "{}: score {}, best tile {}, {}, {:.2} Gfuel ({:.0}% of the budget){}",
                outcome.ending.name(),
                outcome.score,
                outcome.max_tile(),
                counted(outcome.moves() as usize, "move"),
                outcome.fuel as f64 / 1e9,
                100.0 * outcome.fuel as f64 / self.budget_fuel,
                outcome.reason.as_ref().map(|reason| format!("; {}", visible(reason))).unwrap_or_default()
            ),
            Err(reason) => reason.clone(),
        }
    }
}
