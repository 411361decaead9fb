//! Steps that are sampled before the previous step has been learnt from.
//!
//! With `train.steps_ahead = 1` the policy samples the completions of step k+1 while the games of step k are played,
//! and is updated with step k afterwards (Noukhovitch et al. 2024, "Asynchronous RLHF"). Prompts, boards and seeds of a
//! step depend only on its number. Completions that were sampled ahead are saved in the checkpoint, because the weights
//! that they were sampled from no longer exist.

use std::path::Path;

use candle_core::{Device, Tensor, safetensors};

use crate::files;
use crate::groups::Groups;
use crate::policy::Tokenizer;
use crate::rollout::{Completion, CompletionId, FinishReason};
use crate::seed::Seed;

use super::error::TrainError;
use super::run_dir::RunDirError;

/// The file of a checkpoint that holds the completions sampled ahead, for the step after the checkpoint's.
const FILE: &str = "sampled_ahead.safetensors";

/// Writes completions that were sampled ahead into the checkpoint in `dir`.
pub fn save(dir: &Path, completions: &Groups<Completion>) -> Result<(), TrainError> {
    let items = completions.items();
    let ids: Vec<u32> = items.iter().flat_map(|completion| completion.ids.iter().copied()).collect();
    let logprobs: Vec<f32> = items.iter().flat_map(|completion| completion.logprobs.iter().copied()).collect();
    let lengths: Vec<u32> = items.iter().map(|completion| completion.ids.len() as u32).collect();
    let stopped: Vec<u8> = items.iter().map(|completion| u8::from(completion.finish == FinishReason::Stop)).collect();
    let (tokens, count, path) = (ids.len(), items.len(), dir.join(FILE));
    let tensors = || {
        Ok([
            ("ids", Tensor::from_vec(ids, tokens, &Device::Cpu)?),
            ("lengths", Tensor::from_vec(lengths, count, &Device::Cpu)?),
            ("logprobs", Tensor::from_vec(logprobs, tokens, &Device::Cpu)?),
            ("stopped", Tensor::from_vec(stopped, count, &Device::Cpu)?),
        ])
    };
    let tensors = tensors().map_err(|error: candle_core::Error| unreadable(dir, error.to_string()))?;
    files::write_tensors(tensors.iter().map(|(name, tensor)| (*name, tensor)), None, &path)
        .map_err(|source| TrainError::RunDir(RunDirError::Io { path, source }))
}

/// Reads the completions that were sampled ahead with the streams of `seed`, in groups of `size`; none if the checkpoint
/// has no such file.
pub(super) fn load(
    dir: &Path,
    tokenizer: &Tokenizer,
    size: usize,
    seed: Seed,
) -> Result<Option<Groups<Completion>>, TrainError> {
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
    let completion = |(index, (length, stopped)): (usize, (u32, u8))| {
        let finish = if stopped == 1 { FinishReason::Stop } else { FinishReason::Length };
        let ids: Vec<u32> = ids.by_ref().take(length as usize).collect();
        Completion::new(
            CompletionId::new(seed, index),
            ids,
            logprobs.by_ref().take(length as usize).collect(),
            finish,
            tokenizer,
        )
    };
    Ok(Some(Groups::new(size, lengths.into_iter().zip(stopped).enumerate().map(completion).collect())))
}

