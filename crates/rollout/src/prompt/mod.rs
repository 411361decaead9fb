//! Prompts for the policy.
//!
//! Takes the briefing of an environment and a tokenizer; gives prompts with their token ids. A chat model reads the
//! text of a request through its own template; the built-in model reads the name of its style. Every prompt ends with
//! the beginning of the program, which the completion continues. Does not know tensors, nor what happens to a
//! completion.

mod chat;
mod error;
mod rendered;
mod turns;

use std::sync::Arc;

use rand::Rng;
use rayon::prelude::*;

use crate::environment::game2048::prompts as styles;
use crate::environment::{Briefing, Request};
use crate::policy::Tokenizer;
use crate::seed::{Purpose, Seed};
pub use chat::{ChatTemplate, Message, conversation};
pub use error::PromptError;
pub use rendered::PROGRAM;
pub use rendered::{Earlier, Prompt, PromptKind};
use rendered::{FENCE, FENCE_END};
pub use turns::TurnFormat;
/// The beginning that the built-in model continues. The argument list stays open, for state in default values.
const BUILTIN_PREFILL: &str = "def strategy(board";

/// How a prompt is rendered.
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

/// All prompts of an environment, rendered for one model.
#[derive(Debug, Clone)]
pub struct PromptSet {
    prompts: Vec<Prompt>,
    /// Prompts for evaluation; if there are none, those for training serve.
    held_out: Vec<Prompt>,
    /// How the policy is told what came of its programs, if there are several turns.
    turns: Option<Arc<TurnFormat>>,
}

impl PromptSet {
    /// Renders every request of a briefing for a model. The built-in model reads no text: it is asked for its own styles,
    /// or, where there are tasks, for each task in the next of its styles.
    pub fn load(kind: PromptKind, tokenizer: &Tokenizer, briefing: &Briefing) -> Result<Self, PromptError> {
        let format = Format::new(kind, tokenizer)?;
        let own = matches!(format, Format::Builtin).then(|| styled(briefing)).transpose()?;
        let briefing = own.as_ref().unwrap_or(briefing);
        let end = if kind == PromptKind::Chat { turns::end(tokenizer) } else { None };
        let render = |(id, request): (usize, &Request)| -> Result<Prompt, PromptError> {
            let (text, prefill) = match &format {
                Format::Builtin => (builtin_text(&request.words, tokenizer)?, BUILTIN_PREFILL),
                Format::Chat(template) => {
                    let turns = template.asking(briefing, request)?;
                    (format!("{turns}{FENCE}{}", request.opening), request.opening.as_str())
                }
                Format::Raw => {
                    let turns = chat::conversation(briefing, request);
                    let words: Vec<&str> = turns.iter().map(|turn| turn.content.as_str()).collect();
                    (format!("{}\n\n{FENCE}{}", words.join("\n\n"), request.opening), request.opening.as_str())
                }
            };
            let ids = match kind {
                // A chat template writes the token that begins a sequence itself.
                PromptKind::Raw => tokenizer.encode_opening(&text),
                PromptKind::Builtin | PromptKind::Chat => tokenizer.encode(&text),
            };
            let stop = (kind != PromptKind::Builtin).then_some(FENCE_END);
            let (style, prefill) = (request.style.clone(), prefill.to_owned());
            Ok(Prompt { id: id as u32, style, task: request.task, text, prefill, ids, stop, end, ..Prompt::default() })
        };
        // Rendering is parallel because a file may hold a hundred thousand tasks.
        let rendered: Vec<Prompt> =
            briefing.requests.par_iter().enumerate().map(render).collect::<Result<_, PromptError>>()?;
        let request = |prompt: &Prompt| &briefing.requests[prompt.id as usize];
        let (mut held_out, prompts): (Vec<Prompt>, Vec<Prompt>) =
            rendered.into_iter().partition(|prompt| request(prompt).held_out);
        if held_out.is_empty() && prompts.iter().any(|prompt| request(prompt).honeypot) {
            held_out = prompts.iter().filter(|prompt| !request(prompt).honeypot).cloned().collect();
        }
        Ok(PromptSet { prompts, held_out, turns: None })
    }

    /// The same for conversations of up to `turns` turns.
    ///
    /// # Errors
    /// [`PromptError::NoTurns`] if there are several and the model's format or vocabulary has no room for what the policy
    /// would be told.
    pub fn with_turns(self, turns: usize, kind: PromptKind, tokenizer: &Tokenizer) -> Result<Self, PromptError> {
        let format = if turns > 1 { Some(Arc::new(TurnFormat::new(kind, tokenizer)?)) } else { None };
        Ok(PromptSet { turns: format, ..self })
    }

    /// How the policy is told what came of its programs; none if there is one turn.
    pub fn turns(&self) -> Option<&TurnFormat> {
        self.turns.as_deref()
    }

    /// All training prompts, in the order of the requests.
    pub fn prompts(&self) -> &[Prompt] {
        &self.prompts
    }

    /// All evaluation prompts, in the order of the requests.
    pub fn held_out(&self) -> &[Prompt] {
        if self.held_out.is_empty() { &self.prompts } else { &self.held_out }
    }

    /// The prompt of a task, by its number.
    pub fn of_task(&self, task: u32) -> Option<&Prompt> {
        self.prompts.iter().chain(&self.held_out).find(|prompt| prompt.task == Some(task))
    }

    /// Draws `count` training prompts in random order, all of them once before any of them again.
    pub fn draw(&self, seed: Seed, count: usize) -> Vec<Prompt> {
        draw(&self.prompts, seed, count)
    }

    /// Draws evaluation prompts in the same way.
    pub fn draw_held_out(&self, seed: Seed, count: usize) -> Vec<Prompt> {
        draw(self.held_out(), seed, count)
    }
}

/// The requests of a briefing with the name of a style as their words.
fn styled(briefing: &Briefing) -> Result<Briefing, PromptError> {
    let styles = styles::briefing()?;
    let asked = |request: &Request, style: &Request| Request { words: style.style.clone(), ..request.clone() };
    let requests = if briefing.requests.iter().all(|request| request.task.is_some()) {
        briefing.requests.iter().zip(styles.requests.iter().cycle()).map(|(task, style)| asked(task, style)).collect()
    } else {
        styles.requests.iter().map(|style| asked(style, style)).collect()
    };
    Ok(Briefing { requests, ..styles })
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

/// Special tokens of the built-in model's prompts, in the order of their ids.
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
