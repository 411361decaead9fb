//! A completion with all that came of it.

use std::time::Duration;

use crate::arena::Evaluation;
use crate::config::ScaleRewards;
use crate::grpo;
use crate::metrics::{Event, GamePlayed, Period, Player};
use crate::program::{Program, Rejection};
use crate::reward::Reward;
use crate::rollout::Completion;

/// One completion with its program, evaluation and reward.
#[derive(Debug, Clone)]
pub struct Episode {
    /// The sampled tokens and their text.
    pub completion: Completion,
    /// The program in the text, or why there is none.
    pub program: Result<Program, Rejection>,
    /// The verdict and outcomes of the program.
    pub evaluation: Evaluation,
    /// The reward for the evaluation.
    pub reward: Reward,
}

impl Episode {
    /// Whether every game ended without a fault of the program: no move was left, or the budget was used up.
    pub fn plays(&self) -> bool {
        self.evaluation.plays()
    }
}

/// Whether all rewards of a group count as equal, so that there is nothing to learn from it.
pub fn is_tied(group: &[Episode], scale: ScaleRewards) -> bool {
    grpo::is_tied(&group.iter().map(|episode| episode.reward.value).collect::<Vec<_>>(), scale)
}

/// Wall-clock time of sampling and scoring.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timing {
    /// Time of sampling. Games run at the same time.
    pub generate: Duration,
    /// Time that was waited for games after sampling had ended.
    pub reward_wait: Duration,
}

/// Emits [`Event::GamePlayed`] for every game of an evaluation that this process played.
pub fn emit_games(step: usize, player: Player<'_>, evaluation: &Evaluation, observer: &mut dyn FnMut(Event<'_>)) {
    for usage in &evaluation.usage.games {
        let Some(begin) = usage.begin else { continue };
        let outcome = evaluation.games.get(usage.game).filter(|_| !usage.failed);
        let ending = match outcome {
            Some(outcome) => outcome.ending.name(),
            None if usage.failed => "sandbox_failed",
            None => evaluation.verdict.name(),
        };
        observer(Event::GamePlayed(&GamePlayed {
            step,
            player,
            game: usage.game,
            worker: usage.worker,
            period: Period { begin, end: begin + usage.wall },
            score: outcome.map_or(0.0, |outcome| outcome.score),
            ending,
            fuel: outcome.map_or(0, |outcome| outcome.fuel),
        }));
    }
}
