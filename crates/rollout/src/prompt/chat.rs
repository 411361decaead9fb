//! Chat templates: Jinja, as models ship them.

use std::io::{self, Write};

use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, ErrorKind, context};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

use super::{FENCE, PromptError};
use crate::environment::{Briefing, Request};

/// The date that `strftime_now` returns, by format letter. Some templates put the date into the system turn. A clock
/// would make two runs differ, so the date is always Friday, 26 July 2024, the default of Llama 3.1's template.
const DATE: &[(&str, &str)] = &[
    ("Y", "2024"),
    ("y", "24"),
    ("m", "07"),
    ("-m", "7"),
    ("B", "July"),
    ("b", "Jul"),
    ("d", "26"),
    ("-d", "26"),
    ("e", "26"),
    ("j", "208"),
    ("A", "Friday"),
    ("a", "Fri"),
    ("H", "00"),
    ("I", "12"),
    ("M", "00"),
    ("S", "00"),
    ("p", "AM"),
    ("F", "2024-07-26"),
    ("T", "00:00:00"),
    ("%", "%"),
];

/// Instructions that a template may run, because it comes with a model from anybody. Templates of well-known models
/// take some hundreds.
const FUEL: u64 = 1_000_000;

/// What is asked for to see whether a template writes what is asked for.
const OTHER_WORDS: &str = "grpo-asked";

/// What opens the thinking of a model.
const THINKING: &str = "<think>";

/// One turn of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: &'static str,
    pub content: String,
}

impl Message {
    pub(super) fn new(role: &'static str, content: impl Into<String>) -> Self {
        Message { role, content: content.into() }
    }
}

/// The turns of a prompt: rules, one worked example, and the request.
pub fn conversation(briefing: &Briefing, request: &Request) -> Vec<Message> {
    let mut turns = vec![Message::new("system", &briefing.system)];
    if let Some(example) = &request.example {
        turns.push(Message::new("user", &example.request));
        turns.push(Message::new("assistant", format!("{FENCE}{}\n```", example.program)));
    }
    turns.push(Message::new("user", &request.words));
    turns
}

/// A model's chat format.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos_token: String,
    eos_token: String,
}

