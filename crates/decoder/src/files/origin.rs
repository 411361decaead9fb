//! The origin of a model according to its own files, for the model card of what is trained from it.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::files::hub::HubSettings;
use crate::files::{gguf, hub};
use grpo_base::files;
use grpo_config::ModelConfig;

/// Licence of the built-in model: that of this program. Users may choose between two, but a card names one.
const BUILTIN_LICENSE: &str = "mit";

/// The known origin of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// A name for readers, without directories of this machine.
    pub name: String,
    /// Id on the Hugging Face Hub.
    pub hub_id: Option<String>,
    /// Identifier of the licence, as the Hub writes it.
    pub license: Option<String>,
}

impl Origin {
    /// What the files of the model that `config` names say, as far as they are on this machine; nothing is fetched.
    pub fn of(config: &ModelConfig) -> Origin {
        let path = Path::new(&config.model);
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = file_name.unwrap_or_else(|| config.model.clone());
        let card = |dir: &Path| std::fs::read_to_string(dir.join("README.md")).unwrap_or_default();
        if config.model == "builtin" {
            return Origin { name: "the built-in model".into(), hub_id: None, license: Some(BUILTIN_LICENSE.into()) };
        }
        if path.is_dir() {
            let card = card(path);
            let hub_id = front_matter(&card, "base_model").filter(|base| hub::is_hub_id(base));
            return Origin { name, hub_id, license: front_matter(&card, "license") };
        }
        if path.is_file() {
            // A file that is not GGUF is refused when its weights are read.
            let content = File::open(path).ok().and_then(|file| gguf::content(&mut BufReader::new(file)).ok());
            let text = |key: &str| Some(content.as_ref()?.metadata.get(key)?.to_string().ok()?.clone());
            let base = text("general.base_model.0.repo_url");
            let hub_id = base.as_deref().and_then(|url| url.strip_prefix("https://huggingface.co/")).map(str::to_owned);
            return Origin { name, hub_id, license: text("general.license") };
        }
        let cached = hub::cached(&config.model, &config.revision, &HubSettings::given());
        let license = cached.and_then(|dir| front_matter(&card(&dir), "license"));
        Origin { name: config.model.clone(), hub_id: Some(config.model.clone()), license }
    }
}

/// The name of a model that holds in every working directory, by which a run records it too: the absolute path of what is here,
/// otherwise `model`.
pub(crate) fn anchored(model: &str) -> String {
    let place = if model == "builtin" { None } else { files::place(Path::new(model)).ok() };
    place.map_or_else(|| model.to_owned(), |place| place.display().to_string())
}

/// The value of a key in the YAML front matter of a model card; the first value of a list.
fn front_matter(card: &str, key: &str) -> Option<String> {
    let mut lines = card.strip_prefix("---")?.lines().skip(1).take_while(|line| line.trim_end() != "---");
    let value = lines.by_ref().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
    let value = match value {
        "" => lines.next()?.trim().strip_prefix('-')?.trim(),
        value => value,
    };
    let value = value.trim_matches(['"', '\'']);
    (!value.is_empty() && !value.starts_with('[')).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_is_here_is_named_by_its_path_and_any_other_as_it_was_typed() {
        // Beside this directory tests run.
        let here = Path::new("src/files").canonicalize().unwrap();
        assert_eq!(anchored("src/files"), here.display().to_string());
        for name in ["owner/tiny", "builtin"] {
            assert_eq!(anchored(name), name);
        }
    }

    #[test]
    fn a_path_in_a_card_is_no_id_of_the_hub() {
        let dir = tempfile::tempdir().unwrap();
        let model = dir.path().display().to_string();
        let config = ModelConfig { model, ..grpo_config::Config::preset("builtin").unwrap().model };
        let told = |base: &str| {
            std::fs::write(dir.path().join("README.md"), format!("---\nbase_model: {base}\n---\n")).unwrap();
            Origin::of(&config).hub_id
        };
        assert_eq!(told("owner/name").as_deref(), Some("owner/name"));
        assert_eq!([told("/data/models/name"), told("./name")], [None, None]);
    }

    #[test]
    fn a_card_says_licence_and_base_at_its_head() {
        let card = "---\nlanguage: en\nlicense: \"apache-2.0\"\nbase_model:\n- Qwen/Qwen2.5-0.5B\ntags: [a]\n---\nlicense: mit\n";
        let read = |key: &str| front_matter(card, key);
        assert_eq!(read("license").as_deref(), Some("apache-2.0"));
        assert_eq!(read("base_model").as_deref(), Some("Qwen/Qwen2.5-0.5B"));
        assert_eq!(
            (read("tags"), read("datasets"), front_matter("# A model\nlicense: mit", "license")),
            (None, None, None)
        );
    }
}
