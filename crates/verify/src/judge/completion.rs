//! Reads a completion: a text, or the messages of a chat, as trainers pass them in the conversational format.
//!
//! Of a chat, the text of the policy counts. Trainers hand over what tools and users told it among its own messages;
//! that is skipped, whatever it is. The same messages have the same text by `grpo_sandbox` in Python.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

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
        let mut written = Vec::new();
        let mut index = 0;
        while let Some(text) = messages.next_element_seed(Message { index })? {
            written.extend(text);
            index += 1;
        }
        Ok(written.join("\n"))
    }
}

/// Reads what the policy wrote in a message: `None` if it only calls tools, or if the message is another's.
struct Message {
    index: usize,
}

impl<'de> DeserializeSeed<'de> for Message {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<String>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Message {
    type Value = Option<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with `content` as message {}", self.index)
    }

    fn visit_map<A: MapAccess<'de>>(self, message: A) -> Result<Option<String>, A::Error> {
        let [of_tools, of_function] = ["tool_calls", "function_call"].map(|key| (key, Place::Word));
        let [of_refusal, of_reasoning] = ["refusal", "reasoning_content"].map(|key| (key, Place::Word));
        let keys =
            [("role", Place::Word), ("content", Place::Content), of_tools, of_function, of_refusal, of_reasoning];
        let [role, content, in_place @ ..] = values(message, keys)?;
        let index = self.index;
        match (role, content) {
            (Some(Said::Other), _) => Err(Error::custom(format!("message {index} has a `role` that is no text"))),
            (Some(Said::Text(role)), _) if role != "assistant" => Ok(None),
            (_, Some(Said::Text(text))) => Ok(Some(text)),
            (_, Some(Said::Nothing)) => Ok(None),
            // The library of OpenAI leaves out what is null: `model_dump(exclude_none=True)`.
            (_, None) if in_place.iter().flatten().any(|said| !matches!(said, Said::Nothing)) => Ok(None),
            (_, None) => {
                let expected = "expected it, or `tool_calls` where it only calls tools";
                Err(Error::custom(format!("message {index} has no `content`; {expected}")))
            }
            (_, Some(Said::Other)) => {
                let expected = "expected a text, a list of parts with `text`, or null";
                Err(Error::custom(format!("message {index} has another `content`; {expected}")))
            }
        }
    }
}

/// A value of a message.
enum Said {
    Text(String),
    /// Null.
    Nothing,
    /// No text: a mistake where a text is needed, and of no interest elsewhere. Only with the whole message is it known
    /// which of the two it is, because its role may come last.
    Other,
}

/// Where a value stands, which says what counts as its text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Only a text does.
    Word,
    /// A text, or a list of parts.
    Content,
    /// An object with a text in it.
    Part,
}

impl<'de> DeserializeSeed<'de> for Place {
    type Value = Said;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Said, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place {
    type Value = Said;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of a message")
    }

    fn visit_str<E>(self, text: &str) -> Result<Said, E> {
        Ok(if self == Place::Part { Said::Other } else { Said::Text(text.to_owned()) })
    }

