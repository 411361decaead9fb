//! What the policy is asked.
//!
//! Takes the briefing of an environment and a tokenizer; gives prompts with their token ids. A chat model reads the
//! words of a request, through its own template; the built-in model reads the name of its style. Either way a prompt
//! ends in the opening of the program, which the completion carries on. Does not know tensors, nor what becomes of a
//! completion.

mod chat;

use rand::Rng;
use rayon::prelude::*;

use crate::environment::game2048::prompts::{self as styles, PromptFileError};
use crate::environment::{Briefing, Request};
use crate::policy::Tokenizer;
use crate::seed::{Purpose, Seed};
pub use chat::{ChatTemplate, Message};

/// Opens every prompt of the built-in model.
pub const PROGRAM: &str = "<|program|>";
/// What the built-in model carries on. The argument list stays open, for state kept in default values.
const BUILTIN_PREFILL: &str = "def strategy(board";
const FENCE: &str = "```python\n";
const FENCE_END: &str = "```";

/// Why prompts could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A prompt file out of shape.
    #[error(transparent)]
    File(#[from] PromptFileError),
    /// The model's vocabulary has no such style.
    #[error(
        "prompts/{style}.md: the built-in model was not trained on this style; add it to the corpus and run `grpo-2048 sft`"
    )]
    UnknownStyle {
        /// The style asked for.
        style: String,
    },
    /// A base model has no chat format.
    #[error("the model has no chat template: it is a base model, or its tokenizer_config.json is not complete")]
    NoChatTemplate,
    /// A template that does not render.
    #[error("chat template: {message}")]
    Template {
        /// The template engine's words.
        message: String,
    },
}

/// How a model is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    /// The built-in model: the name of a style is one token.
    Builtin,
    /// A chat model, through its own template.
    Chat,
    /// A base model: the same words as one text.
    Raw,
}

impl PromptKind {
    /// What suits a model with this tokenizer; `raw` asks for plain text where there would be a chat.
    pub fn of(tokenizer: &Tokenizer, raw: bool) -> Self {
        match (tokenizer.token_id(PROGRAM), raw) {
            (Some(_), _) => PromptKind::Builtin,
            (None, true) => PromptKind::Raw,
            (None, false) => PromptKind::Chat,
        }
    }
}

/// Text given to the policy, with its token ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its position in [`PromptSet::prompts`].
    pub id: u32,
    /// The style it asks for, or the name of its task.
    pub style: String,
    /// The task it asks to solve; none where chance makes the cases.
    pub task: Option<u32>,
    /// The whole text; ends in `prefill`.
    pub text: String,
    /// The part of the program that the prompt has already written.
    pub prefill: String,
    /// Token ids of `text`.
    pub ids: Vec<u32>,
    /// Text that ends a completion besides the model's own stop tokens: the fence that the prompt has opened.
    pub stop: Option<&'static str>,
}

impl Prompt {
    /// The text to look for a program in: what the prompt has written of it and what the completion wrote.
    pub fn program_text(&self, completion: &str) -> String {
        format!("{}{completion}", self.prefill)
    }
}

/// How the words reach a model.
enum Format {
    Builtin,
    Chat(Box<ChatTemplate>),
    Raw,
}

impl Format {
    fn new(kind: PromptKind, tokenizer: &Tokenizer) -> Result<Format, PromptError> {
        Ok(match kind {
            PromptKind::Builtin => Format::Builtin,
            PromptKind::Raw => Format::Raw,
            PromptKind::Chat => {
                let Some(source) = tokenizer.chat_template() else { return Err(PromptError::NoChatTemplate) };
                let template = ChatTemplate::new(source, tokenizer.bos_token(), tokenizer.eos_token())?;
                Format::Chat(Box::new(template))
            }
        })
    }
}

/// All prompts, rendered for one model.
#[derive(Debug, Clone)]
pub struct PromptSet {
    /// What is trained on.
    prompts: Vec<Prompt>,
    /// What is only evaluated; where there is nothing, what is trained on is.
    held_out: Vec<Prompt>,
}

