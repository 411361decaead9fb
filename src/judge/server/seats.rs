//! Limits how many threads do something at once.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// A number of seats that can be taken.
#[derive(Clone)]
pub(super) struct Seats(Arc<Room>);

struct Room {
    most: usize,
    taken: Mutex<usize>,
    left: Condvar,
}

/// A seat, which is free again when dropped.
pub(super) struct Seat(Seats);

impl Seats {
    pub fn new(most: usize) -> Seats {
        Seats(Arc::new(Room { most, taken: Mutex::new(0), left: Condvar::new() }))
    }

    /// Takes a seat, waiting for one if needed.
    pub fn take(&self) -> Seat {
        let full = |taken: &mut usize| *taken >= self.0.most;
        let mut taken = self.0.taken.lock();
        self.0.left.wait_while(&mut taken, full);
        *taken += 1;
        Seat(self.clone())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        *self.0.0.taken.lock() -= 1;
        self.0.0.left.notify_all();
    }
}
