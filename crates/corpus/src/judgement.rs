//! Generates functions that evaluate a board: by a sum of terms over the whole board, or line by line with a cache.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Style;
use super::board_code::{Hand, Moving, remembered};
use super::choice::{pick, weighted};
use super::terms::{self, Term};

/// How often players that search give every row its own weights, where they cache rows.
const WEIGHS_ROWS: f64 = 0.1;
/// How often a player that looks one move further and weighs its rows reads their values after a move from a table.
const READS_AHEAD: f64 = 0.5;

/// The functions, and whether they cache the values of lines.
#[derive(Debug, Clone)]
pub(super) struct Judgement {
    pub text: String,
    pub judges_lines: bool,
    /// Whether they are those of `look`, the value after the best further move, rather than of a board as it lies.
    pub looks: bool,
}

/// A term in the value of one line `r`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Room,
    Merges,
    Squares,
    Distinct,
    Slope,
    Ends,
    Smooth,
    Sorted,
    Powers,
    Turns,
}

/// Draws a function `name` that evaluates a board `b` in the manner of `style`, or, for a player that `looks_further`,
/// perhaps the function `look` itself.
pub(super) fn draw(rng: &mut ChaCha8Rng, style: Style, name: &str, moving: &Moving, looks_further: bool) -> Judgement {
    let weighs_rows = match style {
        Style::Snake => true,
        _ if style.searches() => rng.random_bool(WEIGHS_ROWS),
        _ => false,
    };
    let by_line = match (moving.hand, style) {
        (Hand::Lists, _) => false,
        (Hand::Tuples, _) if weighs_rows => {
            let looks = looks_further && rng.random_bool(READS_AHEAD);
            let text = if looks { by_weights_ahead(rng, moving) } else { by_weights(rng, name, moving.judged) };
            return Judgement { text, judges_lines: true, looks };
        }
        (Hand::Tuples, Style::Corner) => rng.random_bool(0.6),
        (Hand::Tuples, _) => rng.random_bool(0.8),
    };
    let text = match by_line {
        true => by_lines(rng, style, name, moving.judged),
        false => by_terms(rng, style, name),
    };
    Judgement { text, judges_lines: by_line, looks: false }
}

fn by_terms(rng: &mut ChaCha8Rng, style: Style, name: &str) -> String {
    let drawn = terms::draw(rng, style);
    let table = drawn.table.map(|table| format!("    W = {table}\n")).unwrap_or_default();
    let head = format!("{table}    def {name}(b):\n");
    if let [Term::Expression(expression)] = &drawn.terms[..] {
        return format!("{head}        return {expression}\n");
    }
    head + &summed(&drawn.terms) + "        return v\n"
}

/// Statements that add terms up in `v`.
fn summed(terms: &[Term]) -> String {
    let mut text = String::new();
    for term in terms {
        match term {
            Term::Expression(expression) => {
                let sign = if text.is_empty() { "=" } else { "+=" };
                text += &format!("        v {sign} {expression}\n");
            }
            Term::Statements(statements) => {
                if text.is_empty() {
                    text += "        v = 0\n";
                }
                text += statements;
            }
        }
    }
    text
}

/// A function that gives every row and column the same value wherever it lies.
fn by_lines(rng: &mut ChaCha8Rng, style: Style, name: &str, memory: &str) -> String {
    let mut kinds = vec![weighted(rng, leading(style))];
    for _ in 0..weighted(rng, &[(2, 0), (5, 1), (4, 2)]) {
        let kind = weighted(rng, &FOLLOWING);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let terms: Vec<Term> = kinds.iter().map(|kind| term(rng, *kind)).collect();
    let line = pick(rng, &["line", "line", "worth"]);
    let function = match &terms[..] {
        [Term::Expression(expression)] => remembered(line, memory, "", expression),
        _ => remembered(line, memory, &summed(&terms), "v"),
    };
    let sum = match rng.random_range(0..7) {
        0..3 => format!("sum(map({line}, b)) + sum(map({line}, zip(*b)))"),
        3..5 => format!("sum({line}(r) for r in b) + sum({line}(r) for r in zip(*b))"),
        _ => format!("sum(map({line}, b + list(zip(*b))))"),
    };
    format!("{function}    def {name}(b):\n        return {sum}\n")
}

const FOLLOWING: [(u32, Kind); 6] =
    [(6, Kind::Room), (5, Kind::Merges), (2, Kind::Ends), (1, Kind::Smooth), (1, Kind::Slope), (1, Kind::Turns)];

fn leading(style: Style) -> &'static [(u32, Kind)] {
    match style {
        Style::Short | Style::Legal | Style::Merge => {
            &[(5, Kind::Room), (4, Kind::Merges), (2, Kind::Squares), (2, Kind::Distinct)]
        }
        Style::Corner | Style::Snake => &[(5, Kind::Slope), (4, Kind::Ends)],
        Style::Smooth => &[(4, Kind::Smooth), (3, Kind::Sorted), (2, Kind::Powers), (3, Kind::Turns)],
        Style::Ahead | Style::Chance | Style::Deep => &[
            (3, Kind::Room),
            (2, Kind::Merges),
            (2, Kind::Squares),
            (1, Kind::Distinct),
            (3, Kind::Slope),
            (2, Kind::Ends),
            (2, Kind::Smooth),
            (1, Kind::Sorted),
            (1, Kind::Powers),
            (2, Kind::Turns),
        ],
    }
}

