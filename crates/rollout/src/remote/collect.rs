//! Collects the completions of a batch from the threads that request them.

use std::sync::mpsc::Receiver;

use super::super::{Completion, RolloutError, RolloutEvent};

/// The messages of a thread that makes requests.
pub(super) enum RequestMessage {
    /// The completion at this place in the batch.
    Completion(usize, Result<Completion, RolloutError>),
    Trouble(String),
}

/// Passes on the messages of the threads until all have ended. Returns the completions in order, or the first error.
pub(super) fn collect(
    news: Receiver<RequestMessage>,
    total: usize,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<Vec<Completion>, RolloutError> {
    let mut completions = vec![None; total];
    let (mut tokens, mut finished, mut error) = (0, 0, None);
    for news in news {
        match news {
            RequestMessage::Completion(place, Ok(completion)) => {
                observer(RolloutEvent::Finished(&completion));
                (tokens, finished) = (tokens + completion.ids.len(), finished + 1);
                observer(RolloutEvent::Tokens { tokens, finished });
                completions[place] = Some(completion);
            }
            RequestMessage::Completion(_, Err(found)) => error = error.or(Some(found)),
            RequestMessage::Trouble(text) => observer(RolloutEvent::Trouble(&text)),
        }
    }
    match error {
        Some(error) => Err(error),
        None => Ok(completions.into_iter().flatten().collect()),
    }
}
