//! Generates players that do not search: blind ones, counters, and the first legal move of an order.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::board_code::{Call, Hand, Moving};
use super::choice::{order, pick, weighted};

#[derive(Clone, Copy)]
enum Short {
    Constant,
    Statistic,
    Cell,
    Neighbours,
    Counter,
    LongCycle,
    Scrambled,
    Random,
    Stuck,
}

/// Further arguments and body of a program that hardly looks at the board.
pub(super) fn short(rng: &mut ChaCha8Rng) -> (String, String) {
    let kinds = [
        (1, Short::Constant),
        (2, Short::Statistic),
        (2, Short::Cell),
        (3, Short::Neighbours),
        (5, Short::Counter),
        (3, Short::LongCycle),
        (1, Short::Scrambled),
        (3, Short::Random),
        (9, Short::Stuck),
    ];
    let kind = weighted(rng, &kinds);
    let order = order(rng);
    let body = match kind {
        Short::Constant => format!("    return \"{}\"\n", &order[..1]),
        Short::Statistic => statistic(rng, &order),
        Short::Cell => cell(rng, &order),
        Short::Neighbours => neighbours(rng, &order),
        Short::Counter => {
            let period = pick(rng, &[2, 3, 4, 4, 4]);
            format!("    s[0] += 1\n    return \"{order}\"[s[0] % {period}]\n")
        }
        Short::LongCycle => {
            let period = pick(rng, &[6, 8]);
            let cycle: String = (0..period).map(|_| pick(rng, &['W', 'A', 'S', 'D'])).collect();
            format!("    s[0] += 1\n    return \"{cycle}\"[s[0] % {period}]\n")
        }
        Short::Scrambled => {
            let (factor, modulus) = (pick(rng, &[75, 48271]), pick(rng, &[65537, 2147483647_u32]));
            format!("    s[0] = (s[0] * {factor} + 7) % {modulus}\n    return \"{order}\"[s[0] % 4]\n")
        }
        Short::Random => format!("    import random\n    return random.choice(\"{order}\")\n"),
        Short::Stuck => stuck(rng, &order),
    };
    let arguments = match kind {
        Short::Counter | Short::LongCycle | Short::Scrambled => ", s=[0]".into(),
        Short::Stuck => ", s=[0, 0, None]".into(),
        _ => String::new(),
    };
    (arguments, body)
}

/// Goes round some letters, and plays one that is left out once moves change nothing. It needs no rule of the game but that a board
/// may stay as it was, so such programs play games of other rules as well.
fn stuck(rng: &mut ChaCha8Rng, order: &str) -> String {
    let few = pick(rng, &[2, 3, 3]);
    let period = pick(rng, &[2, 3, 4, 4, 4, 6]);
    let cycle: String =
        (0..period).map(|at| if at < few { at } else { rng.random_range(0..few) }).map(|at| &order[at..=at]).collect();
    let patience = pick(rng, &[1, 1, 2]);
    let other = rng.random_range(few..4);
    format!(
        "    s[0] += 1
    s[1] = s[1] + 1 if board == s[2] else 0
    s[2] = board
    if s[1] > {patience}:
        return \"{}\"
    return \"{cycle}\"[s[0] % {period}]\n",
        &order[other..=other]
    )
}

fn statistic(rng: &mut ChaCha8Rng, order: &str) -> String {
    let name = pick(rng, &["n", "k"]);
    let value = pick(rng, &["r.count(0)", "r.count(2)", "sum(r)", "max(r)"]);
    format!("    {name} = sum({value} for r in board)\n    return \"{order}\"[{name} % 4]\n")
}

fn cell(rng: &mut ChaCha8Rng, order: &str) -> String {
    let mut body = String::new();
    for letter in order[..2].chars() {
        let (row, column) = (rng.random_range(0..4), rng.random_range(0..4));
        body += &format!("    if board[{row}][{column}] == 0:\n        return \"{letter}\"\n");
    }
    body + &format!("    return \"{}\"\n", &order[2..3])
}

fn neighbours(rng: &mut ChaCha8Rng, order: &str) -> String {
    let (across, along) = (pick(rng, &["A", "D"]), pick(rng, &["W", "S"]));
    format!(
        "    for r in board:
        for i in range(3):
            if r[i] and r[i] == r[i + 1]:
                return \"{across}\"
    for c in zip(*board):
        for i in range(3):
            if c[i] and c[i] == c[i + 1]:
                return \"{along}\"
    return \"{}\"\n",
        &order[..1]
    )
}

const CAN: &str = "    def can(lines):
        for r in lines:
            for i in range(3):
                if r[i + 1] and (r[i] == 0 or r[i] == r[i + 1]):
                    return True
        return False
";

const LEGAL_TABLE: &str = "    cols = [list(c) for c in zip(*board)]
    ok = {\"A\": can(board), \"D\": can([r[::-1] for r in board]),
          \"W\": can(cols), \"S\": can([c[::-1] for c in cols])}
";

/// Body of a program that takes the first legal move of an order.
pub(super) fn legal(rng: &mut ChaCha8Rng) -> String {
    let (mut body, test) = if rng.random_bool(0.5) {
        (format!("{CAN}{LEGAL_TABLE}"), "ok[m]".to_owned())
    } else {
        let moving = Moving::draw(rng, Hand::Lists, 0.1);
        let test = match moving.call {
            Call::One(moves) => format!("{moves}(board, m) != board"),
            Call::All(moves) => format!("any(m == n[1] for n in {moves}(board))"),
        };
        (moving.text, test)
    };
    let first = order(rng);
    let letters = if rng.random_bool(0.3) {
        let second = order(rng);
        let conditions = [
            "sum(r.count(0) for r in board) > 6",
            "board[3][0] == max(map(max, board))",
            "board[0][0] >= board[0][1]",
            "board[3].count(0) == 0",
        ];
        let condition = pick(rng, &conditions);
        body += &format!("    pref = \"{first}\" if {condition} else \"{second}\"\n");
        "pref".to_owned()
    } else {
        format!("\"{first}\"")
    };
    if rng.random_bool(0.7) {
        let last = pick(rng, &["W", "A", "S", "D"]);
        body += &format!("    for m in {letters}:\n        if {test}:\n            return m\n    return \"{last}\"\n");
    } else {
        let pick = pick(rng, &["moves[0]", "moves[0]", "moves[-1]"]);
        body += &format!("    moves = [m for m in {letters} if {test}]\n    return {pick}\n");
    }
    body
}
