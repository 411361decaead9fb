//! The loop: prompts, completions, programs, games, rewards, advantages, update; then again.
//!
//! Owns the order of things, checkpoints, held-out evaluation and the hall of fame. What each step computes is a pure
//! function of the configuration, the seed and the weights; clocks only feed the metrics.

pub mod checkpoint;
pub mod evaluation;
pub mod hall_of_fame;
mod record;
pub mod run_dir;
pub mod scoring;
pub mod sft;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::arena::{Arena, ArenaError, Evaluation, Rules};
use crate::config::Config;
use crate::evaluation::selection_boards;
use crate::groups::Groups;
use crate::grpo::{self, Batch, LearnError, Optimizer};
use crate::metrics::{EvaluationRecord, Event, RunHeader, StepRecord};
use crate::policy::{Adapters, Decoder, Policy, PolicyError};
use crate::program::Program;
use crate::prompt::{Prompt, PromptError, PromptSet};
use crate::rollout::RolloutError;
use crate::seed::{Purpose, Seed};

use checkpoint::TrainerState;
use evaluation::Protocol;
use hall_of_fame::{HallOfFame, Member};
use run_dir::{RunDir, RunDirError};
use scoring::{Episode, Stage, boards};

/// Held-out games that settle the hall of fame.
const HALL_OF_FAME_GAMES: usize = 8;

/// Why a run stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The output directory.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// Loading, running or saving the model.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Building prompts.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// Sampling.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// Playing.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The update.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A checkpoint that cannot be read.
    #[error("{path}: {reason}")]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Metrics that cannot be recorded.
    #[error(transparent)]
    Sink(#[from] crate::metrics::SinkError),
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Where everything is.
    pub output_dir: PathBuf,
    /// One record a step, earlier sessions of a resumed run included.
    pub steps: Vec<StepRecord>,
    /// Held-out evaluations, in order.
    pub evaluations: Vec<EvaluationRecord>,
    /// Best programs, best first.
    pub hall_of_fame: Vec<Member>,
    /// Newest checkpoint.
    pub checkpoint: PathBuf,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// What a run works with.
pub struct Run<'a> {
    /// Every setting.
    pub config: &'a Config,
    /// Whose turn it is to write programs, and what is trained.
    pub policy: &'a mut Policy,
    /// Where programs play, under the rules of training games.
    pub arena: &'a Arena,
    /// What is asked of the policy.
    pub prompts: &'a PromptSet,
    /// Set from outside to stop after the step at hand.
    pub stop: &'a AtomicBool,
}

/// What the KL penalty keeps the policy close to.
enum Reference {
    /// The policy without its adapters.
    AdaptersOff,
    /// A copy of the start.
    Frozen(Box<Decoder>),
}

struct Progress {
    dir: RunDir,
    optimizer: Optimizer,
    reference: Option<Reference>,
    state: TrainerState,
}

