//! Reads a game's file of Python without running it: docstring, constants and functions at top level.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use grpo_base::plural::cut;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Alias, CmpOp, Expr, ExprContext, ModModule, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextSize};

use crate::config::nearest;
use crate::program::{SOURCE_BYTES_MAX, first_error, parse, takes};
use crate::value::Value;

/// Characters of a value that are shown in a message.
const SHOWN_MAX: usize = 60;

/// Why a file is not a game.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("{path}: cannot read the game: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// A file that is not text, or too large.
    #[error("{path}: {found}; expected Python in UTF-8, at most {SOURCE_BYTES_MAX} bytes of it")]
    NotText { path: PathBuf, found: String },
    #[error("{path}, line {line}: {message}")]
    Line {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was found there, and what is expected.
        message: String,
    },
}

/// Reads the text of a file, up to little more than the largest size.
pub(crate) fn read(path: &Path) -> Result<String, ScriptError> {
    let unreadable = |source| ScriptError::Unreadable { path: path.to_owned(), source };
    let not_text = |found| ScriptError::NotText { path: path.to_owned(), found };
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let mut bytes = Vec::new();
    file.take(SOURCE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > SOURCE_BYTES_MAX {
        return Err(not_text(format!("{} bytes", length.max(bytes.len() as u64))));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = line_of(&error.as_bytes()[..at]);
        not_text(format!("line {line} is not UTF-8"))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n"))
}

fn line_of(before: &[u8]) -> usize {
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// The syntax tree of a file.
pub(crate) struct Module<'a> {
    path: &'a Path,
    source: &'a str,
    tree: ModModule,
}

/// A name at top level that is assigned a literal.
pub(crate) struct Constant<'a> {
    path: &'a Path,
    line: usize,
    name: &'static str,
    pub value: Value,
}

impl<'a> Module<'a> {
    pub fn parse(path: &'a Path, source: &'a str) -> Result<Module<'a>, ScriptError> {
        let parsed = parse(source);
        if let Some((at, message)) = first_error(&parsed) {
            let line = line_of(&source.as_bytes()[..at]);
            let message = format!("{message}; expected Python");
            return Err(ScriptError::Line { path: path.to_owned(), line, message });
        }
        Ok(Module { path, source, tree: parsed.into_syntax() })
    }

    /// The docstring, without the indentation that its lines share.
    pub fn docstring(&self) -> Result<String, ScriptError> {
        let text = match self.tree.body.first() {
            Some(Stmt::Expr(first)) => {
                first.value.as_string_literal_expr().map(|literal| literal.value.to_str().trim())
            }
            _ => None,
        };
        let text = text.filter(|text| !text.is_empty()).ok_or_else(|| {
            self.missing(
                "no docstring; expected the rules of the game in words, in triple quotes before everything else: it is \
                 what a policy is shown",
            )
        })?;
        let later = || text.lines().skip(1).filter(|line| !line.trim().is_empty());
        let indent = later().map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0);
        let lines = text.lines().enumerate().map(|(index, line)| {
            let dedented = if index == 0 { line } else { line.get(indent..).unwrap_or("") };
            dedented.trim_end()
        });
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// The literal that a name is assigned last.
    pub fn constant(&self, name: &'static str) -> Result<Option<Constant<'a>>, ScriptError> {
        if let Some(at) = changed(&self.tree.body, name) {
            let message = format!(
                "{name}: set, changed or deleted by something else than `{name} = ..` at top level, while the file is read before \
                 anything of it runs; write its value there"
            );
            return Err(self.error(at, &message));
        }
        let Some(expression) = self.assigned().remove(name) else { return Ok(None) };
        let error = |message| self.error(expression.start(), &format!("{name}: {message}"));
        let value = Value::from_expression(expression, self.source)
            .map_err(|wrong| error(format!("{wrong}; the file is read before anything of it runs, so that a name stands for nothing: write its value here")))?;
        Ok(Some(Constant { path: self.path, line: self.line(expression.start()), name, value }))
    }

    /// The last values assigned to names at top level, by `A = 1`, `A: int = 1`, `A = B = 1` and `A, B = 1, 2`.
    fn assigned(&self) -> BTreeMap<&str, &Expr> {
        let mut assigned = BTreeMap::new();
        for statement in &self.tree.body {
            match statement {
                Stmt::Assign(assignment) => {
                    assignment.targets.iter().for_each(|target| assign(target, &assignment.value, &mut assigned));
                }
                Stmt::AnnAssign(assignment) => {
                    assignment.value.iter().for_each(|value| assign(&assignment.target, value, &mut assigned));
                }
                _ => {}
            }
        }
        assigned
    }

    /// Whether a function of this name is defined at top level.
    pub fn defines(&self, name: &str) -> bool {
        self.function(name).is_some()
    }

    /// Whether a name gets its value otherwise than by a function at top level: by an assignment, an import, or a function in a
    /// class or under a condition.
    pub fn binds_otherwise(&self, name: &str) -> bool {
        let imports = |statement: &Stmt| match statement {
            Stmt::ImportFrom(import) => {
                import.names.iter().any(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str() == name)
            }
            _ => false,
        };
        let definition = format!("def {name}(");
        let defined = || self.source.lines().any(|line| line.trim_start().starts_with(&definition));
        self.assigns(name) || self.tree.body.iter().any(imports) || defined()
    }

    /// Whether a name is assigned at top level.
    pub fn assigns(&self, name: &str) -> bool {
        self.assigned().contains_key(name)
    }

    /// Names that are assigned at top level and stand nowhere else, each with the one of `known`, not assigned, that it is like.
    pub fn misspelt(&self, known: &[&'static str]) -> Vec<(String, &'static str)> {
        let assigned = self.assigned();
        let words = || self.source.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let lacking = || known.iter().copied().filter(|known| !assigned.contains_key(known));
        let unread = assigned.keys().filter(|name| words().filter(|word| word == *name).count() == 1);
        unread.filter_map(|name| Some(((*name).to_owned(), nearest(name, lacking())?))).collect()
    }

    fn function(&self, name: &str) -> Option<&StmtFunctionDef> {
        self.tree.body.iter().rev().find_map(|statement| match statement {
            Stmt::FunctionDef(function) if function.name.as_str() == name => Some(function),
            _ => None,
        })
    }

    /// Requires a function that can be called with so many arguments.
    pub fn require_function(&self, name: &str, arguments: &[&str]) -> Result<(), ScriptError> {
        let expected = format!("expected `def {name}({}):` at top level", arguments.join(", "));
        let Some(function) = self.function(name) else {
            return Err(self.missing(&format!("no function `{name}`; {expected}, in no class and under no condition")));
        };
        if function.is_async {
            return Err(self.error(function.name.start(), &format!("`{name}` is async; {expected}")));
        }
        if takes(function, arguments.len()) {
            return Ok(());
        }
        let found = &self.source[function.name.start().to_usize()..function.parameters.end().to_usize()];
        Err(self.error(function.name.start(), &format!("found `def {found}`; {expected}")))
    }

    /// The error for something that is missing in the file.
    pub fn missing(&self, message: &str) -> ScriptError {
        self.error(TextSize::new(0), message)
    }

    fn error(&self, at: TextSize, message: &str) -> ScriptError {
        ScriptError::Line { path: self.path.to_owned(), line: self.line(at), message: message.into() }
    }

    fn line(&self, at: TextSize) -> usize {
        line_of(&self.source.as_bytes()[..at.to_usize()])
    }
}

impl Constant<'_> {
    pub fn text(&self) -> Result<&str, ScriptError> {
        match &self.value {
            Value::Str(text) => Ok(text),
            _ => Err(self.wrong("expected a text in quotes")),
        }
    }

    /// The error for an unexpected value.
    pub fn wrong(&self, expected: &str) -> ScriptError {
        self.error(&format!("found {}; {expected}", cut(&self.value.to_string(), SHOWN_MAX)))
    }

    /// An error within the value.
    pub fn error(&self, message: &str) -> ScriptError {
        let message = format!("{}: {message}", self.name);
        ScriptError::Line { path: self.path.to_owned(), line: self.line, message }
    }
}

/// Where statements bind or delete a name of the module otherwise than by a plain assignment at top level.
fn changed(body: &[Stmt], name: &str) -> Option<TextSize> {
    let mut changes = Changes { name, first: None };
    for statement in body {
        match statement {
            Stmt::Assign(assignment) => {
                changes.visit_expr(&assignment.value);
                assignment.targets.iter().for_each(|target| changes.visit_target(target, &assignment.value));
            }
            Stmt::AnnAssign(assignment) => {
                assignment.value.iter().for_each(|value| changes.visit_expr(value));
            }
            // What a file does only where it is run itself does not happen in a game.
            Stmt::If(condition) if is_main(&condition.test) => {
                condition.elif_else_clauses.iter().for_each(|clause| changes.visit_elif_else_clause(clause));
            }
            _ => changes.visit_stmt(statement),
        }
    }
    changes.first
}

/// Whether a condition is `__name__ == "__main__"`.
fn is_main(test: &Expr) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let is_main = |one: &Expr| one.as_string_literal_expr().is_some_and(|text| text.value.to_str() == "__main__");
    compare.left.as_name_expr().is_some_and(|name| name.id == "__name__")
        && *compare.ops == [CmpOp::Eq]
        && compare.comparators.iter().all(is_main)
}

