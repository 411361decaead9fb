//! Programs of a template: which slots are traced, what the tracer does, where the variables live.

/// Where the variables in play live, and so what a tracer can do to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// The tracer rebinds them and changes what they hold.
    Globals,
    /// The same of variables of an enclosing function.
    Cells,
    /// The tracer changes what they hold.
    Locals,
    /// Traced operands rebind them by `:=`.
    ReboundLocals,
}

/// Variables in play: name, value, and the value that they are rebound to.
const VARIABLES: &[(&str, &str, &str)] = &[
    ("x", "[3, 1, 2]", "[8, 9]"),
    ("y", "[5, 4, 6, 7]", "[1, 2, 1]"),
    ("n", "2", "3"),
    ("m", "1", "0"),
    ("i", "0", "1"),
    ("f", "2.5", "-0.5"),
    ("s", "'abca'", "'bcab'"),
    ("u", "'b'", "'c'"),
    ("d", "{1: 10, 2: 20, 3: 30}", "{2: 5, 3: 6, 1: 7}"),
    ("c", "{'a': 1, 'b': 2}", "{'b': 5, 'c': 6}"),
    ("p", "[[1, 2], [3, 4], [5, 6]]", "[[7, 8, 9], [8, 9]]"),
    ("a", "(4, 8, 6)", "(2, 1)"),
    ("b", "True", "False"),
    ("g", "{1, 2, 3}", "{2, 5}"),
    ("z", "enumerate({y})", "zip({y}, {x})"),
    ("K", "K1", "K2"),
];

/// Those that hold no container, which an effect of its own rebinds.
const PLAIN: &[&str] = &["n", "m", "i", "f", "s", "u", "b", "K"];

/// What a tracer does beside rebinding; braces mark variables.
const EFFECTS: &[&str] = &[
    "{x}.append(9); {y}.append(0); {p}.append([9, 9])",
    "{x}.pop(); {y}.pop(); {p}.pop()",
    "{x}.clear(); {y}.clear(); {p}.clear(); {d}.clear(); {c}.clear(); {g}.clear()",
    "{x}.reverse(); {y}.reverse(); {p}.reverse()",
    "{x}[0] = 7; {y}[0] = 8; {p}[0] = [9]; {d}[1] = 11; {c}['a'] = 9",
    "{d}[9] = 90; {c}['z'] = 26; {g}.add(9); {x}.insert(0, 9); {y}.insert(0, 1); {p}.insert(0, [0, 0])",
    "{d}.pop(1); {c}.pop('a'); {g}.discard(1); del {x}[0]; del {y}[0]; del {p}[0]",
    "{p}[0].append(9); {p}[-1].reverse(); {p}[0][0] = 5",
    "{x}.sort(); {y}.sort(reverse=True)",
    "{x} += {y}; {y} *= 2",
    "\n        for v in {z}: break",
];

/// The number of the slot of the key functions, which trace too.
pub const KEY: usize = 100;

/// A program, and the calls of its `play(variant, slot, effect, turn)`.
pub struct Traced {
    pub source: String,
    pub calls: Vec<[usize; 4]>,
}

pub fn expressions() -> Vec<String> {
    include_str!("expressions.txt").lines().map(str::to_owned).collect()
}

pub fn statements() -> Vec<String> {
    include_str!("statements.txt").split("\n---\n").map(|text| text.trim_end().to_owned()).collect()
}

/// How much of a template is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Of two slots traced together, those with an even number of others between them; of all that are traced together, each
    /// under every second effect.
    Day,
    All,
}

/// The sets of slots that are traced: none, each, each two, all. Two are told from one alone by globals: elsewhere they
/// take the same way.
pub fn variants(template: &str, storage: Storage, extent: Extent) -> Vec<Vec<usize>> {
    let slots = template.matches('`').count() / 2;
    let mut variants = vec![vec![]];
    variants.extend((0..slots).map(|one| vec![one]));
    if storage == Storage::Globals {
        let step = if extent == Extent::Day { 2 } else { 1 };
        variants.extend((0..slots).flat_map(|one| (one + 1..slots).step_by(step).map(move |two| vec![one, two])));
    }
    if slots > 2 || (slots == 2 && storage != Storage::Globals) {
        variants.push((0..slots).collect());
    }
    variants
}

/// A template with tracers in these slots.
fn traced(template: &str, slots: &[usize], storage: Storage) -> String {
    let mut text = String::new();
    for (index, part) in template.split('`').enumerate() {
        let slot = index / 2;
        text += &match (index % 2, storage) {
            (1, Storage::ReboundLocals) if slots.contains(&slot) => {
                let rebound = VARIABLES.iter().filter(|(name, ..)| *name != "z" && template.contains(name));
                let rebound: Vec<String> = rebound.map(|(name, _, value)| format!("({name} := {value})")).collect();
                format!("t({slot}, {part}, [{}])", rebound.join(", "))
            }
            (1, _) if slots.contains(&slot) => format!("t({slot}, {part})"),
            _ => part.to_owned(),
        };
    }
    text
}

