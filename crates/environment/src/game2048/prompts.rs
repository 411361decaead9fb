//! The files of `prompts/`: each names a style of play and asks for it, after a few lines of front matter.

use super::strategy::entry;
use crate::{Briefing, Example, Request};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("prompts/{name}: {message}")]
pub struct PromptFileError {
    pub name: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFile {
    /// The style that it asks for, which is also the file's name.
    pub style: String,
    /// What it asks for, in a few words.
    pub asks: String,
    /// Text of the request, as a chat model reads it.
    pub body: String,
}

/// From the simplest style on. The order determines the ids of prompts and style tokens: only append.
const PROMPTS: [(&str, &str); 9] = [
    ("short.md", include_str!("../../prompts/short.md")),
    ("legal.md", include_str!("../../prompts/legal.md")),
    ("merge.md", include_str!("../../prompts/merge.md")),
    ("corner.md", include_str!("../../prompts/corner.md")),
    ("snake.md", include_str!("../../prompts/snake.md")),
    ("smooth.md", include_str!("../../prompts/smooth.md")),
    ("ahead.md", include_str!("../../prompts/ahead.md")),
    ("chance.md", include_str!("../../prompts/chance.md")),
    ("deep.md", include_str!("../../prompts/deep.md")),
];

/// All instructions of the game: the rules, one worked example, and a request for each style.
pub fn briefing() -> Result<Briefing, PromptFileError> {
    let (opening, example) = (entry().opening(), example()?);
    let request = |prompt: PromptFile| Request {
        style: prompt.style,
        example: Some(example.clone()),
        words: prompt.body,
        opening: opening.clone(),
        ..Request::default()
    };
    Ok(Briefing { system: system()?, requests: prompts()?.into_iter().map(request).collect() })
}

pub fn prompts() -> Result<Vec<PromptFile>, PromptFileError> {
    PROMPTS.iter().map(|(name, text)| PromptFile::parse(name, text)).collect()
}

/// The system text, which opens every chat.
fn system() -> Result<String, PromptFileError> {
    let parts = Parts::split("chat/system.md", include_str!("../../prompts/chat/system.md"))?;
    Ok(parts.body.into())
}

/// The worked example of every chat.
fn example() -> Result<Example, PromptFileError> {
    let name = "chat/example.md";
    let parts = Parts::split(name, include_str!("../../prompts/chat/example.md"))?;
    let both = parts.body.split_once("\n===\n");
    let (request, program) = both.ok_or_else(|| invalid(name, "expected a line === between request and program"))?;
    Ok(Example { request: request.into(), program: program.into() })
}

impl PromptFile {
    /// Parses the text of the file `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, PromptFileError> {
        let parts = Parts::split(name, text)?;
        let style = parts.field("style")?;
        if name.strip_suffix(".md") != Some(style) {
            return Err(invalid(name, &format!("found style {style}; expected the name of the file")));
        }
        Ok(PromptFile { style: style.into(), asks: parts.field("asks")?.into(), body: parts.body.into() })
    }
}

struct Parts<'a> {
    name: &'a str,
    front: &'a str,
    body: &'a str,
}

impl<'a> Parts<'a> {
    fn split(name: &'a str, text: &'a str) -> Result<Self, PromptFileError> {
        let front_and_body = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let (front, body) = front_and_body.ok_or_else(|| invalid(name, "expected front matter between lines ---"))?;
        let body = body.trim();
        if body.is_empty() {
            return Err(invalid(name, "expected words after the front matter"));
        }
        Ok(Parts { name, front, body })
    }

    fn field(&self, key: &str) -> Result<&'a str, PromptFileError> {
        let value = self.front.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        value
            .map(str::trim)
            .ok_or_else(|| invalid(self.name, &format!("expected a line `{key}: ...` in the front matter")))
    }
}

fn invalid(name: &str, message: &str) -> PromptFileError {
    PromptFileError { name: name.into(), message: message.into() }
}
