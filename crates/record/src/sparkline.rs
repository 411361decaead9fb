//! A curve of block characters in one line of text.

use grpo_base::stats;

/// The levels, from low to high.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws `values`, scaled from their minimum to their maximum, in at most `width` characters. Each character shows the
/// mean of its share of neighbouring values. Empty without values.
pub fn sparkline(values: &[f64], width: usize) -> String {
    let count = values.len().min(width);
    let means: Vec<f64> = (0..count)
        .map(|at| &values[at * values.len() / count..(at + 1) * values.len() / count])
        .map(|part| stats::mean(part.iter().copied()))
        .collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let level = |mean: f64| match high > low {
        true => ((mean - low) / (high - low) * (LEVELS.len() - 1) as f64).round() as usize,
        false => 0,
    };
    means.into_iter().map(|mean| LEVELS[level(mean)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_from_its_least_to_its_largest_value() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 20), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[-700.0, 700.0, 0.0], 20), "▁█▅");
    }

    #[test]
    fn neighbours_share_a_character_when_there_are_too_many() {
        assert_eq!(sparkline(&[0.0, 2.0, 6.0, 10.0, 14.0], 2), "▁█");
        assert_eq!(sparkline(&[1.0; 1000], 7), "▁▁▁▁▁▁▁");
        assert_eq!(sparkline(&[], 7), "");
    }
}
