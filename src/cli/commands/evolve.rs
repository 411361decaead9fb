//! `grpo-2048 evolve`: what is the best program that this model finds, shown its own?

use std::path::PathBuf;

use clap::Args;

use crate::cli::arguments::{Base, Flags, SourceArgs, WorkerArgs, text_path};
use crate::cli::opened::peers::refuse_several;
use crate::cli::opened::tasks::{first_ids, named};
use crate::cli::opened::{arena, interrupt, machine, model, runs};
use crate::cli::said::{CliError, output};
use crate::config::{Config, ModelConfig, PromptDraw};
use crate::environment::{Environment, Labels, Request, Verdict, game2048};
use crate::evaluation::{Estimate, VerdictCounts};
use crate::evolve::{self, Candidate, Discovery, Ended, EvolveError, Round, Search, Settings};
use crate::metrics::{Console, Event, Progress};
use crate::parallel::Peers;
use crate::plural::{counted, small};
use crate::prompt::PromptKind;
use crate::rollout::{RolloutError, Servers};
use crate::shell;
use crate::train::TrainError;
use crate::train::advice::{self, Command};

/// The settings of a search whose model learns, under all that the user says.
const UPDATED: Base<'_> = Base { name: "evolve --update", settings: "[grpo]\nscale_rewards = \"entropic\"\n" };

/// Search for one good program with a language model that is shown programs and what they came to
///
/// A round asks --groups times for --num-generations programs, each time to improve one that was found before, with others
/// beside it; the weights stay as they are, or learn from every round (--update). Islands keep the best program of each length and cost, and what is improved next
/// follows from how good a program is, what came of it, and how often it was asked. All programs play the same boards; at
/// the end held-out boards choose the best, and others tell its score. The search does not depend on the number of workers,
/// and goes on where it was when the same command is given again. docs/evolve.md tells how it works.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 evolve --model Qwen/Qwen2.5-Coder-7B-Instruct --device cuda
  grpo-2048 evolve --env examples/snake.py --model M --rounds 50
  grpo-2048 evolve --env examples/bin_packing/evaluator.py --model M --games 4
  grpo-2048 evolve --env tasks.jsonl --task clamp --model M \\
                   --set reward.fuel_bonus=1        the fastest that passes
  grpo-2048 score runs/evolve/best.py               how good is what it found?")]
pub struct EvolveArgs {
    #[command(flatten)]
    flags: Flags,
    /// A Hugging Face id, a local directory in its layout, or a .gguf file [default: none]
    #[arg(long, value_name = "M", help_heading = "Model")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R", help_heading = "Model")]
    revision: Option<String>,
    /// PEFT adapter to put on the model, or the run that trained it
    #[arg(long, value_name = "DIR", help_heading = "Model", value_parser = text_path())]
    adapter: Option<PathBuf>,
    /// Send prompts as plain text, without the model's chat template
    #[arg(long, help_heading = "Model")]
    raw_prompt: bool,
    /// "auto", "cpu", "cuda" or "cuda:N"
    #[arg(long, value_name = "D", help_heading = "Model")]
    device: Option<String>,
    /// What programs are written for: "2048", a .jsonl file of tasks, a .py file with a game or an `evaluate(program_path)`,
    /// or a directory with env.toml
    #[arg(long, value_name = "E", help_heading = "Programs")]
    env: Option<String>,
    /// The task to solve, by its id; needless where there is one
    #[arg(long, value_name = "ID", help_heading = "Programs")]
    task: Option<String>,
    /// Boards that every program plays
    #[arg(id = "boards", long = "games", value_name = "K", default_value_t = 8, help_heading = "Programs", value_parser = clap::value_parser!(u32).range(1..=1000))]
    games: u32,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Search", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Programs to improve in a round (P)
    #[arg(long, value_name = "P", help_heading = "Search")]
    groups: Option<u32>,
    /// Completions for each of them (G)
    #[arg(long, value_name = "G", help_heading = "Search")]
    num_generations: Option<u32>,
    /// Populations that keep apart
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Search", value_parser = clap::value_parser!(u32).range(1..=64))]
    islands: u32,
    /// Rounds after which the best of each island settles on the next one too; 0: never
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Search")]
    migration: u32,
    /// Programs that are shown beside the one to improve
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Search", value_parser = clap::value_parser!(u32).range(0..=16))]
    inspirations: u32,
    /// Let the model learn from every round, by the settings of grpo, with grpo.scale_rewards = "entropic" unless you say
    /// otherwise: for the best program rather than the mean
    #[arg(long, help_heading = "Search")]
    update: bool,
    /// Longest completion, in tokens
    #[arg(long, value_name = "T", help_heading = "Search")]
    max_completion_length: Option<u32>,
    /// Softmax temperature of sampling
    #[arg(long, value_name = "F", help_heading = "Search")]
    temperature: Option<f64>,
    /// Servers of vLLM that write the completions, such as http://localhost:8000; several: commas between them
    #[arg(long, value_name = "URL", value_delimiter = ',', help_heading = "Search")]
    rollouts: Option<Vec<String>>,
    /// Root of all chance
    #[arg(long, value_name = "S", help_heading = "Search")]
    seed: Option<u32>,
    /// Where to write; a search that was stopped there goes on
    #[arg(
        id = "written_to",
        long = "output-dir",
        value_name = "DIR",
        default_value = "runs/evolve",
        help_heading = "Search"
    )]
    output_dir: PathBuf,
    /// One JSON object with the best program, instead of words
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

