//! What a run of `sft` and a search are recognised by when they go on.

use serde_json::{Map, Value};

/// Everything that one follows from, as its files record it.
pub struct Fingerprint {
    /// Every setting by its key or flag.
    pub named: Map<String, Value>,
    /// The same as one text, as earlier versions wrote it.
    pub unnamed: String,
}

impl Fingerprint {
    /// `named`: what is no setting of the configuration; `sections`: the settings that are, each section an object or nothing.
    pub fn new(mut named: Map<String, Value>, sections: &[(&str, Value)], unnamed: String) -> Fingerprint {
        for (section, values) in sections {
            let values = values.as_object().into_iter().flatten();
            named.extend(values.map(|(key, value)| (format!("{section}.{key}"), value.clone())));
        }
        Fingerprint { named, unnamed }
    }

    /// The settings in which the recorded ones differ, as `section.key: recorded -> wanted`; nothing is named of those that an
    /// earlier version recorded. None if they are the same.
    pub fn differing(&self, recorded: &Value) -> Option<Vec<String>> {
        let Value::Object(recorded) = recorded else { return (*recorded != self.unnamed).then(Vec::new) };
        let differing = recorded.iter().filter_map(|(key, found)| {
            let wanted = self.named.get(key).filter(|wanted| *wanted != found)?;
            Some(format!("{key}: {found} -> {wanted}"))
        });
        Some(differing.collect()).filter(|differing: &Vec<String>| !differing.is_empty())
    }
}
