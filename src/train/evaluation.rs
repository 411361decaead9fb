//! Held-out evaluation: fixed sampling seeds, fixed boards that no training step can draw.

use std::time::Instant;

use crate::config::RolloutConfig;
use crate::metrics::{EvaluationRecord, Event};
use crate::prompt::PromptSet;
use crate::seed::{Purpose, Seed};

use super::TrainError;
use super::scoring::{Episode, Stage, boards};

/// Root of everything held out. Not the run's seed: every run and every model meets the same boards.
const HELD_OUT: u64 = 0x2048;

/// How much is sampled and played.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// Completions.
    pub samples: usize,
    /// Games for each.
    pub games: usize,
}

/// Samples from the policy as it stands and plays on the held-out boards.
pub fn evaluate(
    stage: &Stage<'_>,
    prompts: &PromptSet,
    protocol: Protocol,
    step: usize,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<(EvaluationRecord, Vec<Episode>), TrainError> {
    let start = Instant::now();
    let seed = Seed::root(HELD_OUT).child(Purpose::Evaluation, 0);
    // Groups of one: evaluation compares with nobody.
    let rollout = RolloutConfig { num_generations: 1, ..stage.config.rollout.clone() };
    let boards = held_out_boards(protocol.games);
    let mut episodes = Vec::with_capacity(protocol.samples);
    let per_turn = stage.config.completions_per_step();
    for (turn, first) in (0..protocol.samples).step_by(per_turn).enumerate() {
        let seed = seed.child(Purpose::Step, turn as u64);
        let drawn = prompts.draw(seed, per_turn.min(protocol.samples - first));
        let (scored, _) = stage.episodes(&drawn, &rollout, (seed, &boards), observer)?;
        episodes.extend(scored.into_items());
    }
    let record = summarise(&episodes, protocol, step, start.elapsed().as_secs_f64());
    Ok((record, episodes))
}

/// The first `games` held-out boards.
pub fn held_out_boards(games: usize) -> Vec<Seed> {
    boards(Seed::root(HELD_OUT), Purpose::HeldOut, games)
}

fn summarise(episodes: &[Episode], protocol: Protocol, step: usize, runtime: f64) -> EvaluationRecord {
    let count = episodes.len().max(1) as f64;
    let mean = |of: &dyn Fn(&Episode) -> f64| episodes.iter().map(of).sum::<f64>() / count;
    EvaluationRecord {
        step,
        samples: protocol.samples,
        games: protocol.games,
        reward: mean(&|episode| f64::from(episode.reward.value)),
        mean_score: mean(&|episode| episode.evaluation.mean_score()),
        max_tile: episodes.iter().map(|episode| episode.evaluation.max_tile()).max().unwrap_or(0),
        frac_played: mean(&|episode| f64::from(u8::from(episode.plays()))),
        runtime,
    }
}