impl EvolveArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        refuse_several("evolve")?;
        let flags = runs::with_trained_adapter(&self.flags, console)?;
        let config = match self.update {
            true => self.source.resolve_on(UPDATED, &flags, console)?,
            false => self.source.resolve(&flags, console)?,
        };
        fits(&config)?;
        self.source.tell_idle(if self.update { "evolve --update" } else { "evolve" }, console);
        runs::tell_own_dir("evolve", &self.output_dir, &config, console);
        model::check_files("--model", &config)?;
        evolve::check_dir(&self.output_dir).map_err(|error| refused(error, &config))?;
        let arena = arena::open(&config, console)?;
        let requests = self.requests(arena.environment())?;
        let stop = interrupt::stop_flag(
            console,
            "stopping after this round, or once the best is chosen; the same command goes on from there; Ctrl-C again ends at once",
        )?;
        let device = model::device(&config.model.device, console)?;
        let allowance = machine::allowance(&device, &config, 1)?;
        let mut policy = model::policy_shown(&config, &device, console)?;
        let kind = PromptKind::of(policy.tokenizer(), config.model.raw_prompt);
        if kind == PromptKind::Builtin {
            return Err(CliError::user_hint(
                format!("--model {}: it reads the names of styles, and no programs", config.model.model),
                "name a language model, such as Qwen/Qwen2.5-Coder-0.5B-Instruct or a .gguf file",
            ));
        }
        let longest = evolve::longest_asked(&policy, kind, arena.environment(), &requests);
        let longest = longest.map_err(|problem| model::prompt_error(&config, problem))?;
        let mut servers = Servers::open(&config.rollout, longest).map_err(CliError::user)?;
        let (policy, servers, arena, config, stop) = (&mut policy, servers.as_mut(), &arena, &config, &*stop);
        let (peers, settings) = (Peers::alone(), self.settings());
        let mut search = Search { policy, servers, arena, config, peers, settings, allowance, kind, requests, stop };
        let (ended, last) = self.search(&mut search, console)?;
        let labels = search.arena.environment().labels();
        match ended {
            Ended::Stopped => Err(CliError::Interrupted),
            Ended::Done(None) => Err(CliError::Run(self.nothing_found(&last, labels, config).into())),
            Ended::Done(Some(found)) => self.tell(&found, labels),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            rounds: self.rounds as usize,
            islands: self.islands as usize,
            inspirations: self.inspirations as usize,
            migration: self.migration as usize,
            update: self.update,
            boards: self.games as usize,
        }
    }

    /// The requests of the game, or of the task.
    fn requests(&self, environment: &Environment) -> Result<Vec<Request>, CliError> {
        let requests = environment.briefing().requests;
        let Some(tasks) = environment.tasks() else {
            return match &self.task {
                Some(task) => Err(CliError::user(format!("--task {task}: {} has no tasks", environment.name()))),
                None => Ok(requests),
            };
        };
        let number = self.task.as_deref().map(|id| named(tasks, id)).transpose()?;
        let is_asked = |request: &Request| number.is_none_or(|number| request.task == Some(number as u32));
        let asked: Vec<Request> =
            requests.into_iter().filter(|request| is_asked(request) && !request.honeypot).collect();
        match (&asked[..], &self.task) {
            ([_], _) => Ok(asked),
            ([], Some(task)) => Err(CliError::user(format!("--task {task}: no honest program passes a honeypot"))),
            _ => Err(CliError::user_hint(
                format!("{} has {}", tasks.path().display(), counted(asked.len(), "task")),
                format!("a search is for one of them, which --task names; there are: {}", first_ids(tasks)),
            )),
        }
    }

    /// How the search ended, and what came of the completions of its last round; of none if all rounds were made before.
    fn search(&self, search: &mut Search<'_>, console: &Console) -> Result<(Ended, VerdictCounts), CliError> {
        let rollout = &search.config.rollout;
        let (count, longest) = (rollout.groups * rollout.num_generations, rollout.max_completion_length);
        let labels = search.arena.environment().labels();
        let tried = labels.tried();
        let bar = console.count(count, "programs");
        let (mut written, mut done) = (0, 0);
        let mut observer = |event: Event<'_>| {
            match event {
                Event::Decoding { finished, .. } => written = finished,
                Event::Scored { done: scored, .. } => done = scored,
                Event::Message(message) => return console.print(message),
                _ => return,
            }
            bar.show(done, &format!("{tried}, {written} written"));
        };
        let (rounds, mut last) = (self.rounds, VerdictCounts::default());
        let mut told = |round: &Round| {
            last.clone_from(&round.verdicts);
            let none = if idle(&last, labels).is_empty() { "nothing works yet" } else { "nothing earns yet" };
            let best = round.best.as_ref().map_or_else(|| none.into(), result);
            let entropy = round.entropy.map_or_else(String::new, |entropy| format!("  entropy {entropy:.3}"));
            let why = if round.new == 0 { why_none(round, labels, longest) } else { String::new() };
            console.print(&format!("round {}/{rounds}  {} new{entropy}  best {best}{why}", round.number, round.new));
        };
        let config = search.config;
        search.check(&self.output_dir).map_err(|error| refused(error, config))?;
        if console.progress() == Progress::Plain {
            console.print(&format!("{} of {} each", counted(rounds as usize, "round"), counted(count, "program")));
        }
        let ended = search.run(&self.output_dir, &mut observer, &mut told).map_err(|error| refused(error, config))?;
        Ok((ended, last))
    }

    /// Says that nothing was found, which is an outcome and no fault, what came of the `last` round, and the command that shows
    /// what the model writes.
    fn nothing_found(&self, last: &VerdictCounts, labels: Labels, config: &Config) -> String {
        let ModelConfig { model, revision, adapter, raw_prompt, .. } = &config.model;
        let env = Some(&config.environment.env).filter(|env| *env != game2048::NAME);
        let revision = Some(revision).filter(|revision| *revision != "main");
        let adapter = Some(adapter).filter(|adapter| !adapter.is_empty());
        let given = [("--revision", revision), ("--adapter", adapter), ("--env", env)];
        let given = given.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", shell::quoted(value?))));
        let raw = if *raw_prompt { " --raw-prompt" } else { "" };
        let command = format!("grpo-2048 eval --model {}{}{raw}", shell::quoted(model), given.collect::<String>());
        // What an evaluation does otherwise than the search.
        let here = if config.rollout.servers.is_empty() { "" } else { " without the servers" };
        let all = if self.task.is_some() { " for every task there" } else { "" };
        let mut lines = vec![format!("no program of {} earned anything", counted(self.rounds as usize, "round"))];
        if last.total() > 0 {
            let mut told = advice::lines(last, config, labels, Command::Evolve);
            told[0].push_str(idle(last, labels));
            lines.push(format!("in the last round, {}", told.join("\n")));
        }
        lines.push(format!("hint: see what it writes{all}{here}: {command}"));
        lines.join("\n")
    }

    fn tell(&self, found: &Discovery, labels: Labels) -> Result<(), CliError> {
        let path = self.output_dir.join("best.py");
        if self.json {
            return output::json(&serde_json::json!({ "best": found.best, "report": found.report }));
        }
        let reported = found.report.as_ref().map(|report| {
            let Estimate { value, interval } = report.mean_score;
            let [value, low, high] = [value, interval.low, interval.high].map(|score| labels.written_closely(score));
            // A point is no interval.
            let ends = if interval.low < interval.high { format!(" ({low} to {high})") } else { String::new() };
            format!("on other boards: {value} points a game{ends}\n")
        });
        let lines = format!("best: {}\n{}", result(&found.best), reported.unwrap_or_default());
        output::tell(&format!("{lines}{}\n", path.display()))
    }
}

