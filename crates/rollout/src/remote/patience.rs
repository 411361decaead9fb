//! How often servers are asked again, and after which pauses.

use std::time::Duration;

use super::http::AnswerFault;

/// Number of times that each server is asked before a fault is final.
const ROUNDS: usize = 3;
/// The same where a fault may pass by itself: half a minute, with the pauses between.
const ROUNDS_PASSING: usize = 7;
/// Pause after all servers have failed once; it doubles with each further time.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest pause that is kept of what a server asks for.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The failed requests for one thing, made to servers in turn.
#[derive(Debug)]
pub(super) struct Patience {
    servers: usize,
    pub attempts: usize,
    /// Shortest pause asked for since each server was asked last, if a fault may pass.
    passing: Option<Duration>,
}

impl Patience {
    pub fn new(servers: usize) -> Patience {
        Patience { servers, attempts: 0, passing: None }
    }

    /// The pause between a request that failed by `fault` and the next one, or none if nothing is to be asked again. There
    /// is no wait for a server as long as others have not been asked.
    pub fn after(&mut self, fault: &AnswerFault) -> Option<Duration> {
        self.attempts += 1;
        self.passing = self.passing.into_iter().chain(fault.passing).min();
        if !self.attempts.is_multiple_of(self.servers) {
            return Some(Duration::ZERO);
        }
        let (round, passing) = (self.attempts / self.servers, self.passing.take());
        let rounds = if passing.is_some() { ROUNDS_PASSING } else { ROUNDS };
        (round < rounds).then(|| (PAUSE * (1 << (round - 1))).max(passing.unwrap_or_default().min(PAUSE_MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pauses until nothing is asked again, in milliseconds, where the servers fail by these in turn.
    fn pauses(passing: &[Option<u64>]) -> Vec<u64> {
        let mut patience = Patience::new(passing.len());
        let fault = |passing: &Option<u64>| AnswerFault {
            passing: passing.map(Duration::from_secs),
            ..AnswerFault::rubbish("answered")
        };
        let faults = passing.iter().cycle().map(fault);
        faults.map_while(|fault| patience.after(&fault)).map(|pause| pause.as_millis() as u64).collect()
    }

    #[test]
    fn every_server_is_asked_and_what_may_pass_is_waited_for_longer_and_longer() {
        assert_eq!(pauses(&[None]), [500, 1000]);
        assert_eq!(pauses(&[None; 4]), [0, 0, 0, 500, 0, 0, 0, 1000, 0, 0, 0], "others are asked at once");
        let growing = [500, 1000, 2000, 4000, 8000, 16_000];
        assert_eq!(pauses(&[Some(0)]), growing);
        let with_another = pauses(&[Some(0), None]);
        assert_eq!(with_another.into_iter().filter(|pause| *pause > 0).collect::<Vec<_>>(), growing);
    }

    #[test]
    fn a_server_says_how_long_it_wants_to_be_left_alone_within_a_minute() {
        assert_eq!(pauses(&[Some(3)]), [3000, 3000, 3000, 4000, 8000, 16_000]);
        assert_eq!(pauses(&[Some(3600)]), [60_000; 6]);
        assert_eq!(pauses(&[Some(3600), Some(2)])[..4], [0, 2000, 0, 2000], "the next one to be ready is waited for");
    }
}
