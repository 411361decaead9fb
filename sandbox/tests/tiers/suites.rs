//! What CPython's own tests assert, of the parts that the compiled tier takes: `cpython/*.py`, in the form of
//! `snippets.py`.

use crate::compare::Tiers;
use crate::{corpus, expect_the_same_in_parts};

const SUITES: [(&str, &str); 19] = [
    ("list_tests.py", include_str!("cpython/list_tests.py")),
    ("seq_tests.py", include_str!("cpython/seq_tests.py")),
    ("string_tests.py", include_str!("cpython/string_tests.py")),
    ("test_augassign.py", include_str!("cpython/test_augassign.py")),
    ("test_bool.py", include_str!("cpython/test_bool.py")),
    ("test_builtin.py", include_str!("cpython/test_builtin.py")),
    ("test_dict.py", include_str!("cpython/test_dict.py")),
    ("test_exceptions.py", include_str!("cpython/test_exceptions.py")),
    ("test_float.py", include_str!("cpython/test_float.py")),
    ("test_grammar.py", include_str!("cpython/test_grammar.py")),
    ("test_int.py", include_str!("cpython/test_int.py")),
    ("test_list.py", include_str!("cpython/test_list.py")),
    ("test_long.py", include_str!("cpython/test_long.py")),
    ("test_range.py", include_str!("cpython/test_range.py")),
    ("test_scope.py", include_str!("cpython/test_scope.py")),
    ("test_set.py", include_str!("cpython/test_set.py")),
    ("test_sort.py", include_str!("cpython/test_sort.py")),
    ("test_str.py", include_str!("cpython/test_str.py")),
    ("test_tuple.py", include_str!("cpython/test_tuple.py")),
];

#[test]
fn no_assertion_of_cpythons_own_tests_tells_the_tiers_apart() {
    let cases: Vec<_> = SUITES.iter().flat_map(|(name, text)| corpus::cases(name, text)).collect();
    assert!(cases.len() > 250, "{} cases", cases.len());
    let tally = expect_the_same_in_parts(&Tiers::open(), cases);
    assert!(tally.stayed * 10 > tally.functions * 9, "{tally:#?}");
}
