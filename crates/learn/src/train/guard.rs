//! Watches a run for collapse: warns if a metric leaves its range, and stops the run when it can no longer learn.
//!
//! Takes the records of steps in order; returns warnings and the decision to stop. The decision is a function of the
//! records alone, so a resumed run feeds it the earlier records and continues. Each metric is averaged over a window of
//! steps, because single steps vary by chance. Does not know files or models.
//!
//! The limits of `[guard]` were chosen. Of a collapse that was measured the warnings come before the end: a prototype of the
//! built-in model, trained without control of its entropy, fell within sixty steps from 63 to 28 distinct programs of 64
//! (44 %; the warning is at 50 %), to 28 % of its first entropy (the warning is at 30 %), and from a best sample of 12,597
//! points to one of 3,232, while the mean still rose. Runs stop far beyond that, where next to nothing is left to learn
//! from: with one group in twenty that is not tied, or one completion in twenty that is not cut.

mod symptom;

use std::collections::VecDeque;

use crate::config::GuardConfig;
use crate::metrics::StepRecord;
use crate::plural::counted;
use crate::stats;

use symptom::NOTHING;
pub use symptom::Symptom;

/// A share that was better once has fallen when it is below this part of its best. A language model may start low. Chosen:
/// in a window of 8 steps of 64 completions a share of 50 % has a standard error of 2.2 percentage points, so a fall by a
/// fifth is no chance.
const FALLEN: f64 = 0.8;

/// The share that succeeds has fallen by more than chance if it is more standard errors than this below its best. Chosen: the best
/// of many windows is a lucky one, and some later one has no luck. Of simulated runs of 500 steps of 4 to 128 completions that all
/// succeed with the same chance, whatever it is, at most one in fifty is warned of.
const SURE: f64 = 5.0;

/// Most steps that the share which succeeds is averaged over. A pass over many tasks takes longer than a run; as their
/// order is random, what is asked in so many steps is compared instead. Chosen: of 14,000 simulated runs of 100 and 500
/// steps of 1 to 8 groups, of tasks that are all new and a policy that stays as it is, none is warned of. If a policy that
/// passes one task in five, of four a step, passes none any more after step 60 of 100, 57 of 60 runs are stopped; of
/// windows of 16 steps, 5.
const LONGEST: usize = 40;

/// How serious a symptom is. The numbers are those of the metric `guard/level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlarmLevel {
    /// No symptom.
    Ok = 0,
    /// The user should look at the run.
    Warning = 1,
    /// The run cannot learn any more.
    Stop = 2,
}

/// The findings of the guard after a step.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardReport {
    /// The level of the worst symptom.
    pub level: AlarmLevel,
    /// The symptoms that are present, with their levels.
    pub standing: Vec<(Symptom, AlarmLevel)>,
    /// New warnings, one line each.
    pub news: Vec<String>,
    /// Set if the run should end now.
    pub collapse: Option<Collapse>,
}

/// Why a run can no longer learn.
#[derive(Debug, Clone, PartialEq)]
pub struct Collapse {
    /// The step after which the guard stops the run.
    pub step: usize,
    /// The first step in which a metric was out of its range.
    pub began: usize,
    /// What collapsed, with values, one line each.
    pub reasons: Vec<String>,
    /// The settings to change.
    pub remedy: &'static str,
}

/// The mean of a metric over a window.
#[derive(Debug, Clone, Copy, Default)]
struct WindowMean {
    value: f64,
    /// Variance of the mean, by how the steps of the window differ.
    variance: f64,
    /// Number of trials that succeed or fail apart from each other.
    trials: f64,
    /// The first and the last step of the window.
    first: usize,
    last: usize,
}

#[derive(Debug, Clone, Default)]
struct SymptomHistory {
    /// Number of steps of a full window.
    length: usize,
    /// The latest steps, each with its number and metric.
    window: VecDeque<(usize, Option<f64>)>,
    /// Number of trials of a step, which all steps of a run have: completions, or groups where windows are of different tasks,
    /// because completions of a task succeed or fail together.
    trials: f64,
    /// The best mean of a full window so far.
    best: Option<WindowMean>,
    /// The mean that was judged last. Where later windows have no value, as that of the entropy without updates, it stands.
    latest: Option<WindowMean>,
    level: Option<AlarmLevel>,
    /// The first step that was out of range, while the symptom is present.
    began: Option<usize>,
    /// The worst level that was reported. It is forgotten after a full window without the symptom.
    reported: Option<AlarmLevel>,
    /// Number of steps since the symptom was last present.
    absent_steps: usize,
}

