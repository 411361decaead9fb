//! The sources of all packages as syntax trees, without items that are compiled for tests only.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::Visit;
use walkdir::WalkDir;

use crate::{read, root};

/// A file, or an inline module of one.
pub struct Module {
    /// The folder of the package, relative to the root of the repository.
    pub package: String,
    pub file: PathBuf,
    /// The path of the module in its package; empty for the root.
    pub path: Vec<String>,
    /// Its items except tests and inline modules, which are separate modules.
    pub items: Vec<syn::Item>,
    /// Number of lines of the file without tests; none for an inline module.
    pub lines: Option<usize>,
}

/// The folders of the workspace's packages; that of the program itself is empty.
pub fn packages() -> Vec<String> {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap().iter();
    members.map(|member| member.as_str().unwrap().to_owned()).chain([String::new()]).collect()
}

/// A question about all modules of the workspace, and where its answer goes.
type Question = (fn(&[Module]) -> Vec<String>, Sender<Vec<String>>);

/// What `ask` says of all modules of the workspace except tests. One thread reads them, once, and answers all questions:
/// reading takes seconds, and syntax trees stay in the thread that made them.
pub fn of_modules(ask: fn(&[Module]) -> Vec<String>) -> Vec<String> {
    static QUESTIONS: LazyLock<Sender<Question>> = LazyLock::new(|| {
        let (sender, questions) = channel::<Question>();
        std::thread::spawn(move || {
            let modules = modules();
            questions.into_iter().for_each(|(ask, answer)| answer.send(ask(&modules)).unwrap());
        });
        sender
    });
    let (sender, answer) = channel();
    QUESTIONS.send((ask, sender)).unwrap();
    answer.recv().expect("sources are read, and no question panics")
}

fn modules() -> Vec<Module> {
    let mut modules = Vec::new();
    for package in packages() {
        for start in ["lib.rs", "main.rs"] {
            let file = root().join(&package).join("src").join(start);
            if file.is_file() {
                read_file(&package, &file, Vec::new(), &mut modules);
            }
        }
    }
    modules
}

/// What is for tests alone, a module for each file: all of a file of tests, and the items for tests of any other.
pub fn tests() -> Vec<Module> {
    let folders =
        packages().into_iter().flat_map(|package| ["src", "tests"].map(|folder| root().join(&package).join(folder)));
    let files = folders.flat_map(WalkDir::new).filter_map(|entry| Some(entry.ok()?.into_path()));
    let sources = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let of_file = |file: PathBuf| {
        let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
        let name = file.strip_prefix(root()).unwrap().to_owned();
        let is_whole = name.with_extension("").iter().any(|part| part == "tests");
        let items = parsed.items.into_iter().filter(|item| is_whole || is_test(attributes(item))).collect();
        Module { package: String::new(), file: name, path: Vec::new(), items, lines: None }
    };
    sources.map(of_file).collect()
}

fn read_file(package: &str, file: &Path, path: Vec<String>, modules: &mut Vec<Module>) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let of_tests = parsed.items.iter().filter(|item| is_test(attributes(item))).map(lines_of).sum::<usize>();
    let first = modules.len();
    add(package, file, path, parsed.items, modules);
    modules[first].lines = Some(text.lines().count() - of_tests);
}

/// Adds a module and the modules that it declares, without tests.
pub fn add(package: &str, file: &Path, path: Vec<String>, items: Vec<syn::Item>, modules: &mut Vec<Module>) {
    let (inside, items): (Vec<_>, Vec<_>) =
        items.into_iter().filter(|item| !is_test(attributes(item))).partition(|item| matches!(item, syn::Item::Mod(_)));
    let name = file.strip_prefix(root()).unwrap().to_owned();
    modules.push(Module { package: package.into(), file: name, path: path.clone(), items, lines: None });
    for item in inside {
        let syn::Item::Mod(module) = item else { unreachable!("only modules were taken apart") };
        let path = [path.clone(), vec![module.ident.to_string()]].concat();
        match (module.content, elsewhere(&module.attrs)) {
            (Some((_, items)), _) => add(package, file, path, items, modules),
            // The file belongs to another package and is read there.
            (None, true) => {}
            (None, false) => read_file(package, &file_of(package, &path), path, modules),
        }
    }
}

