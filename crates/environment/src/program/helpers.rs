//! What a program uses from earlier blocks of the same answer: helpers, imports and constants in a fence of their own.
//!
//! The blocks are read like those of a notebook, run one after the other: of what they do, that is kept which makes the names
//! that the program misses be what they would be there. So of two attempts the last counts.

mod names;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Expr, ModModule, Stmt};
use ruff_python_parser::Parsed;
use ruff_text_size::{Ranged, TextRange};

use self::names::Names;
use super::digest::is_builtin;
use super::syntax::{first_error, parse};
use super::{SOURCE_BYTES_MAX, lines};

/// Stands for the names that an import of everything may bind.
const STAR: &str = "*";
/// Stands for the input, of which each that reads it leaves the rest to the next.
const INPUT: &str = "<";

/// The statements that bind and change what `module` uses and does not make itself, out of `blocks` in their order, but for those
/// that it writes anew where it is the whole program `mending`. Nothing else of a block is taken: its calls and prints were examples.
pub(super) fn of(module: &ModModule, blocks: &[String], mending: Option<&str>) -> String {
    if blocks.is_empty() {
        return String::new();
    }
    let names = Names::of(&module.body);
    let mut missing = names.missing();
    if mending.is_some() && names.read_input_somewhere() {
        // It begins anew and is no cell that goes on: what it binds is its own, where it reads that first too, as behind `if i > 0`.
        missing.retain(|name| !names.bound().contains(name));
    }
    if missing.is_empty() {
        return String::new();
    }
    let blocks: Vec<Block<'_>> = blocks.iter().filter_map(|block| Block::of(block)).collect();
    let notebook = Notebook::of(&blocks);
    let mut needed = notebook.needed_by(missing);
    if let Some(own) = mending.filter(|_| !needed.is_empty()) {
        needed = notebook.without_mended(needed, own);
    }
    needed.into_iter().map(|place| format!("{}\n", notebook.text(place))).collect()
}

/// Whether a whole program reads its input, by itself.
pub(super) fn reads_input(module: &ModModule) -> bool {
    Names::of(&module.body).read_input_somewhere()
}

/// The names that a program binds, and those of Python.
pub(super) struct Known<'a>(Names<'a>);

impl<'a> Known<'a> {
    pub fn of(statements: &'a [Stmt]) -> Known<'a> {
        Known(Names::of(statements))
    }

    /// Whether all names that a statement reads from outside are among them, and it does not reckon with Python's functions alone,
    /// as `- list` and `max / min`, which are words.
    pub fn has_all(&self, statement: &Stmt) -> bool {
        let has = |name: &&str| is_builtin(name) || self.binds(name);
        // Not what an import of everything may bind: with it all words would be known.
        let is_known = Names::of(std::slice::from_ref(statement)).missing().iter().all(has);
        is_known && !statement.as_expr_stmt().is_some_and(|one| self.reckons_with_functions(&one.value))
    }

    fn reckons_with_functions(&self, expression: &Expr) -> bool {
        let is_function =
            |operand: &Expr| operand.as_name_expr().is_some_and(|name| is_builtin(&name.id) && !self.binds(&name.id));
        match expression {
            Expr::UnaryOp(one) => is_function(&one.operand),
            Expr::BinOp(both) => is_function(&both.left) && is_function(&both.right),
            _ => false,
        }
    }

    /// Whether the program binds a name.
    pub fn binds(&self, name: &str) -> bool {
        self.0.bound().contains(name)
    }
}

/// What words about time and space call, as `O(n)` does.
const ORDERS: [&str; 5] = ["O", "Θ", "Ω", "Theta", "Omega"];

/// What words about time and space a statement calls: `O` in `O(n)`.
pub(super) fn order(one: &Stmt) -> Option<&str> {
    let name = one.as_expr_stmt()?.value.as_call_expr()?.func.as_name_expr()?.id.as_str();
    Some(name).filter(|name| ORDERS.contains(name))
}

/// Whether the last `own` statements of a module, which are one or more, are words about time and space. Another call of what nothing
/// defines, such as `main()`, is a program that fails.
pub(super) fn is_of_orders(module: &ModModule, own: usize) -> bool {
    let own = &module.body[module.body.len() - own..];
    let is_order = |one: &Stmt| order(one).is_some();
    let names = Names::of(&module.body);
    own.iter().all(is_order) && !ORDERS.iter().any(|name| names.bound().contains(name))
}

/// A block that is Python as a whole.
struct Block<'a> {
    text: &'a str,
    parsed: Parsed<ModModule>,
}

