//! Figures of a step in the metrics, beside those of its completions.

use serde::Serialize;
use serde_json::Value;

use crate::report::LoggedCompletion;
use crate::stats;

/// Tolerated difference of two means of numbers up to 1, as rounding leaves it.
const ROUNDING: f64 = 1e-6;

/// A figure that the completions of a step do not come to.
#[derive(Serialize)]
pub(super) struct OtherFigure {
    pub step: usize,
    /// Its key in the metrics.
    pub metric: &'static str,
    pub recorded: f64,
    pub found: f64,
}

/// The first figure in the line `measured` of a step that is not that of its completions.
pub(super) fn other(step: usize, measured: &Value, logged: &[LoggedCompletion]) -> Option<OtherFigure> {
    let mean = |of: fn(&LoggedCompletion) -> f64| stats::mean(logged.iter().map(of));
    let figures = [
        ("turns/mean", mean(|one| one.all_turns().len() as f64)),
        ("completions/mean_length", mean(|one| one.tokens as f64)),
        ("reward", mean(|one| one.reward)),
    ];
    figures.into_iter().find_map(|(metric, found)| {
        let recorded = measured[metric].as_f64()?;
        let is_other = (recorded - found).abs() > ROUNDING * found.abs().max(1.0);
        is_other.then_some(OtherFigure { step, metric, recorded, found })
    })
}