/// The program of these variants of a template.
pub fn program(template: &str, variants: &[Vec<usize>], storage: Storage, extent: Extent) -> Traced {
    let is_expression = !template.contains('\n') && expressions().iter().any(|one| one == template);
    let mut body = String::new();
    for (index, slots) in variants.iter().enumerate() {
        body += &format!("    if V == {index}:\n");
        let text = traced(template, slots, storage);
        let text = if is_expression { format!("r = {text}") } else { text };
        text.lines().for_each(|line| body += &format!("        {line}\n"));
    }
    Traced { source: source(&body, storage), calls: calls(template, variants, storage, extent) }
}

/// Every traced slot with its effects, at its first turn and at its second.
fn calls(template: &str, variants: &[Vec<usize>], storage: Storage, extent: Extent) -> Vec<[usize; 4]> {
    let mut calls = Vec::new();
    let is_repeated = template.contains("for ") || template.contains("while ");
    for (index, slots) in variants.iter().enumerate() {
        calls.push([index, KEY + 1, 0, 0]);
        if storage == Storage::ReboundLocals {
            continue;
        }
        let keys = template.contains('K').then_some(KEY);
        for slot in slots.iter().copied().chain(keys) {
            // By day slots that are traced together share the effects between them.
            let step = if extent == Extent::Day && slots.len() > 1 { 2 } else { 1 };
            for effect in (slot % step..EFFECTS.len() + 2).step_by(step) {
                let turns = if is_repeated || slot == KEY { 2 } else { 1 };
                calls.extend((1..=turns).map(|turn| [index, slot, effect, turn]));
            }
        }
    }
    calls
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn source(body: &str, storage: Storage) -> String {
    let is_local = matches!(storage, Storage::Locals | Storage::ReboundLocals);
    let prefix = if is_local { "G" } else { "" };
    let bind = |name: &str, value: &str| {
        let value = marked(value, prefix);
        if is_local { format!("{name} = G{name} = {value}\n") } else { format!("{name} = {value}\n") }
    };
    let names: Vec<String> = VARIABLES.iter().map(|(name, ..)| format!("{prefix}{name}")).collect();
    let names = names.join(", ");
    let initial: String = VARIABLES.iter().map(|(name, value, _)| bind(name, value)).collect();
    let rebind = |plain: bool| -> String {
        let chosen = VARIABLES.iter().filter(|(name, ..)| !plain || PLAIN.contains(name));
        chosen.map(|(name, _, value)| format!("        {prefix}{name} = {}\n", marked(value, prefix))).collect()
    };
    let declared = if storage == Storage::Cells { "nonlocal" } else { "global" };
    let counters = if storage == Storage::Cells { "nonlocal H" } else { "global H" };
    let mut tracer = format!("def t(q, v, w=None):\n    {declared} {names}\n    {counters}\n    L.append(q)\n");
    tracer += "    if q != W: return v\n    H -= 1\n    if H: return v\n";
    tracer += &format!("    if E == 0:\n{}    elif E == 1:\n{}", rebind(false), rebind(true));
    for (index, effect) in EFFECTS.iter().enumerate() {
        tracer += &format!("    elif E == {}:\n        {}\n", index + 2, marked(effect, prefix).trim_start());
    }
    tracer += "    return v\n";
    let keys = format!("def K1(v): t({KEY}, v); return -v\ndef K2(v): t({KEY}, v); return v % 3\n");
    let shared = "import math\nimport random\ndef R(v): return [v, v]\ndef F(v, w=5, q=7): return [v, w, q]\n";
    let left = "    return [r, L, x, y, n, m, i, f, s, u, list(d.items()), list(c.items()), p, a, b, \
                [v in g for v in range(12)], list(z)]\n";
    match storage {
        Storage::Cells => format!(
            "{shared}def play(V, W, E, H):\n    L = []\n{}{}{}    r = None\n{body}{left}",
            indented(&tracer),
            indented(&keys),
            indented(&initial)
        ),
        _ => {
            let declared = if is_local { format!("{names}, L, W, E, H") } else { format!("{names}, L, W, E, H, r") };
            format!(
                "{shared}L = []\nW = E = H = 0\nr = None\n{tracer}{keys}def play(V, W_, E_, H_):\n    global {declared}\n    \
                 L = []\n    W = W_; E = E_; H = H_\n{}    r = None\n{body}{left}",
                indented(&initial)
            )
        }
    }
}

/// A text whose variables, in braces, are those in play; braces of dicts and sets are kept.
fn marked(text: &str, prefix: &str) -> String {
    VARIABLES
        .iter()
        .fold(text.to_owned(), |text, (name, ..)| text.replace(&format!("{{{name}}}"), &format!("{prefix}{name}")))
}
