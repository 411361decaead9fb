//! The names of the program: settings, flags, metrics, make's targets, items of its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use grpo_2048::config::{self, Layers};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

use super::tree::{TREE, Tree};
use crate::read;

/// Folders of sources whose modules documents know by their names.
const MODULES: &[&str] = &["src", "crates/base/src", "crates/check/src", "crates/learn/src", "crates/verify/src"];

/// Crates that documents know by one name.
const HOMES: &[(&str, &str)] = &[
    ("config", "crates/config/src"),
    ("corpus", "crates/corpus/src"),
    ("environment", "crates/environment/src"),
    ("groups", "crates/rollout/src/groups"),
    ("metrics", "crates/record/src"),
    ("parallel", "crates/parallel/src"),
    ("policy", "crates/decoder/src"),
    ("program", "crates/environment/src/program"),
    ("prompt", "crates/rollout/src/prompt"),
    ("rollout", "crates/rollout/src"),
];

/// The endings of file names.
const EXTENSIONS: &str =
    "c cpp cu cuh h jinja json jsonl lock md parquet png py rs safetensors sh svg toml txt wasm yaml zst";

/// Files of the reader in examples.
const BROUGHT: &[&str] =
    &["game.py", "tasks.jsonl", "step.json", "run.yaml", "mbpp.jsonl", "my_player.py", "config.json"];

/// Flags of other programs, such as MPI launchers and `vllm serve`, except those of TRL, which this program knows.
const FOREIGN_FLAGS: &[&str] = &[
    "--stub-wasi", "--logdir", "--sync-tensorboard", "--allow-run-as-root", "--bind-to", "--kill-on-bad-exit", "--mca",
    "--mpi", "--oversubscribe", "--api-server-count", "--enable-scale-out", "--logprobs-mode", "--max-lora-rank",
    "--max-loras", "--max-model-len",
];

/// Paths of items in libraries.
const FOREIGN_ITEMS: &[&str] = &["Inlining::Yes"];

/// Tables of `env.toml` and of files of other programs.
const FOREIGN_TABLES: &[&str] = &["example", "run", "workspace.lints"];

/// The names of this tree; to read all sources takes seconds.
pub static NAMES: LazyLock<Names> = LazyLock::new(|| Names::read(&TREE));

pub struct Names {
    tree: &'static Tree,
    program: Command,
    settings: BTreeSet<String>,
    sections: BTreeSet<String>,
    flags: BTreeSet<String>,
    targets: BTreeSet<String>,
    sources: Sources,
}

impl Names {
    fn read(tree: &'static Tree) -> Self {
        let settings: BTreeSet<String> = config::keys().into_iter().collect();
        let sections = settings.iter().filter_map(|key| Some(key.split_once('.')?.0.to_owned())).collect();
        let mut program = grpo_2048::cli::command();
        program.build();
        let mut sources = Sources::default();
        for path in tree.files().filter(|path| path.ends_with(".rs")) {
            sources.file = path.to_owned();
            sources.visit_file(&syn::parse_file(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}")));
        }
        let makefile = read("Makefile");
        let rules = makefile.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        Names {
            tree,
            flags: flags_of(&program).into_iter().chain(flags_of_bench(tree)).collect(),
            program,
            settings,
            sections,
            targets: rules.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect(),
            sources,
        }
    }

    /// Names of all items: functions, tests, types.
    pub fn items(&self) -> impl Iterator<Item = &str> {
        self.sources.items.keys().map(String::as_str)
    }

    /// Returns the name in a code span of `document` that does not exist. Text that does not look like a name of the
    /// program passes.
    pub fn look_up(&self, span: &str, document: &str) -> Result<(), String> {
        let words: Vec<&str> = span.split(' ').collect();
        if words[0] == "grpo-2048" || words[0] == "make" {
            return self.command(span, true);
        }
        if span.starts_with("GRPO_2048_") || span.starts_with("GPU_EMULATOR_") {
            let variable = span.split('=').next().unwrap();
            return if self.sources.variables.contains(variable) { Ok(()) } else { Err("nothing reads it".into()) };
        }
        if let Some(table) = span.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return self.table(table);
        }
        self.flags_of_words(&words)?;
        if let Some((key, value)) = setting(span)
            && self.sections.contains(key.split_once('.').map_or("", |(section, _)| section))
            && !has_extension(key)
        {
            return self.setting(key, value);
        }
        if words.len() > 1 {
            return Ok(());
        }
        if span.contains("::") {
            return self.item_path(span);
        }
        if is_metric(span) && !self.tree.resolves(span, document) {
            return self.metric(span);
        }
        if is_path(span, self.tree) {
            return self.file(span, document);
        }
        let is_long_name = span.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if is_long_name
            && !span.starts_with('_')
            && span.matches('_').count() >= 4
            && !config::trl::names().any(|name| name == span)
        {
            return self.defined(span);
        }
        Ok(())
    }

