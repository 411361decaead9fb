//! Makes a program in which the tiers differ small, for whoever has to find the reason.
//!
//! Takes lines away, then puts parts of expressions in the place of the whole, as long as the tiers still differ.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::compare::{Difference, Tally, Tiers};
use crate::program::Program;

/// Programs that are tried for one difference, at 5 to 10 ms each.
const TRIES: u32 = 4000;

struct Reducer<'t> {
    tiers: &'t Tiers,
    found: Difference,
    tries: u32,
}

/// The same difference in less text.
pub fn reduce(tiers: &Tiers, found: &Difference) -> Difference {
    let mut reducer = Reducer { tiers, found: found.clone(), tries: 0 };
    reducer.groups();
    reducer.calls();
    loop {
        let before = reducer.found.program.source().len();
        for group in 0..reducer.found.program.groups.len() {
            reducer.lines(group);
            reducer.expressions(group);
        }
        if reducer.found.program.source().len() == before || reducer.tries > TRIES {
            return reducer.found;
        }
    }
}

impl Reducer<'_> {
    fn text(&self, group: usize) -> &str {
        &self.found.program.groups[group].text
    }

    /// Whether the tiers differ in this program, in the way that they did. If so, it is the better one.
    fn accept(&mut self, program: Program) -> bool {
        self.tries += 1;
        let groups = program.groups.len();
        let found = self.tiers.compare(&program, &mut Tally::default());
        let failed = |difference: &Difference| difference.interpreter.starts_with("fails: ");
        let same = |new: &Difference| failed(new) == failed(&self.found) && new.program.groups.len() == groups;
        match found.filter(same) {
            Some(found) => {
                self.found = found;
                true
            }
            None => false,
        }
    }

    fn with_text(&self, group: usize, text: String) -> Program {
        let mut program = self.found.program.clone();
        program.groups[group].text = text;
        program
    }

    /// Groups and a prelude that are not needed.
    fn groups(&mut self) {
        let mut index = 0;
        while index + 1 < self.found.program.groups.len() {
            let mut fewer = self.found.program.clone();
            fewer.groups.remove(index);
            if !self.accept(fewer) {
                index += 1;
            }
        }
        // In the first group its lines can be taken away.
        let mut inline = self.found.program.clone();
        inline.groups[0].text = std::mem::take(&mut inline.prelude) + "\n" + &inline.groups[0].text;
        self.accept(inline);
    }

    /// Calls that are not needed.
    fn calls(&mut self) {
        for group in 0..self.found.program.groups.len() {
            let mut index = 0;
            while index < self.found.program.groups[group].calls.len() {
                let mut fewer = self.found.program.clone();
                fewer.groups[group].calls.remove(index);
                if fewer.groups[group].calls.is_empty() || !self.accept(fewer) {
                    index += 1;
                }
            }
        }
    }

    /// Takes away statements with what belongs to them, or only the line at their head.
    fn lines(&mut self, group: usize) {
        let mut index = 0;
        while self.tries < TRIES {
            let lines: Vec<String> = self.text(group).lines().map(str::to_owned).collect();
            if index >= lines.len() {
                return;
            }
            let column = |line: &String| line.len() - line.trim_start().len();
            let inside = lines[index + 1..].iter().take_while(|line| column(line) > column(&lines[index])).count();
            let end = index + 1 + inside;
            let rest =
                |middle: Vec<String>| [lines[..index].to_vec(), middle, lines[end..].to_vec()].concat().join("\n");
            let without = rest(Vec::new());
            let raised =
                rest(lines[index + 1..end].iter().map(|line| line.get(4..).unwrap_or("").to_owned()).collect());
            let gone = self.accept(self.with_text(group, without + "\n"));
            if !gone && (inside == 0 || !self.accept(self.with_text(group, raised + "\n"))) {
                index += 1;
            }
        }
    }

    /// Puts a part, or the least of a kind, in the place of an expression.
    fn expressions(&mut self, group: usize) {
        let mut skipped = 0;
        while self.tries < TRIES {
            let Some(expressions) = expressions(self.text(group)) else { return };
            let Some((range, parts)) = expressions.get(skipped) else { return };
            let text = self.text(group).to_owned();
            let whole = &text[*range];
            let parts = parts.iter().map(|part| text[*part].to_owned());
            let least = ["0", "[]", "1", "\"\"", "True", "[1]"].map(str::to_owned);
            let shorter = |new: &String| new.len() < whole.len();
            let texts = parts
                .chain(least)
                .filter(shorter)
                .map(|new| format!("{}{new}{}", &text[..range.start().to_usize()], &text[range.end().to_usize()..]));
            if !texts.collect::<Vec<_>>().into_iter().any(|text| self.accept(self.with_text(group, text))) {
                skipped += 1;
            }
        }
    }
}

/// Where expressions stand, and the expressions in them.
fn expressions(text: &str) -> Option<Vec<(TextRange, Vec<TextRange>)>> {
    let parsed = ruff_python_parser::parse_module(text).ok()?;
    let mut found = Expressions::default();
    found.visit_body(parsed.suite());
    let inside = |range: TextRange| {
        let parts = found.0.iter().filter(|part| range.contains_range(**part) && **part != range);
        parts.copied().take(12).collect()
    };
    Some(found.0.iter().map(|&range| (range, inside(range))).collect())
}

#[derive(Default)]
pub struct Expressions(pub Vec<TextRange>);

impl<'a> Visitor<'a> for Expressions {
    fn visit_expr(&mut self, expression: &'a Expr) {
        self.0.push(expression.range());
        walk_expr(self, expression);
    }

    fn visit_body(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|statement| self.visit_stmt(statement));
    }
}
