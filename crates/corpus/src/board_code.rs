//! Generates the two functions that searching programs need: one slides a row, one makes a move on a whole board.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::choice::{pick, shuffle, weighted};

/// How a program represents a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hand {
    /// As lists of lists, computed anew each time.
    Lists,
    /// As a list of tuples, with results cached in dictionaries among the arguments: about four times faster.
    Tuples,
}

/// The function that makes moves, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// `move(b, m)`: the board after one move, which is `b` again if the move changes nothing.
    One(&'static str),
    /// `moves(b)`: pairs of a board and its move, for those that change something. The board is turned once for all.
    All(&'static str),
}

impl Call {
    /// The largest value over the boards after a move from `b`, where `value` is an expression of the board `N`.
    /// `careful`: of the moves that change something alone, and 0 if there is none.
    pub fn best(self, value: &str, careful: bool) -> String {
        match (self, careful) {
            (Call::One(name), false) => {
                format!("max({} for m in \"WASD\")", value.replace('N', &format!("{name}(b, m)")))
            }
            (Call::One(name), true) => {
                let value = value.replace('N', "n");
                format!("max(({value} for n in [{name}(b, m) for m in \"WASD\"] if n != b), default=0)")
            }
            (Call::All(name), _) => {
                format!("max([{} for n, m in {name}(b)], default=0)", value.replace('N', "n"))
            }
        }
    }
}

/// The functions that slide a row and move a board, and what the rest of the program needs to know of them.
#[derive(Debug, Clone)]
pub(super) struct Moving {
    pub hand: Hand,
    /// Both definitions.
    pub text: String,
    /// Name of the function that slides a row to the left.
    pub slide: &'static str,
    /// How the second function is called.
    pub call: Call,
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

/// All moves at once.
fn every_move(rng: &mut ChaCha8Rng) -> String {
    let mut moves = ["(l, \"A\")", "(turn(u), \"W\")", "(d, \"D\")", "(turn(v), \"S\")"];
    shuffle(rng, &mut moves);
    format!(
        "    def move(b):
        t = turn(b)
        l = [slide(r) for r in b]
        d = [slide(r[::-1])[::-1] for r in b]
        u = [slide(r) for r in t]
        v = [slide(r[::-1])[::-1] for r in t]
        return [(n, m) for n, m in ({}) if n != b]
",
        moves.join(", ")
    )
}

impl Moving {
    /// Draws the two functions for a board in the representation `hand`; `at_once` is the probability that the second
    /// makes all moves at once.
    pub fn draw(rng: &mut ChaCha8Rng, hand: Hand, at_once: f64) -> Moving {
        let slide = weighted(rng, &[(4, "slide"), (2, "push"), (1, "squash")]);
        let call = match rng.random_bool(at_once) {
            false => Call::One(weighted(rng, &[(4, "move"), (2, "after"), (1, "shift")])),
            true => Call::All(weighted(rng, &[(2, "moves"), (1, "options")])),
        };
        let (memory, judged) = pick(rng, &[("c", "h"), ("c", "e"), ("seen", "known"), ("memo", "vals")]);
        let (statements, result) = weighted(rng, &SLIDES);
        let slide_text = match hand {
            Hand::Lists => format!("    def slide(r):\n{statements}        return {result}\n"),
            Hand::Tuples => remembered("slide", memory, statements, &format!("tuple({result})")),
        };
        let (name, moves) = match call {
            Call::One(name) => (name, weighted(rng, &MOVES).to_owned()),
            Call::All(name) => (name, every_move(rng)),
        };
        let text = format!("{slide_text}{}", hand.turned(&moves));
        let text = text.replace("slide(", &format!("{slide}(")).replace("move(", &format!("{name}("));
        Moving { hand, text, slide, call, memory, judged }
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
        for board in ["b", "t", "u", "v", "b[::-1]"] {
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
