//! What is shown to a reward: reference players and cheats, each with the boards it plays.
//!
//! The boards are the check's own, neither training nor held-out ones. They are the same in every run, so that the check
//! depends on the configuration alone and luck has no say in it.

use crate::environment::Case;
use crate::environment::game2048::ladder::{CHEATS, RUNGS, SINGLE_GAMES, STEADY};
use crate::seed::{Purpose, Seed};

/// A completion and the boards it is to be judged on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// What a model might have written: a fenced program.
    pub text: String,
    /// One a game.
    pub cases: Vec<Case>,
}

impl Trial {
    fn new(source: &str, cases: Vec<Case>) -> Trial {
        Trial { text: format!("```python\n{}\n```\n", source.trim_end()), cases }
    }
}

/// Every rung, then every cheat on the boards of its honest twin, then the steady player's games one by one.
pub fn trials() -> Vec<Trial> {
    let rungs = RUNGS.iter().map(|rung| Trial::new(rung.source, boards(rung.games)));
    let cheats = CHEATS.iter().map(|cheat| Trial::new(cheat.source, boards(RUNGS[cheat.honest].games)));
    let singles = boards(SINGLE_GAMES).into_iter().map(|board| Trial::new(RUNGS[STEADY].source, vec![board]));
    rungs.chain(cheats).chain(singles).collect()
}

/// The first boards of the check.
fn boards(games: usize) -> Vec<Case> {
    (0..games as u64).map(|game| Seed::root(0).child(Purpose::Preflight, game).into()).collect()
}
