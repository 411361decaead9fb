//! Samples groups again whose rewards are all equal, because nothing can be learnt from them.
//!
//! The current policy samples them. If the step was sampled ahead, these groups are on policy and its other groups are
//! not.
//!
//! Source: dynamic sampling in Yu et al. 2025, with a bounded number of rounds. A group that stays tied remains in the
//! step and is counted in its metrics.

use crate::config::GrpoConfig;
use crate::groups::Groups;
use crate::metrics::Event;
use crate::rollout::{CompletionId, GroupRequest};
use crate::seed::Purpose;

use super::TrainError;
use super::episode::{Episode, Timing, is_tied};
use super::in_play::{EarlierProgress, StepInPlay};
use super::scoring::{Stage, StepInputs};

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
    pub(super) fn new(requests: &[GroupRequest<'_>], episodes: Groups<Episode>, timing: Timing, lag: usize) -> Self {
        let completion = episodes.items().iter().map(Episode::sampled_tokens).sum::<usize>();
        let read = |request: &GroupRequest<'_>| request.prompt.ids.len() * request.ids.len();
        let prompt = requests.iter().map(read).sum::<usize>();
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
    fn tied(&self, config: &GrpoConfig) -> Vec<usize> {
        let groups = self.episodes.iter().enumerate();
        groups.filter(|(_, group)| is_tied(group, config)).map(|(group, _)| group).collect()
    }

    /// Replaces the groups with the indices `groups` by those of `anew`.
    fn replace(&mut self, groups: &[usize], anew: Sampled) {
        for (group, lag) in groups.iter().zip(anew.lags) {
            self.lags[*group] = lag;
        }
        self.episodes.replace(groups, anew.episodes);
        self.timing = self.timing.plus(anew.timing);
        self.resampled += groups.len();
        self.prompt_tokens += anew.prompt_tokens;
        self.completion_tokens += anew.completion_tokens;
    }
}

impl Stage<'_> {
    /// Waits for the games of a step and samples its tied groups again, in at most `rollout.resample_tied` rounds. All
    /// rounds play the boards of the step; each has its own seed, derived from the step's. A control run samples none again,
    /// because which groups are tied tells what the true rewards are.
    pub fn step_episodes(
        &self,
        inputs: &StepInputs,
        begun: StepInPlay,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Sampled, TrainError> {
        let requests = inputs.requests(self.config.rollout.num_generations);
        let rounds = if self.config.reward.shuffled { 0 } else { self.config.rollout.resample_tied };
        let lag = inputs.step - 1 - begun.policy_step;
        let (episodes, timing) = self.finish(begun.in_play, &requests, inputs.draw(), observer)?;
        let mut sampled = Sampled::new(&requests, episodes, timing, lag);
        for round in 0..rounds {
            let tied = sampled.tied(&self.config.grpo);
            if tied.is_empty() {
                break;
            }
            let seed = inputs.seed.child(Purpose::Resample, round as u64);
            // A completion has the place of the one that it replaces, and the stream of its number in the round.
            let mut streams = (0..).map(|number| CompletionId::new(seed, number));
            let again = tied.iter().map(|group| {
                let GroupRequest { prompt, ids } = &requests[*group];
                let ids = ids.iter().zip(&mut streams).map(|(old, new)| new.at(old.index)).collect();
                GroupRequest { prompt, ids }
            });
            let again: Vec<GroupRequest<'_>> = again.collect();
            let (of, tokens) = (sampled.episodes.items().len(), sampled.completion_tokens as usize);
            let completions = of - again.len() * sampled.episodes.size();
            let earlier = EarlierProgress { turns: 0, completions, tokens, of };
            earlier.begin(inputs.step, observer);
            let mut observer = |event: Event<'_>| earlier.emit(event, observer);
            let (episodes, timing) = self.episodes(&again, inputs.draw(), &mut observer)?;
            sampled.replace(&tied, Sampled::new(&again, episodes, timing, 0));
        }
        Ok(sampled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::episode::{Turn, fixture};
    use super::*;
    use crate::arena::{Arena, Workers};
    use crate::config::{Config, RolloutConfig};
    use crate::environment::game2048::unplayed;
    use crate::environment::{Ending, Outcome};
    use crate::fixture::{prompts, rollout_config, tiny_policy};
    use crate::parallel::Peers;
    use crate::program::Program;
    use crate::reward::Rule;
    use crate::rollout::{Completion, FinishReason};
    use crate::seed::Seed;

    fn episode(reward: f32, tokens: usize) -> Episode {
        let turn = fixture::turn(reward, FinishReason::Stop);
        let completion = Completion { ids: vec![1; tokens], logprobs: vec![0.0; tokens], ..turn.completion };
        fixture::alone(Turn { completion, ..turn })
    }

    fn sampled(rewards: &[f32], tokens: usize) -> Sampled {
        let episodes = Groups::new(2, rewards.iter().map(|reward| episode(*reward, tokens)).collect());
        Sampled::new(&[], episodes, Timing::default(), 1)
    }

    #[test]
    fn groups_sampled_anew_take_the_place_of_those_that_were_tied() {
        let mut step = sampled(&[0.5, 0.5, 0.1, 0.2, 0.3, 0.3], 10);
        let config = Config::preset("builtin").unwrap().grpo;
        let config = GrpoConfig { learn_from_best: 0, learn_from_worst: 0, ..config };
        assert_eq!(step.tied(&config), [0, 2]);
        assert!(step.is_off_policy() && step.policy_lag() == 1.0);
        let anew = Sampled { lags: vec![0; 2], ..sampled(&[0.6, 0.7, 0.4, 0.4], 100) };
        step.replace(&[0, 2], anew);
        assert!(step.is_off_policy() && step.policy_lag() == 1.0 / 3.0);
        let rewards: Vec<f32> = step.episodes.items().iter().map(|episode| episode.reward.value).collect();
        assert_eq!(rewards, [0.6, 0.7, 0.1, 0.2, 0.4, 0.4]);
        assert_eq!((step.tied(&config), step.resampled, step.completion_tokens), (vec![2], 2, 6 * 10 + 4 * 100));
    }

    #[test]
    fn the_progress_of_groups_that_are_sampled_again_goes_on_from_those_that_stay() {
        let play = |program: &Program, seed| {
            let score = if program.source().contains('W') { 400.0 } else { 9000.0 };
            Outcome { score, ..unplayed(seed, Ending::GameOver) }
        };
        let (arena, policy) = (Arena::stand_in(play, Workers::Inline).unwrap(), tiny_policy());
        let preset = Config::preset("builtin").unwrap();
        let rollout = RolloutConfig { resample_tied: 1, ..rollout_config(4, 6) };
        let grpo = GrpoConfig { learn_from_best: 0, learn_from_worst: 0, ..preset.grpo.clone() };
        let (config, peers) = (Config { rollout, grpo, ..preset }, &Peers::alone());
        let rule = &Rule::new(&config.reward, arena.environment());
        let stage = Stage { policy: &policy, servers: None, arena: &arena, rule, config: &config, peers, turns: None };
        let inputs = StepInputs { step: 1, seed: Seed::root(9), prompts: prompts(), boards: vec![Seed::root(5)] };
        let requests = inputs.requests(4);
        // The first group has two programs, the second none.
        let completion = |(id, place): (&CompletionId, usize)| {
            let text = match place {
                0..4 => format!("def strategy(board):\n    return '{}'\n", ["W", "A"][place % 2]),
                _ => String::new(),
            };
            Completion { id: *id, ids: vec![2, 1], logprobs: vec![0.0; 2], text, finish: FinishReason::Stop }
        };
        let ids = requests.iter().flat_map(|request| &request.ids);
        let completions = Groups::new(4, ids.zip(0..).map(completion).collect());
        let in_play = stage.play(&requests, completions, inputs.draw()).unwrap();
        let (mut decoding, mut scored) = (Vec::new(), Vec::new());
        let mut hear = |event: Event<'_>| match event {
            Event::Decoding { turn, tokens, finished, total, .. } => decoding.push((turn, tokens, finished, total)),
            Event::Scored { done, total, .. } => scored.push((done, total)),
            _ => (),
        };
        let step = stage.step_episodes(&inputs, StepInPlay { in_play, policy_step: 0 }, &mut hear).unwrap();
        assert_eq!((step.resampled, decoding.first()), (1, Some(&(1, 16, 4, 8))));
        assert_eq!(decoding.last(), Some(&(1, step.completion_tokens as usize, 8, 8)));
        assert_eq!(scored, (1..=8).chain(5..=8).map(|done| (done, 8)).collect::<Vec<_>>());
    }

    #[test]
    fn a_group_is_tied_if_those_are_equal_that_are_learnt_from() {
        let episodes = [0.5, 0.1, 0.5, 0.5, 0.1, 0.2].map(|reward| episode(reward, 10));
        let config = Config::preset("builtin").unwrap().grpo;
        let tied = |best, worst| {
            is_tied(&episodes, &GrpoConfig { learn_from_best: best, learn_from_worst: worst, ..config.clone() })
        };
        assert!(tied(3, 0) && tied(0, 2), "0.5 three times, 0.1 twice");
        assert!(!tied(4, 0) && !tied(0, 3) && !tied(1, 1) && !tied(0, 0));
    }

    #[test]
    fn a_group_is_tied_if_all_that_are_learnt_from_are_truncated_and_left_out() {
        let of = |finish: [FinishReason; 3]| -> Vec<Episode> {
            let rewards = [0.1, 0.3, 0.2].into_iter().zip(finish);
            rewards.map(|(reward, finish)| fixture::alone(fixture::turn(reward, finish))).collect()
        };
        let tied = |group: &[Episode], mask_truncated_completions, learn_from_best| {
            let config = Config::preset("builtin").unwrap().grpo;
            let some = GrpoConfig { mask_truncated_completions, learn_from_best, learn_from_worst: 0, ..config };
            is_tied(group, &some)
        };
        let cut = FinishReason::Length;
        let (all, some) = (of([cut; 3]), of([FinishReason::Stop, cut, cut]));
        assert!(tied(&all, true, 0) && !tied(&all, false, 0));
        assert!(!tied(&some, true, 0) && tied(&some, true, 2), "the one that ended is the worst");
    }
}
