//! Generates players that try moves on a copy of the board and take the best: one move ahead, two, or two or three with
//! new tiles between.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Style;
use super::board_code::{Call, Hand, Moving};
use super::choice::{order, pick, weighted};
use super::judgement;

/// How often players that search make all moves of a board at once.
const AT_ONCE: f64 = 0.1;
/// How often a third move is looked for among those that change something alone.
const CAREFUL: f64 = 0.15;

/// Further arguments and body of a program in one of the searching styles.
pub(super) fn program(rng: &mut ChaCha8Rng, style: Style) -> (String, String) {
    let searches = style.searches();
    // Deeper searches more often use the faster representation.
    let hand = if rng.random_bool(if searches { 0.7 } else { 0.5 }) { Hand::Tuples } else { Hand::Lists };
    let moving = Moving::draw(rng, hand, if searches { AT_ONCE } else { 0.0 });
    let name = weighted(rng, &[(3, "value"), (2, "score"), (1, "rate"), (1, "judge")]);
    let value = format!("{name}(N)");
    let looks_further = searches || rng.random_bool(0.1);
    let judgement = judgement::draw(rng, style, name, &moving, looks_further);
    let mut body = format!("{}{}", moving.text, judgement.text);
    if looks_further && !judgement.looks {
        body += &lookahead(rng, name, moving.call);
    }
    let third = style == Style::Deep;
    if matches!(style, Style::Chance | Style::Deep) {
        body += &chance(rng, hand, third);
    }
    if third {
        let careful = rng.random_bool(CAREFUL);
        body += &format!("    def deep(b):\n        return {}\n", moving.call.best("chance(N, look)", careful));
    }
    let (entry, board) = moving.entry(rng);
    body += entry;
    let (depth, value) = match style {
        Style::Deep => third_depth(rng, board),
        Style::Chance => depth(rng, if judgement.looks { "look" } else { name }, board),
        _ if looks_further => (String::new(), "look(N)".to_owned()),
        _ => (String::new(), value),
    };
    body += &depth;
    body += &match moving.call {
        Call::One(moves) => choosing(rng, &value, moves, board),
        Call::All(moves) => choosing_of_all(rng, &value, moves, board),
    };
    (moving.arguments(judgement.judges_lines), body)
}

/// A function for the best value after one more own move.
fn lookahead(rng: &mut ChaCha8Rng, value: &str, moves: Call) -> String {
    let also = if rng.random_bool(0.25) { format!("{value}(b) + ") } else { String::new() };
    format!("    def look(b):\n        return {also}{}\n", moves.best(&format!("{value}(N)"), false))
}

/// A function for the average over places of the new tile, often only the first few, because each costs four moves. For
/// a third move, what evaluates the boards with the new tile is an argument, and boards without a place for it come.
fn chance(rng: &mut ChaCha8Rng, hand: Hand, third: bool) -> String {
    let few = weighted(
        rng,
        &[
            (2, ""),
            (4, "        free = free[:2]\n"),
            (3, "        free = free[:3]\n"),
            (2, "        free = free[-2:]\n"),
            (1, "        free = free[::2]\n"),
        ],
    );
    let (arguments, look, mean) = match third {
        false => ("b", "look", "t / len(free)"),
        true => ("b, f", "f", pick(rng, &["t / max(1, len(free))", "t / (len(free) or 1)"])),
    };
    let place = match hand {
        Hand::Lists => format!(
            "            b[i][j] = 2
            t += {look}(b)
            b[i][j] = 0
"
        ),
        Hand::Tuples => format!(
            "            r = b[i]
            b[i] = r[:j] + (2,) + r[j + 1:]
            t += {look}(b)
            b[i] = r
"
        ),
    };
    format!(
        "    def chance({arguments}):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
{few}        t = 0
        for i, j in free:
{place}        return {mean}
"
    )
}

/// Which function evaluates a move: always the one with the new tile, or only when the board is nearly full. The
/// statement, and the value of the board `N`.
fn depth(rng: &mut ChaCha8Rng, value: &str, board: &str) -> (String, String) {
    if rng.random_bool(0.75) {
        return (String::new(), "chance(N)".into());
    }
    let least = pick(rng, &[4, 5, 6, 8]);
    let shallow = pick(rng, &["look", value]);
    (format!("    f = chance if sum(r.count(0) for r in {board}) < {least} else {shallow}\n"), "f(N)".into())
}

/// When the third move is looked at: always, or only when the board is nearly full.
fn third_depth(rng: &mut ChaCha8Rng, board: &str) -> (String, String) {
    if rng.random_bool(0.15) {
        return (String::new(), "chance(N, deep)".into());
    }
    let least = pick(rng, &[2, 3, 4, 5, 6, 8]);
    let statement = format!("    f = deep if sum(r.count(0) for r in {board}) < {least} else look\n");
    (statement, "chance(N, f)".into())
}

/// Tries the moves and returns the best. One program in eight forgets that a move may change nothing, which is the
/// first thing that rewards teach.
fn choosing(rng: &mut ChaCha8Rng, value: &str, moves: &str, board: &str) -> String {
    let order = order(rng);
    let checked = rng.random_bool(0.88);
    if rng.random_bool(0.4) {
        let (legal, letters) = match checked {
            true => (
                format!("    moves = [m for m in \"{order}\" if {moves}({board}, m) != {board}]\n"),
                "moves".to_owned(),
            ),
            false => (String::new(), format!("\"{order}\"")),
        };
        let value = value.replace('N', &format!("{moves}({board}, m)"));
        return format!("{legal}    return max({letters}, key=lambda m: {value})\n");
    }
    let check = match (checked, rng.random_bool(0.5)) {
        (false, _) => "",
        (true, true) => "        if n == BOARD:\n            continue\n",
        (true, false) => "        if n != BOARD:\n",
    };
    let inner = if check.contains("!=") { "    " } else { "" };
    let head = format!("    for m in \"{order}\":\n        n = {moves}({board}, m)\n{}", check.replace("BOARD", board));
    keeping_the_best(rng, &order[..1], &head, &format!("{inner}        s = {}\n", value.replace('N', "n")))
}

/// The same where all moves are made at once.
fn choosing_of_all(rng: &mut ChaCha8Rng, value: &str, moves: &str, board: &str) -> String {
    if rng.random_bool(0.6) {
        let value = value.replace('N', "n[0]");
        return format!("    return max({moves}({board}), key=lambda n: {value})[1]\n");
    }
    let head = format!("    for n, m in {moves}({board}):\n");
    let first = pick(rng, &["W", "A", "S", "D"]);
    keeping_the_best(rng, first, &head, &format!("        s = {}\n", value.replace('N', "n")))
}

/// A loop that begins with `head`, evaluates a move as `s` by `scoring`, and keeps the best; `first` is the answer if
/// there is none.
fn keeping_the_best(rng: &mut ChaCha8Rng, first: &str, head: &str, scoring: &str) -> String {
    let best = pick(rng, &["best", "top"]);
    let choice = pick(rng, &["ans", "choice"]);
    let sign = weighted(rng, &[(33, ">"), (1, "<")]);
    let least = weighted(rng, &[(20, "-10 ** 9"), (10, "-1e9"), (1, "-1")]);
    let inner = &scoring[..scoring.len() - scoring.trim_start().len()];
    format!(
        "    {best} = {least}
    {choice} = \"{first}\"
{head}{scoring}{inner}if s {sign} {best}:
{inner}    {best} = s
{inner}    {choice} = m
    return {choice}
"
    )
}
