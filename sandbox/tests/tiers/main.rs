//! The two tiers of the sandbox give the same answers: on generated programs, on mutants, on hard cases by hand.

mod compare;
mod generator;
mod grammar;
mod hunt;
mod program;
mod reducer;
mod scope;

use compare::Tiers;
use grammar::Grammar;
use program::{generated, specimen};

/// Programs of one row that are tried before the row is said to be outside of what the tier compiles.
const SPECIMENS: u64 = 6;

/// Rows of the grammar that the compiled tier never answers.
fn barred(grammar: &Grammar, tiers: &Tiers) -> Vec<bool> {
    let mut barred = vec![false; grammar.rows.len()];
    let (leaves, others): (Vec<usize>, Vec<usize>) = (0..barred.len()).partition(|&index| grammar.rows[index].leaf);
    for index in leaves.into_iter().chain(others) {
        let answered = |attempt| tiers.answers(&specimen(grammar, &barred, index, attempt));
        barred[index] = !(0..SPECIMENS).any(answered);
    }
    barred
}

#[test]
#[ignore = "long; `make fuzz-tier` runs it"]
fn no_generated_program_tells_the_tiers_apart() {
    let (grammar, tiers) = (Grammar::read(), Tiers::open());
    let barred = barred(&grammar, &tiers);
    hunt::hunt(&tiers, |seed| Some(generated(&grammar, Some(&barred), seed).0));
}
