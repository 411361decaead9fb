//! Conversations: the turns of completions whose programs are tried, and whose author is told and writes again.
//!
//! Every turn is a batch of its own, which is sampled and played as the first one is. A conversation goes on until its
//! program passes every test, its turns or its length are used up, or too little is left for another program.

use crate::config::Config;
use crate::environment::Case;
use crate::feedback::feedback;
use crate::groups::Groups;
use crate::metrics::Event;
use crate::prompt::{Prompt, PromptError, PromptSet, TurnFormat};
use crate::rollout::{FinishReason, GroupRequest};

use super::TrainError;
use super::episode::{Episode, Reply, Timing, Turn};
use super::in_play::{EarlierProgress, InPlay};
use super::scoring::{Draw, Stage};

/// One conversation, as far as it has come.
struct Conversation {
    /// The prompt of its next turn, once that is known.
    prompt: Prompt,
    /// At least one.
    turns: Vec<Turn>,
}

impl Conversation {
    fn last(&self) -> &Turn {
        self.turns.last().expect("a conversation has a turn")
    }

    /// The request for turn `number`, from 0.
    fn request(&self, number: usize) -> GroupRequest<'_> {
        GroupRequest { prompt: &self.prompt, ids: vec![self.turns[0].completion.id.in_turn(number)] }
    }
}

impl Stage<'_> {
    /// Waits for the games of a batch that has been sampled for `requests`, then samples and plays the later turns of its
    /// conversations. Later turns play the boards of the first one, each with a random stream that follows from that of
    /// the first completion and from the number of the turn.
    pub fn finish(
        &self,
        mut begun: InPlay,
        requests: &[GroupRequest<'_>],
        draw: Draw<'_>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Groups<Episode>, Timing), TrainError> {
        let mut kept = begun.kept.take();
        let (first, mut timing) = begun.finish(observer)?;
        let asked = Groups::repeat(first.size(), requests.iter().map(|request| request.prompt.clone()));
        let mut conversations = asked.zip(first).map(|(prompt, turn)| Conversation { prompt, turns: vec![turn] });
        let most = self.config.rollout.turns;
        for number in 1..most {
            let Some(format) = self.turns else { break };
            let earlier = conversations.items().iter().flat_map(|conversation| &conversation.turns);
            let tokens: usize = earlier.map(|turn| turn.completion.ids.len()).sum();
            let of = conversations.items().len();
            let all = conversations.items_mut().iter_mut();
            let mut going: Vec<(&mut Conversation, Reply)> = all
                .filter_map(|conversation| {
                    let told = self.reply(conversation, format, draw)?;
                    conversation.prompt = conversation.prompt.continued(&conversation.last().completion.ids, &told.ids);
                    Some((conversation, told))
                })
                .collect();
            if going.is_empty() {
                break;
            }
            let requests: Vec<GroupRequest<'_>> = going.iter().map(|(one, _)| one.request(number)).collect();
            let earlier = EarlierProgress { turns: number, completions: of - requests.len(), tokens, of };
            earlier.begin(draw.step, observer);
            let mut observer = |event: Event<'_>| earlier.emit(event, observer);
            let mut begun = self.begin(&requests, draw, kept.take(), &mut observer)?;
            // Nothing goes on from the last turn.
            kept = begun.kept.take().filter(|_| number + 1 < most);
            let (turns, more) = begun.finish(&mut observer)?;
            timing = timing.plus(more);
            for ((conversation, told), turn) in going.iter_mut().zip(turns.into_items()) {
                conversation.turns.push(Turn { told: std::mem::take(told), ..turn });
            }
        }
        let reward = &self.config.reward;
        Ok((conversations.map(|conversation| Episode::new(conversation.turns, most, reward)), timing))
    }

    /// What the policy is told after the last turn of a conversation; none if the conversation has ended. It goes on only
    /// if the next program may be as long as the last one.
    fn reply(&self, conversation: &Conversation, format: &TurnFormat, draw: Draw<'_>) -> Option<Reply> {
        let prompt = &conversation.prompt;
        let Turn { completion, evaluation, .. } = conversation.last();
        let environment = self.arena.environment();
        let passes = environment.has_tests() && evaluation.plays();
        if passes || completion.finish == FinishReason::Length {
            return None;
        }
        let cases = Case::all(prompt.task, draw.boards);
        let text = feedback(environment, &cases, evaluation, self.config.rollout.feedback);
        let ids = format.suffix(prompt, &completion.ids, &text, self.policy.tokenizer());
        let left = prompt.room(self.config.rollout.max_completion_length);
        (completion.ids.len() + ids.len() + completion.ids.len() <= left).then_some(Reply { text, ids })
    }
}

/// Refuses prompts for one turn where the configuration asks for several.
pub(super) fn check(config: &Config, prompts: &PromptSet) -> Result<(), PromptError> {
    if config.rollout.turns == 1 || prompts.turns().is_some() {
        return Ok(());
    }
    let reason = "the prompts are for one turn; PromptSet::with_turns makes them for several".to_owned();
    Err(PromptError::NoTurns { reason })
}
