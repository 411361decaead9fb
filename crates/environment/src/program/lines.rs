//! The lines of Python code as texts that are equal wherever the same is written, with whatever blanks, indentation, empty lines
//! and comments.

use ruff_python_ast::token::{Token, TokenKind};
use ruff_text_size::Ranged;

/// Begins a line.
const START: char = '\0';
/// Ends one.
const END: char = '\u{1}';
/// Stand between lines of which the second is indented further, or less.
const INDENTED: char = '\u{2}';
const DEDENTED: char = '\u{3}';
/// The line `...`, and a comment that says so: here something is left out.
pub(super) const GAP: &str = "\0... \u{1}";

/// Words about code that a comment stands for.
const OF_CODE: [&str; 9] = ["above", "before", "code", "existing", "omitted", "remaining", "rest", "same", "unchanged"];

/// Those that are also said of other things, and so count as a comment's first word alone.
const OF_ANYTHING: [&str; 2] = ["before", "same"];
/// Within how many words a comment that ends with dots says what it stands for: `# keep the rest ...`.
const OPENING: usize = 3;
const DOTS: [&str; 2] = ["...", "…"];

/// The lines of `tokens`, which are some of those of `text`.
pub(super) fn of(text: &str, tokens: &[Token]) -> String {
    let (mut lines, mut is_within) = (String::new(), false);
    for token in tokens {
        let words = &text[token.range()];
        match token.kind() {
            TokenKind::Indent => lines.push(INDENTED),
            TokenKind::Dedent => lines.push(DEDENTED),
            TokenKind::Newline => {
                lines.push(END);
                is_within = false;
            }
            TokenKind::Comment if !is_within && leaves_out(words) => lines += GAP,
            TokenKind::Comment | TokenKind::NonLogicalNewline | TokenKind::EndOfFile => {}
            _ => {
                lines.extend((!is_within).then_some(START));
                lines.extend([words, " "]);
                is_within = true;
            }
        }
    }
    lines.extend(is_within.then_some(END));
    lines
}

/// Whether a comment stands for code: `# ...`, `# ... (as before)`, `# rest of it ...`, but not `# add it up...`, nor
/// `# print the same number...`, which describe the line below.
fn leaves_out(comment: &str) -> bool {
    let words = comment.trim_matches(|one: char| one == '#' || one.is_whitespace()).to_lowercase();
    let each = || words.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty()).enumerate();
    if DOTS.iter().any(|dots| words.starts_with(dots)) {
        let rest = words.trim_matches(|one: char| ".…".contains(one) || one.is_whitespace());
        return rest.is_empty() || rest.starts_with(['(', '[']) || each().any(|(_, word)| OF_CODE.contains(&word));
    }
    let is_of_code = |(place, word)| OF_CODE.contains(&word) && (place == 0 || !OF_ANYTHING.contains(&word));
    DOTS.iter().any(|dots| words.ends_with(dots)) && each().take(OPENING).any(is_of_code)
}

/// Whether lines have those of a quote, one after the other, but for its gaps.
pub(super) fn have(lines: &str, quote: &str) -> bool {
    let lines = lines.replace(GAP, "");
    let mut rest = lines.as_str();
    stretches(quote).all(|stretch| {
        let behind = rest.find(stretch).map(|at| &rest[at + stretch.len()..]);
        rest = behind.unwrap_or_default();
        behind.is_some()
    })
}

/// Each of the lines, without its indentation, but for gaps.
pub(super) fn each(lines: &str) -> impl Iterator<Item = &str> {
    stretches(lines).flat_map(|stretch| stretch.split(END)).filter_map(|line| Some(line.split_once(START)?.1))
}

/// The lines between gaps, without the indentation around them.
fn stretches(lines: &str) -> impl Iterator<Item = &str> {
    lines.split(GAP).map(|stretch| stretch.trim_matches([INDENTED, DEDENTED])).filter(|stretch| !stretch.is_empty())
}