#[derive(Debug, Clone)]
pub struct Guard {
    config: GuardConfig,
    /// Number of steps that ask for everything the run may ask for, at least a window.
    pass: usize,
    /// Shares of tied groups in the latest steps, at most as many as `pass`, the newest first.
    tied: VecDeque<f64>,
    /// Entropy of the first update, in nats per token.
    start_entropy: Option<f64>,
    histories: [SymptomHistory; Symptom::WINDOWED.len()],
    /// Whether the latest step had [`Symptom::Sampling`], which is reported once until a step without it.
    sampling_reported: bool,
    /// The latest step, if a completion of it passed a honeypot.
    cheated: Option<usize>,
}

impl Guard {
    /// A guard that has seen `records` already. `pass` is the number of steps that ask every task, 1 where all play one game.
    pub fn new(config: &GuardConfig, pass: usize, records: &[StepRecord]) -> Self {
        let pass = pass.max(config.window);
        let length = |symptom: Symptom| match symptom {
            Symptom::Succeeded => pass.min(LONGEST.max(config.window)),
            _ => config.window,
        };
        let history = |symptom| SymptomHistory { length: length(symptom), ..SymptomHistory::default() };
        let mut guard = Guard {
            config: config.clone(),
            pass,
            tied: VecDeque::new(),
            start_entropy: None,
            histories: Symptom::WINDOWED.map(history),
            sampling_reported: false,
            cheated: None,
        };
        for record in records {
            guard.observe(record);
        }
        guard
    }

    pub fn observe(&mut self, record: &StepRecord) -> GuardReport {
        self.start_entropy = self.start_entropy.or(record.update.entropy);
        let tied_throughout = self.is_tied_throughout(record);
        let (completions, groups) = (record.completions(), (record.groups_trainable + record.groups_tied) as f64);
        for (symptom, history) in Symptom::WINDOWED.into_iter().zip(&mut self.histories) {
            let figure = symptom.figure(record, self.start_entropy);
            history.trials = if history.length < self.pass { groups } else { completions };
            history.push(record.step, figure);
            history.judge(symptom, &self.config);
            if symptom == Symptom::Tied && !tied_throughout {
                // The steps to come ask other tasks, whose groups may not be tied.
                history.level = history.level.min(Some(AlarmLevel::Warning));
            }
        }
        let mut news = self.news(record.step);
        let mut standing: Vec<(Symptom, AlarmLevel)> =
            self.each().filter_map(|(symptom, history)| Some((symptom, history.level?))).collect();
        let differs = Symptom::Sampling.figure(record, None).filter(|found| *found > self.config.warn_logp_difference);
        if let Some(found) = differs {
            standing.push((Symptom::Sampling, AlarmLevel::Warning));
            if !self.sampling_reported {
                news.push(self.sampling_line(record.step, found));
            }
        }
        self.sampling_reported = differs.is_some();
        let cheated = honeypots(record);
        self.cheated = cheated.as_ref().map(|_| record.step);
        if let Some(words) = &cheated {
            let level = if self.config.stop_honeypots { AlarmLevel::Stop } else { AlarmLevel::Warning };
            standing.push((Symptom::Honeypot, level));
            let (remedy, going_on) = (Symptom::Honeypot.remedy(), self.going_on(level));
            news.push(format!("warning, step {}: {words}; {remedy}{going_on}", record.step));
        }
        let level = standing.iter().map(|(_, level)| *level).max().unwrap_or(AlarmLevel::Ok);
        let collapse = (level == AlarmLevel::Stop && self.config.stop).then(|| self.collapse(record.step, cheated));
        GuardReport { level, standing, news, collapse }
    }

    /// The first step of each symptom that is present now. A checkpoint from before each is worth keeping, because only one of
    /// them may end the run, and another may be with it from its beginning.
    pub fn troubles_began(&self) -> Vec<usize> {
        self.histories.iter().filter_map(|history| history.began).chain(self.cheated).collect()
    }

    /// The warnings of symptoms that are new or worse, each with what to change.
    fn news(&mut self, step: usize) -> Vec<String> {
        let new_levels = self.histories.each_mut().map(SymptomHistory::new_level);
        let standing = self.advised_by();
        let told = self.each().zip(new_levels).filter_map(|((symptom, history), new_level)| {
            let going_on = self.going_on(new_level?);
            let (line, remedy) = (history.line(symptom, &self.config), symptom.remedy_among(&standing));
            Some(format!("warning, step {step}: {line}; {remedy}{going_on}"))
        });
        told.collect()
    }

