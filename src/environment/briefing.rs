//! What a policy is asked, before any chat template.

/// All that an environment says to a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Briefing {
    /// The rules, which open every chat.
    pub system: String,
    /// What is asked; a group of completions answers one of them.
    pub requests: Vec<Request>,
}

/// A worked example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// What was asked.
    pub request: String,
    /// A program that answers it.
    pub program: String,
}

/// One thing that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What groups of it are called: a style of play, or the name of a task.
    pub style: String,
    /// A worked example, shown before it.
    pub example: Option<Example>,
    /// The words.
    pub words: String,
    /// How the program that answers it begins; the prompt has written that much.
    pub opening: String,
    /// The task it asks to solve; none where chance makes the cases.
    pub task: Option<u32>,
    /// Whether it is never trained on.
    pub held_out: bool,
}
