//! Generates the two functions that searching programs need: one slides a row, one makes a move on a whole board.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::choice::{pick, weighted};

/// How a program represents a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hand {
    /// As lists of lists, computed anew each time.
    Lists,
    /// As a list of tuples, with results cached in dictionaries among the arguments: about four times faster.
    Tuples,
}

/// The functions that slide a row and move a board, and what the rest of the program needs to know of them.
#[derive(Debug, Clone)]
pub(super) struct Moving {
    pub hand: Hand,
    /// Both definitions.
    pub text: String,
    /// Name of the function that moves a board.
    pub name: &'static str,
    /// Name of the cache of slid rows.
    memory: &'static str,
    /// Name of the cache of judged rows.
    pub judged: &'static str,
}

/// Weight, statements, and the expression of the result.
const SLIDES: [(u32, (&str, &str)); 5] = [
    (
        5,
        (
            "        t = [x for x in r if x]
        o = []
        while t:
            if len(t) > 1 and t[0] == t[1]:
                o.append(2 * t[0])
                t = t[2:]
            else:
                o.append(t[0])
                t = t[1:]
",
            "o + [0] * (4 - len(o))",
        ),
    ),
    (
        5,
        (
            "        t = [x for x in r if x]
        i = 0
        while i < len(t) - 1:
            if t[i] == t[i + 1]:
                t[i] *= 2
                t.pop(i + 1)
            i += 1
",
            "t + [0] * (4 - len(t))",
        ),
    ),
    (
        5,
        (
            "        o = []
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
",
            "o + [0] * (4 - len(o))",
        ),
    ),
    (
        3,
        (
            "        t = [x for x in r if x]
        for i in range(len(t) - 1):
            if t[i] == t[i + 1]:
                t[i] *= 2
                t[i + 1] = 0
        t = [x for x in t if x]
",
            "t + [0] * (4 - len(t))",
        ),
    ),
    // This variant forgets to merge equal tiles.
    (1, ("        t = [x for x in r if x]\n", "t + [0] * (4 - len(t))")),
];

/// `turn(...)` stands for the transposition in the board's representation.
const MOVES: [(u32, &str); 4] = [
    (
        4,
        "    def move(b, m):
        if m in \"WS\":
            b = turn(b)
        if m in \"DS\":
            b = [slide(r[::-1])[::-1] for r in b]
        else:
            b = [slide(r) for r in b]
        if m in \"WS\":
            b = turn(b)
        return b
",
    ),
    (
        3,
        "    def move(b, m):
        if m in \"WS\":
            b = turn(b)
        if m in \"DS\":
            b = [r[::-1] for r in b]
        b = [slide(r) for r in b]
        if m in \"DS\":
            b = [r[::-1] for r in b]
        if m in \"WS\":
            b = turn(b)
        return b
",
    ),
    (
        3,
        "    def move(b, m):
        if m == \"A\":
            return [slide(r) for r in b]
        if m == \"D\":
            return [slide(r[::-1])[::-1] for r in b]
        t = turn(b)
        if m == \"W\":
            t = [slide(r) for r in t]
        else:
            t = [slide(r[::-1])[::-1] for r in t]
        return turn(t)
",
    ),
    (
        1,
        "    def move(b, m):
        k = \"ASDW\".index(m)
        for i in range(k):
            b = turn(b[::-1])
        b = [slide(r) for r in b]
        for i in range(k, 4):
            b = turn(b[::-1])
        return b
",
    ),
];

impl Moving {
    /// Draws the two functions for a board in the representation `hand`.
    pub fn draw(rng: &mut ChaCha8Rng, hand: Hand) -> Moving {
        let slide = weighted(rng, &[(4, "slide"), (2, "push"), (1, "squash")]);
        let name = weighted(rng, &[(4, "move"), (2, "after"), (1, "shift")]);
        let (memory, judged) = pick(rng, &[("c", "h"), ("c", "e"), ("seen", "known"), ("memo", "vals")]);
        let (statements, result) = weighted(rng, &SLIDES);
        let slide_text = match hand {
            Hand::Lists => format!("    def slide(r):\n{statements}        return {result}\n"),
            Hand::Tuples => remembered("slide", memory, statements, &format!("tuple({result})")),
        };
        let text = format!("{slide_text}{}", hand.turned(weighted(rng, &MOVES)));
        let text = text.replace("slide(", &format!("{slide}(")).replace("move(", &format!("{name}("));
        Moving { hand, text, name, memory, judged }
    }

    /// Further arguments after `board`.
    pub fn arguments(&self, judges_lines: bool) -> String {
        match (self.hand, judges_lines) {
            (Hand::Lists, _) => String::new(),
            (Hand::Tuples, false) => format!(", {}={{}}", self.memory),
            (Hand::Tuples, true) => format!(", {}={{}}, {}={{}}", self.memory, self.judged),
        }
    }

    /// Converts the board to the functions' representation: the statement, if one is needed, and the board's name.
    pub fn entry(&self, rng: &mut ChaCha8Rng) -> (&'static str, &'static str) {
        match self.hand {
            Hand::Lists => ("", "board"),
            Hand::Tuples if rng.random_bool(0.5) => ("    b = [tuple(r) for r in board]\n", "b"),
            Hand::Tuples => ("    b = list(map(tuple, board))\n", "b"),
        }
    }
}

impl Hand {
    /// Replaces `turn(...)` in `text` by transpositions.
    fn turned(self, text: &str) -> String {
        let mut turned = text.to_owned();
        for board in ["b", "t", "b[::-1]"] {
            let written = match self {
                Hand::Lists => format!("[list(c) for c in zip(*{board})]"),
                Hand::Tuples => format!("list(zip(*{board}))"),
            };
            turned = turned.replace(&format!("turn({board})"), &written);
        }
        turned
    }
}

/// A function `name` of `r` that caches its results; `statements` are indented for a plain function.
pub(super) fn remembered(name: &str, memory: &str, statements: &str, result: &str) -> String {
    let deeper: String = statements.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "    def {name}(r):
        if r not in {memory}:
{deeper}            {memory}[r] = {result}
        return {memory}[r]
"
    )
}
