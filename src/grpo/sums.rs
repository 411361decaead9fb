//! What an update adds up over the tokens of its parts.

/// Sums over tokens, from which [`UpdateStats`](super::UpdateStats) are made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub tokens: f64,
    pub loss: f64,
    pub entropy: f64,
    pub kl: f64,
    pub low: f64,
    pub high: f64,
    pub difference: f64,
    pub difference_max: f64,
    pub sampling_kl: f64,
    pub corrected: f64,
    pub correction: f64,
    pub demonstrated: f64,
    pub nll: f64,
}

impl Sums {
    pub fn add(&mut self, mut other: Sums) {
        let max = self.difference_max.max(other.difference_max);
        self.fields().into_iter().zip(other.fields()).for_each(|(sum, term)| *sum += *term);
        self.difference_max = max;
    }

    /// All of them, in their order.
    fn fields(&mut self) -> [&mut f64; 13] {
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
        ]
    }

    /// What crosses between processes.
    pub fn numbers(mut self) -> [f64; 13] {
        self.fields().map(|field| *field)
    }
}

impl From<[f64; 13]> for Sums {
    /// From their [`numbers`](Sums::numbers).
    fn from(numbers: [f64; 13]) -> Sums {
        let mut sums = Sums::default();
        for (field, number) in sums.fields().into_iter().zip(numbers) {
            *field = number;
        }
        sums
    }
}
