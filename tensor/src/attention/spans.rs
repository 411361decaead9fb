//! How a flat batch of tokens divides into sequences.

use candle_core::{Result, bail};

/// Sequences that lie one after the other without padding. Tokens that all sequences begin with may lie before them,
/// once: every sequence sees these shared tokens, and the shared tokens see each other.
///
/// In this way the completions of a group are scored behind one copy of their prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    /// Tokens that all sequences begin with.
    shared: usize,
    /// Tokens of each sequence after the shared ones.
    own: Vec<usize>,
}

/// Consecutive tokens of a flat batch that attend to the shared tokens and to themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// How many shared tokens it sees; they lie at the beginning of the batch.
    pub shared: usize,
    /// Index of the first of its own tokens.
    pub start: usize,
    /// How many own tokens it has.
    pub own: usize,
}

impl Span {
    /// How many tokens it sees.
    pub fn seen(&self) -> usize {
        self.shared + self.own
    }

    /// The shared tokens that it sees.
    pub fn beginning(&self) -> Span {
        Span { shared: 0, start: 0, own: self.shared }
    }
}

impl Spans {
    /// `shared` tokens, then a sequence for each number in `own`.
    pub fn new(shared: usize, own: Vec<usize>) -> Self {
        Spans { shared, own }
    }

    /// `rows` sequences of `steps` tokens, without shared tokens.
    pub fn equal(rows: usize, steps: usize) -> Self {
        Spans { shared: 0, own: vec![steps; rows] }
    }

    /// Number of all tokens.
    pub fn tokens(&self) -> usize {
        self.shared + self.own.iter().sum::<usize>()
    }

    /// Tokens of the longest sequence, including the shared ones.
    pub fn longest(&self) -> usize {
        self.shared + self.own.iter().max().copied().unwrap_or(0)
    }

    /// The number of sequences, if they are equally long and share nothing. Only the fused kernels read other batches.
    pub fn rows(&self) -> Result<usize> {
        if self.shared > 0 || self.own.iter().any(|own| *own != self.own[0]) {
            bail!("sequences of unlike length or with a shared beginning: only the fused kernels read them");
        }
        Ok(self.own.len())
    }

    /// The parts that attend to themselves: the shared tokens first, then each sequence.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Span> + '_ {
        let beginning = Span { shared: 0, start: 0, own: self.shared };
        let sequences = self.own.iter().scan(self.shared, |end, &own| {
            let start = *end;
            *end += own;
            Some(Span { shared: self.shared, start, own })
        });
        std::iter::once(beginning).chain(sequences).filter(|span| span.own > 0)
    }
}
