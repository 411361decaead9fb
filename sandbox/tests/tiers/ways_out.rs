//! Every way out of every block: normal, `break`, `continue`, `return` and exceptions, out of `try`, handler, `else`,
//! loops and comprehensions in one another, with every name looked at afterwards, bound or not.
//!
//! The program takes the way that its arguments say, which is another one when it comes by again. CPython tells which
//! names are bound then; the compiled tier must give their values, and must give up where it reads one that is not.

use std::fmt::Write;

use serde_json::Value;

use crate::columns::{Count, Player, in_parts};
use crate::compare::{COLUMN_FUEL, Tiers};
use crate::expect_the_same;
use crate::indent::{append_indented, indented};
use crate::program::{Group, Program};

/// Blocks: `$` is what they are left from, `#` their depth. Those of a loop's body have a mark before them.
const BLOCKS: [&str; 11] = [
    "try:\n    $\nexcept KeyError as e#:\n    h# = e#.args[0]\n",
    "try:\n    $\nexcept KeyError as e#:\n    h# = 1\n    $\n",
    "try:\n    log.append(D[9])\nexcept KeyError as e#:\n    h# = 1\n    $\n",
    "try:\n    D[9]\nexcept:\n    $\n",
    "try:\n    b# = D[1]\nexcept KeyError as e#:\n    log.append(0)\nelse:\n    $\n",
    "@for i# in (1, 2, 3):\n    $\n    log.append(i#)\nelse:\n    o# = i#\n",
    "@w# = 0\nwhile w# < 3:\n    w# += 1\n    $\n    log.append(w#)\nelse:\n    o# = w#\n",
    "for i# in [1, 2]:\n    log.append(i#)\nelse:\n    $\n",
    "w# = 2\nwhile w#:\n    w# -= 1\nelse:\n    $\n",
    "if p > 2:\n    $\nelse:\n    u# = 1\n",
    "@for i#, j# in zip([1, 2], log or 'abc'):\n    if i# > 1: log.append(i#)\n    $\n",
];

/// Ways out; a mark before those that need a loop around them.
const WAYS: [&str; 10] = [
    "n = 1",
    "@break",
    "@continue",
    "return ['r', log]",
    "log.append(D[9])",
    "c = [D[j] for j in (1, 9)]",
    "c = [D[j] for j in (1, 2)]",
    "c = [(m := D[j]) for j in (1, 9)]",
    "raise IndexError",
    "c, d = 5, D[9]",
];

/// Ways that are taken when the program comes by again: normal, `break`, a missing key.
const AGAIN: [usize; 3] = [0, 1, 4];

/// Functions of a program at first; one that is beyond what the tier compiles is cut in halves.
const FUNCTIONS: usize = 8;

/// A function that is left in many ways.
struct Function {
    body: String,
    names: Vec<String>,
    /// Names that a closure shares.
    is_captured: bool,
    /// Its first arguments: the way out, and the way when it comes by again.
    calls: Vec<(usize, usize)>,
}

impl Function {
    /// Blocks in one another, the outermost first, left in each of these ways.
    fn new(blocks: &[&str], ways: &[usize], is_captured: bool) -> Option<Function> {
        let in_loop = blocks.iter().any(|block| block.starts_with('@'));
        let possible = |way: &&usize| in_loop || !WAYS[**way].starts_with('@');
        let ways: Vec<usize> = ways.iter().filter(possible).copied().collect();
        let taken = |&way: &usize| {
            let taken = WAYS[way].trim_start_matches('@');
            if ways.len() == 1 { format!("{taken}\n") } else { format!("if way == {way}: {taken}\n") }
        };
        let written: String = ways.iter().map(taken).collect();
        let mut body = format!("a = p\nway = again if seen else p\nseen += 1\n{written}z = 2\n");
        for (depth, block) in blocks.iter().enumerate().rev() {
            let block = block.trim_start_matches('@').replace('#', &depth.to_string());
            let mut around = String::new();
            let mut parts = block.split('$');
            around += parts.next().unwrap_or_default();
            for part in parts {
                append_indented(&mut around, &body);
                around += part;
            }
            body = format!("s{depth} = p\n{around}t{depth} = p\n");
        }
        let calls: Vec<(usize, usize)> = match ways[..] {
            [] => return None,
            [only] => vec![(only, only)],
            _ => ways.iter().flat_map(|&way| AGAIN.map(|again| (way, again))).collect(),
        };
        Some(Function { names: names(&body), body, is_captured, calls })
    }

    /// The name of a variable as it is read.
    fn read(name: &str) -> String {
        if name.starts_with('e') { format!("{name}.args[0]") } else { name.to_owned() }
    }