pub(super) fn unreadable(dir: &Path, reason: String) -> TrainError {
    TrainError::Checkpoint { path: dir.join(FILE), reason }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::super::in_play::InPlay;
    use super::super::scoring::{Draw, Stage};
    use super::*;
    use crate::arena::{Arena, Workers};
    use crate::config::Config;
    use crate::environment::Ending;
    use crate::environment::game2048::unplayed;
    use crate::fixture::{prompts, rollout_config, tiny_policy};
    use crate::metrics::Event;
    use crate::parallel::Peers;
    use crate::policy::Policy;
    use crate::prompt::Prompt;
    use crate::reward::Rule;
    use crate::rollout::{GroupRequest, generate};
    use crate::seed::Purpose;

    /// A policy, its completions in groups of `size`, and a directory for them.
    fn sampled(size: usize, longest: usize) -> (Policy, Groups<Completion>, tempfile::TempDir) {
        let (policy, rollout) = (tiny_policy(), rollout_config(size, longest));
        let completions = generate(&policy, &prompts(), &rollout, Seed::root(9), &mut |_| ()).unwrap();
        (policy, completions, tempfile::tempdir().unwrap())
    }

    #[test]
    fn what_was_sampled_ahead_comes_back_to_the_last_bit() {
        let (policy, completions, dir) = sampled(8, 12);
        let finishes = |finish| completions.items().iter().any(|completion| completion.finish == finish);
        assert!(finishes(FinishReason::Stop) && finishes(FinishReason::Length));
        let load = || load(dir.path(), policy.tokenizer(), 8, Seed::root(9)).unwrap();
        assert!(load().is_none(), "nothing was sampled ahead");
        save(dir.path(), &completions).unwrap();
        assert_eq!(load(), Some(completions));
    }

    #[test]
    fn what_was_sampled_ahead_is_as_open_to_others_as_any_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let (_, completions, dir) = sampled(4, 6);
        save(dir.path(), &completions).unwrap();
        std::fs::write(dir.path().join("plain"), "").unwrap();
        let mode = |name: &str| std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode(FILE), mode("plain"), "whoever reads the other files of a checkpoint can check all of them");
        let missing = save(&dir.path().join("missing"), &completions).unwrap_err();
        assert!(matches!(missing, TrainError::RunDir(RunDirError::Io { .. })), "{missing}");
    }

    #[test]
    fn what_was_sampled_ahead_and_cannot_be_read_is_an_error_with_the_name_of_the_file() {
        let (policy, completions, dir) = sampled(4, 6);
        save(dir.path(), &completions).unwrap();
        let load = |size| load(dir.path(), policy.tokenizer(), size, Seed::root(9));
        let refusal = |size| load(size).unwrap_err().to_string();
        assert!(refusal(3).contains("sampled_ahead.safetensors: its tensors do not belong together"), "{}", refusal(3));
        std::fs::write(dir.path().join(FILE), "half a file").unwrap();
        assert!(refusal(4).contains("sampled_ahead.safetensors: "), "{}", refusal(4));
    }

    #[test]
    fn tokens_that_are_read_from_a_checkpoint_are_not_those_of_the_time_of_sampling() {
        let arena = Arena::stand_in(|_, seed| unplayed(seed, Ending::GameOver), Workers::Inline).unwrap();
        let policy = tiny_policy();
        let config = Config { rollout: rollout_config(4, 6), ..Config::preset("builtin").unwrap() };
        let peers = &Peers::alone();
        let rule = &Rule::new(&config.reward, arena.environment());
        let stage = Stage { policy: &policy, servers: None, arena: &arena, rule, config: &config, peers, turns: None };
        let (prompts, boards) = (prompts(), [Seed::root(5)]);
        let requests = GroupRequest::all(&prompts, 4, Seed::root(9));
        let draw = Draw { boards: &boards, step: 2 };
        let sampled = stage.begin(&requests, draw, None, &mut |_| ()).unwrap();
        let completions = sampled.completions.clone();
        let tokens: u64 = completions.items().iter().map(|completion| completion.ids.len() as u64).sum();
        let timed = |in_play: InPlay| in_play.finish(&mut |_| ()).unwrap().1;
        let sampled = timed(sampled);
        assert_eq!(sampled.tokens, tokens);
        let read = timed(stage.play(&requests, completions, draw).unwrap());
        assert_eq!((read.tokens, read.generate), (0, Duration::ZERO));
        // As of a later turn, or of groups that are sampled again.
        let both = read.plus(sampled);
        assert_eq!((both.tokens, both.generate), (tokens, sampled.generate));
    }

    /// A limit that a correct program never reaches, so that a failure is an error and not a hang.
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
        let policy = tiny_policy();
        let config = Config { rollout: rollout_config(1, 6), ..Config::preset("builtin").unwrap() };
        let peers = &Peers::alone();
        let rule = &Rule::new(&config.reward, arena.environment());
        let stage = Stage { policy: &policy, servers: None, arena: &arena, rule, config: &config, peers, turns: None };
        // The prefill makes a valid program of any completion.
        let prompt = Prompt { prefill: "def strategy(board):\n    return 'W'  # ".into(), ..prompts()[0].clone() };
        let mut told = Vec::new();
        let mut tell = |event: Event<'_>| match event {
            Event::GamePlayed(game) => told.push((game.step, "played")),
            Event::CompletionScored(completion) => told.push((completion.step, "completion")),
            Event::Scored { step, done: 1, total: 1 } => told.push((step, "scored")),
            _ => (),
        };
        let mut begin = |step: usize, boards: &[Seed]| {
            let requests = GroupRequest::all(std::slice::from_ref(&prompt), 1, Seed::root(step as u64));
            stage.begin(&requests, Draw { boards, step }, None, &mut tell).unwrap()
        };
        let now = begin(1, &[slow]);
        let ahead = begin(2, &[first, second]);
        // The games of the second step are played although nothing waits for them.
        assert_eq!([played.recv_timeout(PATIENCE), played.recv_timeout(PATIENCE)], [Ok(first), Ok(second)]);

        open.send(()).unwrap();
        assert_eq!(now.finish(&mut tell).unwrap().0.items()[0].evaluation.games[0].seed(), Some(slow));
        ahead.finish(&mut tell).unwrap();
        // Events of the second step may come during its sampling or afterwards, so only their order within a step is
        // compared.
        told.sort_by_key(|(step, _)| *step);
        let expected =
            [&["played"; 1][..], &["completion", "scored"], &["played"; 2], &["completion", "scored"]].concat();
        assert_eq!(told, [1, 1, 1, 2, 2, 2, 2].into_iter().zip(expected).collect::<Vec<_>>(), "once, in their step");
    }
}
