//! What a program must do, and how it is judged.
//!
//! Takes a case (a seed of chance) and somebody who chooses; gives an [`Outcome`]. Does not know where programs come from
//! or what an outcome is worth.

mod briefing;
pub mod game2048;
mod outcome;
mod trace;

pub use briefing::{Briefing, Example, Request};
pub use outcome::{Case, Ending, Outcome, Points, points};
pub use trace::{BoardTrace, FailedTest, TestsTrace, Trace, Transcript};
