//! What statements at top level do with the names of their module, by the scopes of Python.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprContext, ExprNamed, Parameters, Pattern, Stmt, StmtAugAssign, StmtClassDef,
    StmtFunctionDef, TypeParam,
};

type Set<'a> = BTreeSet<&'a str>;

/// By which a whole program reads its input.
const INPUTS: [&str; 2] = ["input", "stdin"];

/// Names that statements at top level read, bind and change.
#[derive(Default)]
pub(super) struct Names<'a> {
    /// Bound, whatever was there.
    certain: Set<'a>,
    /// Changed: `x += 1`, `table[0] = 1`, `random.seed(0)`.
    changed: Set<'a>,
    /// Of which a method is called for what it does: `names.append("a")`.
    pub called: Set<'a>,
    /// Whether everything of a module is imported.
    pub has_star: bool,
    module: Scope<'a>,
    /// The scopes within which the walk is, the innermost last.
    inner: Vec<Scope<'a>>,
    /// How many statements stand around this one that need not run it: loops, `if`, `try`.
    depth: usize,
}

#[derive(Default)]
struct Scope<'a> {
    kind: Kind,
    /// Read as its statements run, before they bind it.
    now: Set<'a>,
    /// Read by the functions in it, once these are called.
    later: Set<'a>,
    bound: Set<'a>,
    global: Set<'a>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    /// The module is like one.
    #[default]
    Function,
    /// Its names are none of those that its functions see.
    Class,
    Comprehension,
}

impl<'a> Names<'a> {
    pub fn of(body: &'a [Stmt]) -> Names<'a> {
        let mut names = Names::default();
        names.visit_body(body);
        names
    }

    /// The names that somebody else has to bind: `total` too where `total = total + x` is the first that binds it.
    pub fn missing(&self) -> Vec<&'a str> {
        self.now().chain(self.later()).collect()
    }

    /// Those that are read as the statements run.
    pub fn now(&self) -> impl Iterator<Item = &'a str> {
        self.module.now.iter().copied()
    }

    /// Those of others that functions read once they are called.
    pub fn later(&self) -> impl Iterator<Item = &'a str> {
        self.module.later.difference(&self.module.bound).copied()
    }

    /// Those that the statements bind or change.
    pub fn touched(&self) -> Set<'a> {
        self.module.bound.union(&self.changed).copied().collect()
    }

    pub fn bound(&self) -> &Set<'a> {
        &self.module.bound
    }

    /// Those that are bound whatever was there.
    pub fn certain(&self) -> impl Iterator<Item = &'a str> {
        self.certain.iter().copied()
    }

    /// Whether a name is bound, whatever was there.
    pub fn binds(&self, name: &str) -> bool {
        self.certain.contains(name)
    }

    /// Whether the statements read input as they run.
    pub fn reads_input(&self) -> bool {
        INPUTS.iter().any(|name| self.module.now.contains(name))
    }

    /// Whether the statements read input, or functions in them do once they are called.
    pub fn read_input_somewhere(&self) -> bool {
        // `stdin` may be imported by this name, and `input` a variable.
        self.module.bound.contains(INPUTS[1]) || self.missing().iter().any(|name| INPUTS.contains(name))
    }

    fn is_outside(&self) -> bool {
        self.inner.is_empty()
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        self.inner.last_mut().unwrap_or(&mut self.module)
    }

    fn read(&mut self, name: &'a str) {
        let scope = self.scope();
        if !scope.bound.contains(name) {
            scope.now.insert(name);
        }
    }

    fn bind(&mut self, name: &'a str) {
        if self.is_outside() && self.depth == 0 {
            self.certain.insert(name);
        }
        self.scope().bound.insert(name);
    }

    fn change(&mut self, of: &'a Expr) {
        if let Some(name) = root(of).filter(|_| self.is_outside()) {
            self.changed.insert(name);
        }
    }

    /// Takes in that an expression stands for what it does.
    fn call(&mut self, expression: &'a Expr) {
        let Expr::Call(call) = expression else { return };
        let Expr::Attribute(method) = call.func.as_ref() else { return };
        let Some(name) = root(&method.value).filter(|_| self.is_outside()) else { return };
        // `sys.setrecursionlimit(10 ** 6)` is one of a module too, whose other functions leave it as it is.
        let is_setting = method.attr.starts_with("set") || method.attr.as_str() == "seed";
        let names = if is_setting { &mut self.changed } else { &mut self.called };
        names.insert(name);
    }

    fn inside(&mut self, kind: Kind, walk: impl FnOnce(&mut Names<'a>)) {
        self.inner.push(Scope { kind, ..Scope::default() });
        walk(self);
        if let Some(scope) = self.inner.pop() {
            self.leave(scope);
        }
    }

    /// Hands what a scope does not bind itself to the one around it.
    fn leave(&mut self, scope: Scope<'a>) {
        let Scope { kind, mut now, mut later, bound, global } = scope;
        for name in bound.difference(&global) {
            now.remove(name);
            if kind != Kind::Class {
                later.remove(name);
            }
        }
        later.extend(global);
        if kind == Kind::Function {
            join(&mut later, std::mem::take(&mut now));
        }
        if self.is_outside() {
            now.retain(|name| !self.module.bound.contains(name));
        }
        let around = self.scope();
        join(&mut around.now, now);
        join(&mut around.later, later);
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        function.decorator_list.iter().for_each(|one| self.visit_decorator(one));
        if let Some(returned) = &function.returns {
            self.visit_annotation(returned);
        }
        self.defaults(&function.parameters);
        self.bind(&function.name);
        self.inside(Kind::Function, |names| {
            if let Some(types) = &function.type_params {
                names.visit_type_params(types);
            }
            function.parameters.iter().for_each(|one| names.bind(one.name()));
            names.visit_body(&function.body);
        });
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        class.decorator_list.iter().for_each(|one| self.visit_decorator(one));
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        self.bind(&class.name);
        self.inside(Kind::Class, |names| {
            if let Some(types) = &class.type_params {
                names.visit_type_params(types);
            }
            names.visit_body(&class.body);
        });
    }

    fn lambda(&mut self, parameters: Option<&'a Parameters>, body: &'a Expr) {
        if let Some(parameters) = parameters {
            self.defaults(parameters);
        }
        self.inside(Kind::Function, |names| {
            parameters.into_iter().flat_map(Parameters::iter).for_each(|one| names.bind(one.name()));
            names.visit_expr(body);
        });
    }

    /// What of parameters is worked out as their function is defined.
    fn defaults(&mut self, parameters: &'a Parameters) {
        for one in parameters {
            if let Some(annotation) = one.annotation() {
                self.visit_annotation(annotation);
            }
            if let Some(default) = one.default() {
                self.visit_expr(default);
            }
        }
    }

    /// A name that is bound in a comprehension is one of the function around it.
    fn named(&mut self, named: &'a ExprNamed) {
        self.visit_expr(&named.value);
        let Expr::Name(name) = named.target.as_ref() else { return };
        let name = name.id.as_str();
        match self.inner.iter().rposition(|scope| scope.kind != Kind::Comprehension) {
            Some(around) => drop(self.inner[around].bound.insert(name)),
            None => {
                if self.depth == 0 {
                    self.certain.insert(name);
                }
                self.module.bound.insert(name);
            }
        }
        self.scope().bound.insert(name);
    }

    fn augmented(&mut self, assigned: &'a StmtAugAssign) {
        self.visit_expr(&assigned.value);
        match assigned.target.as_ref() {
            Expr::Name(name) => {
                self.read(&name.id);
                let names = if self.is_outside() { &mut self.changed } else { &mut self.scope().bound };
                names.insert(&name.id);
            }
            other => self.visit_expr(other),
        }
    }
}

