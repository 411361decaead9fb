//! What each operation is charged: the fuel that CPython spends on it, measured by `tests/costs`.
//!
//! These are the parts that do not depend on values; what is done item by item is charged by the runtime (`gas.h`).
//! Whoever changes a number here changes scores, and with them `COST_TABLE`.

use ruff_python_ast::Operator;

use super::kind::{Kind, Library};

/// Loads and stores of names and constants.
pub(super) const LOAD: u32 = 40;
pub(super) const LOAD_GLOBAL: u32 = 106;
pub(super) const LOAD_CELL: u32 = 100;
pub(super) const CONSTANT: u32 = 36;
pub(super) const STORE: u32 = 48;
pub(super) const STORE_GLOBAL: u32 = 300;
pub(super) const STORE_CELL: u32 = 110;

/// A comparison, a jump that depends on it, and the truth of what is no comparison.
pub(super) const COMPARE: u32 = 101;
pub(super) const IDENTITY: u32 = 20;
/// What `==` and `!=` of None cost more: CPython asks both sides before it compares their addresses.
pub(super) const EQUAL_NONE: u32 = 260;
pub(super) const JUMP: u32 = 48;
pub(super) const TRUTH: u32 = 68;
/// What `a < b < c` keeps between its comparisons.
pub(super) const CHAIN: u32 = 95;
/// `in` of a display: the call, and an item that differs.
pub(super) const MEMBER: u32 = 160;
pub(super) const MEMBER_ITEM: u32 = 237;

pub(super) const SUBSCRIPT: u32 = 104;
pub(super) const STORE_SUBSCRIPT: u32 = 97;
pub(super) const DELETE_SUBSCRIPT: u32 = 100;
pub(super) const SLICE: u32 = 840;
/// A letter of a slice with a step: CPython picks them one by one. The runtime charges no more than a copy.
pub(super) const PICKED_LETTER: i64 = 35;
pub(super) const UNPACK: u32 = 90;
pub(super) const WALRUS: u32 = 24;
pub(super) const DISCARD: u32 = 20;

/// Displays: the container, and each of its items.
pub(super) const LIST: u32 = 690;
pub(super) const EMPTY_LIST: u32 = 339;
pub(super) const TUPLE: u32 = 364;
pub(super) const ITEM: u32 = 45;
pub(super) const DICT: u32 = 460;
pub(super) const DICT_ITEM: u32 = 130;
pub(super) const SET: u32 = 400;
pub(super) const SET_ITEM: u32 = 150;
/// Comprehensions: the container, and what is appended.
pub(super) const COMPREHENSION: u32 = 690;
pub(super) const APPEND: u32 = 119;
/// The result of an operator where it is kept: CPython makes an object for it and finds none that was freed.
pub(super) const KEPT: u32 = 120;

/// A generator, from its making to its end, and each value that it yields.
pub(super) const GENERATOR: u32 = 3_600;
pub(super) const YIELD: u32 = 520;

/// Loops: the iterator, and each turn of it.
pub(super) const ITERATE: u32 = 450;
pub(super) const TURN: u32 = 125;
pub(super) const RANGE: u32 = 1_430;
/// A number of a range for which CPython has no object ready: one further from zero than this, or nearly.
pub(super) const READY_MAX: i64 = 256;
pub(super) const LARGE: i64 = 200;
pub(super) const ZIP: u32 = 2_880;
pub(super) const ZIP_TURN: u32 = 230;
pub(super) const ENUMERATE: u32 = 1_630;
pub(super) const ENUMERATE_TURN: u32 = 330;
pub(super) const MAP: u32 = 2_000;

/// Calls of functions of the program, with the return; what a call by the interpreter's own C code adds.
pub(super) const CALL: u32 = 495;
pub(super) const CALL_ARGUMENT: u32 = 52;
pub(super) const CALL_DEFAULT: u32 = 180;
pub(super) const CALL_KEYWORDS: u32 = 390;
pub(super) const CALL_FROM_C: u32 = 570;
pub(super) const MAKE_FUNCTION: u32 = 1_640;
pub(super) const MAKE_CLOSURE: u32 = 500;

/// An exception that is caught: made, raised, matched, cleared.
pub(super) const EXCEPTION: u32 = 3_300;
pub(super) const IMPORT: u32 = 1_500;