impl Run<'_> {
    /// Trains in a new output directory.
    pub fn start(
        mut self,
        about: &[(&str, String)],
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Summary, TrainError> {
        let dir = RunDir::create(self.config, about)?;
        let optimizer = Optimizer::new(self.policy.trainable(), &self.config.grpo)?;
        let state = TrainerState { max_steps: self.config.train.max_steps, ..TrainerState::default() };
        let reference = self.reference()?;
        self.go(Progress { dir, optimizer, reference, state }, observer)
    }

    /// Goes on with the run in `path` from its newest checkpoint.
    pub fn resume(mut self, path: &Path, observer: &mut dyn FnMut(Event<'_>)) -> Result<Summary, TrainError> {
        let (dir, newest) = RunDir::reopen(path, self.config)?;
        let mut optimizer = Optimizer::new(self.policy.trainable(), &self.config.grpo)?;
        // Before the trained weights are put back: the reference is what the run started from.
        let reference = self.reference()?;
        let mut state = checkpoint::load(&newest, self.policy, &mut optimizer, self.config.train.seed)?;
        state.max_steps = self.config.train.max_steps;
        self.go(Progress { dir, optimizer, reference, state }, observer)
    }

    fn reference(&self) -> Result<Option<Reference>, TrainError> {
        Ok(match (self.config.grpo.beta > 0.0, self.config.model.lora_r > 0) {
            (false, _) => None,
            (true, true) => Some(Reference::AdaptersOff),
            (true, false) => Some(Reference::Frozen(Box::new(self.policy.frozen_decoder()?))),
        })
    }

    fn go(&mut self, mut progress: Progress, observer: &mut dyn FnMut(Event<'_>)) -> Result<Summary, TrainError> {
        observer(Event::RunStarted(&self.header(&progress)));
        let mut newest = None;
        if progress.state.global_step == 0 {
            self.evaluate(&mut progress, observer)?;
            newest = Some(self.save(&progress, observer)?);
        }
        while progress.state.global_step < self.config.train.max_steps && !self.stop.load(Ordering::SeqCst) {
            self.step(&mut progress, observer)?;
            let (done, settings) = (progress.state.global_step, &self.config.train);
            let last = done == settings.max_steps || self.stop.load(Ordering::SeqCst);
            let due = last || (settings.eval_steps > 0 && done.is_multiple_of(settings.eval_steps));
            if due && !self.stop.load(Ordering::SeqCst) {
                self.evaluate(&mut progress, observer)?;
            }
            if last || done.is_multiple_of(settings.save_steps) {
                newest = Some(self.save(&progress, observer)?);
            }
        }
        self.finish(progress, newest)
    }

    /// One turn of the loop. `global_step` advances last, so that a failed step leaves the state as it was.
    fn step(&mut self, progress: &mut Progress, observer: &mut dyn FnMut(Event<'_>)) -> Result<(), TrainError> {
        let start = Instant::now();
        let done = progress.state.global_step;
        let step = done + 1;
        observer(Event::StepStarted { step });
        let seed = Seed::root(self.config.train.seed).child(Purpose::Step, done as u64);
        let prompts = self.prompts.draw(seed, self.config.rollout.groups);
        let boards = boards(seed, Purpose::Game, self.config.arena.games);
        let (episodes, timing) = self.stage().episodes(&prompts, &self.config.rollout, (seed, &boards), observer)?;
        let mut record = record::of_episodes(step, &episodes, timing);

        let update = Instant::now();
        let rewards = episodes.clone().map(|episode| episode.reward.value);
        let advantages = grpo::advantages(&rewards, &self.config.grpo);
        let batch = self.batch(&prompts, &episodes, &advantages, progress.reference.as_ref())?;
        record.learning_rate = grpo::learning_rate(&self.config.grpo, done, self.config.train.max_steps);
        let mut updating = |done, total| observer(Event::Updating { done, total });
        let optimizer = &mut progress.optimizer;
        let stats = grpo::update(self.policy, optimizer, &batch, record.learning_rate, &mut updating)?;
        match stats {
            Some(stats) => record::add_update(&mut record, &stats),
            None => {
                observer(Event::Message(&format!("step {step}: no update, no completion is better than its group")))
            }
        }
        record.time_update = update.elapsed().as_secs_f64();

        let state = &mut progress.state;
        state.num_input_tokens_seen += tokens(&prompts, &episodes);
        record.num_tokens = state.num_input_tokens_seen;
        for (index, episode) in episodes.items().iter().enumerate() {
            state.hall_of_fame.consider(step, &prompts[index / episodes.size()].style, episode);
        }
        record.step_time = start.elapsed().as_secs_f64();
        log_completions(&progress.dir, step, &prompts, &episodes, &advantages)?;
        observer(Event::StepDone(&record));
        state.log_history.push(record);
        state.global_step = step;
        Ok(())
    }

    /// What the update learns from, with the reference's log-probabilities where there is a KL penalty.
    fn batch(
        &self,
        prompts: &[Prompt],
        episodes: &Groups<Episode>,
        advantages: &Groups<f32>,
        reference: Option<&Reference>,
    ) -> Result<Batch, TrainError> {
        let completions = episodes.clone().map(|episode| episode.completion);
        let batch = Batch::new(prompts, completions, advantages.clone(), &self.config.rollout, &self.config.grpo);
        let Some(reference) = reference else { return Ok(batch) };
        let decoder = match reference {
            Reference::AdaptersOff => self.policy.decoder(),
            Reference::Frozen(decoder) => decoder,
        };
        let logprobs = grpo::reference_logprobs(decoder, Adapters::Off, &batch)?;
        Ok(batch.with_reference(logprobs))
    }

    fn stage(&self) -> Stage<'_> {
        Stage { policy: self.policy, arena: self.arena, config: self.config }
    }

    fn header(&self, progress: &Progress) -> RunHeader {
        let weights = |tensors: &mut dyn Iterator<Item = usize>| tensors.sum();
        RunHeader {
            model: self.config.model.model.clone(),
            parameters: self.policy.decoder().config().parameters(),
            trainable: weights(&mut self.policy.trainable().values().map(|var| var.elem_count())),
            device: self.config.model.device.clone(),
            max_steps: self.config.train.max_steps,
            resumed_from: progress.state.global_step,
            groups: self.config.rollout.groups,
            num_generations: self.config.rollout.num_generations,
            parallel_rewards: self.config.arena.parallel_rewards,
            games: self.config.arena.games,
            output_dir: progress.dir.path().to_owned(),
            seed: self.config.train.seed,
        }
    }

    fn evaluate(&self, progress: &mut Progress, observer: &mut dyn FnMut(Event<'_>)) -> Result<(), TrainError> {
        let protocol = Protocol { samples: self.config.train.eval_samples, games: self.config.train.eval_games };
        if protocol.samples == 0 {
            return Ok(());
        }
        let step = progress.state.global_step;
        let arena = self.arena.under(Rules::new(&self.config.sandbox, &self.config.arena));
        let stage = Stage { arena: &arena, ..self.stage() };
        let record = evaluation::evaluate(&stage, self.prompts, protocol, step, observer)?;
        observer(Event::Evaluated(&record));
        progress.state.evaluations.push(record);
        Ok(())
    }

    fn save(&self, progress: &Progress, observer: &mut dyn FnMut(Event<'_>)) -> Result<PathBuf, TrainError> {
        let settings = &self.config.train;
        let keep = (settings.seed, settings.save_total_limit);
        let path = checkpoint::save(&progress.dir, self.policy, &progress.optimizer, &progress.state, keep)?;
        observer(Event::Saved { path: &path });
        Ok(path)
    }

    /// Settles the hall of fame on held-out boards and says how it went.
    fn finish(&self, progress: Progress, newest: Option<PathBuf>) -> Result<Summary, TrainError> {
        let Progress { dir, mut state, .. } = progress;
        let interrupted = self.stop.load(Ordering::SeqCst);
        if !interrupted {
            let held_out = self.play_members(&state.hall_of_fame)?;
            state.hall_of_fame.settle(&held_out);
        }
        let members = state.hall_of_fame.members().to_vec();
        let text = serde_json::to_vec_pretty(&members).expect("members are JSON");
        dir.write_whole("hall_of_fame.json", &text)?;
        Ok(Summary {
            output_dir: dir.path().to_owned(),
            steps: state.log_history,
            evaluations: state.evaluations,
            hall_of_fame: members,
            checkpoint: newest.unwrap_or_else(|| dir.path().to_owned()),
            interrupted,
        })
    }

    /// Mean scores of the members on the held-out boards.
    fn play_members(&self, hall: &HallOfFame) -> Result<Vec<f64>, TrainError> {
        let arena = self.arena.under(Rules::new(&self.config.sandbox, &self.config.arena));
        let boards = selection_boards(HALL_OF_FAME_GAMES);
        let mut scoring = arena.begin();
        for (index, member) in hall.members().iter().enumerate() {
            scoring.submit(index, Program::from_text(&member.source), boards);
        }
        Ok(scoring.finish()?.iter().map(Evaluation::mean_score).collect())
    }
}

fn tokens(prompts: &[Prompt], episodes: &Groups<Episode>) -> u64 {
    let prompt: usize = prompts.iter().map(|prompt| prompt.ids.len() * episodes.size()).sum();
    let completion: usize = episodes.items().iter().map(|episode| episode.completion.ids.len()).sum();
    (prompt + completion) as u64
}

/// Writes `completions/step_00012.jsonl`: one line a completion, in order.
fn log_completions(
    dir: &RunDir,
    step: usize,
    prompts: &[Prompt],
    episodes: &Groups<Episode>,
    advantages: &Groups<f32>,
) -> Result<(), TrainError> {
    let mut text = String::new();
    for (index, (episode, advantage)) in episodes.items().iter().zip(advantages.items()).enumerate() {
        let prompt = &prompts[index / episodes.size()];
        let parts: serde_json::Map<String, serde_json::Value> =
            episode.reward.parts.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        let line = serde_json::json!({
            "step": step,
            "index": index,
            "style": prompt.style,
            "prompt": prompt.text,
            "completion": episode.completion.text,
            "tokens": episode.completion.ids.len(),
            "finish": episode.completion.finish,
            "reward": episode.reward.value,
            "reward_parts": parts,
            "advantage": advantage,
            "program": episode.program.as_ref().ok().map(|program| hall_of_fame::hex(&program.digest())),
            "evaluation": episode.evaluation,
            "digest": episode.evaluation.digest(),
        });
        text.push_str(&line.to_string());
        text.push('\n');
    }
    Ok(dir.write_whole(&format!("completions/step_{step:05}.jsonl"), text.as_bytes())?)
}
