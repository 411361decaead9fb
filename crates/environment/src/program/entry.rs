//! What a program must define.

use std::fmt;

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef, UnaryOp};

/// What is searched for in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A function at top level.
    Function {
        name: String,
        /// Names of the arguments. A function with more parameters is accepted too, because the others may have
        /// defaults.
        parameters: Vec<String>,
    },
    /// A class at top level.
    Class { name: String },
    /// A function without parameters that does nothing but return a literal. The rest of the text does not count, so that
    /// nothing is computed.
    Literal { name: String },
    /// A whole program, which reads its input and prints its output.
    Script,
    /// One without input.
    InputlessScript,
    /// A whole program whose functions somebody else calls.
    Module,
}

impl Entry {
    /// Parses a signature such as `strategy(board)`; `None` if it is not one.
    pub fn function(signature: &str) -> Option<Entry> {
        let (name, rest) = signature.trim().split_once('(')?;
        let inside = rest.strip_suffix(')')?;
        let parameters: Vec<String> = match inside.trim() {
            "" => Vec::new(),
            names => names.split(',').map(|name| name.trim().to_owned()).collect(),
        };
        let name = name.trim().to_owned();
        let well_formed = is_identifier(&name) && parameters.iter().all(|parameter| is_identifier(parameter));
        well_formed.then_some(Entry::Function { name, parameters })
    }

    /// Keyword and name of the line that defines it; `None` for a whole program.
    pub(super) fn definition(&self) -> Option<(&'static str, &str)> {
        match self {
            Entry::Function { name, .. } | Entry::Literal { name } => Some(("def", name)),
            Entry::Class { name } => Some(("class", name)),
            Entry::Script | Entry::InputlessScript | Entry::Module => None,
        }
    }

    /// The beginning of the program, which the prompt may contain.
    pub fn opening(&self) -> String {
        match self {
            Entry::Function { name, parameters } => format!("def {name}({}):", parameters.join(", ")),
            Entry::Literal { name } => format!("def {name}():"),
            Entry::Class { name } => format!("class {name}:"),
            Entry::Script | Entry::InputlessScript | Entry::Module => String::new(),
        }
    }

    /// Whether this statement is the definition.
    pub(super) fn is_defined_by(&self, statement: &Stmt) -> bool {
        match (self, statement) {
            (Entry::Function { name, parameters }, Stmt::FunctionDef(function)) => {
                function.name.as_str() == name && !function.is_async && takes(function, parameters.len())
            }
            (Entry::Literal { name }, Stmt::FunctionDef(function)) => {
                function.name.as_str() == name && returns_a_literal(function)
            }
            (Entry::Literal { .. }, _) => false,
            (Entry::Class { name }, Stmt::ClassDef(class)) => class.name.as_str() == name,
            (Entry::Function { name, .. } | Entry::Class { name }, other) => bound_by(other).contains(&name.as_str()),
            (Entry::Script | Entry::InputlessScript | Entry::Module, _) => true,
        }
    }