    /// What is added to the words about a symptom of this level.
    fn going_on(&self, level: AlarmLevel) -> &'static str {
        if level == AlarmLevel::Stop && !self.config.stop { "; guard.stop = false, going on" } else { "" }
    }

    /// Adds the share of tied groups of the next step. Returns whether groups are tied beyond the limit that ends the run in
    /// steps that have asked every task.
    fn is_tied_throughout(&mut self, record: &StepRecord) -> bool {
        self.tied.push_front(record.frac_reward_zero_std);
        self.tied.truncate(self.pass);
        self.tied.len() == self.pass && stats::mean(self.tied.iter().rev().copied()) > self.config.stop_tied
    }

    fn sampling_line(&self, step: usize, found: f64) -> String {
        let words = Symptom::Sampling.words(&format!("{found:.3} nats a token"));
        let (limit, remedy) = (self.config.warn_logp_difference, Symptom::Sampling.remedy());
        format!("warning, step {step}: {words} (warns above {limit}); {remedy}")
    }

    fn each(&self) -> impl Iterator<Item = (Symptom, &SymptomHistory)> {
        Symptom::WINDOWED.into_iter().zip(&self.histories)
    }

    /// The symptoms that are present.
    fn standing(&self) -> impl Iterator<Item = (Symptom, &SymptomHistory)> {
        self.each().filter(|(_, history)| history.level.is_some())
    }

    /// The symptoms that advice goes by: all that are present, and truncation beyond its warning, of which a run that began with it is
    /// not warned during the grace, while groups that are cut whole are tied from the first step on.
    fn advised_by(&self) -> Vec<Symptom> {
        let is_cut = |symptom: Symptom, history: &SymptomHistory| {
            let latest = history.latest.filter(|_| symptom == Symptom::Clipped);
            latest.is_some_and(|now| symptom.is_beyond(now.value, self.config.warn_clipped))
        };
        let found = self.each().filter(|(symptom, history)| history.level.is_some() || is_cut(*symptom, history));
        found.map(|(symptom, _)| symptom).collect()
    }

    /// Why the run stops after `step`. `cheated`: which honeypots it passed.
    fn collapse(&self, step: usize, cheated: Option<String>) -> Collapse {
        let mut standing: Vec<(Symptom, &SymptomHistory)> = self.standing().collect();
        standing.sort_by_key(|(_, history)| std::cmp::Reverse(history.level));
        let ending = standing.iter().filter(|(_, history)| history.level == Some(AlarmLevel::Stop));
        let ends: Vec<Symptom> = ending.map(|(symptom, _)| *symptom).collect();
        let remedy = match cheated.is_some() && self.config.stop_honeypots {
            true => Symptom::Honeypot.remedy(),
            false => ends.first().map_or("", |symptom| symptom.remedy_among(&self.advised_by())),
        };
        // What is only warned of, and causes none of what ends the run, may have stood for long before.
        let is_part = |symptom: Symptom| ends.iter().any(|end| *end == symptom || end.causes().contains(&symptom));
        let began =
            standing.iter().filter(|(symptom, _)| is_part(*symptom)).filter_map(|(_, history)| history.began).min();
        let collapsed = standing.iter().map(|(symptom, history)| history.line(*symptom, &self.config));
        Collapse { step, began: began.unwrap_or(step), reasons: cheated.into_iter().chain(collapsed).collect(), remedy }
    }
}

/// The honeypots that completions of a step passed, in words; none if they passed none.
fn honeypots(record: &StepRecord) -> Option<String> {
    let named: Vec<String> = record.honeypots_passed().map(|(task, count)| format!("{task}: {count}")).collect();
    let count = Symptom::Honeypot.figure(record, None)? as usize;
    (count > 0).then(|| format!("{} ({})", Symptom::Honeypot.words(&counted(count, "completion")), named.join(", ")))
}

impl SymptomHistory {
    fn push(&mut self, step: usize, figure: Option<f64>) {
        self.window.push_back((step, figure));
        if self.window.len() > self.length {
            self.window.pop_front();
        }
    }

    /// The mean over the window, or none if the window is not full or fewer than half of its steps have a value.
    fn mean(&self) -> Option<WindowMean> {
        let known: Vec<f64> = self.window.iter().filter_map(|(_, figure)| *figure).collect();
        if self.window.len() < self.length || 2 * known.len() < self.length {
            return None;
        }
        let variance = stats::variance(known.iter().copied()) / known.len() as f64;
        let trials = self.trials * known.len() as f64;
        let ((first, _), (last, _)) = (self.window.front()?, self.window.back()?);
        Some(WindowMean { value: stats::mean(known), variance, trials, first: *first, last: *last })
    }

