//! Every operator at the boundaries of its operands: with each pair of 0, ±1, ±2^k, ±2^k ± 1 and ±(2^62 - 1 - j), as
//! variables of every kind and as constants on either side, and with floats at theirs.

use crate::columns::{Case, Count, Operation, answers, compare, is_exhaustive};
use crate::compare::Tiers;

/// Exponents of the integers. All of 1 to 62 are tried by `make tier-exhaustive`.
const EXPONENTS: [u32; 8] = [1, 2, 30, 31, 53, 60, 61, 62];

/// Each operation on one operand is given one in so many constants by day, and every constant to some of them.
const CONSTANTS_ONE_IN: usize = 3;

/// How far below the largest magnitude.
const BELOW: i64 = 4;

/// Operations on whole numbers and on floats, of `A` and `B`. What comes out is `r`, or the expression.
const BINARY: [&str; 31] = [
    "A + B", "A - B", "A * B", "A / B", "A // B", "A % B", "A ** B", "A == B", "A != B", "A < B", "A <= B", "A > B",
    "A >= B", "divmod(A, B)[0]", "divmod(A, B)[1]", "pow(A, B)", "max(A, B)", "min(A, B)", "sum([A, B])",
    "sum([A, B]) + 1", "sum((v for v in [A]), B)", "A in (B, 0.5)", "{A: 1}.get(B, 2)", "[A, 7].count(B)",
    "(A, 1) < (B, 0)", "sorted([A, B])[0]", "(A and B) or A", "r = A\nr += B", "r = A\nr -= B",
    "c = [A]\nc[0] *= B\nr = c[0]", "r = A\nr //= B",
];

/// Operations on whole numbers alone.
const INTEGER: [&str; 16] = [
    "A << B",
    "A >> B",
    "A & B",
    "A | B",
    "A ^ B",
    "len(range(A, B))",
    "len(range(A, B, 3))",
    "A in range(B, 5)",
    "r = 0\nfor i in range(A, B):\n    r += 1\n    if r > 3: break",
    "r = -1\nfor i in range(A, B, 524287):\n    r = i\n    if i > A: break",
    "r = -1\nfor i in range(A, B, -3):\n    r = i\n    if i < A - 5: break",
    "len([1, 2, 3, 4, 5][A:B])",
    "sum([1, 2, 4, 8, 16][A::B])",
    "(10, 20, 30)[A] + [B, 5][0]",
    "'abc'[A:B]",
    "r = A\nr >>= B",
];

/// Operations on one operand.
const UNARY: [&str; 14] = [
    "-A", "+A", "~A", "not A", "abs(A)", "int(A)", "float(A)", "bool(A)", "str(A)", "math.floor(A)", "math.ceil(A)",
    "1 if A else 2", "math.sqrt(A)", "int(A).bit_length()",
];

const FLOATS: &str = "0.0 -0.0 0.5 -0.5 1.0 -1.0 1.5 2.5 -2.5 0.1 3.0 -7.0 5e-324 -5e-324 2.2250738585072014e-308 \
    1e-07 1e+16 1e+22 -1e+16 9007199254740991.0 9007199254740992.0 9007199254740994.0 4.611686018427388e+18 \
    -4.611686018427388e+18 9.223372036854776e+18 1e+308 1.7976931348623157e+308 -1.7976931348623157e+308 \
    1.4142135623730951 123456789.125";

/// Operands of each form of an operand.
const FEW: &str = "0 1 -1 2 -7 -2147483648 4611686018427387903 -4611686018427387903 0.0 -0.0 0.5 -2.5 1e+308 5e-324";

/// Variables of every kind that the emitter tells apart.
const FORMS: [&str; 5] = ["V", "int(V)", "bool(V)", "float(V)", "(V * 1e300 * 1e300)"];

