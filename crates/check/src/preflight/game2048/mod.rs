//! The reward check of 2048.

mod boards;
mod checks;
#[cfg(test)]
mod tests;

use super::report::{Report, Standing};
use super::trial::{Trial, TrialJudge, judged, seeds};
use crate::arena::ArenaError;
use crate::config::Config;
use crate::environment::Labels;
use crate::environment::game2048::ladder::{CHEATS, RUNGS, SINGLE_GAMES, STEADY};

/// Judges the reference players and the cheats, and reports what their rewards show about `config`.
pub(super) fn examine(config: &Config, judge: &dyn TrialJudge) -> Result<Report, ArenaError> {
    let trials = trials(config);
    let judged = judged(judge, &trials)?;
    let players = RUNGS.iter().zip(&judged).map(|(rung, judged)| {
        let max_tile = Some(judged.evaluation.max_tile());
        Standing { max_tile, ..Standing::new(rung.name, rung.rank, judged) }
    });
    let findings = checks::findings(config, &trials, &judged);
    Ok(Report { players: players.collect(), tasks: None, findings, labels: Labels::Board })
}

/// Every rung, then every cheat on the boards of its honest twin, then the steady player's games one by one, then who
/// knows boards, without the knowledge and with it.
fn trials(config: &Config) -> Vec<Trial> {
    let rungs = RUNGS.iter().map(|rung| Trial::new(rung.source, seeds(rung.games)));
    let cheats = CHEATS.iter().map(|cheat| Trial::new(cheat.source, seeds(RUNGS[cheat.honest].games)));
    let singles = seeds(SINGLE_GAMES).into_iter().map(|board| Trial::new(RUNGS[STEADY].source, vec![board]));
    rungs.chain(cheats).chain(singles).chain(boards::trials(config)).collect()
}
