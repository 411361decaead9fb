//! Programs at random, of the constructs in `grammar.txt`: typed, so that most of them run to their end.
//!
//! Takes a seed; gives source text and calls. The same seed gives the same program everywhere. A program consists of
//! groups that share nothing but `random`, each with a function that returns every value it computed.

use std::collections::BTreeMap;

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use crate::grammar::{Grammar, Kind, Piece, Row};
use crate::indent::{append_indented, indented};
use crate::scope::{Binding, Scope, Variable};

/// Lengths of a group's text, in bytes, beyond which only leaves are taken.
const GROUP_BYTES: std::ops::Range<usize> = 200..1400;

/// Deepest call of a generated function in loops and other functions.
const COST_MAX: u32 = 2;

/// What every program begins with: keeps numbers and lists small.
pub const PRELUDE: &str = "\
import math
import random

def tame(n):
    return n if -10007 < n < 10007 else n % 10007

def trim(xs):
    return [x if -1000000 < x < 1000000 else x % 10007 for x in xs][:12]

def whole(x):
    return int(x) if -1e15 < x < 1e15 else 7

";

pub struct Generator<'g> {
    grammar: &'g Grammar,
    pub rng: ChaCha8Rng,
    flavours: Vec<&'static str>,
    names: u32,
    scope: Scope,
    /// Where rows note values.
    sink: String,
    /// What the functions that are being written return.
    returns: Vec<Kind>,
    /// Loops and functions around, and the costliest call so far in this function.
    nesting: u32,
    cost: u32,
    in_loop: bool,
    /// Of the group: written, and to be written.
    bytes: usize,
    bytes_max: usize,
    /// Rows that are not taken.
    barred: Vec<bool>,
    /// How often each row was taken.
    pub used: Vec<u64>,
}

