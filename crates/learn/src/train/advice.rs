//! Advice on what to change when few completions succeed.

use crate::config::{Config, Layers};
use crate::environment::{Labels, Verdict, game2048};
use crate::evaluation::VerdictCounts;
use crate::plural::counted;
use crate::shell;

use super::run_dir;

/// Advice is given below this share of completions that succeed.
const FEW: f64 = 0.5;
/// Below this share of completions that succeed, almost nothing can be learnt.
const HARDLY_ANY: f64 = 0.1;
/// From this share of truncated completions on, a larger maximum length is the first advice.
const MANY_CUT: f64 = 0.1;
/// The sampling temperature that is advised, at which a small model makes fewer mistakes.
const COOLER: f64 = 0.7;
/// Seconds of the longest game that a configuration may ask for.
const SECONDS_MAX: f64 = 60.0;

/// The command that is advised: they have different flags, and an evaluation learns from nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Train,
    Eval,
    Evolve,
}

/// Lines that say what became of completions, give an example of a failure, and advise what to change.
pub fn lines(counts: &VerdictCounts, config: &Config, labels: Labels, command: Command) -> Vec<String> {
    let words = counts.in_words(labels, config.rollout.max_completion_length);
    let mut lines = vec![format!("of {} {words}", counted(counts.total(), "completion"))];
    let advice = advice(counts, config, labels, command);
    if !advice.is_empty() {
        lines.extend(counts.example().map(|reason| format!("for example: {reason}")));
    }
    lines.extend(advice.into_iter().map(|advice| format!("try {advice}")));
    lines
}

/// The same in one line for a run with these recorded settings (the text of its `config.toml`), or none if nothing is
/// advised. `count` returns how many completions had the verdict of a name; `has_tests` says whether the run was of tasks.
pub fn of_recorded(settings: &str, count: impl Fn(&str) -> usize, has_tests: bool) -> Option<String> {
    // A run of an earlier version lacks the settings that are newer, which have their defaults then.
    let mut layers = Layers::default();
    layers.text(run_dir::CONFIG, settings).ok()?;
    let config = layers.resolve().ok()?;
    let labels = match (has_tests, config.environment.env == game2048::NAME) {
        (true, _) => Labels::Tests,
        (false, true) => Labels::Board,
        (false, false) => Labels::Game,
    };
    let counts = VerdictCounts::counted(count);
    let is_advised = !advice(&counts, &config, labels, Command::Train).is_empty();
    is_advised.then(|| lines(&counts, &config, labels, Command::Train).join("; "))
}

/// Words for users whose command has this flag, beside which `--set` changes nothing.
fn unless_given(flag: &str) -> String {
    format!(" (not beside --{flag}, which wins)")
}

