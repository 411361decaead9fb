//! A completion with all that came of it, turn by turn.

use std::time::Duration;

use crate::arena::Evaluation;
use crate::config::{GrpoConfig, RewardConfig, TurnsReward};
use crate::groups::Groups;
use crate::grpo;
use crate::metrics::{Event, GamePlayed, Period, Player};
use crate::program::{Program, Rejection};
use crate::reward::Reward;
use crate::rollout::{Completion, FinishReason, Trajectory, TurnTokens};

/// Tolerated difference of two sums of a reward's parts, in f32.
const ROUNDING: f32 = 1e-5;

/// What the policy is told before it writes again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    pub text: String,
    /// The token ids that it is read in, with those of the model's format.
    pub ids: Vec<u32>,
}

#[derive(Debug, Clone)]
pub struct Turn {
    /// What the policy was told before; nothing in the first turn.
    pub told: Reply,
    pub completion: Completion,
    /// The program in the text, or why there is none.
    pub program: Result<Program, Rejection>,
    pub evaluation: Evaluation,
    pub reward: Reward,
}

/// The turns that answer one prompt: at least one, with their rewards [combined](Combined).
#[derive(Debug, Clone)]
pub struct Episode {
    pub turns: Vec<Turn>,
    pub reward: Reward,
    pub returns: Vec<f32>,
    answer: usize,
}

/// The rewards of the turns of one conversation, combined.
#[derive(Debug, Clone, PartialEq)]
pub struct Combined {
    /// The reward of all turns.
    pub reward: Reward,
    /// The rewards that advantages are computed from: that of all turns, or one for each turn.
    pub returns: Vec<f32>,
    /// Number of the turn that counts, from 0.
    pub answer: usize,
}

impl Combined {
    /// Combines the rewards of turns, of which there could have been `most`, as `reward.turns` says.
    ///
    /// # Panics
    /// Without rewards, which is a bug of the caller.
    pub fn of(rewards: &[&Reward], most: usize, config: &RewardConfig) -> Combined {
        let last = rewards.len().checked_sub(1).expect("an episode has a turn");
        let value = |turn: usize| rewards[turn].value;
        let (answer, returns) = match config.turns {
            TurnsReward::Last => (last, vec![value(last)]),
            TurnsReward::Best => {
                let best = (1..=last).fold(0, |best, turn| if value(turn) > value(best) { turn } else { best });
                (best, vec![value(best)])
            }
            TurnsReward::Discounted => {
                let value = |reward: &Reward| f64::from(reward.value);
                let from = |first| discounted(rewards, first, most, config.turns_gamma, value) as f32;
                (last, (0..rewards.len()).map(from).collect())
            }
        };
        let reward = match config.turns {
            TurnsReward::Last | TurnsReward::Best => rewards[answer].clone(),
            TurnsReward::Discounted if most == 1 => rewards[answer].clone(),
            TurnsReward::Discounted => {
                Reward { value: returns[0], parts: discounted_parts(rewards, most, config.turns_gamma) }
            }
        };
        Combined { reward, returns, answer }
    }
}

impl Episode {
    /// Combines the rewards of turns, of which there could have been `most`.
    ///
    /// # Panics
    /// Without turns, which is a bug of the caller.
    pub fn new(turns: Vec<Turn>, most: usize, config: &RewardConfig) -> Episode {
        let rewards: Vec<&Reward> = turns.iter().map(|turn| &turn.reward).collect();
        let Combined { reward, returns, answer } = Combined::of(&rewards, most, config);
        Episode { turns, reward, returns, answer }
    }

    /// The turn whose program is the answer to the prompt.
    pub fn answer(&self) -> &Turn {
        &self.turns[self.answer]
    }

    pub fn first(&self) -> &Turn {
        &self.turns[0]
    }

    /// Its tokens, in the form that the update reads.
    pub fn trajectory(&self) -> Trajectory<'_> {
        let tokens = self.turns.iter().map(|turn| TurnTokens { told: &turn.told.ids, completion: &turn.completion });
        Trajectory::new(tokens.collect())
    }

    /// Number of tokens that the policy sampled.
    pub fn sampled_tokens(&self) -> usize {
        self.turns.iter().map(|turn| turn.completion.ids.len()).sum()
    }

    /// Whether the last turn was truncated at the maximum length.
    pub fn is_truncated(&self) -> bool {
        self.turns.last().is_some_and(|turn| turn.completion.finish == FinishReason::Length)
    }

    /// Whether the turn that counts was truncated at the maximum length. Turns after it may have been.
    pub fn is_answer_truncated(&self) -> bool {
        self.answer().completion.finish == FinishReason::Length
    }

    /// Whether every game of the answer ended without a fault of the program: no move was left, or the budget was used
    /// up.
    pub fn plays(&self) -> bool {
        self.answer().evaluation.plays()
    }

    /// Whether its answer was tried on a honeypot.
    pub fn is_of_honeypot(&self) -> bool {
        let games = &self.answer().evaluation.games;
        games.iter().any(|game| game.tests().is_some_and(|tests| tests.honeypot))
    }

    /// Whether the last program earned less than the first, but for what its length and its fuel are worth: each turn has more
    /// tokens than those before it.
    pub fn got_worse(&self) -> bool {
        let worth = |turn: &Turn| turn.reward.value - part(&turn.reward, "length") - part(&turn.reward, "fuel");
        self.turns.last().is_some_and(|last| worth(last) < worth(self.first()) - ROUNDING)
    }

    /// Whether those of the newest program of the first `turns` turns did.
    pub fn plays_by(&self, turns: usize) -> bool {
        self.turns.iter().take(turns).next_back().is_some_and(|turn| turn.evaluation.plays())
    }
}

