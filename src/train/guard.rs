//! Watches a run for collapse: warns when a figure leaves its range, stops when nothing can be learnt any more.
//!
//! Takes step records, in order; gives what to say and when to end. Pure: the same records give the same verdicts, so
//! a resumed run feeds it the records of before and goes on. Each figure is averaged over a window of steps, since one
//! step is mostly chance. Does not know files or models.

use std::collections::VecDeque;

use crate::config::GuardConfig;
use crate::metrics::StepRecord;

/// A share that was better once has fallen when it is below this part of its best. A language model may start low.
const FALLEN: f64 = 0.8;
/// Below this a share is nothing at all.
const NOTHING: f64 = f64::MIN_POSITIVE;

/// How bad it is. The numbers are those of the metric `guard/level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing to say.
    Ok = 0,
    /// Worth looking at.
    Warning = 1,
    /// Going on is pointless.
    Stop = 2,
}

/// A figure that tells of collapse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symptom {
    /// Share of groups without a signal.
    Tied,
    /// Share of distinct programs among those that parse.
    Unique,
    /// Entropy, as a share of the first step's.
    Entropy,
    /// Share of completions that parse.
    Parsed,
    /// Share of completions cut at the longest length allowed.
    Clipped,
}

impl Symptom {
    const ALL: [Symptom; 5] = [Symptom::Tied, Symptom::Unique, Symptom::Entropy, Symptom::Parsed, Symptom::Clipped];

    /// The name in metrics and on the terminal.
    pub fn name(self) -> &'static str {
        match self {
            Symptom::Tied => "tied",
            Symptom::Unique => "unique",
            Symptom::Entropy => "entropy",
            Symptom::Parsed => "parsed",
            Symptom::Clipped => "clipped",
        }
    }

    /// What a share of it means.
    fn words(self, share: &str) -> String {
        match self {
            Symptom::Tied => format!("{share} of the groups tied"),
            Symptom::Unique => format!("{share} of the programs distinct"),
            Symptom::Entropy => format!("entropy at {share} of the first step's"),
            Symptom::Parsed => format!("{share} of the completions parse"),
            Symptom::Clipped => format!("{share} of the completions truncated"),
        }
    }

    /// Settings that work against it.
    fn remedy(self) -> &'static str {
        match self {
            Symptom::Tied => "raise rollout.num_generations or rollout.temperature, or rollout.resample_tied",
            Symptom::Unique | Symptom::Entropy => {
                "raise grpo.entropy_target or grpo.entropy_coef_max, lower grpo.learning_rate, or set grpo.beta=0.02"
            }
            Symptom::Parsed => "lower grpo.learning_rate, or set grpo.beta=0.02",
            Symptom::Clipped => "raise rollout.max_completion_length, or set grpo.beta=0.02",
        }
    }

    /// Whether large values are the bad ones.
    fn grows(self) -> bool {
        matches!(self, Symptom::Tied | Symptom::Clipped)
    }

    fn is_beyond(self, value: f64, limit: f64) -> bool {
        if self.grows() { value > limit } else { value < limit }
    }

    /// Of one step; none when the step cannot tell.
    fn figure(self, record: &StepRecord, start_entropy: Option<f64>) -> Option<f64> {
        match self {
            Symptom::Tied => Some(record.frac_reward_zero_std),
            Symptom::Unique => (record.frac_parsed > 0.0).then_some(record.frac_unique),
            Symptom::Entropy => Some(record.entropy? / start_entropy?.max(f64::MIN_POSITIVE)),
            Symptom::Parsed => Some(record.frac_parsed),
            Symptom::Clipped => Some(record.clipped_ratio),
        }
    }

    /// Where warnings begin, and where the run ends.
    fn limits(self, config: &GuardConfig) -> (f64, f64) {
        match self {
            Symptom::Tied => (config.warn_tied, config.stop_tied),
            Symptom::Unique => (config.warn_unique, config.stop_unique),
            Symptom::Entropy => (config.warn_entropy, config.stop_entropy),
            Symptom::Parsed => (config.warn_parsed, NOTHING),
            Symptom::Clipped => (config.warn_clipped, config.stop_clipped),
        }
    }
}

/// What one more step showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Watch {
    /// The worst of all symptoms.
    pub level: Level,
    /// Symptoms that stand.
    pub standing: Vec<(Symptom, Level)>,
    /// What has not been said before, a line each.
    pub news: Vec<String>,
    /// Why the run should end now.
    pub collapse: Option<Collapse>,
}

