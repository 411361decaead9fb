//! Programs like those of a training step, and programs that loop forever.

use std::collections::BTreeSet;

use grpo_2048::corpus::{self, Mix};
use grpo_2048::seed::{Purpose, Seed};

/// `count` distinct programs of the corpus, some with errors. They are distinct because the arena plays equal ones
/// once.
pub fn healthy(count: usize, seed: Seed) -> Vec<String> {
    let mut rng = seed.child(Purpose::Corpus, 0).rng();
    let mut known = BTreeSet::new();
    let mut programs = Vec::with_capacity(count);
    while programs.len() < count {
        let source = corpus::program(&mut rng, &Mix::default()).source;
        if known.insert(source.clone()) {
            programs.push(source);
        }
    }
    programs
}

/// The same, but every `share`-th program loops forever in its first call.
pub fn with_spinning(programs: &[String], share: usize) -> Vec<String> {
    let place = |(index, source): (usize, &String)| match is_spinning(index, share) {
        true => format!("def strategy(board):\n    turns = {index}\n    while True:\n        turns += 1\n"),
        false => source.clone(),
    };
    programs.iter().enumerate().map(place).collect()
}

/// Whether the program at `index` is one of those that loop forever.
pub fn is_spinning(index: usize, share: usize) -> bool {
    index % share == share - 1
}
