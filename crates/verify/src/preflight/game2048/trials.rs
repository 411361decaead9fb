//! The trials for the reward of 2048: reference players and cheats, each with its boards.

use super::boards;
use crate::config::Config;
use crate::environment::game2048::ladder::{CHEATS, RUNGS, SINGLE_GAMES, STEADY};
use crate::preflight::trial::{Trial, seeds};

/// Every rung, then every cheat on the boards of its honest twin, then the steady player's games one by one, then who
/// knows boards, without the knowledge and with it.
pub fn trials(config: &Config) -> Vec<Trial> {
    let rungs = RUNGS.iter().map(|rung| Trial::new(rung.source, seeds(rung.games)));
    let cheats = CHEATS.iter().map(|cheat| Trial::new(cheat.source, seeds(RUNGS[cheat.honest].games)));
    let singles = seeds(SINGLE_GAMES).into_iter().map(|board| Trial::new(RUNGS[STEADY].source, vec![board]));
    rungs.chain(cheats).chain(singles).chain(boards::trials(config)).collect()
}