/// Iterating the letters of a text costs more to begin with.
pub(super) const ITERATE_TEXT: u32 = 500;

/// A sum that has outgrown a machine word of the interpreter, at each further item.
pub(super) const LARGE_SUM: i64 = 420;
pub(super) const WORD_MAX: i64 = i32::MAX as i64;

/// Per item, beside the turn of the loop over it: `sum`, `any`, `all`, `max`, `min`.
pub(super) const SUM_ITEM: u32 = 20;
pub(super) const ANY_ITEM: u32 = 5;
pub(super) const EXTREME_ITEM: u32 = 200;
/// The same for `max(a, b)`, of arguments.
pub(super) const EXTREME_ARGUMENT: u32 = 300;
/// A keyword of a builtin function.
pub(super) const KEYWORD: u32 = 600;
/// An argument of `print` after the first: CPython writes what stands before it, makes its text, and writes that.
pub(super) const PRINT_ARGUMENT: u32 = 5_100;
/// Bytes of a separator, or of an end, that are written for nothing more: CPython spends up to 22 on each, less than on what they
/// separate.
pub(super) const WRITTEN_MAX: usize = 200;

/// An operator between integers. Results that CPython has an object ready for cost some 60 to 200 less than others;
/// these lie between. The runtime adds what other operands cost.
pub(super) fn operator(operator: Operator) -> u32 {
    match operator {
        Operator::Add | Operator::Sub => 175,
        Operator::Mult => 190,
        Operator::Div => 420,
        Operator::FloorDiv => 310,
        Operator::Mod => 350,
        Operator::LShift | Operator::RShift => 480,
        Operator::BitAnd | Operator::BitOr | Operator::BitXor => 170,
        Operator::Pow => 580,
        Operator::MatMult => 0,
    }
}

/// A unary minus, plus or `~`.
pub(super) const UNARY: u32 = 145;

/// A call of a builtin function, the look-up of its name included.
pub(super) fn builtin(name: &str) -> u32 {
    match name {
        "len" => 304,
        "abs" => 358,
        "max" | "min" => 220,
        "int" => 431,
        "float" => 713,
        "bool" => 348,
        "str" => 650,
        "divmod" => 480,
        "pow" => 400,
        "sum" => 527,
        "any" | "all" => 265,
        "list" => 1_490,
        "tuple" => 520,
        "set" => 1_300,
        "dict" => 1_000,
        "sorted" => 2_100,
        "range" => 910,
        "zip" => ZIP,
        "enumerate" => ENUMERATE,
        "reversed" => 1_500,
        "print" => 6_200,
        _ => 400,
    }
}

/// A call of a method, the look-up of its name included, beside what the runtime charges.
pub(super) fn method(name: &str, arguments: usize) -> u32 {
    match (name, arguments) {
        ("append", _) => 262,
        ("pop", 0) => 402,
        ("pop", _) => 240,
        ("add", _) => 330,
        ("discard", _) => 300,
        ("extend", _) => 680,
        ("insert", _) => 640,
        ("remove", _) => 160,
        ("reverse", _) => 390,
        ("sort", _) => 700,
        ("copy", _) => 820,
        ("clear", _) => 300,
        ("count" | "index", _) => 230,
        ("find", _) => 720,
        ("get", 1) => 560,
        ("get", _) => 600,
        ("setdefault", _) => 650,
        ("update", _) => 1_100,
        ("keys" | "values", _) => 750,
        ("items", _) => 1_100,
        ("upper" | "lower", _) => 800,
        ("join", _) => 980,
        ("bit_length", _) => 278,
        _ => 400,
    }
}

/// A call of a function of the library, beside the look-up of the module's name.
pub(super) fn library(library: Library, name: &str) -> u32 {
    match (library, name) {
        (Library::Random, "random") => 830,
        (Library::Random, "choice") => 1_160,
        (Library::Random, "randint") => 1_000,
        (Library::Random, "shuffle") => 1_500,
        (Library::Math, "sqrt") => 700,
        (Library::Math, "log2") => 690,
        (Library::Math, "log") => 870,
        (Library::Math, "floor" | "ceil") => 360,
        // A constant.
        _ => 127,
    }
}

/// What a truth value costs beside its jump.
pub(super) fn truth(kind: Kind) -> u32 {
    if kind == Kind::Bool { 0 } else { TRUTH }
}
