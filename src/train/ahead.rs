//! Steps that are begun before the one before them has ended.
//!
//! With `train.steps_ahead = 1` the policy writes the completions of step k+1 while the games of step k are played, and
//! only then is updated with step k (Noukhovitch et al. 2024, "Asynchronous RLHF"). What a step asks depends on its
//! number alone; what was sampled ahead is part of a checkpoint, since the policy that wrote it is gone by then.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use candle_core::{Device, Tensor, safetensors};

use crate::groups::Groups;
use crate::metrics::{Event, ScoredCompletion};
use crate::policy::Tokenizer;
use crate::prompt::Prompt;
use crate::rollout::{Completion, FinishReason};
use crate::seed::{Purpose, Seed};

use super::in_play::InPlay;
use super::scoring::{Draw, Episode, Timing, boards};
use super::{Run, TrainError};

/// Completions of the step after the one that a checkpoint is of.
const FILE: &str = "sampled_ahead.safetensors";

/// What a step asks of the policy and of its programs.
pub struct Asked {
    /// Number of the step.
    pub step: usize,
    /// Above all its chance.
    pub seed: Seed,
    /// One a group.
    pub prompts: Vec<Prompt>,
    /// Boards that all completions play.
    pub boards: Vec<Seed>,
}

impl Asked {
    /// What the first round of the step samples from and plays.
    pub fn draw(&self) -> Draw<'_> {
        Draw { streams: self.seed.into(), boards: &self.boards, turn: self.step }
    }
}

/// A step whose completions are written and whose games are on.
pub struct Begun {
    in_play: InPlay,
    /// What was evaluated before the step's turn came, to be told of then.
    early: Vec<ScoredCompletion>,
    /// Steps that the policy had learnt from when it wrote the completions.
    pub after: usize,
}

impl Begun {
    /// What was sampled.
    pub fn completions(&self) -> &Groups<Completion> {
        self.in_play.completions()
    }

    /// What sampling took.
    pub fn generate(&self) -> Duration {
        self.in_play.generate()
    }

    /// The step's turn has come: tells what it has shown so far.
    pub fn take_turn(&mut self, observer: &mut dyn FnMut(Event<'_>)) {
        let total = self.completions().items().len();
        for (index, completion) in std::mem::take(&mut self.early).iter().enumerate() {
            observer(Event::CompletionScored(completion));
            observer(Event::Scored { done: index + 1, total });
        }
    }

    /// Waits for the games.
    pub fn finish(self, observer: &mut dyn FnMut(Event<'_>)) -> Result<(Groups<Episode>, Timing), TrainError> {
        self.in_play.finish(observer)
    }

    fn poll_early(&mut self, observer: &mut dyn FnMut(Event<'_>)) {
        let Begun { in_play, early, .. } = self;
        in_play.poll(&mut |event| tell_early(event, early, observer));
    }
}

/// Tells of something in a step whose turn has not come; what completions turned out to be waits for it.
fn tell_early(event: Event<'_>, early: &mut Vec<ScoredCompletion>, observer: &mut dyn FnMut(Event<'_>)) {
    match event {
        Event::CompletionScored(completion) => early.push(completion.clone()),
        Event::Scored { .. } => (),
        other => observer(Event::Ahead(&other)),
    }
}

/// An observer that has the games of the step `ahead` go on whenever it is told something: the second game of a program
/// begins only when somebody has seen the first.
pub fn beside<'a>(ahead: &'a mut Option<Begun>, observer: &'a mut dyn FnMut(Event<'_>)) -> impl FnMut(Event<'_>) + 'a {
    move |event: Event<'_>| {
        if let Some(ahead) = ahead {
            ahead.poll_early(observer);
        }
        observer(event);
    }
}

