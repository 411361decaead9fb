//! `grpo-2048 eval`: how good are the programs of this model, on boards or tasks it never trained on, and beside what?

mod contender;
mod report;
mod suite;
mod table;
mod tasks;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::arena::Rules;
use crate::cli::arguments::{Base, Boards, Flags, SourceArgs, WorkerArgs, text_path};
use crate::cli::opened::peers::refuse_several;
use crate::cli::opened::runs::{self, Sampling, Trained};
use crate::cli::opened::{arena, model, rows};
use crate::cli::said::{CliError, output};
use crate::config::{Config, RolloutConfig};
use crate::environment::game2048::{self, Baseline};
use crate::environment::tasks::{Suite, Tasks};
use crate::environment::{Environment, Labels};
use crate::evaluation::{self, HeldOut, REPORT, SELECTION, Single};
use crate::metrics::Console;
use crate::plural::counted;
use crate::shell;

use contender::{Contender, Testbed};
use report::{EvalReport, Games};
use tasks::{Solver, TasksReport};

/// Programs sampled from each model, without and with tasks; with tasks so many for each of them.
const SAMPLES: (u32, u32) = (256, 8);
/// The same for each task of a suite.
const SUITE_SAMPLES: u32 = 10;
/// Report games of the best programs.
const REPORT_GAMES: u32 = 32;
/// Word that asks for no baseline.
const NO_BASELINE: &str = "none";

/// Sample programs from a model and try them on held-out tasks or games, beside other models
///
/// Tasks (--env tasks.jsonl): programs are written for the held-out ones, or for all where none is held out. pass@k is
/// the expected share of tasks that one of k programs passes, by the unbiased estimator; intervals are over tasks.
///
/// Games: boards are drawn anew and told, so that --boards repeats them; all models of a command play the same ones, with the
/// same sampling seeds and budgets. best@n is the expected score of the best of n programs, chosen on some boards and measured
/// on others. Numbers in brackets are 95 % bootstrap intervals over programs and boards; over games, for a single program.
///
/// Runs and their checkpoints: programs are for what the run learnt from, and sampled as its own evaluations do, unless you
/// say otherwise. All models are tried alike: with the budget and limits of the run in --model, unless a preset or another
/// environment is asked for.
///
/// Suites (--suite humaneval --data HumanEval.jsonl): the rows of a public benchmark as tasks, with its split, its budget
/// and the temperature that it is usually sampled at, which --set changes. The data is yours; its digest is printed, and
/// told where it is one that is known. docs/suites.md has the prompts, and how verdicts differ from the official graders.
///
/// --boards published is a list that everybody has: the same in every evaluation, and known to whoever wrote a program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 eval                                        the built-in model
  grpo-2048 eval --model runs/train-001 --against builtin
  grpo-2048 eval --model runs/train-001/checkpoint-40 --against builtin \\
                 --best-of 2560                         as many programs as 40
                                                        steps of 64 have drawn
  grpo-2048 eval --samples 64 --report-games 0 --json   quick, every program
  grpo-2048 eval --env tasks.jsonl --model M --samples 16    pass@1 to pass@16
  grpo-2048 eval --suite humaneval --data HumanEval.jsonl.gz --model M")]
