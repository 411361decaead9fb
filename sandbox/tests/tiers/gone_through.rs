//! Whatever is evaluated while a loop goes through containers may change them: an effect in every operand of every
//! expression, in every place of a comprehension or a loop over `zip(*rows)` and its like.

use crate::compare::Tiers;
use crate::expect_the_same;
use crate::program::{Group, Program};

/// Groups of one program, which costs 5 ms to load.
const GROUPS: usize = 12;

/// Expressions with an operand, `E`, which is 1 and has an effect. `a` and `b` are the items gone through.
const EXPRESSIONS: [&str; 52] = [
    "E",
    "E + a",
    "a + E",
    "-E",
    "not E",
    "E < a",
    "a < E",
    "a < b < E",
    "(5, 6)[E]",
    "[E, 6][0]",
    "(E, 6)[0]",
    "[5, 6][E:]",
    "[5, 6][:E]",
    "[5, 6][0:2:E]",
    "(E if a else b)",
    "(a if E else b)",
    "(a if b < 0 else E)",
    "(a and E)",
    "(E or a)",
    "sum(E for _ in (1, 2))",
    "sum(1 for _ in (1, E))",
    "sum(1 for _ in (1, 2) if E)",
    "sum(c + d for c in (1, 2) for d in (E, 2))",
    "len([E for _ in (1, 2)])",
    "len([1 for _ in (1, E)])",
    "len([1 for _ in (1, 2) if E])",
    "len({E: a})",
    "len({a: E})",
    "len({E, a})",
    "len({E for _ in (1, 2)})",
    "abs(E)",
    "len([E])",
    "max(a, E)",
    "max([a, E])",
    "max([a, 2], key=lambda c: E)",
    "min(a, b, key=lambda c: c + E)",
    "sum(map(change, [a, 2]))",
    "len(list(map(change, [a, b])))",
    "sum(map(lambda c: c + E, [a]))",
    "sorted([a, E])[0]",
    "sorted([a, 2], key=lambda c: E)[0]",
    "[1, 2].count(E)",
    "[1, 2].index(E)",
    "(E).bit_length()",
    "list(range(E))[0]",
    "(lambda c: E)(a)",
    "(lambda c=E: c)()",
    "change(a)",
    "tuple(a)",
    "(c := E)",
    "int(E)",
    "str(E)",
];

/// Where expressions, `X`, are evaluated while `S` is gone through.
const PLACES: [&str; 8] = [
    "r = [X for a, b in S]",
    "r = [a for a, b in S if X]",
    "r = [a for a, b in S for c in [X, 2]]",
    "r = sum(int(X) for a, b in S)",
    "r = any(not X for a, b in S)",
    "r = sorted((X for a, b in S), key=lambda c: -c)",
    "r = {a: X for a, b in S}",
    "r = []\n    for a, b in S: r.append(X)",
];

/// Where they are evaluated when rows are named and not gone through yet.
const BESIDE: [&str; 5] = [
    "r = sorted(zip(*rows), reverse=X == 7)",
    "r = sorted(zip(*rows), key=(lambda c: c, lambda c: c[0])[X == 7])",
    "r = max(zip(*rows), default=X)",
    "r = min(*zip(*rows), key=(lambda c: c[0], X)[0])",
    "r = max(*zip(*rows), key=lambda c, d=X: c[0])",
];

/// What is gone through.
const SOURCES: [&str; 3] = ["zip(*rows)", "zip(rows[0], rows[1])", "enumerate(rows[0])"];

/// What `E` does, once.
const EFFECTS: [&str; 4] = ["rows[0].append(9)", "rows[1].pop()", "rows[0].clear()", "rows.append([5, 6, 7])"];

const PRELUDE: &str = "\
rows, done = [], []
def change(v):
    if not done:
        done.append(v)
        EFFECT
    return 1
# Not the builtin.
def tuple(v):
    return change(v)
";

/// Plays places, with an expression of every kind in each, under an effect.
fn programs(effect: &str, operand: &str, places: &[String]) -> Vec<Program> {
    let mut groups = Vec::new();
    for (place, expression) in places.iter().flat_map(|place| EXPRESSIONS.iter().map(move |one| (place, one))) {
        let function = format!("f{}", groups.len());
        let written = place.replace('X', &expression.replace('E', operand));
        let text = format!(
            "def {function}():\n    global rows\n    rows = [[1, 2, 3], [4, 5, 6]]\n    a, b = 1, 2\n    done.clear()\n    \
             {written}\n    return [r, rows]\n"
        );
        groups.push(Group { function, text, calls: vec!["[]".into()] });
    }
    let program = |groups: &[Group]| Program {
        name: format!("while gone through: {effect}"),
        prelude: PRELUDE.replace("EFFECT", effect),
        groups: groups.to_vec(),
        seed: 1,
    };
    groups.chunks(GROUPS).map(program).collect()
}

fn expect_most_to_stay(programs: Vec<Program>) {
    let tally = expect_the_same(&Tiers::open(), programs);
    assert!(tally.stayed * 2 > tally.functions, "{} of {} stay", tally.stayed, tally.functions);
}

#[test]
fn what_changes_containers_that_are_gone_through_is_seen_as_in_cpython() {
    let through = EFFECTS.iter().flat_map(|effect| {
        // All effects where rows are gone through together, and one elsewhere.
        let sources = SOURCES.iter().filter(|source| **source == SOURCES[0] || *effect == EFFECTS[0]);
        let places = sources.flat_map(|source| PLACES.iter().map(|place| place.replace('S', source)));
        programs(effect, "change(a)", &places.collect::<Vec<_>>())
    });
    expect_most_to_stay(through.collect());
}

#[test]
fn what_changes_rows_before_they_are_gone_through_is_seen_as_in_cpython() {
    let places = BESIDE.map(str::to_owned);
    let called = EFFECTS[1..3].iter().flat_map(|effect| programs(effect, "change(a)", &places));
    let written = programs("pass", "(rows[1].pop(), 1)[1]", &places);
    expect_most_to_stay(called.chain(written).collect());
}
