//! Elites: the best distinct programs so far, imitated in later steps so that the policy does not forget them.
//!
//! Programs of a game race in one pool, whatever prompt they answered; each task has a pool of its own. The best score of
//! many noisy ones overestimates the program that it belongs to. So elites are ranked by the mean reward over all games
//! that they have played, drawn towards the policy's mean while these are few: they keep playing the boards of new steps,
//! and a program that drops out keeps its games for its return. All games are those of training steps.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::arena::{Arena, Evaluation, Scoring};
use crate::config::GrpoConfig;
use crate::groups::Groups;
use crate::parallel::Peers;
use crate::program::{Entry, Program};
use crate::prompt::Prompt;
use crate::reward::Judged;
use crate::rollout::FinishReason;
use crate::seed::{Purpose, Seed};

use super::TrainError;
use super::divided::{gather_evaluations, own_indices};
use super::episode::{Episode, Turn};
use super::scoring::StepInputs;

/// The games that one program has played in the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub games: u64,
    /// Sum of their rewards.
    pub reward: f64,
    /// Sum of their scores.
    #[serde(serialize_with = "crate::environment::points")]
    pub score: f64,
    /// The largest tile of all of them; none in games without tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
}

impl Tally {
    pub fn mean_reward(&self) -> f64 {
        self.reward / self.games.max(1) as f64
    }

    /// Mean reward per game, drawn towards `level` as by `prior` more games of that reward: the posterior mean of a normal
    /// prior whose variance is `1 / prior` of a game's.
    fn expected_reward(&self, level: f64, prior: f64) -> f64 {
        (self.reward + prior * level) / (self.games as f64 + prior).max(1.0)
    }

    pub fn mean_score(&self) -> f64 {
        self.score / self.games.max(1) as f64
    }

    /// Adds the `games` of one more step, whose evaluation has the reward `reward`.
    fn with(self, games: usize, reward: f32, evaluation: &Evaluation) -> Tally {
        Tally {
            games: self.games + games as u64,
            reward: self.reward + games as f64 * f64::from(reward),
            score: self.score + evaluation.games.iter().map(|game| game.score).sum::<f64>(),
            max_tile: self.max_tile.max(best_tile(evaluation)),
        }
    }
}

/// The largest tile, if the games have tiles.
pub(super) fn best_tile(evaluation: &Evaluation) -> Option<u32> {
    evaluation.games.iter().any(|game| game.board().is_some()).then(|| evaluation.max_tile())
}

/// One program of a step that is worth imitating.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Elite {
    /// Digest of its syntax tree, in hexadecimal.
    pub program: String,
    pub source: String,
    /// The [`Prompt::id`] of the prompt that it answered.
    pub prompt: u32,
    /// The style of that prompt, or the name of its task.
    #[serde(default)]
    pub style: String,
    /// Token ids of the completion, including the one that ended it.
    pub ids: Vec<u32>,
    /// The step that sampled it.
    pub step: usize,
}

/// How programs compete for the places of elites.
#[derive(Debug, Clone, Copy)]
pub struct Race {
    /// Whether all of them play the same game. Otherwise those of each task compete among themselves.
    pub one_pool: bool,
    /// Number of elites of a pool.
    pub kept: usize,
    /// Games of the policy's mean reward that each program counts as having played besides its own.
    pub prior: f64,
    /// Games that an elite has played before it is imitated.
    pub min_games: u64,
}

impl Race {
    /// The race of the programs of one game, or of tasks. A task's outcome is known after one evaluation.
    pub fn of(config: &GrpoConfig, has_tests: bool) -> Race {
        let kept = config.elites_kept;
        match has_tests {
            true => Race { one_pool: false, kept, prior: 0.0, min_games: 0 },
            false => Race { one_pool: true, kept, prior: config.elite_prior, min_games: config.elite_min_games as u64 },
        }
    }

    /// The name of the pool of a prompt's programs.
    fn pool(self, style: &str) -> &str {
        if self.one_pool { "" } else { style }
    }
}

/// The elites of a run and their games.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Elites {
    /// The elites of each pool, best first.
    pools: BTreeMap<String, Vec<Elite>>,
    /// Games of every program that is or was an elite, by its [`key`].
    tallies: BTreeMap<String, Tally>,
    /// For each pool, the mean reward of its episodes in the latest step that sampled for it.
    levels: BTreeMap<String, f64>,
}

impl Elites {
    /// Every elite with its games, by pool, best first.
    pub fn members(&self) -> impl Iterator<Item = (&Elite, Tally)> {
        self.all().map(|(pool, elite)| (elite, self.tally(pool, &elite.program)))
    }

    /// Every elite with its pool, best first.
    fn all(&self) -> impl Iterator<Item = (&str, &Elite)> {
        self.pools.iter().flat_map(|(pool, elites)| elites.iter().map(move |elite| (pool.as_str(), elite)))
    }