impl<'a> Block<'a> {
    fn of(text: &'a str) -> Option<Block<'a>> {
        let parsed = (text.len() <= SOURCE_BYTES_MAX).then(|| parse(text))?;
        first_error(&parsed).is_none().then_some(Block { text, parsed })
    }

    fn lines(&self, of: TextRange) -> String {
        lines::of(self.text, self.parsed.tokens().in_range(of))
    }

    fn has_all(&self, lines_of: &BTreeMap<&str, usize>) -> bool {
        let lines = lines::of(self.text, self.parsed.tokens());
        let mut missing: BTreeSet<&str> = lines_of.keys().copied().collect();
        for line in lines::each(&lines) {
            missing.remove(line);
        }
        missing.is_empty()
    }
}

/// The module whose imports must come first.
pub(super) const FUTURE: &str = "__future__";

fn is_future(one: &Stmt) -> bool {
    matches!(one, Stmt::ImportFrom(import) if import.module.as_deref() == Some(FUTURE))
}

/// The place, in bytes, before which nothing may be put: imports from `__future__`, and the docstring that may stand before
/// them, come first in Python.
pub(super) fn first_place(source: &str) -> usize {
    if !source.contains(FUTURE) {
        return 0;
    }
    let comes_first =
        |one: &Stmt| is_future(one) || matches!(one, Stmt::Expr(words) if words.value.is_string_literal_expr());
    let module = parse(source).into_syntax();
    let later = module.body.iter().find(|one| !comes_first(one));
    later.map_or(source.len(), |one| one.start().to_usize())
}

/// All statements of earlier blocks, and which of them make a name what it is.
struct Notebook<'a> {
    blocks: &'a [Block<'a>],
    statements: Vec<Statement<'a>>,
    /// By name, the places of statements that bind or change it.
    touching: BTreeMap<&'a str, Vec<usize>>,
    /// Names that stand for values, so that a call of a method may change them: for no module, class or function.
    values: BTreeSet<&'a str>,
}

struct Statement<'a> {
    /// The place of its block, and its own there.
    block: usize,
    range: TextRange,
    names: Names<'a>,
    /// What it binds or changes, [`STAR`] and [`INPUT`] among it.
    touched: BTreeSet<&'a str>,
    /// Whether it imports something, or defines a function or a class.
    is_made: bool,
}