/// The value of turn `first` plus `gamma` times that of the next turn, and so on to the last of `most` turns. A turn that
/// was not taken counts as the last one: otherwise a program that passes at once would earn less than one that needed
/// another turn.
///
/// Source: Baronio et al. 2025 (Kevin), without an early end there.
fn discounted(rewards: &[&Reward], first: usize, most: usize, gamma: f64, value: impl Fn(&Reward) -> f64) -> f64 {
    let at = |turn: usize| value(rewards[turn.min(rewards.len() - 1)]);
    (first..most).rev().fold(0.0, |later, turn| at(turn) + gamma * later)
}

/// The parts of the reward of the first turn and those after it, by name.
fn discounted_parts(rewards: &[&Reward], most: usize, gamma: f64) -> Vec<(&'static str, f32)> {
    let value = |name: &str| discounted(rewards, 0, most, gamma, |reward| f64::from(part(reward, name))) as f32;
    rewards[0].parts.iter().map(|(name, _)| (*name, value(name))).collect()
}

/// The value of a part of a reward, 0 if the reward has no such part.
pub fn part(reward: &Reward, name: &str) -> f32 {
    reward.parts.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, value)| *value)
}

/// Whether all rewards of a group that are learnt from count as equal, or the update leaves out all of its completions that are
/// learnt from, because they were truncated: there is nothing to learn.
pub fn is_tied(group: &[Episode], config: &GrpoConfig) -> bool {
    let firsts = Groups::new(group.len(), group.iter().map(|episode| episode.returns[0]).collect());
    let learnt = grpo::learnt_from(&firsts, config);
    let learnt: Vec<&Episode> = learnt.items().iter().map(|place| &group[*place]).collect();
    let returns: Vec<f32> = learnt.iter().flat_map(|episode| episode.returns.iter().copied()).collect();
    let are_left_out = config.mask_truncated_completions && learnt.iter().all(|episode| episode.is_truncated());
    are_left_out || grpo::is_tied(&returns, config.scale_rewards)
}

/// Wall-clock time of sampling and scoring.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timing {
    /// Time of sampling. Games run at the same time.
    pub generate: Duration,
    /// Number of tokens that were sampled in this time.
    pub tokens: u64,
    /// Time that was waited for games after sampling had ended.
    pub reward_wait: Duration,
}

impl Timing {
    pub fn plus(self, other: Timing) -> Timing {
        Timing {
            generate: self.generate + other.generate,
            tokens: self.tokens + other.tokens,
            reward_wait: self.reward_wait + other.reward_wait,
        }
    }
}

/// Emits [`Event::GamePlayed`] for every game of an evaluation that this process played.
pub fn emit_games(step: usize, player: Player<'_>, evaluation: &Evaluation, observer: &mut dyn FnMut(Event<'_>)) {
    for usage in &evaluation.usage.games {
        let Some(begin) = usage.begin else { continue };
        let outcome = evaluation.games.get(usage.game).filter(|_| !usage.failed);
        let ending = match outcome {
            Some(outcome) => outcome.ending.name(),
            None if usage.failed => "sandbox_failed",
            None => evaluation.verdict(false).name(),
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

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;
    use crate::config::Config;
    use crate::rollout::CompletionId;
    use crate::seed::Seed;

    /// A turn of one token, without a program.
    pub fn turn(value: f32, finish: FinishReason) -> Turn {
        let id = CompletionId::new(Seed::root(0), 0);
        let completion = Completion { id, ids: vec![1], logprobs: vec![0.0], text: String::new(), finish };
        let rejection = Rejection::NoFunction { wanted: "f".into() };
        Turn {
            told: Reply::default(),
            completion,
            program: Err(rejection.clone()),
            evaluation: Evaluation::rejected(rejection),
            reward: Reward { value, parts: Vec::new() },
        }
    }

    /// The episode of this turn alone.
    pub fn alone(turn: Turn) -> Episode {
        Episode::new(vec![turn], 1, &Config::preset("builtin").unwrap().reward)
    }

    /// A conversation whose best turn counts: the first, which ended by itself, while the second was truncated. Neither has
    /// a program.
    pub fn truncated_after_its_answer() -> Episode {
        let reward = RewardConfig { turns: TurnsReward::Best, ..Config::preset("builtin").unwrap().reward };
        Episode::new(vec![turn(-0.1, FinishReason::Stop), turn(-0.2, FinishReason::Length)], 2, &reward)
    }
}
