//! Slips of every kind in a program that works: most mutants raise or play oddly, which is what the tiers must agree on.
//!
//! Takes a text and a source of chance; gives another text, which still parses.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::Visitor;
use ruff_text_size::Ranged;

use crate::reducer::Expressions;

/// Slips that are tried before a text is left as it is.
const TRIES: u32 = 30;

const OPERATORS: [&str; 13] = ["+", "-", "*", "//", "%", "**", "/", "&", "|", "^", ">>", "<<", "@"];
const COMPARISONS: [&str; 10] = ["==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"];
const ASSIGNMENTS: [&str; 10] = ["=", "+=", "-=", "*=", "//=", "%=", "|=", "&=", "**=", ">>="];
const NUMBERS: &str = "0 1 -1 2 3 4 5 10 0.5 -2.5 1099511627776 4611686018427387903 True None 'W' '' [] 1e308";
const FUNCTIONS: &str = "sum max min len list tuple sorted set abs any all zip range int float bool enumerate reversed \
    str map dict round filter next";
const METHODS: &str = "append pop count index bit_length copy extend remove insert sort reverse get items keys values \
    clear update setdefault add join upper find";
const SLICES: [&str; 12] = ["0", "-1", "5", "-6", "::-1", "1:", ":-1", "::2", "-2:", "None:", "1.0", "True"];

/// A text with one to three slips.
pub fn mutant(text: &str, rng: &mut ChaCha8Rng) -> String {
    let mut mutant = text.to_owned();
    for _ in 0..[1, 1, 2, 3].choose(rng).copied().unwrap_or(1) {
        let slipped = (0..TRIES).find_map(|_| slip(&mutant, rng).filter(|text| *text != mutant && parses(text)));
        mutant = slipped.unwrap_or(mutant);
    }
    mutant
}

fn parses(text: &str) -> bool {
    ruff_python_parser::parse_module(text).is_ok()
}

fn slip(text: &str, rng: &mut ChaCha8Rng) -> Option<String> {
    match rng.random_range(0..10) {
        0..6 => token(text, rng),
        6 | 7 => expression(text, rng),
        _ => line(text, rng),
    }
}

fn one_of(words: &str, rng: &mut ChaCha8Rng) -> Option<String> {
    words.split(' ').map(str::to_owned).collect::<Vec<_>>().choose(rng).cloned()
}

/// Another token of the same sort.
fn token(text: &str, rng: &mut ChaCha8Rng) -> Option<String> {
    let parsed = ruff_python_parser::parse_module(text).ok()?;
    let tokens: Vec<_> = parsed.tokens().iter().filter(|token| !token.range().is_empty()).collect();
    let index = rng.random_range(0..tokens.len().max(1));
    let token = tokens.get(index)?;
    let before = index.checked_sub(1).map(|index| tokens[index].kind());
    let written = &text[token.range()];
    let new = match token.kind() {
        TokenKind::Int | TokenKind::Float => one_of(NUMBERS, rng)?,
        TokenKind::Name if before == Some(TokenKind::Dot) => one_of(METHODS, rng)?,
        TokenKind::Name if FUNCTIONS.split(' ').any(|name| name == written) => one_of(FUNCTIONS, rng)?,
        TokenKind::Name => {
            let names: Vec<_> = tokens.iter().filter(|token| token.kind() == TokenKind::Name).collect();
            text[names.choose(rng)?.range()].to_owned()
        }
        TokenKind::Lsqb if rng.random_bool(0.5) => format!("[{}][", SLICES.choose(rng)?),
        TokenKind::Not => String::new(),
        TokenKind::If | TokenKind::While => format!("{written} not"),
        TokenKind::And => "or".into(),
        TokenKind::Or => "and".into(),
        TokenKind::Break => "continue".into(),
        TokenKind::Continue => "break".into(),
        _ if OPERATORS.contains(&written) => (*OPERATORS.choose(rng)?).to_owned(),
        _ if COMPARISONS.contains(&written) => (*COMPARISONS.choose(rng)?).to_owned(),
        _ if ASSIGNMENTS.contains(&written) => (*ASSIGNMENTS.choose(rng)?).to_owned(),
        _ => return None,
    };
    Some(replaced(text, token.range().into(), &new))
}

/// One expression in the place of another, or a part in the place of the whole.
fn expression(text: &str, rng: &mut ChaCha8Rng) -> Option<String> {
    let parsed = ruff_python_parser::parse_module(text).ok()?;
    let mut found = Expressions::default();
    found.visit_body(parsed.suite());
    let (to, from) = (*found.0.choose(rng)?, *found.0.choose(rng)?);
    Some(replaced(text, to.into(), &format!("({})", &text[from])))
}

/// A line gone, doubled, exchanged with its neighbour, or moved in or out.
fn line(text: &str, rng: &mut ChaCha8Rng) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = rng.random_range(0..lines.len().max(1));
    match rng.random_range(0..5) {
        0 => drop((at < lines.len()).then(|| lines.remove(at))),
        1 => lines.insert(at, lines.get(at)?.clone()),
        2 if at + 1 < lines.len() => lines.swap(at, at + 1),
        3 => lines.get_mut(at)?.insert_str(0, "    "),
        _ => {
            let line = lines.get_mut(at)?;
            *line = line.strip_prefix("    ")?.to_owned();
        }
    }
    Some(lines.join("\n") + "\n")
}

fn replaced(text: &str, range: std::ops::Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}
