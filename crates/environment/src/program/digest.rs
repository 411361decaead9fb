//! Decides when two texts are the same program: if their syntax trees agree, whatever their layout, comments and local
//! names.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use ruff_python_ast::comparable::ComparableModModule;
use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprContext, Identifier, Keyword, ModModule, Parameter, Pattern, Stmt, StmtClassDef,
    StmtFunctionDef, TypeParams,
};

/// Digest of the syntax tree. Layout, comments, docstrings, quotes, redundant parentheses and the names of variables,
/// parameters and functions do not count. For a program that can inspect its own names, lines or documentation, it is
/// the digest of the text. Names that mean something without the program count where it binds them too: those of builtins,
/// and that of its entry, unless this is its last function, as it nearly always is.
///
/// Digests are equal within one build of this program; another version of the parser may give the same tree another
/// digest.
///
/// * `module`: what `source` parses to.
/// * `entry`: the name of the function or class that is asked for; none of a whole program.
pub(super) fn of_syntax(source: &str, mut module: ModModule, entry: Option<&str>) -> [u8; 32] {
    if looks_at_itself(&module) {
        let mut digest = blake3::Hasher::new_derive_key("grpo-2048 program text v1");
        return *digest.update(source.as_bytes()).finalize().as_bytes();
    }
    let names = Bound::default();
    if let Some(entry) = entry.filter(|entry| last_function(&module) != Some(*entry)) {
        names.fixed.borrow_mut().insert(Name::new(entry));
    }
    names.visit_body(&mut module.body);
    names.into_renaming().visit_body(&mut module.body);
    let mut digest = Digest(blake3::Hasher::new_derive_key("grpo-2048 program v3"));
    ComparableModModule::from(&module).hash(&mut digest);
    *digest.0.finalize().as_bytes()
}

/// The name of the last function at top level.
fn last_function(module: &ModModule) -> Option<&str> {
    module.body.iter().rev().find_map(|one| match one {
        Stmt::FunctionDef(function) => Some(function.name.as_str()),
        _ => None,
    })
}

/// Names that a program binds, in the order of their appearance; the walk also removes docstrings.
#[derive(Default)]
struct Bound {
    numbers: RefCell<BTreeMap<Name, usize>>,
    /// Names that are also bound where [`Renaming`] does not reach, and therefore stay.
    fixed: RefCell<BTreeSet<Name>>,
    /// The number of classes around the place where the walk is.
    classes: Cell<usize>,
}

impl Bound {
    fn bind(&self, name: &Name) {
        let mut numbers = self.numbers.borrow_mut();
        let next = numbers.len();
        numbers.entry(name.clone()).or_insert(next);
        if self.classes.get() > 0 {
            self.fixed.borrow_mut().insert(name.clone());
        }
    }

    fn fix<'a>(&self, names: impl IntoIterator<Item = &'a Identifier>) {
        self.fixed.borrow_mut().extend(names.into_iter().map(|name| name.id.clone()));
    }

    /// Names bound in a class are attributes of it, which are used by name. Its body is walked once: with a second walk the time
    /// would double with each class around it.
    fn class(&self, class: &mut StmtClassDef) {
        self.fix([&class.name]);
        class.decorator_list.iter_mut().for_each(|one| self.visit_decorator(one));
        if let Some(types) = &mut class.type_params {
            self.visit_type_params(types);
        }
        if let Some(arguments) = &mut class.arguments {
            self.visit_arguments(arguments);
        }
        self.classes.set(self.classes.get() + 1);
        self.visit_body(&mut class.body);
        self.classes.set(self.classes.get() - 1);
    }

    fn into_renaming(self) -> Renaming {
        let fixed = self.fixed.into_inner();
        // No identifier contains `$`, so a given name never clashes with a name that stays.
        let stays = |name: &Name| fixed.contains(name) || is_builtin(name);
        let named = self.numbers.into_inner().into_iter().filter(|(name, _)| !stays(name));
        Renaming { names: named.map(|(name, number)| (name, Name::from(format!("${number}")))).collect() }
    }
}

