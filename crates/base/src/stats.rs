//! Means, deviations and quantiles of numbers, in one place: whoever reports or divides by one gets the same bits.
//!
//! Sums run in the order of the values.

/// The mean; 0 of nothing.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (-0.0, 0_usize);
    for value in values {
        sum += value;
        count += 1;
    }
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// The variance, with `n - 1` degrees of freedom; 0 of fewer than two.
pub fn variance(values: impl IntoIterator<Item = f64> + Clone) -> f64 {
    let centre = mean(values.clone());
    let (mut squares, mut count) = (0.0, 0_usize);
    for value in values {
        squares += (value - centre).powi(2);
        count += 1;
    }
    if count < 2 { 0.0 } else { squares / (count - 1) as f64 }
}

/// The standard deviation, with `n - 1` degrees of freedom; 0 of fewer than two.
pub fn deviation(values: impl IntoIterator<Item = f64> + Clone) -> f64 {
    variance(values).sqrt()
}

/// The middle value, or the mean of the two in the middle; 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// Quantile of ascending values, linear between neighbours; 0 of nothing.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// One of ascending values: the one with a rank, from 0, of `share` times their number, rounded down. 0 of nothing.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted.get(((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means 2.5 and 5; the squares sum to 5 and 32, over 3 and 7.
    #[test]
    fn figures_are_those_calculated_by_hand() {
        assert_eq!((mean([1.0, 2.0, 3.0, 4.0]), variance([1.0, 2.0, 3.0, 4.0])), (2.5, 5.0 / 3.0));
        let eight = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!((mean(eight), deviation(eight)), (5.0, (32.0_f64 / 7.0).sqrt()));
        assert_eq!([0.0, 0.5, 0.75, 1.0].map(|share| quantile(&[1.0, 2.0, 4.0], share)), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(median(&[9.0, 1.0, 5.0, 2.0]), 3.5);
        assert_eq!([0.0, 0.5, 0.99].map(|share| percentile(&[1.0, 2.0, 3.0, 4.0], share)), [1.0, 3.0, 4.0]);
    }

    #[test]
    fn of_nothing_and_of_one_nothing_is_no_number() {
        assert_eq!((mean([]), deviation([]), median(&[]), percentile(&[], 0.5)), (0.0, 0.0, 0.0, 0.0));
        assert_eq!((mean([3.0]), deviation([3.0])), (3.0, 0.0));
        assert!(mean([]).is_sign_positive());
    }
}
