//! Chat templates: Jinja, as models ship them.

use std::io::{self, Write};

use minijinja::value::{Kwargs, Value, ValueKind, from_args};
use minijinja::{Environment, Error, ErrorKind, State, context};
use minijinja_contrib::pycompat::unknown_method_callback;
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

/// The texts of a conversation by which a chat's format is found.
pub(super) const RULES: &str = "grpo-rules";
pub(super) const ASKED: &str = "grpo-asked";
pub(super) const ANSWERED: &str = "grpo-answered";

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
    /// White space that the template writes before the text of an answer, and not where it opens one to be written: in Llama 2's
    /// a space.
    space: String,
}

impl ChatTemplate {
    /// Compiles the template `source`, which may use the given tokens.
    pub fn new(source: &str, bos_token: Option<&str>, eos_token: Option<&str>) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        // These are Hugging Face's settings.
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_unknown_method_callback(python_method);
        environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        environment.add_function("strftime_now", |format: String| strftime(&format));
        environment.add_filter("tojson", to_json);
        environment.add_test("iterable", is_iterable);
        environment.add_test("sequence", is_sequence);
        environment.add_test("callable", is_callable);
        environment.add_template_owned("chat", without_marks(source)).map_err(refused)?;
        let token = |token: Option<&str>| token.unwrap_or_default().to_owned();
        let (bos_token, eos_token) = (token(bos_token), token(eos_token));
        let template = ChatTemplate { environment, bos_token, eos_token, space: String::new() };
        Ok(ChatTemplate { space: template.space_before_answers().unwrap_or_default(), ..template })
    }

    /// What [`space`](Self::space) is; none if the template writes other words before an answer than where it opens one.
    fn space_before_answers(&self) -> Option<String> {
        let asked = Message::new("user", ASKED);
        let opened = self.probe(std::slice::from_ref(&asked), true).ok()?;
        let answered = self.probe(&[asked, Message::new("assistant", ANSWERED)], false).ok()?;
        let (space, _) = answered.strip_prefix(&opened)?.split_once(ANSWERED)?;
        space.trim().is_empty().then(|| space.to_owned())
    }

    /// The white space between the opening of the assistant's turn and the answer, which the opening lacks.
    pub(super) fn space(&self) -> &str {
        &self.space
    }

    /// Renders the prompt of a request, to where the answer begins.
    ///
    /// # Errors
    /// [`PromptError::Template`] if the template fails, or leaves the request out.
    pub(super) fn asking(&self, briefing: &Briefing, request: &Request) -> Result<String, PromptError> {
        let text = self.render(&conversation(briefing, request))?;
        // A template may escape or cut words; then others still give another text.
        let other = || Request { words: OTHER_WORDS.to_owned(), ..request.clone() };
        let is_same = || self.render(&conversation(briefing, &other())).is_ok_and(|other| other == text);
        if text.contains(request.words.trim()) || !is_same() {
            return Ok(text + &self.space);
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
        self.render_with_system(messages, true)
    }

    /// The same; `open`: whether the opening of the assistant's turn follows.
    pub(super) fn render_with_system(&self, messages: &[Message], open: bool) -> Result<String, PromptError> {
        let given = self.render_as_given(messages, open);
        let [system, user, rest @ ..] = messages else { return given };
        if system.role != "system" || given.as_ref().is_ok_and(|text| self.has_system(text, messages, open)) {
            return given;
        }
        let merged = Message::new(user.role, format!("{}\n\n{}", system.content, user.content));
        let messages: Vec<Message> = [merged].into_iter().chain(rest.iter().cloned()).collect();
        self.render_as_given(&messages, open).or_else(|error| given.map_err(|_| error))
    }

    /// Renders `messages` without a system turn, or with one if the template demands it, as some do.
    pub(super) fn probe(&self, messages: &[Message], open: bool) -> Result<String, PromptError> {
        self.render_as_given(messages, open).or_else(|error| {
            let ruled = [&[Message::new("system", RULES)], messages].concat();
            self.render_as_given(&ruled, open).map_err(|_| error)
        })
    }

    /// Whether `text`, which the template makes of `messages`, depends on the words of the first, the system's.
    fn has_system(&self, text: &str, messages: &[Message], open: bool) -> bool {
        let [system, rest @ ..] = messages else { return false };
        // A template may escape or cut words; then others still give another text.
        let other = Message::new(system.role, OTHER_WORDS);
        let others: Vec<Message> = [other].into_iter().chain(rest.iter().cloned()).collect();
        text.contains(system.content.trim()) || self.render_as_given(&others, open).is_ok_and(|other| other != text)
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

/// The test `iterable` of Jinja, in which none is not. Like the next two, it holds for what is not defined.
fn is_iterable(value: &Value) -> bool {
    !value.is_none() && value.try_iter().is_ok()
}

/// The test `sequence` of Jinja: what has a length and parts, so texts and mappings too.
fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String | ValueKind::Undefined)
}

/// The test `callable` of Jinja, for functions.
fn is_callable(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Plain | ValueKind::Undefined)
}

/// The methods of Python's values, with those of its texts that minijinja's lack.
fn python_method(state: &State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let Some(text) = value.as_str() else { return unknown_method_callback(state, value, method, args) };
    match method {
        "removeprefix" => from_args(args).map(|(prefix,): (&str,)| text.strip_prefix(prefix).unwrap_or(text).into()),
        "removesuffix" => from_args(args).map(|(suffix,): (&str,)| text.strip_suffix(suffix).unwrap_or(text).into()),
        "rsplit" => {
            let (by, most): (&str, Option<usize>) = from_args(args)?;
            let pieces = text.rsplitn(most.unwrap_or(usize::MAX).saturating_add(1), by);
            let mut parts: Vec<Value> = pieces.map(Value::from).collect();
            parts.reverse();
            Ok(parts.into())
        }
        "index" => {
            let (part,): (&str,) = from_args(args)?;
            let before = text.split_once(part).map(|(before, _)| before.chars().count());
            before.map(Value::from).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "substring not found"))
        }
        _ => unknown_method_callback(state, value, method, args),
    }
}

/// The filter `tojson` as transformers defines it: Python's `json.dumps`, without escapes for HTML.
fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let ascii: Option<bool> = options.get("ensure_ascii")?;
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
    let text = String::from_utf8(text).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    Ok(if ascii == Some(true) { text.chars().map(escaped).collect() } else { text })
}

/// A character of JSON as Python writes it where everything beyond the printable ones of ASCII is escaped.
fn escaped(one: char) -> String {
    if one <= '~' {
        return one.to_string();
    }
    one.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
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
