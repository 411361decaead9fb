//! Text of programs as a part of the page.

use crate::metrics::is_hidden;

/// JSON whose texts can neither end a script element nor look like other texts.
pub(super) fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len() + json.len() / 16);
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            // Invisible characters that could disguise a program are shown as escapes; serde_json has escaped control
            // characters.
            letter if is_hidden(letter) => escaped.push_str(&format!("\\{}", letter.escape_default())),
            letter => escaped.push(letter),
        }
    }
    escaped
}