impl PromptSet {
    /// Renders every request of a briefing for a model; for the built-in one, the styles that it knows.
    pub fn load(kind: PromptKind, tokenizer: &Tokenizer, briefing: &Briefing) -> Result<Self, PromptError> {
        let format = Format::new(kind, tokenizer)?;
        let styles = matches!(format, Format::Builtin).then(styles::briefing).transpose()?;
        let briefing = styles.as_ref().unwrap_or(briefing);
        let render = |(id, request): (usize, &Request)| -> Result<Prompt, PromptError> {
            let (text, prefill) = match &format {
                Format::Builtin => (builtin_text(&request.style, tokenizer)?, BUILTIN_PREFILL),
                Format::Chat(template) => {
                    let turns = template.render(&chat::conversation(briefing, request))?;
                    (format!("{turns}{FENCE}{}", request.opening), request.opening.as_str())
                }
                Format::Raw => {
                    let turns = chat::conversation(briefing, request);
                    let words: Vec<&str> = turns.iter().map(|turn| turn.content.as_str()).collect();
                    (format!("{}\n\n{FENCE}{}", words.join("\n\n"), request.opening), request.opening.as_str())
                }
            };
            let ids = tokenizer.encode(&text);
            let stop = (kind != PromptKind::Builtin).then_some(FENCE_END);
            let (style, prefill) = (request.style.clone(), prefill.to_owned());
            Ok(Prompt { id: id as u32, style, task: request.task, text, prefill, ids, stop })
        };
        // A file may hold a hundred thousand tasks.
        let rendered: Vec<Prompt> =
            briefing.requests.par_iter().enumerate().map(render).collect::<Result<_, PromptError>>()?;
        let is_held_out = |prompt: &Prompt| briefing.requests[prompt.id as usize].held_out;
        let (held_out, prompts) = rendered.into_iter().partition(is_held_out);
        Ok(PromptSet { prompts, held_out })
    }

    /// Every prompt that is trained on, once, in the order of the requests.
    pub fn prompts(&self) -> &[Prompt] {
        &self.prompts
    }

    /// Every prompt that is evaluated on, once, in the order of the requests.
    pub fn held_out(&self) -> &[Prompt] {
        if self.held_out.is_empty() { &self.prompts } else { &self.held_out }
    }

    /// `count` prompts to train on, in an order of their own: all come up before one comes up again.
    pub fn draw(&self, seed: Seed, count: usize) -> Vec<Prompt> {
        draw(&self.prompts, seed, count)
    }

    /// The same of those that are evaluated on.
    pub fn draw_held_out(&self, seed: Seed, count: usize) -> Vec<Prompt> {
        draw(self.held_out(), seed, count)
    }
}

fn draw(prompts: &[Prompt], seed: Seed, count: usize) -> Vec<Prompt> {
    let mut rng = seed.child(Purpose::Prompt, 0).rng();
    let mut drawn = Vec::with_capacity(count);
    let mut order: Vec<usize> = Vec::new();
    while drawn.len() < count {
        if order.is_empty() {
            order = (0..prompts.len()).collect();
        }
        let next = order.swap_remove(rng.random_range(0..order.len()));
        drawn.push(prompts[next].clone());
    }
    drawn
}

/// Special tokens that prompts of the built-in model are made of, in the order of their ids.
pub fn builtin_tokens() -> Result<Vec<String>, PromptError> {
    let styles = styles::prompts()?.into_iter().map(|prompt| style_token(&prompt.style));
    Ok([PROGRAM.to_owned()].into_iter().chain(styles).collect())
}

fn style_token(style: &str) -> String {
    format!("<|style:{style}|>")
}

fn builtin_text(style: &str, tokenizer: &Tokenizer) -> Result<String, PromptError> {
    let token = style_token(style);
    match tokenizer.token_id(&token) {
        Some(_) => Ok(format!("{PROGRAM}{token}{BUILTIN_PREFILL}")),
        None => Err(PromptError::UnknownStyle { style: style.into() }),
    }
}

#[cfg(test)]
mod tests;