/// Constants on either side.
const CONSTANTS: &str = "0 1 2 3 4 5 7 8 50 51 60 61 62 63 1000 32768 524287 1073741823 1073741824 2147483648 \
    4294967297 1152921504606846975 1152921504606846976 4611686018427387903 -1 -2 -3 -7 -8 -1073741824 -1073741825 \
    -2305843009213693951 2305843009213693951 -4611686018427387903";

const FLOAT_CONSTANTS: [&str; 9] =
    ["0.0", "-0.0", "0.5", "-2.5", "9007199254740992.0", "4.611686018427388e+18", "1e+308", "5e-324", "float('inf')"];

fn integers() -> Vec<String> {
    let all: Vec<u32> = (1..=62).collect();
    let exponents = if is_exhaustive() { &all[..] } else { &EXPONENTS };
    let powers = exponents.iter().flat_map(|&k| [-1, 0, 1].map(|by| (1_i64 << k) + by));
    let greatest = (0..BELOW).map(|below| (1_i64 << 62) - 1 - below);
    let fits = |value: &i64| *value < 1 << 62;
    let mut integers: Vec<i64> = [0, 1].into_iter().chain(powers).chain(greatest).filter(fits).collect();
    integers.extend(integers.clone().iter().map(|value| -value));
    integers.sort_unstable();
    integers.dedup();
    integers.iter().map(i64::to_string).collect()
}

/// An operation with these operands in the places of `A` and `B`.
fn operation(template: &str, a: &str, b: &str) -> Operation {
    let bracketed = |operand: &str| if operand.starts_with('-') { format!("({operand})") } else { operand.to_owned() };
    let put = template.replace('A', "\u{1}").replace('B', &bracketed(b)).replace('\u{1}', &bracketed(a));
    let lines = if put.starts_with("r = ") || put.starts_with("c = ") { put.clone() } else { format!("r = {put}") };
    Operation { name: put.replace('\n', "; "), lines }
}

/// Whether CPython is asked: not for what it would compute for ages and has no place for. Of floats, where they may come
/// to be whole.
fn is_asked(template: &str, a: &str, b: &str, whole: bool) -> bool {
    let is_float = |text: &str| !whole && text.parse::<i64>().is_err();
    let (Ok(base), Ok(by)) = (a.parse::<f64>(), b.parse::<f64>()) else { return true };
    match template {
        "A ** B" | "pow(A, B)" => by <= 64.0 || base.abs() < 2.0 || is_float(a) || is_float(b),
        "A << B" => by <= 64.0 || base == 0.0,
        _ => true,
    }
}

/// Cases of all pairs, with CPython's answers to a template.
fn table(tiers: &Tiers, template: &str, left: &[String], right: &[String]) -> Vec<Case> {
    let (asked, never) = pairs(left, right).partition(|case| is_asked(template, &case.a, &case.b, false));
    let mut asked = [(operation(template, "a", "b"), asked)];
    answers(&tiers.sandbox, &mut asked);
    let [(_, asked)] = asked;
    [asked, never].concat()
}

/// Every operand on the left with every one on the right.
fn pairs<'o>(left: &'o [String], right: &'o [String]) -> impl Iterator<Item = Case> + 'o {
    let all = left.iter().flat_map(move |a| right.iter().map(move |b| (a, b)));
    all.map(|(a, b)| Case { a: a.clone(), b: b.clone(), expected: None })
}

/// Operands that are written with spaces between them.
fn owned(operands: &str) -> Vec<String> {
    operands.split(' ').map(str::to_owned).collect()
}

fn expect_the_same_answers(tiers: &Tiers, operations: &[(Operation, Vec<Case>)]) {
    let mut count = Count::default();
    compare(&tiers.tier, operations, &mut count);
    count.expect_none_different();
    // Else the test says nothing.
    assert!(count.given_up * 3 < count.equal, "{} given up, {} equal", count.given_up, count.equal);
}

