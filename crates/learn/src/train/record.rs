//! Computes the metrics of one step from its episodes and its update.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::config::Config;
use crate::environment::{Case, Environment, Floor};
use crate::evaluation::VerdictCounts;
use crate::groups::Groups;
use crate::grpo::UpdateStats;
use crate::metrics::{EliteRecord, StepRecord, TurnFigures, UpdateRecord};
use crate::program::Program;
use crate::stats;

use super::elites::Elites;
use super::episode::{Episode, is_tied, part};
use super::guard::GuardReport;
use super::resample::Sampled;

/// The metrics of sampling and playing, without those of the update and of the elites.
pub fn of_episodes(step: usize, sampled: &Sampled, environment: &Environment, config: &Config) -> StepRecord {
    let (episodes, timing) = (&sampled.episodes, sampled.timing);
    let items = episodes.items();
    let count = items.len() as f64;
    let share = |holds: &dyn Fn(&Episode) -> bool| items.iter().filter(|episode| holds(episode)).count() as f64 / count;
    let lengths: Vec<usize> = items.iter().map(Episode::sampled_tokens).collect();
    let tokens: usize = lengths.iter().sum();
    let tied = episodes.iter().filter(|group| is_tied(group, &config.grpo)).count();
    let parsed: Vec<[u8; 32]> =
        items.iter().filter_map(|episode| episode.answer().program.as_ref().ok()).map(Program::digest).collect();
    let unique = parsed.iter().collect::<BTreeSet<_>>().len();
    let usages = || items.iter().flat_map(|episode| &episode.turns).map(|turn| &turn.evaluation.usage);
    let mut times: Vec<f64> = usages().flat_map(|usage| &usage.games).map(|game| game.wall.as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    let games: Vec<_> = items.iter().flat_map(|episode| &episode.answer().evaluation.games).collect();
    let mut record = StepRecord {
        step,
        mean_length: tokens as f64 / count,
        min_length: lengths.iter().copied().min().unwrap_or(0),
        max_length: lengths.iter().copied().max().unwrap_or(0),
        clipped_ratio: share(&Episode::is_truncated),
        frac_reward_zero_std: tied as f64 / episodes.count() as f64,
        programs_unique: unique,
        frac_unique: unique as f64 / parsed.len().max(1) as f64,
        frac_parsed: parsed.len() as f64 / count,
        groups_trainable: episodes.count() - tied,
        groups_tied: tied,
        groups_resampled: sampled.resampled,
        fuel_mean: stats::mean(games.iter().map(|game| game.fuel as f64)),
        cache_hits: usages().filter(|usage| usage.reused).count(),
        infra_faults: usages().map(|usage| usage.retries()).sum(),
        tier_differences: usages().filter(|usage| usage.difference.is_some()).count(),
        compiled: usages().flat_map(|usage| &usage.games).filter(|game| game.compiled).count() as f64
            / times.len().max(1) as f64,
        p50_ms: 1000.0 * stats::percentile(&times, 0.5),
        p99_ms: 1000.0 * stats::percentile(&times, 0.99),
        time_generate: timing.generate.as_secs_f64(),
        time_reward_wait: timing.reward_wait.as_secs_f64(),
        tokens_per_s: rate(timing.tokens, timing.generate),
        ..StepRecord::default()
    };
    let floor = Floor::of_games(games.iter().copied());
    let score = stats::mean(items.iter().map(|episode| floor.mean_score(&episode.answer().evaluation.games)));
    let max_tile = games.iter().map(|game| game.max_tile()).max().unwrap_or(0);
    record.set_results(environment.labels(), score, share(&Episode::plays), max_tile);
    record.set_rewards(&items.iter().map(|episode| episode.reward.value).collect::<Vec<_>>());
    count_kinds(&mut record, items);
    for (verdict, count) in verdicts(items).by_name() {
        record.count_verdict(verdict, count);
    }
    add_turns(&mut record, items, config.rollout.turns);
    add_honeypots(&mut record, items, environment);
    record
}

/// Adds how many completions answered honeypots, and which of those passed a hidden test in any turn; nothing where no
/// honeypot was asked.
fn add_honeypots(record: &mut StepRecord, items: &[Episode], environment: &Environment) {
    let Some(tasks) = environment.tasks().filter(|tasks| tasks.honeypots() > 0) else { return };
    let (mut asked, mut passed) = (0, Vec::new());
    for episode in items {
        let outcomes = || episode.turns.iter().flat_map(|turn| &turn.evaluation.games);
        let tests = || outcomes().filter_map(|outcome| Some((outcome.case, outcome.tests()?)));
        let mut honeypots = tests().filter(|(_, tests)| tests.honeypot).peekable();
        asked += usize::from(honeypots.peek().is_some());
        if let Some((Case::Task(number), _)) = honeypots.find(|(_, tests)| tests.passed > 0) {
            passed.push(tasks.tasks()[number as usize].id.as_str());
        }
    }
    record.set_honeypots(asked, &passed);
}

pub fn verdicts(items: &[Episode]) -> VerdictCounts {
    VerdictCounts::of(items.iter().map(|episode| (&episode.answer().evaluation, episode.is_answer_truncated())))
}

/// Adds the metrics of conversations of up to `most` turns; none if there is one turn.
fn add_turns(record: &mut StepRecord, items: &[Episode], most: usize) {
    if most == 1 {
        return;
    }
    let share = |of: &[&Episode], holds: &dyn Fn(&Episode) -> bool| {
        let held = of.iter().filter(|episode| holds(episode)).count();
        (!of.is_empty()).then(|| held as f64 / of.len() as f64)
    };
    let all: Vec<&Episode> = items.iter().collect();
    let failed: Vec<&Episode> = items.iter().filter(|episode| !episode.plays_by(1)).collect();
    let again: Vec<&Episode> = items.iter().filter(|episode| episode.turns.len() > 1).collect();
    record.set_turns(TurnFigures {
        mean: stats::mean(items.iter().map(|episode| episode.turns.len() as f64)),
        fixed: share(&failed, &|episode| episode.plays_by(most)),
        broken: share(&again, &|episode| episode.got_worse()),
        succeeded: (1..=most).filter_map(|turn| share(&all, &|episode| episode.plays_by(turn))).collect(),
    });
}

/// The metrics of an update. `ahead`: whether steps are sampled ahead of updates.
pub fn of_update(stats: &UpdateStats, ahead: bool) -> UpdateRecord {
    UpdateRecord {
        loss: Some(stats.loss),
        grad_norm: Some(stats.grad_norm).filter(|norm| norm.is_finite()),
        entropy: Some(stats.entropy),
        kl: stats.kl,
        clip_ratio_low: Some(stats.clip_ratio_low),
        clip_ratio_high: Some(stats.clip_ratio_high),
        logp_difference_mean: Some(stats.logp_difference_mean),
        logp_difference_max: Some(stats.logp_difference_max),
        sampling_kl: ahead.then_some(stats.sampling_kl),
        importance_ratio: stats.correction.map(|correction| correction.weight_mean),
        frac_corrected: stats.correction.map(|correction| correction.share),
        elites_nll: stats.demonstration_nll,
        ..UpdateRecord::default()
    }
}

/// Adds the metrics of a control run, which has a correlation of its rewards with the shuffled ones. Its groups are tied by
/// those that it learns from, the shuffled ones: then they have no advantages at all.
pub fn of_control(record: &mut StepRecord, correlation: Option<f64>, advantages: &Groups<Vec<f32>>) {
    record.control_correlation = correlation;
    if correlation.is_none() {
        return;
    }
    let is_tied = |group: &&[Vec<f32>]| group.iter().flatten().all(|advantage| *advantage == 0.0);
    let (tied, groups) = (advantages.iter().filter(is_tied).count(), advantages.count());
    (record.groups_tied, record.groups_trainable) = (tied, groups - tied);
    record.frac_reward_zero_std = tied as f64 / groups as f64;
}

/// The metrics of the elites after a step, in which `replayed` of them played again.
pub fn of_elites(elites: &Elites, replayed: usize) -> EliteRecord {
    let means: Vec<f64> = elites.members().map(|(_, tally)| tally.mean_reward()).collect();
    EliteRecord { count: means.len(), reward: (!means.is_empty()).then(|| stats::mean(means)), replayed }
}

pub fn add_watch(record: &mut StepRecord, watch: &GuardReport) {
    record.guard_level = watch.level as u8;
    for (symptom, level) in &watch.standing {
        record.set_symptom(symptom.name(), *level as u8);
    }
}

/// Tokens per second; 0 if no time was spent, as for completions that were read from a checkpoint.
fn rate(tokens: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { tokens as f64 / time.as_secs_f64() }
}

fn count_kinds(record: &mut StepRecord, items: &[Episode]) {
    for episode in items {
        for game in &episode.answer().evaluation.games {
            record.count_ending(game.ending.name());
        }
    }
    let names: BTreeSet<&str> =
        items.iter().flat_map(|episode| episode.reward.parts.iter().map(|(name, _)| *name)).collect();
    for name in names {
        let values: Vec<f32> = items.iter().map(|episode| part(&episode.reward, name)).collect();
        record.set_reward_part(name, &values);
    }
}

#[cfg(test)]
mod tests;
