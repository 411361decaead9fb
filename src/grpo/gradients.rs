//! Gradients by name, and their sums over parts of a batch.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::OnceLock;

use candle_core::{Device, Tensor, Var};
use rayon::ThreadPool;

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
/// Each part then runs on one core from beginning to end: the operations of a small model are too short to be worth
/// meeting after each. A single part has all cores.
pub fn parallel_parts<P: Sync, R: Send>(
    device: &Device,
    parts: &[P],
    work: impl Fn(&P) -> Result<R, LearnError> + Sync,
    mut take: impl FnMut(R) -> Result<(), LearnError>,
) -> Result<(), LearnError> {
    let (threads, work) = (Threads::get()?, &work);
    if parts.len() < 2 || !device.is_cpu() {
        return parts.iter().try_for_each(|part| take(threads.together.install(|| work(part))?));
    }
    for wave in parts.chunks(threads.apart.len()) {
        let results: Vec<Result<R, LearnError>> = std::thread::scope(|scope| {
            let run = |(part, thread): (_, &'static ThreadPool)| scope.spawn(move || thread.install(|| work(part)));
            let running: Vec<_> = wave.iter().zip(&threads.apart).map(run).collect();
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