    /// The beginning, which both tiers are given.
    fn head(&self, name: &str, parameters: &str) -> String {
        let shared: Vec<&str> = self.names.iter().map(String::as_str).filter(|name| !name.starts_with('e')).collect();
        let closure =
            if self.is_captured { format!("    shared = lambda: [{}]\n", shared.join(", ")) } else { "".into() };
        format!("def {name}({parameters}):\n{closure}    log = []\n    seen = 0\n{}", indented(&self.body, 4))
    }

    /// For the compiled tier: reads the names of which `q` has the bit.
    fn compiled(&self, name: &str) -> String {
        let mut text = self.head(name, "p, again, q") + "    out = [log]\n";
        for (bit, name) in self.names.iter().enumerate() {
            writeln!(text, "    if q & {}: out.append({})", 1_u64 << bit, Function::read(name)).unwrap();
        }
        text + "    return out\n"
    }

    /// For CPython: reads all that are bound, and tells which.
    fn interpreted(&self, name: &str) -> String {
        let mut text = self.head(name, "p, again") + "    known, q, out = locals(), 0, [log]\n";
        for (bit, name) in self.names.iter().enumerate() {
            let (mask, read) = (1_u64 << bit, Function::read(name));
            writeln!(text, "    if '{name}' in known:\n        q |= {mask}\n        out.append({read})").unwrap();
        }
        text + "    return [q, out]\n"
    }
}

/// What the body binds: `a`, `z`, `c`, `d`, `n`, `m`, and letters with the depth of their block.
fn names(body: &str) -> Vec<String> {
    let words = body.split(|c: char| !c.is_ascii_alphanumeric());
    let is_name = |word: &&str| match word.as_bytes() {
        [letter] => b"azcdnm".contains(letter),
        [letter, digit] => letter.is_ascii_lowercase() && digit.is_ascii_digit(),
        _ => false,
    };
    let mut names: Vec<String> = words.filter(is_name).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

const HEAD: &str = "D = {1: 10, 2: 20}\n";

fn compare(tiers: &Tiers, functions: &[Function], count: &mut Count) {
    for several in functions.chunks(FUNCTIONS) {
        let answers = interpreted(tiers, several);
        let source = |chosen: &[usize]| {
            let texts = chosen.iter().map(|index| several[*index].compiled(&format!("f{index}")));
            texts.fold(HEAD.to_owned(), |source, text| source + &text)
        };
        let numbered: Vec<usize> = (0..several.len()).collect();
        in_parts(&tiers.tier, &numbered, &source, &mut |chosen, compiled| {
            let mut player = compiled.unwrap_or_else(|outside| panic!("{outside}:\n{}", source(chosen)));
            for &index in chosen {
                play(&mut player, &format!("f{index}"), &several[index], &answers[index], count);
            }
        });
    }
}

/// What CPython answers to every call of every function: null for an exception.
fn interpreted(tiers: &Tiers, functions: &[Function]) -> Vec<Vec<Value>> {
    let mut source = HEAD.to_owned();
    for (index, function) in functions.iter().enumerate() {
        source += &function.interpreted(&format!("f{index}"));
    }
    source +=
        "def attempt(f, p, again):\n    try:\n        return f(p, again)\n    except Exception:\n        return None\n";
    source += "def all(f, calls):\n    return [attempt(globals()[f], p, again) for p, again in calls]\n";
    let mut session =
        tiers.sandbox.load(&source, 1, &COLUMN_FUEL).unwrap_or_else(|fault| panic!("{fault:?}\n{source}"));
    let mut answer = |(index, function): (usize, &Function)| {
        let calls: Vec<[usize; 2]> = function.calls.iter().map(|&(way, again)| [way, again]).collect();
        let told = session.call("all", &format!("[\"f{index}\",{calls:?}]")).unwrap_or_else(|fault| panic!("{fault}"));
        serde_json::from_str(&told).unwrap()
    };
    functions.iter().enumerate().map(&mut answer).collect()
}

/// Makes the calls of a function whose answers by CPython are known.
fn play(player: &mut Player, name: &str, function: &Function, answers: &[Value], count: &mut Count) {
    let mut call = |arguments: [u64; 3]| -> Option<Value> {
        let told = player.call(name, &format!("{arguments:?}"))?;
        Some(serde_json::from_str(&told).unwrap())
    };
    for (&(way, again), answer) in function.calls.iter().zip(answers) {
        let (bound, expected) = match answer {
            Value::Null => (0, None),
            Value::Array(items) if items[0] == "r" => (0, Some(answer)),
            answer => (answer[0].as_u64().unwrap(), Some(&answer[1])),
        };
        let told = call([way as u64, again as u64, bound]);
        let mut tell = |told: Value, read: &str| {
            let expected = expected.map_or("an exception".into(), |expected| format!("{expected}{read}"));
            let text = function.compiled(name);
            count.different.push(format!("{name}({way}, {again}) gives {told}, CPython {expected}:\n{text}"));
        };
        match (told, expected) {
            (Some(told), Some(expected)) if told == *expected => count.equal += 1,
            (Some(told), _) => tell(told, ""),
            (None, Some(_)) => count.given_up += 1,
            (None, None) => count.refused += 1,
        }
        if expected.is_none_or(|expected| expected[0] == "r") {
            continue;
        }
        for (bit, variable) in function.names.iter().enumerate().filter(|(bit, _)| bound & 1 << bit == 0) {
            match call([way as u64, again as u64, 1 << bit]) {
                None => count.refused += 1,
                Some(told) => tell(told, &format!(" and {variable} is not bound")),
            }
        }
    }
}

/// Rows of so many blocks, each of any kind.
fn nested(depth: usize) -> Vec<Vec<&'static str>> {
    let longer = |row: Vec<&'static str>| BLOCKS.iter().map(move |&block| [row.clone(), vec![block]].concat());
    (0..depth).fold(vec![Vec::new()], |rows, _| rows.into_iter().flat_map(longer).collect())
}

