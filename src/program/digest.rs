//! What a program says, as a digest: its syntax tree, without what the interpreter never sees.

use std::hash::{Hash, Hasher};

use ruff_python_ast::comparable::ComparableModModule;
use ruff_python_ast::visitor::transformer::{Transformer, walk_stmt};
use ruff_python_ast::{Expr, Stmt};

use super::extract;

/// Stack that one level of a syntax tree may need while it is compared, generously. A level is at least one character.
const LEVEL_BYTES: usize = 2048;
/// Stack for a tree of no depth.
const BASE_BYTES: usize = 128 << 10;

/// Digest of the syntax tree: layout, comments, docstrings, quotes and redundant parentheses do not count.
///
/// Equal in one build of this program; another version of the parser may name the same tree otherwise.
pub(super) fn of_syntax(source: &str) -> [u8; 32] {
    // Trees are walked by recursion, as deep as the source is long: `----1` is four levels.
    let stack = BASE_BYTES + source.len() * LEVEL_BYTES;
    stacker::maybe_grow(stack, stack, || {
        let mut module = extract::parse(source).into_syntax();
        module.body.iter_mut().for_each(|statement| WithoutDocstrings.visit_stmt(statement));
        let mut digest = Digest(blake3::Hasher::new_derive_key("grpo-2048 program v2"));
        ComparableModModule::from(&module).hash(&mut digest);
        *digest.0.finalize().as_bytes()
    })
}

/// Takes strings that stand alone out of functions, unless nothing else is there.
struct WithoutDocstrings;

impl Transformer for WithoutDocstrings {
    fn visit_stmt(&self, statement: &mut Stmt) {
        if let Stmt::FunctionDef(function) = statement
            && !function.body.iter().all(is_string)
        {
            function.body.retain(|statement| !is_string(statement));
        }
        walk_stmt(self, statement);
    }

    // Lambdas hold no statements.
    fn visit_expr(&self, _: &mut Expr) {}
}

fn is_string(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(expression) if matches!(*expression.value, Expr::StringLiteral(_)))
}

/// Hashes what is `Hash` into a digest that does not depend on the process.
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
