//! Conversations: the turns of completions whose programs are tried, and whose author is told and writes again.
//!
//! Every turn is a batch of its own, which is sampled and played as the first one is. A conversation goes on until its
//! program passes every test, its turns or its length are used up, or too little is left for another program.

use crate::config::{Config, RolloutConfig};
use crate::environment::Case;
use crate::feedback::feedback;
use crate::groups::Groups;
use crate::metrics::{Event, GamePlayed, Player, ScoredCompletion};
use crate::prompt::{Prompt, PromptError, PromptSet, TurnFormat};
use crate::rollout::{FinishReason, Numbers, Streams};
use crate::seed::Purpose;

use super::TrainError;
use super::episode::{Episode, Reply, Timing, Turn};
use super::in_play::InPlay;
use super::scoring::{Draw, Stage};

/// One conversation, as far as it has come.
struct Conversation {
    /// The prompt of its next turn, once that is known.
    prompt: Prompt,
    turns: Vec<Turn>,
}

impl Stage<'_> {
    /// Waits for the games of a batch that has been sampled for `prompts`, then samples and plays the later turns of its
    /// conversations. `draw` is that of the first turn: later ones play the same boards, each with random streams that
    /// follow from those of its completion and from the number of the turn.
    pub fn finish(
        &self,
        begun: InPlay,
        prompts: &[Prompt],
        draw: Draw<'_>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Groups<Episode>, Timing), TrainError> {
        let (first, mut timing) = begun.finish(observer)?;
        let asked = Groups::repeat(first.size(), prompts.iter().cloned());
        let mut conversations = asked.zip(first).map(|(prompt, turn)| Conversation { prompt, turns: vec![turn] });
        let most = self.config.rollout.turns;
        for number in 1..most {
            let Some(format) = self.turns else { break };
            let all = conversations.items_mut();
            let going: Vec<(usize, Reply)> =
                (0..all.len()).filter_map(|index| Some((index, self.told(&all[index], format, draw)?))).collect();
            if going.is_empty() {
                break;
            }
            for (index, told) in &going {
                let Conversation { prompt, turns } = &mut all[*index];
                let last = turns.last().expect("a conversation has a turn");
                *prompt = prompt.continued(&last.completion.ids, &told.ids);
            }
            let (turns, more) = self.turn(number, &going, all, draw, observer)?;
            timing = timing.plus(more);
            for ((index, told), turn) in going.into_iter().zip(turns.into_items()) {
                all[index].turns.push(Turn { told, ..turn });
            }
        }
        let reward = &self.config.reward;
        Ok((conversations.map(|conversation| Episode::new(conversation.turns, most, reward)), timing))
    }

    /// Samples and plays turn `number`, from 0, of the conversations that go on.
    fn turn(
        &self,
        number: usize,
        going: &[(usize, Reply)],
        all: &[Conversation],
        draw: Draw<'_>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Groups<Turn>, Timing), TrainError> {
        let prompts: Vec<Prompt> = going.iter().map(|(index, _)| all[*index].prompt.clone()).collect();
        let numbers: Vec<u64> = going.iter().map(|(index, _)| draw.streams.number(*index)).collect();
        let seed = draw.streams.seed.child(Purpose::Turn, number as u64);
        let draw = Draw { streams: Streams { seed, numbers: Numbers::Listed(&numbers) }, ..draw };
        let rollout = RolloutConfig { num_generations: 1, ..self.config.rollout.clone() };
        let places: Vec<usize> = going.iter().map(|(index, _)| *index).collect();
        let mut in_batch = |event: Event<'_>| placed(event, &places, observer);
        self.begin(&prompts, &rollout, draw, &mut in_batch)?.finish(&mut in_batch)
    }

    /// What the policy is told after the last turn of a conversation; none if the conversation has ended. It goes on only
    /// if the next program may be as long as the last one.
    fn told(&self, conversation: &Conversation, format: &TurnFormat, draw: Draw<'_>) -> Option<Reply> {
        let Conversation { prompt, turns } = conversation;
        let Turn { completion, evaluation, .. } = turns.last()?;
        let environment = self.arena.environment();
        let passes = environment.has_tests() && evaluation.plays();
        if passes || completion.finish == FinishReason::Length {
            return None;
        }
        let cases: Vec<Case> = environment.cases(prompt.task, draw.boards);
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

/// Passes on an event of a batch whose completions have these places in a larger one.
pub(super) fn placed(event: Event<'_>, places: &[usize], observer: &mut dyn FnMut(Event<'_>)) {
    match event {
        Event::CompletionScored(completion) => {
            let index = places[completion.index];
            observer(Event::CompletionScored(&ScoredCompletion { index, ..completion.clone() }));
        }
        Event::CompletionEnded { step, index, tokens } => {
            observer(Event::CompletionEnded { step, index: places[index], tokens });
        }
        Event::GamePlayed(game @ GamePlayed { player: Player::Completion { index, digest }, .. }) => {
            let player = Player::Completion { index: places[*index], digest };
            observer(Event::GamePlayed(&GamePlayed { player, ..*game }));
        }
        other => observer(other),
    }
}
