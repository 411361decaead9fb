//! Mistakes that human authors make. Some break the program, some only weaken it.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::choice::pick;

/// Rewrites `body` with one mistake in it, or leaves it as it is where there is no place for the one that is drawn. The header
/// before it stays unchanged.
pub(super) fn make(rng: &mut ChaCha8Rng, body: &str) -> String {
    match rng.random_range(0..9) {
        0 => drop_character(rng, body),
        1 => drop_line(rng, body),
        2 => slip_indentation(rng, body),
        3 => replaced(body, pick(rng, &[["return", "retrun"], [":\n", "\n"], ["==", "="]])),
        4 => replaced(body, ["range(3)", "range(4)"]),
        5 => rename_one_use(rng, body),
        6 => drop_last_return(body),
        7 => lower_case(body),
        _ => replaced(body, pick(rng, &[["board[", "bord["], ["(board)", "(b)"], [" in board", " in b"]])),
    }
}

/// The body with the last occurrence of the first text replaced by the second, if there is one.
fn replaced(body: &str, [from, to]: [&str; 2]) -> String {
    match body.rfind(from) {
        Some(at) => format!("{}{to}{}", &body[..at], &body[at + from.len()..]),
        None => body.into(),
    }
}

fn drop_character(rng: &mut ChaCha8Rng, body: &str) -> String {
    let places: Vec<usize> = body.char_indices().filter(|(_, c)| !c.is_whitespace()).map(|(at, _)| at).collect();
    let at = pick(rng, &places);
    format!("{}{}", &body[..at], &body[at + 1..])
}

/// A line of `body` that may be changed, which excludes the rest of the header.
fn line(rng: &mut ChaCha8Rng, lines: &[&str]) -> usize {
    if lines.len() < 2 { 0 } else { rng.random_range(1..lines.len()) }
}

fn drop_line(rng: &mut ChaCha8Rng, body: &str) -> String {
    let mut lines: Vec<&str> = body.split_inclusive('\n').collect();
    if lines.len() > 2 {
        lines.remove(line(rng, &lines));
    }
    lines.concat()
}

fn slip_indentation(rng: &mut ChaCha8Rng, body: &str) -> String {
    let mut lines: Vec<&str> = body.split_inclusive('\n').collect();
    let at = line(rng, &lines);
    lines[at] = lines[at].strip_prefix(' ').unwrap_or(lines[at]);
    lines.concat()
}

fn rename_one_use(rng: &mut ChaCha8Rng, body: &str) -> String {
    let names =
        [["slide(", "shift("], ["can(", "check("], ["value(", "evaluate("], ["max(", "best("], ["s[0]", "i[0]"]];
    let present: Vec<_> = names.into_iter().filter(|[name, _]| body.contains(name)).collect();
    if present.is_empty() { drop_character(rng, body) } else { replaced(body, pick(rng, &present)) }
}

fn drop_last_return(body: &str) -> String {
    match body.rfind("    return") {
        Some(at) => format!("{}    pass\n", &body[..at]),
        None => body.into(),
    }
}

fn lower_case(body: &str) -> String {
    let mut lower = body.to_owned();
    for letter in ["W", "A", "S", "D"] {
        lower = lower.replace(&format!("\"{letter}\""), &format!("\"{}\"", letter.to_lowercase()));
    }
    lower
}