/// Refuses settings of training that a search passes by.
fn fits(config: &Config) -> Result<(), CliError> {
    let (rollout, reward) = (&config.rollout, &config.reward);
    // Presets leave the default, which is that of training; a search does what 0 says.
    let default = Config::preset("llm")?.rollout.resample_tied;
    let (message, hint) = match rollout.turns {
        turns if turns > 1 => {
            (format!("rollout.turns: found {turns}, expected 1"), "each round shows what came of the rounds before")
        }
        _ if rollout.resample_tied > default => (
            format!("rollout.resample_tied: found {}, expected 0 or {default}", rollout.resample_tied),
            "a search samples no group again; raise --groups, --num-generations or --rounds",
        ),
        _ if rollout.draw != PromptDraw::All => (
            "rollout.draw: found \"pools\", expected \"all\"".to_owned(),
            "a search is for one game or task, whose prompts have no pools",
        ),
        _ if reward.shuffled => (
            "reward.shuffled: found true, expected false".to_owned(),
            "a search ranks programs by what they earn; `train` makes control runs",
        ),
        _ => return Ok(()),
    };
    Err(CliError::user_hint(message, hint))
}

/// The user can mend the output directory, the prompts, the environment, servers, lengths and memory; every other error fails
/// the search.
fn refused(error: EvolveError, config: &Config) -> CliError {
    match error {
        EvolveError::OtherSearch { .. } => {
            CliError::user_hint(error, "name another --output-dir, or give the settings that it has")
        }
        EvolveError::Foreign { .. } | EvolveError::Damaged { .. } => CliError::user(error),
        EvolveError::Dir(problem) if problem.is_user() => CliError::user(problem),
        EvolveError::Prompt(problem) => model::prompt_error(config, problem),
        EvolveError::Step(TrainError::Rollout(RolloutError::Server(fault))) => {
            CliError::Run(format!("--rollouts {fault}; the same command goes on from the last whole round").into())
        }
        EvolveError::Step(problem) => problem.into(),
        other => CliError::run(other),
    }
}

