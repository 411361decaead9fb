//! Search at test time: a language model reads programs with what they came to, and writes better ones.
//!
//! Takes a policy, an arena, and one game or one task; gives a database of programs and the best of them. Each round asks
//! P groups of G completions, a group for a parent that islands and PUCT choose ([`Database`]). All programs play the same
//! boards, and the best is chosen and reported on others. Nothing depends on the number of workers, because a round's
//! programs are taken in in their order. The weights stay as they are, or learn from each round ([`Settings::update`]).

mod choice;
mod database;
mod error;
mod learner;
mod saved;
mod settings;
mod shown;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::arena::{Arena, Evaluation, Start};
use crate::config::Config;
use crate::environment::{Briefing, Environment, Request};
use crate::evaluation::{FailedGames, Single, VerdictCounts};
use crate::metrics::Event;
use crate::parallel::Peers;
use crate::policy::Policy;
use crate::program::{Program, Rejection};
use crate::prompt::{Prompt, PromptError, PromptKind, PromptSet};
use crate::reward::{Reward, Rule};
use crate::rollout::{GroupRequest, Servers};
use crate::seed::{Purpose, Seed};
use crate::train::memory::Allowance;
use crate::train::scoring::{Draw, Stage, boards};
use crate::train::{TrainError, record, run_dir, serving};

use database::JudgedProgram;
pub use database::{Candidate, Database, Lineage};
pub use error::EvolveError;
use learner::{Learner, Written};
use saved::State;
pub use saved::check_dir;
pub use settings::Settings;
use settings::fingerprint;

/// What a search works with.
pub struct Search<'a> {
    pub policy: &'a mut Policy,
    /// Sample in place of the policy, if there are any. Their adapters are kept in the directory of the search.
    pub servers: Option<&'a mut Servers>,
    pub arena: &'a Arena,
    pub config: &'a Config,
    /// One process.
    pub peers: Peers,
    pub settings: Settings,
    /// How much memory updates may use; none if the machine does not tell.
    pub allowance: Option<Allowance>,
    pub kind: PromptKind,
    /// The requests, all of the same game or task; groups ask them in turn.
    pub requests: Vec<Request>,
    /// Set when the search should end after the present round.
    pub stop: &'a AtomicBool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Its number, from 1.
    pub number: usize,
    /// Programs that it added.
    pub new: usize,
    /// Completions whose programs earned something, new or not.
    pub earning: usize,
    pub verdicts: VerdictCounts,
    /// Entropy of the policy in the round, in nats per token, if it learnt from it.
    pub entropy: Option<f64>,
    /// The best program so far, if there is one.
    pub best: Option<Candidate>,
}

/// The best program of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Discovery {
    pub best: Candidate,
    /// Its games on boards that nothing was chosen on; none of a task.
    pub report: Option<Single>,
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// All rounds were made; none if no completion was a program that works.
    Done(Option<Box<Discovery>>),
    /// It was stopped after a round, and goes on with the same settings.
    Stopped,
}

