//! Reads a completion: a text, or the messages of a chat, as trainers pass them in the conversational format.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde_json::{Map, Value};

struct Completion;

impl<'de> Visitor<'de> for Completion {
    type Value = String;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, or a list of messages with `content`")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<String, E> {
        Ok(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut messages: A) -> Result<String, A::Error> {
        let mut text = String::new();
        while let Some(message) = messages.next_element::<Map<String, Value>>()? {
            match message.get("content") {
                Some(Value::String(content)) => text.push_str(content),
                // A message that only calls tools.
                Some(Value::Null) => {}
                _ => return Err(Error::custom("a message without `content`, which is text or null")),
            }
        }
        Ok(text)
    }
}

/// The text of a completion; the contents of messages are joined, as `grpo_sandbox` does in Python.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_any(Completion)
}

#[cfg(test)]
mod tests {
    use crate::judge::Item;

    #[test]
    fn messages_are_one_text_and_anything_else_is_refused() {
        let read = |completion: &str| {
            let item = format!(r#"{{"id": "t", "completion": {completion}}}"#);
            serde_json::from_str::<Item>(&item).map(|item| item.completion).map_err(|error| error.to_string())
        };
        assert_eq!(read(r#""a""#).unwrap(), "a");
        let turns = r#"[{"role": "assistant", "content": "a"}, {"content": null, "tool_calls": []}, {"content": "b"}]"#;
        assert_eq!(read(turns).unwrap(), "ab");
        for wrong in ["7", "null", r#"{"content": "a"}"#, r#"[["a"]]"#, r#"[{"role": "assistant"}]"#] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains("`content`") || error.contains("expected a map"), "{wrong}: {error}");
        }
    }
}
