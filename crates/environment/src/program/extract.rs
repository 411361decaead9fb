//! Finds the code in a text, and in the code the longest part that parses.
//!
//! A text is split at its fences, and every piece may be code: a fence's content, the part before the first fence if
//! the prompt has opened one, or text without fences. The last piece with a well-formed definition wins; what it uses from
//! earlier ones stands before it. A piece that only imports what is asked for (`from solution import add`), gives it no body
//! (`def add(a, b): ...`) or its name to a value (`count = 0`), or is a whole program that can print nothing (`n = int(input())`,
//! `O(n)`), shows how another one is used, and wins where nothing else is an answer. So does a piece that reads no input, where a
//! whole program is asked for and an earlier piece reads it (`print(solve(3))`) or is quoted by it (`print(*a)`). A fence within a
//! line counts only in a piece that is no program with it.

use std::cell::{Cell, LazyCell};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ModModule, Stmt};
use ruff_python_parser::Parsed;
use ruff_text_size::Ranged;

use super::entry::may_define;
use super::quotes::{COMPARED_BYTES_MAX, quotes};
use super::syntax::{first_error, parse};
use super::{Entry, Rejection, SOURCE_BYTES_MAX, fences, helpers, line_count, prose, ways};

/// A byte order mark, which some editors put before a text and CPython skips.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Most parses of one piece. Prose is skipped by paragraphs, not by characters.
const ATTEMPTS_MAX: usize = 32;
/// Most bytes that are parsed again in all pieces of a text together, after each was once: what the longest piece may take.
const AGAIN_BYTES_MAX: usize = ATTEMPTS_MAX * SOURCE_BYTES_MAX;

/// Most pieces of one text that are looked at with what they use of the earlier ones.
const JOINS_MAX: usize = 32;

/// A program in a text.
pub(super) struct Found {
    pub source: String,
    /// What the source parses to, but for the places of things.
    pub module: ModModule,
}

impl Found {
    /// The same with what it `uses` before it, if that is no longer than a program may be.
    fn after(self, uses: &str) -> Found {
        if uses.is_empty() || self.source.len() + uses.len() >= SOURCE_BYTES_MAX {
            return self;
        }
        let (first, rest) = self.source.split_at(helpers::first_place(&self.source));
        let end = if first.is_empty() || first.ends_with('\n') { "" } else { "\n" };
        let source = format!("{first}{end}{uses}{rest}");
        let module = parse(&source).into_syntax();
        Found { source, module }
    }
}

/// The last well-formed program in `text`.
pub(super) fn find(text: &str, entry: &Entry) -> Result<Found, Rejection> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if let Some(whole) = whole(text, entry) {
        return Ok(whole);
    }
    // A model may copy a file with its mark into a fence.
    let unmarked = |(piece, _): &(&str, &str)| fences::dedent(piece.trim_start_matches(BYTE_ORDER_MARK));
    let labelled = fences::pieces(text);
    let pieces: Vec<String> = labelled.iter().map(unmarked).collect();
    let is_unfenced: Vec<bool> = labelled.iter().map(|(_, label)| fences::is_unfenced(label)).collect();
    let pieces = Pieces { texts: &pieces, is_unfenced: &is_unfenced };
    let again = Cell::new(AGAIN_BYTES_MAX);
    let answer = labelled.iter().rposition(|(_, label)| *label == fences::THOUGHT).unwrap_or(0);
    let is_any = |is: fn(&str) -> bool| labelled[answer..].iter().any(|(_, label)| is(label));
    if is_any(fences::is_of_python) && is_any(fences::is_foreign) {
        // Beside Python that is called so, a block of these is output, or the same in another language.
        let ours = |place: usize| place >= answer && !fences::is_foreign(labelled[place].1);
        if let Ok((found, false)) = last_of(pieces, &ours, entry, &again) {
            return Ok(found);
        }
    }
    // What stands in the thoughts is no answer beside one.
    if answer > 0
        && let Ok((found, _)) = last_of(pieces, &|place| place >= answer, entry, &again)
    {
        return Ok(found);
    }
    last_of(pieces, &|_| true, entry, &again).map(|(found, _)| found)
}

/// The pieces of a text, and which of them stand in no fence.
#[derive(Clone, Copy)]
struct Pieces<'a> {
    texts: &'a [String],
    is_unfenced: &'a [bool],
}

