//! Converts asserts to tests: `assert f(1, 2) == 3` is a function, literal arguments and a literal answer.

use ruff_python_ast::{Arguments, BoolOp, CmpOp, Expr, ExprCall, Operator, Stmt, StmtAssert, UnaryOp};
use ruff_text_size::Ranged;

use crate::value::Value;
use grpo_base::plural::cut;

/// Characters of an assert that are shown in a reason.
const SHOWN_MAX: usize = 60;

/// Largest relative tolerance that is taken: Python measures it by the larger of two numbers, a task by the expected one.
const RELATIVE_MAX: f64 = 1e-3;

/// Imports for asserts of literals: nothing else is named in them but the function and what Python has of itself.
pub(super) const NAMES: &str = "import math\nfrom math import inf, nan";

/// Why a row is refused whose calls name arguments that have no known places.
pub(super) const KEYWORDS: &str = "tests that call the function with keywords";

/// A function that asserts may call.
pub(super) struct Callee {
    /// Its name in the asserts.
    pub name: String,
    /// Its parameters in their order, by which named arguments find their places; none where nobody knows them.
    pub parameters: Vec<String>,
}

impl Callee {
    /// The arguments of a call in their places, if each has one and no place before it is empty.
    fn placed<'c>(&self, arguments: &'c Arguments) -> Option<Vec<&'c Expr>> {
        let named = |parameter: &String| {
            let mut keywords = arguments.keywords.iter();
            keywords.find(|keyword| keyword.arg.as_ref().is_some_and(|name| name.as_str() == parameter))
        };
        let keywords = self.parameters.iter().skip(arguments.args.len()).map_while(named);
        let placed: Vec<&Expr> = arguments.args.iter().chain(keywords.map(|keyword| &keyword.value)).collect();
        (placed.len() == arguments.len()).then_some(placed)
    }
}

/// How claims are read that Python judges by truth or identity, as `assert f(1)`, `assert not f(1)` and `assert f(1) is True`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Truths {
    /// As what no test says: tests compare by `==`, by which a list with items is not True, and 1 is.
    AsPython,
    /// As if they said `== True` and `== False`.
    AsEqual,
}

/// The tests of several asserts.
#[derive(Default)]
pub(super) struct Reduced {
    /// The function, as the asserts call it.
    pub called: String,
    /// Arguments, in a tuple, and answer of each assert.
    pub tests: Vec<(Value, Value)>,
    /// The tolerance by which tests say what the asserts say; none where no single one does.
    pub tolerance: Option<f64>,
}

/// Converts these statements, if all of them are asserts about one of the functions `callees`.
pub(super) fn reduce(statements: &[Stmt], source: &str, callees: &[Callee], truths: Truths) -> Result<Reduced, String> {
    let mut reader = Reader { source, callees, truths, has_keywords: false, reduced: Reduced::default() };
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
    callees: &'a [Callee],
    truths: Truths,
    /// Whether a call names arguments that have no known places.
    has_keywords: bool,
    reduced: Reduced,
}

