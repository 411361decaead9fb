//! A prompt: text given to the policy, with its token ids.

use crate::policy::Tokenizer;

pub(super) const FENCE: &str = "```python\n";

/// A fence is closed at the start of a line: three backticks in a string or an indented docstring close nothing.
pub(super) const FENCE_END: &str = "\n```";

/// The form in which a model reads its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    /// For the built-in model: a style's name is one token.
    Builtin,
    /// For a chat model: its own template.
    Chat,
    /// For a base model: the same text without a template, after the token that begins a sequence, if the tokenizer adds one.
    Raw,
}

impl PromptKind {
    /// The form for a model with this tokenizer; `raw` asks for plain text instead of a chat.
    pub fn of(tokenizer: &Tokenizer, raw: bool) -> Self {
        match (tokenizer.token_id(PROGRAM), raw) {
            (Some(_), _) => PromptKind::Builtin,
            (None, true) => PromptKind::Raw,
            (None, false) => PromptKind::Chat,
        }
    }
}

/// The tokens of a prompt that belong to earlier turns of its conversation; none in a first turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Earlier {
    /// All of them, which are the last of the prompt.
    pub tokens: usize,
    /// Those that the policy sampled itself.
    pub sampled: usize,
}

/// Text given to the policy, with its token ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Index in [`PromptSet::prompts`](super::PromptSet::prompts).
    pub id: u32,
    /// Name of the style or task.
    pub style: String,
    /// Index of the task; `None` if cases are random games.
    pub task: Option<u32>,
    /// The whole text of the first turn, which ends with `prefill`.
    pub text: String,
    /// The beginning of the program, which the prompt contains.
    pub prefill: String,
    /// Token ids of `text`, then those of earlier turns and of what the policy was told.
    pub ids: Vec<u32>,
    /// How many of them belong to earlier turns.
    pub earlier: Earlier,
    /// Text that ends a completion besides the model's stop tokens: the end of the fence that the prompt has opened.
    pub stop: Option<&'static str>,
    /// The token by which the model's chat template ends an answer, if it ends a completion too. In Gemma and Phi-3 the token
    /// that ends a text is another one.
    pub end: Option<u32>,
}

impl Prompt {
    /// The text in which a program is searched for: the prompt's beginning of it, then the completion.
    pub fn program_text(&self, completion: &str) -> String {
        format!("{}{completion}", self.prefill)
    }

    /// What the policy would have to complete for its program to be `source`, which begins like `prefill`, as it is sampled:
    /// without the token that ends it.
    pub fn answer(&self, source: &str) -> String {
        let rest = &source[self.prefill.len()..];
        match self.stop {
            Some(stop) => format!("{}{stop}", rest.strip_suffix('\n').unwrap_or(rest)),
            None => rest.to_owned(),
        }
    }

    /// The prompt of the next turn: this one, then the tokens of its completion, then what the policy is told. Nothing is
    /// rendered or tokenized again.
    pub fn continued(&self, completion: &[u32], told: &[u32]) -> Prompt {
        let Earlier { tokens, sampled } = self.earlier;
        let earlier = Earlier { tokens: tokens + completion.len() + told.len(), sampled: sampled + completion.len() };
        Prompt { ids: [self.ids.as_slice(), completion, told].concat(), earlier, ..self.clone() }
    }

    /// Tokens that its completion may have, where all turns together may have `most`.
    pub fn room(&self, most: usize) -> usize {
        most.saturating_sub(self.earlier.tokens)
    }
}

/// First token of every prompt of the built-in model.
pub const PROGRAM: &str = "<|program|>";
