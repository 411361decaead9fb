//! Reads a completion: a text, or the messages of a chat, as trainers pass them in the conversational format.

use std::fmt;

use serde::Deserializer;
use serde::de::{Deserialize, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

struct Completion;

impl<'de> Visitor<'de> for Completion {
    type Value = String;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, or a list of messages with `content`")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut messages: A) -> Result<String, A::Error> {
        let mut text = String::new();
        while let Some(Message(content)) = messages.next_element()? {
            text.push_str(&content.unwrap_or_default());
        }
        Ok(text)
    }
}

/// The content of a message, `None` of one that only calls tools. Whatever else it has is not kept.
struct Message(Option<String>);

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
        deserializer.deserialize_map(MessageVisitor)
    }
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = Message;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message with `content`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut message: A) -> Result<Message, A::Error> {
        let mut found = None;
        while let Some(key) = message.next_key::<String>()? {
            match key.as_str() {
                "content" => found = Some(message.next_value()?),
                _ => {
                    message.next_value::<IgnoredAny>()?;
                }
            }
        }
        found.map(Message).ok_or_else(|| Error::custom("a message without `content`, which is text or null"))
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
            assert!(error.contains("`content`"), "{wrong}: {error}");
        }
    }
}
