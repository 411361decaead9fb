//! Draws one token from one row of logits.

use crate::config::RolloutConfig;

/// The temperature of the distribution that a token is drawn from, and its restriction to likely tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// Divisor of the logits.
    temperature: f32,
    /// Number of likeliest tokens that may be drawn; 0 for all.
    top_k: usize,
    /// Share of the probability that the likeliest tokens, which may be drawn, have together; 1 for all.
    top_p: f64,
    /// Tokens may be drawn from this share of the largest probability on; 0 for all.
    min_p: f32,
}

impl Sampler {
    pub fn new(config: &RolloutConfig) -> Self {
        Sampler {
            temperature: config.temperature as f32,
            top_k: config.top_k,
            top_p: config.top_p,
            min_p: config.min_p as f32,
        }
    }

    /// Draws a token by inverting the cumulative distribution at `uniform`, in the order of token ids.
    ///
    /// * `logits`: `(V,)`; `uniform`: in `0..1`; `weights`: a buffer, which is overwritten.
    /// * Returns the token and its log-probability at this temperature in the unrestricted distribution, in nats; none
    ///   if a logit is not finite.
    pub fn draw(&self, logits: &[f32], uniform: f64, weights: &mut Vec<f32>) -> Option<(u32, f32)> {
        let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let inverse = self.temperature.recip();
        weights.clear();
        weights.extend(logits.iter().map(|logit| ((logit - top) * inverse).exp()));
        let whole: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        if !whole.is_finite() || whole < 1.0 {
            return None;
        }
        let kept = if self.cuts() { self.cut(weights) } else { whole };
        let token = invert(weights, uniform * kept);
        Some((token as u32, (logits[token] - top) * inverse - whole.ln() as f32))
    }

    fn cuts(&self) -> bool {
        self.top_k > 0 || self.top_p < 1.0 || self.min_p > 0.0
    }

    /// Sets the weights of tokens that may not be drawn to zero and returns the sum of the others. Among equal weights,
    /// lower ids are kept first. The likeliest token is always kept: its weight is 1.
    fn cut(&self, weights: &mut [f32]) -> f64 {
        if self.top_k > 0 && self.top_k < weights.len() {
            let mut order: Vec<usize> = (0..weights.len()).collect();
            let likelier = |a: &usize, b: &usize| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b));
            let last = *order.select_nth_unstable_by(self.top_k - 1, likelier).1;
            keep_up_to(weights, last);
        }
        if self.top_p < 1.0 {
            let last = self.last_of_nucleus(weights);
            keep_up_to(weights, last);
        }
        weights.iter_mut().filter(|weight| **weight < self.min_p).for_each(|weight| *weight = 0.0);
        weights.iter().map(|weight| f64::from(*weight)).sum()
    }

    /// The last of the likeliest tokens that together have the share `top_p`. Sorting a whole vocabulary takes longer than a
    /// small model takes for the logits, so only tokens above a weight are sorted, which falls until they are enough.
    fn last_of_nucleus(&self, weights: &[f32]) -> usize {
        let enough = self.top_p * weights.iter().map(|weight| f64::from(*weight)).sum::<f64>();
        for least in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5] {
            if let Some(last) = reaching(enough, &sorted(weights, least)) {
                return last;
            }
        }
        let all = sorted(weights, 0.0);
        reaching(enough, &all).unwrap_or(all[all.len() - 1].0)
    }
}

/// Tokens with at least this weight, and their weights, likeliest first.
fn sorted(weights: &[f32], least: f32) -> Vec<(usize, f32)> {
    let mut tokens: Vec<(usize, f32)> =
        weights.iter().copied().enumerate().filter(|(_, weight)| *weight >= least).collect();
    tokens.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    tokens
}

/// The token with which the sum of weights reaches `enough`, if it does.
fn reaching(enough: f64, tokens: &[(usize, f32)]) -> Option<usize> {
    let mut sum = 0.0;
    let reached = tokens.iter().find(|(_, weight)| {
        sum += f64::from(*weight);
        sum >= enough
    });
    reached.map(|(token, _)| *token)
}

/// Sets the weights of tokens after `last` in the order of likelihood to zero.
fn keep_up_to(weights: &mut [f32], last: usize) {
    let least = weights[last];
    let is_after = |token: usize, weight: f32| weight < least || (weight == least && token > last);
    weights.iter_mut().enumerate().filter(|(token, weight)| is_after(*token, **weight)).for_each(|(_, weight)| {
        *weight = 0.0;
    });
}

