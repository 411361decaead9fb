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
    pub fn add(&mut self, other: &Sums) {
        self.tokens += other.tokens;
        self.loss += other.loss;
        self.entropy += other.entropy;
        self.kl += other.kl;
        self.low += other.low;
        self.high += other.high;
        self.difference += other.difference;
        self.difference_max = self.difference_max.max(other.difference_max);
        self.sampling_kl += other.sampling_kl;
        self.corrected += other.corrected;
        self.correction += other.correction;
        self.demonstrated += other.demonstrated;
        self.nll += other.nll;
    }
}

impl Sums {
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
