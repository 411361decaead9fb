//! Limits on one client, and on all clients together.

use std::time::Duration;

/// Limits on one client, and on all clients together.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of the longest request body.
    pub body_bytes: usize,
    /// Bytes of all requests that have not been answered, and of all answers that have not been taken.
    pub all_bytes: usize,
    /// Items of the longest list.
    pub items: usize,
    /// Time to send the head of a request.
    pub head_within: Duration,
    /// Time to send a request.
    pub body_within: Duration,
    /// Time to take the answer.
    pub answer_within: Duration,
    /// Requests that are answered or wait; one more is told to come back.
    pub requests: usize,
    /// Connections; where there is one more, the slowest is told to come back. More than `requests`.
    pub connections: usize,
    /// Programs and notebooks that `/run_code` and `/run_jupyter` run at once.
    pub runs: usize,
}

impl Bounds {
    /// Bounds of a server with so many workers. They assume the usual limit of about a thousand open files.
    pub fn new(workers: usize) -> Bounds {
        Bounds {
            body_bytes: crate::judge::ITEM_BYTES_MAX,
            all_bytes: 1 << 30,
            items: 512,
            head_within: Duration::from_secs(30),
            body_within: Duration::from_secs(30),
            answer_within: Duration::from_secs(30),
            requests: 512,
            connections: 768,
            runs: workers.max(1),
        }
    }
}