/// The end of a run that can no longer learn.
#[derive(Debug, Clone, PartialEq)]
pub struct Collapse {
    /// Step after which it was certain.
    pub step: usize,
    /// First step in which a figure was out of its range.
    pub began: usize,
    /// What collapsed, with figures, a line each.
    pub reasons: Vec<String>,
    /// What to change.
    pub remedy: &'static str,
}

/// What is known of one symptom.
#[derive(Debug, Clone, Default)]
struct Course {
    /// Of the latest steps, with their numbers.
    window: VecDeque<(usize, Option<f64>)>,
    /// Best mean of a whole window so far.
    best: Option<f64>,
    level: Option<Level>,
    /// First step that was out of range, while the symptom stands.
    began: Option<usize>,
    /// The worst that has been said, until it has been well for a whole window.
    said: Option<Level>,
    /// Steps since it stood last.
    well: usize,
}

/// Watches one run.
#[derive(Debug, Clone)]
pub struct Guard {
    config: GuardConfig,
    start_entropy: Option<f64>,
    courses: [Course; 5],
}

impl Guard {
    /// A guard that has seen `records` already.
    pub fn new(config: &GuardConfig, records: &[StepRecord]) -> Self {
        let mut guard = Guard { config: config.clone(), start_entropy: None, courses: Default::default() };
        for record in records {
            guard.observe(record);
        }
        guard
    }

    /// Takes in the next step.
    pub fn observe(&mut self, record: &StepRecord) -> Watch {
        self.start_entropy = self.start_entropy.or(record.entropy);
        let mut news = Vec::new();
        for (symptom, course) in Symptom::ALL.into_iter().zip(&mut self.courses) {
            let figure = symptom.figure(record, self.start_entropy);
            course.take(record.step, figure, self.config.window);
            course.judge(symptom, &self.config);
            if let Some(level) = course.unsaid(self.config.window) {
                let line = course.line(symptom, &self.config);
                let going_on =
                    if level == Level::Stop && !self.config.stop { "; guard.stop = false, going on" } else { "" };
                news.push(format!("warning, step {}: {line}{going_on}", record.step));
            }
        }
        let standing: Vec<(Symptom, Level)> =
            self.each().filter_map(|(symptom, course)| Some((symptom, course.level?))).collect();
        let level = standing.iter().map(|(_, level)| *level).max().unwrap_or(Level::Ok);
        let collapse = (level == Level::Stop && self.config.stop).then(|| self.collapse(record.step));
        Watch { level, standing, news, collapse }
    }

    /// First step of what stands now. Checkpoints of before are worth keeping.
    pub fn trouble_began(&self) -> Option<usize> {
        self.courses.iter().filter_map(|course| course.began).min()
    }

    fn each(&self) -> impl Iterator<Item = (Symptom, &Course)> {
        Symptom::ALL.into_iter().zip(&self.courses)
    }

    fn collapse(&self, step: usize) -> Collapse {
        let mut standing: Vec<(Symptom, &Course)> = self.each().filter(|(_, course)| course.level.is_some()).collect();
        standing.sort_by_key(|(_, course)| std::cmp::Reverse(course.level));
        Collapse {
            step,
            began: self.trouble_began().unwrap_or(step),
            reasons: standing.iter().map(|(symptom, course)| course.line(*symptom, &self.config)).collect(),
            remedy: standing.first().map_or("", |(symptom, _)| symptom.remedy()),
        }
    }
}

impl Course {
    fn take(&mut self, step: usize, figure: Option<f64>, window: usize) {
        self.window.push_back((step, figure));
        if self.window.len() > window {
            self.window.pop_front();
        }
    }

    /// Mean over the window. None before the window is full, or when less than half of its steps can tell.
    fn mean(&self, window: usize) -> Option<f64> {
        let known: Vec<f64> = self.window.iter().filter_map(|(_, figure)| *figure).collect();
        let enough = self.window.len() == window && 2 * known.len() >= window;
        enough.then(|| known.iter().sum::<f64>() / known.len() as f64)
    }

    fn judge(&mut self, symptom: Symptom, config: &GuardConfig) {
        let Some(mean) = self.mean(config.window) else { return };
        let best = self.best.map_or(mean, |best| if symptom.grows() { best.min(mean) } else { best.max(mean) });
        self.best = Some(best);
        let (warn, stop) = symptom.limits(config);
        let step = self.window.back().map_or(0, |(step, _)| *step);
        let worse_than_before = match symptom {
            Symptom::Entropy => true,
            Symptom::Unique | Symptom::Parsed => mean < FALLEN * best,
            Symptom::Tied | Symptom::Clipped => !symptom.is_beyond(best, warn) || step > config.grace_steps,
        };
        self.level = match worse_than_before {
            true if symptom.is_beyond(mean, stop) => Some(Level::Stop),
            true if symptom.is_beyond(mean, warn) => Some(Level::Warning),
            _ => None,
        };
        if self.level.is_none() {
            self.began = None;
        } else if self.began.is_none() {
            let beyond = |figure: &Option<f64>| figure.is_some_and(|value| symptom.is_beyond(value, warn));
            self.began = self.window.iter().find(|(_, figure)| beyond(figure)).map(|(step, _)| *step);
        }
    }

