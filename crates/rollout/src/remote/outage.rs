//! Warnings about a server that fails: one at its first failure, and one with the number of failures at the end of a
//! batch, instead of one for each completion.

use super::ServerFault;

#[derive(Debug, Default)]
pub(super) struct Outage {
    /// Number of failures in this batch.
    failures: usize,
    /// Whether the newest adapter could not be loaded on it, so that it gets no requests.
    left_out: bool,
}

impl Outage {
    /// Records that the request for `what` failed. Returns a warning for the first failure of a batch.
    pub fn failed(&mut self, what: &str, fault: &ServerFault) -> Option<String> {
        self.failures += 1;
        (self.failures == 1).then(|| format!("{what}: {fault}; asking again"))
    }

    /// Records that an adapter could not be loaded on the server. Returns a warning for the first time.
    pub fn left_out(&mut self, adapter: &str, fault: &ServerFault) -> Option<String> {
        if std::mem::replace(&mut self.left_out, true) {
            return None;
        }
        Some(format!("adapter {adapter}: {fault}; nothing is asked of it until it takes one"))
    }

    /// Records that the newest adapter was loaded on the server. Returns a message if it was left out before.
    pub fn is_back(&mut self, server: &str) -> Option<String> {
        std::mem::take(&mut self.left_out).then(|| format!("{server}: is back"))
    }

    /// Ends a batch. Returns a warning with the number of failures in it, if there was more than one.
    pub fn counted(&mut self, server: &str) -> Option<String> {
        let failures = std::mem::take(&mut self.failures);
        (failures > 1).then(|| format!("{server}: failed {failures} times in this batch"))
    }
}
