//! The files of the repository.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use glob::Pattern;
use walkdir::WalkDir;

use crate::{lexical, root};

/// Folders of git, of builds and of runs.
const NOT_OURS: &[&str] = &[
    ".git", "target", "runs", "python/data", "fuzz/target", "fuzz/corpus", "fuzz/artifacts", "tensor/emulator/target",
];

/// The files as they are when the tests begin.
pub static TREE: LazyLock<Tree> = LazyLock::new(Tree::read);

pub struct Tree {
    files: BTreeSet<String>,
    directories: BTreeSet<String>,
}

impl Tree {
    fn read() -> Self {
        let (mut files, mut directories) = (BTreeSet::new(), BTreeSet::new());
        let relative = |path: &Path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let ours = WalkDir::new(root()).min_depth(1).into_iter().filter_entry(|entry| {
            let path = relative(entry.path());
            // One model is built in; other folders of models are downloads.
            !NOT_OURS.contains(&path.as_str()) && (!path.starts_with("models/") || path.starts_with("models/builtin"))
        });
        for entry in ours {
            let entry = entry.unwrap();
            let kind = if entry.file_type().is_dir() { &mut directories } else { &mut files };
            kind.insert(relative(entry.path()));
        }
        Tree { files, directories }
    }

    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    pub fn has(&self, path: &str) -> bool {
        self.files.contains(path) || self.directories.contains(path)
    }

    /// Whether `path`, which may contain `*`, names a file when it is used in `document`: relative to the root or the
    /// document, or by its last components if it does not begin at the root. Python files may be named without `.py`.
    pub fn resolves(&self, path: &str, document: &str) -> bool {
        let path = path.trim_end_matches('/');
        let beside = join(document, path);
        if self.matches(path) || self.matches(&beside) {
            return true;
        }
        let begins = path.split('/').next().unwrap();
        let at_root = path.contains('/') && self.directories.contains(begins);
        !at_root && (self.matches(&format!("**/{path}")) || self.matches(&format!("**/{path}.py")))
    }

    fn matches(&self, path: &str) -> bool {
        let Ok(pattern) = Pattern::new(path) else { return false };
        self.has(path) || self.files.iter().chain(&self.directories).any(|file| pattern.matches(file))
    }
}

/// `file` relative to the directory of `document`.
pub fn join(document: &str, file: &str) -> String {
    lexical(&Path::new(document).with_file_name(file)).to_string_lossy().into_owned()
}