pub struct EvalArgs {
    #[command(flatten)]
    flags: Flags,
    /// "builtin", a Hugging Face id, a local directory, a .gguf file, or a run ("latest": the newest), for its checkpoint
    #[arg(long, value_name = "M", help_heading = "Models")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R", help_heading = "Models")]
    revision: Option<String>,
    /// Send prompts as plain text, without the model's chat template
    #[arg(long, help_heading = "Models")]
    raw_prompt: bool,
    /// PEFT adapter to put on the model, or the run that trained it
    #[arg(long, value_name = "DIR", help_heading = "Models", value_parser = text_path())]
    adapter: Option<PathBuf>,
    /// Another model to evaluate alike, or a PEFT adapter on the same model; may be repeated
    #[arg(long, value_name = "M", help_heading = "Models")]
    against: Vec<String>,
    /// "auto", "cpu", "cuda" or "cuda:N"
    #[arg(long, value_name = "D", help_heading = "Models")]
    device: Option<String>,
    /// What programs are written for: "2048", a .jsonl file of tasks, a .py file with a game, or a directory with env.toml
    #[arg(long, value_name = "E", help_heading = "Programs")]
    env: Option<String>,
    /// A public benchmark, whose rows --data has
    #[arg(long, value_name = "S", help_heading = "Programs", value_parser = rows::suite_names(), requires = "data", conflicts_with = "env")]
    suite: Option<Suite>,
    /// The rows of --suite as its authors publish them: JSON lines, also packed by gzip, a JSON list, or parquet
    #[arg(long, value_name = "FILE", help_heading = "Programs", requires = "suite")]
    data: Option<PathBuf>,
    /// Programs sampled from each model; of tasks, for each of them [default: 256; tasks: 8; suites: 10]
    #[arg(long, value_name = "N", help_heading = "Programs", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: Option<u32>,
    /// Turns: a model is told what came of its program and writes again; of tasks, pass@1 after each turn [default: the
    /// run's, or 1]
    #[arg(long, value_name = "T", help_heading = "Programs")]
    turns: Option<u32>,
    /// Softmax temperature of sampling [default: the run's, or that of the preset]
    #[arg(long, value_name = "F", help_heading = "Programs")]
    temperature: Option<f64>,
    /// Selection games each of them plays [default: 8]
    #[arg(id = "selection_games", long = "games", value_name = "K", help_heading = "Games", value_parser = clap::value_parser!(u32).range(1..=SELECTION as i64))]
    games: Option<u32>,
    /// Games on other boards that the best ones play, for best@n; 0: no best@n [default: 32]
    #[arg(long, value_name = "K", help_heading = "Games", value_parser = clap::value_parser!(u32).range(0..=REPORT as i64))]
    report_games: Option<u32>,
    /// "drawn": boards drawn anew, told and in the JSON; the digits of drawn ones, to play them again; or "published": a
    /// fixed list [default: drawn]
    #[arg(long, value_name = "B", help_heading = "Games", value_parser = Boards::parse)]
    boards: Option<Boards>,
    /// Also the best of N programs of each --against model (of the model itself without one), found by halving
    #[arg(long, value_name = "N", help_heading = "Programs", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    best_of: Option<u32>,
    /// Native strategies on the same boards, parted by commas; of 2048 only [default: random,cycle,greedy]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Games", value_parser = baseline_names())]
    baselines: Option<Vec<String>>,
    /// One JSON object with every program and its scores, instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    workers: WorkerArgs,
    #[command(flatten)]
    source: SourceArgs,
}

fn baseline_names() -> clap::builder::PossibleValuesParser {
    Baseline::ALL.map(Baseline::name).into_iter().chain([NO_BASELINE]).collect::<Vec<_>>().into()
}