impl Run<'_> {
    /// What step number `step` asks.
    pub(super) fn asked(&self, step: usize) -> Asked {
        let seed = Seed::root(self.config.train.seed).child(Purpose::Step, step as u64 - 1);
        let prompts = self.prompts.draw(seed, self.config.rollout.groups);
        let boards = boards(seed, Purpose::Game, self.config.arena.games);
        Asked { step, seed, prompts, boards }
    }

    /// Writes the step at hand, before which all others are done.
    pub(super) fn begin(&self, asked: &Asked, observer: &mut dyn FnMut(Event<'_>)) -> Result<Begun, TrainError> {
        let in_play = self.stage().begin(&asked.prompts, &self.config.rollout, asked.draw(), observer)?;
        Ok(Begun { in_play, early: Vec::new(), after: asked.step - 1 })
    }

    /// Writes the step after `step` while the games of that one, `now`, are played; if that is asked for, and there is
    /// one. Also when the user has asked to stop: the run that goes on later must find what an unbroken one had.
    pub(super) fn begin_ahead(
        &self,
        step: usize,
        now: &mut Begun,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Begun>, TrainError> {
        if self.config.train.steps_ahead == 0 || step >= self.config.train.max_steps {
            return Ok(None);
        }
        let (asked, mut early) = (self.asked(step + 1), Vec::new());
        let in_play = self.stage().begin(&asked.prompts, &self.config.rollout, asked.draw(), &mut |event| {
            now.in_play.poll(observer);
            tell_early(event, &mut early, observer);
        })?;
        Ok(Some(Begun { in_play, early, after: step - 1 }))
    }

    /// Goes on with the step after `done` steps from what the checkpoint `path` holds of it, if anything.
    pub(super) fn restore_ahead(&self, path: &Path, done: usize) -> Result<Option<Begun>, TrainError> {
        if self.config.train.steps_ahead == 0 || done >= self.config.train.max_steps {
            return Ok(None);
        }
        let Some(completions) = load(path, self.policy.tokenizer(), self.config.rollout.num_generations)? else {
            return Ok(None);
        };
        let asked = self.asked(done + 1);
        if completions.count() != asked.prompts.len() {
            let (found, expected) = (completions.count(), asked.prompts.len());
            return Err(unreadable(path, format!("holds {found} groups, expected {expected}")));
        }
        let in_play = self.stage().play(&asked.prompts, completions, asked.draw());
        Ok(Some(Begun { in_play, early: Vec::new(), after: done - 1 }))
    }
}

/// Writes what was sampled ahead into the checkpoint in `dir`.
pub fn save(dir: &Path, completions: &Groups<Completion>) -> Result<(), TrainError> {
    let items = completions.items();
    let ids: Vec<u32> = items.iter().flat_map(|completion| completion.ids.iter().copied()).collect();
    let logprobs: Vec<f32> = items.iter().flat_map(|completion| completion.logprobs.iter().copied()).collect();
    let lengths: Vec<u32> = items.iter().map(|completion| completion.ids.len() as u32).collect();
    let stopped: Vec<u8> = items.iter().map(|completion| u8::from(completion.finish == FinishReason::Stop)).collect();
    let (tokens, count) = (ids.len(), items.len());
    let tensors = || {
        Ok(HashMap::from([
            ("ids", Tensor::from_vec(ids, tokens, &Device::Cpu)?),
            ("logprobs", Tensor::from_vec(logprobs, tokens, &Device::Cpu)?),
            ("lengths", Tensor::from_vec(lengths, count, &Device::Cpu)?),
            ("stopped", Tensor::from_vec(stopped, count, &Device::Cpu)?),
        ]))
    };
    let written = tensors().and_then(|tensors| safetensors::save(&tensors, dir.join(FILE)));
    written.map_err(|error: candle_core::Error| unreadable(dir, error.to_string()))
}

/// What a checkpoint holds of the step after it, in groups of `size`; none where nothing was sampled ahead.
fn load(dir: &Path, tokenizer: &Tokenizer, size: usize) -> Result<Option<Groups<Completion>>, TrainError> {
    let path = dir.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let read = || {
        let tensors = safetensors::load(&path, &Device::Cpu)?;
        let named =
            |name: &str| tensors.get(name).ok_or_else(|| candle_core::Error::Msg(format!("has no tensor `{name}`")));
        let (ids, logprobs) = (named("ids")?.to_vec1::<u32>()?, named("logprobs")?.to_vec1::<f32>()?);
        let (lengths, stopped) = (named("lengths")?.to_vec1::<u32>()?, named("stopped")?.to_vec1::<u8>()?);
        Ok((ids, logprobs, lengths, stopped))
    };
    let (ids, logprobs, lengths, stopped) =
        read().map_err(|error: candle_core::Error| unreadable(dir, error.to_string()))?;
    let tokens = lengths.iter().map(|length| *length as usize).sum::<usize>();
    if [ids.len(), logprobs.len()] != [tokens; 2] || lengths.len() != stopped.len() || lengths.len() % size != 0 {
        return Err(unreadable(dir, "its tensors do not belong together".into()));
    }
    let (mut ids, mut logprobs) = (ids.into_iter(), logprobs.into_iter());
    let completion = |(length, stopped): (u32, u8)| {
        let finish = if stopped == 1 { FinishReason::Stop } else { FinishReason::Length };
        let ids: Vec<u32> = ids.by_ref().take(length as usize).collect();
        Completion::new(ids, logprobs.by_ref().take(length as usize).collect(), finish, tokenizer)
    };
    Ok(Some(Groups::new(size, lengths.into_iter().zip(stopped).map(completion).collect())))
}

fn unreadable(dir: &Path, reason: String) -> TrainError {
    TrainError::Checkpoint { path: dir.join(FILE), reason }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::super::scoring::Stage;
    use super::*;
    use crate::arena::{Arena, Workers};
    use crate::config::Config;
    use crate::environment::Ending;
    use crate::environment::game2048::unplayed;
    use crate::rollout::fixture::{prompts, rollout_config, tiny_policy};
    use crate::rollout::generate;

    #[test]
    fn what_was_sampled_ahead_comes_back_to_the_last_bit() {
        let (policy, dir) = (tiny_policy(), tempfile::tempdir().unwrap());
        let completions = generate(&policy, &prompts(), &rollout_config(8, 12), Seed::root(9), &mut |_| ()).unwrap();
        let finishes = |finish| completions.items().iter().any(|completion| completion.finish == finish);
        assert!(finishes(FinishReason::Stop) && finishes(FinishReason::Length));
        assert!(load(dir.path(), policy.tokenizer(), 8).unwrap().is_none(), "nothing was sampled ahead");
        save(dir.path(), &completions).unwrap();
        assert_eq!(load(dir.path(), policy.tokenizer(), 8).unwrap(), Some(completions));
    }

    #[test]
    fn what_was_sampled_ahead_and_cannot_be_read_is_an_error_with_the_name_of_the_file() {
        let (policy, dir) = (tiny_policy(), tempfile::tempdir().unwrap());
        let completions = generate(&policy, &prompts(), &rollout_config(4, 6), Seed::root(9), &mut |_| ()).unwrap();
        save(dir.path(), &completions).unwrap();
        let refusal = |size| load(dir.path(), policy.tokenizer(), size).unwrap_err().to_string();
        assert!(refusal(3).contains("sampled_ahead.safetensors: its tensors do not belong together"), "{}", refusal(3));
        std::fs::write(dir.path().join(FILE), "half a file").unwrap();
        assert!(refusal(4).contains("sampled_ahead.safetensors: "), "{}", refusal(4));
    }

    /// Longer than anything takes, and no hang where something is wrong.
    const PATIENCE: Duration = Duration::from_secs(120);

    #[test]
    fn the_next_step_is_written_and_goes_on_while_a_game_of_this_one_is_played() {
        let [slow, first, second] = [0, 1, 2].map(|game| Seed::root(5).child(Purpose::Game, game));
        let ((open, gate), (tell, played)) = (channel(), channel());
        let (gate, tell) = (Mutex::new(gate), Mutex::new(tell));
        let play = move |_: &_, seed| {
            if seed == slow {
                gate.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            }
            tell.lock().unwrap().send(seed).unwrap();
            unplayed(seed, Ending::GameOver)
        };
        let arena = Arena::stand_in(play, Workers::new(2)).unwrap();
        let (policy, config) = (tiny_policy(), Config::preset("builtin").unwrap());
        let stage = Stage { policy: &policy, arena: &arena, config: &config };
        // A program, whatever words come after it.
        let prompt = Prompt { prefill: "def strategy(board):\n    return 'W'  # ".into(), ..prompts()[0].clone() };
        let begin = |turn: usize, boards: &[Seed]| {
            let draw = Draw { streams: Seed::root(turn as u64).into(), boards, turn };
            let in_play = stage.begin(std::slice::from_ref(&prompt), &rollout_config(1, 6), draw, &mut |_| ());
            Begun { in_play: in_play.unwrap(), early: Vec::new(), after: 0 }
        };
        let now = begin(1, &[slow]);
        let mut ahead = Some(begin(2, &[first, second]));
        assert_eq!(played.recv_timeout(PATIENCE), Ok(first));
        let mut early = 0;
        let mut told = |event: Event<'_>| early += usize::from(matches!(event, Event::Ahead(Event::GamePlayed(_))));
        let next = loop {
            beside(&mut ahead, &mut told)(Event::Message("something else goes on"));
            if let Ok(seed) = played.recv_timeout(Duration::from_millis(1)) {
                break seed;
            }
        };
        assert_eq!(next, second);

        open.send(()).unwrap();
        let mut tell = |event: Event<'_>| beside(&mut ahead, &mut told)(event);
        assert_eq!(now.finish(&mut tell).unwrap().0.items()[0].evaluation.games[0].seed(), Some(slow));
        let (mut ahead, mut scored) = (ahead.unwrap(), Vec::new());
        let mut own = |event: Event<'_>| match event {
            Event::Scored { done, total } => scored.push((done, total)),
            Event::Ahead(_) => panic!("its turn has come"),
            _ => (),
        };
        ahead.take_turn(&mut own);
        ahead.finish(&mut own).unwrap();
        assert_eq!(scored, [(1, 1)], "told once, in its own step");
        assert!(early == 0 || early == 2, "games are told with their evaluation: {early}");
    }
}