impl Reader<'_> {
    fn assert(&mut self, assert: &StmtAssert) -> Result<(), String> {
        // Some data sets put `assert True, "..."` between the others.
        let empty = matches!(assert.test.as_ref(), Expr::BooleanLiteral(literal) if literal.value);
        if empty || self.claim(&assert.test).is_some() {
            return Ok(());
        }
        if self.has_keywords {
            return Err(KEYWORDS.into());
        }
        Err(format!("is no call with literals compared with a literal: {}", shown(self.source, assert)))
    }

    /// Converts a claim about one call, or several claims joined by `and`.
    fn claim(&mut self, claim: &Expr) -> Option<()> {
        match claim {
            Expr::BoolOp(joined) if joined.op == BoolOp::And => {
                joined.values.iter().try_for_each(|one| self.claim(one))
            }
            Expr::UnaryOp(negated) if negated.op == UnaryOp::Not => self.truth(&negated.operand, Value::Bool(false)),
            Expr::Call(call) if self.written(&call.func) == "math.isclose" => self.close(call),
            Expr::Call(_) => self.truth(claim, Value::Bool(true)),
            Expr::Compare(compare) => {
                let ([operator], [right]) = (compare.ops.as_ref(), compare.comparators.as_ref()) else { return None };
                match operator {
                    CmpOp::Eq | CmpOp::Is => {
                        let (call, answer) =
                            if self.is_ours(right) { (right, &*compare.left) } else { (&*compare.left, right) };
                        let answer = self.literal(answer)?;
                        // What equals None is None.
                        let is_equality = *operator == CmpOp::Eq || matches!(answer, Value::None);
                        if is_equality { self.test(call, answer, Some(0.0)) } else { self.truth(call, answer) }
                    }
                    CmpOp::Lt | CmpOp::LtE => self.near(&compare.left, right),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Converts a claim of truth or identity, if it is read as one of equality.
    fn truth(&mut self, call: &Expr, answer: Value) -> Option<()> {
        match self.truths {
            Truths::AsPython => None,
            Truths::AsEqual => self.test(call, answer, Some(0.0)),
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
        let (answer, absolute) = (self.literal(answer)?, self.literal(tolerance)?.real()?);
        if difference.op != Operator::Sub || absolute <= 0.0 {
            return None;
        }
        let tolerance = tolerance_of(&answer, 0.0, absolute);
        self.test(call, answer, tolerance)
    }

    /// Converts `math.isclose(f(..), answer, rel_tol=.., abs_tol=..)`.
    fn close(&mut self, call: &ExprCall) -> Option<()> {
        let [answer, expected] = call.arguments.args.as_ref() else { return None };
        // Those of Python where none is named.
        let (mut relative, mut absolute) = (1e-9, 0.0);
        for keyword in &call.arguments.keywords {
            let value = self.literal(&keyword.value)?.real()?;
            match keyword.arg.as_ref()?.as_str() {
                "rel_tol" => relative = value,
                "abs_tol" => absolute = value,
                _ => return None,
            }
        }
        let expected = self.literal(expected)?;
        let tolerance = tolerance_of(&expected, relative, absolute);
        self.test(answer, expected, tolerance)
    }

    /// Converts a call of the tested function with literal arguments. `tolerance`: what a task has to set for this answer.
    fn test(&mut self, call: &Expr, answer: Value, tolerance: Option<f64>) -> Option<()> {
        let Expr::Call(call) = call else { return None };
        let name = self.written(&call.func);
        let callee = self.callee(name).filter(|_| [name, ""].contains(&self.reduced.called.as_str()))?;
        let Some(placed) = callee.placed(&call.arguments) else {
            self.has_keywords = true;
            return None;
        };
        let arguments = placed.into_iter().map(|argument| self.literal(argument));
        let arguments = Value::Tuple(arguments.collect::<Option<_>>()?);
        self.reduced.called = self.written(&call.func).to_owned();
        // A task has one tolerance, for all of its tests.
        let is_same = self.reduced.tests.is_empty() || self.reduced.tolerance == tolerance;
        self.reduced.tolerance = tolerance.filter(|_| is_same);
        self.reduced.tests.push((arguments, answer));
        Some(())
    }

    fn is_ours(&self, expression: &Expr) -> bool {
        matches!(expression, Expr::Call(call) if self.callee(self.written(&call.func)).is_some())
    }

    /// The function of this name, the last one that there is.
    fn callee(&self, name: &str) -> Option<&Callee> {
        self.callees.iter().rev().find(|callee| callee.name == name)
    }

    fn literal(&self, expression: &Expr) -> Option<Value> {
        Value::from_expression(expression, self.source).ok()
    }

    fn written(&self, expression: &Expr) -> &str {
        &self.source[expression.range().to_std_range()]
    }
}

/// The tolerance of a task that takes the answers which are as near to the expected number as an assert wants them; none where there
/// is no such tolerance, which counts in units of max(1, |expected|) and, between two integers, not at all.
fn tolerance_of(expected: &Value, relative: f64, absolute: f64) -> Option<f64> {
    let size = expected.real()?.abs();
    let tolerance = match absolute <= relative {
        true if size >= 1.0 => relative,
        false if size <= 1.0 => absolute,
        _ => return None,
    };
    let takes_other_ints = matches!(expected, Value::Int(_)) && tolerance * size >= 1.0;
    let is_tolerance = relative <= RELATIVE_MAX && (0.0..1.0).contains(&tolerance) && size.is_finite();
    (is_tolerance && !takes_other_ints).then_some(tolerance)
}

/// The beginning of a piece of the source, on one line.
pub(super) fn shown(source: &str, piece: &impl Ranged) -> String {
    let text = source[piece.range().to_std_range()].split_whitespace().collect::<Vec<_>>().join(" ");
    format!("`{}`", cut(&text, SHOWN_MAX))
}
