//! Waiting for every kernel, so that one that fails is named. Otherwise the next call that waits reports it.

use std::sync::atomic::{AtomicBool, Ordering};

static CHECKED: AtomicBool = AtomicBool::new(false);

/// Whether a GPU's kernels and products are waited for from now on, each by itself.
pub fn check_launches(on: bool) {
    CHECKED.store(on, Ordering::Relaxed);
}

#[cfg(feature = "cuda")]
pub(super) fn launches_are_checked() -> bool {
    CHECKED.load(Ordering::Relaxed)
}
