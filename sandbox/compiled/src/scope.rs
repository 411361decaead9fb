//! Who binds which name: functions, variables, captures.
use std::collections::{HashMap, HashSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Comprehension, Expr, ExprContext, ExprLambda, Parameters, Stmt, StmtFunctionDef};
use ruff_text_size::Ranged;

pub type R<T> = Result<T, String>;

#[derive(Clone, Copy)]
pub enum Node<'a> {
    Module(&'a [Stmt]),
    Def(&'a StmtFunctionDef),
    Lambda(&'a ExprLambda),
}

pub struct Fun<'a> {
    pub node: Node<'a>,
    pub name: String,
    pub parent: usize,
    pub params: Vec<usize>,
    pub defaults: Vec<&'a Expr>,
    pub names: HashMap<String, usize>,
    pub globals: HashSet<String>,
    pub nonlocals: HashSet<String>,
    pub frees: Vec<usize>,
    pub outer: Vec<HashMap<String, usize>>,
    pub walrus: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mode {
    Local,
    Value,
    Cell,
    Global(u32),
}

/// A variable at the top level.
pub struct Entry {
    pub name: String,
    pub var: usize,
    pub used: bool,
}

pub struct Var {
    pub used: bool,
    pub name: String,
    pub owner: usize,
    pub mode: Mode,
    /// End of the only statement that binds it, when that is a plain one at the top of its function.
    once: Option<u32>,
    captured_from: Option<u32>,
}

#[derive(Default)]
pub struct Scopes<'a> {
    pub funs: Vec<Fun<'a>>,
    pub vars: Vec<Var>,
    pub fun_of: HashMap<usize, usize>,
    pub comp_of: HashMap<usize, HashMap<String, usize>>,
    error: Option<String>,
}

#[derive(Default)]
struct Names {
    stores: HashMap<String, u32>,
    order: Vec<String>,
    globals: HashSet<String>,
    nonlocals: HashSet<String>,
    comp: u32,
    walrus: bool,
    error: Option<String>,
}

impl Names {
    fn store(&mut self, name: &str) {
        let count = self.stores.entry(name.to_owned()).or_insert(0);
        if *count == 0 {
            self.order.push(name.to_owned());
        }
        *count += 1;
    }
}

fn defaults<'a>(parameters: &'a Parameters) -> Vec<&'a Expr> {
    parameters.posonlyargs.iter().chain(&parameters.args).filter_map(|p| p.default.as_deref()).collect()
}

impl<'a> Visitor<'a> for Names {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => {
                self.store(&def.name);
                for d in defaults(&def.parameters) {
                    self.visit_expr(d);
                }
            }
            Stmt::Global(g) => self.globals.extend(g.names.iter().map(|n| n.to_string())),
            Stmt::Nonlocal(g) => self.nonlocals.extend(g.names.iter().map(|n| n.to_string())),
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().map_or_else(|| alias.name.split('.').next().unwrap_or(""), |n| n.as_str());
                    self.store(&name.to_owned());
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.store(alias.asname.as_ref().unwrap_or(&alias.name));
                }
            }
            Stmt::ClassDef(_) => self.error = Some("class".into()),
            Stmt::Try(t) => {
                if t.is_star || !t.finalbody.is_empty() {
                    self.error = Some("finally".into());
                }
                for ruff_python_ast::ExceptHandler::ExceptHandler(h) in &t.handlers {
                    if let Some(name) = &h.name {
                        self.store(&name.to_string());
                    }
                }
                visitor::walk_stmt(self, stmt);
            }
            Stmt::With(_) => self.error = Some("with".into()),
            Stmt::Match(_) => self.error = Some("match".into()),
            _ => visitor::walk_stmt(self, stmt),
        }
    }
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if self.comp == 0 && !matches!(name.ctx, ExprContext::Load) => self.store(&name.id),
            Expr::Lambda(lambda) => {
                if let Some(p) = &lambda.parameters {
                    for d in defaults(p) {
                        self.visit_expr(d);
                    }
                }
            }
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                self.comp += 1;
                visitor::walk_expr(self, expr);
                self.comp -= 1;
            }
            Expr::Named(named) => {
                self.walrus = true;
                if let Expr::Name(name) = &*named.target {
                    self.store(&name.id);
                }
                self.visit_expr(&named.value);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => self.error = Some("yield".into()),
            Expr::Await(_) => self.error = Some("await".into()),
            _ => visitor::walk_expr(self, expr),
        }
    }
}

/// Statements that bind one name and stand at the top of a body.
fn plain_stores(body: &[Stmt]) -> HashMap<String, u32> {
    let mut found = HashMap::new();
    for stmt in body {
        match stmt {
            Stmt::FunctionDef(def) => {
                found.insert(def.name.to_string(), u32::from(def.end()));
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    let mut names = vec![target];
                    while let Some(t) = names.pop() {
                        match t {
                            Expr::Name(n) => {
                                found.insert(n.id.to_string(), u32::from(assign.end()));
                            }
                            Expr::Tuple(t) => names.extend(&t.elts),
                            _ => {}
                        }
                    }
                }
            }
            _ => {}
        }
    }
    found
}

