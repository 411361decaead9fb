//! Gradients by the names of their variables, and their sums over the parts of a batch.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::OnceLock;

use candle_core::backprop::GradStore;
use candle_core::{Device, Tensor, Var};
use rayon::ThreadPool;

use super::LearnError;
use crate::policy::{EmbeddedTokens, LayerInputs};

/// The gradient of each trained variable, by name.
pub type Gradients = BTreeMap<String, Tensor>;

/// Stack of a thread that runs backward passes, in bytes. Candle walks the graph by recursion, to its full depth.
const STACK_BYTES: usize = 64 << 20;

/// The gradients of `loss`, a scalar. A trained variable that it does not depend on is an error.
pub fn gradients(loss: &Tensor, trainable: &BTreeMap<String, Var>) -> Result<Gradients, LearnError> {
    let mut found = Gradients::new();
    take_gradients(loss.backward()?, trainable, &mut found);
    complete(found, trainable)
}

/// The same gradients, bit for bit, of a loss that was computed from hidden states that begin with these tokens.
pub fn gradients_kept(
    loss: &Tensor,
    tokens: EmbeddedTokens<'_>,
    trainable: &BTreeMap<String, Var>,
) -> Result<Gradients, LearnError> {
    let (mut store, mut found) = (loss.backward()?, Gradients::new());
    tokens.complete(&mut store)?;
    take_gradients(store, trainable, &mut found);
    complete(found, trainable)
}

/// The same gradients, bit for bit, of a loss that was computed from [`LayerInputs`].
pub fn gradients_by_layer(
    loss: &Tensor,
    layers: LayerInputs<'_>,
    trainable: &BTreeMap<String, Var>,
) -> Result<Gradients, LearnError> {
    let mut found = Gradients::new();
    layers.backward(loss.backward()?, &mut |store| {
        take_gradients(store, trainable, &mut found);
        Ok(())
    })?;
    complete(found, trainable)
}

/// Moves the gradients of trained variables from `store` to `found`.
fn take_gradients(mut store: GradStore, trainable: &BTreeMap<String, Var>, found: &mut Gradients) {
    for (name, var) in trainable {
        if let Some(gradient) = store.remove(var) {
            found.insert(name.clone(), gradient);
        }
    }
}

fn complete(found: Gradients, trainable: &BTreeMap<String, Var>) -> Result<Gradients, LearnError> {
    let names: Vec<String> = trainable.keys().filter(|name| !found.contains_key(*name)).cloned().collect();
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

/// Number of parts that can be computed at the same time.
pub fn cores(device: &Device) -> usize {
    if device.is_cpu() { rayon::current_num_threads() } else { 1 }
}

/// Computes the parts of a batch, at most `at_once` of them at the same time, and at most one per core if the model is
/// on the CPU. `take` gets the results in the order of the parts, so that sums do not depend on timing.
///
/// Each part then runs on one core from beginning to end, because the operations of a small model are too short to be
/// parallel themselves. A single part, or one at a time, uses all cores.
pub fn parallel_parts<P: Sync, R: Send>(
    at_once: usize,
    device: &Device,
    parts: &[P],
    work: impl Fn(&P) -> Result<R, LearnError> + Sync,
    mut take: impl FnMut(R) -> Result<(), LearnError>,
) -> Result<(), LearnError> {
    let (threads, work) = (Threads::get()?, &work);
    let single = &threads.single[..at_once.clamp(1, threads.single.len())];
    if parts.len() < 2 || single.len() < 2 || !device.is_cpu() {
        return parts.iter().try_for_each(|part| take(threads.pool.install(|| work(part))?));
    }
    for wave in parts.chunks(single.len()) {
        let results: Vec<Result<R, LearnError>> = std::thread::scope(|scope| {
            let run = |(part, thread): (_, &'static ThreadPool)| scope.spawn(move || thread.install(|| work(part)));
            let running: Vec<_> = wave.iter().zip(single).map(run).collect();
            running.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        results.into_iter().try_for_each(|result| take(result?))?;
    }
    Ok(())
}

/// Thread pools with a stack that is deep enough for backward passes.
struct Threads {
    /// One pool of all threads, for one part at a time.
    pool: ThreadPool,
    /// Pools of one thread each, for several parts at the same time. Nested parallel work stays on the thread.
    single: Vec<ThreadPool>,
}

impl Threads {
    fn get() -> Result<&'static Self, LearnError> {
        static THREADS: OnceLock<Threads> = OnceLock::new();
        if let Some(threads) = THREADS.get() {
            return Ok(threads);
        }
        let pool = |threads: usize| {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK_BYTES);
            builder.build().map_err(candle_core::Error::wrap)
        };
        let count = rayon::current_num_threads();
        let single = (0..count).map(|_| pool(1)).collect::<Result<_, _>>()?;
        let built = Threads { pool: pool(count)?, single };
        Ok(THREADS.get_or_init(|| built))
    }
}
