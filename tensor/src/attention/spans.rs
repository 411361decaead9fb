//! How a flat batch of tokens divides into sequences.

use candle_core::{Result, bail};

/// Sequences that lie one after the other without padding. Tokens that all of them begin with may lie before them, once:
/// every sequence sees them, and they see themselves.
///
/// A group of completions is so scored behind one copy of its prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    /// Tokens that all sequences begin with.
    shared: usize,
    /// Tokens of each sequence after those.
    own: Vec<usize>,
}

/// Tokens of a flat batch that attend to the shared ones and to themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// Tokens before the first of its own that it sees; they lie at the beginning of the batch.
    pub shared: usize,
    /// Where its own tokens begin.
    pub start: usize,
    /// How many there are.
    pub own: usize,
}

impl Span {
    /// Tokens it sees.
    pub fn seen(&self) -> usize {
        self.shared + self.own
    }
}

impl Spans {
    /// `shared` tokens, then as many as `own` says for each sequence.
    pub fn new(shared: usize, own: Vec<usize>) -> Self {
        Spans { shared, own }
    }

    /// `rows` sequences of `steps` tokens, nothing shared.
    pub fn equal(rows: usize, steps: usize) -> Self {
        Spans { shared: 0, own: vec![steps; rows] }
    }

    /// Tokens in all.
    pub fn tokens(&self) -> usize {
        self.shared + self.own.iter().sum::<usize>()
    }

    /// Tokens of the longest sequence, the shared ones among them.
    pub fn longest(&self) -> usize {
        self.shared + self.own.iter().max().copied().unwrap_or(0)
    }

    /// The number of sequences, where they are equally long and share nothing, which is all that kernels by tensors read.
    pub fn rows(&self) -> Result<usize> {
        if self.shared > 0 || self.own.iter().any(|own| *own != self.own[0]) {
            bail!("sequences of unlike length or with a shared beginning: only the fused kernels read them");
        }
        Ok(self.own.len())
    }

    /// What attends to itself: the shared tokens first, then each sequence.
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
