//! The training loop: prompts, completions, programs, games, rewards, advantages, update; then the next step.
//!
//! This module decides the order of these parts, and when to evaluate on held-out boards, to save a checkpoint and to
//! stop. What a step computes is a pure function of the configuration, the seed and the weights; clocks are read for
//! metrics only.

pub mod advice;
mod agreement;
mod ahead;
mod beginning;
pub mod checkpoint;
mod control;
pub mod curriculum;
pub mod divided;
pub mod elites;
mod episode;
mod error;
pub mod evaluation;
mod forecast;
pub mod guard;
pub mod hall_of_fame;
mod in_play;
pub mod memory;
pub(crate) mod record;
pub(crate) mod reference;
mod resample;
pub mod run_dir;
pub mod scoring;
pub(crate) mod serving;
mod settling;
mod step;
mod summary;
mod turns;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::arena::{Arena, Rules};
use crate::config::Config;
use crate::evaluation::HeldOut;
use crate::grpo::{self, Division, Optimizer};
use crate::metrics::{Event, METRICS_FILE, RunHeader, StepRecord, missing_lines};
use crate::parallel::Peers;
use crate::policy::{Policy, device_name};
use crate::prompt::{PromptSet, TurnFormat};
use crate::reward::Rule;
use crate::rollout::Servers;
pub use crate::rollout::check_length;

use checkpoint::{Contents, TrainerState};
#[cfg(test)]
pub(crate) use episode::fixture;
pub use episode::{Combined, Episode, Reply, Turn};
pub use error::TrainError;
use evaluation::Protocol;
pub use forecast::{Forecast, Rehearsal, Seconds};
use guard::{Collapse, Guard};
use in_play::StepInPlay;
use memory::{Allowance, MemoryPlan, TooSmall, Workload};
use reference::Reference;
use run_dir::{Reopened, Retention, RunDir, RunDirError};
use scoring::Stage;
pub use step::COMPLETIONS_VERSION;
pub use summary::{RunSummary, Stopped};

/// Everything that a run needs, borrowed from the command that starts it.
pub struct Run<'a> {
    pub config: &'a Config,
    pub policy: &'a mut Policy,
    /// vLLM servers that sample the completions of training steps; without them, and in evaluations, `policy` samples.
    pub servers: Option<Servers>,
    /// Plays programs, under the limits of training games.
    pub arena: &'a Arena,
    /// Turns evaluations into rewards: that of the configuration, and what a program adds to it.
    pub rule: Rule,
    pub prompts: &'a PromptSet,
    /// How much memory the run may use, found before the model was loaded; none if the machine does not tell.
    pub allowance: Option<Allowance>,
    /// Set by a signal handler to stop after the current step. One process that sets it stops all.
    pub stop: &'a AtomicBool,
    pub peers: &'a Peers,
    /// Measures a step from outside the loop, such as the GPU's utilisation: families of keys of its record, by name.
    pub measure: &'a dyn Fn(&StepRecord) -> BTreeMap<String, f64>,
}

/// The state of a run that changes from step to step, apart from the weights.
struct Progress {
    dir: RunDir,
    optimizer: Optimizer,
    reference: Option<Reference>,
    state: TrainerState,
    guard: Guard,
    plan: MemoryPlan,
    /// The next step, if `train.steps_ahead` had it sampled before the update of the current one.
    ahead: Option<StepInPlay>,
    /// Plays held-out boards under the limits of evaluation. It is kept for the whole run, because its cache of
    /// verdicts pays where the same boards are played repeatedly.
    held_out: Arena,
}

pub(crate) fn optimizer(policy: &Policy, config: &Config) -> Result<Optimizer, TrainError> {
    let optimizer = Optimizer::new(policy.trainable(), &config.grpo)?;
    Ok(optimizer.in_precision(policy.decoder().precision()).fused(config.grpo.fused_adamw))
}