/// Adds the smaller of two sets to the larger.
fn join<'a>(all: &mut Set<'a>, mut more: Set<'a>) {
    if all.len() < more.len() {
        std::mem::swap(all, &mut more);
    }
    all.extend(more);
}

/// The name that `name.attribute[0].method()` begins with.
fn root(mut expression: &Expr) -> Option<&str> {
    loop {
        expression = match expression {
            Expr::Name(name) => return Some(name.id.as_str()),
            Expr::Attribute(attribute) => attribute.value.as_ref(),
            Expr::Subscript(subscript) => subscript.value.as_ref(),
            // What a function gives is no part of it.
            Expr::Call(call) if call.func.is_attribute_expr() => call.func.as_ref(),
            _ => return None,
        }
    }
}

impl<'a> Visitor<'a> for Names<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => return self.function(function),
            Stmt::ClassDef(class) => return self.class(class),
            Stmt::AugAssign(assigned) => return self.augmented(assigned),
            // Words of prose look like that: `Complexity: O(n)`.
            Stmt::AnnAssign(assigned) if assigned.value.is_none() && self.is_outside() => return,
            Stmt::Global(global) => {
                let names = global.names.iter().map(|name| name.as_str());
                return self.scope().global.extend(names);
            }
            Stmt::Expr(expression) => self.call(&expression.value),
            _ => {}
        }
        let is_around = matches!(
            statement,
            Stmt::For(_) | Stmt::While(_) | Stmt::If(_) | Stmt::Try(_) | Stmt::With(_) | Stmt::Match(_)
        );
        self.depth += usize::from(is_around);
        visitor::walk_stmt(self, statement);
        self.depth -= usize::from(is_around);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx == ExprContext::Store => return self.bind(&name.id),
            Expr::Name(name) => return self.read(&name.id),
            Expr::Named(named) => return self.named(named),
            Expr::Lambda(lambda) => return self.lambda(lambda.parameters.as_deref(), &lambda.body),
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                return self.inside(Kind::Comprehension, |names| visitor::walk_expr(names, expression));
            }
            Expr::Attribute(attribute) => {
                if attribute.attr.as_str() == INPUTS[1] {
                    self.read(INPUTS[1]);
                }
                if attribute.ctx != ExprContext::Load {
                    self.change(expression);
                }
            }
            Expr::Subscript(subscript) if subscript.ctx != ExprContext::Load => self.change(expression),
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        match name.split_once('.') {
            _ if name == "*" => self.has_star = true,
            // `import os.path` adds to what `import os` has given.
            Some((first, _)) => drop(self.scope().bound.insert(first)),
            None => self.bind(name),
        }
    }

    fn visit_type_param(&mut self, parameter: &'a TypeParam) {
        self.bind(parameter.name());
        visitor::walk_type_param(self, parameter);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(one) = handler;
        if let Some(name) = &one.name {
            self.bind(name);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(one) => one.name.as_ref(),
            Pattern::MatchStar(one) => one.name.as_ref(),
            Pattern::MatchMapping(one) => one.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind(name);
        }
        visitor::walk_pattern(self, pattern);
    }
}