/// Why a round added nothing: what came of its completions, with an example.
fn why_none(Round { earning, verdicts, .. }: &Round, labels: Labels, longest: usize) -> String {
    let example = verdicts.example().map(|reason| format!(" (for example: {reason})")).unwrap_or_default();
    let idle = if *earning == 0 { idle(verdicts, labels) } else { "" };
    format!("; of those written {}{example}{idle}", verdicts.in_words(labels, longest))
}

/// What is said of programs that work where none has earned anything, so that their share does not read like a success.
fn idle(verdicts: &VerdictCounts, labels: Labels) -> &'static str {
    match (verdicts.share(Verdict::Succeeded) > 0.0, labels) {
        (false, _) => "",
        (true, Labels::Tests) => "; those that pass earn nothing: their reward is not above 0",
        (true, Labels::Board | Labels::Game) => "; those that play earn nothing: their reward is not above 0",
    }
}

/// What a program came to in the search.
fn result(best: &Candidate) -> String {
    let Candidate { id, round, reward, score, fuel, .. } = best;
    let name = match round {
        0 => "the program to begin with".to_owned(),
        _ => format!("program {id} of round {round}"),
    };
    let [score, reward] = [*score, *reward].map(|value| small(value).unwrap_or_else(|| format!("{value:.4}")));
    format!("{name}: score {score}, reward {reward}, {:.1} million instructions", *fuel as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::ServerFault;

    #[test]
    fn programs_that_play_and_earn_nothing_are_no_success_of_a_round() {
        let round = |earning, succeeded| Round {
            number: 1,
            new: 0,
            earning,
            verdicts: VerdictCounts::counted(|name| if name == "succeeded" { succeeded } else { 2 - succeeded }),
            entropy: None,
            best: None,
        };
        let told = |earning, succeeded| why_none(&round(earning, succeeded), Labels::Game, 8);
        let expected = "; of those written 100% play; those that play earn nothing: their reward is not above 0";
        assert_eq!(told(0, 2), expected);
        assert_eq!(told(2, 2), "; of those written 100% play", "all were there before");
        assert!(told(0, 0).starts_with("; of those written 0% play, ") && !told(0, 0).contains("earn"));
    }

    #[test]
    fn of_servers_that_fail_in_a_round_one_is_told_how_to_go_on() {
        let fault =
            ServerFault { server: "http://s".into(), found: "answered 500".into(), hint: "its log says more".into() };
        let step = EvolveError::Step(TrainError::Rollout(RolloutError::Server(fault)));
        let CliError::Run(error) = refused(step, &Config::preset("llm").unwrap()) else { panic!("the servers' fault") };
        let expected =
            "--rollouts http://s: answered 500; its log says more; the same command goes on from the last whole round";
        assert_eq!(error.to_string(), expected);
    }
}
