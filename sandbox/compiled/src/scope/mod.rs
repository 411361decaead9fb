//! Resolves names: functions, variables, captures.
//!
//! Takes a body of statements; gives, for every name in every function, its variable, and for every variable, how it
//! is stored. Knows nothing of kinds or code.

pub(crate) mod annotating;
mod bindings;
mod walk;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ruff_python_ast::{Expr, ExprLambda, Parameters, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextSize};

use bindings::Bindings;
use walk::Walk;

/// Most variables of a function and most functions of a program, because compile time grows faster than either.
const VARIABLES_MAX: usize = 64;
const FUNCTIONS_MAX: usize = 100;

/// A construct that is not compiled, and its position.
pub(crate) struct Refused {
    pub(crate) construct: String,
    pub(crate) at: TextSize,
}

/// The syntax of a function.
#[derive(Clone, Copy)]
pub(crate) enum Node<'a> {
    Module(&'a [Stmt]),
    Def(&'a StmtFunctionDef),
    Lambda(&'a ExprLambda),
}

impl Node<'_> {
    fn start(&self) -> TextSize {
        match self {
            Node::Module(_) => TextSize::new(0),
            Node::Def(def) => def.start(),
            Node::Lambda(lambda) => lambda.start(),
        }
    }
}

/// A function, or the module, which is function 0.
pub(crate) struct Function<'a> {
    pub(crate) node: Node<'a>,
    pub(crate) name: String,
    pub(crate) parent: usize,
    pub(crate) parameters: Vec<usize>,
    /// Number of parameters that cannot be passed by name.
    pub(crate) positional_only: usize,
    pub(crate) defaults: Vec<&'a Expr>,
    /// Variables of enclosing functions that this function or its inner functions use.
    pub(crate) captures: Vec<usize>,
    /// Whether it binds a name inside an expression.
    pub(crate) has_walrus: bool,
    /// Depth of its nested generators.
    pub(crate) generators: usize,
    names: BTreeMap<String, usize>,
    globals: BTreeSet<String>,
    nonlocals: BTreeSet<String>,
    /// The enclosing comprehensions.
    outer: Vec<BTreeMap<String, usize>>,
}

/// How a variable is stored.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Mode {
    /// In a local.
    Local,
    /// In a local, and copied into closures: it is bound once, before any closure is made.
    Value,
    /// In a cell.
    Cell,
    /// In a slot of the module.
    Global(u32),
}

pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) owner: usize,
    pub(crate) mode: Mode,
    /// Whether anything other than the function of this name reads it.
    pub(crate) used: bool,
    /// End of the only statement that binds it, if that is a plain statement at the top of its function.
    bound_once: Option<TextSize>,
    /// Position of the first closure that captures it.
    captured_at: Option<TextSize>,
}

/// A variable of the module.
pub(crate) struct TopLevel {
    pub(crate) name: String,
    pub(crate) variable: usize,
    pub(crate) used: bool,
}

#[derive(Default)]
pub(crate) struct Scopes<'a> {
    pub(crate) functions: Vec<Function<'a>>,
    pub(crate) variables: Vec<Variable>,
    /// Functions by the address of their syntax.
    pub(crate) function_of: HashMap<usize, usize>,
    /// Names of comprehensions, by the address of their generators.
    pub(crate) comprehension_of: HashMap<usize, BTreeMap<String, usize>>,
    /// Names that imports for annotations would bind, and where.
    annotating: Vec<(String, TextSize)>,
    refused: Option<Refused>,
}

/// Defaults of parameters, from first to last.
fn defaults(parameters: &Parameters) -> Vec<&Expr> {
    parameters.posonlyargs.iter().chain(&parameters.args).filter_map(|one| one.default.as_deref()).collect()
}

