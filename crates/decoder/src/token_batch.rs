//! Lays prompts and completions out for one pass through the layers.

use std::ops::Range;

use grpo_tensor::Spans;

/// The tokens that the layers read for some rows, and the places where the completions' tokens are predicted. The last
/// token of a row is predicted but not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenBatch {
    /// `(N,)`.
    pub ids: Vec<u32>,
    /// How `ids` divide into rows.
    pub spans: Spans,
    /// Indices into `ids` of the tokens whose outputs predict the completions' tokens, row by row.
    pub places: Vec<u32>,
}

/// Prompt and completion of a row.
#[derive(Debug, Clone, Copy)]
pub struct TokenRow<'a> {
    /// Token ids of the prompt, then of the completion.
    pub ids: &'a [u32],
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Places in `ids` of what others wrote into the completion: it is read, but not predicted.
    pub told: &'a [Range<usize>],
}

impl TokenRow<'_> {
    /// The places in `ids` of the tokens that are predicted: those of the completion that the policy wrote itself.
    pub fn predicted(&self) -> impl Iterator<Item = usize> + '_ {
        (self.prompt..self.ids.len()).filter(|at| !self.told.iter().any(|told| told.contains(at)))
    }

    /// The tokens that are read.
    fn inputs(&self) -> &[u32] {
        &self.ids[..self.ids.len() - 1]
    }
}

impl TokenBatch {
    /// Lays rows out. If the decoder [`shares_beginnings`](super::Decoder::shares_beginnings), the common beginning of
    /// all prompts is read once and nothing is padded; otherwise rows are padded on the right to one length.
    ///
    /// # Panics
    /// When a row has no prompt or no completion.
    pub fn new(rows: &[TokenRow<'_>], shares_beginnings: bool) -> Self {
        let longest = rows.iter().map(|row| row.inputs().len()).max().unwrap_or(0);
        let shared = if shares_beginnings { shared_beginning(rows) } else { 0 };
        let mut ids: Vec<u32> = rows.first().map_or_else(Vec::new, |row| row.ids[..shared].to_vec());
        let (mut own, mut places) = (Vec::new(), Vec::new());
        for row in rows {
            let (inputs, start) = (row.inputs(), ids.len());
            assert!(0 < row.prompt && row.prompt <= inputs.len(), "a prompt and a completion");
            ids.extend_from_slice(&inputs[shared..]);
            if !shares_beginnings {
                ids.resize(start + longest, 0);
            }
            own.push(ids.len() - start);
            let place = |at: usize| if at < shared { at } else { start + at - shared };
            places.extend(row.predicted().map(|at| place(at - 1) as u32));
        }
        TokenBatch { ids, spans: Spans::new(shared, own), places }
    }
}

/// Tokens that the prompts of all rows begin with; 0 for a single row.
pub fn shared_beginning(rows: &[TokenRow<'_>]) -> usize {
    let [first, rest @ ..] = rows else { return 0 };
    let alike = |row: &TokenRow<'_>| {
        let both = first.ids[..first.prompt].iter().zip(&row.ids[..row.prompt]);
        both.take_while(|(a, b)| a == b).count()
    };
    rest.iter().map(alike).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [TokenRow<'static>; 3] = [
        TokenRow { ids: &[1, 2, 3, 7, 8, 9], prompt: 3, told: &[] },
        TokenRow { ids: &[1, 2, 3, 7], prompt: 3, told: &[] },
        TokenRow { ids: &[1, 2, 4, 7, 5], prompt: 3, told: &[] },
    ];

    #[test]
    fn rows_are_padded_or_share_what_their_prompts_begin_with() {
        let padded = TokenBatch::new(&ROWS, false);
        assert_eq!(padded.ids, [1, 2, 3, 7, 8, 1, 2, 3, 0, 0, 1, 2, 4, 7, 0]);
        assert_eq!((padded.spans, padded.places), (Spans::equal(3, 5), vec![2, 3, 4, 7, 12, 13]));

        let shared = TokenBatch::new(&ROWS, true);
        assert_eq!(shared.ids, [1, 2, 3, 7, 8, 3, 4, 7]);
        assert_eq!((shared.spans, shared.places), (Spans::new(2, vec![3, 1, 2]), vec![2, 3, 4, 5, 6, 7]));
    }

    #[test]
    fn what_others_wrote_is_read_and_not_predicted() {
        let rows = [TokenRow { told: &[4..5, 5..6], ..ROWS[0] }, ROWS[1]];
        for shares in [false, true] {
            let (told, all) = (TokenBatch::new(&rows, shares), TokenBatch::new(&ROWS[..2], shares));
            assert_eq!((told.ids, told.spans), (all.ids, all.spans));
            // The first row predicts the token at 3 only; the tokens at 4 and 5 were predicted from 3 and 4.
            assert_eq!(told.places, [&all.places[..1], &all.places[3..]].concat());
        }
    }

    #[test]
    fn a_token_of_the_beginning_may_predict_for_many_rows() {
        let alike = TokenBatch::new(&ROWS[..2], true);
        assert_eq!(alike.ids, [1, 2, 3, 7, 8]);
        assert_eq!((alike.spans, alike.places), (Spans::new(3, vec![2, 0]), vec![2, 3, 4, 2]));
        let alone = TokenBatch::new(&ROWS[..1], true);
        assert_eq!((alone.ids.as_slice(), alone.spans), ([1, 2, 3, 7, 8].as_slice(), Spans::new(0, vec![5])));
    }
}
