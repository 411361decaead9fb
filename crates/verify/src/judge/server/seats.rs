//! Limits how many threads do something at once.

use parking_lot::{Condvar, Mutex};

/// A number of seats that can be taken.
pub(super) struct Seats {
    most: usize,
    taken: Mutex<usize>,
    left: Condvar,
}

/// A seat, which is free again when dropped.
pub(super) struct Seat<'a>(&'a Seats);

impl Seats {
    pub fn new(most: usize) -> Seats {
        Seats { most, taken: Mutex::new(0), left: Condvar::new() }
    }

    /// Takes a seat, waiting for one if needed.
    pub fn take(&self) -> Seat<'_> {
        let mut taken = self.taken.lock();
        self.left.wait_while(&mut taken, |taken| *taken >= self.most);
        *taken += 1;
        Seat(self)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock() -= 1;
        self.0.left.notify_all();
    }
}