    /// The elites that play again: half of them have the fewest games, the others are the best of the rest, whose luck
    /// matters the most. A program comes once.
    pub fn to_replay(&self, count: usize, entry: &Entry) -> Vec<Again> {
        let mut by_games: Vec<(u64, &Elite)> = self.members().map(|(elite, tally)| (tally.games, elite)).collect();
        by_games.sort_by_key(|(games, elite)| (*games, &elite.program));
        let fewest = by_games.into_iter().map(|(_, elite)| elite).take(count.div_ceil(2));
        let mut known = BTreeSet::new();
        let distinct = fewest.chain(self.pools.values().flatten()).filter(|elite| known.insert(&elite.program));
        let again = |elite: &Elite| {
            let program = Program::from_text(&elite.source, entry).ok()?;
            Some(Again { digest: elite.program.clone(), program, tokens: elite.ids.len() })
        };
        distinct.take(count).filter_map(again).collect()
    }

    /// Draws up to `count` elites at random, without replacement, from those that are expected to earn more than the
    /// latest mean of their pool and have played enough. The others are left out, because the policy already writes
    /// programs as good as these, or may.
    pub fn draw(&self, seed: Seed, count: usize, race: Race) -> Vec<Elite> {
        let is_better = |pool: &str, tally: Tally| {
            let level = self.levels.get(pool).copied();
            tally.games >= race.min_games && level.is_none_or(|level| tally.expected_reward(level, race.prior) > level)
        };
        let mut left: Vec<&Elite> = self
            .all()
            .filter(|(pool, elite)| is_better(pool, self.tally(pool, &elite.program)))
            .map(|(_, elite)| elite)
            .collect();
        let mut rng = seed.child(Purpose::Elite, 0).rng();
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count && !left.is_empty() {
            drawn.push(left.remove(rng.random_range(0..left.len())).clone());
        }
        drawn
    }

    /// Adds the results of a step: the games of elites that played again, then its episodes.
    pub fn take_in(&mut self, step: usize, replays: &[Replayed], sampled: StepEpisodes<'_>, race: Race) {
        self.levels.extend(sampled.levels(race));
        // Tallies that include this step. Equal programs of one pool and step played the same boards, so they count once.
        let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
        let mut observe = |pool: &str, digest: &str, reward: f32, evaluation: &Evaluation| {
            let with = || self.tally(pool, digest).with(sampled.games, reward, evaluation);
            *tallies.entry((pool.to_owned(), digest.to_owned())).or_insert_with(with)
        };
        for Replayed { program, reward, evaluation } in replays {
            let has_it = |elites: &[Elite]| elites.iter().any(|elite| elite.program == *program);
            for (pool, _) in self.pools.iter().filter(|(_, elites)| has_it(elites)) {
                observe(pool, program, *reward, evaluation);
            }
        }
        let mut candidates = Vec::new();
        for (prompt, episode) in sampled.episodes.with(sampled.prompts) {
            let Turn { completion, program, evaluation, reward, .. } = episode.answer();
            let Ok(program) = program else { continue };
            let digest = program.digest_text();
            let tally = observe(race.pool(&prompt.style), &digest, reward.value, evaluation);
            // Imitating a truncated completion would teach the policy not to end, and one that passes a honeypot to cheat.
            // The program of a later turn is imitated as if it answered the prompt at once, since every turn continues the
            // same beginning.
            if episode.plays() && !episode.is_of_honeypot() && completion.finish == FinishReason::Stop {
                let (source, ids) = (program.source().to_owned(), completion.ids.clone());
                let style = prompt.style.clone();
                candidates.push((Elite { program: digest, source, prompt: prompt.id, style, ids, step }, tally));
            }
        }
        let observed: Vec<(String, Tally)> = tallies
            .into_iter()
            .filter(|((pool, digest), _)| known(&self.tallies, pool, digest).is_some())
            .map(|((pool, digest), tally)| (key(&pool, &digest), tally))
            .collect();
        self.tallies.extend(observed);
        for (elite, tally) in candidates {
            self.admit(elite, tally, race);
        }
        self.rank(race);
    }

    /// Adds a program if fewer elites of its pool than have a place are at least as good. Does not sort.
    fn admit(&mut self, elite: Elite, tally: Tally, race: Race) {
        let pool = race.pool(&elite.style);
        let level = self.levels.get(pool).copied().unwrap_or_default();
        let expected = |elite: &Elite| self.tally(pool, &elite.program).expected_reward(level, race.prior);
        let known = self.pools.get(pool).map_or(&[][..], Vec::as_slice);
        let is_known = known.iter().any(|known| known.program == elite.program);
        let own = tally.expected_reward(level, race.prior);
        if !is_known && known.iter().filter(|known| expected(known) >= own).count() < race.kept {
            self.tallies.insert(key(pool, &elite.program), tally);
            self.pools.entry(pool.to_owned()).or_default().push(elite);
        }
    }

