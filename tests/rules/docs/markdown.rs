//! Reads a document as GitHub does.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A piece of a document, with its first line.
pub struct Piece {
    pub line: usize,
    pub text: String,
}

/// The parts of a document that can be checked.
#[derive(Default)]
pub struct Document {
    /// Its path relative to the root of the repository.
    pub path: String,
    pub spans: Vec<Piece>,
    /// The targets of links and images.
    pub links: Vec<Piece>,
    /// The anchors of headings, as GitHub makes them.
    pub anchors: Vec<String>,
    pub blocks: Vec<Block>,
}

pub struct Block {
    pub line: usize,
    pub language: String,
    pub text: String,
}

impl Document {
    pub fn read(path: &str) -> Self {
        Self::parse(path, &crate::read(path))
    }

    pub fn parse(path: &str, text: &str) -> Self {
        let mut document = Document { path: path.to_owned(), ..Document::default() };
        let (mut heading, mut block) = (None, None);
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = text[..range.start].matches('\n').count() + 1;
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => document.anchors.extend(heading.take().map(|text| anchor(&text))),
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = match kind {
                        CodeBlockKind::Fenced(language) => language.to_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    // The text begins in the line after the fence.
                    block = Some(Block { line: line + 1, language, text: String::new() });
                }
                Event::End(TagEnd::CodeBlock) => document.blocks.extend(block.take()),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(Piece { line, text: dest_url.to_string() });
                }
                Event::Code(code) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&code));
                    // A span may continue on the next line. In a table a bar is escaped.
                    let text = code.split_whitespace().collect::<Vec<_>>().join(" ").replace("\\|", "|");
                    document.spans.push(Piece { line, text });
                }
                Event::Text(words) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&words));
                    block.iter_mut().for_each(|block| block.text.push_str(&words));
                }
                _ => {}
            }
        }
        document
    }

    /// The commands of blocks: lines of `sh` blocks, and lines after a `$` in other blocks.
    pub fn commands(&self) -> Vec<Piece> {
        let mut commands = Vec::new();
        for block in &self.blocks {
            for (index, line) in block.text.lines().enumerate() {
                let typed = if block.language == "sh" { Some(line) } else { line.strip_prefix("$ ") };
                commands.extend(typed.map(|typed| Piece { line: block.line + index, text: typed.to_owned() }));
            }
        }
        commands
    }
}

/// The anchor that GitHub gives a heading: lower case, spaces as hyphens, no punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|&c| c.is_alphanumeric() || c == ' ' || c == '-' || c == '_');
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
