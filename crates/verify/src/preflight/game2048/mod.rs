//! The reward check of 2048.

mod boards;
mod checks;
#[cfg(test)]
mod tests;
mod trials;

use super::report::{Report, Standing};
use super::trial::{TrialJudge, judged};
use crate::arena::ArenaError;
use crate::config::Config;
use crate::environment::Labels;
use crate::environment::game2048::ladder::RUNGS;

/// Judges the reference players and the cheats, and reports what their rewards show about `config`.
pub(super) fn examine(config: &Config, judge: &dyn TrialJudge) -> Result<Report, ArenaError> {
    let trials = trials::trials(config);
    let judged = judged(judge, &trials)?;
    let players = RUNGS.iter().zip(&judged).map(|(rung, judged)| {
        let max_tile = Some(judged.evaluation.max_tile());
        Standing { max_tile, ..Standing::new(rung.name, rung.rank, judged) }
    });
    let findings = checks::findings(config, &trials, &judged);
    Ok(Report { players: players.collect(), tasks: None, findings, labels: Labels::Board })
}
