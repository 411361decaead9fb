//! PTX text as tokens.

use crate::{DeviceFault, fault};

/// A piece of PTX.
#[derive(Debug, Clone, PartialEq)]
pub enum Token<'a> {
    /// A name, an opcode or a directive, dots and percent signs included.
    Word(&'a str),
    /// A number as its bits, floating or not.
    Number(u64),
    /// A character in quotation marks or a mark.
    Mark(char),
}

/// Tokens of `text`, each with its line. Strings in quotation marks are left out: only debugging speaks in them.
pub fn tokens(text: &str) -> Result<Vec<(Token<'_>, u32)>, DeviceFault> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let skip = match first {
            '\n' => {
                line += 1;
                1
            }
            _ if first.is_whitespace() || first == '\0' => first.len_utf8(),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                let end = rest.find("*/").ok_or_else(|| fault!("line {line}: a comment without an end"))? + 2;
                line += rest[..end].matches('\n').count() as u32;
                end
            }
            '"' => rest[1..].find('"').ok_or_else(|| fault!("line {line}: a string without an end"))? + 2,
            '0'..='9' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
                tokens.push((Token::Number(number(&rest[..end], line)?), line));
                end
            }
            _ if is_word(first) => {
                let end = rest.find(|c: char| !is_word(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
                tokens.push((Token::Word(&rest[..end]), line));
                end
            }
            _ => {
                tokens.push((Token::Mark(first), line));
                first.len_utf8()
            }
        };
        rest = &rest[skip..];
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%' | '.')
}

/// `7`, `0x1F`, `0f3F800000` (the bits of an f32), `0d3FF0000000000000` (of an f64); a `U` at the end says nothing new.
fn number(text: &str, line: u32) -> Result<u64, DeviceFault> {
    let plain = text.trim_end_matches('U');
    let parsed = match plain.get(..2) {
        Some("0x" | "0X" | "0f" | "0F" | "0d" | "0D") => u64::from_str_radix(&plain[2..], 16).ok(),
        _ if plain.contains('.') => plain.parse().ok().map(f64::to_bits),
        _ => plain.parse().ok(),
    };
    parsed.ok_or_else(|| fault!("line {line}: {text} is no number"))
}