/// The first token whose cumulative weight exceeds `target`, or the last with a positive weight.
fn invert(weights: &[f32], target: f64) -> usize {
    let mut cumulative = 0.0;
    let mut last = 0;
    for (token, weight) in weights.iter().enumerate() {
        if *weight > 0.0 {
            cumulative += f64::from(*weight);
            last = token;
            if cumulative > target {
                break;
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Purpose, Seed};
    use rand::Rng;

    fn sampler(temperature: f32) -> Sampler {
        Sampler { temperature, top_k: 0, top_p: 1.0, min_p: 0.0 }
    }

    fn counts(sampler: Sampler, logits: &[f32], draws: usize) -> Vec<usize> {
        let mut rng = Seed::root(1).child(Purpose::Sample, 0).rng();
        let mut counts = vec![0; logits.len()];
        for _ in 0..draws {
            let (token, _) = sampler.draw(logits, rng.random(), &mut Vec::new()).unwrap();
            counts[token as usize] += 1;
        }
        counts
    }

    #[test]
    fn tokens_are_drawn_as_often_as_softmax_says() {
        // The probabilities are 1/2, 1/4, 1/8, 1/8 at T = 1, and proportional to the roots of 8, 4, 2, 2 at T = 2.
        let logits = [8f32.ln(), 4f32.ln(), 2f32.ln(), 2f32.ln()];
        let roots: [f64; 4] = [8f64.sqrt(), 2.0, 2f64.sqrt(), 2f64.sqrt()];
        let total: f64 = roots.iter().sum();
        for (temperature, expected) in [(1.0, [0.5, 0.25, 0.125, 0.125]), (2.0, roots.map(|root| root / total))] {
            let draws = 20_000;
            let counts = counts(sampler(temperature), &logits, draws);
            let chi_square: f64 = counts
                .iter()
                .zip(expected)
                .map(|(count, share)| (*count as f64 - share * draws as f64).powi(2) / (share * draws as f64))
                .sum();
            // 99.9 % quantile of chi-square with 3 degrees of freedom.
            assert!(chi_square < 16.27, "T = {temperature}: {counts:?}, chi-square {chi_square}");
        }
    }

    #[test]
    fn log_probability_is_that_of_the_whole_tempered_distribution() {
        let logits = [8f32.ln(), 4f32.ln(), 4f32.ln()];
        let cut = Sampler { top_k: 1, ..sampler(1.0) };
        for sampler in [sampler(1.0), cut] {
            let (token, logp) = sampler.draw(&logits, 0.3, &mut Vec::new()).unwrap();
            assert_eq!(token, 0);
            assert!((logp - 0.5f32.ln()).abs() < 1e-6);
        }
        // At T = 1/2 the weights are squared: 64, 16, 16.
        let (_, logp) = sampler(0.5).draw(&logits, 0.3, &mut Vec::new()).unwrap();
        assert!((logp - (64f32 / 96.0).ln()).abs() < 1e-6);
    }

    #[test]
    fn cuts_leave_the_likeliest() {
        // The probabilities are 2/15, 8/15, 1/15, 4/15.
        let logits = [2f32.ln(), 8f32.ln(), 1f32.ln(), 4f32.ln()];
        let drawn = |sampler| counts(sampler, &logits, 500).iter().map(|count| *count > 0).collect::<Vec<_>>();
        assert_eq!(drawn(Sampler { top_k: 2, ..sampler(1.0) }), [false, true, false, true]);
        assert_eq!(drawn(Sampler { top_p: 0.5, ..sampler(1.0) }), [false, true, false, false]);
        assert_eq!(drawn(Sampler { top_p: 0.85, ..sampler(1.0) }), [true, true, false, true]);
        assert_eq!(drawn(Sampler { min_p: 0.2, ..sampler(1.0) }), [true, true, false, true]);
        assert_eq!(drawn(sampler(1.0)), [true; 4]);
    }

    #[test]
    fn cuts_are_those_of_a_sorted_vocabulary() {
        let whole = |sampler: &Sampler, weights: &mut [f32]| {
            let mut order: Vec<usize> = (0..weights.len()).collect();
            order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
            let keep = if sampler.top_k > 0 { sampler.top_k.min(order.len()) } else { order.len() };
            let enough = sampler.top_p * order[..keep].iter().map(|token| f64::from(weights[*token])).sum::<f64>();
            let mut before = 0.0;
            for (place, token) in order.into_iter().enumerate() {
                let weight = f64::from(weights[token]);
                let is_kept = place < keep && before < enough && weights[token] >= sampler.min_p;
                before += weight;
                weights[token] = if is_kept || place == 0 { weights[token] } else { 0.0 };
            }
        };
        for seed in 0..200 {
            let mut rng = Seed::root(seed).child(Purpose::Sample, 0).rng();
            // Halves of whole numbers, so that many weights are equal.
            let spread = f64::from(rng.random_range(1..20u32));
            let exponents: Vec<f64> = (0..300).map(|_| (rng.random::<f64>() * spread * 2.0).floor() / 2.0).collect();
            let top = exponents.iter().copied().fold(f64::MIN, f64::max);
            let weights: Vec<f32> = exponents.iter().map(|exponent| (exponent - top).exp() as f32).collect();
            for (top_k, top_p, min_p) in
                [(0, 0.9, 0.0), (0, 0.5, 0.1), (40, 1.0, 0.0), (40, 0.8, 0.02), (1, 0.0, 1.0), (299, 0.999, 0.0)]
            {
                let sampler = Sampler { temperature: 1.0, top_k, top_p, min_p };
                let (mut found, mut expected) = (weights.clone(), weights.clone());
                sampler.cut(&mut found);
                whole(&sampler, &mut expected);
                assert_eq!(found, expected, "seed {seed}: {sampler:?}");
            }
        }
    }

    #[test]
    fn no_number_is_no_token() {
        for logits in [[f32::NAN, 0.0], [f32::INFINITY, 0.0], [f32::NEG_INFINITY, f32::NEG_INFINITY]] {
            assert_eq!(sampler(1.0).draw(&logits, 0.5, &mut Vec::new()), None, "{logits:?}");
        }
        assert_eq!(sampler(1.0).draw(&[f32::NEG_INFINITY, 0.0], 0.0, &mut Vec::new()), Some((1, 0.0)));
    }

    #[test]
    fn the_ends_of_the_unit_interval_are_tokens() {
        let logits = [0.0, 0.0, f32::NEG_INFINITY];
        assert_eq!(sampler(1.0).draw(&logits, 0.0, &mut Vec::new()).unwrap().0, 0);
        assert_eq!(sampler(1.0).draw(&logits, 1.0 - f64::EPSILON, &mut Vec::new()).unwrap().0, 1);
    }
}
