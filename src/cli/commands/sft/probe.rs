//! Scores of a language model's programs before and after a warm-up.

use crate::arena::{Arena, Rules};
use crate::cli::opened::arena;
use crate::cli::said::CliError;
use crate::config::Config;
use crate::environment::Labels;
use crate::evaluation::HeldOut;
use crate::metrics::{Console, EvaluationRecord, Event, Progress};
use crate::parallel::Peers;
use crate::plural::{counted, percent};
use crate::policy::Policy;
use crate::prompt::PromptSet;
use crate::reward::Rule;
use crate::sft::Learner;
use crate::train::evaluation::{Protocol, evaluate};
use crate::train::scoring::Stage;

/// Tries programs of a language model on held-out boards, or on tasks.
pub struct Probe<'a> {
    config: &'a Config,
    arena: Arena,
    prompts: PromptSet,
    console: &'a Console,
}

impl<'a> Probe<'a> {
    /// `None` for the built-in model, which `eval` evaluates, and where `sft.eval_samples` is 0. `tasks`: what judges
    /// programs, if it is open.
    pub fn of(
        config: &'a Config,
        learner: Option<&Learner>,
        tasks: Option<Arena>,
        console: &'a Console,
    ) -> Result<Option<Self>, CliError> {
        let Some(learner) = learner.filter(|_| config.sft.eval_samples > 0) else { return Ok(None) };
        let open = tasks.map_or_else(|| arena::open(config, console), Ok)?;
        let arena = open.under(Rules::new(&config.sandbox, &config.arena));
        Ok(Some(Probe { config, arena, prompts: learner.prompts.clone(), console }))
    }

    /// Samples programs from the policy and tries them.
    pub fn plays(&self, policy: &Policy) -> Result<EvaluationRecord, CliError> {
        let samples = self.config.sft.eval_samples;
        let bar = self.console.count(samples, "programs");
        if self.console.progress() == Progress::Plain {
            self.console.print(&format!("writing and trying {}", counted(samples, "program")));
        }
        let mut observer = |event: Event<'_>| {
            if let Event::Decoding { tokens, finished, .. } = event {
                bar.show(finished, &format!("written, {tokens} tokens"));
            }
        };
        let peers = &Peers::alone();
        let (arena, config) = (&self.arena, self.config);
        let rule = &Rule::new(&config.reward, arena.environment());
        let stage = Stage { policy, servers: None, arena, rule, config, peers, turns: self.prompts.turns() };
        let held_out = HeldOut::published();
        let protocol = Protocol { samples, boards: held_out.selection(1) };
        evaluate(&stage, &self.prompts, protocol, 0, &mut observer).map_err(CliError::run)
    }

    /// Lines with what programs came to before and after.
    pub fn told(&self, before: &EvaluationRecord, after: &EvaluationRecord) -> String {
        let labels = self.arena.environment().labels();
        let shares = format!("{} -> {} of {}", percent(before.succeeded()), percent(after.succeeded()), after.samples);
        match labels {
            Labels::Tests => {
                let by_turn = before.by_turn().into_iter().zip(after.by_turn()).zip(1..);
                let line =
                    |((before, after), turn)| format!("up to turn {turn}: {} -> {}\n", percent(before), percent(after));
                format!("programs that pass: {shares}\n{}", by_turn.map(line).collect::<String>())
            }
            Labels::Board | Labels::Game => {
                let score = |record: &EvaluationRecord| labels.written(record.score());
                format!("programs that play: {shares}\nmean score: {} -> {}\n", score(before), score(after))
            }
        }
    }
}
