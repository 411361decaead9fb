//! Chat templates: Jinja, as models ship them.

use minijinja::{Environment, Error, ErrorKind, context};
use serde::Serialize;

use super::file::Example;
use super::{FENCE, PromptError};

/// What `strftime_now` says. Some templates put the date into the system turn; a clock would make two runs differ.
const DATE: &str = "26 Jul 2024";

/// One turn of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: &'static str,
    /// The words.
    pub content: String,
}

impl Message {
    fn new(role: &'static str, content: impl Into<String>) -> Self {
        Message { role, content: content.into() }
    }
}

/// Rules, one worked example, and the request.
pub(super) fn conversation(system: &str, example: &Example, request: &str) -> Vec<Message> {
    vec![
        Message::new("system", system),
        Message::new("user", &example.request),
        Message::new("assistant", format!("{FENCE}{}\n```", example.program)),
        Message::new("user", request),
    ]
}

/// A model's chat format.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos_token: String,
    eos_token: String,
}

impl ChatTemplate {
    /// Compiles the template `source`; the tokens are those it may name.
    pub fn new(source: &str, bos_token: Option<&str>, eos_token: Option<&str>) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        // As Hugging Face renders them.
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        environment.add_function("strftime_now", |_format: String| DATE);
        environment.add_template_owned("chat", source.to_owned()).map_err(refused)?;
        let token = |token: Option<&str>| token.unwrap_or_default().to_owned();
        Ok(ChatTemplate { environment, bos_token: token(bos_token), eos_token: token(eos_token) })
    }

    /// The text of `messages` and the opening of the assistant's turn.
    ///
    /// Templates that know no system role get its words at the head of the first request.
    pub fn render(&self, messages: &[Message]) -> Result<String, PromptError> {
        match (self.render_as_given(messages), messages) {
            (Err(_), [system, user, rest @ ..]) if system.role == "system" => {
                let merged = Message::new(user.role, format!("{}\n\n{}", system.content, user.content));
                let messages: Vec<Message> = [merged].into_iter().chain(rest.iter().cloned()).collect();
                self.render_as_given(&messages)
            }
            (rendered, _) => rendered,
        }
    }

    fn render_as_given(&self, messages: &[Message]) -> Result<String, PromptError> {
        let template = self.environment.get_template("chat").map_err(refused)?;
        let context = context! {
            messages,
            add_generation_prompt => true,
            enable_thinking => false,
            bos_token => self.bos_token,
            eos_token => self.eos_token,
        };
        template.render(context).map_err(refused)
    }
}

fn refused(error: Error) -> PromptError {
    PromptError::Template { message: format!("{error:#}").replace('\n', " ") }
}
