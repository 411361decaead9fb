//! What sampling needs in addition for later turns.

use super::{F32, Workload};

/// Number of slots of the cache for `rows` completions, and bytes of the temporary numbers of a layer while conversations are
/// read again; none with one turn, in which only prompts are read.
///
/// Conversations are of different lengths and padded to the longest, and any of them may have all the rest of its length
/// left.
pub(super) fn slots_and_read(workload: &Workload<'_>, rows: usize) -> (u64, u64) {
    let (shape, rollout) = (workload.shape, &workload.config.rollout);
    if rollout.turns == 1 {
        return ((rows * workload.width().next_multiple_of(32)) as u64, 0);
    }
    let padded = workload.width() + rollout.max_completion_length;
    let heads = shape.num_attention_heads + 2 * shape.num_key_value_heads;
    let widest = (heads * shape.head_dim).max(3 * shape.intermediate_size);
    let read = rows * workload.width() * (4 * shape.hidden_size + widest);
    ((rows * padded.next_multiple_of(32)) as u64, F32 * read as u64)
}
