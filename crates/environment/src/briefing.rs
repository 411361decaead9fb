//! The instructions for a policy, before any chat template.

/// All instructions that an environment gives to a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Briefing {
    /// The rules, which open every chat.
    pub system: String,
    /// The requests; each group of completions answers one of them.
    pub requests: Vec<Request>,
}

/// A worked example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub request: String,
    pub program: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Name of its groups: a style of play, or the name of a task.
    pub style: String,
    /// A worked example, shown before the request.
    pub example: Option<Example>,
    pub words: String,
    /// The beginning of the program, which the prompt contains.
    pub opening: String,
    /// Index of the task; `None` if cases are random games.
    pub task: Option<u32>,
    /// Whether it is only evaluated, never trained on.
    pub held_out: bool,
    /// Whether it is only trained on, never evaluated, because no honest program passes.
    pub honeypot: bool,
}
