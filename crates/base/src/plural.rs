//! Numbers of things in words, shares of them, and texts cut short.

/// `1 game`, `2 games`: so many of what one is called `what`.
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A share from 0 to 1 as whole percent. Halves go up, as on the page of a run.
pub fn percent(share: f64) -> String {
    format!("{}%", (100.0 * share).round())
}

/// The first `most` characters of a text, with `...` behind them where it has more.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