    /// The level, if it is worse than what was said.
    fn unsaid(&mut self, window: usize) -> Option<Level> {
        self.well = if self.level.is_some() { 0 } else { self.well + 1 };
        if self.well >= window {
            self.said = None;
        }
        let level = self.level.filter(|level| self.said.is_none_or(|said| *level > said))?;
        self.said = Some(level);
        Some(level)
    }

    fn line(&self, symptom: Symptom, config: &GuardConfig) -> String {
        let percent = |share: f64| {
            let percent = 100.0 * share;
            if percent > 0.0 && percent < 9.95 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
        };
        let span = [self.window.front(), self.window.back()].map(|end| end.map_or(0, |(step, _)| *step));
        let (warn, stop) = symptom.limits(config);
        let (limit, kind) = match self.level {
            Some(Level::Stop) if stop > NOTHING => (stop, "stops"),
            Some(Level::Stop) => (stop, "stops at nothing"),
            _ => (warn, "warns"),
        };
        let side = match (limit > NOTHING, symptom.grows()) {
            (false, _) => String::new(),
            (true, true) => format!(" above {}", percent(limit)),
            (true, false) => format!(" below {}", percent(limit)),
        };
        format!(
            "{} over steps {}-{}, {} at best ({kind}{side})",
            symptom.words(&percent(self.mean(config.window).unwrap_or(0.0))),
            span[0],
            span[1],
            percent(self.best.unwrap_or(0.0)),
        )
    }
}