struct Walk<'s, 'a> {
    s: &'s mut Scopes<'a>,
    cur: usize,
    comps: Vec<HashMap<String, usize>>,
}

impl<'a> Scopes<'a> {
    pub fn build(body: &'a [Stmt]) -> R<Scopes<'a>> {
        let mut s = Scopes::default();
        s.function(Node::Module(body), "<module>".into(), None, usize::MAX, Vec::new());
        if let Some(error) = s.error.take() {
            return Err(error);
        }
        let mut slot = 0;
        for var in &mut s.vars {
            if var.owner == 0 && var.mode != Mode::Local {
                var.mode = Mode::Global(slot);
                slot += 1;
            } else if var.mode == Mode::Cell
                && let (Some(once), Some(from)) = (var.once, var.captured_from)
                && once <= from
            {
                var.mode = Mode::Value;
            }
        }
        Ok(s)
    }

    /// Functions at the top level, and whether anything but themselves names them.
    pub fn entries(&self) -> Vec<Entry> {
        let names = self.funs[0].names.iter();
        let mut entries: Vec<Entry> = names
            .filter(|(_, var)| matches!(self.vars[**var].mode, Mode::Global(_)))
            .map(|(name, &var)| Entry { name: name.clone(), var, used: self.vars[var].used })
            .collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries
    }

    pub fn globals(&self) -> u32 {
        self.vars.iter().filter(|v| matches!(v.mode, Mode::Global(_))).count() as u32
    }

    fn var(&mut self, name: &str, owner: usize, mode: Mode, once: Option<u32>) -> usize {
        self.vars.push(Var { used: false, name: name.to_owned(), owner, mode, once, captured_from: None });
        self.vars.len() - 1
    }

    fn function(
        &mut self,
        node: Node<'a>,
        name: String,
        parameters: Option<&'a Parameters>,
        parent: usize,
        outer: Vec<HashMap<String, usize>>,
    ) -> usize {
        let id = self.funs.len();
        let mut names = Names::default();
        let (mut plain, start) = (HashMap::new(), 0);
        match node {
            Node::Module(body) => names.visit_body(body),
            Node::Def(def) => {
                names.visit_body(&def.body);
                plain = plain_stores(&def.body);
                if !def.decorator_list.is_empty() {
                    names.error = Some("decorator".into());
                }
                if def.is_async {
                    names.error = Some("async".into());
                }
            }
            Node::Lambda(lambda) => names.visit_expr(&lambda.body),
        }
        if let Some(error) = names.error.take() {
            self.error.get_or_insert(error);
        }
        self.funs.push(Fun {
            node,
            name,
            parent,
            params: Vec::new(),
            defaults: parameters.map(defaults).unwrap_or_default(),
            names: HashMap::new(),
            globals: std::mem::take(&mut names.globals),
            nonlocals: std::mem::take(&mut names.nonlocals),
            frees: Vec::new(),
            outer,
            walrus: names.walrus,
        });
        if let Some(p) = parameters {
            if p.vararg.is_some() || p.kwarg.is_some() || !p.kwonlyargs.is_empty() {
                self.error.get_or_insert("*args".into());
            }
            for p in p.posonlyargs.iter().chain(&p.args) {
                let name = p.parameter.name.as_str();
                let once = (!names.stores.contains_key(name)).then_some(start);
                let var = self.var(name, id, Mode::Local, once);
                self.funs[id].names.insert(name.to_owned(), var);
                self.funs[id].params.push(var);
            }
        }
        for name in &names.order {
            if self.funs[id].names.contains_key(name) || self.funs[id].globals.contains(name) || self.funs[id].nonlocals.contains(name) {
                continue;
            }
            let once = (names.stores[name] == 1).then(|| plain.get(name).copied()).flatten();
            let mode = if id == 0 { Mode::Global(0) } else { Mode::Local };
            let var = self.var(name, id, mode, once);
            self.funs[id].names.insert(name.clone(), var);
        }
        for name in self.funs[id].nonlocals.clone() {
            // Bound here too: never by value.
            let outer = self.funs[id].outer.clone();
            if let Some(var) = self.resolve(&name, self.funs[id].parent, &outer) {
                self.vars[var].once = None;
            }
        }
        for name in self.funs[id].globals.clone() {
            if !self.funs[0].names.contains_key(&name) {
                let var = self.var(&name, 0, Mode::Global(0), None);
                self.funs[0].names.insert(name, var);
            }
        }
        let mut walk = Walk { s: self, cur: id, comps: Vec::new() };
        match node {
            Node::Module(body) => walk.visit_body(body),
            Node::Def(def) => walk.visit_body(&def.body),
            Node::Lambda(lambda) => walk.visit_expr(&lambda.body),
        }
        id
    }

    /// The variable a name means in a function, inside these comprehensions.
    pub fn resolve(&self, name: &str, mut fun: usize, comps: &[HashMap<String, usize>]) -> Option<usize> {
        if let Some(&var) = comps.iter().rev().find_map(|c| c.get(name)) {
            return Some(var);
        }
        loop {
            let f = &self.funs[fun];
            if fun == 0 || f.globals.contains(name) {
                return self.funs[0].names.get(name).copied();
            }
            if let Some(&var) = f.names.get(name) {
                return Some(var);
            }
            if let Some(&var) = f.outer.iter().rev().find_map(|c| c.get(name)) {
                return Some(var);
            }
            fun = f.parent;
        }
    }

    fn capture(&mut self, var: usize, fun: usize) {
        let owner = self.vars[var].owner;
        if owner == fun || matches!(self.vars[var].mode, Mode::Global(_)) {
            return;
        }
        self.vars[var].mode = Mode::Cell;
        let mut f = fun;
        while f != owner {
            if !self.funs[f].frees.contains(&var) {
                self.funs[f].frees.push(var);
            }
            let start = match self.funs[f].node {
                Node::Def(def) => u32::from(def.start()),
                Node::Lambda(lambda) => u32::from(lambda.start()),
                Node::Module(_) => 0,
            };
            if self.funs[f].parent == owner {
                let from = self.vars[var].captured_from.get_or_insert(start);
                *from = (*from).min(start);
            }
            f = self.funs[f].parent;
        }
    }
}

impl<'a> Walk<'_, 'a> {
    fn nested(&mut self, node: Node<'a>, name: String, parameters: Option<&'a Parameters>, key: usize) {
        if let Some(p) = parameters {
            for d in defaults(p) {
                self.visit_expr(d);
            }
        }
        let outer = self.comps.clone();
        let id = self.s.function(node, name, parameters, self.cur, outer);
        self.s.fun_of.insert(key, id);
    }