#[test]
fn every_operator_at_every_pair_of_boundaries_answers_as_cpython() {
    let (tiers, integers) = (Tiers::open(), integers());
    let mut operations = Vec::new();
    for template in BINARY.iter().chain(&INTEGER) {
        let cases = table(&tiers, template, &integers, &integers);
        operations.push((operation(template, "int(a)", "int(b)"), cases.clone()));
        operations.push((operation(template, "a", "b"), cases));
    }
    expect_the_same_answers(&tiers, &operations);
}

#[test]
fn every_operator_with_a_constant_on_either_side_answers_as_cpython() {
    let (tiers, integers, constants) = (Tiers::open(), integers(), owned(CONSTANTS));
    let mut operations = Vec::new();
    for template in BINARY.iter().chain(&INTEGER) {
        let on_the_right = table(&tiers, template, &integers, &constants);
        let on_the_left = table(&tiers, template, &constants, &integers);
        for constant in &constants {
            let with = |cases: &[Case], one: fn(&Case) -> &str| {
                cases.iter().filter(|case| one(case) == constant).cloned().collect::<Vec<_>>()
            };
            let (right, left) = (with(&on_the_right, |case| &case.b), with(&on_the_left, |case| &case.a));
            operations.push((operation(template, "int(a)", constant), right.clone()));
            operations.push((operation(template, "a", constant), right));
            operations.push((operation(template, constant, "int(b)"), left));
        }
    }
    expect_the_same_answers(&tiers, &operations);
}

#[test]
fn every_operator_at_the_boundaries_of_floats_answers_as_cpython() {
    let tiers = Tiers::open();
    let numbers: Vec<String> = owned(FLOATS).into_iter().chain(owned(FEW)).collect();
    let mut operations = Vec::new();
    for template in BINARY {
        let cases = pairs(&numbers, &numbers).filter(|case| is_asked(template, &case.a, &case.b, false));
        operations.push((operation(template, "a", "b"), cases.collect()));
        for constant in FLOAT_CONSTANTS {
            for (a, b) in [("a", constant), (constant, "a")] {
                operations.push((operation(template, a, b), pairs(&numbers, &owned("0")).collect()));
            }
        }
    }
    answers(&tiers.sandbox, &mut operations);
    expect_the_same_answers(&tiers, &operations);
}

#[test]
fn every_operator_on_operands_of_every_kind_answers_as_cpython() {
    let (tiers, few) = (Tiers::open(), owned(FEW));
    let mut operations = Vec::new();
    for (number, template) in BINARY.into_iter().enumerate() {
        let forms = FORMS.iter().flat_map(|one| FORMS.iter().map(move |two| (one, two))).enumerate();
        // By day each operator is tried on every second pair of kinds, and each pair with every second operator.
        for (_, (one, two)) in forms.filter(|(pair, _)| is_exhaustive() || (number + pair).is_multiple_of(2)) {
            let cases = pairs(&few, &few).filter(|case| is_asked(template, &case.a, &case.b, true));
            operations.push((operation(template, &one.replace('V', "a"), &two.replace('V', "b")), cases.collect()));
        }
    }
    let (one, infinite) = (owned("0"), owned("float('inf')"));
    let numbers: Vec<String> = integers().into_iter().chain(owned(FLOATS)).collect();
    for (first, template) in UNARY.into_iter().enumerate() {
        for form in FORMS {
            operations.push((operation(template, &form.replace('V', "a"), ""), pairs(&numbers, &one).collect()));
        }
        let constants = numbers.iter().chain(&infinite).enumerate();
        let is_tried = |number: usize| is_exhaustive() || (first + number).is_multiple_of(CONSTANTS_ONE_IN);
        for (_, constant) in constants.filter(|(number, _)| is_tried(*number)) {
            operations.push((operation(template, constant, ""), pairs(&one, &one).collect()));
        }
    }
    answers(&tiers.sandbox, &mut operations);
    expect_the_same_answers(&tiers, &operations);
}
