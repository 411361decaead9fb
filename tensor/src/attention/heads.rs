//! Heads of attention, and what becomes of their scores.

/// How the width of queries, keys and values splits into heads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heads {
    /// Query heads.
    pub queries: usize,
    /// Key and value heads; divides the query heads.
    pub keys: usize,
    /// Width of a head.
    pub width: usize,
    /// What becomes of the scores.
    pub scores: Scores,
}

/// What becomes of scores before the softmax, where it is not what Llama does.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// What they are multiplied by; one over the root of a head's width where none is named.
    pub scale: Option<f32>,
    /// Bound that they are bent under, `cap * tanh(score / cap)` (Gemma 2).
    pub cap: Option<f32>,
    /// Tokens that a token sees, itself included; all before it where none is named.
    pub window: Option<usize>,
}

impl Scores {
    /// Whether sequences of so many tokens have scores as Llama has them, which is what the fastest kernels compute.
    pub fn are_plain(&self, steps: usize) -> bool {
        self.cap.is_none() && self.window.is_none_or(|window| steps <= window)
    }

    /// The first slot that a token in `slot` sees, of those from `first` on.
    pub(crate) fn first_seen(&self, first: usize, slot: usize) -> usize {
        self.window.map_or(first, |window| first.max((slot + 1).saturating_sub(window)))
    }
}

impl Heads {
    /// With scores as Llama has them.
    pub fn new(queries: usize, keys: usize, width: usize) -> Self {
        Heads { queries, keys, width, scores: Scores::default() }
    }

    /// Width of queries, keys and values side by side.
    pub fn total(&self) -> usize {
        (self.queries + 2 * self.keys) * self.width
    }

    /// What scores are multiplied by.
    pub(crate) fn scale(&self) -> f32 {
        self.scores.scale.unwrap_or_else(|| 1.0 / (self.width as f32).sqrt())
    }
}
