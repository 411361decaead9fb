//! Sums over the tokens of an update, from which its statistics are computed.

/// Sums over the sampled tokens in the loss, from which [`UpdateStats`](super::UpdateStats) are computed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    /// Number of these tokens.
    pub tokens: f64,
    /// The loss, which is weighted per token already.
    pub loss: f64,
    /// Entropies, in nats.
    pub entropy: f64,
    /// KL divergences from the reference, in nats.
    pub kl: f64,
    /// Number of tokens whose ratio was below the clipping range.
    pub low: f64,
    /// Number of tokens whose ratio was above the clipping range.
    pub high: f64,
    /// Absolute differences between the log-probabilities of sampling and of scoring, in nats.
    pub difference: f64,
    /// The largest of these differences: a maximum, not a sum.
    pub difference_max: f64,
    /// KL divergences between the policy that sampled and this one, in nats.
    pub sampling_kl: f64,
    /// Number of tokens whose importance weight was truncated or masked.
    pub corrected: f64,
    /// Importance weights.
    pub correction: f64,
    /// Number of tokens of demonstrations.
    pub demonstrated: f64,
    /// Negative log-likelihoods of the tokens of demonstrations, in nats.
    pub nll: f64,
}

impl Sums {
    pub fn add(&mut self, mut other: Sums) {
        let difference_max = self.difference_max.max(other.difference_max);
        for (sum, number) in self.fields().into_iter().zip(other.fields()) {
            *sum += *number;
        }
        self.difference_max = difference_max;
    }

    fn fields(&mut self) -> [&mut f64; 13] {
        // Taken apart, so that the compiler asks for a field that is added.
        let Sums {
            tokens,
            loss,
            entropy,
            kl,
            low,
            high,
            difference,
            difference_max,
            sampling_kl,
            corrected,
            correction,
            demonstrated,
            nll,
        } = self;
        [
            tokens, loss, entropy, kl, low, high, difference, difference_max, sampling_kl, corrected, correction,
            demonstrated, nll,
        ]
    }

    /// All fields in their order, in which processes exchange them.
    pub fn numbers(mut self) -> [f64; 13] {
        self.fields().map(|field| *field)
    }
}

impl From<[f64; 13]> for Sums {
    /// The inverse of [`numbers`](Sums::numbers).
    fn from(numbers: [f64; 13]) -> Sums {
        let mut sums = Sums::default();
        for (field, number) in sums.fields().into_iter().zip(numbers) {
            *field = number;
        }
        sums
    }
}
