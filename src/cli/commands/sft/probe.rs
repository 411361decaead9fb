//! Scores of a language model's programs before and after a warm-up.

use crate::arena::{Arena, Rules};
use crate::cli::opened::arena;
use crate::cli::said::CliError;
use crate::cli::said::table::percent;
use crate::config::Config;
use crate::environment::Environment;
use crate::evaluation::HeldOut;
use crate::metrics::{Console, EvaluationRecord, Event, Progress};
use crate::parallel::Peers;
use crate::plural::counted;
use crate::policy::Policy;
use crate::prompt::PromptSet;
use crate::reward::Rule;
use crate::sft::Learner;
use crate::train::evaluation::{Protocol, evaluate};
use crate::train::scoring::Stage;

/// Plays programs of a language model on held-out boards.
pub struct Probe<'a> {
    config: &'a Config,
    arena: Arena,
    prompts: PromptSet,
    console: &'a Console,
}

impl<'a> Probe<'a> {
    /// `None` for the built-in model, which `eval` evaluates, and where `sft.eval_samples` is 0.
    pub fn of(config: &'a Config, learner: Option<&Learner>, console: &'a Console) -> Result<Option<Self>, CliError> {
        let Some(learner) = learner.filter(|_| config.sft.eval_samples > 0) else { return Ok(None) };
        let arena = arena::open(config, console)?.under(Rules::new(&config.sandbox, &config.arena));
        Ok(Some(Probe { config, arena, prompts: learner.prompts.clone(), console }))
    }

    /// Samples programs from the policy and plays them.
    pub fn plays(&self, policy: &Policy) -> Result<EvaluationRecord, CliError> {
        let samples = self.config.sft.eval_samples;
        let bar = self.console.count(samples, "programs");
        if self.console.progress() == Progress::Plain {
            self.console.print(&format!("writing and playing {}", counted(samples, "program")));
        }
        let mut observer = |event: Event<'_>| {
            if let Event::Decoding { tokens, finished, .. } = event {
                bar.show(finished, &format!("written, {tokens} tokens"));
            }
        };
        let peers = &Peers::alone();
        let rule = &Rule::new(&self.config.reward, self.arena.environment());
        let stage = Stage { policy, servers: None, arena: &self.arena, rule, config: self.config, peers, turns: None };
        let held_out = HeldOut::published();
        let protocol = Protocol { samples, boards: held_out.selection(1) };
        evaluate(&stage, &self.prompts, protocol, 0, &mut observer).map_err(CliError::run)
    }
}

/// Lines with the scores before and after.
pub fn played(before: &EvaluationRecord, after: &EvaluationRecord) -> String {
    let labels = Environment::Game2048.labels();
    let score = |record: &EvaluationRecord| labels.written(record.score());
    format!(
        "programs that play: {} -> {} of {}\nmean score: {} -> {}\n",
        percent(before.succeeded()),
        percent(after.succeeded()),
        after.samples,
        score(before),
        score(after)
    )
}
