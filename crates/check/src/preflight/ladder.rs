//! Checks with players of known strength and programs that cheat, which serve any game.
//!
//! Rewards are only compared with each other; no check knows how a reward is computed.

use super::JudgedTrial;
use super::finding::{Check, CheckFinding, Level};
use crate::arena::{Evaluation, Start};
use crate::config::Config;
use crate::environment::game2048::ladder::BROKEN;
use crate::environment::{Ending, Labels, Outcome};
use crate::plural::counted;
use crate::stats;

/// Expected share of the range of rewards above the simplest player. Below it, climbing is hardly worth the risk of
/// failing. Chosen between shapes of 2048's reward: the share is 85 % for an exponent of 1, 56 % for 0.5, 30 % for 0.25 and
/// 13 % for 0.1. The games of `examples/` have 84 to 96 %.
pub const CLIMB_EXPECTED: f32 = 0.2;
/// Share of the range below which the reward counts as flat. Chosen: a quarter of what is expected.
const CLIMB_LEAST: f32 = 0.05;
/// Standard errors within which scores count as equal: with 2, equal players seem to differ in about one check of twenty.
const NOISE: f64 = 2.0;
/// Settings that change the shape of the reward.
pub const SHAPE: &[&str] = &["reward.exponent", "reward.scale"];

/// A player of known rank.
#[derive(Clone, Copy)]
pub struct ReferencePlayer<'a> {
    pub name: &'a str,
    /// Rank of players of about equal strength; players of rank [`BROKEN`] never play.
    pub rank: u8,
    pub judged: &'a JudgedTrial,
}

/// A program that tries to earn reward other than by playing well.
pub struct JudgedCheat<'a> {
    pub name: &'a str,
    /// The honest player that it copies, with the same chance.
    pub honest: ReferencePlayer<'a>,
    pub judged: &'a JudgedTrial,
}

/// The results of all players, weakest first, and of all cheats.
pub struct Ladder<'a> {
    pub config: &'a Config,
    pub players: Vec<ReferencePlayer<'a>>,
    pub cheats: Vec<JudgedCheat<'a>>,
    /// Settings that end games early.
    pub limits: &'static [&'static str],
    /// The setting whose limit ended a game.
    pub limit: fn(&Outcome) -> Option<&'static str>,
    pub labels: Labels,
}

impl ReferencePlayer<'_> {
    /// `greedy earns 0.272`.
    fn earns(&self) -> String {
        format!("{} earns {:.3}", self.name, self.judged.reward.value)
    }
}

