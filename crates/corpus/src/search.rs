//! Generates players that try moves on a copy of the board and take the best: one move ahead, two, or two with the new
//! tile between.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Style;
use super::board_code::{Hand, Moving};
use super::choice::{order, pick, weighted};
use super::judgement;

/// Further arguments and body of a program in one of the searching styles.
pub(super) fn program(rng: &mut ChaCha8Rng, style: Style) -> (String, String) {
    // Deeper searches more often use the faster representation.
    let thrifty = if matches!(style, Style::Ahead | Style::Chance) { 0.7 } else { 0.5 };
    let hand = if rng.random_bool(thrifty) { Hand::Tuples } else { Hand::Lists };
    let moving = Moving::draw(rng, hand);
    let value = weighted(rng, &[(3, "value"), (2, "score"), (1, "rate"), (1, "judge")]);
    let judgement = judgement::draw(rng, style, value, &moving);
    let mut body = format!("{}{}", moving.text, judgement.text);
    let look = match style {
        Style::Chance => {
            body += &lookahead(rng, value, moving.name);
            body += &chance(rng, hand);
            "chance"
        }
        _ if style == Style::Ahead || rng.random_bool(0.1) => {
            body += &lookahead(rng, value, moving.name);
            "look"
        }
        _ => value,
    };
    let (entry, board) = moving.entry(rng);
    body += entry;
    let (depth, look) = if style == Style::Chance { depth(rng, value, board) } else { (String::new(), look) };
    body += &depth;
    (moving.arguments(judgement.judges_lines), body + &choosing(rng, look, moving.name, board))
}

/// A function for the best value after one more own move.
fn lookahead(rng: &mut ChaCha8Rng, value: &str, moves: &str) -> String {
    let also = if rng.random_bool(0.25) { format!("{value}(b) + ") } else { String::new() };
    format!("    def look(b):\n        return {also}max({value}({moves}(b, m)) for m in \"WASD\")\n")
}

/// A function for the average over places of the new tile, often only the first few, because each costs four moves.
fn chance(rng: &mut ChaCha8Rng, hand: Hand) -> String {
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
    let place = match hand {
        Hand::Lists => {
            "            b[i][j] = 2
            t += look(b)
            b[i][j] = 0
"
        }
        Hand::Tuples => {
            "            r = b[i]
            b[i] = r[:j] + (2,) + r[j + 1:]
            t += look(b)
            b[i] = r
"
        }
    };
    format!(
        "    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
{few}        t = 0
        for i, j in free:
{place}        return t / len(free)
"
    )
}

/// Which function evaluates a move: always the one with the new tile, or only when the board is nearly full.
fn depth(rng: &mut ChaCha8Rng, value: &str, board: &str) -> (String, &'static str) {
    if rng.random_bool(0.75) {
        return (String::new(), "chance");
    }
    let least = pick(rng, &[4, 5, 6, 8]);
    let shallow = pick(rng, &["look", value]);
    (format!("    f = chance if sum(r.count(0) for r in {board}) < {least} else {shallow}\n"), "f")
}

/// Tries the moves and returns the best. One program in eight forgets that a move may change nothing, which is the
/// first thing that rewards teach.
fn choosing(rng: &mut ChaCha8Rng, look: &str, moves: &str, board: &str) -> String {
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
        return format!("{legal}    return max({letters}, key=lambda m: {look}({moves}({board}, m)))\n");
    }
    let best = pick(rng, &["best", "top"]);
    let choice = pick(rng, &["ans", "choice"]);
    let check = match (checked, rng.random_bool(0.5)) {
        (false, _) => "",
        (true, true) => "        if n == BOARD:\n            continue\n",
        (true, false) => "        if n != BOARD:\n",
    };
    let sign = weighted(rng, &[(33, ">"), (1, "<")]);
    let least = weighted(rng, &[(20, "-10 ** 9"), (10, "-1e9"), (1, "-1")]);
    let inner = if check.contains("!=") { "    " } else { "" };
    let check = check.replace("BOARD", board);
    format!(
        "    {best} = {least}
    {choice} = \"{}\"
    for m in \"{order}\":
        n = {moves}({board}, m)
{check}{inner}        s = {look}(n)
{inner}        if s {sign} {best}:
{inner}            {best} = s
{inner}            {choice} = m
    return {choice}
",
        &order[..1]
    )
}