impl Search<'_> {
    /// Searches, or goes on with the search in `dir`. `told` hears of every round that is made.
    pub fn run(
        &mut self,
        dir: &Path,
        observer: &mut dyn FnMut(Event<'_>),
        told: &mut dyn FnMut(&Round),
    ) -> Result<Ended, EvolveError> {
        let settings = self.fingerprint();
        check_dir(dir)?;
        let _lock = run_dir::lock(dir)?;
        run_dir::sweep(dir)?;
        let without_adapter = self.needs_no_adapter();
        if let Some(servers) = &mut self.servers {
            // It removes what is left there, which without the lock could be that of a search that is going on.
            servers.keep_adapters_in(dir);
            servers.without_adapter = without_adapter;
        }
        let known = saved::read(dir, &settings)?;
        let is_new = known.is_none();
        let database = Database::new(self.settings.islands);
        let new = State { settings: settings.named.into(), database, division: None, entropy: None, last_round: None };
        let mut state = known.unwrap_or(new);
        let mut learner = self.learner(dir, &mut state, observer)?;
        if is_new {
            if let Some(initial) = self.initial(observer)? {
                state.database.begin_with(initial);
            }
            // By this file the directory is known to be that of a search.
            saved::write(dir, &state)?;
        }
        while state.database.rounds < self.settings.rounds {
            if self.is_asked_to_stop() {
                return Ok(Ended::Stopped);
            }
            let round = self.round(&mut state.database, learner.as_mut(), observer)?;
            if let Some(learner) = &learner {
                learner.save(dir, self.policy, round.number)?;
                (state.division, state.entropy) = (Some(learner.division), Some(learner.entropy));
            }
            saved::write(dir, &state)?;
            if learner.is_some() {
                learner::forget(dir, round.number)?;
            }
            told(&round);
        }
        let ended = self.settle(&state.database, observer)?;
        if let Ended::Done(Some(found)) = &ended {
            saved::write_best(dir, &state.database, &found.best, self.arena.environment())?;
        }
        Ok(ended)
    }

    /// Refuses what [`run`](Search::run) would, before there is anything to lose: a directory of something else, or prompts that
    /// the model cannot read; and servers of another model. Leaves nothing behind.
    pub fn check(&self, dir: &Path) -> Result<(), EvolveError> {
        check_dir(dir)?;
        saved::read(dir, &self.fingerprint())?;
        let asked = asked(self.policy, self.kind, self.arena.environment(), &self.requests)?;
        match self.servers.as_deref() {
            Some(servers) => {
                if !self.needs_no_adapter() {
                    servers.check_adapter_dir().map_err(TrainError::from)?;
                }
                Ok(serving::compare(servers, self.policy, asked.held_out(), self.config)?)
            }
            None => Ok(()),
        }
    }

    /// Whether the model without adapters writes: a new adapter that is never updated changes nothing.
    fn needs_no_adapter(&self) -> bool {
        !self.settings.update && self.config.model.adapter.is_empty()
    }

    fn fingerprint(&self) -> run_dir::Fingerprint {
        fingerprint(self.config, &self.settings, self.arena.environment(), &self.requests)
    }

    fn is_asked_to_stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The program beside an evaluator, judged like all others; none if it fails or scores below 0, which is said.
    fn initial(&self, observer: &mut dyn FnMut(Event<'_>)) -> Result<Option<JudgedProgram>, EvolveError> {
        let Environment::Evaluator(evaluator) = self.arena.environment() else { return Ok(None) };
        let Some(source) = evaluator.initial() else { return Ok(None) };
        let boards = self.boards();
        let program = self.arena.program(source, boards[0].into());
        let played = self.arena.evaluate_all([(program.clone(), &boards[..])], &mut |_, _| ());
        let evaluation = &played.map_err(TrainError::from)?[0];
        let reward = Rule::new(&self.config.reward, self.arena.environment()).score(evaluation);
        let counts = |one: &JudgedProgram| one.reward > 0.0 || (evaluation.plays() && one.score >= 0.0);
        let found = judged(&program, evaluation, &reward).filter(counts);
        if found.is_none() {
            let scores = || format!("its score is {}, and its reward {}", evaluation.mean_score(), reward.value);
            let why = evaluation.reason().unwrap_or_else(scores);
            let words = format!("warning: the search begins without initial_program.py, which earns nothing: {why}");
            observer(Event::Message(&words));
        }
        Ok(found)
    }

    /// What updates the policy, as it was after the rounds of `state`; none if its weights stay. Says where a schedule falls
    /// otherwise than it did.
    fn learner(
        &mut self,
        dir: &Path,
        state: &mut State,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Learner>, EvolveError> {
        if !self.settings.update {
            return Ok(None);
        }
        let (rounds, longest) = (state.database.rounds, self.longest_shown()?);
        let mut learner = Learner::new(self.policy, self.config, longest, self.allowance.as_ref(), state.division)?;
        learner.entropy = state.entropy.unwrap_or_default();
        if rounds > 0 {
            learner.restore(dir, self.policy, rounds)?;
            // A process that was killed meanwhile has not.
            learner::forget(dir, rounds)?;
        }
        if let Some(words) = state.rescheduled(&self.config.grpo, self.settings.rounds) {
            observer(Event::Message(&words));
        }
        Ok(Some(learner))
    }

    /// Number of tokens of the longest prompt that memory is planned for: a request and as many programs as are shown, all of
    /// the maximum length.
    fn longest_shown(&self) -> Result<usize, EvolveError> {
        let asked = longest_asked(self.policy, self.kind, self.arena.environment(), &self.requests)?;
        let shown = (self.settings.inspirations + 1) * self.config.rollout.max_completion_length;
        Ok(self.longest_prompt().min(asked + shown))
    }

    /// Number of tokens of the longest prompt that leaves room for a completion, in the model's context and on the servers.
    fn longest_prompt(&self) -> usize {
        let context = self.policy.decoder().config().max_position_embeddings;
        let served = self.servers.as_deref().and_then(Servers::room).unwrap_or(context);
        context.min(served).saturating_sub(self.config.rollout.max_completion_length)
    }

    fn round(
        &self,
        database: &mut Database,
        learner: Option<&mut Learner>,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Round, EvolveError> {
        let (groups, size) = (self.config.rollout.groups, self.config.rollout.num_generations);
        let number = database.rounds + 1;
        let mut asked: Vec<Lineage> = Vec::new();
        (0..groups).for_each(|_| asked.push(database.lineage(&self.settings, &asked)));
        let (prompts, lineages) = self.prompts(database, &asked)?;
        let seed = Seed::root(self.config.train.seed).child(Purpose::Evolution, number as u64);
        let requests = GroupRequest::all(&prompts, size, seed);
        let boards = self.boards();
        let draw = Draw { boards: &boards, step: number };
        let rule = Rule::new(&self.config.reward, self.arena.environment());
        let (episodes, _) = self.stage(&rule).episodes(&requests, draw, observer)?;
        let verdicts = record::verdicts(episodes.items());
        let written =
            Written { prompts: &prompts, episodes: &episodes, round: number, rounds: self.settings.rounds, seed };
        let entropy = match learner {
            Some(learner) => learner.learn(self.policy, self.config, &written, observer)?,
            None => None,
        };
        let (before, failed) = (database.candidates().len(), database.failed);
        // One that no prompt had room for is asked less all the same, or it would be chosen for ever.
        asked.iter().for_each(|lineage| database.note_asked(lineage));
        for (place, episode) in episodes.into_items().into_iter().enumerate() {
            let turn = episode.answer();
            match judged(&turn.program, &turn.evaluation, &episode.reward).filter(|one| one.reward > 0.0) {
                Some(judged) => database.take_in(judged, &lineages[place / size], number),
                None => database.failed += 1,
            }
        }
        database.rounds = number;
        if self.settings.migration > 0 && number.is_multiple_of(self.settings.migration) {
            database.migrate();
        }
        let (new, earning) = (database.candidates().len() - before, verdicts.total() + failed - database.failed);
        Ok(Round { number, new, earning, verdicts, entropy, best: database.ranked().first().copied().cloned() })
    }

    fn stage<'a>(&'a self, rule: &'a Rule) -> Stage<'a> {
        let Search { policy, servers, arena, config, peers, .. } = self;
        Stage { policy, servers: servers.as_deref(), arena, rule, config, peers, turns: None }
    }

    /// The boards of the search: the same in every round, so that equal programs have equal rewards.
    fn boards(&self) -> Vec<Seed> {
        let train = &self.config.train;
        let seed = Seed::root(train.seed).child(Purpose::Evolution, 0).salted(&train.board_salt);
        boards(seed, Purpose::Game, self.settings.boards)
    }

    /// The prompt of each group, with as many inspirations as the model's context has room for, and what it shows: a program
    /// that was written without its parent descends from none.
    fn prompts(&self, database: &Database, lineages: &[Lineage]) -> Result<(Vec<Prompt>, Vec<Lineage>), EvolveError> {
        let room = self.longest_prompt();
        let labels = self.arena.environment().labels();
        let system = self.arena.environment().briefing().system;
        let of_group = |(group, lineage): (usize, &Lineage)| -> Result<(Prompt, Lineage), EvolveError> {
            let asked = &self.requests[(database.rounds * lineages.len() + group) % self.requests.len()];
            let prompt =
                |lineage: &Lineage, most| self.prompt(&system, shown::request(asked, database, lineage, most, labels));
            for most in (0..=lineage.inspirations.len()).rev() {
                let prompt = prompt(lineage, most)?;
                if prompt.ids.len() <= room {
                    return Ok((prompt, lineage.clone()));
                }
            }
            let alone = Lineage { island: lineage.island, ..Lineage::default() };
            Ok((prompt(&alone, 0)?, alone))
        };
        let prompts: Result<Vec<_>, _> = lineages.iter().enumerate().map(of_group).collect();
        Ok(prompts?.into_iter().unzip())
    }

    fn prompt(&self, system: &str, request: Request) -> Result<Prompt, EvolveError> {
        let briefing = Briefing { system: system.to_owned(), requests: vec![request] };
        let set = PromptSet::load(self.kind, self.policy.tokenizer(), &briefing)?;
        // The one prompt, whether its task is held out of training or not.
        Ok(set.held_out()[0].clone())
    }
}

/// The prompts before anything was found.
fn asked(
    policy: &Policy,
    kind: PromptKind,
    environment: &Environment,
    requests: &[Request],
) -> Result<PromptSet, PromptError> {
    let briefing = Briefing { system: environment.briefing().system, requests: requests.to_vec() };
    PromptSet::load(kind, policy.tokenizer(), &briefing)
}

/// Number of tokens of the longest prompt before anything was found.
///
/// # Errors
/// [`PromptError`] if the model cannot read the requests.
pub fn longest_asked(
    policy: &Policy,
    kind: PromptKind,
    environment: &Environment,
    requests: &[Request],
) -> Result<usize, PromptError> {
    let asked = asked(policy, kind, environment, requests)?;
    Ok(asked.held_out().iter().map(|prompt| prompt.ids.len()).max().unwrap_or(0))
}

/// A program that came to something, as the database takes it in; none if it failed at once.
fn judged(program: &Result<Program, Rejection>, evaluation: &Evaluation, reward: &Reward) -> Option<JudgedProgram> {
    let program = program.as_ref().ok()?;
    let reward = f64::from(reward.value);
    let fuel = evaluation.games.iter().map(|game| game.fuel).sum::<u64>() / evaluation.games.len().max(1) as u64;
    matches!(evaluation.start, Start::Played).then(|| JudgedProgram {
        digest: program.digest_text(),
        source: program.source().to_owned(),
        reward,
        score: evaluation.mean_score(),
        failed: FailedGames::among(&evaluation.games),
        fuel,
    })
}