/// The last program in the pieces whose places are `eligible`, and whether it is no more than an example.
fn last_of(
    Pieces { texts: pieces, is_unfenced }: Pieces<'_>,
    eligible: &dyn Fn(usize) -> bool,
    entry: &Entry,
    again: &Cell<usize>,
) -> Result<(Found, bool), Rejection> {
    let (mut rejection, mut example, mut used) = (None, None, None);
    // For each, all pieces before it are parsed.
    let joins = Cell::new(JOINS_MAX);
    let compared = Cell::new(COMPARED_BYTES_MAX);
    let with_uses = |found: Found, place: usize| {
        let Some(left) = joins.get().checked_sub(1) else { return found };
        joins.set(left);
        let blocks = fences::blocks(&pieces[..place]);
        let mending = entry.definition().is_none().then_some(found.source.as_str());
        let uses = helpers::of(&found.module, &blocks, mending);
        found.after(&uses)
    };
    for (place, piece) in pieces.iter().enumerate().rev().filter(|(place, _)| eligible(*place)) {
        let inner = fences::inline(piece);
        // The piece as it is, then what is between fences within its lines, the last of that first. Where such a fence ends a
        // program, the piece is none.
        let closed = fences::closed_behind(piece);
        let behind = inner.iter().skip(1).rev().filter(|_| closed.is_some()).map(String::as_str);
        let inner = inner.iter().rev().filter(|_| closed.is_none()).map(String::as_str);
        for piece in behind.chain(closed).chain([piece.as_str()]).chain(inner) {
            let stretch = without_continuation(piece);
            let search = Search { stretch, is_unfenced: is_unfenced[place], entry, attempts: Cell::new(1), again };
            match search.source() {
                // Such a piece shows how the entry is used, or uses its name for something else, as `count = total = 0` does.
                Ok(found) if search.entries(stretch).next().is_none() || entry.is_only_shown_by(&found.module.body) => {
                    example.get_or_insert((found, place));
                }
                Ok(found) if entry.definition().is_some() => return Ok((with_uses(found, place), false)),
                Ok(found) => {
                    let (own, statements) = (found.source.clone(), found.module.body.len());
                    let reads_alone = ways::may_read(&found.module.body);
                    let found = with_uses(found, place);
                    let names_orders = helpers::is_of_orders(&found.module, statements);
                    let body = &found.module.body;
                    let acts = if *entry == Entry::Module { ways::act } else { ways::may_print };
                    let is_quote = || !reads_alone && quotes(&own, body, &pieces[..place], &compared);
                    let is_whole = || match used {
                        _ if *entry != Entry::Script => true,
                        Some(_) => (helpers::reads_input(&found.module) || ways::reads(body)) && !is_quote(),
                        None => ways::may_read(body) && !is_quote(),
                    };
                    if names_orders || !acts(body) {
                        example.get_or_insert((found, place));
                    } else if is_whole() {
                        return Ok((found, false));
                    } else {
                        let uses_others = found.source.len() > own.len();
                        used.get_or_insert((found, uses_others));
                    }
                }
                Err(Rejection::NoFunction { .. }) => {}
                Err(found) => drop(rejection.get_or_insert(found)),
            }
        }
    }
    let found = used.or_else(|| example.map(|(found, place)| (with_uses(found, place), true)));
    found.ok_or_else(|| rejection.unwrap_or_else(|| nothing(entry)))
}

/// The whole text, if it is valid Python; a fence in it is then part of a string or a comment.
fn whole(text: &str, entry: &Entry) -> Option<Found> {
    let text = text.trim_start_matches(['\r', '\n']);
    let parsed = (text.len() <= SOURCE_BYTES_MAX).then(|| parse(text))?;
    if first_error(&parsed).is_some() {
        return None;
    }
    without_prose(entry, text, parsed)
}

/// The program that a file of Python is from its first line to its last, whatever its strings and comments hold.
pub(super) fn of_file(text: &str, entry: &Entry) -> Result<Found, Rejection> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_end();
    if text.len() > SOURCE_BYTES_MAX {
        return Err(Rejection::TooLong { bytes: text.len() });
    }
    let parsed = parse(text);
    match first_error(&parsed) {
        None => without_prose(entry, text, parsed).ok_or_else(|| nothing(entry)),
        Some((at, message)) => match find(text, entry) {
            // It is an answer to the tasks alone whose functions it seems to define.
            Err(nothing @ Rejection::NoFunction { .. }) => Err(nothing),
            _ => Err(not_compiled(text, at, message)),
        },
    }
}