fn file_of(package: &str, path: &[String]) -> PathBuf {
    let stem = root().join(package).join("src").join(path.join("/"));
    let plain = stem.with_extension("rs");
    if plain.is_file() { plain } else { stem.join("mod.rs") }
}

/// Whether a module has an attribute `#[path = ...]`.
fn elsewhere(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("path"))
}

/// Whether an item is compiled for tests only: `#[cfg(test)]`, `#[test]`.
pub fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        meta => meta.path().is_ident("test"),
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item;
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        other => panic!("an item that this test does not know, {} lines long", lines_of(other)),
    }
}

/// Number of lines of an item, including the first and the last.
pub fn lines_of(what: &impl Spanned) -> usize {
    let span = what.span();
    span.end().line - span.start().line + 1
}

/// A function with a body, named after its type and itself.
pub struct Function<'a> {
    pub name: String,
    pub signature: &'a syn::Signature,
    pub lines: usize,
}

/// All functions of a module, including nested ones.
pub fn functions(module: &Module) -> Vec<Function<'_>> {
    let mut found = Functions::default();
    module.items.iter().for_each(|item| found.visit_item(item));
    found.functions
}

#[derive(Default)]
struct Functions<'a> {
    owner: Option<String>,
    functions: Vec<Function<'a>>,
}

impl<'a> Functions<'a> {
    fn take(&mut self, signature: &'a syn::Signature, lines: usize) {
        let name = signature.ident.to_string();
        let name = self.owner.as_ref().map_or(name.clone(), |owner| format!("{owner}::{name}"));
        self.functions.push(Function { name, signature, lines });
    }
}

impl<'a> Visit<'a> for Functions<'a> {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        if !is_test(&function.attrs) {
            self.take(&function.sig, lines_of(&function.block) + lines_of(&function.sig) - 1);
            let outer = self.owner.take();
            syn::visit::visit_item_fn(self, function);
            self.owner = outer;
        }
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        if !is_test(&item.attrs) {
            let owner = match &*item.self_ty {
                syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
                _ => None,
            };
            let outer = std::mem::replace(&mut self.owner, owner);
            syn::visit::visit_item_impl(self, item);
            self.owner = outer;
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            self.take(&function.sig, lines_of(&function.block) + lines_of(&function.sig) - 1);
            syn::visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        let outer = self.owner.replace(item.ident.to_string());
        syn::visit::visit_item_trait(self, item);
        self.owner = outer;
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        self.take(&function.sig, function.default.as_ref().map_or(1, lines_of));
        syn::visit::visit_trait_item_fn(self, function);
    }
}

/// All paths in a module: `["crate", "seed", "Seed"]`, `["candle_core", "Tensor"]`. Paths with `super` are converted to
/// paths from `crate`.
pub fn names(module: &Module) -> BTreeSet<Vec<String>> {
    Named::read(module, |_| true).found
}

/// An import of a module: the name that it gives, or none for `*`, the path from `crate` or of a library, and whether it is
/// handed on.
pub struct Import {
    pub name: Option<String>,
    pub path: Vec<String>,
    pub is_public: bool,
}

/// The imports of a module, without those inside of functions.
pub fn imports(module: &Module) -> Vec<Import> {
    let mut imports = Vec::new();
    for item in &module.items {
        let syn::Item::Use(item) = item else { continue };
        let is_public = !matches!(item.vis, syn::Visibility::Inherited);
        add_imports(&mut imports, &[], &item.tree, is_public);
    }
    imports.iter_mut().for_each(|import| import.path = from_crate(&module.path, std::mem::take(&mut import.path)));
    imports
}

