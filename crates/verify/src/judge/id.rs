//! The name of an item: a text, or an integer, as the rows of data sets have them.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

/// A name, which is answered as it came. An integer names the task of its decimal text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Id {
    Text(String),
    Integer(Number),
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Text(text) => formatter.write_str(text),
            Id::Integer(integer) => write!(formatter, "{integer}"),
        }
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Id {
        Id::Text(text.to_owned())
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = Id;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or an integer")
    }

    fn visit_str<E>(self, text: &str) -> Result<Id, E> {
        Ok(text.into())
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Id, E> {
        Ok(Id::Integer(integer.into()))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Id, E> {
        Ok(Id::Integer(integer.into()))
    }
}

/// By hand, because an untagged enum keeps a whole list before it refuses it.
impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Id, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}
