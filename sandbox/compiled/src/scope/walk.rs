//! Visits a function, resolves its names, and continues with its inner functions.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Comprehension, Expr, ExprContext, Parameters, Stmt};
use ruff_text_size::Ranged;

use super::{Mode, Node, Scopes, defaults};

/// Position of a walk.
pub(super) struct Walk {
    pub(super) current: usize,
    pub(super) comprehensions: Vec<BTreeMap<String, usize>>,
}

impl Walk {
    /// Outside the module.
    pub(super) fn outermost() -> Walk {
        Walk { current: usize::MAX, comprehensions: Vec::new() }
    }

    pub(super) fn through<'a>(scopes: &mut Scopes<'a>, node: Node<'a>, id: usize) {
        let mut walker = Walker { scopes, walk: Walk { current: id, comprehensions: Vec::new() } };
        match node {
            Node::Module(body) => walker.visit_body(body),
            Node::Def(def) => walker.visit_body(&def.body),
            Node::Lambda(lambda) => walker.visit_expr(&lambda.body),
        }
    }
}

struct Walker<'s, 'a> {
    scopes: &'s mut Scopes<'a>,
    walk: Walk,
}

impl<'a> Walker<'_, 'a> {
    fn nested(&mut self, node: Node<'a>, name: &str, parameters: Option<&'a Parameters>, key: usize) {
        parameters.map(defaults).unwrap_or_default().into_iter().for_each(|default| self.visit_expr(default));
        let id = self.scopes.function(node, name, parameters, &self.walk);
        self.scopes.function_of.insert(key, id);
    }

    /// Whether the walk is inside a function of this name.
    fn is_inside(&self, name: &str) -> bool {
        let mut id = self.walk.current;
        while id != 0 && self.scopes.functions[id].name != name {
            id = self.scopes.functions[id].parent;
        }
        id != 0
    }

    fn comprehension(&mut self, generators: &'a [Comprehension], elements: &[&'a Expr]) {
        self.visit_expr(&generators[0].iter);
        let mut names = BTreeMap::new();
        for generator in generators {
            self.bind(&generator.target, &mut names);
        }
        self.scopes.comprehension_of.insert(generators.as_ptr() as usize, names.clone());
        self.walk.comprehensions.push(names);
        for (index, generator) in generators.iter().enumerate() {
            if index > 0 {
                self.visit_expr(&generator.iter);
            }
            generator.ifs.iter().for_each(|condition| self.visit_expr(condition));
        }
        elements.iter().for_each(|element| self.visit_expr(element));
        self.walk.comprehensions.pop();
    }

    /// Makes variables for the names that a comprehension binds.
    fn bind(&mut self, target: &'a Expr, names: &mut BTreeMap<String, usize>) {
        match target {
            Expr::Name(name) => {
                if !names.contains_key(name.id.as_str()) {
                    let variable = self.scopes.variable(&name.id, self.walk.current, Mode::Local, None);
                    names.insert(name.id.to_string(), variable);
                }
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.bind(element, names)),
            Expr::List(list) => list.elts.iter().for_each(|element| self.bind(element, names)),
            _ => self.scopes.refuse("a target of a comprehension", target.start()),
        }
    }
}

impl<'a> Visitor<'a> for Walker<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                self.nested(Node::Def(def), &def.name, Some(&def.parameters), def as *const _ as usize);
            }
            // Annotations are never evaluated.
            Stmt::AnnAssign(assignment) => {
                self.visit_expr(&assignment.target);
                assignment.value.iter().for_each(|value| self.visit_expr(value));
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => {
                if let Some(variable) = self.scopes.resolve(&name.id, self.walk.current, &self.walk.comprehensions) {
                    let is_read = matches!(name.ctx, ExprContext::Load);
                    if is_read && !self.is_inside(&name.id) {
                        self.scopes.variables[variable].used = true;
                    }
                    self.scopes.capture(variable, self.walk.current);
                }
            }
            Expr::Lambda(lambda) => {
                let key = lambda as *const _ as usize;
                self.nested(Node::Lambda(lambda), "<lambda>", lambda.parameters.as_deref(), key);
            }
            Expr::ListComp(list) => self.comprehension(&list.generators, &[&list.elt]),
            Expr::SetComp(set) => self.comprehension(&set.generators, &[&set.elt]),
            Expr::Generator(generator) => self.comprehension(&generator.generators, &[&generator.elt]),
            Expr::DictComp(dict) => match &dict.key {
                Some(key) => self.comprehension(&dict.generators, &[key, &dict.value]),
                None => self.scopes.refuse("`**` in a comprehension", dict.start()),
            },
            _ => visitor::walk_expr(self, expression),
        }
    }
}
