//! Values that are read from JSON objects alone.
//!
//! What serde derives for a struct reads a list of its fields as well, so that `["add", "def add(a, b): ..."]` would pass for
//! an item, and a list of two texts for a request.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, MapAccess, Visitor};

/// A value of an object.
struct Object<T>(T);

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(object)).map(Object)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// The value of a text that is one object.
pub(super) fn read<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice::<Object<T>>(text).map(|Object(value)| value)
}

/// The values of a text that is a list of objects.
pub(super) fn read_list<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<Vec<T>> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let values = list(&mut reader)?;
    reader.end().map(|()| values)
}

/// A list of such values.
pub(super) fn list<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(Vec::<Object<T>>::deserialize(deserializer)?.into_iter().map(|Object(value)| value).collect())
}