    /// Sorts each pool, best first and earlier programs first among equals, and keeps as many as have a place.
    fn rank(&mut self, race: Race) {
        for (pool, elites) in &mut self.pools {
            let level = self.levels.get(pool).copied().unwrap_or_default();
            let tally = |elite: &Elite| known(&self.tallies, pool, &elite.program).unwrap_or_default();
            let expected = |elite: &Elite| tally(elite).expected_reward(level, race.prior);
            elites.sort_by(|a, b| expected(b).total_cmp(&expected(a)).then(a.step.cmp(&b.step)));
            elites.truncate(race.kept);
        }
    }

    /// The content of `elites.json`: an array with one object per elite.
    pub fn summary(&self) -> Vec<u8> {
        let line = |(elite, tally): (&Elite, Tally)| {
            serde_json::json!({
                "style": elite.style,
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

    fn tally(&self, pool: &str, digest: &str) -> Tally {
        known(&self.tallies, pool, digest).unwrap_or_default()
    }
}

/// What the games of a program are kept under: its digest, and its task if pools are those of tasks, because the same program
/// may answer two of them, one well and one badly.
fn key(pool: &str, digest: &str) -> String {
    if pool.is_empty() { digest.to_owned() } else { format!("{digest} {pool}") }
}

/// The games of a program, if it is or was an elite of this pool. Checkpoints of earlier versions have one tally of a
/// program for all tasks.
fn known(tallies: &BTreeMap<String, Tally>, pool: &str, digest: &str) -> Option<Tally> {
    tallies.get(&key(pool, digest)).or_else(|| tallies.get(digest)).copied()
}

/// The episodes of a step, from which elites are chosen.
#[derive(Clone, Copy)]
pub struct StepEpisodes<'a> {
    /// One prompt per group.
    pub prompts: &'a [Prompt],
    pub episodes: &'a Groups<Episode>,
    /// Games that each episode played.
    pub games: usize,
}

impl<'a> StepEpisodes<'a> {
    /// Mean reward by pool.
    fn levels(self, race: Race) -> BTreeMap<String, f64> {
        let mut sums: BTreeMap<String, (f64, usize)> = BTreeMap::new();
        for (prompt, episode) in self.episodes.with(self.prompts) {
            let (sum, count) = sums.entry(race.pool(&prompt.style).to_owned()).or_default();
            *sum += f64::from(episode.answer().reward.value);
            *count += 1;
        }
        sums.into_iter().map(|(style, (sum, count))| (style, sum / count as f64)).collect()
    }
}

/// An elite that is to play again.
#[derive(Debug, Clone)]
pub struct Again {
    /// Digest of the program, in hexadecimal.
    pub digest: String,
    pub program: Program,
    /// Tokens of the completion that it came in.
    pub tokens: usize,
}

/// An elite that has played the boards of a step again.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// Digest of the program, in hexadecimal.
    pub program: String,
    /// Reward of its games in this step.
    pub reward: f32,
    pub evaluation: Evaluation,
}

/// Elites that play while a step is sampled.
pub struct Replay {
    scoring: Scoring,
    elites: Vec<Again>,
    peers: Peers,
}

impl Replay {
    /// Starts games of `elites` on the boards of a step, each program on one of the processes.
    pub fn begin(
        arena: &Arena,
        peers: &Peers,
        elites: Vec<Again>,
        StepInputs { step, boards, .. }: &StepInputs,
    ) -> Self {
        let mut scoring = arena.begin(*step);
        for index in own_indices(peers, elites.len()) {
            scoring.submit(index, Ok(elites[index].program.clone()), boards);
        }
        Replay { scoring, elites, peers: peers.clone() }
    }

    /// Waits for the games. `reward` computes the reward of the evidence, which is that of a completion of up to `most`
    /// tokens: what was sampled and what plays again are ranked by the same rewards.
    pub fn finish(self, most: usize, reward: impl Fn(Judged<'_>) -> f32) -> Result<Vec<Replayed>, TrainError> {
        let evaluations = gather_evaluations(&self.peers, self.scoring.finish(&mut |_, _| ())?)?;
        let replayed = |(Again { digest, program, tokens }, evaluation): (Again, Evaluation)| {
            let judged = Judged { evaluation: &evaluation, tokens: Some((tokens, most)), program: Some(&program) };
            Replayed { program: digest, reward: reward(judged), evaluation }
        };
        Ok(self.elites.into_iter().zip(evaluations.into_values()).map(replayed).collect())
    }
}

#[cfg(test)]
mod tests;
