//! Elites: the best distinct programs of each style, imitated in later steps so that the policy does not forget them.
//!
//! The best score of many noisy ones overestimates the program that it belongs to. So elites are ranked by the mean
//! reward over all games that they have played: they keep playing the boards of new steps, and a program that drops out
//! keeps its games for its return. All games are those of training steps.

use std::collections::BTreeMap;

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::arena::{Arena, Evaluation, Scoring};
use crate::groups::Groups;
use crate::parallel::Peers;
use crate::program::{Entry, Program};
use crate::prompt::Prompt;
use crate::rollout::FinishReason;
use crate::seed::{Purpose, Seed};

use super::TrainError;
use super::ahead::StepInputs;
use super::divided::{gather_evaluations, own_indices};
use super::episode::Episode;

/// The games that one program has played in the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Number of games.
    pub games: u64,
    /// Sum of their rewards.
    pub reward: f64,
    /// Sum of their scores.
    #[serde(serialize_with = "crate::environment::points")]
    pub score: f64,
}

impl Tally {
    /// Mean reward per game.
    pub fn mean_reward(&self) -> f64 {
        self.reward / self.games.max(1) as f64
    }

    /// Mean score per game.
    pub fn mean_score(&self) -> f64 {
        self.score / self.games.max(1) as f64
    }

    /// Adds the `games` of one more step, whose evaluation has the reward `reward`.
    fn with(self, games: usize, reward: f32, evaluation: &Evaluation) -> Tally {
        Tally {
            games: self.games + games as u64,
            reward: self.reward + games as f64 * f64::from(reward),
            score: self.score + evaluation.games.iter().map(|game| game.score).sum::<f64>(),
        }
    }
}

/// One program of a step that is worth imitating.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Elite {
    /// Digest of its syntax tree, in hexadecimal.
    pub program: String,
    /// Its Python source.
    pub source: String,
    /// The [`Prompt::id`] of the prompt that it answered.
    pub prompt: u32,
    /// Token ids of the completion, including the one that ended it.
    pub ids: Vec<u32>,
    /// The step that sampled it.
    pub step: usize,
}

/// The elites of a run and their games.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Elites {
    /// The elites of each style, best first.
    styles: BTreeMap<String, Vec<Elite>>,
    /// Games of every program that is or was an elite, by digest.
    tallies: BTreeMap<String, Tally>,
    /// For each style, the mean reward of its episodes in the latest step that inputs for it.
    levels: BTreeMap<String, f64>,
}

impl Elites {
    /// Every elite with its style and its games, by style, best first.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Elite, Tally)> {
        self.styles.iter().flat_map(move |(style, elites)| {
            elites.iter().map(move |elite| (style.as_str(), elite, self.tally(&elite.program)))
        })
    }

    /// The `count` elites with the fewest games, as digest and program. A program that is an elite of several styles
    /// comes once.
    pub fn least_played(&self, count: usize, entry: &Entry) -> Vec<(String, Program)> {
        let mut known: Vec<(u64, &str, &str)> = self
            .members()
            .map(|(_, elite, tally)| (tally.games, elite.program.as_str(), elite.source.as_str()))
            .collect();
        known.sort_unstable();
        known.dedup_by_key(|(_, digest, _)| *digest);
        let program = |(_, digest, source): (u64, &str, &str)| {
            Program::from_text(source, entry).ok().map(|program| (digest.to_owned(), program))
        };
        known.into_iter().take(count).filter_map(program).collect()
    }

    /// Draws up to `count` elites at random, without replacement, from those whose mean reward is above the latest mean
    /// of their style. The others are left out, because the policy already writes programs as good as these.
    pub fn draw(&self, seed: Seed, count: usize) -> Vec<Elite> {
        let better =
            |style: &str, tally: Tally| self.levels.get(style).is_none_or(|level| tally.mean_reward() > *level);
        let mut left: Vec<&Elite> =
            self.members().filter(|(style, _, tally)| better(style, *tally)).map(|(_, elite, _)| elite).collect();
        let mut rng = seed.child(Purpose::Elite, 0).rng();
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count && !left.is_empty() {
            drawn.push(left.remove(rng.random_range(0..left.len())).clone());
        }
        drawn
    }

    /// Adds the results of a step: the games of elites that played again, then its episodes. Keeps at most `per_style`
    /// elites of each style.
    pub fn take_in(&mut self, step: usize, replays: &[Replayed], sampled: StepEpisodes<'_>, per_style: usize) {
        self.levels.extend(sampled.levels());
        // Tallies that include this step. Equal programs of one step played the same boards, so they count once.
        let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
        let mut observe = |digest: &str, reward: f32, evaluation: &Evaluation| {
            let with = || self.tally(digest).with(sampled.games, reward, evaluation);
            *tallies.entry(digest.to_owned()).or_insert_with(with)
        };
        for Replayed { program, reward, evaluation } in replays {
            observe(program, *reward, evaluation);
        }
        let mut candidates = Vec::new();
        for (prompt, episode) in sampled.episodes.with(sampled.prompts) {
            let Ok(program) = &episode.program else { continue };
            let digest = program.digest_text();
            let tally = observe(&digest, episode.reward.value, &episode.evaluation);
            // Imitating a truncated completion would teach the policy not to end.
            if episode.plays() && episode.completion.finish == FinishReason::Stop {
                let (source, ids) = (program.source().to_owned(), episode.completion.ids.clone());
                candidates.push((
                    &prompt.style,
                    Elite { program: digest, source, prompt: prompt.id, ids, step },
                    tally,
                ));
            }
        }
        for (digest, tally) in tallies {
            self.tallies.entry(digest).and_modify(|known| *known = tally);
        }
        for (style, elite, tally) in candidates {
            self.admit(style, elite, tally, per_style);
        }
        self.rank(per_style);
    }

    /// Adds a program if its style has fewer than `per_style` elites that are at least as good. Does not sort.
    fn admit(&mut self, style: &str, elite: Elite, tally: Tally, per_style: usize) {
        let elites = self.styles.entry(style.to_owned()).or_default();
        if elites.iter().any(|known| known.program == elite.program) {
            return;
        }
        let mean = |elite: &Elite| self.tallies.get(&elite.program).map_or(0.0, Tally::mean_reward);
        if elites.iter().filter(|known| mean(known) >= tally.mean_reward()).count() < per_style {
            self.tallies.insert(elite.program.clone(), tally);
            elites.push(elite);
        }
    }

    /// Sorts each style, best first and earlier programs first among equals, and keeps the first `per_style`.
    fn rank(&mut self, per_style: usize) {
        let mean = |elite: &Elite| self.tallies.get(&elite.program).map_or(0.0, Tally::mean_reward);
        for elites in self.styles.values_mut() {
            elites.sort_by(|a, b| mean(b).total_cmp(&mean(a)).then(a.step.cmp(&b.step)));
            elites.truncate(per_style);
        }
    }

    /// The content of `elites.json`: an array with one object per elite.
    pub fn summary(&self) -> Vec<u8> {
        let line = |(style, elite, tally): (&str, &Elite, Tally)| {
            serde_json::json!({
                "style": style,
                "program": elite.program,
                "source": elite.source,
                "step": elite.step,
                "games": tally.games,
                "mean_reward": tally.mean_reward(),
                "mean_score": tally.mean_score(),
            })
        };
        let lines: Vec<serde_json::Value> = self.members().map(line).collect();
        serde_json::to_vec_pretty(&lines).expect("elites are JSON")
    }

    fn tally(&self, digest: &str) -> Tally {
        self.tallies.get(digest).copied().unwrap_or_default()
    }
}