impl Transformer for Bound {
    fn visit_stmt(&self, statement: &mut Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                self.bind(&function.name.id);
                drop_docstring(function);
            }
            Stmt::ClassDef(class) => return self.class(class),
            Stmt::Global(global) => self.fix(&global.names),
            Stmt::Nonlocal(nonlocal) => self.fix(&nonlocal.names),
            _ => {}
        }
        transformer::walk_stmt(self, statement);
    }

    fn visit_expr(&self, expression: &mut Expr) {
        transformer::walk_expr(self, expression);
        match expression {
            Expr::Name(name) if matches!(name.ctx, ExprContext::Store) => self.bind(&name.id),
            Expr::Attribute(attribute) => self.fix([&attribute.attr]),
            _ => {}
        }
    }

    fn visit_keyword(&self, keyword: &mut Keyword) {
        // A keyword argument names the parameter.
        self.fix(&keyword.arg);
        transformer::walk_keyword(self, keyword);
    }

    fn visit_parameter(&self, parameter: &mut Parameter) {
        self.bind(&parameter.name.id);
        transformer::walk_parameter(self, parameter);
    }

    fn visit_alias(&self, alias: &mut Alias) {
        self.fix([&alias.name]);
        self.fix(&alias.asname);
    }

    fn visit_except_handler(&self, handler: &mut ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        self.fix(&inner.name);
        transformer::walk_except_handler(self, handler);
    }

    fn visit_pattern(&self, pattern: &mut Pattern) {
        match pattern {
            Pattern::MatchAs(capture) => self.fix(&capture.name),
            Pattern::MatchStar(capture) => self.fix(&capture.name),
            Pattern::MatchMapping(mapping) => self.fix(&mapping.rest),
            _ => {}
        }
        transformer::walk_pattern(self, pattern);
    }

    fn visit_type_params(&self, parameters: &mut TypeParams) {
        self.fix(parameters.iter().map(|parameter| parameter.name()));
        transformer::walk_type_params(self, parameters);
    }
}

/// Names that every program has. One that a function binds for itself may stand for the builtin elsewhere.
const BUILTINS: &str = "abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod \
    enumerate filter float format frozenset hash hex id input int isinstance issubclass iter len list map max \
    memoryview min next object oct open ord pow print property range repr reversed round set slice sorted \
    staticmethod str sum super tuple type zip";

/// Whether a name is one of Python's own functions and types.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.split(' ').any(|builtin| builtin == name)
}

/// Names by which a program can observe what is renamed or removed here: variables by name, frames with their lines,
/// documentation.
const MIRRORS: &[&str] = &[
    "locals", "globals", "vars", "dir", "eval", "exec", "compile", "getattr", "setattr", "hasattr", "delattr", "help",
    "inspect", "sys", "traceback", "types", "gc", "ast", "dis", "warnings", "pydoc",
];

/// Whether a program may inspect its own text, through one of these names or an attribute such as `__doc__`,
/// `__code__` or `f_lineno`.
fn looks_at_itself(module: &ModModule) -> bool {
    let mut mirror = Mirror(false);
    mirror.visit_body(&module.body);
    mirror.0
}

struct Mirror(bool);

impl Mirror {
    fn sees(&mut self, name: &str) {
        let frame = ["f_", "tb_", "co_", "gi_"].iter().any(|start| name.starts_with(start));
        // `__init__` and `__main__` are common and reveal nothing.
        let dunder = name.starts_with("__") && !matches!(name, "__init__" | "__main__");
        self.0 |= MIRRORS.contains(&name) || dunder || frame;
    }
}

impl Visitor<'_> for Mirror {
    fn visit_expr(&mut self, expression: &Expr) {
        match expression {
            Expr::Name(name) => self.sees(&name.id),
            Expr::Attribute(attribute) => self.sees(&attribute.attr.id),
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    /// What `**` hands over names parameters by texts.
    fn visit_keyword(&mut self, keyword: &Keyword) {
        self.0 |= keyword.arg.is_none();
        visitor::walk_keyword(self, keyword);
    }

    fn visit_alias(&mut self, alias: &Alias) {
        self.sees(alias.name.id.split('.').next().unwrap_or_default());
    }
}

/// Removes a function's docstring, unless it is the whole body.
fn drop_docstring(function: &mut StmtFunctionDef) {
    let documents = |statement: &Stmt| matches!(statement, Stmt::Expr(inner) if inner.value.is_string_literal_expr());
    if function.body.len() > 1 && function.body.first().is_some_and(documents) {
        function.body.remove(0);
    }
}

/// Replaces names by numbers.
struct Renaming {
    names: BTreeMap<Name, Name>,
}

impl Renaming {
    fn rename(&self, name: &mut Name) {
        if let Some(new) = self.names.get(name) {
            *name = new.clone();
        }
    }
}

impl Transformer for Renaming {
    fn visit_stmt(&self, statement: &mut Stmt) {
        if let Stmt::FunctionDef(function) = statement {
            self.rename(&mut function.name.id);
        }
        transformer::walk_stmt(self, statement);
    }

    fn visit_expr(&self, expression: &mut Expr) {
        if let Expr::Name(name) = expression {
            self.rename(&mut name.id);
        }
        transformer::walk_expr(self, expression);
    }

    fn visit_parameter(&self, parameter: &mut Parameter) {
        self.rename(&mut parameter.name.id);
        transformer::walk_parameter(self, parameter);
    }
}

/// Computes a digest from `Hash` that is the same in every process.
struct Digest(blake3::Hasher);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// # Panics
    /// Always: 64 bits are not what this is for.
    fn finish(&self) -> u64 {
        unreachable!("the digest is taken from the hasher inside")
    }
}
