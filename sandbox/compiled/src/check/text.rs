//! Checks a source without parsing it: length, characters, nesting.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::Mode;
use ruff_python_parser::lexer::lex;

use crate::Outside;

/// Most bytes and tokens of a source.
const SOURCE_MAX: usize = 64 << 10;
const TOKENS_MAX: usize = 20_000;

/// Deepest nesting of brackets, blocks and operators; far below the limits of CPython (200, 100, about 1,000).
const BRACKETS_MAX: usize = 40;
const BLOCKS_MAX: usize = 30;
const OPERATORS_MAX: usize = 120;

pub(super) fn check(source: &str) -> Result<(), Outside> {
    let refuse = |line: usize, construct: &str| Err(Outside { line, construct: construct.into() });
    if source.len() > SOURCE_MAX {
        return refuse(1, "a source of this length");
    }
    let (mut spaces, mut tabs) = (false, false);
    for (index, line) in source.split('\n').enumerate() {
        if line.chars().any(|character| character.is_control() && !matches!(character, '\t' | '\r')) {
            return refuse(index + 1, "a control character");
        }
        if line.trim_end_matches('\r').contains('\r') || line.contains('\u{feff}') {
            return refuse(index + 1, "a control character");
        }
        let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
        spaces |= line[..indentation].contains(' ');
        tabs |= line[..indentation].contains('\t');
        if spaces && tabs {
            return refuse(index + 1, "indentation by tabs and spaces");
        }
        if index < 2 && line.contains('#') && line.contains("coding") {
            return refuse(index + 1, "a declaration of an encoding");
        }
    }
    nesting(source)
}

/// Counts nested operators within the open brackets.
struct Nesting {
    /// For every open bracket, the operators since it or since the last comma in it.
    operators: Vec<usize>,
    total: usize,
}

impl Nesting {
    fn new() -> Nesting {
        Nesting { operators: vec![0], total: 0 }
    }

    fn add(&mut self) {
        self.total += 1;
        if let Some(innermost) = self.operators.last_mut() {
            *innermost += 1;
        }
    }

    /// A comma: what follows is beside what came before, not nested in it.
    fn separate(&mut self) {
        if let Some(innermost) = self.operators.last_mut() {
            self.total -= std::mem::take(innermost);
        }
    }

    fn close(&mut self) {
        self.separate();
        if self.operators.len() > 1 {
            self.operators.pop();
        }
    }

    fn is_too_deep(&self) -> bool {
        self.total > OPERATORS_MAX || self.operators.len() > BRACKETS_MAX
    }
}

fn nesting(source: &str) -> Result<(), Outside> {
    let (mut nesting, mut blocks, mut line) = (Nesting::new(), 0usize, 1);
    let mut lexer = lex(source, Mode::Module);
    for _ in 0..TOKENS_MAX {
        match lexer.next_token() {
            TokenKind::EndOfFile => return Ok(()),
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                nesting.add();
                nesting.operators.push(0);
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => nesting.close(),
            TokenKind::Comma => nesting.separate(),
            TokenKind::Newline => {
                nesting = Nesting::new();
                line += 1;
            }
            TokenKind::NonLogicalNewline => line += 1,
            TokenKind::Indent => blocks += 1,
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            TokenKind::FStringStart | TokenKind::TStringStart => {
                return Err(Outside { line, construct: "an f-string".into() });
            }
            TokenKind::Name | TokenKind::Int | TokenKind::Float | TokenKind::String | TokenKind::Comment => {}
            _ => nesting.add(),
        }
        if nesting.is_too_deep() || blocks > BLOCKS_MAX {
            return Err(Outside { line, construct: "nesting so deep".into() });
        }
    }
    Err(Outside { line, construct: "a source of this length".into() })
}
