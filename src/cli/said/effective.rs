//! A configuration as TOML, with the origins of its settings.

use crate::config::{Config, DEFAULT_TOML, Layers, keys};
use crate::metrics::visible;

/// Every setting as TOML. Those that differ from the defaults have their origin as a comment.
pub fn effective(config: &Config, layers: &Layers) -> String {
    let defaults: toml::Table = DEFAULT_TOML.parse().expect("default.toml is TOML");
    let found = toml::Table::try_from(config).expect("a configuration is TOML");
    let (mut text, mut last) =
        (String::from("# what differs from the defaults says where it comes from\n"), String::new());
    for dotted in keys() {
        let (section, key) = dotted.split_once('.').expect("keys are dotted");
        if last != section {
            text.push_str(&format!("\n[{section}]\n"));
            last = section.to_owned();
        }
        let value = &found[section][key];
        let origin = layers.origin(&dotted).filter(|_| *value != defaults[section][key]);
        // A value or a path may have line breaks, with which the comment would end.
        let origin = origin.map(|origin| format!("  # {}", visible(origin))).unwrap_or_default();
        text.push_str(&format!("{key} = {value}{origin}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_a_setting_of_several_lines_is_one_line() {
        let mut layers = Layers::default();
        layers.assignment("model.lora_target_modules=[\n\"q_proj\",\n]").unwrap();
        let config = layers.clone().resolve().unwrap();
        let mut again = Layers::default();
        again.text("printed", &effective(&config, &layers)).unwrap();
        assert_eq!(again.resolve().unwrap(), config);
    }
}