/// The episodes of a step, from which elites are chosen.
#[derive(Clone, Copy)]
pub struct StepEpisodes<'a> {
    /// One prompt per group.
    pub prompts: &'a [Prompt],
    /// The groups of episodes.
    pub episodes: &'a Groups<Episode>,
    /// Games that each episode played.
    pub games: usize,
}

impl<'a> StepEpisodes<'a> {
    /// Mean reward by style.
    fn levels(self) -> BTreeMap<String, f64> {
        let mut sums: BTreeMap<String, (f64, usize)> = BTreeMap::new();
        for (prompt, episode) in self.episodes.with(self.prompts) {
            let (sum, count) = sums.entry(prompt.style.clone()).or_default();
            *sum += f64::from(episode.reward.value);
            *count += 1;
        }
        sums.into_iter().map(|(style, (sum, count))| (style, sum / count as f64)).collect()
    }
}

/// An elite that has played the boards of a step again.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// Digest of the program, in hexadecimal.
    pub program: String,
    /// Reward of its games in this step.
    pub reward: f32,
    /// Outcomes of its games in this step.
    pub evaluation: Evaluation,
}

/// Elites that play while a step is sampled.
pub struct Replay {
    scoring: Scoring,
    programs: Vec<String>,
    peers: Peers,
}

impl Replay {
    /// Starts games of `elites` (digest and program) on the boards of a step, each program on one of the processes.
    pub fn begin(
        arena: &Arena,
        peers: &Peers,
        elites: Vec<(String, Program)>,
        StepInputs { step, boards, .. }: &StepInputs,
    ) -> Self {
        let mut scoring = arena.begin(*step);
        for index in own_indices(peers, elites.len()) {
            scoring.submit(index, Ok(elites[index].1.clone()), boards);
        }
        let programs = elites.into_iter().map(|(digest, _)| digest).collect();
        Replay { scoring, programs, peers: peers.clone() }
    }

    /// Waits for the games. `reward` computes the reward of an evaluation.
    pub fn finish(self, reward: impl Fn(&Evaluation) -> f32) -> Result<Vec<Replayed>, TrainError> {
        let own = own_indices(&self.peers, self.programs.len());
        let evaluations = gather_evaluations(&self.peers, own.zip(self.scoring.finish(&mut |_, _| ())?))?;
        let replayed = |(program, evaluation)| Replayed { program, reward: reward(&evaluation), evaluation };
        Ok(self.programs.into_iter().zip(evaluations).map(replayed).collect())
    }
}

#[cfg(test)]
mod tests;
