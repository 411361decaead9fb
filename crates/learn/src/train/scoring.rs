//! From prompts to scored completions: the path that training and evaluation share for sampling and playing.
//!
//! A completion goes to the arena as soon as it ends, while the rest of the batch is still being sampled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::arena::Arena;
use crate::config::{Config, StepsAhead};
use crate::environment::Case;
use crate::groups::Groups;
use crate::metrics::{Activity, Event, Period};
use crate::parallel::Peers;
use crate::policy::Policy;
use crate::prompt::{Prompt, TurnFormat};
use crate::reward::Rule;
use crate::rollout::{
    self, Assignment, Caches, Completion, CompletionId, FinishReason, GroupRequest, LoadedAdapter, RolloutEvent,
    Servers,
};
use crate::seed::{Purpose, Seed};

use super::TrainError;
use super::divided::OwnRequests;
use super::episode::{Episode, Timing};
use super::in_play::{EndedCompletion, Games, InPlay, Kept};

/// A completion as it is sent to other processes: its index, its tokens, and why it ended. The text follows from these.
type SentCompletion = (usize, (Vec<u32>, Vec<f32>, FinishReason));

/// What samples completions and what plays their programs.
pub struct Stage<'a> {
    pub policy: &'a Policy,
    /// Sample in place of the policy, if there are any.
    pub servers: Option<&'a Servers>,
    pub arena: &'a Arena,
    /// Turns evaluations into rewards.
    pub rule: &'a Rule,
    pub config: &'a Config,
    /// The processes that the completions are divided among.
    pub peers: &'a Peers,
    /// How the policy is told what came of its programs, if there are several turns.
    pub turns: Option<&'a TurnFormat>,
}

/// What the programs of a batch of completions play.
#[derive(Debug, Clone, Copy)]
pub struct Draw<'a> {
    /// The boards that each completion plays.
    pub boards: &'a [Seed],
    /// Number of the step, 0 in an evaluation. Workers play games of a lower number first.
    pub step: usize,
}

/// The prompts, boards and seed of a step, which follow from its number and, with pools of prompts, from earlier rewards.
pub struct StepInputs {
    /// Number of the step, from 1.
    pub step: usize,
    /// All random numbers of the step are derived from this seed.
    pub seed: Seed,
    /// One prompt per group.
    pub prompts: Vec<Prompt>,
    /// The boards that all completions of the step play.
    pub boards: Vec<Seed>,
}

impl StepInputs {
    /// The completions of the first round of sampling, `size` for each prompt.
    pub fn requests(&self, size: usize) -> Vec<GroupRequest<'_>> {
        GroupRequest::all(&self.prompts, size, self.seed)
    }

    /// Number of games that each completion plays. A task is tried once, however many games a player has.
    pub fn games(&self) -> usize {
        let has_task = self.prompts.first().is_some_and(|prompt| prompt.task.is_some());
        if has_task { 1 } else { self.boards.len() }
    }

    /// What the programs of the step play.
    pub fn draw(&self) -> Draw<'_> {
        Draw { boards: &self.boards, step: self.step }
    }
}

/// The boards of a step. All its completions play the same ones, so that equal programs get exactly equal rewards.
pub fn boards(seed: Seed, purpose: Purpose, games: usize) -> Vec<Seed> {
    (0..games as u64).map(|game| seed.child(purpose, game)).collect()
}

/// The seed of step number `step`, from 1, and its boards: they follow from the settings alone.
pub fn step_boards(config: &Config, step: usize) -> (Seed, Vec<Seed>) {
    let seed = Seed::root(config.train.seed).child(Purpose::Step, step as u64 - 1);
    (seed, boards(seed.salted(&config.train.board_salt), Purpose::Game, config.arena.games))
}

