//! Gradients by name, and their sums over parts of a batch.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use candle_core::{Device, Tensor, Var};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::LearnError;

/// Gradient of each trained variable.
pub type Gradients = BTreeMap<String, Tensor>;

/// Stack of a thread that runs backward passes: candle walks the graph recursively, to its full depth.
const STACK_BYTES: usize = 64 << 20;

/// Gradients of `loss`, a scalar, one for every trained variable; a variable that it does not reach is an error.
pub fn gradients(loss: &Tensor, trainable: &BTreeMap<String, Var>) -> Result<Gradients, LearnError> {
    let mut store = loss.backward()?;
    let mut found = Gradients::new();
    let mut names = Vec::new();
    for (name, var) in trainable {
        match store.remove(var) {
            Some(gradient) => drop(found.insert(name.clone(), gradient)),
            None => names.push(name.clone()),
        }
    }
    if names.is_empty() { Ok(found) } else { Err(LearnError::MissingGradients { names }) }
}

/// Adds `part` to `sum`; an empty sum is zero.
pub fn accumulate(sum: &mut Gradients, part: Gradients) -> candle_core::Result<()> {
    for (name, gradient) in part {
        let added = match sum.get(&name) {
            Some(so_far) => (so_far + gradient)?,
            None => gradient,
        };
        sum.insert(name, added);
    }
    Ok(())
}

/// Works on the parts of a batch, as many at once as there are cores when the model is on the CPU, and hands the
/// results to `take` in the order of the parts, so that sums do not depend on who finished first.
///
/// One part a core beats all cores on one part: operations on a small model are too short to share.
pub fn parallel_parts<P: Sync, R: Send>(
    device: &Device,
    parts: &[P],
    work: impl Fn(&P) -> Result<R, LearnError> + Sync,
    mut take: impl FnMut(R) -> Result<(), LearnError>,
) -> Result<(), LearnError> {
    let pool = pool()?;
    let at_once = if device.is_cpu() { pool.current_num_threads() } else { 1 };
    for wave in parts.chunks(at_once) {
        let results: Vec<_> = match wave {
            [part] => vec![pool.install(|| work(part))],
            wave => pool.install(|| wave.par_iter().with_max_len(1).map(&work).collect()),
        };
        for result in results {
            take(result?)?;
        }
    }
    Ok(())
}

/// Threads with a stack that is deep enough.
fn pool() -> Result<&'static ThreadPool, LearnError> {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    if let Some(pool) = POOL.get() {
        return Ok(pool);
    }
    let built = rayon::ThreadPoolBuilder::new()
        .num_threads(rayon::current_num_threads())
        .stack_size(STACK_BYTES)
        .thread_name(|index| format!("update-{index}"))
        .build()
        .map_err(candle_core::Error::wrap)?;
    Ok(POOL.get_or_init(|| built))
}
