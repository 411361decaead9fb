//! Suggestions for misspelt names.

/// The Jaro-Winkler similarity (0 to 1) above which one name is suggested for the other.
const ALIKE: f64 = 0.8;

/// The candidate that is most similar to `word`, if it is similar enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = candidates.into_iter().map(|candidate| (strsim::jaro_winkler(candidate, word), candidate));
    let best = likeness.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness > ALIKE).map(|(_, candidate)| candidate)
}
