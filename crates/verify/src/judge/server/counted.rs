//! Parts of a request of which little or nothing is kept, however much a client sends: read as JSON values, 8 MiB of them
//! would take hundreds.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// How many entries a list or a map has, none of which is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count(pub usize);

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list or a map")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Count, A::Error> {
        let mut found = 0;
        while entries.next_element::<IgnoredAny>()?.is_some() {
            found += 1;
        }
        Ok(Count(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Count, A::Error> {
        let mut found = 0;
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            found += 1;
        }
        Ok(Count(found))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

/// The first `MOST` texts of a list, and how many entries it has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Texts<const MOST: usize> {
    pub first: Vec<String>,
    pub found: usize,
}

struct TextsVisitor<const MOST: usize>;

impl<'de, const MOST: usize> Visitor<'de> for TextsVisitor<MOST> {
    type Value = Texts<MOST>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of texts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Texts<MOST>, A::Error> {
        let mut first = Vec::new();
        while first.len() < MOST {
            let Some(text) = texts.next_element()? else { return Ok(Texts { found: first.len(), first }) };
            first.push(text);
        }
        // The rest is counted, so that the refusal can say what was found.
        let Count(more) = CountVisitor.visit_seq(texts)?;
        Ok(Texts { found: first.len() + more, first })
    }
}

impl<'de, const MOST: usize> Deserialize<'de> for Texts<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts<MOST>, D::Error> {
        deserializer.deserialize_seq(TextsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_and_no_more_texts_kept_than_are_wanted() {
        let count = |text: &str| serde_json::from_str::<Count>(text).map(|count| count.0).map_err(|e| e.to_string());
        assert_eq!([count("[]"), count("{}"), count(r#"[1, [2, 3]]"#)], [Ok(0), Ok(0), Ok(2)]);
        assert_eq!(count(r#"{"a": [0, 0], "b": {"c": 1}}"#), Ok(2));
        assert!(count("7").unwrap_err().contains("expected a list or a map"));
        let texts = |text: &str| serde_json::from_str::<Texts<2>>(text).map(|texts| (texts.first, texts.found));
        let kept = |first: &[&str], found| (first.iter().map(|&text| text.to_owned()).collect::<Vec<_>>(), found);
        assert_eq!(texts(r#"["a"]"#).unwrap(), kept(&["a"], 1));
        assert_eq!(texts(r#"["a", "b"]"#).unwrap(), kept(&["a", "b"], 2));
        assert_eq!(texts(r#"["a", "b", "c", [7]]"#).unwrap(), kept(&["a", "b"], 4));
        assert!(texts("[7]").is_err() && texts(r#"{"a": "b"}"#).is_err());
    }
}
