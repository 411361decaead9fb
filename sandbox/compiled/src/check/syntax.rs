//! Refuses constructs that parse but do not compile in CPython, and constructs that the tier does not support, even in
//! code that is never reached.

use std::cell::RefCell;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Number, Parameters, PythonVersion, Stmt, StmtFunctionDef};
use ruff_python_parser::semantic_errors::{
    LazyImportContext, SemanticSyntaxChecker, SemanticSyntaxContext, SemanticSyntaxError,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::declarations::Declarations;

/// Nested loops and `try` statements; CPython allows 20.
const LOOPS_MAX: usize = 10;

/// Clauses of an `if`, which CPython nests.
const CLAUSES_MAX: usize = 40;

/// The first construct that is refused, and its position.
pub(super) fn check(source: &str, body: &[Stmt]) -> Option<(String, TextSize)> {
    let module = Function { declarations: Declarations::of(body), ..Function::default() };
    let mut walk = Walk {
        checker: SemanticSyntaxChecker::new(),
        context: Context { source, functions: vec![module], found: RefCell::new(None) },
    };
    walk.declared();
    walk.visit_body(body);
    walk.context.found.into_inner()
}

/// A function around the present node.
#[derive(Default)]
struct Function {
    declarations: Declarations,
    parameters: Vec<String>,
    loops: usize,
    /// Nested loops and `try` statements.
    blocks: usize,
}

struct Context<'a> {
    source: &'a str,
    functions: Vec<Function>,
    found: RefCell<Option<(String, TextSize)>>,
}

impl Context<'_> {
    fn refuse(&self, construct: &str, at: TextSize) {
        self.found.borrow_mut().get_or_insert_with(|| (construct.to_owned(), at));
    }

    fn innermost(&self) -> &Function {
        self.functions.last().expect("the module is around everything")
    }
}

impl SemanticSyntaxContext for Context<'_> {
    fn future_annotations_or_stub(&self) -> bool {
        false
    }

    fn lazy_import_context(&self) -> Option<LazyImportContext> {
        None
    }

    fn python_version(&self) -> PythonVersion {
        PythonVersion::PY314
    }

    fn source(&self) -> &str {
        self.source
    }

    fn global(&self, name: &str) -> Option<TextRange> {
        self.innermost().declarations.globals.get(name).copied()
    }

    // The scopes refuse a name without a binding.
    fn has_nonlocal_binding(&self, _name: &str) -> bool {
        self.functions.len() > 1
    }

    fn in_async_context(&self) -> bool {
        false
    }

    fn in_await_allowed_context(&self) -> bool {
        false
    }

    fn in_yield_allowed_context(&self) -> bool {
        false
    }

    fn in_sync_comprehension(&self) -> bool {
        false
    }

    fn in_class_body_comprehension(&self) -> bool {
        false
    }

    fn in_module_scope(&self) -> bool {
        self.functions.len() == 1
    }

    fn in_function_scope(&self) -> bool {
        self.functions.len() > 1
    }

    fn in_generator_context(&self) -> bool {
        false
    }

    fn in_notebook(&self) -> bool {
        false
    }

    fn report_semantic_error(&self, error: SemanticSyntaxError) {
        self.refuse("a syntax error", error.range.start());
    }

    fn in_loop_context(&self) -> bool {
        self.innermost().loops > 0
    }

    fn is_bound_parameter(&self, name: &str) -> bool {
        self.innermost().parameters.iter().any(|parameter| parameter == name)
    }
}

struct Walk<'a> {
    checker: SemanticSyntaxChecker,
    context: Context<'a>,
}