    /// Returns the reason why a command would be refused. The line may be an `outline`: without required arguments, and with
    /// `S` for a value.
    pub fn command(&self, line: &str, outline: bool) -> Result<(), String> {
        let typed = shlex::split(line.split(" #").next().unwrap()).ok_or("quotes do not match")?;
        let ends = |word: &String| ["|", "<", ">", "&&"].contains(&word.as_str());
        let words: Vec<String> = typed.into_iter().take_while(|word| !ends(word)).collect();
        match words.first().map(String::as_str) {
            Some("grpo-2048") => match self.program.clone().try_get_matches_from(&words) {
                Ok(_) => Ok(()),
                Err(error) if !error.use_stderr() || outline && is_outlined(&error) => Ok(()),
                Err(error) => Err(error.to_string().trim_end().replace('\n', "\n    ")),
            },
            Some("make") => words[1..].iter().filter(|word| !word.contains('=')).try_for_each(|target| {
                if self.targets.contains(target) { Ok(()) } else { Err(format!("make has no target {target}")) }
            }),
            _ => Ok(()),
        }
    }

    /// The flags of the command at the beginning of the words, or of all commands.
    fn flags_of_words(&self, words: &[&str]) -> Result<(), String> {
        let mut command = &self.program;
        for word in words {
            match command.find_subcommand(word) {
                Some(subcommand) => command = subcommand,
                None => break,
            }
        }
        let is_program = std::ptr::eq(command, &self.program);
        if is_program && !words[0].starts_with("--") {
            return Ok(());
        }
        let known = if is_program { self.flags.clone() } else { flags_of(command) };
        let given = words.iter().filter(|word| word.starts_with("--") && word.len() > 2);
        for flag in given.map(|word| word.split('=').next().unwrap().trim_end_matches([',', ')'])) {
            let is_foreign = FOREIGN_FLAGS.contains(&flag) || config::trl::names().any(|name| flag[2..] == *name);
            if !known.contains(flag) && !is_foreign {
                return Err(format!("{} has no flag {flag}", command.get_name()));
            }
        }
        Ok(())
    }