/// What to change, the most promising first; empty if enough completions succeed.
fn advice(counts: &VerdictCounts, config: &Config, labels: Labels, command: Command) -> Vec<String> {
    let succeeded = counts.share(Verdict::Succeeded);
    let mut advice = Vec::new();
    if counts.total() == 0 || succeeded >= FEW {
        return advice;
    }
    let (longest, model) = (config.rollout.max_completion_length, config.model.model.as_str());
    if counts.share(Verdict::Cut) >= MANY_CUT {
        let setting = format!("--set rollout.max_completion_length={}", 2 * longest);
        let setting = match command {
            Command::Train => setting + &unless_given("max-completion-length"),
            Command::Eval => setting,
            Command::Evolve => format!("--max-completion-length {}", 2 * longest),
        };
        advice.push(format!("longer completions: {setting}"));
    }
    let lacks_time = labels == Labels::Game && counts.lacks_time();
    let (key, seconds) = match command {
        Command::Train => ("train.game_seconds", config.train.game_seconds),
        Command::Eval | Command::Evolve => ("sandbox.game_seconds", config.sandbox.game_seconds),
    };
    if lacks_time && 2.0 * seconds <= SECONDS_MAX {
        advice.push(format!("more time for a program: --set {key}={}", 2.0 * seconds));
    }
    // Every weight is trained of the built-in model alone, also where a checkpoint of it is named.
    if model == "builtin" || config.model.lora_r == 0 {
        return advice;
    }
    if succeeded < HARDLY_ANY && config.model.adapter.is_empty() && labels == Labels::Board {
        let (model, warm) = (shell::quoted(model), "--output-dir runs/warm");
        let then = if command == Command::Evolve { "evolve" } else { "train" };
        advice.push(format!(
            "a warm-up: grpo-2048 sft --model {model} {warm}, then {then} --model {model} --adapter runs/warm"
        ));
    }
    // A program that is right but slow makes no slip.
    if config.rollout.temperature > COOLER && !lacks_time {
        advice.push(format!("fewer slips: --set rollout.temperature={COOLER}{}", unless_given("temperature")));
    }
    if succeeded < HARDLY_ANY && labels == Labels::Tests {
        advice.push(match command {
            Command::Train => "easier tasks among the first, more completions a prompt (rollout.num_generations), or --set reward.tests=share".into(),
            Command::Eval => "more programs for each task, of which one may pass: --samples".into(),
            Command::Evolve => "more completions (--num-generations, --rounds), or --set reward.tests=share".into(),
        });
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Evaluation, FirstCallFault, Start};
    use crate::environment::Ending;

    fn counts(succeeded: usize, refused: usize, cut: usize) -> VerdictCounts {
        VerdictCounts::counted(|name| match name {
            "succeeded" => succeeded,
            "not_compiled" => refused,
            "cut" => cut,
            _ => 0,
        })
    }

    #[test]
    fn advice_names_flags_with_figures_and_is_silent_where_many_succeed() {
        let mut config = Config::preset("llm").unwrap();
        config.rollout.max_completion_length = 128;
        config.model.model = "m.gguf".into();
        let told_of =
            |counts: &VerdictCounts, config: &Config, labels| lines(counts, config, labels, Command::Train).join("; ");
        let found = told_of(&counts(1, 4, 27), &config, Labels::Board);
        for words in [
            "84% are cut",
            "rollout.max_completion_length=256",
            "sft --model m.gguf",
            "--adapter runs/warm",
            "rollout.temperature=0.7",
        ] {
            assert!(found.contains(words), "{words} in {found}");
        }
        // Added to a command that has the flag, `--set` would change nothing.
        for flag in ["=256 (not beside --max-completion-length,", "=0.7 (not beside --temperature, which wins)"] {
            assert!(found.contains(flag), "{flag} in {found}");
        }
        assert_eq!(lines(&counts(20, 10, 2), &config, Labels::Board, Command::Train).len(), 1);
        // A model with an adapter needs no warm-up, and there is none for tasks.
        config.model.adapter = "runs/warm".into();
        assert!(!told_of(&counts(1, 4, 27), &config, Labels::Board).contains("sft"));
        assert!(told_of(&counts(0, 8, 0), &config, Labels::Tests).contains("reward.tests=share"));
    }

    #[test]
    fn an_evaluation_is_advised_to_flags_and_settings_that_it_has_and_that_change_its_figures() {
        let mut config = Config::preset("llm").unwrap();
        config.rollout.max_completion_length = 128;
        config.model.model = "m.gguf".into();
        let found = lines(&counts(1, 4, 27), &config, Labels::Tests, Command::Eval).join("; ");
        assert!(found.contains("rollout.max_completion_length=256; try fewer slips: "), "{found}");
        assert!(found.contains("=0.7 (not beside --temperature, which wins); try more programs for each"), "{found}");
        for other in ["--max-completion-length", "rollout.num_generations", "reward.tests"] {
            assert!(!found.contains(other), "{other} in {found}");
        }
    }

    #[test]
    fn a_search_is_advised_to_flags_that_it_has() {
        let mut config = Config::preset("llm").unwrap();
        config.rollout.max_completion_length = 128;
        config.model.model = "m.gguf".into();
        let of = |labels| lines(&counts(1, 4, 27), &config, labels, Command::Evolve).join("; ");
        let found = of(Labels::Tests);
        assert!(found.contains("try longer completions: --max-completion-length 256; try fewer slips: "), "{found}");
        assert!(found.contains("--num-generations"), "{found}");
        assert!(of(Labels::Board).contains("then evolve --model m.gguf --adapter runs/warm"));
    }

    #[test]
    fn where_programs_lack_time_more_of_it_is_advised_and_no_other_temperature() {
        let mut config = Config::preset("llm").unwrap();
        config.model.model = "m.gguf".into();
        (config.train.game_seconds, config.sandbox.game_seconds) = (3.0, 5.0);
        let slow = |reason: &str| {
            let fault = FirstCallFault { ending: Ending::Hung, reason: reason.into() };
            let slow = Evaluation { start: Start::Faulted(fault), games: Vec::new(), usage: Default::default() };
            VerdictCounts::of([(&slow, false)])
        };
        let of = |reason: &str, config: &Config, labels, command| {
            lines(&slow(reason), config, labels, command)[1..].join("; ")
        };
        for (command, setting) in [
            (Command::Evolve, "sandbox.game_seconds=10"),
            (Command::Eval, "sandbox.game_seconds=10"),
            (Command::Train, "train.game_seconds=6"),
        ] {
            let found = of("budget used up", &config, Labels::Game, command);
            assert_eq!(found, format!("for example: budget used up; try more time for a program: --set {setting}"));
        }
        // Time helps neither what a call of its own ends, nor a player of 2048, nor what has all the time there is.
        let found = of("one call used more than a call may", &config, Labels::Game, Command::Evolve);
        assert!(found.contains("try fewer slips") && !found.contains("game_seconds"), "{found}");
        assert!(!of("budget used up", &config, Labels::Board, Command::Evolve).contains("game_seconds"));
        config.sandbox.game_seconds = 40.0;
        assert_eq!(of("budget used up", &config, Labels::Game, Command::Evolve), "");
    }

    #[test]
    fn a_run_of_an_earlier_version_without_a_newer_setting_is_advised_too() {
        let mut config = Config::preset("llm").unwrap();
        config.rollout.max_completion_length = 128;
        let mut settings = toml::Table::try_from(&config).unwrap();
        settings["guard"].as_table_mut().unwrap().remove("warn_succeeded");
        let cut = |verdict: &str| if verdict == "cut" { 8 } else { 0 };
        let found = of_recorded(&format!("[run]\nversion = \"0.1.0\"\n\n{settings}"), cut, false).unwrap();
        assert!(found.contains("rollout.max_completion_length=256"), "{found}");
        assert_eq!(of_recorded("[rollout]\nunknown = 1\n", cut, false), None);
    }
}
