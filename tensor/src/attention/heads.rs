//! Sizes of attention heads, and how their scores are computed.

/// How the width of queries, keys and values splits into heads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heads {
    pub queries: usize,
    /// Key and value heads; divides the query heads.
    pub keys: usize,
    /// Width of a head.
    pub width: usize,
    pub scores: Scores,
}

/// How scores are computed before the softmax, where a model differs from Llama.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// Factor of the scores; `None` means one over the square root of the head's width.
    pub scale: Option<f32>,
    /// Soft cap of the scores, `cap * tanh(score / cap)` (Gemma 2).
    pub cap: Option<f32>,
    /// How many tokens a token sees, itself included (sliding window); `None` means all before it.
    pub window: Option<usize>,
}

impl Scores {
    /// Whether sequences of so many tokens have the scores of Llama but for their factor. The fastest kernels compute
    /// only these.
    pub fn are_plain(&self, steps: usize) -> bool {
        self.cap.is_none() && self.window.is_none_or(|window| steps <= window)
    }

    /// The first slot that the token in `slot` sees, at least `first`.
    pub(crate) fn first_seen(&self, first: usize, slot: usize) -> usize {
        self.window.map_or(first, |window| first.max((slot + 1).saturating_sub(window)))
    }
}

impl Heads {
    /// Heads with the scores of Llama.
    pub fn new(queries: usize, keys: usize, width: usize) -> Self {
        Heads { queries, keys, width, scores: Scores::default() }
    }

    /// Width of queries, keys and values side by side.
    pub fn total(&self) -> usize {
        (self.queries + 2 * self.keys) * self.width
    }

    /// Factor of the scores.
    pub(crate) fn scale(&self) -> f32 {
        self.scores.scale.unwrap_or_else(|| 1.0 / (self.width as f32).sqrt())
    }
}
