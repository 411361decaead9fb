//! What is told of a server that fails: once when that begins, and how often it was in the end of a batch, instead of a line
//! for each of a batch's completions.

use super::ServerFault;

/// How a server fails.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// In this batch.
    failures: usize,
    /// It could not be given the newest adapter, and is asked for nothing.
    left_out: bool,
}

impl Outage {
    /// Takes in that `what` failed by `fault`; gives what is to be told of it now.
    pub fn failed(&mut self, what: &str, fault: &ServerFault) -> Option<String> {
        self.failures += 1;
        (self.failures == 1).then(|| format!("{what}: {fault}; asking again"))
    }

    /// Takes in that the server could not be given an adapter.
    pub fn left_out(&mut self, adapter: &str, fault: &ServerFault) -> Option<String> {
        if std::mem::replace(&mut self.left_out, true) {
            return None;
        }
        Some(format!("adapter {adapter}: {fault}; nothing is asked of it until it takes one"))
    }

    /// Takes in that it has the newest adapter.
    pub fn is_back(&mut self, server: &str) -> Option<String> {
        std::mem::take(&mut self.left_out).then(|| format!("{server}: is back"))
    }

    /// Ends a batch; gives how often the server failed in it, if that is more than has been told.
    pub fn counted(&mut self, server: &str) -> Option<String> {
        let failures = std::mem::take(&mut self.failures);
        (failures > 1).then(|| format!("{server}: failed {failures} times in this batch"))
    }
}