impl Stage<'_> {
    /// Samples completions, in groups of one size, and starts the games of each completion when it ends. Returns when all
    /// are sampled; games may still be running. A later turn goes on from the one before, `earlier`.
    pub(super) fn begin(
        &self,
        requests: &[GroupRequest<'_>],
        draw: Draw<'_>,
        earlier: Option<Kept>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<InPlay, TrainError> {
        let prompts: BTreeMap<usize, &Prompt> =
            requests.iter().flat_map(|request| request.ids.iter().map(|id| (id.index, request.prompt))).collect();
        let (step, total) = (draw.step, prompts.len());
        let rollout = &self.config.rollout;
        let (own, mut caches) = match earlier {
            Some(Kept { own, caches }) => (OwnRequests::among(&own, requests), caches),
            None => (OwnRequests::of(self.peers, requests, rollout.max_completion_length), None),
        };
        let mut games = self.games(total, &own, draw);
        let begin = Instant::now();
        let mut hear = |event: RolloutEvent<'_>| match event {
            RolloutEvent::Finished(completion) => {
                let index = completion.id.index;
                observer(Event::CompletionEnded { step, index, tokens: completion.ids.len() });
                self.submit(&mut games, prompts[&index], completion, draw.boards);
                games.emit(observer);
            }
            RolloutEvent::Predicted => {}
            RolloutEvent::Tokens { tokens, finished } => {
                games.emit(observer);
                observer(Event::Decoding { step, turn: 1, tokens, finished, total });
            }
            RolloutEvent::PartDone { part, begin, end } => {
                let (activity, period) = (Activity::DecodingPart(part), Period { begin, end });
                observer(Event::ActivityDone { step, activity, period });
            }
            RolloutEvent::Trouble(text) => {
                // Without servers it is the GPU that has no memory.
                let whose = if self.servers.is_some() { "--rollouts " } else { "" };
                observer(Event::Message(&format!("warning, {whose}{text}")));
            }
        };
        let completions = self.sample_own(&own, requests, &mut caches, &mut hear)?;
        let end = Instant::now();
        for completion in completions.iter().filter(|completion| !own.has(completion.id)) {
            self.submit(&mut games, prompts[&completion.id.index], completion, draw.boards);
        }
        games.redistribute()?;
        let completions = Groups::new(total / requests.len(), completions);
        observer(Event::ActivityDone { step, activity: Activity::Decoding, period: Period { begin, end } });
        // One step ahead the policy is updated before the next turn, and caches belong to the weights before.
        let caches = caches.filter(|_| self.config.train.steps_ahead == StepsAhead::None);
        let kept = (rollout.turns > 1).then(|| Kept { own: own.indices.clone(), caches });
        let tokens = completions.items().iter().map(|completion| completion.ids.len() as u64).sum();
        Ok(InPlay { completions, games, generate: end - begin, tokens, kept })
    }

    /// Samples this process's completions of a batch, by the policy or by servers, and returns those of all processes, in the
    /// order of `requests`. Events are about its own completions. `caches` are those of the turn before; what becomes of them
    /// takes their place.
    fn sample_own(
        &self,
        own: &OwnRequests<'_>,
        requests: &[GroupRequest<'_>],
        caches: &mut Option<Caches>,
        observer: &mut dyn FnMut(RolloutEvent<'_>),
    ) -> Result<Vec<Completion>, TrainError> {
        let Stage { policy, servers, peers, .. } = *self;
        let (config, asked) = (&self.config.rollout, &own.requests[..]);
        let loaded = self.loaded_adapter(observer)?;
        let before = caches.take();
        let written = match (servers, &loaded) {
            _ if asked.is_empty() => Vec::new(),
            (Some(servers), Some(loaded)) => {
                servers.sample(loaded, Assignment { policy, config, requests: asked }, observer)?
            }
            _ => {
                let (written, after) =
                    rollout::converse(Assignment { policy, config, requests: asked }, before, observer)?;
                *caches = after;
                written
            }
        };
        if peers.size() == 1 {
            return Ok(written);
        }
        let to_send = |one: Completion| (one.id.index, (one.ids, one.logprobs, one.finish));
        let sent: Vec<SentCompletion> = peers.gather_lists(written.into_iter().map(to_send).collect())?;
        let mut sent: BTreeMap<usize, _> = sent.into_iter().collect();
        let ids = requests.iter().flat_map(|request| &request.ids);
        let received = |id: &CompletionId| {
            let (ids, logprobs, finish) = sent.remove(&id.index).expect("every completion is some process's own");
            Completion::new(*id, ids, logprobs, finish, policy.tokenizer())
        };
        Ok(ids.map(received).collect())
    }

    /// Has the first process load the current adapter on the servers, if there are servers, while the others wait.
    fn loaded_adapter(&self, observer: &mut dyn FnMut(RolloutEvent<'_>)) -> Result<Option<LoadedAdapter>, TrainError> {
        let Stage { policy, servers: Some(servers), peers, .. } = *self else { return Ok(None) };
        let loaded = if peers.leads() { Some(servers.load_adapter(policy, observer)?) } else { None };
        Ok(peers.gather_values(loaded)?.into_iter().next().flatten())
    }

    /// Starts the games of completions that were sampled earlier.
    pub fn play(
        &self,
        requests: &[GroupRequest<'_>],
        completions: Groups<Completion>,
        draw: Draw<'_>,
    ) -> Result<InPlay, TrainError> {
        let own = OwnRequests::of(self.peers, requests, self.config.rollout.max_completion_length);
        let mut games = self.games(completions.items().len(), &own, draw);
        for (request, completion) in completions.with(requests) {
            self.submit(&mut games, request.prompt, completion, draw.boards);
        }
        games.redistribute()?;
        Ok(InPlay { completions, games, generate: Duration::ZERO, tokens: 0, kept: None })
    }

    /// Like `begin`, but waits for the games, and for those of all later turns.
    pub fn episodes(
        &self,
        requests: &[GroupRequest<'_>],
        draw: Draw<'_>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Groups<Episode>, Timing), TrainError> {
        let begun = self.begin(requests, draw, None, observer)?;
        self.finish(begun, requests, draw, observer)
    }

    fn games(&self, total: usize, own: &OwnRequests<'_>, draw: Draw<'_>) -> Games {
        let scoring = self.arena.begin(draw.step);
        Games::new(scoring, draw.step, total, self.rule.clone(), self.peers, &own.indices)
    }

    /// Finds the program of a completion and submits it to play its prompt's task, or these boards.
    fn submit(&self, games: &mut Games, prompt: &Prompt, completion: &Completion, boards: &[Seed]) {
        let cases = Case::all(prompt.task, boards);
        let text = prompt.program_text(&completion.text);
        let program = self.arena.program(&text, cases[0]);
        let written = prompt.earlier.sampled + completion.ids.len();
        let cut = completion.finish == FinishReason::Length;
        let tokens = (written, self.config.rollout.max_completion_length);
        games.submit(completion.id, EndedCompletion { text, program, cases, cut, tokens });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_tried_once_however_many_games_a_player_has() {
        let inputs = |task| StepInputs {
            step: 1,
            seed: Seed::root(0),
            prompts: vec![Prompt { task, ..Prompt::default() }],
            boards: vec![Seed::root(1), Seed::root(2)],
        };
        assert_eq!((inputs(Some(0)).games(), inputs(None).games()), (1, 2));
    }
}
