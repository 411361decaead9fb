//! Which module uses what another one defines: a name that is handed on leads to where it is defined.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Import, Module, defined, imports, named_in_code};

/// A package and a path in it.
pub type Place<'a> = (&'a str, &'a [String]);

struct Node<'a> {
    module: &'a Module,
    defined: BTreeSet<String>,
    imports: Vec<Import>,
}

pub struct Graph<'a> {
    nodes: BTreeMap<Place<'a>, Node<'a>>,
}

impl<'a> Graph<'a> {
    pub fn new(modules: &'a [Module]) -> Graph<'a> {
        let node = |module: &'a Module| {
            let place = (&*module.package, &*module.path);
            (place, Node { module, defined: defined(module), imports: imports(module) })
        };
        Graph { nodes: modules.iter().map(node).collect() }
    }

    /// The modules whose definitions each module uses. Handing a name on is no use of it.
    pub fn uses(&self) -> BTreeMap<Place<'a>, BTreeSet<Place<'a>>> {
        self.nodes.iter().map(|(place, node)| (*place, self.used_by(*place, node))).collect()
    }

    fn used_by(&self, own: Place<'a>, node: &Node<'a>) -> BTreeSet<Place<'a>> {
        let code = named_in_code(node.module);
        let firsts: BTreeSet<&String> = code.iter().filter_map(|path| path.first()).collect();
        let is_used = |import: &&Import| match &import.name {
            Some(name) => !import.is_public || firsts.contains(name),
            None => !import.is_public,
        };
        let imported = node.imports.iter().filter(is_used).map(|import| &import.path);
        let used = imported.chain(&code).filter_map(|path| self.home(own, path));
        used.filter(|place| *place != own).collect()
    }

    /// The module that defines what `path` names in the module `own`; none if it is of a library or a module itself.
    fn home(&self, own: Place<'a>, path: &[String]) -> Option<Place<'a>> {
        let (mut place, mut name) = self.split(own, path)?;
        // A name is handed on a few times at most; a circle of imports does not compile.
        for _ in 0..8 {
            let node = &self.nodes[&place];
            let Some(wanted) = name.clone().filter(|name| !node.defined.contains(name)) else { break };
            let handed_on = node.imports.iter().find(|import| import.name.as_ref() == Some(&wanted));
            let from_all = || {
                node.imports.iter().filter(|import| import.name.is_none()).find_map(|import| {
                    let (place, _) = self.split(place, &import.path)?;
                    self.nodes[&place].defined.contains(&wanted).then_some((place, Some(wanted.clone())))
                })
            };
            (place, name) = match handed_on {
                Some(import) => self.split(place, &import.path)?,
                None => from_all()?,
            };
        }
        name.map(|_| place)
    }

    /// The longest module that a path leads to from `own`, and the name that follows.
    fn split(&self, own: Place<'a>, path: &[String]) -> Option<(Place<'a>, Option<String>)> {
        let full = match path.first().map(String::as_str) {
            Some("crate") => path[1..].to_vec(),
            Some(first) if self.find(own.0, &[own.1, &[first.to_owned()]].concat()).is_some() => [own.1, path].concat(),
            _ => return None,
        };
        let place = |end: usize| Some((self.find(own.0, &full[..end])?, full.get(end).cloned()));
        (0..=full.len()).rev().find_map(place)
    }

    fn find(&self, package: &str, path: &[String]) -> Option<Place<'a>> {
        let module = self.nodes.get(&(package, path))?.module;
        Some((&module.package, &module.path))
    }
}