    fn table(&self, name: &str) -> Result<(), String> {
        let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '.');
        let is_known = self.sections.contains(name) || FOREIGN_TABLES.contains(&name);
        if !is_name || name.is_empty() || is_known { Ok(()) } else { Err(format!("no section {name}")) }
    }

    fn setting(&self, key: &str, value: Option<&str>) -> Result<(), String> {
        if let Some(start) = key.strip_suffix('*') {
            let any = self.settings.iter().any(|key| key.starts_with(start));
            return if any { Ok(()) } else { Err("no such settings".into()) };
        }
        if !self.settings.contains(key) {
            return Err("no such setting".into());
        }
        let Some(value) = value else { return Ok(()) };
        let mut layers = Layers::default();
        layers.assignment(&format!("{key}={value}")).map_err(|error| error.to_string())?;
        // A value that is valid only together with others is refused by itself, with the allowed values.
        match layers.resolve() {
            Err(error) if error.to_string().contains("invalid type") => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    fn item_path(&self, path: &str) -> Result<(), String> {
        let path = path.split(['(', '<', '{']).next().unwrap();
        if FOREIGN_ITEMS.contains(&path) {
            return Ok(());
        }
        let (module, item) = path.rsplit_once("::").unwrap();
        let files = self.sources.items.get(item).ok_or_else(|| format!("nothing is called {item}"))?;
        let home = module.split("::").next().unwrap();
        let of_crate = HOMES.iter().find(|(name, _)| *name == home).map(|(_, folder)| (*folder).to_owned());
        let of_module = || {
            MODULES
                .iter()
                .map(|sources| format!("{sources}/{home}"))
                .find(|place| self.tree.has(place) || self.tree.has(&format!("{place}.rs")))
        };
        if let Some(place) = of_crate.or_else(of_module) {
            let inside = |file: &&String| file.starts_with(&format!("{place}/")) || **file == format!("{place}.rs");
            return files.iter().find(inside).map(drop).ok_or(format!("{item} is not in {place}"));
        }
        self.defined(module.rsplit("::").next().unwrap())
    }

    fn defined(&self, item: &str) -> Result<(), String> {
        if self.sources.items.contains_key(item) { Ok(()) } else { Err(format!("nothing is called {item}")) }
    }

    fn metric(&self, name: &str) -> Result<(), String> {
        let (start, is_family) = name.split_once(['*', '{']).map_or((name, false), |(start, _)| (start, true));
        // Families of keys end with a slash; their members depend on what is counted.
        let family = |known: &String| known.ends_with('/') && name.starts_with(known.as_str());
        let known = |known: &String| known == name || is_family && known.starts_with(start) || family(known);
        if self.sources.metrics.iter().any(known) { Ok(()) } else { Err("no such metric".into()) }
    }

    /// A file of the repository, a file that the sources name, or a file of the examples.
    fn file(&self, path: &str, document: &str) -> Result<(), String> {
        if braces(path).iter().all(|path| self.tree.resolves(path, document)) {
            return Ok(());
        }
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap();
        let written = name.trim_start_matches("*.");
        let is_named = self.sources.literals.contains(&format!("{written}\n"));
        let at_root = path.contains('/') && self.tree.has(path.split('/').next().unwrap());
        if BROUGHT.contains(&path) || is_named && !at_root { Ok(()) } else { Err("no such file".into()) }
    }
}

/// Whether a command is refused only because it is an outline.
fn is_outlined(error: &clap::Error) -> bool {
    match error.kind() {
        ErrorKind::MissingRequiredArgument => true,
        ErrorKind::ValueValidation => matches!(
            error.get(ContextKind::InvalidValue),
            Some(ContextValue::String(value)) if value.chars().all(|c| c.is_ascii_uppercase())
        ),
        _ => false,
    }
}

/// Expands `a/{b,c}.py` to `a/b.py` and `a/c.py`.
fn braces(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(start, rest)| Some((start, rest.split_once('}')?)));
    let Some((start, (choices, end))) = parts else { return vec![path.to_owned()] };
    choices.split(',').map(|choice| format!("{start}{choice}{end}")).collect()
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.split(' ').any(|known| known == extension))
}

/// `section.key`, with a value if there is one.
fn setting(span: &str) -> Option<(&str, Option<&str>)> {
    let (key, value) = span.split_once('=').map_or((span, None), |(key, value)| (key.trim(), Some(value.trim())));
    let is_name = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || "_*".contains(c) || c.is_ascii_digit())
    };
    let (section, name) = key.split_once('.')?;
    (is_name(section) && is_name(name)).then_some((key, value))
}

/// Words in lower case that are separated by slashes, without a dot.
fn is_metric(span: &str) -> bool {
    let part = |part: &str| part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_*{}".contains(c));
    span.contains('/') && !span.starts_with('/') && !span.ends_with('/') && span.split('/').all(part)
}

fn is_path(span: &str, tree: &Tree) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || "._-*{},/".contains(c);
    let begins = span.split('/').next().unwrap();
    let in_tree = span.contains('/') && !begins.is_empty() && tree.has(begins);
    span.chars().all(part) && (has_extension(span) || in_tree || span.ends_with('/'))
}

