//! What the latest groups of each prompt have earned, and which prompts that leads to.
//!
//! With `rollout.draw = "pools"` every prompt is in the pool of its newest group's mean reward, and a step draws prompts
//! with replacement by the weights of their pools. Source: the difficulty pools of prime-rl (docs/algorithms.md,
//! "Curricula"), with its thresholds and weights.
//!
//! Takes the episodes of each step; changes with the other state of the trainer, so that resumed runs and all processes
//! draw alike.

use std::collections::BTreeMap;

use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};

use crate::groups::Groups;
use crate::prompt::Prompt;
use crate::seed::{Purpose, Seed};
use crate::stats;

use super::episode::Episode;

/// How hard a prompt is for the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// A mean reward of at most 0.25.
    Hard,
    /// Between the others.
    Normal,
    /// A mean reward above 0.75.
    Easy,
    /// No group has answered it yet.
    Unseen,
}

impl Pool {
    const ALL: [Pool; 4] = [Pool::Hard, Pool::Normal, Pool::Easy, Pool::Unseen];

    fn of(mean_reward: f64) -> Pool {
        match mean_reward {
            mean if mean <= 0.25 => Pool::Hard,
            mean if mean <= 0.75 => Pool::Normal,
            _ => Pool::Easy,
        }
    }

    /// Chance to be drawn, relative to the other prompts.
    fn weight(self) -> f64 {
        match self {
            Pool::Normal | Pool::Unseen => 1.0,
            Pool::Hard | Pool::Easy => 0.2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Pool::Hard => "hard",
            Pool::Normal => "normal",
            Pool::Easy => "easy",
            Pool::Unseen => "unseen",
        }
    }
}

/// What the groups of one prompt have come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Standing {
    /// Mean reward of the newest group.
    mean_reward: f64,
    groups: usize,
    /// Step of the newest group.
    step: usize,
    /// Step of the first completion that succeeded: that passed all tests, or played.
    solved: Option<usize>,
    /// Whether the prompt asks for a honeypot, which no honest program solves.
    #[serde(default)]
    honeypot: bool,
}

/// The standing of every prompt that a step has asked, by the name of its style or task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Curriculum(BTreeMap<String, Standing>);

impl Curriculum {
    /// Whether no step has been taken in.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in the groups of a step. Of several groups of a prompt the last one counts. The thresholds are of the reward of
    /// one program, so the turn that counts is taken, and never a sum over turns.
    pub fn take_in(&mut self, step: usize, prompts: &[Prompt], episodes: &Groups<Episode>) {
        for (prompt, group) in prompts.iter().zip(episodes.iter()) {
            let mean_reward = stats::mean(group.iter().map(|episode| f64::from(episode.answer().reward.value)));
            let solved = group.iter().any(Episode::plays).then_some(step);
            let before = self.0.get(&prompt.style);
            let groups = before.map_or(0, |before| before.groups) + 1;
            let solved = before.and_then(|before| before.solved).or(solved);
            // What is no program was tried on nothing, so of a group of such nobody can tell.
            let honeypot = before.is_some_and(|before| before.honeypot) || group.iter().any(Episode::is_of_honeypot);
            self.0.insert(prompt.style.clone(), Standing { mean_reward, groups, step, solved, honeypot });
        }
    }

    /// Draws `count` of `prompts` with replacement, by the weights of their pools.
    pub fn draw(&self, prompts: &[Prompt], seed: Seed, count: usize) -> Vec<Prompt> {
        let mut rng = seed.child(Purpose::Prompt, 1).rng();
        let one = |_| prompts.choose_weighted(&mut rng, |prompt| self.pool(prompt).weight());
        (0..count).map(one).map(|drawn| drawn.expect("prompts with positive weights").clone()).collect()
    }

    fn pool(&self, prompt: &Prompt) -> Pool {
        self.0.get(&prompt.style).map_or(Pool::Unseen, |standing| Pool::of(standing.mean_reward))
    }

    /// Numbers of `prompts` by name: those in each pool, and those that were asked and never solved, without honeypots.
    pub fn counts(&self, prompts: &[Prompt]) -> Vec<(&'static str, usize)> {
        let in_pool = |pool: Pool| prompts.iter().filter(|prompt| self.pool(prompt) == pool).count();
        let standings = prompts.iter().filter_map(|prompt| self.0.get(&prompt.style));
        let never = standings.filter(|standing| standing.solved.is_none() && !standing.honeypot).count();
        let pools = Pool::ALL.map(|pool| (pool.name(), in_pool(pool)));
        pools.into_iter().chain([("never_solved", never)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(style: &str) -> Prompt {
        Prompt { style: style.into(), ..Prompt::default() }
    }

    fn standing(mean_reward: f64) -> Standing {
        Standing { mean_reward, groups: 1, step: 1, solved: (mean_reward > 0.0).then_some(1), honeypot: false }
    }

    #[test]
    fn a_honeypot_is_none_of_the_prompts_that_nobody_solved() {
        let trap = Standing { honeypot: true, ..standing(0.0) };
        let known = [("add", standing(-0.5)), ("add (honeypot)", trap)];
        let curriculum = Curriculum(known.map(|(name, standing)| (name.to_owned(), standing)).into());
        let counts = curriculum.counts(&["add", "add (honeypot)", "new"].map(prompt));
        assert_eq!((counts[0], counts[4]), (("hard", 2), ("never_solved", 1)));
    }

    #[test]
    fn prompts_are_drawn_by_the_weights_of_their_pools() {
        let means = [("a", -0.5), ("b", 0.25), ("c", 0.26), ("d", 0.75), ("e", 0.76), ("f", 1.0)];
        let curriculum = Curriculum(means.map(|(name, mean)| (name.to_owned(), standing(mean))).into());
        let prompts = ["a", "b", "c", "d", "e", "f", "new"].map(prompt);
        assert_eq!(
            curriculum.counts(&prompts),
            [("hard", 2), ("normal", 2), ("easy", 2), ("unseen", 1), ("never_solved", 1)]
        );
        let count = 20_000;
        let drawn = curriculum.draw(&prompts, Seed::root(1), count);
        // 0.2 for four prompts and 1 for three.
        for (name, weight) in [("a", 0.2), ("b", 0.2), ("c", 1.0), ("d", 1.0), ("e", 0.2), ("f", 0.2), ("new", 1.0)] {
            let share = drawn.iter().filter(|drawn| drawn.style == name).count() as f64 / count as f64;
            assert!((share - weight / 3.8).abs() < 0.012, "{name}: {share}");
        }
        assert_eq!(drawn[..50], curriculum.draw(&prompts, Seed::root(1), 50)[..], "the same seed, the same prompts");
        assert_ne!(drawn[..50], curriculum.draw(&prompts, Seed::root(2), 50)[..]);
    }
}
