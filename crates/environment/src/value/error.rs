//! Why a value cannot be had.

/// Expressions in expressions, at most. What tests are made of is a tenth as deep; walking deeper costs stack.
pub const DEPTH_MAX: usize = 100;
/// Lists, tuples, sets and dicts within one another, at most, in what leaves the sandbox: `DEPTH_MAX` of its `values.py`.
pub const ANSWER_DEPTH_MAX: usize = 40;

/// Why a text is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Not in the language it should be in.
    #[error("column {column}: {message}")]
    Syntax {
        /// Character of the text, from 1.
        column: usize,
        /// What was found there and what is expected.
        message: String,
    },
    /// Half of a pair of code units of UTF-16, which is no character by itself.
    #[error("column {column}: found half a surrogate pair")]
    HalfPair {
        /// Character of the text, from 1.
        column: usize,
    },
    /// An expression that is more than a value.
    #[error("`{found}` is no Python literal; {expected}")]
    NotLiteral {
        /// The expression as it was written, shortened.
        found: String,
        expected: &'static str,
    },
    /// A list, set or dict where Python needs something hashable.
    #[error("unhashable type `{kind}` in a set or as a key; use a tuple")]
    Unhashable { kind: &'static str },
    /// Nested too deep.
    #[error("nested deeper than {limit} levels")]
    Deep { limit: usize },
    /// Nested deeper than what a program answers may be.
    #[error("nested {found} deep; an answer may nest at most {ANSWER_DEPTH_MAX}")]
    DeepAnswer { found: usize },
    /// Larger than a test may be.
    #[error("{what}; at most {limit}")]
    Large { what: &'static str, limit: usize },
}

impl ValueError {
    /// What the text says and no value holds, worded alike wherever it stands; none where the text itself is wrong.
    pub fn beyond_values(&self) -> Option<String> {
        match self {
            ValueError::Syntax { .. } | ValueError::NotLiteral { .. } => None,
            ValueError::HalfPair { .. } => Some("half a surrogate pair, which is no character".to_owned()),
            held => Some(held.to_string()),
        }
    }
}