impl<'a> Scopes<'a> {
    pub(crate) fn build(body: &'a [Stmt]) -> Result<Scopes<'a>, Refused> {
        let mut scopes = Scopes::default();
        scopes.function(Node::Module(body), "<module>", None, &Walk::outermost());
        if let Some((name, at)) =
            scopes.annotating.iter().find(|(name, _)| scopes.functions[0].names.contains_key(name))
        {
            scopes.refused.get_or_insert(Refused { construct: format!("another binding of `{name}`"), at: *at });
        }
        if let Some(refused) = scopes.refused.take() {
            return Err(refused);
        }
        let mut slot = 0;
        for variable in &mut scopes.variables {
            // A captured name of a comprehension at the top level is none of these: each run has a cell of its own.
            if matches!(variable.mode, Mode::Global(_)) {
                variable.mode = Mode::Global(slot);
                slot += 1;
            } else if variable.mode == Mode::Cell
                && let (Some(bound), Some(captured)) = (variable.bound_once, variable.captured_at)
                && bound <= captured
            {
                variable.mode = Mode::Value;
            }
        }
        Ok(scopes)
    }

    pub(crate) fn global_count(&self) -> u32 {
        self.variables.iter().filter(|variable| matches!(variable.mode, Mode::Global(_))).count() as u32
    }

    /// Variables of the module, by name.
    pub(crate) fn top_level(&self) -> Vec<TopLevel> {
        let names = self.functions[0].names.iter();
        names
            .filter(|(_, variable)| matches!(self.variables[**variable].mode, Mode::Global(_)))
            .map(|(name, &variable)| TopLevel { name: name.clone(), variable, used: self.variables[variable].used })
            .collect()
    }

    fn refuse(&mut self, construct: impl Into<String>, at: TextSize) {
        self.refused.get_or_insert(Refused { construct: construct.into(), at });
    }

    fn variable(&mut self, name: &str, owner: usize, mode: Mode, bound_once: Option<TextSize>) -> usize {
        let name = name.to_owned();
        self.variables.push(Variable { name, owner, mode, used: false, bound_once, captured_at: None });
        self.variables.len() - 1
    }

    /// Resolves a function and its inner functions. Stops after the first refusal.
    fn function(&mut self, node: Node<'a>, name: &str, parameters: Option<&'a Parameters>, around: &Walk) -> usize {
        let id = self.functions.len();
        let mut bindings = Bindings::of(node);
        if id >= FUNCTIONS_MAX {
            self.refuse("so many functions", node.start());
        }
        if let Some(refused) = bindings.refused.take() {
            self.refused.get_or_insert(refused);
        }
        self.functions.push(Function {
            node,
            name: name.to_owned(),
            parent: around.current,
            parameters: Vec::new(),
            positional_only: parameters.map_or(0, |parameters| parameters.posonlyargs.len()),
            defaults: parameters.map(defaults).unwrap_or_default(),
            captures: Vec::new(),
            has_walrus: bindings.has_walrus,
            generators: bindings.generators_max,
            names: BTreeMap::new(),
            globals: std::mem::take(&mut bindings.globals),
            nonlocals: std::mem::take(&mut bindings.nonlocals),
            outer: around.comprehensions.clone(),
        });
        self.declare_parameters(id, parameters, &bindings);
        self.declare_names(id, &bindings);
        if self.refused.is_none() {
            Walk::through(self, node, id);
        }
        // Names of comprehensions were added on the way. Variables of the module are in memory and do not count.
        let is_local = |variable: &&Variable| variable.owner == id && !matches!(variable.mode, Mode::Global(_));
        if self.variables.iter().filter(is_local).count() > VARIABLES_MAX {
            self.refuse("so many variables in a function", node.start());
        }
        id
    }

    fn declare_parameters(&mut self, id: usize, parameters: Option<&'a Parameters>, bindings: &Bindings) {
        let Some(parameters) = parameters else { return };
        if parameters.vararg.is_some() || parameters.kwarg.is_some() || !parameters.kwonlyargs.is_empty() {
            self.refuse("`*` among parameters", parameters.start());
        }
        for parameter in parameters.posonlyargs.iter().chain(&parameters.args) {
            let name = parameter.parameter.name.as_str();
            let bound_once = (!bindings.stores.contains_key(name)).then_some(TextSize::new(0));
            let variable = self.variable(name, id, Mode::Local, bound_once);
            self.functions[id].names.insert(name.to_owned(), variable);
            self.functions[id].parameters.push(variable);
        }
    }

    fn declare_names(&mut self, id: usize, bindings: &Bindings) {
        for name in &bindings.order {
            let function = &self.functions[id];
            if function.names.contains_key(name) || function.globals.contains(name) || function.nonlocals.contains(name)
            {
                continue;
            }
            let is_once = bindings.stores[name] == 1;
            let bound_once = if is_once { bindings.plain.get(name).copied() } else { None };
            let mode = if id == 0 { Mode::Global(0) } else { Mode::Local };
            let variable = self.variable(name, id, mode, bound_once);
            self.functions[id].names.insert(name.clone(), variable);
        }
        self.annotating.extend_from_slice(&bindings.annotating);
        let nonlocals = if id == 0 { BTreeSet::new() } else { self.functions[id].nonlocals.clone() };
        for name in nonlocals {
            // The variable is bound here too, so it must not be copied.
            let outer = self.functions[id].outer.clone();
            match self.resolve(&name, self.functions[id].parent, &outer) {
                Some(variable) if self.variables[variable].owner != 0 => self.variables[variable].bound_once = None,
                _ => self.refuse("`nonlocal` of what no function binds", self.functions[id].node.start()),
            }
        }
        for name in self.functions[id].globals.clone() {
            if !self.functions[0].names.contains_key(&name) {
                let variable = self.variable(&name, 0, Mode::Global(0), None);
                self.functions[0].names.insert(name, variable);
            }
        }
    }

    /// The variable of a name in a function, inside these comprehensions.
    pub(crate) fn resolve(
        &self,
        name: &str,
        function: usize,
        comprehensions: &[BTreeMap<String, usize>],
    ) -> Option<usize> {
        let inner = |around: &[BTreeMap<String, usize>]| around.iter().rev().find_map(|names| names.get(name).copied());
        if let Some(variable) = inner(comprehensions) {
            return Some(variable);
        }
        let mut id = function;
        loop {
            let function = &self.functions[id];
            if id == 0 || function.globals.contains(name) {
                return self.functions[0].names.get(name).copied();
            }
            if let Some(&variable) = function.names.get(name) {
                return Some(variable);
            }
            if let Some(variable) = inner(&function.outer) {
                return Some(variable);
            }
            id = function.parent;
        }
    }

    /// Records that a function uses a variable; every function between it and the owner passes the variable on.
    fn capture(&mut self, variable: usize, function: usize) {
        let owner = self.variables[variable].owner;
        if owner == function || matches!(self.variables[variable].mode, Mode::Global(_)) {
            return;
        }
        self.variables[variable].mode = Mode::Cell;
        let mut id = function;
        while id != owner {
            if !self.functions[id].captures.contains(&variable) {
                self.functions[id].captures.push(variable);
            }
            let start = self.functions[id].node.start();
            if self.functions[id].parent == owner {
                let first = self.variables[variable].captured_at.get_or_insert(start);
                *first = (*first).min(start);
            }
            id = self.functions[id].parent;
        }
    }
}