fn add_imports(imports: &mut Vec<Import>, before: &[String], tree: &syn::UseTree, is_public: bool) {
    let longer = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
    let (name, path) = match tree {
        syn::UseTree::Path(path) => return add_imports(imports, &longer(&path.ident), &path.tree, is_public),
        syn::UseTree::Group(group) => {
            return group.items.iter().for_each(|tree| add_imports(imports, before, tree, is_public));
        }
        syn::UseTree::Name(name) if name.ident == "self" => (before.last().cloned(), before.to_vec()),
        syn::UseTree::Name(name) => (Some(name.ident.to_string()), longer(&name.ident)),
        syn::UseTree::Rename(rename) if rename.ident == "self" => (Some(rename.rename.to_string()), before.to_vec()),
        syn::UseTree::Rename(rename) => (Some(rename.rename.to_string()), longer(&rename.ident)),
        syn::UseTree::Glob(_) => (None, before.to_vec()),
    };
    imports.push(Import { name, path, is_public });
}

/// The names that a module defines itself, its modules among them.
pub fn defined(module: &Module) -> BTreeSet<String> {
    let name = |item: &syn::Item| match item {
        syn::Item::Const(item) => Some(item.ident.to_string()),
        syn::Item::Enum(item) => Some(item.ident.to_string()),
        syn::Item::Fn(item) => Some(item.sig.ident.to_string()),
        syn::Item::Macro(item) => item.ident.as_ref().map(ToString::to_string),
        syn::Item::Static(item) => Some(item.ident.to_string()),
        syn::Item::Struct(item) => Some(item.ident.to_string()),
        syn::Item::Trait(item) => Some(item.ident.to_string()),
        syn::Item::Type(item) => Some(item.ident.to_string()),
        _ => None,
    };
    module.items.iter().filter_map(name).collect()
}

/// All paths in a module but for those of its imports.
pub fn named_in_code(module: &Module) -> BTreeSet<Vec<String>> {
    Named::read(module, |item| !matches!(item, syn::Item::Use(_))).found
}

/// A path with `super` or `self`, as a path from `crate`.
fn from_crate(module: &[String], path: Vec<String>) -> Vec<String> {
    let climbs = path.iter().take_while(|part| *part == "super").count();
    let above = &module[..module.len().saturating_sub(climbs)];
    match path.first().map(String::as_str) {
        Some("super") => [&["crate".to_owned()], above, &path[climbs..]].concat(),
        Some("self") => [&["crate".to_owned()], above, &path[1..]].concat(),
        _ => path,
    }
}

/// Whether a module contains unsafe code.
pub fn is_unsafe(module: &Module) -> bool {
    Named::read(module, |_| true).is_unsafe
}

struct Named<'a> {
    module: &'a [String],
    found: BTreeSet<Vec<String>>,
    is_unsafe: bool,
}

impl<'a> Named<'a> {
    /// What the wanted items of a module name.
    fn read(module: &'a Module, is_wanted: impl Fn(&syn::Item) -> bool) -> Self {
        let mut named = Named { module: &module.path, found: BTreeSet::new(), is_unsafe: false };
        module.items.iter().filter(|item| is_wanted(item)).for_each(|item| named.visit_item(item));
        named
    }

    fn take(&mut self, path: Vec<String>) {
        self.found.insert(from_crate(self.module, path));
    }

    /// Paths in the arguments of a macro, which are not parsed: names separated by `::`.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons): (Vec<String>, usize) = (Vec::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) if colons == 2 && !path.is_empty() => {
                    path.push(ident.to_string());
                    colons = 0;
                }
                other => {
                    self.take(std::mem::take(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Ident(ident) => path.push(ident.to_string()),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.take(path);
    }
}

impl<'ast> Visit<'ast> for Named<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut imports = Vec::new();
        add_imports(&mut imports, &[], &item.tree, false);
        imports.into_iter().for_each(|import| self.take(import.path));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.take(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.tokens(item.tokens.clone());
        syn::visit::visit_macro(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            syn::visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
        self.is_unsafe = true;
        syn::visit::visit_expr_unsafe(self, block);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}
