//! Whether evaluating an expression can change a list that something is going through.
//!
//! This decides alone whether `zip(*rows)` may go through all rows at once. It moves no operand: those are evaluated in
//! the order of the text, whatever they are.

use ruff_python_ast::{Comprehension, Expr, Keyword};

use super::Emitter;
use super::pull::Calm;

/// Builtins and methods that change nothing, given what changes nothing.
const PURE_BUILTINS: [&str; 11] = ["list", "tuple", "sum", "max", "min", "len", "abs", "zip", "range", "sorted", "set"];
const PURE_METHODS: [&str; 3] = ["count", "index", "bit_length"];

impl<'a> Emitter<'a> {
    pub(super) fn is_pure(&self, expression: &'a Expr) -> bool {
        let all = |expressions: &'a [Expr]| expressions.iter().all(|one| self.is_pure(one));
        match expression {
            Expr::Name(_)
            | Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_) => true,
            Expr::BinOp(binary) => self.is_pure(&binary.left) && self.is_pure(&binary.right),
            Expr::UnaryOp(unary) => self.is_pure(&unary.operand),
            Expr::Compare(comparison) => self.is_pure(&comparison.left) && all(&comparison.comparators),
            Expr::Subscript(subscript) => self.is_pure(&subscript.value) && self.is_pure(&subscript.slice),
            Expr::Slice(slice) => {
                [&slice.lower, &slice.upper, &slice.step].into_iter().flatten().all(|bound| self.is_pure(bound))
            }
            Expr::Tuple(tuple) => all(&tuple.elts),
            Expr::List(list) => all(&list.elts),
            Expr::If(choice) => {
                self.is_pure(&choice.test) && self.is_pure(&choice.body) && self.is_pure(&choice.orelse)
            }
            Expr::BoolOp(operation) => all(&operation.values),
            Expr::Lambda(lambda) => {
                let parameters = lambda.parameters.iter().flat_map(|parameters| parameters.iter_non_variadic_params());
                parameters.filter_map(|parameter| parameter.default()).all(|default| self.is_pure(default))
            }
            Expr::Generator(inner) => self.is_pure(&inner.elt) && self.are_pure(&inner.generators),
            Expr::ListComp(inner) => self.is_pure(&inner.elt) && self.are_pure(&inner.generators),
            Expr::Call(call) => {
                let is_known = match &*call.func {
                    Expr::Name(name) => PURE_BUILTINS.contains(&name.id.as_str()) && self.is_builtin(&name.id),
                    Expr::Attribute(method) => {
                        PURE_METHODS.contains(&method.attr.as_str()) && self.is_pure(&method.value)
                    }
                    _ => false,
                };
                is_known && call.arguments.keywords.is_empty() && all(&call.arguments.args)
            }
            _ => false,
        }
    }

    fn are_pure(&self, generators: &'a [Comprehension]) -> bool {
        generators.iter().all(|one| self.is_pure(&one.iter) && one.ifs.iter().all(|condition| self.is_pure(condition)))
    }

    /// Whether lists stay as they are while a comprehension or generator runs.
    pub(super) fn calm_inside(&self, element: &'a Expr, generators: &'a [Comprehension]) -> Calm {
        if self.is_pure(element) && self.are_pure(generators) { Calm::Yes } else { Calm::No }
    }

    /// Whether lists stay as they are while keywords are evaluated.
    pub(super) fn calm_beside(&self, keywords: &'a [Keyword]) -> Calm {
        if keywords.iter().all(|keyword| self.is_pure(&keyword.value)) { Calm::Yes } else { Calm::No }
    }
}
