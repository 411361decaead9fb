//! Which variables a place in a generated program knows.

use crate::grammar::Kind;

#[derive(Debug, Clone)]
pub struct Variable {
    pub name: String,
    pub kind: Kind,
    /// How the function of its frame may bind it.
    pub binding: Binding,
    /// For functions: how many loops and calls deep a call may go.
    pub cost: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// Not at all: a parameter of a comprehension, the count of a loop.
    Fixed,
    /// As its own; functions inside may reach it by `nonlocal`.
    Own,
    /// By `global`.
    Global,
}

struct Frame {
    variables: Vec<Variable>,
    /// The body of a function begins here, or the module.
    function: bool,
}

pub struct Scope {
    frames: Vec<Frame>,
}

impl Scope {
    /// A module with nothing in it.
    pub fn new() -> Scope {
        Scope { frames: vec![Frame { variables: Vec::new(), function: true }] }
    }

    pub fn enter(&mut self, variables: Vec<Variable>, function: bool) {
        self.frames.push(Frame { variables, function });
    }

    pub fn leave(&mut self) {
        self.frames.pop();
    }

    pub fn declare(&mut self, variable: Variable) {
        self.frames.last_mut().unwrap().variables.push(variable);
    }

    /// Whether no function has been entered.
    pub fn is_module(&self) -> bool {
        self.frames.iter().filter(|frame| frame.function).count() == 1
    }

    /// Every variable, the innermost first; the hidden ones left out.
    fn visible(&self) -> Vec<(&Variable, usize)> {
        let mut found: Vec<(&Variable, usize)> = Vec::new();
        for (depth, frame) in self.frames.iter().enumerate().rev() {
            for variable in frame.variables.iter().rev() {
                if found.iter().all(|(known, _)| known.name != variable.name) {
                    found.push((variable, depth));
                }
            }
        }
        found
    }

    pub fn of(&self, kind: Kind, cost_max: u32) -> Vec<Variable> {
        let fit = |variable: &&Variable| variable.kind == kind && variable.cost <= cost_max;
        self.visible().into_iter().map(|(variable, _)| variable).filter(fit).cloned().collect()
    }

    /// Names that something inside may hide: no functions, or nothing would be left to call.
    pub fn hideable(&self) -> Vec<String> {
        self.visible().into_iter().filter(|(v, _)| !v.kind.ends_with("fn")).map(|(v, _)| v.name.clone()).collect()
    }

    /// Where the body of the function at hand begins.
    fn function(&self) -> usize {
        self.frames.iter().rposition(|frame| frame.function).unwrap()
    }

    /// What the function at hand may bind.
    pub fn bindable(&self, kind: Kind) -> Vec<Variable> {
        let from = self.function();
        let fit = |&(v, depth): &(&Variable, usize)| depth >= from && v.kind == kind && v.binding != Binding::Fixed;
        self.visible().into_iter().filter(fit).map(|(variable, _)| variable.clone()).collect()
    }

    /// What a function that begins here may declare `nonlocal`, or `global`.
    pub fn outer(&self, kind: Kind, binding: Binding) -> Vec<Variable> {
        let fit = |&(variable, depth): &(&Variable, usize)| {
            let module = depth == 0;
            let found = if module { Binding::Global } else { variable.binding };
            variable.kind == kind && variable.binding != Binding::Fixed && found == binding
        };
        self.visible().into_iter().filter(fit).map(|(variable, _)| variable.clone()).collect()
    }
}
