//! Lines of JSON.

use serde::Serialize;

/// Characters that end a line for some readers, Python's `str.splitlines` among them, and that JSON leaves as they are.
const LINE_ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// A value as a line of JSON with its end, which is one line to whoever splits the text.
///
/// # Errors
/// If the value is none of JSON's, as a map whose keys are no texts.
pub fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(in_one_line(&serde_json::to_string(value)?) + "\n")
}

/// JSON without line ends as text that no reader takes for several lines.
pub fn in_one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len() + 1);
    for part in json.split_inclusive(LINE_ENDS) {
        match part.chars().next_back().filter(|last| LINE_ENDS.contains(last)) {
            // They stand in texts alone.
            Some(end) => line += &format!("{}\\u{:04x}", part.strip_suffix(end).unwrap_or(part), u32::from(end)),
            None => line += part,
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_to_every_reader_and_says_the_same() {
        let words = "a\u{2028}\u{2028}b\u{85}\n\u{2029}ß";
        let line = json_line(&[words]).unwrap();
        assert_eq!(line, "[\"a\\u2028\\u2028b\\u0085\\n\\u2029ß\"]\n");
        assert_eq!(serde_json::from_str::<[String; 1]>(&line).unwrap(), [words]);
    }
}