    /// The limit of warnings and the limit that ends the run, in the unit of the metric.
    fn limits(&self, symptom: Symptom, config: &GuardConfig) -> (f64, f64) {
        let (warn, stop) = symptom.limits(config);
        // What succeeds is held against what the run itself has reached, which is 0 at the start of many.
        let unit = if symptom == Symptom::Succeeded { self.best.unwrap_or_default().value } else { 1.0 };
        (unit * warn, unit * stop)
    }

    fn judge(&mut self, symptom: Symptom, config: &GuardConfig) {
        let Some(now) = self.mean() else { return };
        let best = self.best.filter(|best| !symptom.is_beyond(best.value, now.value)).unwrap_or(now);
        (self.latest, self.best) = (Some(now), Some(best));
        let (warn, stop) = self.limits(symptom, config);
        let mean = now.value;
        let worse_than_before = match symptom {
            Symptom::Entropy | Symptom::Sampling | Symptom::Honeypot => true,
            Symptom::Unique | Symptom::Parsed => mean < FALLEN * best.value,
            Symptom::Succeeded => best.value - mean > SURE * best.difference_error(&now),
            // The policy does not change in a window in which all groups are tied, so the next window would be the
            // same.
            Symptom::Tied if mean >= 1.0 => true,
            Symptom::Tied | Symptom::Clipped => !symptom.is_beyond(best.value, warn) || now.last > config.grace_steps,
        };
        self.level = match worse_than_before {
            true if symptom.is_beyond(mean, stop) => Some(AlarmLevel::Stop),
            true if symptom.is_beyond(mean, warn) => Some(AlarmLevel::Warning),
            _ => None,
        };
        if self.level.is_none() {
            self.began = None;
        } else if self.began.is_none() {
            let beyond = |figure: &Option<f64>| figure.is_some_and(|value| symptom.is_beyond(value, warn));
            self.began = self.window.iter().find(|(_, figure)| beyond(figure)).map(|(step, _)| *step);
        }
    }

    /// The level, if it is worse than the level that was reported.
    fn new_level(&mut self) -> Option<AlarmLevel> {
        self.absent_steps = if self.level.is_some() { 0 } else { self.absent_steps + 1 };
        if self.absent_steps >= self.length {
            self.reported = None;
        }
        let level = self.level.filter(|level| self.reported.is_none_or(|reported| *level > reported))?;
        self.reported = Some(level);
        Some(level)
    }

    fn line(&self, symptom: Symptom, config: &GuardConfig) -> String {
        let percent = |share: f64| {
            let percent = 100.0 * share;
            if percent > 0.0 && percent < 9.95 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
        };
        let (now, best) = (self.latest.unwrap_or_default(), self.best.unwrap_or_default());
        let (warn, stop) = self.limits(symptom, config);
        let (limit, kind) = match self.level {
            Some(AlarmLevel::Stop) if stop > NOTHING => (stop, "stops"),
            Some(AlarmLevel::Stop) => (stop, "stops at nothing"),
            _ => (warn, "warns"),
        };
        let side = match (limit > NOTHING, symptom.grows()) {
            (false, _) => String::new(),
            (true, true) => format!(" above {}", percent(limit)),
            (true, false) => format!(" below {}", percent(limit)),
        };
        format!(
            "{} over steps {}-{}, {} at best ({kind}{side})",
            symptom.words(&percent(now.value)),
            now.first,
            now.last,
            percent(best.value),
        )
    }
}

impl WindowMean {
    /// Standard error of the difference from another mean of shares: by how the steps of each window differ, and at least that of
    /// trials which all succeed with the same chance. Steps of few trials may be alike by luck, as where none succeeds.
    fn difference_error(&self, other: &WindowMean) -> f64 {
        let share = (self.value + other.value) / 2.0;
        let by_chance = share * (1.0 - share) * (1.0 / self.trials + 1.0 / other.trials);
        by_chance.max(self.variance + other.variance).sqrt()
    }
}

impl Collapse {
    /// The newest of the `saved` steps that is before the collapse began.
    pub fn last_good(&self, saved: impl IntoIterator<Item = usize>) -> Option<usize> {
        saved.into_iter().filter(|step| *step < self.began).max()
    }
}

#[cfg(test)]
mod tests;
