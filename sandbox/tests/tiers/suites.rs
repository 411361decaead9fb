//! What CPython's own tests assert, of the parts that the compiled tier takes: `cpython/*.py`, in the form of
//! `snippets.py`.

use std::path::Path;

use crate::compare::Tiers;
use crate::{corpus, expect_the_same_in_parts};

#[test]
fn no_assertion_of_cpythons_own_tests_tells_the_tiers_apart() {
    let suites = corpus::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tiers/cpython"));
    let cases: Vec<_> = suites.iter().flat_map(|(name, text)| corpus::cases(name, text)).collect();
    assert!(cases.len() > 250, "{} cases", cases.len());
    let tally = expect_the_same_in_parts(&Tiers::open(), cases);
    assert!(tally.stayed * 10 > tally.functions * 9, "{tally:#?}");
}
