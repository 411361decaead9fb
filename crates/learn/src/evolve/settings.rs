//! The settings of a search.

/// The settings of a search, beside those of sampling and judging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Number of rounds.
    pub rounds: usize,
    /// Number of islands, at least 1.
    pub islands: usize,
    /// Programs that a group is shown beside the one to improve.
    pub inspirations: usize,
    /// Rounds after which the best of each island settles on the next one too; 0: never.
    pub migration: usize,
    /// Whether the policy learns from each round, as `grpo` says, or stays as it is.
    pub update: bool,
    /// Boards that every program plays.
    pub boards: usize,
}
