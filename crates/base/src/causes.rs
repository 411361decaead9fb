//! Errors with what caused them.

use std::error::Error;

/// An error with its causes. A cause that the message contains already is left out.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(&format!("\n  because: {words}"));
        }
        cause = error.source();
    }
    text
}