impl Run<'_> {
    /// Trains in a new output directory.
    pub fn start(
        mut self,
        about: &[(&str, String)],
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<RunSummary, TrainError> {
        let plan = self.plan(None, self.peers.size(), observer)?;
        let (optimizer, reference) = (optimizer(self.policy, self.config)?, Reference::of(self.policy, self.config)?);
        self.compare_servers()?;
        // The directory is made last, so that a run that cannot start leaves nothing behind.
        let dir = self.dir(|| RunDir::create(self.config, about).map(|dir| (dir, None)))?.0;
        self.keep_adapters_in(dir.path());
        let state = TrainerState { max_steps: self.config.train.max_steps, ..TrainerState::default() };
        let (guard, held_out) = (self.guard(&[]), self.held_out());
        let progress = Progress { dir, optimizer, reference, state, guard, plan, ahead: None, held_out };
        self.go(progress, None, observer)
    }

    /// Continues a run from its newest checkpoint. The first process passes the directory that it has opened, the
    /// others pass none.
    pub fn resume(
        mut self,
        reopened: Option<Reopened>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<RunSummary, TrainError> {
        let nothing = || RunDirError::NothingToResume { path: self.config.train.output_dir.clone() };
        let opened = reopened.map(|reopened| (reopened.dir, Some(reopened.newest)));
        let (dir, newest) = self.dir(|| opened.ok_or_else(nothing))?;
        let newest = newest.ok_or_else(nothing)?;
        self.compare_servers()?;
        self.keep_adapters_in(dir.path());
        let mut optimizer = optimizer(self.policy, self.config)?;
        // The reference is made before the trained weights are restored, because it is the model that the run started
        // from.
        let reference = Reference::of(self.policy, self.config)?;
        let mut state = checkpoint::load(&newest, self.policy, &mut optimizer, self.config.train.seed)?;
        let had = std::mem::replace(&mut state.max_steps, self.config.train.max_steps);
        if let Some(words) = grpo::rescheduled(&self.config.grpo, "step", state.global_step, had, state.max_steps) {
            observer(Event::Message(&words));
        }
        let metrics = dir.path().join(METRICS_FILE);
        let missing = missing_lines(&metrics, state.global_step, &state.evaluations);
        if let Some(words) = missing.filter(|_| self.peers.leads()) {
            observer(Event::Message(&words));
        }
        let (guard, held_out) = (self.guard(&state.log_history), self.held_out());
        let plan = self.plan(state.division, self.peers.size(), observer)?;
        let ahead = self.restore_ahead(&newest, state.global_step)?;
        // Files are changed last, so that a run that cannot continue leaves them as they are.
        dir.drop_steps_after(state.global_step)?;
        dir.record(self.config)?;
        // A process that was killed when it had just written the checkpoint has left this to do.
        let name = newest.file_name().unwrap_or_default().to_string_lossy();
        dir.advance(&name, self.retention(&guard))?;
        let progress = Progress { dir, optimizer, reference, state, guard, plan, ahead, held_out };
        self.go(progress, Some(newest), observer)
    }

    fn held_out(&self) -> Arena {
        self.arena.under(Rules::of(self.config))
    }

    /// Trains from the state in `progress`: that of a new run, or of the checkpoint `resumed`.
    fn go(
        &mut self,
        mut progress: Progress,
        resumed: Option<PathBuf>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<RunSummary, TrainError> {
        grpo_tensor::gpu::check_launches(self.config.train.cuda_check);
        self.agree(&progress)?;
        let lines = self.peers.connect(self.policy.decoder().device(), self.config.parallel.reduce)?;
        observer(Event::RunStarted(&self.header(&progress)));
        let (line, kernels) = (progress.plan.to_string(), self.policy.decoder().kernels());
        let notice = memory::notice(self.config, kernels, progress.plan.division, progress.state.division);
        let rounding = self.rounding_notice();
        lines.iter().chain(&rounding).chain([&line]).chain(&notice).for_each(|line| observer(Event::Message(line)));
        if let Some(words) = self.prompts.turns().and_then(TurnFormat::notice) {
            observer(Event::Message(words));
        }
        progress.state.division = Some(progress.plan.division);
        let (mut newest, mut collapse) = (resumed, None);
        if newest.is_none() {
            let evaluates = self.config.train.eval_samples > 0;
            if let Some(tasks) = self.arena.environment().tasks().filter(|tasks| evaluates && !tasks.holds_out()) {
                let path = tasks.path().display();
                observer(Event::Message(&format!(
                    "warning: {path}: no task is held out (\"split\": \"held_out\"); evaluations ask those that are \
                     trained on"
                )));
            }
            self.evaluate(&mut progress, observer)?;
            newest = Some(self.save(&progress, observer)?);
        } else if self.owes_evaluation(&progress.state) {
            self.evaluate(&mut progress, observer)?;
            // Without it, a run that is stopped before its next checkpoint would make the evaluation again.
            newest = Some(self.save(&progress, observer)?);
        }
        let mut stopping = self.stopping()?;
        while collapse.is_none() && progress.state.global_step < self.config.train.max_steps && !stopping {
            collapse = self.step(&mut progress, observer)?;
            stopping = self.stopping()?;
            let (done, settings) = (progress.state.global_step, &self.config.train);
            let last = collapse.is_some() || done == settings.max_steps;
            if (last || self.is_evaluated(done)) && !stopping {
                self.evaluate(&mut progress, observer)?;
                stopping = self.stopping()?;
            }
            if last || stopping || done.is_multiple_of(settings.save_steps) {
                newest = Some(self.save(&progress, observer)?);
            }
        }
        let stopped = collapse.map(|collapse| self.stopped(&progress, collapse));
        self.finish(progress, newest, stopped, stopping, observer)
    }

    /// Whether `train.eval_steps` asks for an evaluation after this step. The start and the last step have one anyway.
    fn is_evaluated(&self, step: usize) -> bool {
        let every = self.config.train.eval_steps;
        every > 0 && step.is_multiple_of(every)
    }

    /// Whether an evaluation is due after this step of a run that the guard does not end.
    fn evaluation_is_due(&self, step: usize) -> bool {
        let settings = &self.config.train;
        settings.eval_samples > 0 && (self.is_evaluated(step) || step == settings.max_steps)
    }

    /// Whether the run was stopped before the evaluation that was due at its newest checkpoint.
    fn owes_evaluation(&self, state: &TrainerState) -> bool {
        let step = state.global_step;
        self.evaluation_is_due(step) && state.evaluations.last().is_none_or(|record| record.step < step)
    }

    /// Plans the memory of the run, with updates divided so that they fit, and checks that prompts and completions fit
    /// into the model's context. A limit set by the user is an error where even the smallest division exceeds it. A
    /// limit that was derived from free memory causes a warning only, unless the plan exceeds all memory of the
    /// machine.
    fn plan(
        &self,
        had: Option<Division>,
        processes: usize,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<MemoryPlan, TrainError> {
        turns::check(self.config, self.prompts)?;
        for prompts in [self.prompts.prompts(), self.prompts.held_out()] {
            check_length(self.policy, prompts, &self.config.rollout)?;
        }
        let longest = self.prompts.prompts().iter().map(|prompt| prompt.ids.len()).max().unwrap_or(0);
        let workload = Workload { processes, ..Workload::of(self.policy, self.config, longest) };
        let set = self.config.memory_limit();
        let limit = set.or(self.allowance.as_ref().map(|allowance| allowance.bytes));
        let plan = match (MemoryPlan::fitting(&workload, limit, had), &self.allowance) {
            (Err(too_small), Some(allowance)) if set.is_none() && too_small.smallest.total() > allowance.total => {
                return Err(TrainError::Machine(TooSmall { limit: allowance.total, ..too_small }));
            }
            (Err(too_small), Some(allowance)) if set.is_none() => {
                observer(Event::Message(&format!("warning: {allowance}; {too_small}")));
                *too_small.smallest
            }
            (plan, _) => plan?,
        };
        self.in_common(&workload, plan)
    }

    fn stage(&self) -> Stage<'_> {
        let servers = self.servers.as_ref();
        let turns = self.prompts.turns();
        let Run { policy, arena, rule, config, peers, .. } = self;
        Stage { policy, servers, arena, rule, config, peers, turns }
    }

    fn header(&self, progress: &Progress) -> RunHeader {
        RunHeader {
            environment: self.arena.environment().name().to_owned(),
            labels: self.arena.environment().labels(),
            model: self.config.model.model.clone(),
            parameters: self.policy.decoder().config().parameters(),
            trainable: self.policy.trainable().values().map(|var| var.elem_count()).sum(),
            device: device_name(self.policy.decoder().device()),
            max_steps: self.config.train.max_steps,
            resumed_from: progress.state.global_step,
            groups: self.config.rollout.groups,
            num_generations: self.config.rollout.num_generations,
            parallel_rewards: self.config.arena.parallel_rewards.threads(),
            steps_ahead: u32::from(self.config.train.steps_ahead) as usize,
            games: self.config.arena.games,
            output_dir: progress.dir.path().to_owned(),
            seed: self.config.train.seed,
            control: self.config.reward.shuffled,
            evaluations: (self.config.train.eval_samples > 0).then_some(self.config.train.eval_steps),
            evaluation_time: progress.state.evaluations.last().map_or(0.0, |record| record.runtime),
        }
    }

    fn evaluate(&self, progress: &mut Progress, observer: &mut dyn FnMut(Event<'_>)) -> Result<(), TrainError> {
        let held_out = HeldOut::salted(&self.config.train.board_salt);
        let boards = held_out.selection(self.config.train.eval_games);
        let protocol = Protocol { samples: self.config.train.eval_samples, boards };
        if protocol.samples == 0 {
            return Ok(());
        }
        let step = progress.state.global_step;
        let mut config = self.config.clone();
        config.rollout.temperature = config.held_out_temperature();
        let stage = Stage { arena: &progress.held_out, servers: None, config: &config, ..self.stage() };
        let record = evaluation::evaluate(&stage, self.prompts, protocol, step, observer)?;
        observer(Event::Evaluated(&record));
        progress.state.evaluations.push(record);
        Ok(())
    }

    fn save(&self, progress: &Progress, observer: &mut dyn FnMut(Event<'_>)) -> Result<PathBuf, TrainError> {
        let contents = Contents {
            policy: self.policy,
            optimizer: &progress.optimizer,
            state: &progress.state,
            root_seed: self.config.train.seed,
            ahead: progress.ahead.as_ref().map(|ahead| &ahead.in_play.completions),
        };
        let path = checkpoint::save(&progress.dir, &contents, self.retention(&progress.guard))?;
        observer(Event::Saved { path: &path });
        Ok(path)
    }

    fn retention(&self, guard: &Guard) -> Retention {
        Retention { limit: self.config.train.save_total_limit, before: guard.troubles_began() }
    }

    fn stopped(&self, progress: &Progress, collapse: Collapse) -> Stopped {
        let saved = progress.dir.checkpoints();
        let good = collapse.last_good(saved.iter().map(|(step, _)| *step));
        let last_good = saved.into_iter().find(|(step, _)| Some(*step) == good).map(|(_, path)| path);
        Stopped { collapse, last_good, adapters: self.policy.rank().is_some() }
    }

    /// Ranks the hall of fame, by held-out games where the settings ask for them, writes it, and returns the summary of the run.
    fn finish(
        &self,
        progress: Progress,
        newest: Option<PathBuf>,
        stopped: Option<Stopped>,
        interrupted: bool,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<RunSummary, TrainError> {
        let Progress { dir, mut state, held_out, ahead, .. } = progress;
        state.hall_of_fame.readmit(dir.path());
        // The games of a step that was sampled ahead are cancelled. Its completions are in the checkpoint.
        drop(ahead);
        let has_tests = self.arena.environment().has_tests();
        let settles = !interrupted && self.config.train.settle && !has_tests;
        let settled = settles && self.settle(&held_out, &mut state, observer)?;
        let interrupted = interrupted || (settles && !settled);
        if !settled && !has_tests {
            state.hall_of_fame.nominate(&state.elites);
            state.hall_of_fame.rank();
        }
        let members = state.hall_of_fame.members().to_vec();
        let text = serde_json::to_vec_pretty(&members).expect("members are JSON");
        dir.write_whole(run_dir::HALL_OF_FAME, &text)?;
        if let Some(best) = members.first() {
            dir.write_whole(run_dir::BEST, best.source.as_bytes())?;
        }
        dir.write_whole(run_dir::ELITES, &state.elites.summary())?;
        if !interrupted {
            dir.record_end(state.global_step)?;
        }
        Ok(RunSummary {
            output_dir: dir.path().to_owned(),
            steps: state.log_history,
            evaluations: state.evaluations,
            hall_of_fame: members,
            checkpoint: newest.unwrap_or_else(|| dir.path().to_owned()),
            interrupted,
            control: self.config.reward.shuffled,
            labels: self.arena.environment().labels(),
            stopped,
        })
    }
}
