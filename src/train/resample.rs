//! Samples groups anew whose rewards are all equal, since nothing can be learnt from them.
//!
//! Source: dynamic sampling in Yu et al. 2025, bounded: a group that stays tied stays in the step, and is counted.

use crate::groups::Groups;
use crate::metrics::{Event, GamePlayed, Player, ScoredCompletion};
use crate::prompt::Prompt;
use crate::seed::{Purpose, Seed};

use super::TrainError;
use super::scoring::{Episode, Stage, Timing, is_tied};

/// The episodes of a step.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// One group a prompt.
    pub episodes: Groups<Episode>,
    /// What it took, all rounds together.
    pub timing: Timing,
    /// Groups that were sampled anew, once for each round.
    pub resampled: usize,
    /// Tokens of prompts, once for each completion, those that were replaced included.
    pub prompt_tokens: u64,
    /// Tokens of completions, those that were replaced included.
    pub completion_tokens: u64,
}

impl Sampled {
    fn new(prompts: &[Prompt], episodes: Groups<Episode>, timing: Timing) -> Self {
        let completion = episodes.items().iter().map(|episode| episode.completion.ids.len()).sum::<usize>();
        let prompt = prompts.iter().map(|prompt| prompt.ids.len() * episodes.size()).sum::<usize>();
        let (prompt_tokens, completion_tokens) = (prompt as u64, completion as u64);
        Sampled { episodes, timing, resampled: 0, prompt_tokens, completion_tokens }
    }

    fn tied(&self) -> Vec<usize> {
        self.episodes.iter().enumerate().filter(|(_, group)| is_tied(group)).map(|(group, _)| group).collect()
    }

    /// Puts `anew` in the place of the `groups`.
    fn replace(self, groups: &[usize], anew: Sampled) -> Self {
        let size = self.episodes.size();
        let mut items = self.episodes.into_items();
        let mut fresh = anew.episodes.into_items().into_iter();
        for group in groups {
            items.splice(group * size..(group + 1) * size, fresh.by_ref().take(size));
        }
        Sampled {
            episodes: Groups::new(size, items),
            timing: Timing {
                generate: self.timing.generate + anew.timing.generate,
                reward_wait: self.timing.reward_wait + anew.timing.reward_wait,
            },
            resampled: self.resampled + groups.len(),
            prompt_tokens: self.prompt_tokens + anew.prompt_tokens,
            completion_tokens: self.completion_tokens + anew.completion_tokens,
        }
    }
}

impl Stage<'_> {
    /// Samples a step: a group for each prompt, and again, at most `rollout.resample_tied` times, for each group
    /// that is tied. All play `boards`; each round has a stream of chance of its own below `seed`.
    pub fn step_episodes(
        &self,
        prompts: &[Prompt],
        seed: Seed,
        boards: &[Seed],
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Sampled, TrainError> {
        let rollout = &self.config.rollout;
        let (episodes, timing) = self.episodes(prompts, rollout, (seed, boards), observer)?;
        let mut sampled = Sampled::new(prompts, episodes, timing);
        for round in 0..rollout.resample_tied {
            let tied = sampled.tied();
            if tied.is_empty() {
                break;
            }
            let again: Vec<Prompt> = tied.iter().map(|group| prompts[*group].clone()).collect();
            let seed = seed.child(Purpose::Resample, round as u64);
            // A completion is told of by its place in the step.
            let size = rollout.num_generations;
            let place = |index: usize| tied[index / size] * size + index % size;
            let mut in_step = |event: Event<'_>| match event {
                Event::CompletionScored(completion) => {
                    let index = place(completion.index);
                    observer(Event::CompletionScored(&ScoredCompletion { index, ..completion.clone() }));
                }
                Event::Written { index, tokens } => observer(Event::Written { index: place(index), tokens }),
                Event::GamePlayed(game @ GamePlayed { player: Player::Completion { index, digest }, .. }) => {
                    let player = Player::Completion { index: place(*index), digest };
                    observer(Event::GamePlayed(&GamePlayed { player, ..*game }));
                }
                other => observer(other),
            };
            let (episodes, timing) = self.episodes(&again, rollout, (seed, boards), &mut in_step)?;
            sampled = sampled.replace(&tied, Sampled::new(&again, episodes, timing));
        }
        Ok(sampled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Evaluation, Usage, Verdict};
    use crate::program::Rejection;
    use crate::reward::Reward;
    use crate::rollout::{Completion, FinishReason};

    fn episode(reward: f32, tokens: usize) -> Episode {
        let completion = Completion {
            ids: vec![1; tokens],
            logprobs: vec![0.0; tokens],
            text: String::new(),
            finish: FinishReason::Stop,
        };
        let evaluation = Evaluation { verdict: Verdict::Played, games: Vec::new(), usage: Usage::default() };
        let reward = Reward { value: reward, parts: Vec::new() };
        Episode { completion, program: Err(Rejection::NoFunction), evaluation, reward }
    }

    fn sampled(rewards: &[f32], tokens: usize) -> Sampled {
        let episodes = Groups::new(2, rewards.iter().map(|reward| episode(*reward, tokens)).collect());
        Sampled::new(&[], episodes, Timing::default())
    }

    #[test]
    fn groups_sampled_anew_take_the_place_of_those_that_were_tied() {
        let first = sampled(&[0.5, 0.5, 0.1, 0.2, 0.3, 0.3], 10);
        assert_eq!(first.tied(), [0, 2]);
        let second = first.replace(&[0, 2], sampled(&[0.6, 0.7, 0.4, 0.4], 100));
        let rewards: Vec<f32> = second.episodes.items().iter().map(|episode| episode.reward.value).collect();
        assert_eq!(rewards, [0.6, 0.7, 0.1, 0.2, 0.4, 0.4]);
        assert_eq!((second.tied(), second.resampled, second.completion_tokens), (vec![2], 2, 6 * 10 + 4 * 100));
    }
}