impl Collapse {
    /// The newest of the steps with a checkpoint that was saved before the trouble began.
    pub fn last_good(&self, saved: impl IntoIterator<Item = usize>) -> Option<usize> {
        saved.into_iter().filter(|step| *step < self.began).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn config() -> GuardConfig {
        Config::preset("builtin").unwrap().guard
    }

    fn healthy(step: usize) -> StepRecord {
        StepRecord { step, frac_parsed: 0.95, frac_unique: 0.98, entropy: Some(0.29), ..StepRecord::default() }
    }

    /// Goes from `from` at step 20 straight to `to` at step 50, and stays.
    fn falling(step: usize, from: f64, to: f64) -> f64 {
        from + (to - from) * ((step as f64 - 20.0) / 30.0).clamp(0.0, 1.0)
    }

    fn watch(config: &GuardConfig, steps: usize, record: impl Fn(usize) -> StepRecord) -> Vec<Watch> {
        let mut guard = Guard::new(config, &[]);
        (1..=steps).map(|step| guard.observe(&record(step))).collect()
    }

    fn news(watches: &[Watch]) -> Vec<(usize, &str)> {
        let mut all = Vec::new();
        for (index, watch) in watches.iter().enumerate() {
            all.extend(watch.news.iter().map(|line| (index + 1, line.as_str())));
        }
        all
    }

    fn collapsing(step: usize) -> StepRecord {
        let unique = falling(step, 63.0, 3.0) / 64.0;
        StepRecord { frac_unique: unique, entropy: Some(falling(step, 0.29, 0.02)), ..healthy(step) }
    }

    #[test]
    fn a_collapse_is_warned_of_then_stopped_and_names_the_checkpoint_of_before() {
        let watches = watch(&config(), 60, collapsing);
        // Distinct programs fall by 2 of 64 a step: 31 at step 36 is the first below half. The mean of eight steps is
        // 32 at step 39 and 30 at step 40; 6.75 at step 52 and 5.5 at step 53, where a tenth is 6.4.
        let first = watches.iter().position(|watch| watch.level > Level::Ok).unwrap() + 1;
        assert_eq!(first, 40);
        assert_eq!(watches[39].standing, [(Symptom::Unique, Level::Warning)]);
        let stopped = watches.iter().position(|watch| watch.collapse.is_some()).unwrap() + 1;
        assert_eq!(stopped, 53);
        let collapse = watches[52].collapse.as_ref().unwrap();
        assert_eq!((collapse.step, collapse.began), (53, 36));
        assert_eq!(collapse.last_good([0, 10, 20, 30, 40, 50]), Some(30));
        assert_eq!(collapse.last_good([36, 40]), None);
        assert_eq!(
            collapse.reasons[0],
            "8.6% of the programs distinct over steps 46-53, 98% at best (stops below 10%)"
        );
        assert!(collapse.reasons[1].starts_with("entropy at 11% of the first step's"), "{:?}", collapse.reasons);
        assert!(collapse.remedy.contains("grpo.entropy_target"), "{}", collapse.remedy);
        let said = news(&watches[..53]);
        assert_eq!(said.len(), 3, "two warnings and one stop, each once: {said:?}");
        assert_eq!(
            said[0].1,
            "warning, step 40: 47% of the programs distinct over steps 33-40, 98% at best (warns below 50%)"
        );
    }

    #[test]
    fn a_healthy_run_says_nothing() {
        let watches = watch(&config(), 200, |step| StepRecord {
            frac_unique: falling(step, 63.0, 52.0) / 64.0,
            entropy: Some(falling(step, 0.29, 0.19)),
            frac_reward_zero_std: if step % 4 == 0 { 0.25 } else { 0.0 },
            clipped_ratio: 0.05,
            ..healthy(step)
        });
        assert!(watches.iter().all(|watch| watch.level == Level::Ok && watch.news.is_empty()), "{:?}", news(&watches));
    }

    #[test]
    fn a_model_that_starts_low_is_not_warned_of_what_it_never_had() {
        let weak =
            |step: usize| StepRecord { frac_parsed: 0.3, frac_unique: 0.4, frac_reward_zero_std: 0.4, ..healthy(step) };
        let watches = watch(&config(), 30, weak);
        assert!(watches[..20].iter().all(|watch| watch.level == Level::Ok));
        assert_eq!(watches[20].standing, [(Symptom::Tied, Level::Warning)], "after the grace");
        assert_eq!(news(&watches).len(), 1);
        let worse = |step: usize| StepRecord { frac_parsed: if step > 30 { 0.1 } else { 0.3 }, ..healthy(step) };
        let watches = watch(&config(), 60, worse);
        assert_eq!(watches[59].standing, [(Symptom::Parsed, Level::Warning)], "but of what it has lost");
    }

    #[test]
    fn a_run_without_signal_or_without_programs_is_stopped() {
        let tied = |step: usize| StepRecord { frac_reward_zero_std: f64::from(u8::from(step > 8)), ..healthy(step) };
        let watches = watch(&config(), 40, tied);
        assert_eq!(watches.iter().position(|watch| watch.collapse.is_some()), Some(15), "steps 9 to 16");
        assert_eq!(watches[15].collapse.as_ref().unwrap().began, 9);
        let mute = |step: usize| StepRecord { frac_parsed: if step > 20 { 0.0 } else { 0.9 }, ..healthy(step) };
        let watches = watch(&config(), 40, mute);
        assert_eq!(watches.iter().position(|watch| watch.collapse.is_some()), Some(27), "steps 21 to 28");
        let reason = &watches[27].collapse.as_ref().unwrap().reasons[0];
        assert_eq!(reason, "0% of the completions parse over steps 21-28, 90% at best (stops at nothing)");
        let never = watch(&config(), 40, |step| StepRecord { frac_parsed: 0.0, ..healthy(step) });
        assert!(never.iter().all(|watch| watch.collapse.is_none()), "nothing was lost");
    }

    #[test]
    fn a_warning_is_repeated_only_after_a_whole_window_of_health() {
        let flapping =
            |step: usize| StepRecord { clipped_ratio: if step % 16 < 8 { 0.0 } else { 0.9 }, ..healthy(step) };
        assert_eq!(news(&watch(&config(), 60, flapping)).len(), 1);
        let rare = |step: usize| StepRecord { clipped_ratio: if step % 40 < 30 { 0.0 } else { 0.9 }, ..healthy(step) };
        assert_eq!(news(&watch(&config(), 80, rare)).len(), 2);
    }

    #[test]
    fn a_resumed_guard_goes_on_as_if_it_had_never_stopped() {
        let watches = watch(&config(), 53, collapsing);
        for cut in [1, 30, 41, 52] {
            let records: Vec<StepRecord> = (1..=cut).map(collapsing).collect();
            let mut resumed = Guard::new(&config(), &records);
            let rest: Vec<Watch> = (cut + 1..=53).map(|step| resumed.observe(&collapsing(step))).collect();
            assert_eq!(rest, watches[cut..]);
        }
    }

    #[test]
    fn without_stop_it_only_warns() {
        let watches = watch(&GuardConfig { stop: false, ..config() }, 60, collapsing);
        assert!(watches.iter().all(|watch| watch.collapse.is_none()));
        assert_eq!(watches[59].level, Level::Stop);
        assert!(news(&watches).iter().any(|(_, line)| line.ends_with("guard.stop = false, going on")));
    }
}
