//! One training step: prompts, completions, programs, games, rewards, advantages, update.

mod lesson;
mod log;

use std::time::{Duration, Instant};

use rand::seq::IndexedRandom;

use crate::config::{GrpoConfig, PromptDraw, StepsAhead};
use crate::groups::Groups;
use crate::grpo::{self, Batch, Demonstration, Division};
use crate::metrics::{Activity, Event, Period, Player, StepRecord, UpdateRecord};
use crate::seed::{Purpose, Seed};

use super::elites::{Elite, Elites, Race, Replay, Replayed, StepEpisodes};
use super::episode::{Episode, Turn, emit_games};
use super::guard::Collapse;
use super::hall_of_fame::HallOfFame;
use super::reference::Reference;
use super::resample::Sampled;
use super::scoring::StepInputs;
use super::{Progress, Run, TrainError, advice, control, memory, record};

use lesson::Lesson;
pub use log::COMPLETIONS_VERSION;

impl Run<'_> {
    /// One step of the loop. What the run knows of its past (elites, hall of fame, history) changes last; the weights change in
    /// the update, so that a step that fails after it goes on from the checkpoint before.
    pub(super) fn step(
        &mut self,
        progress: &mut Progress,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Collapse>, TrainError> {
        let start = Instant::now();
        let step = progress.state.global_step + 1;
        observer(Event::StepStarted { step });
        let inputs = self.step_inputs(step, &progress.state.curriculum);
        // Elites play while the policy samples.
        let replay = self.replay(&progress.state.elites, &inputs);
        let (sampled, generate) = self.sampled(&inputs, progress, observer)?;
        let (replays, waited) = self.replayed(step, replay, observer)?;

        let lesson = self.lesson(&inputs, &sampled, &progress.state.elites);
        let update = self.update(progress, &lesson, observer)?;

        let mut elites = progress.state.elites.clone();
        let Lesson { prompts, episodes, .. } = lesson;
        let games = inputs.games();
        elites.take_in(step, &replays, StepEpisodes { prompts, episodes, games }, self.race());
        let played = record::of_episodes(step, &sampled, self.arena.environment(), self.config);
        let mut record = StepRecord {
            update,
            elites: record::of_elites(&elites, replays.len()),
            num_tokens: progress.state.num_input_tokens_seen + sampled.prompt_tokens + sampled.completion_tokens,
            policy_lag: self.samples_ahead().then(|| sampled.policy_lag()),
            time_generate: generate.as_secs_f64(),
            time_adapter: self.servers.as_ref().map(|servers| servers.take_loading().as_secs_f64()),
            time_reward_wait: played.time_reward_wait + waited.as_secs_f64(),
            ..played
        };
        record::of_control(&mut record, lesson.control_correlation, &lesson.advantages_in_loss());
        let mut curriculum = progress.state.curriculum.clone();
        if self.config.rollout.draw == PromptDraw::Pools {
            curriculum.take_in(step, prompts, episodes);
            record.set_curriculum(curriculum.counts(self.prompts.prompts()));
        }
        let waits = self.compare(&record)?;
        waits.iter().for_each(|by_rank| record.set_waits(by_rank));
        record.step_time = start.elapsed().as_secs_f64();
        log::write(&progress.dir, &lesson, &replays, self.config.rollout.turns)?;
        let watch = progress.guard.observe(&record);
        record::add_watch(&mut record, &watch);
        let measured = (self.measure)(&record);
        record.families.extend(measured);
        // Games of the next step that have ended by now are reported before the end of this one.
        if let Some(ahead) = &mut progress.ahead {
            ahead.in_play.games.emit(observer);
        }
        observer(Event::StepDone(&record));
        watch.news.iter().for_each(|line| observer(Event::Message(line)));
        if step == 1 || watch.collapse.is_some() {
            let labels = self.arena.environment().labels();
            let told = advice::lines(&record::verdicts(episodes.items()), self.config, labels, advice::Command::Train);
            told.iter().for_each(|line| observer(Event::Message(&format!("step {step}: {line}"))));
        }

        let state = &mut progress.state;
        self.nominate(&mut state.hall_of_fame, &lesson);
        if let Some(entropy) = record.update.entropy {
            state.entropy.observe(entropy, &self.config.grpo);
        }
        state.elites = elites;
        state.curriculum = curriculum;
        state.num_input_tokens_seen = record.num_tokens;
        state.log_history.push(record);
        state.global_step = step;
        Ok(watch.collapse)
    }

    /// What the update of a step learns from: the completions of each group that are learnt from, with advantages among
    /// them, and elites.
    fn lesson<'b>(&self, inputs: &'b StepInputs, sampled: &'b Sampled, elites: &Elites) -> Lesson<'b> {
        let (StepInputs { step, seed, prompts, .. }, episodes) = (inputs, &sampled.episodes);
        let (rewards, control_correlation) = self.rewards(*seed, episodes);
        let learnt = grpo::learnt_from(&rewards.each_ref().map(|turns| turns[0]), &self.config.grpo);
        let learnt_rewards = learnt.clone().map(|place| rewards.items()[place].clone());
        Lesson {
            step: *step,
            prompts,
            episodes,
            learnt,
            advantages: grpo::advantages(&learnt_rewards, &self.config.grpo),
            masks_truncated: self.config.grpo.mask_truncated_completions,
            control_correlation,
            elites: self.imitated(elites, *step, *seed),
            seed: *seed,
            off_policy: sampled.is_off_policy(),
        }
    }

    /// Enters the programs of a step into the hall of fame. Solutions of different tasks cannot be ranked against each other.
    fn nominate(&self, hall: &mut HallOfFame, lesson: &Lesson<'_>) {
        if self.arena.environment().has_tests() {
            return;
        }
        for (prompt, episode) in lesson.episodes.with(lesson.prompts) {
            for Turn { program, evaluation, .. } in &episode.turns {
                if let Ok(program) = program {
                    hall.consider(lesson.step, &prompt.style, program, evaluation);
                }
            }
        }
    }

    /// The episodes of the step, and the time that was spent on sampling during it. The time excludes completions of
    /// this step that were sampled ahead, during the step before, and includes those of the next step if they are
    /// sampled now.
    fn sampled(
        &self,
        inputs: &StepInputs,
        progress: &mut Progress,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Sampled, Duration), TrainError> {
        let (mut begun, earlier) = match progress.ahead.take() {
            Some(begun) => (begun, true),
            None => (self.begin(inputs, observer)?, false),
        };
        let before = if earlier { begun.in_play.generate } else { Duration::ZERO };
        progress.ahead = self.begin_ahead(inputs.step, &mut begun, observer)?;
        let ahead = progress.ahead.as_ref().map_or(Duration::ZERO, |ahead| ahead.in_play.generate);
        let sampled = self.stage().step_episodes(inputs, begun, observer)?;
        let generate = sampled.timing.generate - before + ahead;
        Ok((sampled, generate))
    }

    /// Starts games of elites on the boards of this step, if elites are imitated at all.
    fn replay(&self, elites: &Elites, inputs: &StepInputs) -> Replay {
        let again = self.imitates() && !self.arena.environment().has_tests();
        // A task is not played again, because its outcome would be the same. All games ask for the same function, so
        // the entry of the first board serves for all.
        let players = match again {
            true => {
                let entry = self.arena.environment().entry(inputs.boards[0].into());
                elites.to_replay(self.config.grpo.elite_replays, &entry)
            }
            false => Vec::new(),
        };
        Replay::begin(self.arena, self.peers, players, inputs)
    }

    /// Waits for the games of the elites. Returns their evaluations and the time that was waited.
    fn replayed(
        &self,
        step: usize,
        replay: Replay,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Vec<Replayed>, Duration), TrainError> {
        let (begin, rule) = (Instant::now(), &self.rule);
        let most = self.config.rollout.max_completion_length;
        let replays = replay.finish(most, |judged| rule.score(judged).value)?;
        let end = Instant::now();
        observer(Event::ActivityDone { step, activity: Activity::RewardWait, period: Period { begin, end } });
        for (index, replayed) in replays.iter().enumerate() {
            emit_games(step, Player::Elite { index, digest: &replayed.program }, &replayed.evaluation, observer);
        }
        Ok((replays, end - begin))
    }

    /// Whether the update imitates elites. A control run does not, because elites are chosen by the true rewards.
    fn imitates(&self) -> bool {
        self.config.grpo.elite_coef > 0.0 && !self.config.reward.shuffled
    }

    fn race(&self) -> Race {
        Race::of(&self.config.grpo, self.arena.environment().has_tests())
    }

    /// The elites that the update of this step imitates.
    fn imitated(&self, elites: &Elites, step: usize, seed: Seed) -> Vec<Elite> {
        let settings = &self.config.grpo;
        let now = self.imitates() && step >= settings.elite_from_step;
        if now { elites.draw(seed, settings.elites_per_step, self.race()) } else { Vec::new() }
    }

    /// The rewards that advantages are computed from: those of the episodes, or the same in another order in a control
    /// run, in which each episode has one, with the correlation of both orders.
    fn rewards(&self, seed: Seed, episodes: &Groups<Episode>) -> (Groups<Vec<f32>>, Option<f64>) {
        if !self.config.reward.shuffled {
            return (episodes.each_ref().map(|episode| episode.returns.clone()), None);
        }
        let rewards = episodes.each_ref().map(|episode| episode.reward.value);
        let shuffled = control::shuffled(&rewards, seed);
        let correlation = control::correlation(&rewards, &shuffled);
        (shuffled.map(|reward| vec![reward]), Some(correlation))
    }

    /// Whether steps are sampled before the update of the step before.
    fn samples_ahead(&self) -> bool {
        self.config.train.steps_ahead == StepsAhead::One
    }

    /// Updates the policy, if the lesson has anything to learn from.
    fn update(
        &self,
        progress: &mut Progress,
        lesson: &Lesson<'_>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<UpdateRecord, TrainError> {
        let (start, step, controller) = (Instant::now(), lesson.step, progress.state.entropy);
        let config = controller.settings(&self.config.grpo);
        let division = progress.state.division.unwrap_or_else(|| (&config).into());
        let batch = self.batch(lesson, &config, division, progress.reference.as_ref())?;
        let learning_rate = grpo::learning_rate(&config, step - 1, self.config.train.max_steps);
        let mut updating = |done, total| observer(Event::Updating { done, total });
        let stats = grpo::update(self.policy, &mut progress.optimizer, &batch, learning_rate, &mut updating)?;
        match &stats {
            Some(stats) => {
                if stats.division != division {
                    // The next step would run out of memory again, and a run that goes on would round differently.
                    progress.state.division = Some(stats.division);
                    let kernels = self.policy.decoder().kernels();
                    if let Some(notice) = memory::notice(self.config, kernels, stats.division, None) {
                        observer(Event::Message(&format!("warning, step {step}: out of memory; {notice}")));
                    }
                }
                if stats.overflowed > 0 {
                    let scale = progress.optimizer.loss_scale();
                    observer(Event::Message(&format!(
                        "warning, step {step}: the gradient left the range of f16, {} of {} updates moved nothing; the \
                         loss is now scaled by {scale}",
                        stats.overflowed, config.num_iterations
                    )));
                }
            }
            None => {
                let those =
                    if config.mask_truncated_completions { "no completion that ended" } else { "no completion" };
                observer(Event::Message(&format!("step {step}: no update, {those} is better than its group")));
            }
        }
        let period = Period { begin: start, end: Instant::now() };
        observer(Event::ActivityDone { step, activity: Activity::Update, period });
        let learnt = stats.as_ref().map(|stats| record::of_update(stats, self.samples_ahead()));
        Ok(UpdateRecord {
            learning_rate,
            entropy_coef: config.entropy_coef,
            entropy_target: controller.target(&config),
            elites_imitated: stats.map_or(0, |_| lesson.elites.len()),
            time_update: (period.end - period.begin).as_secs_f64(),
            ..learnt.unwrap_or_default()
        })
    }

    /// The batch of the update, with the reference's log-probabilities if there is a KL penalty.
    fn batch(
        &self,
        lesson: &Lesson<'_>,
        config: &GrpoConfig,
        division: Division,
        reference: Option<&Reference>,
    ) -> Result<Batch, TrainError> {
        let completions = lesson.learnt.clone().map(|place| lesson.episodes.items()[place].trajectory());
        let demonstrations = self.demonstrations(lesson);
        let batch = Batch::new(lesson.prompts, completions, lesson.advantages.clone(), &self.config.rollout, config)
            .with_demonstrations(&demonstrations, config.elite_coef)
            .divided(division)
            .among(self.peers)
            .with_dropout(self.policy, lesson.seed.child(Purpose::Dropout, 0));
        let batch = if lesson.off_policy { batch.off_policy() } else { batch };
        Reference::added(reference, batch, self.policy)
    }

    /// The elites of the lesson, each with a prompt. Where all play one game it is drawn anew, because what one prompt's
    /// programs have found helps the others.
    fn demonstrations<'b>(&'b self, lesson: &'b Lesson<'_>) -> Vec<Demonstration<'b>> {
        let (prompts, race) = (self.prompts.prompts(), self.race());
        let mut rng = lesson.seed.child(Purpose::Elite, 1).rng();
        let asked = |elite: &Elite| match race.one_pool {
            true => prompts.choose(&mut rng),
            false => prompts.iter().find(|prompt| prompt.id == elite.prompt),
        };
        let prompts = lesson.elites.iter().map(asked);
        let pairs = prompts.zip(&lesson.elites);
        pairs
            .filter_map(|(prompt, elite)| Some(Demonstration { prompt: &prompt?.ids, completion: &elite.ids }))
            .collect()
    }
}
