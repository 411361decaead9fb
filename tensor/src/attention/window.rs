//! Which slots of a key-value cache its rows use, and what of them a query sees.

use std::ops::Range;

use candle_core::{Device, Result, Tensor};

use crate::attention::Scores;

/// Cache slots that are scored at once; the capacity of the cache is a multiple of it.
pub(super) const BLOCK: usize = 32;

/// Which slots of the cache are in use.
///
/// Rows in [blocks](crate::KeyValues::Blocks) begin at slot 0 and advance alone. Those in [tensors](crate::KeyValues::Tensors) write the same slots,
/// so they are padded before their first token and all fed alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Slot of each row's first token.
    pub first: Vec<usize>,
    /// Slots of each row that were written before this call, padding included.
    pub lengths: Vec<usize>,
    /// Slots of each row that this call writes.
    pub fed: Vec<usize>,
    /// All slots of a row; a multiple of 32.
    pub capacity: usize,
}

impl Window {
    /// An empty cache with room for `capacity` tokens.
    pub fn new(rows: usize, capacity: usize) -> Self {
        let none = vec![0; rows];
        let capacity = capacity.next_multiple_of(BLOCK);
        Window { first: none.clone(), lengths: none.clone(), fed: none, capacity }
    }

    /// Counts the slots of this call as written.
    pub fn advance(&mut self) {
        self.lengths.iter_mut().zip(&self.fed).for_each(|(length, fed)| *length += fed);
    }

    /// Keeps these rows, in this order; a row may be named more than once.
    pub fn select(&mut self, rows: &[usize]) {
        for of_rows in [&mut self.first, &mut self.lengths, &mut self.fed] {
            *of_rows = rows.iter().map(|row| of_rows[*row]).collect();
        }
    }

    /// The slots that this call writes in every row, where all rows write the same.
    pub(super) fn slots(&self) -> Range<usize> {
        let (length, fed) = (self.lengths.first().copied().unwrap_or(0), self.fed.first().copied().unwrap_or(0));
        length..length + fed
    }

    /// Positions of the slots that this call writes, `(rows, steps)` u32; padding is at position 0.
    pub(super) fn positions(&self, device: &Device) -> Result<Tensor> {
        let slots = self.slots();
        let steps = slots.len();
        let positions: Vec<u32> =
            self.first.iter().flat_map(|first| slots.clone().map(move |s| s.saturating_sub(*first) as u32)).collect();
        Tensor::from_vec(positions, (self.first.len(), steps), device)
    }

    /// `(rows, steps, length + steps)`: zero where a query sees the slot, negative infinity elsewhere. Padding sees
    /// itself, so that its softmax stays finite.
    ///
    /// A GPU computes the mask of prompts itself: to count it out and send it would take longer than the layer.
    pub(super) fn mask(&self, scores: Scores, device: &Device) -> Result<Tensor> {
        match device.is_cpu() || self.slots().len() == 1 {
            true => self.counted_mask(scores, device),
            false => self.compared_mask(scores, device),
        }
    }

    fn compared_mask(&self, scores: Scores, device: &Device) -> Result<Tensor> {
        let Range { start, end: slots } = self.slots();
        let (rows, steps) = (self.first.len(), slots - start);
        let queries = Tensor::arange(start as u32, slots as u32, device)?.reshape((1, steps, 1))?;
        let keys = Tensor::arange(0, slots as u32, device)?.reshape((1, 1, slots))?;
        let first: Vec<u32> = self.first.iter().map(|first| *first as u32).collect();
        let mut seen = queries.broadcast_ge(&keys)?;
        if let Some(window) = scores.window {
            let ends = Tensor::arange(window as u32, (window + slots) as u32, device)?.reshape((1, 1, slots))?;
            seen = (seen * queries.broadcast_lt(&ends)?)?;
        }
        let seen = seen.broadcast_mul(&keys.broadcast_ge(&Tensor::from_vec(first, (rows, 1, 1), device)?)?)?;
        let seen = seen.broadcast_add(&queries.broadcast_eq(&keys)?)?;
        let hidden = Tensor::full(f32::NEG_INFINITY, (rows, steps, slots), device)?;
        seen.where_cond(&hidden.zeros_like()?, &hidden)
    }

    fn counted_mask(&self, scores: Scores, device: &Device) -> Result<Tensor> {
        let Range { start, end: slots } = self.slots();
        let steps = slots - start;
        let mut mask = Vec::with_capacity(self.first.len() * steps * slots);
        for first in &self.first {
            for query in start..slots {
                let from = scores.first_seen(*first, query);
                let seen = |slot: usize| slot == query || (from..=query).contains(&slot);
                mask.extend((0..slots).map(|slot| if seen(slot) { 0.0 } else { f32::NEG_INFINITY }));
            }
        }
        Tensor::from_vec(mask, (self.first.len(), steps, slots), device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_that_is_compared_is_the_one_that_is_counted_out() {
        for (length, fed, scores) in [
            (0, 7, Scores::default()),
            (0, 7, Scores { window: Some(3), ..Scores::default() }),
            (4, 3, Scores { window: Some(2), ..Scores::default() }),
        ] {
            let window = Window { lengths: vec![length; 3], fed: vec![fed; 3], first: vec![0, 2, 5], capacity: 32 };
            let [counted, compared] =
                [window.counted_mask(scores, &Device::Cpu), window.compared_mask(scores, &Device::Cpu)]
                    .map(|mask| mask.unwrap().to_vec3::<f32>().unwrap());
            assert_eq!(counted, compared, "{window:?} {scores:?}");
            assert!(counted.iter().flatten().all(|query| query.contains(&0.0)), "each sees something");
        }
    }
}
