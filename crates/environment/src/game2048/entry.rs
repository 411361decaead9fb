//! The function that a player must define.

use crate::program::Entry;

/// The function that a player must define.
pub fn entry() -> Entry {
    Entry::Function { name: "strategy".into(), parameters: vec!["board".into()] }
}