    fn visit_unit<E>(self) -> Result<Said, E> {
        Ok(Said::Nothing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Said, E> {
        Ok(Said::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Said, E> {
        Ok(Said::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Said, E> {
        Ok(Said::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Said, E> {
        Ok(Said::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Said, A::Error> {
        if self != Place::Content {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Said::Other);
        }
        let mut joined = Some(String::new());
        while let Some(part) = items.next_element_seed(Place::Part)? {
            joined = match (joined, part) {
                (Some(joined), Said::Text(part)) => Some(joined + &part),
                _ => None,
            };
        }
        Ok(joined.map_or(Said::Other, Said::Text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Said, A::Error> {
        if self != Place::Part {
            while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Said::Other);
        }
        let [kind, text] = values(object, [("type", Place::Word), ("text", Place::Word)])?;
        let is_text = match kind {
            None | Some(Said::Nothing) => true,
            Some(Said::Text(kind)) => ["text", "output_text"].contains(&kind.as_str()),
            Some(Said::Other) => false,
        };
        Ok(match text {
            // An image, or a refusal.
            _ if !is_text => Said::Text(String::new()),
            Some(Said::Text(text)) => Said::Text(text),
            _ => Said::Other,
        })
    }
}

/// The values of some keys of an object. Whatever else it has is not kept.
fn values<'de, A: MapAccess<'de>, const N: usize>(
    mut object: A,
    keys: [(&str, Place); N],
) -> Result<[Option<Said>; N], A::Error> {
    let mut found = [const { None }; N];
    while let Some(key) = object.next_key::<String>()? {
        match keys.iter().position(|(known, _)| *known == key) {
            Some(at) => found[at] = Some(object.next_value_seed(keys[at].1)?),
            None => {
                object.next_value::<IgnoredAny>()?;
            }
        }
    }
    Ok(found)
}

/// The text of a completion; messages of the policy are joined by line ends.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_any(Completion)
}

#[cfg(test)]
mod tests {
    use crate::judge::Item;

    fn read(completion: &str) -> Result<String, String> {
        let item = format!(r#"{{"id": "t", "completion": {completion}}}"#);
        serde_json::from_str::<Item>(&item).map(|item| item.completion).map_err(|error| error.to_string())
    }

    #[test]
    fn messages_are_one_text_and_anything_else_is_refused() {
        assert_eq!(read(r#""a""#).unwrap(), "a");
        let turns = r#"[{"role": "assistant", "content": "a"}, {"content": null, "tool_calls": []}, {"content": "b"}]"#;
        assert_eq!(read(turns).unwrap(), "a\nb");
        for wrong in [
            "7",
            "null",
            r#"{"content": "a"}"#,
            r#"[["a"]]"#,
            r#"["content"]"#,
            r#"[{"role": "assistant"}]"#,
            r#"[{"role": "assistant", "text": "a", "tool_calls": null, "refusal": null}]"#,
            r#"[{"content": 7}]"#,
            r#"[{"content": {}}]"#,
            r#"[{"content": ["a"]}]"#,
            r#"[{"content": [{"type": "text"}]}]"#,
            r#"[{"content": [{"text": "a"}, {"type": "text", "text": 7}]}]"#,
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains("`content`"), "{wrong}: {error}");
        }
        let error = read(r#"[{"content": "a"}, {"contents": "a"}]"#).unwrap_err();
        assert!(error.starts_with("message 1 has no `content`; expected it, or `tool_calls`"), "{error}");
        let error = read(r#"[{"content": "a"}, "content"]"#).unwrap_err();
        assert!(error.contains("expected an object with `content` as message 1"), "{error}");
        let error = read(r#"[{"content": "a", "role": 7}]"#).unwrap_err();
        assert!(error.contains("`role`"), "{error}");
    }

    #[test]
    fn a_message_that_only_calls_tools_may_leave_out_its_content() {
        let call = r#"{"role": "assistant", "tool_calls": [{"id": "c", "type": "function"}]}"#;
        assert_eq!(read(&format!(r#"[{call}, {{"content": "a"}}]"#)).unwrap(), "a");
        assert_eq!(read(&format!("[{call}]")).unwrap(), "");
        for in_place in ["function_call", "refusal", "reasoning_content"] {
            assert_eq!(read(&format!(r#"[{{"{in_place}": "no"}}]"#)).unwrap(), "", "{in_place}");
        }
        assert!(read(r#"[{"content": 7, "tool_calls": []}]"#).unwrap_err().contains("`content`"));
    }

    #[test]
    fn what_others_say_in_a_chat_is_not_the_policys_text_whatever_it_is() {
        for other in [
            r#"{"role": "tool", "content": "b"}"#,
            r#"{"content": "b", "role": "user"}"#,
            r#"{"content": [1, -1, 0.5, true, null, "b", [], {}], "role": "tool", "name": "run"}"#,
            r#"{"role": "tool", "content": {"error": ["b"]}}"#,
            r#"{"role": "system"}"#,
        ] {
            let own = r#"{"role": "assistant", "content": "a"}"#;
            let chat = format!(r#"[{own}, {other}, {{"role": null, "content": "c"}}]"#);
            assert_eq!(read(&chat).unwrap(), "a\nc", "{other}");
            assert_eq!(read(&format!("[{other}]")).unwrap(), "", "{other}");
        }
    }

    #[test]
    fn a_content_of_parts_is_their_texts() {
        let parts = r#"{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "b"}}, {"text": "c"},
            {"refusal": "d", "type": "refusal"}, {"text": "e", "type": "output_text", "annotations": []}"#;
        let chat = format!(r#"[{{"role": "assistant", "content": [{parts}]}}, {{"content": []}}, {{"content": "f"}}]"#);
        assert_eq!(read(&chat).unwrap(), "ace\n\nf");
    }
}