fn nothing(entry: &Entry) -> Rejection {
    Rejection::NoFunction { wanted: entry.to_string() }
}

/// Positions of lines that are neither indented nor empty. A form feed indents nothing: the line begins behind it.
fn outer_lines(code: &str) -> impl DoubleEndedIterator<Item = usize> {
    let starts = std::iter::once(0).chain(code.match_indices('\n').map(|(at, _)| at + 1).collect::<Vec<_>>());
    let starts = starts.map(|at| at + code[at..].bytes().take_while(|&byte| byte == b'\x0c').count());
    starts.filter(|&at| code[at..].starts_with(|first: char| !first.is_whitespace()))
}

/// A piece of text that may contain the program.
struct Search<'a> {
    stretch: &'a str,
    /// Whether it may begin with words.
    is_unfenced: bool,
    entry: &'a Entry,
    /// Parses of it, of which the first is never refused.
    attempts: Cell<usize>,
    /// Bytes that may still be parsed again, in this piece and in others.
    again: &'a Cell<usize>,
}

impl Search<'_> {
    /// Positions of the top-level lines that define the entry; for a whole program, its first line, and the first behind words.
    fn entries<'c>(&self, code: &'c str) -> Box<dyn DoubleEndedIterator<Item = usize> + 'c>
    where
        Self: 'c,
    {
        let Some((keyword, name)) = self.entry.definition().map(|(keyword, name)| (keyword, name.to_owned())) else {
            let first = outer_lines(code).next();
            let behind = first.filter(|_| self.is_unfenced).and_then(|first| {
                let words = first + prose::length(&code[first..]);
                outer_lines(code).find(|line| *line >= words).filter(|line| *line > first)
            });
            return Box::new(first.into_iter().chain(behind));
        };
        Box::new(
            outer_lines(code)
                .filter(move |&at| may_define(code[at..].split('\n').next().unwrap_or_default(), keyword, &name)),
        )
    }

    /// The program in the piece.
    ///
    /// Lines before and after the code that do not parse are skipped, one top-level line at a time, where a line of the piece may
    /// define the entry.
    fn source(&self) -> Result<Found, Rejection> {
        let stretch = self.stretch;
        let last_entry = self.entries(stretch).next_back().ok_or_else(|| nothing(self.entry));
        let mut start = outer_lines(stretch).next().unwrap_or(0);
        let bytes = stretch.len() - start;
        if bytes > SOURCE_BYTES_MAX {
            return last_entry.and(Err(Rejection::TooLong { bytes }));
        }
        let (mut parsed, mut earlier) = (parse(&stretch[start..]), None);
        loop {
            let code = &stretch[start..];
            let Some((at, message)) = first_error(&parsed) else {
                return without_prose(self.entry, code, parsed).ok_or_else(|| nothing(self.entry));
            };
            let last_entry = last_entry.clone()?;
            earlier = self.valid_prefix(code, at).or(earlier);
            let next = outer_lines(stretch).find(|&line| line > start + at.min(last_entry.saturating_sub(start)));
            let next = next.filter(|&next| next <= last_entry);
            match next.and_then(|next| Some((next, self.parse_again(&stretch[next..])?))) {
                Some(next) => (start, parsed) = next,
                None => return earlier.ok_or_else(|| not_compiled(code, at, message)),
            }
        }
    }

    /// Parses a part of the piece, if it and the text may be parsed again.
    fn parse_again(&self, code: &str) -> Option<Parsed<ModModule>> {
        let bytes = self.again.get().checked_sub(code.len()).filter(|_| self.attempts.get() < ATTEMPTS_MAX)?;
        self.again.set(bytes);
        self.attempts.set(self.attempts.get() + 1);
        Some(parse(code))
    }

    /// The longest run of whole top-level lines before the error at `at` that parses and defines the entry.
    fn valid_prefix(&self, code: &str, at: usize) -> Option<Found> {
        let first_entry = self.entries(code).next()?;
        for end in outer_lines(code).rev().filter(|&line| line <= at).take_while(|&line| line > first_entry) {
            let parsed = self.parse_again(&code[..end])?;
            if parsed.errors().is_empty() {
                return without_prose(self.entry, &code[..end], parsed);
            }
        }
        None
    }
}