impl EvalArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        refuse_several("eval")?;
        let config = self.configuration(None, console)?;
        self.source.tell_idle("eval", console);
        let rivals: Vec<Config> =
            self.against.iter().map(|name| self.configuration(Some(name), console)).collect::<Result<_, _>>()?;
        model::check_files("--model", &config)?;
        rivals.iter().try_for_each(|rival| model::check_files("--against", rival))?;
        let (arena, facts) = match (self.suite, &self.data) {
            (Some(suite), Some(data)) => {
                let (arena, facts) = suite::open(suite, data, &config, console)?;
                (arena, Some(facts))
            }
            _ => (arena::open(&config, console)?.under(Rules::of(&config)), None),
        };
        self.suits(arena.environment())?;
        for rival in &rivals {
            // A model that does not load, or that cannot be asked for this, is refused now, and not after half an hour of
            // evaluating the others.
            let policy = model::policy_of("--against", rival, &model::device(&rival.model.device, console)?)?;
            model::prompts(rival, &policy, arena.environment())?;
        }
        let models: Vec<&Config> = [&config].into_iter().chain(&rivals).collect();
        let held_out = HeldOut::salted(&self.boards_in(arena.environment()).salt()?);
        let testbed = Testbed { arena: &arena, held_out: &held_out };
        match arena.environment().tasks() {
            Some(tasks) => {
                let solvers = self.on_tasks(tasks, &models, testbed, console)?;
                let (held_out, game_seconds) = (tasks.holds_out(), config.sandbox.game_seconds);
                let report = TasksReport { held_out, suite: facts, game_seconds, models: solvers };
                if self.json { output::json(&report.json()) } else { output::tell(&report.text()) }
            }
            None => self.on_games(&models, testbed, console),
        }
    }

    /// The boards that were asked for. Tasks have none, and any will do.
    fn boards_in(&self, environment: &Environment) -> Boards {
        let unasked = if environment.has_tests() { Boards::Published } else { Boards::Drawn };
        self.boards.clone().unwrap_or(unasked)
    }

    /// Refuses flags that make no sense in this kind of environment.
    fn suits(&self, environment: &Environment) -> Result<(), CliError> {
        let labels = environment.labels();
        let native = self.baselines.iter().flatten().any(|name| name != NO_BASELINE);
        let given = [
            ("--best-of", self.best_of.is_some()),
            ("--games", self.games.is_some()),
            ("--report-games", self.report_games.is_some()),
            ("--boards", self.boards.is_some()),
        ];
        let refusal = match labels {
            _ if self.best_of.is_some() && self.report_games == Some(0) => {
                let hint = "what was chosen is reported on other boards; give --report-games 1 or more";
                Some(("--best-of with --report-games 0".to_owned(), hint))
            }
            Labels::Board => None,
            Labels::Game | Labels::Tests if native => {
                let hint = "native strategies play 2048 and nothing else; leave it away";
                Some((format!("--baselines with --env {}", environment.name()), hint))
            }
            Labels::Game => None,
            Labels::Tests => given.iter().find(|(_, given)| *given).map(|(flag, _)| {
                let hint = "a task is no game: it is tried once by each program, and pass@k tells of the best of k";
                (format!("{flag} with --env {}", environment.name()), hint)
            }),
        };
        refusal.map_or(Ok(()), |(message, hint)| Err(CliError::user_hint(message, hint)))
    }

    fn on_games(
        &self,
        models: &[&Config],
        testbed @ Testbed { arena, held_out }: Testbed<'_>,
        console: &Console,
    ) -> Result<(), CliError> {
        let config = models[0];
        let games = Games {
            selection: self.games.map_or(SELECTION, |games| games as usize),
            report: self.report_games.unwrap_or(REPORT_GAMES) as usize,
            game_seconds: config.sandbox.game_seconds,
        };
        let labels = arena.environment().labels();
        let salt = held_out.salt().to_owned();
        let mut report =
            EvalReport { games, salt, labels, models: Vec::new(), best_of: Vec::new(), baselines: Vec::new() };
        let samples = self.samples.unwrap_or(SAMPLES.0) as usize;
        let chosen_from = if models.len() > 1 { 1 } else { 0 };
        for (number, config) in models.iter().enumerate() {
            let best_of = self.best_of.filter(|_| number >= chosen_from).map(|count| count as usize);
            let contender = Contender::load(config, testbed, console)?;
            if number == 0 {
                self.boards_in(arena.environment()).tell(held_out.salt(), console);
            }
            report.models.push(contender.evaluate(samples, games)?);
            report.best_of.extend(best_of.map(|count| contender.best_of(count, games)).transpose()?);
        }
        report.share_floor();
        if labels.has_tiles() {
            report.baselines = self.native(&Rules::new(&config.sandbox, &config.arena), held_out, games);
        }
        if self.json { output::json(&report.json()) } else { output::tell(&table::text(&report)) }
    }

    /// Plays the native strategies on the same boards as the models.
    fn native(&self, rules: &Rules, held_out: &HeldOut, games: Games) -> Vec<Single> {
        let boards = [held_out.selection(games.selection), held_out.report(games.report)].concat();
        let asked = |baseline: &Baseline| {
            self.baselines.as_ref().is_none_or(|names| names.iter().any(|name| name == baseline.name()))
        };
        let play = |baseline| evaluation::play_baseline(baseline, &boards, &rules.game);
        Baseline::ALL.into_iter().filter(asked).map(play).collect()
    }

    /// Tries each model on the tasks.
    fn on_tasks(
        &self,
        tasks: &Tasks,
        models: &[&Config],
        testbed: Testbed<'_>,
        console: &Console,
    ) -> Result<Vec<Solver>, CliError> {
        let default = if self.suite.is_some() { SUITE_SAMPLES } else { SAMPLES.1 };
        let samples = self.samples.unwrap_or(default) as usize;
        if !tasks.holds_out() && self.suite.is_none() {
            let all = counted(tasks.tasks().len() - tasks.honeypots(), "task");
            let path = tasks.path().display();
            console.print(&format!("warning: {path}: none is held out; asking for all: {all}"));
        }
        models.iter().map(|config| Contender::load(config, testbed, console)?.solve(tasks, samples)).collect()
    }

    /// The configuration of the model, or of the model `against`; each has the preset that suits it.
    fn configuration(&self, against: Option<&str>, console: &Console) -> Result<Config, CliError> {
        let mut flags = self.flags.clone();
        let (flag, asked) = against.map_or(("--model", self.model.as_deref()), |name| ("--against", Some(name)));
        let trained = match asked.map(Path::new) {
            // Whatever lies at that path, the word is the model of the program.
            Some(builtin) if builtin.as_os_str() == "builtin" => None,
            Some(run) if runs::is_run(run) || runs::is_latest(run) => {
                if against.is_none() {
                    self.refuse_beside_run(run)?;
                }
                Some(Trained::open(flag, run, console)?)
            }
            // A checkpoint that is a whole model is loaded as any other.
            Some(checkpoint) if against.is_none() => {
                let trained = Trained::at(checkpoint)?.filter(Trained::is_adapter);
                trained.is_some().then(|| self.refuse_beside_run(checkpoint)).transpose()?;
                trained
            }
            _ => None,
        };
        if let Some(trained) = trained {
            flags = flags.without(&["revision", "adapter"]);
            let model = &trained.recorded.model;
            if trained.is_adapter() {
                flags.add("model", Some(model.model.clone())).add("revision", Some(trained.revision()));
            }
            trained.name_in(&mut flags);
            flags.add("raw_prompt", model.raw_prompt.then_some(true));
            return self.resolve(&flags, against, console);
        }
        match against {
            None => flags = runs::with_trained_adapter(&flags, console)?,
            Some(name) if PathBuf::from(name).join(model::ADAPTER_CONFIG).is_file() => {
                flags.add("adapter", Some(name));
            }
            Some(name) => {
                flags = flags.without(&["revision"]);
                flags.add("model", Some(name)).add("adapter", Some(""));
            }
        }
        self.resolve(&flags, against, console)
    }

    /// Refuses flags that say of the model in `--model` what a run says itself.
    fn refuse_beside_run(&self, run: &Path) -> Result<(), CliError> {
        let given = [("--adapter", self.adapter.is_some()), ("--revision", self.revision.is_some())];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(CliError::user_hint(
                format!("{flag} with --model {}", run.display()),
                "a run knows its model, revision and adapter; leave it away, or name a model with --model and no run",
            )),
        }
    }

    /// The configuration of the flags, over the settings of the suite, or of the run that trained the model. What became of the keys of a TRL file
    /// is told for `--model` alone: of the models that it is evaluated against there is nothing else to tell.
    fn resolve(&self, flags: &Flags, against: Option<&str>, console: &Console) -> Result<Config, CliError> {
        let unread = Console::for_log();
        let console = if against.is_some() { &unread } else { console };
        if let Some(suite) = self.suite {
            let name = format!("--suite {}", suite.name());
            return self.source.resolve_on(Base { name: &name, settings: &suite.settings() }, flags, console);
        }
        let weights =
            ["adapter", "model"].into_iter().find_map(|name| flags.text(name).filter(|text| !text.is_empty()));
        let Some(sampling) = weights.map(|path| Sampling::of(Path::new(path))).transpose()?.flatten() else {
            return self.source.resolve(flags, console);
        };
        let run = sampling.run.display().to_string();
        let layers = self.source.layers(flags)?;
        let origin = layers.origin("environment.env");
        // A preset that is asked for has its own limits, and another environment others.
        let is_own = origin.is_none() || model::is_same(&layers.clone().resolve()?.environment.env, sampling.env());
        let settings = sampling.settings(is_own && self.source.preset.is_none());
        let config = self.source.resolve_on(Base { name: &run, settings: &settings }, flags, console)?;
        let RolloutConfig { temperature, max_completion_length, turns, .. } = config.rollout;
        let turns = if turns > 1 { format!(", in up to {turns} turns") } else { String::new() };
        let (env, trained_on, seconds) = (&config.environment.env, sampling.env(), config.sandbox.game_seconds);
        let is_2048 = |env: &str| env == game2048::NAME;
        // Those that it is compared with are asked for the same as it.
        let of_run = match origin {
            None if against.is_none() && !is_2048(trained_on) => format!(" for {trained_on}, as its config.toml says"),
            _ => String::new(),
        };
        console.print(&format!(
            "{run}: programs of up to {} at a temperature of {temperature}, with a budget of {seconds} s{turns}{of_run}",
            counted(max_completion_length, "token")
        ));
        if model::is_same(env, trained_on)
            && let Some(changed) = runs::changed_environment(&sampling.run, env)
        {
            console.warn(&format!(
                "warning: {changed}; the figures are of what it is now, which the run did not learn from"
            ));
        }
        // A file may be all settings of another run; `--env` and `--set` are meant for this one command.
        let is_said = origin.is_some_and(|origin| origin.starts_with("--"));
        if !is_said && is_2048(env) && !is_2048(trained_on) {
            console.warn(&format!(
                "{run} was trained on {trained_on}, and is asked for players of 2048 here; --env {} asks it for the same",
                shell::path(trained_on)
            ));
        }
        Ok(config)
    }
}