struct Changes<'n> {
    name: &'n str,
    first: Option<TextSize>,
}

impl Changes<'_> {
    fn note(&mut self, name: &str, at: TextSize) {
        if name == self.name {
            self.first.get_or_insert(at);
        }
    }

    /// Visits the parts of a target at top level of which [`assign`] finds no value.
    fn visit_target(&mut self, target: &Expr, value: &Expr) {
        match (target, value) {
            (Expr::Name(_), _) => {}
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
                targets.iter().zip(values).for_each(|(target, value)| self.visit_target(target, value));
            }
            _ => self.visit_expr(target),
        }
    }
}

impl Visitor<'_> for Changes<'_> {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            // Their names are none of the module.
            Stmt::FunctionDef(function) => self.note(&function.name, function.name.start()),
            Stmt::ClassDef(class) => self.note(&class.name, class.name.start()),
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &Expr) {
        match expression {
            Expr::Name(name) if name.ctx != ExprContext::Load => self.note(&name.id, name.start()),
            Expr::Lambda(_) | Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {}
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_alias(&mut self, alias: &Alias) {
        self.note(alias.asname.as_ref().unwrap_or(&alias.name), alias.start());
    }
}

fn assign<'a>(target: &'a Expr, value: &'a Expr, assigned: &mut BTreeMap<&'a str, &'a Expr>) {
    match (target, value) {
        (Expr::Name(name), _) => {
            assigned.insert(name.id.as_str(), value);
        }
        (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
            targets.iter().zip(values).for_each(|(target, value)| assign(target, value, assigned));
        }
        _ => {}
    }
}
