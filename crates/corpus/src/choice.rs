//! Random choices from short lists.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// One of `items`, all with the same probability.
pub(super) fn pick<T: Copy>(rng: &mut ChaCha8Rng, items: &[T]) -> T {
    items[rng.random_range(0..items.len())]
}

/// One of `items`, with probabilities proportional to their integer weights.
pub(super) fn weighted<T: Copy>(rng: &mut ChaCha8Rng, items: &[(u32, T)]) -> T {
    let total: u32 = items.iter().map(|(weight, _)| weight).sum();
    let mut rest = rng.random_range(0..total);
    for (weight, item) in items {
        if rest < *weight {
            return *item;
        }
        rest -= weight;
    }
    unreachable!("the weights sum to {total}")
}

/// Like [`weighted`], for fractional weights.
pub(super) fn proportional<T: Copy>(rng: &mut ChaCha8Rng, items: &[(T, f64)]) -> T {
    let total: f64 = items.iter().map(|(_, weight)| weight).sum();
    assert!(total > 0.0, "some weight is positive");
    let mut rest = rng.random::<f64>() * total;
    for (item, weight) in items {
        rest -= weight;
        if rest < 0.0 {
            return *item;
        }
    }
    items[items.len() - 1].0
}

/// The four moves in some order of preference, more often a good one.
pub(super) fn order(rng: &mut ChaCha8Rng) -> String {
    if rng.random_bool(0.5) {
        return pick(rng, &["ASDW", "SADW", "ASWD", "WADS", "DSAW", "SDAW", "WASD"]).into();
    }
    let mut letters = ['W', 'A', 'S', 'D'];
    shuffle(rng, &mut letters);
    letters.iter().collect()
}

/// Puts the items in a random order, all with the same probability.
pub(super) fn shuffle<T>(rng: &mut ChaCha8Rng, items: &mut [T]) {
    for end in (1..items.len()).rev() {
        items.swap(end, rng.random_range(0..=end));
    }
}
