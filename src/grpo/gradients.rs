//! Gradients by name, and their sums over parts of a batch.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::OnceLock;

use candle_core::backprop::GradStore;
use candle_core::{Device, Tensor, Var};
use rayon::ThreadPool;

use super::LearnError;
use crate::policy::LayerInputs;

/// Gradient of each trained variable.
pub type Gradients = BTreeMap<String, Tensor>;

/// Stack of a thread that runs backward passes: candle walks the graph recursively, to its full depth.
const STACK_BYTES: usize = 64 << 20;

/// Gradients of `loss`, a scalar, one for every trained variable; a variable that it does not reach is an error.
pub fn gradients(loss: &Tensor, trainable: &BTreeMap<String, Var>) -> Result<Gradients, LearnError> {
    let mut found = Gradients::new();
    collect(loss.backward()?, trainable, &mut found);
    complete(found, trainable)
}

/// The same, to the last bit, where `loss` was computed from [`LayerInputs`].
pub fn gradients_by_layer(
    loss: &Tensor,
    layers: LayerInputs<'_>,
    trainable: &BTreeMap<String, Var>,
) -> Result<Gradients, LearnError> {
    let mut found = Gradients::new();
    layers.backward(loss.backward()?, &mut |store| {
        collect(store, trainable, &mut found);
        Ok(())
    })?;
    complete(found, trainable)
}

/// Takes what `store` has of the variables.
fn collect(mut store: GradStore, trainable: &BTreeMap<String, Var>, found: &mut Gradients) {
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

/// Parts that can be worked on at once.
pub fn cores(device: &Device) -> usize {
    if device.is_cpu() { rayon::current_num_threads() } else { 1 }
}

/// Works on the parts of a batch, at most `at_once` of them together and as many as there are cores when the model is on the
/// CPU, and hands the results to `take` in the order of the parts, so that sums do not depend on who finished first.
///
/// Each part then runs on one core from beginning to end: the operations of a small model are too short to be worth
/// meeting after each. A single part, or one at a time, has all cores.
pub fn parallel_parts<P: Sync, R: Send>(
    at_once: usize,
    device: &Device,
    parts: &[P],
    work: impl Fn(&P) -> Result<R, LearnError> + Sync,
    mut take: impl FnMut(R) -> Result<(), LearnError>,
) -> Result<(), LearnError> {
    let (threads, work) = (Threads::get()?, &work);
    let apart = &threads.apart[..at_once.clamp(1, threads.apart.len())];
    if parts.len() < 2 || apart.len() < 2 || !device.is_cpu() {
        return parts.iter().try_for_each(|part| take(threads.together.install(|| work(part))?));
    }
    for wave in parts.chunks(apart.len()) {
        let results: Vec<Result<R, LearnError>> = std::thread::scope(|scope| {
            let run = |(part, thread): (_, &'static ThreadPool)| scope.spawn(move || thread.install(|| work(part)));
            let running: Vec<_> = wave.iter().zip(apart).map(run).collect();
            running.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        results.into_iter().try_for_each(|result| take(result?))?;
    }
    Ok(())
}

/// Threads with a stack that is deep enough.
struct Threads {
    /// All of them on one piece of work.
    together: ThreadPool,
    /// One thread each, and nested work stays on it.
    apart: Vec<ThreadPool>,
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
        let apart = (0..count).map(|_| pool(1)).collect::<Result<_, _>>()?;
        let built = Threads { together: pool(count)?, apart };
        Ok(THREADS.get_or_init(|| built))
    }
}
