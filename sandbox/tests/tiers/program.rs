//! A program with what it is called with: what both tiers are given.

use rand::Rng;
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use crate::generator::{Generator, PRELUDE};
use crate::grammar::Grammar;

/// Functions in one program, which costs about 5 ms to load; each shares nothing with the others. More would be more
/// than the tier compiles at once.
const GROUPS: usize = 3;

/// Calls of each function, so that what it keeps shows.
const CALLS: usize = 3;

/// Source text and calls.
#[derive(Debug, Clone)]
pub struct Program {
    /// What the difference is reported under.
    pub name: String,
    /// What is written before the groups.
    pub prelude: String,
    pub groups: Vec<Group>,
    /// Seeds `random`.
    pub seed: u64,
}

/// A part of a program that stands for itself: text with one function, and the arguments of its calls.
#[derive(Debug, Clone)]
pub struct Group {
    pub function: String,
    pub text: String,
    pub calls: Vec<String>,
}

impl Program {
    pub fn source(&self) -> String {
        self.groups.iter().fold(self.prelude.clone(), |text, group| text + &group.text + "\n")
    }

    /// Which group a line of the source, from 1, belongs to.
    pub fn group_at(&self, line: usize) -> Option<usize> {
        let mut end = self.prelude.lines().count();
        (0..self.groups.len()).find(|&index| {
            let begin = end;
            end += self.groups[index].text.lines().count() + 1;
            (begin + 1..=end).contains(&line)
        })
    }

    /// Whether what a function does depends on how often another drew.
    pub fn draws(&self) -> bool {
        self.groups.iter().any(|group| group.text.contains("random."))
    }
}

/// Share of programs that have rows although they are barred.
const UNBARRED: f64 = 0.08;

/// A generated program, and how often each row of the grammar is in it. Most programs have no row that is barred.
pub fn generated(grammar: &Grammar, barred: Option<&[bool]>, seed: u64) -> (Program, Vec<u64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let flavours = [("big", 0.15), ("huge", 0.06), ("edge", 0.3), ("chance", 0.15), ("odd", 0.05)];
    let flavours: Vec<&str> =
        flavours.iter().filter(|(_, share)| rng.random_bool(*share)).map(|(name, _)| *name).collect();
    let barred = barred.filter(|_| !rng.random_bool(UNBARRED));
    let mut generator = Generator::new(grammar, rng, flavours.clone(), barred);
    let groups = (0..GROUPS).map(|index| {
        let function = format!("play{index}");
        let text = generator.group(&function);
        let calls = (0..CALLS).map(|_| arguments(&mut generator.rng, &flavours)).collect();
        Group { function, text, calls }
    });
    let groups = groups.collect();
    // Of `random`: all lengths that a seed may have.
    let drawn = generator.rng.random::<u64>() >> generator.rng.random_range(0..64);
    let program = Program { name: format!("generated {seed}"), prelude: PRELUDE.into(), groups, seed: drawn };
    (program, generator.used)
}

/// Programs of one row each, the `attempt`th of each row.
pub fn specimen(grammar: &Grammar, barred: &[bool], index: usize, attempt: u64) -> Program {
    let rng = ChaCha8Rng::seed_from_u64(attempt);
    let row = &grammar.rows[index];
    let mut barred = barred.to_vec();
    barred[index] = false;
    let flavours = row.flavour.into_iter().collect();
    let mut generator = Generator::new(grammar, rng, flavours, Some(&barred));
    let text = generator.specimen("play", row);
    let groups = vec![Group { function: "play".into(), text, calls: vec!["[]".into()] }];
    Program { name: format!("{} {}", row.kind, row.text), prelude: PRELUDE.into(), groups, seed: attempt }
}

/// `board, n, s, xs, x`, as JSON.
fn arguments(rng: &mut ChaCha8Rng, flavours: &[&str]) -> String {
    let words = ["", "a", "WASD", "xyzzy", "Hello, World", "12"];
    let floats = ["0.0", "-0.0", "0.5", "1.5", "-2.25", "0.1", "3.0", "1000.0", "1e-07"];
    let edges = ["1e+308", "-1e+308", "5e-324", "9007199254740993.0", "1e+16", "1e-05", "29802.322387695312"];
    let tagged = [r#"{"float":"nan"}"#, r#"{"float":"inf"}"#, r#"{"float":"-inf"}"#];
    let big = [1 << 31, -(1 << 31), 1 << 53, (1 << 53) + 1, 1 << 60, -(1 << 60), (1 << 61) - 1, 1 << 61, -(1 << 61)];
    let n = if flavours.contains(&"big") && rng.random_bool(0.5) {
        *big.choose(rng).unwrap()
    } else {
        rng.random_range(-20i64..200)
    };
    let x = match flavours.contains(&"edge") {
        true if rng.random_bool(0.06) => tagged.choose(rng),
        true if rng.random_bool(0.5) => edges.choose(rng),
        _ => floats.choose(rng),
    };
    let x = x.unwrap();
    let s = if flavours.contains(&"odd") && rng.random_bool(0.2) { "é日" } else { words.choose(rng).unwrap() };
    let count = rng.random_range(0..7);
    let xs: Vec<i64> = (0..count).map(|_| rng.random_range(-9i64..30)).collect();
    let xs = format!("{xs:?}").replace(' ', "");
    format!("[{},{n},\"{s}\",{xs},{x}]", board(rng))
}

/// A board as games of 2048 come to it, as JSON.
pub fn board(rng: &mut ChaCha8Rng) -> String {
    let filled = rng.random_range(0.1..1.0);
    let highest = rng.random_range(2..12);
    let mut cell = || if rng.random_bool(filled) { 1 << rng.random_range(1..highest) } else { 0 };
    let rows: [[u32; 4]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| cell()));
    format!("{rows:?}").replace(' ', "")
}