impl<'g> Generator<'g> {
    /// Takes no row that is `barred`, and those of a flavour only if it is among `flavours`.
    pub fn new(
        grammar: &'g Grammar,
        rng: ChaCha8Rng,
        flavours: Vec<&'static str>,
        barred: Option<&[bool]>,
    ) -> Generator<'g> {
        Generator {
            grammar,
            rng,
            flavours,
            barred: barred.map_or_else(|| vec![false; grammar.rows.len()], <[bool]>::to_vec),
            names: 0,
            scope: Scope::new(),
            sink: String::new(),
            returns: Vec::new(),
            nesting: 0,
            cost: 0,
            in_loop: false,
            bytes: 0,
            bytes_max: 0,
            used: vec![0; grammar.rows.len()],
        }
    }

    /// The text of a group whose function is called `name`.
    pub fn group(&mut self, name: &str) -> String {
        (self.scope, self.bytes, self.nesting, self.cost) = (Scope::new(), 0, 0, 0);
        self.bytes_max = self.rng.random_range(GROUP_BYTES);
        self.sink = format!("log_{name}");
        let mut text = format!("{} = []\n", self.sink);
        let count = self.fresh("g");
        text += &format!("{count} = 0\n");
        self.scope.declare(Variable { name: count, kind: "int", binding: Binding::Own, cost: 0 });
        for _ in 0..self.rng.random_range(0..4) {
            text += &self.statement("top");
        }
        let (seen, kept) = (self.fresh("d"), self.fresh("l"));
        let own = |(name, kind): (&str, Kind)| Variable { name: name.into(), kind, binding: Binding::Own, cost: 0 };
        let parameters = [
            ("board", "rows"),
            ("n", "int"),
            ("s", "str"),
            ("xs", "list"),
            ("x", "float"),
            (&seen, "dict"),
            (&kept, "list"),
        ];
        self.scope.enter(parameters.into_iter().map(own).collect(), true);
        let log = std::mem::replace(&mut self.sink, "out".into());
        let mut body = self.declarations();
        body += &format!("out = []\n{log}.clear()\n");
        for _ in 0..self.rng.random_range(3..9) {
            body += &self.statement("do");
        }
        self.scope.leave();
        body += &format!("return [out, {log}, board, xs, {seen}, {kept}]\n");
        text + &format!("def {name}(board, n, s, xs, x, {seen}={{}}, {kept}=[]):\n{}\n", indented(&body, 4))
    }

    /// A function `name` of no parameters which has this row, of otherwise the least.
    pub fn specimen(&mut self, name: &str, row: &'g Row) -> String {
        self.scope = Scope::new();
        self.sink = "out".into();
        self.bytes = GROUP_BYTES.end;
        self.scope.enter(Vec::new(), true);
        let mut text = "board = [[2, 0, 4, 4], [0, 2, 8, 8], [0, 0, 0, 2], [16, 2, 0, 0]]\nout = []\n".to_owned();
        for (kind, _) in &row.needs {
            let variable = self.fresh("v");
            text += &format!("{variable} = {}\n", self.expression(kind, 0, false));
            self.scope.declare(Variable { name: variable, kind, binding: Binding::Own, cost: 0 });
        }
        let filled = self.fill(row, 0, false, &mut Filling::default());
        text += &match row.kind {
            "do" | "top" => format!("{filled}\n"),
            "cut" => format!("out.append([1, 2, 3][{filled}])\n"),
            "key" => format!("out.append(sorted([1, 2, 3], key={filled}))\n"),
            // As a value: called where it stands it may be known.
            "fn" => format!("fn = {filled}\nout.append(fn(3))\n"),
            "pairfn" => format!("fn = {filled}\nout.append(fn(3, 4))\n"),
            "listfn" => format!("fn = {filled}\nout.append(fn([3, 4]))\n"),
            "set" => format!("out.append(len({filled}))\n"),
            _ => format!("out.append({filled})\n"),
        };
        self.scope.leave();
        format!("def {name}():\n{}", indented(&(text + "return out\n"), 4))
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn chance(&mut self, share: f64) -> bool {
        self.rng.random_bool(share)
    }

    /// `nonlocal` and `global` at the head of a function.
    fn declarations(&mut self) -> String {
        let mut text = String::new();
        for (binding, word) in [(Binding::Own, "nonlocal"), (Binding::Global, "global")] {
            let kind = ["int", "list", "str"][self.rng.random_range(0..3)];
            let found = self.scope.outer(kind, binding);
            let parameters = self.scope.bindable(kind);
            let share = if word == "nonlocal" { 0.5 } else { 0.3 };
            if let Some(variable) = found.choose(&mut self.rng).filter(|v| parameters.iter().all(|p| p.name != v.name))
                && self.rng.random_bool(share)
            {
                text += &format!("{word} {}\n", variable.name);
                let binding = if word == "nonlocal" { Binding::Own } else { Binding::Global };
                self.scope.declare(Variable { binding, ..variable.clone() });
            }
        }
        text
    }

    /// One row of statements, with notes of what it bound, ending in a line break.
    fn statement(&mut self, kind: Kind) -> String {
        let full = self.bytes > self.bytes_max || self.nesting > 3;
        let row = self.pick(kind, full, false);
        let mut filling = Filling::default();
        let outside = std::mem::take(&mut self.cost);
        let mut text = self.fill(row, 3, false, &mut filling);
        text.push('\n');
        for mut variable in filling.declared {
            if variable.kind.ends_with("fn") {
                variable.cost = variable.cost.max(self.cost);
            }
            self.scope.declare(variable);
        }
        self.cost = self.cost.max(outside);
        if kind == "do" && !(self.scope.is_module()) {
            for (name, kind) in filling.notable {
                text += &self.note(&name, kind);
            }
            if self.in_loop && self.chance(0.08) {
                let condition = self.expression("bool", 1, false);
                text += &format!("if {condition}:\n    {}\n", if self.chance(0.5) { "break" } else { "continue" });
            }
        }
        self.bytes += text.len();
        text
    }

    /// A line that keeps what a variable holds, or a copy of it.
    fn note(&mut self, name: &str, kind: Kind) -> String {
        if self.nesting > 2 && self.chance(0.5) {
            return String::new();
        }
        let copied = self.chance(0.5);
        let value = match kind {
            "fn" => format!("{name}({})", self.rng.random_range(-3..9)),
            "pairfn" => format!("{name}(3, 1)"),
            "listfn" => format!("{name}([3, 1, 2])"),
            "set" => format!("sorted({name})"),
            "list" | "rows" | "strs" if copied => format!("{name}[:]"),
            "dict" | "words" if copied => format!("dict({name})"),
            _ => name.to_owned(),
        };
        format!("{}.append({value})\n", self.sink)
    }

    fn statements(&mut self, count: u32) -> String {
        (0..count).map(|_| self.statement("do")).collect()
    }

    /// An expression; `strict` where no assignment may stand in it.
    pub fn expression(&mut self, kind: Kind, depth: u32, strict: bool) -> String {
        let cost_max = COST_MAX.saturating_sub(self.nesting);
        let known = self.scope.of(kind, cost_max);
        if !known.is_empty() && self.chance(if depth == 0 { 0.75 } else { 0.3 }) {
            let variable = known.choose(&mut self.rng).unwrap();
            self.cost = self.cost.max(variable.cost);
            return variable.name.clone();
        }
        let row = self.pick(kind, depth == 0, strict);
        self.fill(row, depth.saturating_sub(1), strict, &mut Filling::default())
    }

    /// A row of that kind which may stand here.
    fn pick(&mut self, kind: Kind, leaf: bool, strict: bool) -> &'g Row {
        let fits = |row: &Row| {
            row.flavour.is_none_or(|flavour| self.flavours.contains(&flavour))
                && (!strict || row.strict())
                && (self.sink == "out" || !row.text.contains("board"))
                && row.needs.iter().all(|&(kind, bound)| {
                    !(if bound { self.scope.bindable(kind) } else { self.scope.of(kind, 9) }).is_empty()
                })
        };
        let allowed = |(index, row): &(usize, &Row)| !self.barred[*index] && fits(row);
        let fitting: Vec<(usize, &'g Row)> = self.grammar.of(kind).filter(allowed).collect();
        let leaves: Vec<(usize, &'g Row)> = fitting.iter().filter(|(_, row)| row.leaf).copied().collect();
        let rows = if leaf && !leaves.is_empty() { &leaves } else { &fitting };
        let (index, row) = rows.choose_weighted(&mut self.rng, |(_, row)| row.weight).expect("a row for each kind");
        self.used[*index] += 1;
        row
    }

    fn fill(&mut self, row: &'g Row, depth: u32, strict: bool, filling: &mut Filling) -> String {
        let mut text = String::new();
        self.pieces(&row.pieces, depth, strict, filling, &mut text);
        text
    }

    fn pieces(&mut self, pieces: &'g [Piece], depth: u32, strict: bool, filling: &mut Filling, text: &mut String) {
        for piece in pieces {
            match piece {
                Piece::Text(written) => *text += &written.replace("out.", &format!("{}.", self.sink)),
                Piece::Expression { kind, with, strict: own } => {
                    let known = self.known(with, filling);
                    let inside = !known.is_empty();
                    self.scope.enter(known, false);
                    self.nesting += u32::from(inside);
                    *text += &self.expression(kind, depth, strict || *own);
                    self.nesting -= u32::from(inside);
                    self.scope.leave();
                }
                Piece::Choice(choices) => {
                    let chosen = choices.choose(&mut self.rng).unwrap();
                    self.pieces(chosen, depth, strict, filling, text);
                }
                Piece::Block { with, looped } => {
                    let block = self.block(with, *looped, filling);
                    append_indented(text, &block);
                }
                Piece::Body { with, gives } => {
                    let body = self.body(with, gives, filling);
                    append_indented(text, &body);
                }
                Piece::Returned => {
                    let gives = self.returns.last().copied().unwrap_or("any");
                    *text += &self.expression(gives, depth, strict);
                }
                name => *text += &self.name(name, filling),
            }
        }
    }

    /// The name that a piece stands for.
    fn name(&mut self, piece: &Piece, filling: &mut Filling) -> String {
        match *piece {
            Piece::Hiding(letter) => {
                let hideable = self.scope.hideable();
                if let Some(name) = hideable.choose(&mut self.rng).filter(|_| self.rng.random_bool(0.25)) {
                    filling.names.insert(letter, name.clone());
                }
                self.local(letter, filling)
            }
            Piece::New(letter, kind) => {
                let name = self.local(letter, filling);
                filling.declared.push(Variable { name: name.clone(), kind, binding: Binding::Own, cost: 0 });
                filling.notable.push((name.clone(), kind));
                name
            }
            Piece::Rebound(letter, kind) | Piece::Changed(letter, kind) => {
                let bound = matches!(piece, Piece::Rebound(..));
                let known = if bound { self.scope.bindable(kind) } else { self.scope.of(kind, 9) };
                let name = known.choose(&mut self.rng).expect("what the row needs").name.clone();
                filling.names.insert(letter, name.clone());
                filling.notable.push((name.clone(), kind));
                name
            }
            Piece::Local(letter) => self.local(letter, filling),
            _ => unreachable!("not a name: {piece:?}"),
        }
    }

    fn local(&mut self, letter: char, filling: &mut Filling) -> String {
        if let Some(name) = filling.names.get(&letter) {
            return name.clone();
        }
        let name = self.fresh(letter.encode_utf8(&mut [0; 4]));
        filling.names.insert(letter, name.clone());
        name
    }

    fn known(&mut self, with: &[(char, Kind)], filling: &mut Filling) -> Vec<Variable> {
        let known = |(letter, kind): &(char, Kind)| Variable {
            name: self.local(*letter, filling),
            kind,
            binding: Binding::Fixed,
            cost: 0,
        };
        with.iter().map(known).collect()
    }

    fn block(&mut self, with: &[(char, Kind)], looped: bool, filling: &mut Filling) -> String {
        let known = self.known(with, filling);
        self.scope.enter(known, false);
        self.nesting += u32::from(looped);
        let outside = self.in_loop;
        self.in_loop |= looped;
        let count = self.rng.random_range(1..3);
        let block = self.statements(count);
        self.in_loop = outside;
        self.nesting -= u32::from(looped);
        self.scope.leave();
        block
    }

    fn body(&mut self, with: &[(char, Kind)], gives: Kind, filling: &mut Filling) -> String {
        let mut parameters = self.known(with, filling);
        parameters.iter_mut().for_each(|parameter| parameter.binding = Binding::Own);
        self.scope.enter(parameters, true);
        let outside = (std::mem::take(&mut self.in_loop), std::mem::take(&mut self.cost));
        self.returns.push(gives);
        self.nesting += 1;
        let mut body = self.declarations();
        let count = self.rng.random_range(0..3);
        body += &self.statements(count);
        if self.chance(0.3) {
            let (condition, early) = (self.expression("bool", 2, false), self.expression(gives, 2, false));
            body += &format!("if {condition}:\n    return {early}\n");
        }
        body += &format!("return {}\n", self.expression(gives, 3, false));
        self.nesting -= 1;
        self.returns.pop();
        filling.declared.iter_mut().for_each(|function| function.cost = self.cost + 1);
        (self.in_loop, self.cost) = outside;
        self.scope.leave();
        body
    }
}

/// What filling a row in has come to.
#[derive(Default)]
struct Filling {
    names: BTreeMap<char, String>,
    declared: Vec<Variable>,
    notable: Vec<(String, Kind)>,
}
