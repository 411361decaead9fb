//! What the calls of a session took, so that a call unlike the others can be told.

/// Calls by the power of two that their fuel lies in: however many there are, they take the same memory.
#[derive(Debug, Clone)]
pub(crate) struct Calls {
    by_power: [u64; 64],
    /// The power of the last call; none before the first.
    last: Option<usize>,
}

impl Default for Calls {
    fn default() -> Self {
        Calls { by_power: [0; 64], last: None }
    }
}

impl Calls {
    /// Takes in a call that took so much fuel.
    pub fn add(&mut self, fuel: u64) {
        let power = fuel.max(1).ilog2() as usize;
        self.by_power[power] += 1;
        self.last = Some(power);
    }

    /// Earlier calls whose power is at most `halvings` below that of the last one.
    pub fn like_last(&self, halvings: usize) -> u64 {
        let Some(last) = self.last else { return 0 };
        self.by_power[last.saturating_sub(halvings)..].iter().sum::<u64>() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_alike_within_some_halvings_of_the_last_one() {
        let mut calls = Calls::default();
        assert_eq!(calls.like_last(4), 0);
        for fuel in [0, 1, 1 << 16, 1 << 19, 1 << 20, 1 << 63, 1 << 20] {
            calls.add(fuel);
        }
        // 2^16 is four halvings below 2^20, and what is above it counts too.
        assert_eq!([0, 1, 3, 4, 20].map(|halvings| calls.like_last(halvings)), [2, 3, 3, 4, 6]);
    }
}