fn expect_none_different(count: &Count) {
    count.expect_none_different();
    assert!(count.given_up * 10 < count.equal, "{} given up, {} equal", count.given_up, count.equal);
}

#[test]
fn every_way_out_of_two_blocks_leaves_the_names_of_cpython() {
    let (tiers, all) = (Tiers::open(), (0..WAYS.len()).collect::<Vec<_>>());
    let mut functions = Vec::new();
    for blocks in [nested(1), nested(2)].concat() {
        // Chosen as it runs; in variables that a closure shares; and known to the compiler, with dead code after it.
        functions.extend(Function::new(&blocks, &all, false));
        functions.extend(Function::new(&blocks, &all, true));
        functions.extend(all.iter().filter_map(|&way| Function::new(&blocks, &[way], false)));
    }
    let mut count = Count::default();
    compare(&tiers, &functions, &mut count);
    expect_none_different(&count);
    assert!(count.equal > 4_000 && count.refused > 10_000, "{} equal, {} refused", count.equal, count.refused);
}

#[test]
#[ignore = "minutes; `make tier-exhaustive` runs it"]
fn every_way_out_of_three_blocks_leaves_the_names_of_cpython() {
    let (tiers, all) = (Tiers::open(), (0..WAYS.len()).collect::<Vec<_>>());
    let mut count = Count::default();
    for blocks in nested(3) {
        let known = all.iter().filter_map(|&way| Function::new(&blocks, &[way], false));
        let functions: Vec<Function> = Function::new(&blocks, &all, false).into_iter().chain(known).collect();
        compare(&tiers, &functions, &mut count);
    }
    expect_none_different(&count);
}

/// Statements of which a subscript may miss its key, `K`, while they are half done.
#[test]
fn what_a_missing_key_leaves_half_done_is_as_cpython_leaves_it() {
    let tiers = Tiers::open();
    let statements = include_str!("half_done.txt").lines().filter(|line| !line.starts_with('#'));
    let group = |(number, statement): (usize, &str)| {
        let written = statement.replace("KeyError", "\u{1}").replace('K', "d[k]").replace('\u{1}', "KeyError");
        let written = indented(&written.replace("\\n", "\n"), 8);
        let function = format!("f{number}");
        let text = HALF_DONE.replace("NAME", &function).replace("        WRITTEN\n", &written);
        // The key that is missing first: what gives up ends the calls of a group.
        Group { function, text, calls: ["[9]", "[1]", "[2]", "[3]"].map(str::to_owned).to_vec() }
    };
    let groups: Vec<Group> = statements.enumerate().map(group).collect();
    let program = |groups: &[Group]| Program {
        name: "half done".into(),
        prelude: HALF_DONE_PRELUDE.into(),
        groups: groups.to_vec(),
        seed: 1,
    };
    let tally = expect_the_same(&tiers, groups.chunks(FUNCTIONS).map(program));
    assert!(tally.equal > 2 * tally.functions, "{tally:#?}");
}

const HALF_DONE_PRELUDE: &str = "\
log = []
def note(v):
    log.append(v)
    return v
def keys(v):
    return [lambda q: -q, lambda q: q % 3, lambda q: abs(q)][v]
";

const HALF_DONE: &str = "\
def NAME(k):
    x, y, w, g, t = [3, 1, 2], [[1], [2]], 7, {1: 2, 2: 1}, (4, 5)
    d = {1: 1, 2: 0, 3: -1}
    log.clear()
    try:
        WRITTEN
        done = 'all'
    except KeyError as e:
        done = e.args[0]
    return [x, y, w, g, t, list(d), done, log]
";
