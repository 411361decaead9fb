//! Says in words how busy a GPU was, what limited it, and what to change.

use super::{GpuUsage, Slowdown};

/// From this utilisation on, in percent, a GPU counts as busy.
const BUSY: f64 = 90.0;
/// A slowdown is reported from this share of the readings on.
const SLOWED: f64 = 0.2;
/// From this share of a step on, waiting for rewards counts as the limit.
const WAITING: f64 = 0.02;
/// Below this share of the memory a batch could be twice as large.
const ROOMY: f64 = 0.45;

/// The times of a run's steps.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepShares {
    pub steps: usize,
    /// Duration of all steps, in seconds.
    pub total: f64,
    /// Time of sampling, in seconds.
    pub generate: f64,
    /// Time of waiting for rewards after sampling had ended, in seconds.
    pub reward_wait: f64,
    /// Number of steps that are sampled before the update of the current one.
    pub steps_ahead: usize,
}

/// The verdict on GPU `index`, in lines. `steps`: the times of the run's steps, if there was a run.
pub fn verdict(index: usize, name: &str, usage: &GpuUsage, steps: Option<&StepShares>) -> String {
    let Some(busy) = usage.utilisation() else {
        return format!("GPU {index} ({name}): its driver does not tell how busy it is\n");
    };
    let mut figures = vec![format!("busy {busy:.0}% of the time")];
    if let (Some(power), Some(limit)) = (usage.power(), usage.power_limit) {
        figures.push(format!("{power:.0} of {limit:.0} W"));
    }
    if let (Some(used), Some(total)) = (usage.memory_peak, usage.memory_total) {
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

/// Says what limits the GPU, if anything is known.
fn limit(busy: f64, usage: &GpuUsage, steps: Option<&StepShares>) -> Option<String> {
    if busy >= BUSY {
        return Some("as busy as it gets: only less work makes a step faster".to_owned());
    }
    if let Some(steps) = steps.filter(|steps| steps.total > 0.0 && steps.reward_wait / steps.total >= WAITING) {
        return Some(waiting(steps));
    }
    let share = usage.memory_peak.zip(usage.memory_total).map(|(used, total)| used as f64 / total.max(1) as f64);
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

/// Says what waiting for rewards costs and how to avoid it. Sampling ahead hides at most the time of sampling.
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