/// The flags of `grpo-2048-bench`, from the help files of its package, whose tests check its commands in documents.
fn flags_of_bench(tree: &Tree) -> Vec<String> {
    let helps = tree.files().filter(|path| path.starts_with("bench/tests/snapshots/"));
    let texts: String = helps.map(read).collect();
    texts.split([' ', '\n']).filter(|word| word.starts_with("--")).map(str::to_owned).collect()
}

fn flags_of(command: &Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}"));
    own.chain(command.get_subcommands().flat_map(flags_of)).collect()
}

/// Collects the definitions of sources.
#[derive(Default)]
struct Sources {
    /// The file that is being read.
    file: String,
    /// The items, each with the files that define it.
    items: BTreeMap<String, Vec<String>>,
    metrics: BTreeSet<String>,
    /// All string literals of the program's sources.
    literals: String,
    /// Environment variables.
    variables: BTreeSet<String>,
}

impl Sources {
    fn define(&mut self, ident: &syn::Ident) {
        self.items.entry(ident.to_string()).or_default().push(self.file.clone());
    }

    /// Reads the arguments of a macro, which are not parsed. They may contain property tests and strings.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut after_fn = false;
        for token in tokens {
            match &token {
                TokenTree::Ident(name) if after_fn => self.define(name),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.literal(&text.value());
                    }
                }
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
            after_fn = matches!(&token, TokenTree::Ident(word) if word == "fn");
        }
    }

    fn is_of_metrics(&self) -> bool {
        ["crates/record/src/", "src/hardware/"].iter().any(|folder| self.file.starts_with(folder))
    }

    fn literal(&mut self, text: &str) {
        // A format string with a name in it, such as `rewards/{name}/mean`, is a family of keys.
        if let Some((family, _)) = text.split_once("/{")
            && self.is_of_metrics()
        {
            self.metrics.insert(format!("{family}/"));
        }
        let is_metric = text.contains('/')
            && !text.ends_with('/')
            && text.chars().all(|c| c.is_ascii_lowercase() || c == '/' || c == '_');
        if is_metric && self.is_of_metrics() {
            self.metrics.insert(text.to_owned());
        }
        let is_variable = text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if is_variable && !self.file.starts_with("tests/rules/docs/") {
            self.variables.insert(text.to_owned());
        }
        if ["src/", "crates/", "sandbox/src/"].iter().any(|folder| self.file.starts_with(folder)) {
            self.literals.push_str(text);
            self.literals.push('\n');
        }
    }

    /// The keys of a record: the names of its fields, or those that serde uses.
    fn record(&mut self, record: &syn::ItemStruct) {
        for field in &record.fields {
            let mut name = field.ident.as_ref().unwrap().to_string();
            for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
                let _ = attribute.parse_nested_meta(|meta| {
                    if meta.path.is_ident("rename") {
                        name = meta.value()?.parse::<syn::LitStr>()?.value();
                    }
                    Ok(())
                });
            }
            self.metrics.insert(name);
        }
    }
}

impl<'ast> Visit<'ast> for Sources {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.define(&signature.ident);
        syn::visit::visit_signature(self, signature);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Const(syn::ItemConst { ident, .. })
            | syn::Item::Enum(syn::ItemEnum { ident, .. })
            | syn::Item::Struct(syn::ItemStruct { ident, .. })
            | syn::Item::Trait(syn::ItemTrait { ident, .. })
            | syn::Item::Type(syn::ItemType { ident, .. }) => self.define(ident),
            _ => {}
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if ["StepRecord", "UpdateRecord", "EliteRecord", "EvaluationRecord"].iter().any(|name| item.ident == name) {
            self.record(item);
        }
        syn::visit::visit_item_struct(self, item);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.define(&variant.ident);
        syn::visit::visit_variant(self, variant);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.tokens(item.tokens.clone());
        syn::visit::visit_macro(self, item);
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.literal(&literal.value());
    }
}
