//! Training's kernels on this processor, where a test asks for it; they are compared with the decoder's other kernels in
//! `kernels/tests/emulated.rs`.

use std::cell::Cell;

use super::super::emulated::{self, Emulated};

thread_local! {
    static EMULATED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside [`emulated`].
pub(super) fn is_emulated() -> bool {
    EMULATED.get()
}

/// Has every tensor of this thread worked on by the GPU's kernels while `run` runs; none where there is no C++ compiler.
pub(in crate::policy) fn emulated<R>(run: impl FnOnce() -> R) -> Option<R> {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            EMULATED.set(self.0);
        }
    }
    Emulated::open()?;
    let _restore = Restore(EMULATED.replace(true));
    Some(run())
}

/// What `run` gives with blocks and threads of every kernel in order, and from the last to the first.
pub(in crate::policy) fn in_both_orders<R>(run: impl Fn() -> R) -> Option<[R; 2]> {
    emulated(|| {
        let in_order = run();
        emulated::run_backwards(true);
        let backwards = run();
        emulated::run_backwards(false);
        [in_order, backwards]
    })
}
