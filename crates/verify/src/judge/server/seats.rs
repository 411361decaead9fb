//! Limits how many threads do something at once, in the order in which they come.

use parking_lot::{Condvar, Mutex};

/// A number of seats that can be taken.
pub(super) struct Seats {
    most: usize,
    counted: Mutex<Counted>,
    freed: Condvar,
}

/// How many threads have come for a seat, and how many have left theirs.
#[derive(Default)]
struct Counted {
    came: usize,
    left: usize,
}

/// A seat, which is free again when dropped.
pub(super) struct Seat<'a>(&'a Seats);

impl Seats {
    pub fn new(most: usize) -> Seats {
        Seats { most, counted: Mutex::default(), freed: Condvar::new() }
    }

    /// Takes a seat, waiting for one if needed. Who comes later sits down later: otherwise a client that waits loses
    /// its seat to newer requests again and again, until it gives up.
    pub fn take(&self) -> Seat<'_> {
        let mut counted = self.counted.lock();
        let number = counted.came;
        counted.came += 1;
        self.freed.wait_while(&mut counted, |counted| number >= counted.left + self.most);
        Seat(self)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.counted.lock().left += 1;
        self.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_that_is_free_again_is_for_whoever_has_waited_for_longest() {
        let (seats, seated) = (Seats::new(1), Mutex::new(Vec::new()));
        let held = seats.take();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _seat = seats.take();
                seated.lock().push("who waited");
            });
            while seats.counted.lock().came < 2 {
                std::thread::yield_now();
            }
            drop(held);
            let _seat = seats.take();
            seated.lock().push("who came last");
        });
        assert_eq!(*seated.lock(), ["who waited", "who came last"]);
    }
}