fn term(rng: &mut ChaCha8Rng, kind: Kind) -> Term {
    let factor = pick(rng, &[1, 2, 5, 10, 20, 50, 100, 200, 500]);
    let pairs = "for x, y in zip(r, r[1:])";
    Term::Expression(match kind {
        Kind::Room => format!("{factor} * r.count(0)"),
        Kind::Merges => format!("{factor} * sum(x == y > 0 {pairs})"),
        Kind::Squares => "sum(x * x for x in r)".into(),
        Kind::Distinct => format!("-{factor} * len(set(r))"),
        Kind::Slope => {
            let weights = pick(rng, &["(8, 4, 2, 1)", "(1, 2, 4, 8)", "(3, 2, 1, 0)", "(0, 1, 3, 9)", "(27, 9, 3, 1)"]);
            format!("sum(x * w for x, w in zip(r, {weights}))")
        }
        Kind::Ends => format!("{factor} * (max(r) in (r[0], r[3]))"),
        Kind::Smooth => format!("-{factor} * sum(abs(x.bit_length() - y.bit_length()) {pairs})"),
        Kind::Sorted => format!("{factor} * (sorted(r) in (list(r), list(r[::-1])))"),
        Kind::Powers => {
            let power = pick(rng, &[2, 3, 4]);
            format!("-{factor} * sum(x.bit_length() ** {power} for x in r)")
        }
        Kind::Turns => return Term::Statements(terms::turns(rng)),
    })
}

/// The value of a row as an expression of the row `r`, which has the weights `W[i]`.
fn weighted_row(rng: &mut ChaCha8Rng) -> String {
    let worth = pick(rng, &["x * 2 ** y", "x * 2 ** y", "x * 3 ** y", "x * 4 ** y", "x * y", "x * y"]);
    let extra = match rng.random_range(0..7) {
        0..3 => String::new(),
        3..6 => format!(" + {} * r.count(0)", pick(rng, &[10, 50, 100, 500, 1000])),
        _ => format!(" + {} * sum(x == y > 0 for x, y in zip(r, r[1:]))", pick(rng, &[10, 50, 100, 500, 1000])),
    };
    format!("sum({worth} for x, y in zip(r, W[i])){extra}")
}

/// A function that gives every row its own weights.
fn by_weights(rng: &mut ChaCha8Rng, name: &str, memory: &str) -> String {
    let table = terms::table(rng);
    let value = weighted_row(rng);
    format!(
        "    W = {table}
    def row(r, i):
        if (r, i) not in {memory}:
            {memory}[r, i] = {value}
        return {memory}[r, i]
    def {name}(b):
        return sum(map(row, b, range(4)))
"
    )
}

/// A function for the value of the best board after one more move, which moves no board: a row is asked for its value
/// after sliding either way, and columns are rows with the columns' weights.
fn by_weights_ahead(rng: &mut ChaCha8Rng, moving: &Moving) -> String {
    let (memory, slide) = (moving.judged, moving.slide);
    let table = terms::table(rng);
    let value = weighted_row(rng);
    let look = pick(
        rng,
        &[
            "        t = list(zip(*b))
        l = d = u = v = 0
        for i in range(4):
            x, y = row(b[i], i)
            l += x
            d += y
            x, y = row(t[i], i + 4)
            u += x
            v += y
        return max(l, d, u, v)
",
            "        x, y = zip(*map(row, b, range(4)))
        u, v = zip(*map(row, zip(*b), range(4, 8)))
        return max(sum(x), sum(y), sum(u), sum(v))
",
        ],
    );
    format!(
        "    W = {table}
    W += zip(*W)
    def row(r, i):
        if (r, i) not in {memory}:
            {memory}[r, i] = [{value} for r in ({slide}(r), {slide}(r[::-1])[::-1])]
        return {memory}[r, i]
    def look(b):
{look}"
    )
}
