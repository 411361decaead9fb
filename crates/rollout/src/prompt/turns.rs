//! How a policy is told what came of its program, so that it writes again: as the next turn of a chat, or in comments.
//!
//! The next prompt is the tokens of the conversation so far and a suffix. The parts of the suffix that the model's format
//! asks for are found once; the text that is told in between is tokenized as plain letters, so that no program can write a
//! turn of its own.

use super::chat::{ANSWERED, ASKED, ChatTemplate, Message, RULES};
use super::{FENCE, FENCE_END, Prompt, PromptError, PromptKind};
use crate::policy::Tokenizer;

/// Further texts of the conversation by which a chat's format is found.
const THOUGHT: &str = "grpo-thought";
const TOLD: &str = "grpo-told";

/// How a policy is told what came of its program.
#[derive(Debug)]
pub struct TurnFormat {
    form: Form,
    notice: Option<String>,
}

#[derive(Debug)]
enum Form {
    /// A turn of the user, by the model's chat template.
    Chat {
        /// Token ids from the end of the completion to the text.
        head: Vec<u32>,
        /// What follows the text, to the beginning of the policy's answer.
        tail: String,
    },
    /// Comment lines after a fence, then an open fence.
    Raw,
    /// Comment lines, then the prompt once more.
    Builtin,
}

impl TurnFormat {
    /// The form for a model that reads prompts of this kind.
    pub fn new(kind: PromptKind, tokenizer: &Tokenizer) -> Result<TurnFormat, PromptError> {
        can_tell(tokenizer)?;
        let (form, notice) = match kind {
            PromptKind::Builtin => (Form::Builtin, None),
            PromptKind::Raw => (Form::Raw, None),
            PromptKind::Chat => chat(tokenizer)?,
        };
        Ok(TurnFormat { form, notice })
    }

    /// What the user should know of the model's format, if anything.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Token ids that follow `completion`, an answer to `prompt`, and tell the policy `text`. They end in the beginning of
    /// the next program.
    pub fn suffix(&self, prompt: &Prompt, completion: &[u32], text: &str, tokenizer: &Tokenizer) -> Vec<u32> {
        let by_token = completion.last().is_some_and(|last| tokenizer.stop_ids().contains(last));
        match &self.form {
            Form::Chat { head, tail } => {
                // The policy has written the first token of what follows itself, if that is what ended its turn.
                let written = usize::from(!completion.is_empty() && head.first() == completion.last());
                let open = tokenizer.encode_further(&format!("{tail}{FENCE}{}", prompt.prefill));
                [&head[written..], &tokenizer.encode_plain(text), &open].concat()
            }
            Form::Raw => {
                let close = if by_token { FENCE_END } else { "" };
                let text = format!("{close}\n\n{}\n{FENCE}{}", comments(text), prompt.prefill);
                tokenizer.encode_plain(&text)
            }
            Form::Builtin => {
                let told = tokenizer.encode_plain(&format!("\n{}", comments(text)));
                [told, tokenizer.encode(&prompt.text)].concat()
            }
        }
    }
}

/// Refuses a vocabulary without the letters that the policy is told of its programs in.
fn can_tell(tokenizer: &Tokenizer) -> Result<(), PromptError> {
    let text: String = (' '..='~').collect();
    let written = tokenizer.decode(&tokenizer.encode_plain(&format!("#{text}")));
    if written.trim() == format!("#{text}").trim() {
        return Ok(());
    }
    let reason =
        "the model's vocabulary cannot write plain text, so the policy cannot be told what came of its programs; \
                  set rollout.turns = 1"
            .to_owned();
    Err(PromptError::NoTurns { reason })
}

/// The text as lines of comments in ASCII, each of which ends its line.
fn comments(text: &str) -> String {
    let ascii = |one: char| if one.is_ascii() { one.to_string() } else { one.escape_default().to_string() };
    text.lines().map(|line| format!("# {}\n", line.chars().map(ascii).collect::<String>())).collect()
}

/// The form of the model's chat template: what follows the policy's turn when a conversation goes on.
fn chat(tokenizer: &Tokenizer) -> Result<(Form, Option<String>), PromptError> {
    let Some(source) = tokenizer.chat_template() else { return Err(PromptError::NoChatTemplate) };
    let template = ChatTemplate::new(source, tokenizer.bos_token(), tokenizer.eos_token())?;
    let turns =
        |answer: &str| [Message::new("user", ASKED), Message::new("assistant", answer), Message::new("user", TOLD)];
    let after = template.probe(&turns(ANSWERED), true)?;
    let suffix = after.split_once(ANSWERED).filter(|(_, suffix)| !suffix.contains(RULES));
    let suffix = suffix.and_then(|(_, suffix)| suffix.split_once(TOLD));
    let Some((head, tail)) = suffix.filter(|(head, _)| !head.is_empty()) else {
        let reason =
            "the model's chat template does not put a turn after the one before, so no conversation can go on; \
                      set rollout.turns = 1, or model.raw_prompt = true"
                .to_owned();
        return Err(PromptError::NoTurns { reason });
    };
    let thought = template.probe(&turns(&format!("<think>\n{THOUGHT}\n</think>\n\n{ANSWERED}")), true)?;
    // With the system turn, which prompts have: some templates put its text into the last request.
    let ruled = [&[Message::new("system", RULES)], turns(ANSWERED).as_slice()].concat();
    let upto_answer = |count: usize| -> Result<_, PromptError> {
        let text = template.render_with_system(&ruled[..count], count == ruled.len())?;
        Ok(text.split_once(ANSWERED).map(|(begin, _)| begin.to_owned()))
    };
    let is_kept = upto_answer(ruled.len() - 1)? == upto_answer(ruled.len())?;
    let notice = match (is_kept, thought.contains(THOUGHT)) {
        (true, true) => None,
        (true, false) => Some("leaves the thinking of earlier turns away"),
        (false, _) => Some("writes earlier turns otherwise once others follow"),
    };
    let notice = notice.map(|what| {
        format!(
            "the model's chat template {what}; here later turns read every token of earlier ones, as it was sampled"
        )
    });
    let tail = format!("{tail}{}", template.space());
    Ok((Form::Chat { head: tokenizer.encode_further(head), tail }, notice))
}

/// The token by which the model's chat template ends an answer, if it ends a completion too.
pub(super) fn end(tokenizer: &Tokenizer) -> Option<u32> {
    let Ok((Form::Chat { head, .. }, _)) = chat(tokenizer) else { return None };
    head.first().copied().filter(|first| tokenizer.stop_ids().contains(first))
}

#[cfg(test)]
mod tests;
