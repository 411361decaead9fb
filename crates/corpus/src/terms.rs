//! Generates the terms that add up to the value of a whole board `b`.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Style;
use super::choice::{pick, weighted};

#[derive(Debug, Clone)]
pub(super) enum Term {
    Expression(String),
    /// Statements that change `v`, indented for the body of a function.
    Statements(String),
}

/// The terms of one judgement, and the table `W` they need.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub terms: Vec<Term>,
    pub table: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Room,
    Merges,
    RowMerges,
    Squares,
    Distinct,
    Largest,
    Corner,
    Gradient,
    Table,
    PowerTable,
    Smooth,
    Ordered,
    Bends,
}

/// A corner of the board; its row and its column are 0 or 3.
#[derive(Clone, Copy)]
struct Corner {
    row: usize,
    column: usize,
}

/// Draws terms: one that is typical of `style`, then up to two more.
pub(super) fn draw(rng: &mut ChaCha8Rng, style: Style) -> Terms {
    let mut kinds = vec![weighted(rng, leading(style))];
    for _ in 0..weighted(rng, &[(3, 0), (5, 1), (3, 2)]) {
        let kind = weighted(rng, &FOLLOWING);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let corner = Corner { row: pick(rng, &[0, 3]), column: pick(rng, &[0, 3]) };
    let terms = kinds.iter().map(|kind| term(rng, *kind, corner)).collect();
    let table = kinds.iter().any(|kind| matches!(kind, Kind::Table | Kind::PowerTable)).then(|| table(rng));
    Terms { terms, table }
}

const FOLLOWING: [(u32, Kind); 7] = [
    (6, Kind::Room),
    (4, Kind::Merges),
    (1, Kind::Squares),
    (2, Kind::Corner),
    (1, Kind::Smooth),
    (1, Kind::Largest),
    (1, Kind::Bends),
];

fn leading(style: Style) -> &'static [(u32, Kind)] {
    match style {
        Style::Short | Style::Legal | Style::Merge => &[
            (5, Kind::Room),
            (4, Kind::Merges),
            (2, Kind::RowMerges),
            (2, Kind::Squares),
            (2, Kind::Distinct),
            (1, Kind::Largest),
        ],
        Style::Corner => &[(5, Kind::Corner), (4, Kind::Gradient)],
        Style::Snake => &[(4, Kind::Table), (5, Kind::PowerTable)],
        Style::Smooth => &[(4, Kind::Smooth), (4, Kind::Ordered), (2, Kind::Bends)],
        Style::Ahead | Style::Chance | Style::Deep => &[
            (3, Kind::Room),
            (2, Kind::Merges),
            (2, Kind::Squares),
            (1, Kind::Distinct),
            (2, Kind::Corner),
            (3, Kind::Gradient),
            (2, Kind::Table),
            (3, Kind::PowerTable),
            (2, Kind::Smooth),
            (2, Kind::Ordered),
            (1, Kind::Bends),
        ],
    }
}

fn term(rng: &mut ChaCha8Rng, kind: Kind, corner: Corner) -> Term {
    let factor = pick(rng, &[1, 2, 5, 10, 20, 50, 100, 200]);
    let cells = "for i in range(4) for j in range(4)";
    let lines = "for r in b + list(zip(*b))";
    Term::Expression(match kind {
        Kind::Room => format!("{factor} * sum(r.count(0) for r in b)"),
        Kind::Merges => format!("{factor} * sum(x == y > 0 {lines} for x, y in zip(r, r[1:]))"),
        Kind::RowMerges => format!("{factor} * sum(r[i] == r[i + 1] for r in b for i in range(3))"),
        Kind::Squares => "sum(x * x for r in b for x in r)".into(),
        Kind::Distinct => format!("-{factor} * len({{x for r in b for x in r}})"),
        Kind::Largest => "max(map(max, b))".into(),
        Kind::Corner => {
            let factor = pick(rng, &[10, 100, 500, 1000]);
            format!("{factor} * (b[{}][{}] == max(map(max, b)))", corner.row, corner.column)
        }
        Kind::Gradient => {
            let row = if corner.row == 3 { "i" } else { "3 - i" };
            let column = if corner.column == 3 { "j" } else { "3 - j" };
            let power = pick(rng, &["", " ** 2", " ** 3"]);
            format!("sum(b[i][j] * ({row} + {column}){power} {cells})")
        }
        Kind::Table => format!("sum(b[i][j] * W[i][j] {cells})"),
        Kind::PowerTable => format!("sum(b[i][j] * {} ** W[i][j] {cells})", pick(rng, &[2, 2, 3, 4])),
        Kind::Smooth => format!("-sum(abs(x - y) {lines} for x, y in zip(r, r[1:]))"),
        Kind::Ordered => {
            let sign = pick(rng, &[">=", "<="]);
            format!("{factor} * sum(x {sign} y {lines} for x, y in zip(r, r[1:]))")
        }
        Kind::Bends => return Term::Statements(bends(rng)),
    })
}

/// Sums how far each line is from monotone; by far the best of the terms.
fn bends(rng: &mut ChaCha8Rng) -> String {
    let body: String = turns(rng).lines().map(|line| format!("    {line}\n")).collect();
    format!("        for r in b + list(zip(*b)):\n{body}")
}

/// Statements that subtract from `v` how far the line `r` is from monotone, indented for a function of `r`.
pub(super) fn turns(rng: &mut ChaCha8Rng) -> String {
    let (power, factors): (&str, &[u32]) = weighted(
        rng,
        &[
            (4, ("", &[5, 10, 20, 50, 100])),
            (3, (" ** 2", &[1, 2, 5, 10, 20])),
            (2, (" ** 3", &[1, 2, 4, 8])),
            (1, (" ** 4", &[1, 2])),
        ],
    );
    let factor = pick(rng, factors);
    format!(
        "        up = down = 0
        for x, y in zip(r, r[1:]):
            d = x.bit_length(){power} - y.bit_length(){power}
            if d > 0:
                down += d
            else:
                up -= d
        v -= {factor} * min(up, down)
"
    )
}

/// A table of the cells' weights.
pub(super) fn table(rng: &mut ChaCha8Rng) -> String {
    let known = [
        (6, Some("[[0, 1, 2, 3], [7, 6, 5, 4], [8, 9, 10, 11], [15, 14, 13, 12]]")),
        (3, Some("[[15, 14, 13, 12], [8, 9, 10, 11], [7, 6, 5, 4], [0, 1, 2, 3]]")),
        (3, Some("[[6, 5, 4, 3], [5, 4, 3, 2], [4, 3, 2, 1], [3, 2, 1, 0]]")),
        (2, Some("[[3, 2, 2, 3], [2, 1, 1, 2], [2, 1, 1, 2], [3, 2, 2, 3]]")),
        (1, Some("[[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]")),
        (3, None),
    ];
    match weighted(rng, &known) {
        Some(known) => known.into(),
        None => {
            let row = |rng: &mut ChaCha8Rng| {
                let cells: Vec<String> = (0..4).map(|_| rng.random_range(0..10).to_string()).collect();
                format!("[{}]", cells.join(", "))
            };
            format!("[{}, {}, {}, {}]", row(rng), row(rng), row(rng), row(rng))
        }
    }
}
