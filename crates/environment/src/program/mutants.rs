//! Programs that differ from another one in a single token, as a slip of its author would leave them.

use ruff_python_ast::token::TokenKind;
use ruff_text_size::Ranged;

use super::parse;

/// The source with one token changed, once for each token that can be, in the order of the source. Most are wrong, some do
/// not compile, and a few do the same as the source. Of source that does not parse there are none.
pub fn mutants(source: &str) -> Vec<String> {
    let parsed = parse(source);
    if !parsed.errors().is_empty() {
        return Vec::new();
    }
    let changed = parsed.tokens().iter().filter_map(|token| {
        let range = token.range().to_std_range();
        let slip = slip(token.kind(), &source[range.clone()])?;
        Some(format!("{}{slip}{}", &source[..range.start], &source[range.end..]))
    });
    changed.collect()
}

/// What stands in place of a token.
fn slip(kind: TokenKind, text: &str) -> Option<String> {
    let slip = match kind {
        TokenKind::Plus => "-",
        TokenKind::Minus => "+",
        TokenKind::Star => "+",
        TokenKind::DoubleStar => "*",
        TokenKind::Slash => "//",
        TokenKind::DoubleSlash => "/",
        TokenKind::Percent => "//",
        TokenKind::PlusEqual => "=",
        TokenKind::Less => "<=",
        TokenKind::LessEqual => "<",
        TokenKind::Greater => ">=",
        TokenKind::GreaterEqual => ">",
        TokenKind::EqEqual => "!=",
        TokenKind::NotEqual => "==",
        TokenKind::And => "or",
        TokenKind::Or => "and",
        TokenKind::Not => "",
        TokenKind::True => "False",
        TokenKind::False => "True",
        TokenKind::Return => "",
        TokenKind::Int => return text.parse::<u64>().ok().map(|number| (number + 1).to_string()),
        TokenKind::Name => match text {
            "min" => "max",
            "max" => "min",
            "any" => "all",
            "all" => "any",
            "append" => "extend",
            "lower" => "upper",
            "upper" => "lower",
            _ => return None,
        },
        _ => return None,
    };
    Some(slip.to_owned())
}

#[cfg(test)]
mod tests {
    use super::mutants;

    #[test]
    fn each_token_that_can_be_mistaken_is_changed_once() {
        let source = "def f(a, *b):\n    return a + 2 if not a < min(b) else \"+\"  # or 1\n";
        let changed = [
            "def f(a, +b):\n    return a + 2 if not a < min(b) else \"+\"  # or 1\n",
            "def f(a, *b):\n     a + 2 if not a < min(b) else \"+\"  # or 1\n",
            "def f(a, *b):\n    return a - 2 if not a < min(b) else \"+\"  # or 1\n",
            "def f(a, *b):\n    return a + 3 if not a < min(b) else \"+\"  # or 1\n",
            "def f(a, *b):\n    return a + 2 if  a < min(b) else \"+\"  # or 1\n",
            "def f(a, *b):\n    return a + 2 if not a <= min(b) else \"+\"  # or 1\n",
            "def f(a, *b):\n    return a + 2 if not a < max(b) else \"+\"  # or 1\n",
        ];
        assert_eq!(mutants(source), changed);
        assert_eq!(mutants("def f(:"), [""; 0]);
    }
}