impl<'a> Notebook<'a> {
    fn of(blocks: &'a [Block<'a>]) -> Notebook<'a> {
        let (statements, touching, values) = Default::default();
        let mut notebook = Notebook { blocks, statements, touching, values };
        for (place, block) in blocks.iter().enumerate() {
            for one in block.parsed.syntax().body.iter().filter(|one| !is_future(one)) {
                notebook.add(place, one);
            }
        }
        notebook
    }

    fn text(&self, place: usize) -> &'a str {
        let one = &self.statements[place];
        &self.blocks[one.block].text[one.range]
    }

    /// The place behind the block of a statement.
    fn end_of_block(&self, of: &Statement<'_>) -> usize {
        self.statements.partition_point(|one| one.block <= of.block)
    }

    fn add(&mut self, block: usize, one: &'a Stmt) {
        let names = Names::of(std::slice::from_ref(one));
        let is_made = matches!(one, Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::Import(_) | Stmt::ImportFrom(_));
        let mut touched = names.touched();
        if !is_made {
            // `sum = 0` of an example is not meant by a program that sums.
            touched.retain(|name| !is_builtin(name));
        }
        for &name in names.bound() {
            if is_made {
                self.values.remove(name);
            } else {
                self.values.insert(name);
            }
        }
        touched.extend(names.called.intersection(&self.values));
        touched.extend(names.has_star.then_some(STAR));
        touched.extend(names.reads_input().then_some(INPUT));
        let place = self.statements.len();
        for &name in &touched {
            self.touching.entry(name).or_default().push(place);
        }
        self.statements.push(Statement { block, range: one.range(), names, touched, is_made });
    }

    /// The last statement before a place that binds or changes a name.
    fn last(&self, name: &str, before: usize) -> Option<usize> {
        let places = self.touching.get(name)?;
        let count = places.partition_point(|place| *place < before);
        places[..count].last().copied()
    }

    /// The places of the statements by which these names are at the end what they are.
    fn needed_by(&self, names: Vec<&'a str>) -> BTreeSet<usize> {
        let end = self.statements.len();
        let mut queue: Vec<(&str, usize)> = names.into_iter().map(|name| (name, end)).collect();
        // Each is gone through once, however many names a hostile answer has.
        let (mut seen, mut taken) = (BTreeSet::new(), BTreeSet::new());
        while let Some((name, before)) = queue.pop() {
            if !seen.insert((name, before)) {
                continue;
            }
            let Some(place) = self.last(name, before) else {
                if may_come_by_star(name) {
                    queue.push((STAR, before));
                }
                continue;
            };
            let one = &self.statements[place];
            // Another block that reads the input may be another attempt.
            if name == INPUT && one.block != self.statements[before].block {
                continue;
            }
            if !one.names.binds(name) {
                queue.push((name, place));
            }
            if taken.insert(place) {
                queue.extend(one.names.now().map(|name| (name, place)));
                // A function is called by its own block, and by the program.
                let behind = self.end_of_block(one);
                let later = one.names.later().flat_map(|name| [(name, behind), (name, end)]);
                queue.extend(later);
                queue.extend(one.names.reads_input().then_some((INPUT, place)));
            }
        }
        taken
    }

    /// The `taken` places but for statements that are made of lines of `own` which itself stands in their block, in another order or with
    /// some left out, and is there to take their place. What another one that is taken needs as it runs stays, as do imports, functions
    /// and classes, which do no harm; and of equal ones as many as `own` does not have.
    fn without_mended(&self, taken: BTreeSet<usize>, own: &str) -> BTreeSet<usize> {
        let parsed = parse(own);
        let own_lines = lines::of(own, parsed.tokens());
        let lines_of = |one: &Stmt| lines::of(own, parsed.tokens().in_range(one.range()));
        let statements: BTreeSet<String> = parsed.syntax().body.iter().map(lines_of).collect();
        let mut mending: BTreeMap<&str, usize> = BTreeMap::new();
        lines::each(&own_lines).for_each(|line| *mending.entry(line).or_default() += 1);
        // A line within a loop takes no place of the same at top level: that is where it begins.
        let is_of_own = |lines: &str| match lines::each(lines).count() {
            1 => statements.contains(lines),
            _ => lines::each(lines).all(|line| mending.contains_key(line)),
        };
        let mut are_mended: BTreeMap<usize, bool> = BTreeMap::new();
        let mut cut: BTreeMap<(usize, String), usize> = BTreeMap::new();
        let (mut kept, mut needed, mut one_runs) = (BTreeSet::new(), BTreeSet::new(), false);
        for place in taken.into_iter().rev() {
            let one = &self.statements[place];
            let block = &self.blocks[one.block];
            if !one.is_made && one.touched.iter().all(|name| !needed.contains(name)) {
                let lines = block.lines(one.range);
                let mut is_mended = || *are_mended.entry(one.block).or_insert_with(|| block.has_all(&mending));
                if is_of_own(&lines) && is_mended() {
                    let may_cut = lines::each(&lines).filter_map(|line| mending.get(line)).min().copied().unwrap_or(0);
                    let count = cut.entry((one.block, lines)).or_default();
                    *count += 1;
                    if *count <= may_cut {
                        continue;
                    }
                }
            }
            one_runs |= !one.is_made;
            for name in one.names.certain() {
                needed.remove(name);
            }
            needed.extend(one.names.now());
            // What is called here is defined before it.
            needed.extend(one.names.later().filter(|_| one_runs));
            kept.insert(place);
        }
        kept
    }
}

/// Whether a name that nothing else binds may be one of an import of everything. Those of Python are meant as they are: such an
/// import may have others of the same names.
fn may_come_by_star(name: &str) -> bool {
    name != INPUT && !is_builtin(name) && !name.ends_with("Error") && name != "Exception"
}
