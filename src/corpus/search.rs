//! Players that try moves on a copy of the board and keep the best: one move ahead, two, or two with chance between.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Style;
use super::choice::{order, pick, weighted};
use super::terms::{self, Term};

/// Functions that slide a row and move a whole board.
pub(super) struct Moving {
    /// Both definitions.
    pub text: String,
    /// What the function that moves a board is called.
    pub name: &'static str,
}

const SLIDES: [(u32, &str); 4] = [
    (
        5,
        "    def slide(r):
        t = [x for x in r if x]
        o = []
        while t:
            if len(t) > 1 and t[0] == t[1]:
                o.append(2 * t[0])
                t = t[2:]
            else:
                o.append(t[0])
                t = t[1:]
        return o + [0] * (4 - len(o))
",
    ),
    (
        5,
        "    def slide(r):
        t = [x for x in r if x]
        i = 0
        while i < len(t) - 1:
            if t[i] == t[i + 1]:
                t[i] *= 2
                t.pop(i + 1)
            i += 1
        return t + [0] * (4 - len(t))
",
    ),
    (
        5,
        "    def slide(r):
        o = []
        last = 0
        for x in r:
            if x == 0:
                continue
            if x == last:
                o[-1] = 2 * x
                last = 0
            else:
                o.append(x)
                last = x
        return o + [0] * (4 - len(o))
",
    ),
    // Forgets that equal tiles merge.
    (
        2,
        "    def slide(r):
        t = [x for x in r if x]
        return t + [0] * (4 - len(t))
",
    ),
];

const MOVES: [(u32, &str); 3] = [
    (
        4,
        "    def move(b, m):
        if m in \"WS\":
            b = [list(c) for c in zip(*b)]
        if m in \"DS\":
            b = [r[::-1] for r in b]
        b = [slide(r) for r in b]
        if m in \"DS\":
            b = [r[::-1] for r in b]
        if m in \"WS\":
            b = [list(c) for c in zip(*b)]
        return b
",
    ),
    (
        4,
        "    def move(b, m):
        if m == \"A\":
            return [slide(r) for r in b]
        if m == \"D\":
            return [slide(r[::-1])[::-1] for r in b]
        t = [list(c) for c in zip(*b)]
        if m == \"W\":
            t = [slide(r) for r in t]
        else:
            t = [slide(r[::-1])[::-1] for r in t]
        return [list(c) for c in zip(*t)]
",
    ),
    (
        1,
        "    def move(b, m):
        k = \"ASDW\".index(m)
        for i in range(k):
            b = [list(c) for c in zip(*b[::-1])]
        b = [slide(r) for r in b]
        for i in range(k, 4):
            b = [list(c) for c in zip(*b[::-1])]
        return b
",
    ),
];

/// Draws the two functions every search stands on.
pub(super) fn moving(rng: &mut ChaCha8Rng) -> Moving {
    let slide = weighted(rng, &[(3, "slide"), (1, "squash")]);
    let name = weighted(rng, &[(3, "move"), (1, "after")]);
    let text = format!("{}{}", weighted(rng, &SLIDES), weighted(rng, &MOVES));
    Moving { text: text.replace("slide(", &format!("{slide}(")).replace("move(", &format!("{name}(")), name }
}

/// Body of a program of one of the searching styles.
pub(super) fn program(rng: &mut ChaCha8Rng, style: Style) -> String {
    let moving = moving(rng);
    let value = pick(rng, &["value", "score", "rate"]);
    let mut body = moving.text;
    body += &evaluation(rng, style, value);
    let look = match style {
        Style::Chance => {
            body += &lookahead(rng, value, moving.name);
            body += &chance(rng);
            "chance"
        }
        _ if style == Style::Ahead || rng.random_bool(0.12) => {
            body += &lookahead(rng, value, moving.name);
            "look"
        }
        _ => value,
    };
    body + &choosing(rng, look, moving.name)
}

fn evaluation(rng: &mut ChaCha8Rng, style: Style, name: &str) -> String {
    let drawn = terms::draw(rng, style);
    let mut text = String::new();
    if let Some(table) = drawn.table {
        text += &format!("    W = {table}\n");
    }
    text += &format!("    def {name}(b):\n");
    let mut started = false;
    for term in &drawn.terms {
        match term {
            Term::Expression(expression) if drawn.terms.len() == 1 => {
                return text + &format!("        return {expression}\n");
            }
            Term::Expression(expression) => {
                let sign = if started { "+=" } else { "=" };
                text += &format!("        v {sign} {expression}\n");
            }
            Term::Statements(statements) => {
                if !started {
                    text += "        v = 0\n";
                }
                text += statements;
            }
        }
        started = true;
    }
    text + "        return v\n"
}

/// The best a further own move can do.
fn lookahead(rng: &mut ChaCha8Rng, value: &str, moves: &str) -> String {
    let also = if rng.random_bool(0.3) { format!("{value}(b) + ") } else { String::new() };
    format!("    def look(b):\n        return {also}max({value}({moves}(b, m)) for m in \"WASD\")\n")
}

/// The average over places where a new tile may appear, often only the first few: each costs four moves.
fn chance(rng: &mut ChaCha8Rng) -> String {
    let few = weighted(
        rng,
        &[
            (1, ""),
            (4, "        free = free[:2]\n"),
            (2, "        free = free[:3]\n"),
            (2, "        free = free[-2:]\n"),
        ],
    );
    format!(
        "    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
{few}        t = 0
        for i, j in free:
            b[i][j] = 2
            t += look(b)
            b[i][j] = 0
        return t / len(free)
"
    )
}

/// Tries the moves and returns the best. One author in three forgets that a move may change nothing,
/// which is the first thing rewards teach.
fn choosing(rng: &mut ChaCha8Rng, look: &str, moves: &str) -> String {
    let order = order(rng);
    let checked = rng.random_bool(2.0 / 3.0);
    if rng.random_bool(0.4) {
        let (legal, letters) = match checked {
            true => {
                (format!("    moves = [m for m in \"{order}\" if {moves}(board, m) != board]\n"), "moves".to_owned())
            }
            false => (String::new(), format!("\"{order}\"")),
        };
        return format!("{legal}    return max({letters}, key=lambda m: {look}({moves}(board, m)))\n");
    }
    let best = pick(rng, &["best", "top"]);
    let choice = pick(rng, &["ans", "choice"]);
    let check = if checked { "        if n == board:\n            continue\n" } else { "" };
    let sign = weighted(rng, &[(23, ">"), (2, "<")]);
    let least = weighted(rng, &[(9, "-10 ** 9"), (1, "-1")]);
    format!(
        "    {best} = {least}
    {choice} = \"{}\"
    for m in \"{order}\":
        n = {moves}(board, m)
{check}        s = {look}(n)
        if s {sign} {best}:
            {best} = s
            {choice} = m
    return {choice}
",
        &order[..1]
    )
}
