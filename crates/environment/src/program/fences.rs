//! Where the fences of a text are, and the pieces between them.
//!
//! A fence stands at the start of a line, as in Markdown: a program may have three backticks in a string. A fence at the
//! start of a line may still be text of the program, in a docstring; the pieces around it are one where only together they
//! are Python. Where a model has thought aloud, the answer begins after that, whatever fences it left open.

use super::SOURCE_BYTES_MAX;
use super::syntax::{first_error, parse};

/// Characters of the shortest fence.
const FENCE_MIN: usize = 3;
/// Spaces that a fence may have more than the one that it closes, or than code that the prompt has begun.
const INDENT_MAX: usize = 3;
/// The fence that a model writes where it does not begin a line for it.
const INLINE: &str = "```";
/// Most parses of joined pieces of a text: few programs have fences in their docstrings, and few of those many.
const JOINS_MAX: usize = 32;
/// Ends the line with which a model ends its thoughts.
pub(super) const THOUGHT: &str = "</think>";
/// Stands for what a fence says that says nothing.
const UNNAMED: &str = INLINE;
/// What a text that goes on over lines is quoted with.
const TRIPLE: [&str; 2] = ["\"\"\"", "'''"];

/// A piece of a text, by its place: what stands before a fence, between two, or after one. The rest of a fence's line, such
/// as a language, belongs to the fence. The end of a model's thoughts is like one.
struct Piece {
    /// Where the fence before it begins.
    fence: usize,
    start: usize,
    end: usize,
}

/// The pieces of a text, in their order, each with what the fence before it says that it is, `python` or `text`, or with
/// [`THOUGHT`]; with nothing where neither stands there.
pub(super) fn pieces(text: &str) -> Vec<(&str, &str)> {
    joined(text, &split(text))
}

/// What fences call that is no Python. Other words are names of files, or of nothing: `solution`, `tool_code`.
const FOREIGN: &[&str] = &[
    "text", "txt", "plaintext", "plain", "output", "stdout", "input", "stdin", "console", "bash", "sh", "shell", "zsh",
    "powershell", "json", "yaml", "toml", "xml", "html", "css", "csv", "javascript", "js", "typescript", "ts", "java",
    "kotlin", "scala", "swift", "c", "cpp", "c++", "csharp", "cs", "go", "rust", "lua", "ruby", "perl", "php", "r",
    "julia", "haskell", "sql", "diff", "pseudocode", "pseudo", "latex", "math", "mermaid",
];

/// Whether a fence says that it has something else than Python.
pub(super) fn is_foreign(label: &str) -> bool {
    FOREIGN.iter().any(|name| name.eq_ignore_ascii_case(label))
}

/// Whether a piece with this label stands in no fence, nor behind one.
pub(super) fn is_unfenced(label: &str) -> bool {
    label.is_empty() || label == THOUGHT
}

/// Whether a fence says that it has Python.
pub(super) fn is_of_python(label: &str) -> bool {
    label.to_ascii_lowercase().contains("py")
}

/// What a piece comes to if a fence may stand anywhere in a line, as one that closes behind a program's last word does;
/// nothing where none stands there.
pub(super) fn inline(piece: &str) -> Vec<String> {
    if !piece.contains(INLINE) {
        return Vec::new();
    }
    let mut parts = piece.split(INLINE);
    let first = parts.next();
    let parts = parts.map(|part| part.split_once('\n').map_or("", |(_, code)| code));
    first.into_iter().chain(parts).map(dedent).collect()
}

/// The program that a fence behind a line's last word ends, of a piece that is no program with the fence. A comment may end with one
/// of its own.
pub(super) fn closed_behind(piece: &str) -> Option<&str> {
    let mut end = 0;
    for line in piece.split_inclusive('\n') {
        let is_code = |code: &&str| !code.trim().is_empty() && !code.contains(INLINE) && !code.contains('#');
        if let Some(code) = line.trim_end().strip_suffix(INLINE).filter(is_code) {
            let program = &piece[..end + code.len()];
            return (is_python(program) && !is_python(piece)).then_some(program);
        }
        end += line.len();
    }
    None
}

/// The pieces, and in place of one that is not Python what it comes to by the fences within its lines.
pub(super) fn blocks(pieces: &[String]) -> Vec<String> {
    let is_whole = |piece: &String| !piece.contains(INLINE) || is_python(piece);
    pieces.iter().flat_map(|piece| if is_whole(piece) { vec![piece.clone()] } else { inline(piece) }).collect()
}

#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    /// Whether nothing follows on its line, as must be where a fence closes.
    is_bare: bool,
}

