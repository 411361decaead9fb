//! Samples groups again whose rewards are all equal, because nothing can be learnt from them.
//!
//! The current policy samples them. If the step was sampled ahead, these groups are on policy and its other groups are
//! not.
//!
//! Source: dynamic sampling in Yu et al. 2025, with a bounded number of rounds. A group that stays tied remains in the
//! step and is counted in its metrics.

use crate::config::ScaleRewards;
use crate::groups::Groups;
use crate::metrics::Event;
use crate::prompt::Prompt;
use crate::seed::Purpose;

use super::TrainError;
use super::ahead::{StepInPlay, StepInputs};
use super::episode::{Episode, Timing, is_tied};
use super::scoring::{Draw, Stage};
use super::turns::placed;

/// The episodes of a step, and what sampling them took.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// One group per prompt.
    pub episodes: Groups<Episode>,
    /// Wall-clock time of all rounds together.
    pub timing: Timing,
    /// Policy lag of each group: steps that the policy has learnt from since it sampled the group.
    pub lags: Vec<usize>,
    /// Number of groups that were sampled again; a group counts once for each round.
    pub resampled: usize,
    /// Tokens of prompts, counted once per completion, including replaced completions.
    pub prompt_tokens: u64,
    /// Tokens of completions, including replaced ones.
    pub completion_tokens: u64,
}

impl Sampled {
    fn new(prompts: &[Prompt], episodes: Groups<Episode>, timing: Timing, lag: usize) -> Self {
        let completion = episodes.items().iter().map(Episode::sampled_tokens).sum::<usize>();
        let prompt = prompts.iter().map(|prompt| prompt.ids.len() * episodes.size()).sum::<usize>();
        let (prompt_tokens, completion_tokens) = (prompt as u64, completion as u64);
        let lags = vec![lag; episodes.count()];
        Sampled { episodes, timing, lags, resampled: 0, prompt_tokens, completion_tokens }
    }

    /// Whether the policy has been updated since it sampled any of the groups.
    pub fn is_off_policy(&self) -> bool {
        self.lags.iter().any(|lag| *lag > 0)
    }

    /// Mean policy lag over completions, in steps.
    pub fn policy_lag(&self) -> f64 {
        self.lags.iter().sum::<usize>() as f64 / self.lags.len().max(1) as f64
    }

    /// Indices of the tied groups.
    fn tied(&self, scale: ScaleRewards) -> Vec<usize> {
        let groups = self.episodes.iter().enumerate();
        groups.filter(|(_, group)| is_tied(group, scale)).map(|(group, _)| group).collect()
    }

    /// Replaces the groups with the indices `groups` by those of `anew`.
    fn replace(mut self, groups: &[usize], anew: Sampled) -> Self {
        for (group, lag) in groups.iter().zip(anew.lags) {
            self.lags[*group] = lag;
        }
        self.episodes.replace(groups, anew.episodes);
        Sampled {
            episodes: self.episodes,
            timing: self.timing.plus(anew.timing),
            lags: self.lags,
            resampled: self.resampled + groups.len(),
            prompt_tokens: self.prompt_tokens + anew.prompt_tokens,
            completion_tokens: self.completion_tokens + anew.completion_tokens,
        }
    }
}

impl Stage<'_> {
    /// Waits for the games of a step and samples its tied groups again, in at most `rollout.resample_tied` rounds. All
    /// rounds play the boards of the step; each has its own seed, derived from the step's.
    pub fn step_episodes(
        &self,
        inputs: &StepInputs,
        begun: StepInPlay,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Sampled, TrainError> {
        let (rollout, prompts) = (&self.config.rollout, &inputs.prompts);
        let lag = inputs.step - 1 - begun.policy_step;
        let (episodes, timing) = self.finish(begun.in_play, prompts, inputs.draw(), observer)?;
        let mut sampled = Sampled::new(prompts, episodes, timing, lag);
        for round in 0..rollout.resample_tied {
            let tied = sampled.tied(self.config.grpo.scale_rewards);
            if tied.is_empty() {
                break;
            }
            let again: Vec<Prompt> = tied.iter().map(|group| prompts[*group].clone()).collect();
            let streams = inputs.seed.child(Purpose::Resample, round as u64).into();
            // Events name a completion by its index in the step, not in the round.
            let places = sampled.episodes.places(&tied);
            let mut in_step = |event: Event<'_>| placed(event, &places, observer);
            let (episodes, timing) = self.episodes(&again, rollout, Draw { streams, ..inputs.draw() }, &mut in_step)?;
            sampled = sampled.replace(&tied, Sampled::new(&again, episodes, timing, 0));
        }
        Ok(sampled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::episode::{Reply, Turn};
    use super::*;
    use crate::arena::{Evaluation, Usage, Verdict};
    use crate::config::Config;
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
        let program = Err(Rejection::NoFunction { wanted: String::new() });
        let turn = Turn { told: Reply::default(), completion, program, evaluation, reward };
        Episode::new(vec![turn], 1, &Config::preset("builtin").unwrap().reward)
    }

    fn sampled(rewards: &[f32], tokens: usize) -> Sampled {
        let episodes = Groups::new(2, rewards.iter().map(|reward| episode(*reward, tokens)).collect());
        Sampled::new(&[], episodes, Timing::default(), 1)
    }

    #[test]
    fn groups_sampled_anew_take_the_place_of_those_that_were_tied() {
        let first = sampled(&[0.5, 0.5, 0.1, 0.2, 0.3, 0.3], 10);
        assert_eq!(first.tied(ScaleRewards::Group), [0, 2]);
        assert!(first.is_off_policy() && first.policy_lag() == 1.0);
        let anew = Sampled { lags: vec![0; 2], ..sampled(&[0.6, 0.7, 0.4, 0.4], 100) };
        let second = first.replace(&[0, 2], anew);
        assert!(second.is_off_policy() && second.policy_lag() == 1.0 / 3.0);
        let rewards: Vec<f32> = second.episodes.items().iter().map(|episode| episode.reward.value).collect();
        assert_eq!(rewards, [0.6, 0.7, 0.1, 0.2, 0.4, 0.4]);
        assert_eq!(
            (second.tied(ScaleRewards::Group), second.resampled, second.completion_tokens),
            (vec![2], 2, 6 * 10 + 4 * 100)
        );
    }
}
