//! Tasks of which a warm-up reads nothing.

/// A task of which nothing is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub id: String,
    pub why: Unread,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// There is no reference, or one that is too long for the model, or does not pass when it begins like the prompt's program.
    Unsuited,
    /// The reference fails its own tests, for this reason.
    Fails(String),
}