    fn comprehension(&mut self, generators: &'a [Comprehension], elements: &[&'a Expr]) {
        self.visit_expr(&generators[0].iter);
        let mut map = HashMap::new();
        let mut targets: Vec<&Expr> = generators.iter().map(|g| &g.target).collect();
        while let Some(target) = targets.pop() {
            match target {
                Expr::Name(name) => {
                    if !map.contains_key(name.id.as_str()) {
                        let var = self.s.var(&name.id, self.cur, Mode::Local, None);
                        map.insert(name.id.to_string(), var);
                    }
                }
                Expr::Tuple(t) => targets.extend(&t.elts),
                Expr::List(t) => targets.extend(&t.elts),
                _ => {
                    self.s.error.get_or_insert("comprehension target".into());
                }
            }
        }
        self.s.comp_of.insert(generators.as_ptr() as usize, map.clone());
        self.comps.push(map);
        for (n, g) in generators.iter().enumerate() {
            if n > 0 {
                self.visit_expr(&g.iter);
            }
            g.ifs.iter().for_each(|e| self.visit_expr(e));
        }
        elements.iter().for_each(|e| self.visit_expr(e));
        self.comps.pop();
    }
}

impl<'a> Visitor<'a> for Walk<'_, 'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => {
                self.nested(Node::Def(def), def.name.to_string(), Some(&def.parameters), def as *const _ as usize)
            }
            Stmt::AnnAssign(a) => {
                self.visit_expr(&a.target);
                if let Some(v) = &a.value {
                    self.visit_expr(v);
                }
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                if let Some(var) = self.s.resolve(&name.id, self.cur, &self.comps) {
                    if matches!(name.ctx, ExprContext::Load) && self.s.funs[self.cur].name != name.id.as_str() {
                        self.s.vars[var].used = true;
                    }
                    self.s.capture(var, self.cur);
                }
            }
            Expr::Lambda(lambda) => self.nested(
                Node::Lambda(lambda),
                "<lambda>".into(),
                lambda.parameters.as_deref(),
                lambda as *const _ as usize,
            ),
            Expr::ListComp(c) => self.comprehension(&c.generators, &[&c.elt]),
            Expr::SetComp(c) => self.comprehension(&c.generators, &[&c.elt]),
            Expr::Generator(c) => self.comprehension(&c.generators, &[&c.elt]),
            Expr::DictComp(c) => match &c.key {
                Some(key) => self.comprehension(&c.generators, &[key, &c.value]),
                None => {
                    self.s.error.get_or_insert("** in comprehension".into());
                }
            },
            _ => visitor::walk_expr(self, expr),
        }
    }
}