impl Fence {
    /// The fence that a line is.
    fn of(line: &str) -> Option<Fence> {
        let words = line.trim_start_matches([' ', '\t']);
        let mark = words.chars().next().filter(|mark| ['`', '~'].contains(mark))?;
        let info = words.trim_start_matches(mark);
        let length = words.len() - info.len();
        // Backticks after backticks are code within a sentence.
        let is_fence = length >= FENCE_MIN && !(mark == '`' && info.contains(mark));
        let (indent, is_bare) = (line.len() - words.len(), info.trim().is_empty());
        is_fence.then_some(Fence { mark, length, indent, is_bare })
    }

    /// Whether `other` ends what this fence has opened. With words after it, it opens the next one: somebody has forgotten to
    /// close this.
    fn is_ended_by(&self, other: &Fence) -> bool {
        other.mark == self.mark && other.length >= self.length && other.indent <= self.indent + INDENT_MAX
    }
}

/// Splits a text at its fences.
fn split(text: &str) -> Vec<Piece> {
    let (mut open, mut pieces): (Option<Fence>, Vec<Piece>) = (None, Vec::new());
    let (mut fence, mut start, mut at) = (0, 0, 0);
    for line in text.split_inclusive('\n') {
        let line_start = at;
        at += line.len();
        if let Some(thought) = line.trim_end().strip_suffix(THOUGHT) {
            let end = line_start + thought.len();
            pieces.push(Piece { fence, start, end });
            (fence, start, open) = (end, at, None);
            continue;
        }
        let Some(found) = Fence::of(line) else { continue };
        let counts = match &open {
            Some(open) => open.is_ended_by(&found),
            // Up to the first fence the text may be code, which the prompt has opened a fence for.
            None => !pieces.is_empty() || found.indent <= INDENT_MAX,
        };
        if counts {
            pieces.push(Piece { fence, start, end: line_start });
            (fence, start) = (line_start, at);
            open = (open.is_none() || !found.is_bare).then_some(found);
        }
    }
    pieces.push(Piece { fence, start, end: text.len() });
    pieces
}

/// The pieces, those joined that are Python only together, with the labels of the fences before them.
fn joined<'a>(text: &'a str, pieces: &[Piece]) -> Vec<(&'a str, &'a str)> {
    let (mut whole, mut at, mut tries) = (Vec::new(), 0, JOINS_MAX);
    while at < pieces.len() {
        let last = last_of(text, &pieces[at..], &mut tries);
        let Piece { fence, start, .. } = pieces[at];
        let line = text[fence..start].trim();
        let is_marked = line == THOUGHT || Fence::of(line).is_some();
        let info = if is_marked { line.trim_start_matches(['`', '~']) } else { "" };
        let unnamed = if is_marked { UNNAMED } else { "" };
        let label = info.split_whitespace().next().unwrap_or(unnamed);
        whole.push((&text[start..pieces[at + last].end], label));
        at += last + 1;
    }
    whole
}

/// Index of the piece with which the first one is Python, if it is not that by itself: it begins a text over lines, which a
/// later one ends.
fn last_of(text: &str, pieces: &[Piece], tries: &mut usize) -> usize {
    let is_quoting = |text: &str| TRIPLE.iter().any(|quotes| text.contains(quotes));
    let first = &pieces[0];
    if pieces.len() == 1 || !is_quoting(&text[first.start..first.end]) || is_python(&text[first.start..first.end]) {
        return 0;
    }
    for (place, next) in pieces.iter().enumerate().skip(1) {
        let both = &text[first.start..next.end];
        if *tries == 0 || both.len() > SOURCE_BYTES_MAX {
            break;
        }
        if is_quoting(&text[next.fence..next.end]) {
            *tries -= 1;
            if is_python(both) {
                return place;
            }
        }
    }
    0
}

fn is_python(piece: &str) -> bool {
    let piece = dedent(piece);
    piece.len() <= SOURCE_BYTES_MAX && first_error(&parse(&piece)).is_none()
}

/// Removes the indentation that all lines share, as in a fence below a list item.
pub(super) fn dedent(stretch: &str) -> String {
    let lines = || stretch.lines().filter(|line| !line.trim().is_empty());
    let indent = lines().map(|line| line.len() - line.trim_start_matches([' ', '\t']).len()).min().unwrap_or(0);
    let same = lines().all(|line| line[..indent] == lines().next().unwrap_or_default()[..indent]);
    if indent == 0 || !same {
        return stretch.to_owned();
    }
    stretch.split_inclusive('\n').map(|line| line.get(indent..).unwrap_or("\n")).collect()
}
