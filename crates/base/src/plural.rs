//! Numbers of things in words.

/// `1 game`, `2 games`: so many of what one is called `what`.
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