/// The code without words at its beginning and end that parse as Python but are prose (`Explanation`); `None` if
/// it does not define the entry.
fn without_prose(entry: &Entry, code: &str, parsed: Parsed<ModModule>) -> Option<Found> {
    let mut module = parsed.into_syntax();
    let statements = &module.body;
    let defined = statements.iter().rposition(|statement| entry.is_defined_by(statement))?;
    let (first, last) = match entry {
        Entry::Literal { .. } => (defined, defined),
        _ => code_in(statements)?,
    };
    let start = if first == 0 { 0 } else { statements[first].start().to_usize() };
    let end = statements.get(last + 1).map_or(code.len(), |statement| statement.start().to_usize());
    module.body.truncate(last + 1);
    module.body.drain(..first);
    // Where code begins inside a text, the parser skips a mark that Python would not, and lines without words after it.
    let kept = without_continuation(&code[start..end]).trim_start_matches([BYTE_ORDER_MARK, '\r', '\n']);
    Some(Found { source: format!("{kept}\n"), module })
}

/// The first and the last statement of the code: that on which lines of words follow, which may also work something out with its names.
/// Before it there are only those of Python. None where there is no code: `-1` alone is an output.
fn code_in(statements: &[Stmt]) -> Option<(usize, usize)> {
    let known = LazyCell::new(|| helpers::Known::of(statements));
    let is_order = |one: &Stmt| helpers::order(one).is_some_and(|name| !known.binds(name));
    let is_code = |one: &Stmt| line(one) == Line::Code && !is_order(one);
    let between =
        |is: &dyn Fn(&Stmt) -> bool| Some((statements.iter().position(is)?, statements.iter().rposition(is)?));
    // Where orders are all there is, they are a program that fails.
    let (first, last) = between(&is_code).or_else(|| between(&|one| line(one) == Line::Code))?;
    let works = |one: &&Stmt, known: &helpers::Known<'_>| line(one) == Line::Works && known.has_all(one);
    let python = helpers::Known::of(&[]);
    let before = statements[..first].iter().rev().take_while(|one| works(one, &python)).count();
    let behind = statements[last + 1..].iter().take_while(|one| works(one, &known)).count();
    Some((first - before, last + behind))
}

fn not_compiled(code: &str, at: usize, message: String) -> Rejection {
    let lines = line_count(code);
    let line = code[..at].matches('\n').count() as u32 + 1;
    Rejection::NotCompiled { line: line.min(lines), lines, message }
}

/// The code without blank lines and line continuations at its end, with which no statement ends.
fn without_continuation(code: &str) -> &str {
    code.trim_end_matches(|last: char| last.is_whitespace() || last == '\\')
}

/// What a statement at top level may be, beside code, where it is an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// It is none, or one that calls, binds or awaits something, or documentation.
    Code,
    /// It works something out, which may print or raise: `out << n`, `1 / 0`, `[*lines]`. Where its names are the program's or
    /// Python's it is code; otherwise it is words, such as `up / down`.
    Works,
    /// Names and literals; or nothing but a type, as `Complexity: O(n)` looks like one.
    Words,
}

/// Whether a statement says something that is no text, and does nothing by it.
pub(crate) fn is_words(statement: &Stmt) -> bool {
    statement.is_expr_stmt() && line(statement) != Line::Code
}

fn line(statement: &Stmt) -> Line {
    let expression = match statement {
        Stmt::Expr(expression) if expression.value.is_string_literal_expr() => return Line::Code,
        // An item of a list: `* n`.
        Stmt::Expr(expression) if expression.value.is_starred_expr() => return Line::Words,
        Stmt::Expr(expression) => expression,
        Stmt::AnnAssign(typed) if typed.value.is_none() => return Line::Words,
        _ => return Line::Code,
    };
    let mut acts = Acts(Line::Words);
    acts.visit_expr(&expression.value);
    acts.0
}

/// Records what an expression does.
struct Acts(Line);

impl Visitor<'_> for Acts {
    fn visit_expr(&mut self, expression: &Expr) {
        match expression {
            Expr::Call(_) | Expr::Named(_) | Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.0 = Line::Code
            }
            Expr::Name(_) | Expr::Tuple(_) | Expr::List(_) => {}
            literal if literal.is_literal_expr() => {}
            // What calls something stays code, whatever stands beside the call.
            _ if self.0 == Line::Code => {}
            _ => self.0 = Line::Works,
        }
        if self.0 != Line::Code {
            visitor::walk_expr(self, expression);
        }
    }
}