    /// Whether statements show an answer or its use rather than be one: they define it by nothing but imports from modules, bodies
    /// without content, and values that nobody can call.
    pub(super) fn is_only_shown_by(&self, body: &[Stmt]) -> bool {
        let Some((_, name)) = self.definition() else { return false };
        let is_own = |one: &Stmt| matches!(one, Stmt::FunctionDef(function) if function.name.as_str() == name);
        let makes_it = body.iter().any(is_own);
        let is_value = |value: &Expr| is_no_function(value, (!makes_it).then_some(name));
        body.iter().filter(|one| self.is_defined_by(one)).all(|one| match one {
            Stmt::ImportFrom(_) => true,
            Stmt::FunctionDef(function) => function.decorator_list.is_empty() && is_stub(&function.body),
            Stmt::ClassDef(class) => {
                let is_bare = class.arguments.is_none() && class.decorator_list.is_empty();
                is_bare && is_template(&class.body) && !body.iter().any(|one| sets_attribute(one, name))
            }
            Stmt::Assign(assigned) => is_value(&assigned.value),
            Stmt::AnnAssign(assigned) => assigned.value.as_deref().is_some_and(is_value),
            _ => false,
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Function { name, parameters } => write!(f, "top-level `def {name}({})`", parameters.join(", ")),
            Entry::Literal { name } => write!(f, "top-level `def {name}()` that returns a literal"),
            Entry::Class { name } => write!(f, "top-level `class {name}`"),
            Entry::Script | Entry::InputlessScript | Entry::Module => f.write_str("Python program"),
        }
    }
}

/// The names that a plain assignment or an import binds: `double = lambda x: 2 * x`, `from math import gcd as common`.
pub(crate) fn bound_by(statement: &Stmt) -> Vec<&str> {
    fn named(target: &Expr) -> Option<&str> {
        Some(target.as_name_expr()?.id.as_str())
    }
    match statement {
        Stmt::Assign(assigned) => assigned.targets.iter().filter_map(named).collect(),
        Stmt::AnnAssign(assigned) if assigned.value.is_some() => named(&assigned.target).into_iter().collect(),
        Stmt::ImportFrom(import) => {
            import.names.iter().map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str()).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a line at top level may define the name in one of these ways, or by its `keyword`. It tells where to search a text that
/// does not parse, and knows no definition that another line begins.
pub(super) fn may_define(line: &str, keyword: &str, name: &str) -> bool {
    let defines =
        |rest: &str| rest.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', ' ', '[', ':']));
    if line.starts_with("from ") {
        return line.rsplit([' ', ',', '(', ')']).any(|word| word.trim_end() == name);
    }
    let assigns = |rest: &str| rest.trim_start().starts_with(['=', ':']) && !rest.trim_start().starts_with("==");
    line.strip_prefix(keyword).is_some_and(defines) || line.strip_prefix(name).is_some_and(assigns)
}

/// Whether the function can take so many positional arguments.
fn takes(function: &StmtFunctionDef, arguments: usize) -> bool {
    let parameters = &function.parameters;
    parameters.posonlyargs.len() + parameters.args.len() >= arguments || parameters.vararg.is_some()
}

/// Whether the function takes nothing and its body, but for a docstring, is the `return` of a literal.
fn returns_a_literal(function: &StmtFunctionDef) -> bool {
    let body = match function.body.as_slice() {
        [Stmt::Expr(words), rest @ ..] if words.value.is_string_literal_expr() => rest,
        body => body,
    };
    let [Stmt::Return(returned)] = body else { return false };
    let plain = !function.is_async && function.decorator_list.is_empty() && function.parameters.is_empty();
    plain && returned.value.as_deref().is_some_and(is_literal)
}

/// Whether a statement gives an attribute to what has this name, as `Solution.add = add` and `setattr(Solution, "add", add)` do.
fn sets_attribute(statement: &Stmt, name: &str) -> bool {
    let is_it = |of: &Expr| of.as_name_expr().is_some_and(|of| of.id == *name);
    match statement {
        Stmt::Assign(assigned) => {
            assigned.targets.iter().any(|target| target.as_attribute_expr().is_some_and(|target| is_it(&target.value)))
        }
        Stmt::Expr(one) => one.value.as_call_expr().is_some_and(|call| call.arguments.args.first().is_some_and(is_it)),
        _ => false,
    }
}

/// Whether a body has nothing but documentation, `...`, `pass` and the exception of what is not implemented.
fn is_stub(body: &[Stmt]) -> bool {
    let is_of_stubs = |raised: &Expr| {
        let class = raised.as_call_expr().map_or(raised, |call| &call.func);
        class.as_name_expr().is_some_and(|name| name.id == *"NotImplementedError")
    };
    body.iter().all(|one| match one {
        Stmt::Pass(_) => true,
        Stmt::Expr(words) => words.value.is_string_literal_expr() || words.value.is_ellipsis_literal_expr(),
        Stmt::Raise(one) => one.exc.as_deref().is_some_and(is_of_stubs),
        _ => false,
    })
}

/// The same of a class, whose methods may be so.
fn is_template(body: &[Stmt]) -> bool {
    body.iter().all(|one| match one {
        Stmt::FunctionDef(method) => method.decorator_list.is_empty() && is_stub(&method.body),
        other => is_stub(std::slice::from_ref(other)),
    })
}

/// Of Python, what gives nothing that can be called.
const MAKES_NO_FUNCTION: [&str; 16] = [
    "abs", "bool", "dict", "float", "input", "int", "len", "list", "range", "round", "set", "sorted", "str", "sum",
    "tuple", "zip",
];

/// Whether a value is none that can be called: a variable of an example has the name of the function, as `count = 0`, or holds what
/// the function of this name gave, as `count = count("aei")`.
fn is_no_function(value: &Expr, name: Option<&str>) -> bool {
    match value {
        Expr::Call(call) => call
            .func
            .as_name_expr()
            .is_some_and(|called| Some(called.id.as_str()) == name || MAKES_NO_FUNCTION.contains(&called.id.as_str())),
        Expr::BinOp(both) => is_no_function(&both.left, name) && is_no_function(&both.right, name),
        Expr::UnaryOp(one) => is_no_function(&one.operand, name),
        Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) | Expr::Dict(_) | Expr::FString(_) => true,
        Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => true,
        Expr::Compare(_) => true,
        other => other.is_literal_expr(),
    }
}

fn is_literal(expression: &Expr) -> bool {
    match expression {
        Expr::List(list) => list.elts.iter().all(is_literal),
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_literal),
        Expr::Set(set) => set.elts.iter().all(is_literal),
        Expr::Dict(dict) => {
            dict.items.iter().all(|item| item.key.as_ref().is_some_and(is_literal) && is_literal(&item.value))
        }
        Expr::UnaryOp(signed) => {
            matches!(signed.op, UnaryOp::USub | UnaryOp::UAdd) && signed.operand.is_number_literal_expr()
        }
        // The empty set has no literal of its own.
        Expr::Call(call) => {
            let is_set = matches!(call.func.as_ref(), Expr::Name(name) if name.id == *"set");
            is_set && call.arguments.is_empty()
        }
        other => other.is_literal_expr(),
    }
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_a_name_and_names_in_brackets() {
        let entry = Entry::function("add(a, b)").unwrap();
        assert_eq!(entry.opening(), "def add(a, b):");
        assert_eq!(entry.to_string(), "top-level `def add(a, b)`");
        assert_eq!(Entry::function("now()").unwrap().opening(), "def now():");
        for wrong in ["add", "add(a", "1st(a)", "add(a,)", "add(a b)", "(a)", "add(a) -> int"] {
            assert_eq!(Entry::function(wrong), None, "{wrong}");
        }
    }
}