impl ChatTemplate {
    /// Compiles the template `source`, which may use the given tokens.
    pub fn new(source: &str, bos_token: Option<&str>, eos_token: Option<&str>) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        // These are Hugging Face's settings.
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        environment.add_function("strftime_now", |format: String| strftime(&format));
        environment.add_filter("tojson", to_json);
        environment.add_template_owned("chat", without_marks(source)).map_err(refused)?;
        let token = |token: Option<&str>| token.unwrap_or_default().to_owned();
        Ok(ChatTemplate { environment, bos_token: token(bos_token), eos_token: token(eos_token) })
    }

    /// Renders the prompt of a request.
    ///
    /// # Errors
    /// [`PromptError::Template`] if the template fails, or leaves the request out.
    pub(super) fn asking(&self, briefing: &Briefing, request: &Request) -> Result<String, PromptError> {
        let text = self.render(&conversation(briefing, request))?;
        // A template may escape or cut words; then others still give another text.
        let other = || Request { words: OTHER_WORDS.to_owned(), ..request.clone() };
        let is_same = || self.render(&conversation(briefing, &other())).is_ok_and(|other| other == text);
        if text.contains(request.words.trim()) || !is_same() {
            return Ok(text);
        }
        let message =
            "the text is the same whatever is asked for; expected a template that writes the turn of the user";
        Err(PromptError::Template { message: message.to_owned() })
    }

    /// Renders `messages` and the opening of the assistant's turn.
    ///
    /// If a template has no system role, whether it refuses such a turn or passes over it, the system's text is put before
    /// the first request.
    pub fn render(&self, messages: &[Message]) -> Result<String, PromptError> {
        let given = self.render_as_given(messages, true);
        let [system, user, rest @ ..] = messages else { return given };
        if system.role != "system" || given.as_ref().is_ok_and(|text| self.has_system(text, messages)) {
            return given;
        }
        let merged = Message::new(user.role, format!("{}\n\n{}", system.content, user.content));
        let messages: Vec<Message> = [merged].into_iter().chain(rest.iter().cloned()).collect();
        self.render_as_given(&messages, true).or_else(|error| given.map_err(|_| error))
    }

    /// Whether `text`, which the template makes of `messages`, depends on the words of the first, the system's.
    fn has_system(&self, text: &str, messages: &[Message]) -> bool {
        let [system, rest @ ..] = messages else { return false };
        // A template may escape or cut words; then others still give another text.
        let other = Message::new(system.role, OTHER_WORDS);
        let others: Vec<Message> = [other].into_iter().chain(rest.iter().cloned()).collect();
        text.contains(system.content.trim()) || self.render_as_given(&others, true).is_ok_and(|other| other != text)
    }

    /// Renders exactly these messages; `open`: whether the opening of the assistant's turn follows.
    pub(super) fn render_as_given(&self, messages: &[Message], open: bool) -> Result<String, PromptError> {
        let template = self.environment.get_template("chat").map_err(refused)?;
        let context = context! {
            messages,
            add_generation_prompt => open,
            enable_thinking => false,
            tools => (),
            documents => (),
            bos_token => self.bos_token,
            eos_token => self.eos_token,
        };
        let text = template.render(context).map_err(refused)?;
        // Some templates open the thinking whatever they are told, and an answer that is begun within it would be a thought.
        match text.trim_end().strip_suffix(THINKING) {
            Some(before) if open => Ok(format!("{before}{THINKING}\n\n</think>\n\n")),
            _ => Ok(text),
        }
    }
}

/// The template with blocks of no effect for `generation`, by which templates mark the text of the assistant for the losses of
/// other programs.
fn without_marks(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    for (at, piece) in source.split("{%").enumerate() {
        let tag = piece.split_once("%}").filter(|_| at > 0).map(|(tag, _)| tag.trim_matches(['-', '+']).trim());
        plain.push_str(if at > 0 { "{%" } else { "" });
        match tag {
            Some("generation") => plain.push_str(&piece.replacen("generation", "with", 1)),
            Some("endgeneration") => plain.push_str(&piece.replacen("endgeneration", "endwith", 1)),
            _ => plain.push_str(piece),
        }
    }
    plain
}

/// The fixed date in the format of Python's `strftime`.
fn strftime(format: &str) -> Result<String, Error> {
    let mut text = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        let letters = DATE.iter().find(|(letters, _)| after.starts_with(letters));
        let Some((letters, words)) = letters else {
            let message = format!("strftime_now: `{format}` asks for a part of the date that is not known here");
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        };
        text.push_str(words);
        rest = &after[letters.len()..];
    }
    text.push_str(rest);
    Ok(text)
}

/// The filter `tojson` as transformers defines it: Python's `json.dumps`, without escapes for HTML.
fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    options.assert_all_used()?;
    let failed = |error: serde_json::Error| Error::new(ErrorKind::BadSerialization, error.to_string());
    let mut text = Vec::new();
    match indent {
        Some(width) => {
            let indent = " ".repeat(width);
            let formatter = PrettyFormatter::with_indent(indent.as_bytes());
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter)).map_err(failed)?;
        }
        None => value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, Spaced)).map_err(failed)?,
    }
    String::from_utf8(text).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

/// JSON on one line with a space after commas and colons, like Python's.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// The error in one line: the line of the template, and what is wrong there.
fn refused(error: Error) -> PromptError {
    let place = error.line().map(|line| format!("line {line}: ")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {}", detail.replace('\n', " "))).unwrap_or_default();
    PromptError::Template { message: format!("{place}{}{detail}", error.kind()) }
}
