//! What sampling needs for later turns.

use super::workload::{F32, Place, Workload};
use crate::policy::{Precision, READ_AT_ONCE};

/// Number of slots of the cache for `rows` completions, and bytes of the temporary numbers of a layer while later turns are
/// read; none with one turn, in which only prompts are read.
///
/// Where rows are fed alone, later turns go on in the cache of the first, which has room for all. Elsewhere conversations are
/// read again: they are of different lengths and padded to the longest, and any of them may have all the rest of its length
/// left.
pub(super) fn slots_and_read(workload: &Workload<'_>, rows: usize) -> (u64, u64) {
    let (shape, rollout) = (workload.shape, &workload.config.rollout);
    let width = workload.width();
    let alone = (rows * width.next_multiple_of(32)) as u64;
    if rollout.turns == 1 {
        return (alone, 0);
    }
    let heads = shape.num_attention_heads + 2 * shape.num_key_value_heads;
    let widest = (heads * shape.head_dim).max(3 * shape.intermediate_size);
    let read = |tokens: usize| F32 * (tokens * (4 * shape.hidden_size + widest)) as u64;
    if workload.place == Place::Host && workload.precision == Precision::F32 {
        return (alone, read((rows * width).min(READ_AT_ONCE.max(width))));
    }
    let padded = (width + rollout.max_completion_length).next_multiple_of(32);
    ((rows * padded) as u64, read(rows * width))
}
