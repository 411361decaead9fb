//! Converts asserts to tests: `assert f(1, 2) == 3` is a function, literal arguments and a literal answer.

use ruff_python_ast::{BoolOp, CmpOp, Expr, ExprCall, Operator, Stmt, StmtAssert, UnaryOp};
use ruff_text_size::Ranged;

use crate::value::Value;

/// Characters of an assert that are shown in a reason.
const SHOWN_MAX: usize = 60;

/// The tests of several asserts.
#[derive(Default)]
pub(super) struct Reduced {
    /// The function, as the asserts call it.
    pub called: String,
    /// Arguments and answer of each assert.
    pub tests: Vec<(Value, Value)>,
    /// Largest tolerance of the asserts.
    pub tolerance: f64,
}

/// Converts these statements, if all of them are asserts about one of the functions `names`.
pub(super) fn reduce(statements: &[Stmt], source: &str, names: &[&str]) -> Result<Reduced, String> {
    let mut reader = Reader { source, names, reduced: Reduced::default() };
    for statement in statements {
        match statement {
            Stmt::Assert(assert) => reader.assert(assert)?,
            // Comments in strings are skipped.
            Stmt::Pass(_) => {}
            Stmt::Expr(inner) if inner.value.is_string_literal_expr() => {}
            other => return Err(format!("tests by more than asserts: {}", shown(source, other))),
        }
    }
    match reader.reduced.tests.is_empty() {
        true => Err("asserts nothing about a function".into()),
        false => Ok(reader.reduced),
    }
}

struct Reader<'a> {
    source: &'a str,
    names: &'a [&'a str],
    reduced: Reduced,
}

impl Reader<'_> {
    fn assert(&mut self, assert: &StmtAssert) -> Result<(), String> {
        // Some data sets put `assert True, "..."` between the others.
        let empty = matches!(assert.test.as_ref(), Expr::BooleanLiteral(literal) if literal.value);
        if empty || self.claim(&assert.test).is_some() {
            return Ok(());
        }
        Err(format!("is no call with literals compared with a literal: {}", shown(self.source, assert)))
    }

    /// Converts a claim about one call, or several claims joined by `and`.
    fn claim(&mut self, claim: &Expr) -> Option<()> {
        match claim {
            Expr::BoolOp(joined) if joined.op == BoolOp::And => {
                joined.values.iter().try_for_each(|one| self.claim(one))
            }
            Expr::UnaryOp(negated) if negated.op == UnaryOp::Not => self.test(&negated.operand, Value::Bool(false)),
            Expr::Call(call) if self.written(&call.func) == "math.isclose" => self.close(call),
            Expr::Call(_) => self.test(claim, Value::Bool(true)),
            Expr::Compare(compare) => {
                let ([operator], [right]) = (compare.ops.as_ref(), compare.comparators.as_ref()) else { return None };
                match operator {
                    CmpOp::Eq | CmpOp::Is => {
                        let (call, answer) =
                            if self.is_ours(right) { (right, &*compare.left) } else { (&*compare.left, right) };
                        let answer = self.literal(answer)?;
                        self.test(call, answer)
                    }
                    CmpOp::Lt | CmpOp::LtE => self.near(&compare.left, right),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Converts `abs(f(..) - answer) < tolerance`.
    fn near(&mut self, distance: &Expr, tolerance: &Expr) -> Option<()> {
        let Expr::Call(call) = distance else { return None };
        let ("abs", [Expr::BinOp(difference)]) = (self.written(&call.func), call.arguments.args.as_ref()) else {
            return None;
        };
        let (left, right) = (&*difference.left, &*difference.right);
        let (call, answer) = if self.is_ours(right) { (right, left) } else { (left, right) };
        let (answer, tolerance) = (self.literal(answer)?, float(&self.literal(tolerance)?)?);
        if difference.op != Operator::Sub {
            return None;
        }
        self.test(call, answer)?;
        self.reduced.tolerance = self.reduced.tolerance.max(tolerance);
        Some(())
    }

    /// Converts `math.isclose(f(..), answer, rel_tol=.., abs_tol=..)`.
    fn close(&mut self, call: &ExprCall) -> Option<()> {
        let [answer, expected] = call.arguments.args.as_ref() else { return None };
        let mut tolerance: f64 = 1e-9;
        for keyword in &call.arguments.keywords {
            tolerance = tolerance.max(float(&self.literal(&keyword.value)?)?);
        }
        let expected = self.literal(expected)?;
        self.test(answer, expected)?;
        self.reduced.tolerance = self.reduced.tolerance.max(tolerance);
        Some(())
    }

    /// Converts a call of the tested function with literal arguments.
    fn test(&mut self, call: &Expr, answer: Value) -> Option<()> {
        let Expr::Call(call) = call else { return None };
        let name = self.written(&call.func);
        let known = self.names.contains(&name) && [name, ""].contains(&self.reduced.called.as_str());
        if !known || !call.arguments.keywords.is_empty() {
            return None;
        }
        let arguments = call.arguments.args.iter().map(|argument| self.literal(argument));
        let arguments = Value::Tuple(arguments.collect::<Option<_>>()?);
        self.reduced.called = self.written(&call.func).to_owned();
        self.reduced.tests.push((arguments, answer));
        Some(())
    }

    fn is_ours(&self, expression: &Expr) -> bool {
        matches!(expression, Expr::Call(call) if self.names.contains(&self.written(&call.func)))
    }

    fn literal(&self, expression: &Expr) -> Option<Value> {
        Value::from_expression(expression, self.source).ok()
    }

    fn written(&self, expression: &Expr) -> &str {
        &self.source[expression.range().to_std_range()]
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(int.to_f64()),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}

/// The beginning of a piece of the source, on one line.
pub(super) fn shown(source: &str, piece: &impl Ranged) -> String {
    let text = source[piece.range().to_std_range()].split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("`{}...`", &text[..at]),
        None => format!("`{text}`"),
    }
}
