//! Evaluates one model on the held-out boards or tasks, and shows the progress.

use super::report::{BestOf, Games, Model, ToldVerdicts, named};
use super::tasks::Solver;
use crate::arena::Arena;
use crate::cli::opened::model;
use crate::cli::said::CliError;
use crate::config::Config;
use crate::environment::tasks::Tasks;
use crate::evaluation::{self, ChanceStream, EarlierGames, HeldOut, Sample, Single, VerdictCounts};
use crate::metrics::{Console, Event, Progress};
use crate::parallel::Peers;
use crate::plural::counted;
use crate::policy::Policy;
use crate::prompt::{PromptSet, TurnFormat};
use crate::reward::Rule;
use crate::train::advice;
use crate::train::evaluation::{Protocol, sample};
use crate::train::scoring::Stage;

/// The arena and the boards that all models share.
#[derive(Clone, Copy)]
pub struct Testbed<'a> {
    pub arena: &'a Arena,
    pub held_out: &'a HeldOut,
}

/// A loaded model with all that its evaluation needs.
pub struct Contender<'a> {
    config: &'a Config,
    policy: Policy,
    prompts: PromptSet,
    testbed: Testbed<'a>,
    console: &'a Console,
}

impl<'a> Contender<'a> {
    pub fn load(config: &'a Config, testbed: Testbed<'a>, console: &'a Console) -> Result<Self, CliError> {
        let device = model::device(&config.model.device, console)?;
        let policy = model::policy_shown(config, &device, console)?;
        let prompts = model::prompts(config, &policy, testbed.arena.environment())?;
        if let Some(words) = prompts.turns().and_then(TurnFormat::notice) {
            console.print(words);
        }
        Ok(Contender { config, policy, prompts, testbed, console })
    }

    /// Samples `count` programs for each task that is to be evaluated, and tests them.
    pub fn solve(&self, tasks: &Tasks, count: usize) -> Result<Solver, CliError> {
        let samples = count * self.prompts.held_out().len();
        let samples =
            self.sample(Protocol { samples, boards: self.testbed.held_out.selection(1) }, ChanceStream::Sampling)?;
        let (name, verdicts) = (named(self.config), self.verdicts(&samples));
        let summary = evaluation::summarise_tasks(tasks, &samples, self.config.rollout.turns);
        Ok(Solver { name, summary, samples, verdicts })
    }

    /// Samples programs, plays them on the selection boards, and the best of them on the report boards.
    pub fn evaluate(&self, count: usize, games: Games) -> Result<Model, CliError> {
        let boards = self.testbed.held_out.selection(games.selection);
        let mut samples = self.sample(Protocol { samples: count, boards }, ChanceStream::Sampling)?;
        let sizes = if games.report > 0 { evaluation::sizes_up_to(count) } else { vec![1] };
        let floor = evaluation::floor(&samples);
        let scores: Vec<f64> = samples.iter().map(|sample| floor.mean_score(&sample.selection.games)).collect();
        let report = evaluation::report_games(&scores, &sizes, games.report);
        self.play_report(&mut samples, &report)?;
        let labels = self.testbed.arena.environment().labels();
        let (name, verdicts) = (named(self.config), self.verdicts(&samples));
        Ok(Model { name, summary: evaluation::summarise(&samples, &sizes, labels), samples, verdicts })
    }

    fn verdicts(&self, samples: &[Sample]) -> ToldVerdicts {
        let counts = VerdictCounts::of(samples.iter().map(|sample| (&sample.selection, sample.cut)));
        let labels = self.testbed.arena.environment().labels();
        ToldVerdicts { told: advice::lines(&counts, self.config, labels, advice::Command::Eval), counts }
    }

    /// Finds the best of `count` programs by halving, and plays it on the report boards.
    pub fn best_of(&self, count: usize, games: Games) -> Result<BestOf, CliError> {
        let boards = self.testbed.held_out.selection(1);
        let mut samples = self.sample(Protocol { samples: count, boards }, ChanceStream::BestOf)?;
        let bar = self.progress(count, "programs", "choosing the best of them");
        let (arena, held_out) = (self.testbed.arena, self.testbed.held_out);
        let chosen =
            evaluation::choose_best(arena, held_out, &mut samples, EarlierGames::default(), &mut |done, total| {
                bar.show_of(done, total, "played more games");
            });
        drop(bar);
        let chosen = chosen.map_err(CliError::run)?;
        let name = format!("best of {count} of {}", named(self.config));
        let Some(halving) = chosen else { return Ok(BestOf { name, samples: count, winner: None }) };
        let mut report = vec![0; samples.len()];
        report[halving.winner] = games.report;
        self.play_report(&mut samples, &report)?;
        let best = samples.swap_remove(halving.winner);
        let single = Single::new(&name, evaluation::floor([&best]), &best.report);
        Ok(BestOf { name, samples: count, winner: Some((halving, best, single)) })
    }

    fn sample(&self, protocol: Protocol<'_>, stream: ChanceStream) -> Result<Vec<Sample>, CliError> {
        let (policy, arena, config, peers) = (&self.policy, self.testbed.arena, self.config, &Peers::alone());
        let rule = &Rule::new(&config.reward, arena.environment());
        let stage = Stage { policy, servers: None, arena, rule, config, peers, turns: self.prompts.turns() };
        let message = format!("sampling {} from {}", counted(protocol.samples, "program"), named(config));
        let bar = self.progress(protocol.samples, "programs", &message);
        let tried = arena.environment().labels().tried();
        let (mut written, mut done, mut tokens_so_far) = (0, 0, 0);
        let mut observer = |event: Event<'_>| {
            match event {
                Event::Decoding { tokens, finished, .. } => (written, tokens_so_far) = (finished, tokens),
                Event::Scored { done: scored, .. } => done = scored,
                _ => return,
            }
            bar.show(done, &format!("{tried}, {written} written, {tokens_so_far} tokens"));
        };
        sample(&stage, &self.prompts, protocol, stream, &mut observer).map_err(CliError::run)
    }

    fn play_report(&self, samples: &mut [Sample], games: &[usize]) -> Result<(), CliError> {
        let total = games.iter().filter(|&&games| games > 0).count();
        if total == 0 {
            return Ok(());
        }
        let bar = self.progress(total, "programs", "playing the best ones on other boards");
        let told = &mut |done, total| bar.show_of(done, total, "played on other boards");
        evaluation::play_report(self.testbed.arena, self.testbed.held_out, samples, games, told).map_err(CliError::run)
    }

    /// A bar on a terminal; elsewhere `message` is printed once.
    fn progress(&self, total: usize, what: &str, message: &str) -> crate::metrics::Count {
        if self.console.progress() == Progress::Plain {
            self.console.print(message);
        }
        self.console.count(total, what)
    }
}