impl Walk<'_> {
    fn refuse(&self, construct: &str, at: TextSize) {
        self.context.refuse(construct, at);
    }

    fn innermost(&mut self) -> &mut Function {
        self.context.functions.last_mut().expect("the module is around everything")
    }

    /// Checks the declarations of the innermost function.
    fn declared(&mut self) {
        let function = self.context.innermost();
        let is_parameter = |name: &String| function.parameters.contains(name);
        let declared = function.declarations.globals.iter().chain(&function.declarations.nonlocals);
        let parameter = declared.into_iter().find(|(name, _)| is_parameter(name)).map(|(_, range)| range.start());
        if let Some(at) = function.declarations.misplaced().or(parameter) {
            self.refuse("a syntax error", at);
        }
    }

    fn function(&mut self, def: &StmtFunctionDef) {
        self.name(&def.name, def.start());
        for decorator in &def.decorator_list {
            self.visit_decorator(decorator);
        }
        if let Some(parameters) = def.type_params.as_deref() {
            self.refuse("type parameters", parameters.start());
        }
        self.parameters(&def.parameters);
        def.returns.iter().for_each(|annotation| self.annotation(annotation));
        let parameters = def.parameters.iter().map(|parameter| parameter.name().to_string()).collect();
        let declarations = Declarations::of(&def.body);
        self.context.functions.push(Function { declarations, parameters, ..Function::default() });
        self.declared();
        self.visit_body(&def.body);
        self.context.functions.pop();
    }

    fn parameters(&mut self, parameters: &Parameters) {
        for parameter in parameters {
            self.name(parameter.name(), parameter.start());
            parameter.default().into_iter().for_each(|default| self.visit_expr(default));
            parameter.annotation().into_iter().for_each(|annotation| self.annotation(annotation));
        }
    }

    /// Annotations are never evaluated but are compiled, so only plain ones are accepted.
    fn annotation(&mut self, annotation: &Expr) {
        match annotation {
            Expr::Name(_) | Expr::NoneLiteral(_) | Expr::StringLiteral(_) | Expr::EllipsisLiteral(_) => {}
            Expr::Attribute(attribute) => self.annotation(&attribute.value),
            Expr::Subscript(subscript) => {
                self.annotation(&subscript.value);
                self.annotation(&subscript.slice);
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.annotation(element)),
            Expr::List(list) => list.elts.iter().for_each(|element| self.annotation(element)),
            Expr::BinOp(binary) => {
                self.annotation(&binary.left);
                self.annotation(&binary.right);
            }
            _ => self.refuse("an annotation", annotation.start()),
        }
    }

    fn name(&self, name: &str, at: TextSize) {
        if !name.is_ascii() || name.starts_with("__") && name != "__name__" {
            self.refuse("a name of this form", at);
        }
    }

    /// Visits a loop or `try` with its body.
    fn block(&mut self, statement: &Stmt) {
        self.innermost().blocks += 1;
        if self.innermost().blocks > LOOPS_MAX {
            self.refuse("nesting so deep", statement.start());
        }
        match statement {
            Stmt::For(repeat) => {
                self.visit_expr(&repeat.target);
                self.visit_expr(&repeat.iter);
                self.loop_body(&repeat.body);
                self.visit_body(&repeat.orelse);
            }
            Stmt::While(repeat) => {
                self.visit_expr(&repeat.test);
                self.loop_body(&repeat.body);
                self.visit_body(&repeat.orelse);
            }
            _ => visitor::walk_stmt(self, statement),
        }
        self.innermost().blocks -= 1;
    }

    fn loop_body(&mut self, body: &[Stmt]) {
        self.innermost().loops += 1;
        self.visit_body(body);
        self.innermost().loops -= 1;
    }
}

impl Visitor<'_> for Walk<'_> {
    fn visit_stmt(&mut self, statement: &Stmt) {
        self.checker.visit_stmt(statement, &self.context);
        match statement {
            Stmt::FunctionDef(def) => self.function(def),
            Stmt::For(_) | Stmt::While(_) => self.block(statement),
            Stmt::Try(attempt) => {
                for (index, handler) in attempt.handlers.iter().enumerate() {
                    let ruff_python_ast::ExceptHandler::ExceptHandler(clause) = handler;
                    if clause.type_.is_none() && index + 1 < attempt.handlers.len() {
                        self.refuse("a syntax error", clause.start());
                    }
                    clause.name.iter().for_each(|name| self.name(name, clause.start()));
                }
                self.block(statement);
            }
            Stmt::If(choice) => {
                if choice.elif_else_clauses.len() > CLAUSES_MAX {
                    self.refuse("nesting so deep", choice.start());
                }
                visitor::walk_stmt(self, statement);
            }
            Stmt::AnnAssign(assignment) => {
                self.annotation(&assignment.annotation);
                self.visit_expr(&assignment.target);
                assignment.value.iter().for_each(|value| self.visit_expr(value));
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &Expr) {
        self.checker.visit_expr(expression, &self.context);
        match expression {
            Expr::Name(name) => self.name(&name.id, name.start()),
            Expr::Attribute(attribute) => self.name(&attribute.attr, attribute.start()),
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(int) if int.as_i64().is_none() => {
                    self.refuse("an integer beyond 62 bits", literal.start());
                }
                Number::Complex { .. } => self.refuse("a complex number", literal.start()),
                _ => {}
            },
            // Only CPython knows the names of characters.
            Expr::StringLiteral(literal) if self.context.source[literal.range()].contains("\\N") => {
                self.refuse("a character by its name", literal.start());
            }
            Expr::BytesLiteral(_) => self.refuse("bytes", expression.start()),
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.parameters(parameters);
                }
                let parameters = lambda.parameters.iter().flat_map(|parameters| parameters.iter());
                let parameters = parameters.map(|parameter| parameter.name().to_string()).collect();
                self.context.functions.push(Function { parameters, ..Function::default() });
                self.visit_expr(&lambda.body);
                self.context.functions.pop();
                return;
            }
            Expr::Call(call) => {
                let mut names: Vec<&str> =
                    call.arguments.keywords.iter().filter_map(|one| one.arg.as_deref()).collect();
                names.sort_unstable();
                if names.windows(2).any(|pair| pair[0] == pair[1]) {
                    self.refuse("a syntax error", call.start());
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }
}