impl Ladder<'_> {
    /// Checks that broken players do not play, all others do, and not playing earns least.
    pub fn failures(&self) -> CheckFinding {
        for player in &self.players {
            let Evaluation { start, .. } = &player.judged.evaluation;
            let plays = matches!(start, Start::Played);
            if plays == (player.rank == BROKEN) {
                let reason = start.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
                let verdict = player.judged.evaluation.verdict(false).name();
                let text = format!("{} counts as {verdict}{reason}", player.name);
                return CheckFinding::problem(Check::Failures, text).blame(self.config, self.limits);
            }
        }
        let highest = self.extreme(|player| player.rank == BROKEN, |a, b| a > b);
        let lowest = self.extreme(|player| player.rank > BROKEN, |a, b| a < b);
        let text = format!("{} against {}", self.earns(highest), self.earns(lowest));
        match self.reward(highest) < self.reward(lowest) {
            true => CheckFinding::ok(Check::Failures, format!("broken programs earn least: {text}")),
            false => {
                CheckFinding::problem(Check::Failures, format!("a broken program outranks one that plays: {text}"))
                    .blame(self.config, SHAPE)
            }
        }
    }

    /// Checks that a higher rank earns more. A player whose games a limit cut short shows only part of its strength.
    /// The message for a correct order begins with rank `from`.
    pub fn order(&self, from: u8) -> CheckFinding {
        let playing = || (0..self.players.len()).filter(|&at| self.players[at].rank > BROKEN);
        let pairs = playing().flat_map(|weak| playing().map(move |strong| (weak, strong)));
        let wrong: Vec<(usize, usize)> = pairs
            .filter(|&(weak, strong)| self.players[weak].rank < self.players[strong].rank)
            .filter(|&(_, strong)| !self.is_limited(&self.players[strong]))
            .filter(|&(weak, strong)| !rises(self.reward(weak), self.reward(strong)))
            .collect();
        let Some(&(weak, strong)) = wrong.first() else { return CheckFinding::ok(Check::Order, self.chain(from)) };
        let scores = [strong, weak].map(|player| self.players[player].judged.evaluation.mean_score());
        let [more, less] = scores.map(|score| self.labels.written_finer(score, self.labels.finer(&scores)));
        let text = format!(
            "{} of players {} out of order: {} for {more} points, {} for {less}",
            counted(wrong.len(), "pair"),
            if wrong.len() == 1 { "is" } else { "are" },
            self.earns(strong),
            self.earns(weak),
        );
        let finding = CheckFinding::problem(Check::Order, text).blame(self.config, &[SHAPE, self.limits].concat());
        if wrong.iter().any(|&(weak, strong)| self.differ(weak, strong)) {
            return finding;
        }
        let remedy = "their scores are within the noise of so few games: references further apart tell more";
        CheckFinding { level: Level::Warning, ..finding }.mend(remedy)
    }

    /// Whether the scores of two players on the same games differ by more than chance, or not at all.
    fn differ(&self, one: usize, other: usize) -> bool {
        let games = |player: usize| self.players[player].judged.evaluation.games.iter().map(|game| game.score);
        let gains: Vec<f64> = games(one).zip(games(other)).map(|(one, other)| other - one).collect();
        let count = gains.len() as f64;
        let (mean, variance) = (stats::mean(gains.iter().copied()), stats::variance(gains.iter().copied()));
        // Of a single game nothing is known of the noise: it has no variance.
        mean.abs() > NOISE * (variance / count).sqrt() || variance == 0.0
    }

    /// `cycle 0.24 < greedy 0.27 < ...`: the first player of each rank from `from` on.
    fn chain(&self, from: u8) -> String {
        let mut text = String::new();
        let mut last: Option<usize> = None;
        for (at, player) in self.players.iter().enumerate().filter(|(_, player)| player.rank >= from) {
            if last.is_some_and(|last| self.players[last].rank == player.rank) {
                continue;
            }
            let sign = match last {
                None => "",
                Some(last) if rises(self.reward(last), self.reward(at)) => " < ",
                Some(_) => "; cut short: ",
            };
            text.push_str(&format!("{sign}{} {:.2}", player.name, self.reward(at)));
            last = Some(at);
        }
        text
    }

    /// Checks that the step from the player `simplest` to the best one is a good part of the whole range of rewards.
    pub fn spread(&self, simplest: usize) -> CheckFinding {
        let best = self.extreme(|player| player.rank > BROKEN, |a, b| a > b);
        let worst = self.extreme(|_| true, |a, b| a < b);
        let climb = self.reward(best) - self.reward(simplest);
        let range = self.reward(best) - self.reward(worst);
        let share = if range > 0.0 { climb / range } else { 0.0 };
        let text = format!(
            "from {} {:.3} to {} {:.3} is {:.0}% of the range of rewards",
            self.players[simplest].name,
            self.reward(simplest),
            self.players[best].name,
            self.reward(best),
            100.0 * share
        );
        match share {
            share if share >= CLIMB_EXPECTED => CheckFinding::ok(Check::Spread, text),
            share if share >= CLIMB_LEAST => {
                let text =
                    format!("{text}; expected at least {:.0}%: playing well barely pays", 100.0 * CLIMB_EXPECTED);
                CheckFinding::warning(Check::Spread, text).blame(self.config, SHAPE)
            }
            _ => {
                let text = format!("the reward is flat: {text}; expected at least {:.0}%", 100.0 * CLIMB_LEAST);
                CheckFinding::problem(Check::Spread, text).blame(self.config, &[SHAPE, self.limits].concat())
            }
        }
    }

    /// Checks that a cheat earns no more than the player that it copies.
    pub fn cheats(&self) -> CheckFinding {
        let paid: Vec<String> = self.cheats.iter().filter_map(|cheat| self.paid(cheat)).collect();
        let all = counted(self.cheats.len(), "cheat");
        match paid.first() {
            None => CheckFinding::ok(Check::Cheats, format!("{all} earn nothing")),
            Some(first) => CheckFinding::problem(Check::Cheats, format!("{} of {all} pay: {first}", paid.len())),
        }
    }

    /// What a cheat earns, where that is more than the player that it copies.
    pub fn paid(&self, cheat: &JudgedCheat) -> Option<String> {
        let JudgedCheat { name, honest, judged } = cheat;
        let earned = judged.reward.value;
        // If a limit stops the honest player at another call than its copy, the two do not compare.
        let pays = !self.is_limited(honest) && rises(honest.judged.reward.value, earned);
        pays.then(|| format!("{name} earns {earned:.3}, {} without it", honest.earns()))
    }

    pub fn reward(&self, player: usize) -> f32 {
        self.players[player].judged.reward.value
    }

    /// `greedy earns 0.272`.
    pub fn earns(&self, player: usize) -> String {
        self.players[player].earns()
    }

    /// Whether a limit ended a game of this player.
    fn is_limited(&self, player: &ReferencePlayer) -> bool {
        player.judged.evaluation.games.iter().any(|game| (self.limit)(game).is_some())
    }

    /// The player among those of `which` whose reward comes first in the order of `before`.
    fn extreme(&self, which: impl Fn(&ReferencePlayer) -> bool, before: impl Fn(f32, f32) -> bool) -> usize {
        let players = (0..self.players.len()).filter(|&at| which(&self.players[at]));
        players.reduce(|best, at| if before(self.reward(at), self.reward(best)) { at } else { best }).unwrap_or(0)
    }
}

/// The setting whose limit ended a game. How many moves a game may have, its own file may say.
pub fn limit(game: &Outcome) -> Option<&'static str> {
    match game.ending {
        Ending::OutOfFuel => Some("train.game_seconds"),
        Ending::Hung => Some("sandbox.call_share"),
        Ending::OutOfMemory => Some("sandbox.memory_mib"),
        _ => None,
    }
}

/// Whether a reward is above a limit; NaN counts as above.
pub fn exceeds(reward: f32, limit: f32) -> bool {
    reward.is_nan() || reward > limit
}

/// This is not the negation of `>=`: NaN is neither below nor above a reward.
pub fn rises(low: f32, high: f32) -> bool {
    low < high
}
