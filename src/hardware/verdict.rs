//! How busy a GPU was, what limited it, and what to change: in words, each with the figure behind it.

use super::{GpuUsage, Slowdown};

/// Utilisation, in percent, above which nothing is to be gained by giving a GPU more to do at a time.
const BUSY: f64 = 90.0;
/// Share of the readings from which a slowdown is worth a word.
const SLOWED: f64 = 0.2;
/// Share of a step from which waiting for rewards is what holds a GPU back.
const WAITING: f64 = 0.02;
/// Share of the memory below which a batch could be twice as large.
const ROOMY: f64 = 0.45;

/// Where the steps of a run spent their seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepShares {
    /// Steps.
    pub steps: usize,
    /// Seconds of all steps.
    pub total: f64,
    /// Of those, seconds of sampling.
    pub generate: f64,
    /// Of those, seconds of waiting for rewards after sampling had ended.
    pub reward_wait: f64,
    /// Steps whose completions are sampled before the update of the step at hand.
    pub steps_ahead: usize,
}

/// The verdict on GPU `index`, a line for each thing to say. `steps` is what a run knows of its own time.
pub fn verdict(index: usize, name: &str, usage: &GpuUsage, steps: Option<&StepShares>) -> String {
    let Some(busy) = usage.utilisation() else {
        return format!("GPU {index} ({name}): its driver does not tell how busy it is\n");
    };
    let mut figures = vec![format!("busy {busy:.0}% of the time")];
    if let (Some(power), Some(limit)) = (usage.power(), usage.power_limit()) {
        figures.push(format!("{power:.0} of {limit:.0} W"));
    }
    if let (Some(used), Some(total)) = (usage.memory_peak(), usage.memory_total()) {
        figures.push(format!("at most {:.1} of {:.0} GB", used as f64 / 1e9, total as f64 / 1e9));
    }
    if let Some(clock) = usage.sm_clock() {
        figures.push(format!("{clock:.0} MHz"));
    }
    let mut text = format!("GPU {index} ({name}): {}, over {} readings\n", figures.join(", "), usage.readings());
    for reason in slowdowns(usage).into_iter().chain(limit(busy, usage, steps)) {
        text.push_str(&format!("  {reason}\n"));
    }
    text
}

fn slowdowns(usage: &GpuUsage) -> Vec<String> {
    let words = [
        (Slowdown::Power, "its power limit", "raise the limit (nvidia-smi --power-limit) if the machine can carry it"),
        (Slowdown::Heat, "heat", "look at its cooling: the same work takes longer"),
        (Slowdown::Hardware, "its board or power supply", "look at cables and supply; nothing in a run can mend it"),
    ];
    let told = words.into_iter().filter(|&(slowdown, ..)| usage.slowed(slowdown) >= SLOWED);
    told.map(|(slowdown, what, remedy)| {
        format!("slowed by {what} in {:.0}% of the readings: {remedy}", 100.0 * usage.slowed(slowdown))
    })
    .collect()
}

/// What kept it from being busy.
fn limit(busy: f64, usage: &GpuUsage, steps: Option<&StepShares>) -> Option<String> {
    if busy >= BUSY {
        return Some("as busy as it gets: only less work makes a step faster".to_owned());
    }
    if let Some(steps) = steps.filter(|steps| steps.total > 0.0 && steps.reward_wait / steps.total >= WAITING) {
        return Some(waiting(steps));
    }
    let share = usage.memory_peak().zip(usage.memory_total()).map(|(used, total)| used as f64 / total.max(1) as f64);
    match share {
        Some(share) if share < ROOMY => Some(format!(
            "small batch: {:.0}% of its memory was ever used; more --groups or --num-generations cost little time",
            100.0 * share
        )),
        Some(share) => Some(format!(
            "launch-bound: {:.0}% of its memory was used, yet it was idle {:.0}% of the time; longer completions or a \
             larger model would keep it busier",
            100.0 * share,
            100.0 - busy
        )),
        None => Some(format!("idle {:.0}% of the time", 100.0 - busy)),
    }
}

/// What waiting for rewards costs, and what works against it. Sampling ahead hides at most what sampling takes.
fn waiting(steps: &StepShares) -> String {
    let mean = |seconds: f64| seconds / steps.steps.max(1) as f64;
    let [wait, total, generate] = [steps.reward_wait, steps.total, steps.generate].map(mean);
    let found = format!("waited for rewards {wait:.1} of {total:.1} s a step ({:.0}%)", 100.0 * wait / total);
    let fewer = "more workers (--parallel-rewards) if cores are idle, or a smaller train.game_seconds";
    match steps.steps_ahead {
        0 => format!(
            "{found}: train.steps_ahead=1 (--steps-ahead 1) writes the next step meanwhile, which takes {generate:.1} s \
             and hides {:.1} of it; {fewer}",
            wait.min(generate)
        ),
        _ => format!("{found} though the next step is written meanwhile, in {generate:.1} s: {fewer}"),
    }
}
