//! Opens the runs that users name.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::Table;

use super::model::{ADAPTER_CONFIG, adapter_setting};
use crate::cli::arguments::Flags;
use crate::cli::said::{CliError, near};
use crate::config::{Config, Layers, ModelConfig};
use crate::files;
use crate::metrics::Console;
use crate::report::ReportError;
use crate::shell;
use crate::train::run_dir::{self, CONFIG, NEWEST};

/// A hint where the user names a search for a run.
pub const OF_A_SEARCH: &str = "it is a search of `evolve`, whose best program is best.py there";

/// The same where weights are asked for.
pub fn weights_of_a_search() -> String {
    format!("{OF_A_SEARCH}; --adapter or --model takes a checkpoint-N of one with --update, and `score` the program")
}

/// Whether `asked` is the word for the newest run.
pub fn is_latest(asked: &Path) -> bool {
    asked.as_os_str() == NEWEST
}

/// The run that the user named with `flag`: a directory, or the newest one with a checkpoint.
pub fn named(flag: &str, asked: &Path) -> Result<PathBuf, CliError> {
    if !is_latest(asked) {
        return Ok(asked.to_owned());
    }
    run_dir::latest_run().ok_or_else(|| {
        CliError::user_hint(
            // Only these are in an order. A run in a directory that was named is left to whoever named it.
            format!("{flag} {NEWEST}: no run with a checkpoint is called {}/train-001, -002, ...", run_dir::RUNS),
            format!("name the directory, as in {flag} DIR; `grpo-2048 train` makes the first one"),
        )
    })
}

/// Refuses a run, which the user named with `flag`, that is no directory, or none that may be looked into: that has itself in it.
pub fn require_directory(flag: &str, dir: &Path) -> Result<(), CliError> {
    fs::metadata(dir.join(".")).map(drop).or_else(|error| no_directory(flag, dir, &error))
}

fn no_directory(flag: &str, dir: &Path, error: &std::io::Error) -> Result<(), CliError> {
    let found = match error.kind() {
        ErrorKind::NotADirectory if dir.exists() => "is no directory".to_owned(),
        ErrorKind::NotFound | ErrorKind::NotADirectory => "no such directory".to_owned(),
        _ => error.to_string(),
    };
    Err(CliError::User { message: format!("{flag} {}: {found}", dir.display()), hint: near::directory_hint(dir) })
}

/// The configuration that the run in `dir` recorded, as TOML.
pub fn recorded_text(dir: &Path) -> Result<String, CliError> {
    run_dir::recorded_text(dir).map_err(|error| match run_of_checkpoint(dir) {
        Some(hint) => CliError::user_hint(error, hint),
        None if is_search(dir) => {
            CliError::user_hint(error, format!("{OF_A_SEARCH}; the same `evolve` command again goes on with it"))
        }
        None => CliError::user_path(error, dir),
    })
}

/// The same, resolved.
pub fn recorded(dir: &Path) -> Result<Config, CliError> {
    let mut layers = Layers::default();
    layers.text(&dir.join(CONFIG).display().to_string(), &recorded_text(dir)?)?;
    Ok(layers.resolve()?)
}

/// The run that wrote a checkpoint, where it still lies in it.
fn run_of(checkpoint: &Path) -> Option<&Path> {
    run_dir::step_of(checkpoint)?;
    let run = checkpoint.parent().filter(|run| is_run(run))?;
    Some(if run.as_os_str().is_empty() { Path::new(".") } else { run })
}

/// What to say to somebody who names a checkpoint of a run, as TRL's users do, where the run is asked for.
fn run_of_checkpoint(dir: &Path) -> Option<String> {
    let named = shell::path(run_of(dir)?.display());
    Some(format!("it is a checkpoint; name its run, {named}, whose newest checkpoint is taken"))
}

/// Settings of an evaluation: what programs are for, by what they are sampled, and which of several turns is the answer.
const EVALUATED: [(&str, &[&str]); 3] = [
    ("environment", &["env"]),
    ("rollout", &["temperature", "top_p", "top_k", "min_p", "max_completion_length", "turns", "feedback"]),
    ("reward", &["turns", "turns_gamma"]),
];
/// Under which limits programs are tried.
const LIMITS: [(&str, &[&str]); 2] =
    [("sandbox", &["game_seconds", "call_share", "memory_mib"]), ("arena", &["freeze_after", "moves_max"])];

/// How a run's evaluations sample, and how they try what is written.
pub struct Sampling {
    pub run: PathBuf,
    /// What the run recorded, with the temperature of its evaluations.
    recorded: Config,
}

impl Sampling {
    /// That of the run that wrote a checkpoint, where it still lies in it.
    pub fn of(checkpoint: &Path) -> Result<Option<Sampling>, CliError> {
        let Some(run) = run_of(checkpoint) else { return Ok(None) };
        let mut recorded = recorded(run)?;
        recorded.rollout.temperature = recorded.held_out_temperature();
        Ok(Some(Sampling { run: run.to_owned(), recorded }))
    }

    /// What the run learnt from.
    pub fn env(&self) -> &str {
        &self.recorded.environment.env
    }

    /// The settings of the run's evaluations as a layer of TOML, with their limits or without.
    pub fn settings(&self, with_limits: bool) -> String {
        let all = Table::try_from(&self.recorded).expect("settings are TOML");
        let section = |(name, keys): &(&str, &[&str])| {
            let kept = keys.iter().map(|key| ((*key).to_owned(), all[*name][*key].clone()));
            ((*name).to_owned(), Table::from_iter(kept).into())
        };
        let limits = LIMITS.iter().filter(|_| with_limits);
        Table::from_iter(EVALUATED.iter().chain(limits).map(section)).to_string()
    }
}

/// How the environment differs from what the run in `dir` began with, if it does. What cannot be read is left to whatever opens
/// it, which says more.
pub fn changed_environment(dir: &Path, env: &str) -> Option<String> {
    let changed = run_dir::changed_environment(dir, env).unwrap_or_default();
    let words = || format!("{env} is not as it was when {} began: {}", dir.display(), changed.join(", "));
    (!changed.is_empty()).then(words)
}

/// How the model differs from the one that the run began with that wrote this checkpoint, if it still lies in it and the model does.
pub fn changed_model(checkpoint: &Path, model: &ModelConfig) -> Option<String> {
    // A link to a checkpoint is that checkpoint.
    let place = match run_of(checkpoint) {
        Some(_) => checkpoint.to_owned(),
        None => checkpoint.canonicalize().ok()?,
    };
    let run = run_of(&place)?;
    let changed = run_dir::changed_model(run, model).ok().flatten()?;
    Some(format!("{} is not as it was when {} began: {changed}", model.model, run.display()))
}

/// A run that has a checkpoint.
pub struct Trained {
    pub dir: PathBuf,
    /// The configuration that the run recorded.
    pub recorded: Config,
    /// The newest checkpoint that is whole.
    pub checkpoint: PathBuf,
}

impl Trained {
    /// Opens the run that the user named with `flag`. Newer checkpoints that are damaged are named in warnings.
    pub fn open(flag: &str, asked: &Path, console: &Console) -> Result<Trained, CliError> {
        let dir = named(flag, asked)?;
        require_directory(flag, &dir)?;
        // Its checkpoints are looked for.
        fs::read_dir(&dir).map(drop).or_else(|error| no_directory(flag, &dir, &error))?;
        // The checkpoints of a search lack what goes on with a run, and are whole all the same.
        if is_search(&dir) {
            return Err(CliError::user_hint(
                format!("{flag} {}: no run with a checkpoint there", dir.display()),
                weights_of_a_search(),
            ));
        }
        let (good, damaged) = run_dir::newest_good(&dir).map_err(CliError::run)?;
        let checkpoint = good.ok_or_else(|| match damaged.first() {
            None => CliError::user_hint(
                format!("{flag} {}: no run with a checkpoint there", dir.display()),
                run_of_checkpoint(&dir).unwrap_or_else(|| "train writes the first one".into()),
            ),
            Some((path, reason)) => CliError::user_hint(
                format!("{flag} {}: no checkpoint there is whole; {}: {reason}", dir.display(), path.display()),
                "train writes new ones",
            ),
        })?;
        for (path, reason) in damaged {
            console.print(&format!("warning: {}: {reason}; taking {}", path.display(), checkpoint.display()));
        }
        Ok(Trained { recorded: recorded(&dir)?, dir, checkpoint })
    }

    /// The run with this one of its checkpoints, where it still lies in it.
    pub fn at(checkpoint: &Path) -> Result<Option<Trained>, CliError> {
        let Some(dir) = run_of(checkpoint) else { return Ok(None) };
        Ok(Some(Trained { recorded: recorded(dir)?, dir: dir.to_owned(), checkpoint: checkpoint.to_owned() }))
    }

    /// Whether the checkpoint is an adapter on the recorded model, and not a model itself.
    pub fn is_adapter(&self) -> bool {
        self.checkpoint.join(ADAPTER_CONFIG).exists()
    }

    /// The revision of the model that the run began with: its commit, where it is one of the Hub, whose branches move.
    pub fn revision(&self) -> String {
        let is_of_hub = !Path::new(&self.recorded.model.model).exists();
        let commit = run_dir::model_commit(&self.dir).ok().flatten().filter(|_| is_of_hub);
        commit.unwrap_or_else(|| self.recorded.model.revision.clone())
    }

    /// Sets the checkpoint as the adapter or the model in `flags`.
    pub fn name_in(&self, flags: &mut Flags) {
        let checkpoint = Some(self.checkpoint.display().to_string());
        match self.is_adapter() {
            true => flags.add("adapter", checkpoint),
            false => flags.add("model", checkpoint).add("adapter", Some("")),
        };
    }
}

/// `flags` with the newest adapter of the run where `--adapter` names a run.
pub fn with_trained_adapter(flags: &Flags, console: &Console) -> Result<Flags, CliError> {
    let mut flags = flags.clone();
    let Some(asked) = flags.text("adapter") else { return Ok(flags) };
    if let Some(words) = idle_rank(&flags) {
        console.print(&format!("warning: {words}"));
    }
    let path = Path::new(asked);
    if !is_named_run("--adapter", path)? && (!is_latest(path) || path.exists()) {
        return Ok(flags);
    }
    let trained = Trained::open("--adapter", path, console)?;
    if !trained.is_adapter() {
        return Err(CliError::user_hint(
            format!("--adapter {asked}: the run trained every weight, so its checkpoints are whole models"),
            format!("say --model {}", shell::path(trained.checkpoint.display())),
        ));
    }
    trained.name_in(&mut flags);
    Ok(flags)
}

/// Why a rank that was asked for has no effect, if it has none.
fn idle_rank(flags: &Flags) -> Option<String> {
    let adapter = flags.text("adapter").filter(|adapter| !adapter.is_empty() && flags.has("lora_r"))?;
    Some(format!("--lora-r: has no effect, --adapter {adapter} has a rank of its own and is trained further"))
}

/// Settings of new adapters, each with the key by which an adapter that is loaded has its own.
const OF_ADAPTERS: [(&str, &str); 5] = [
    ("lora_r", "r"),
    ("lora_alpha", "lora_alpha"),
    ("use_rslora", "use_rslora"),
    ("lora_dropout", "lora_dropout"),
    ("lora_target_modules", "target_modules"),
];

/// Says which settings of adapters have no effect, because the adapter that is trained further has others.
pub fn tell_idle_adapters(layers: &Layers, model: &ModelConfig, console: &Console) {
    if let Some(words) = idle_adapters(layers, model) {
        console.print(&format!("warning: {words}"));
    }
}

/// Which settings of adapters that `--set` or a file of TRL gave are not those of the adapter that is loaded. Settings of other
/// files may be what a run recorded.
fn idle_adapters(layers: &Layers, settings: &ModelConfig) -> Option<String> {
    let adapter = Path::new(&settings.adapter);
    if settings.adapter.is_empty() {
        return idle_without_adapters(layers, settings);
    }
    let all = serde_json::to_value(settings).ok()?;
    let is_of_trl = |key: &str| layers.answers().iter().flat_map(|answer| &answer.settings).any(|(of, _)| *of == key);
    let idle = OF_ADAPTERS.into_iter().filter_map(|(name, own)| {
        let key = format!("model.{name}");
        let origin = layers.origin(&key)?;
        let is_given = origin.starts_with("--set ") || (is_of_trl(&key) && !origin.starts_with("--"));
        (is_given && !is_alike(&all[name], &adapter_setting(adapter, own)?)).then_some(origin)
    });
    let mut idle: Vec<&str> = idle.collect();
    // A key of TRL may stand for two settings.
    idle.dedup();
    let own = format!("no effect, --adapter {} has its own and is trained further", adapter.display());
    (!idle.is_empty()).then(|| format!("{}: {own}", idle.join("; ")))
}

/// Which settings of adapters `--set` gave where there are none, because every weight is trained.
fn idle_without_adapters(layers: &Layers, settings: &ModelConfig) -> Option<String> {
    let besides_rank = OF_ADAPTERS.iter().filter(|(name, _)| *name != "lora_r");
    let origins = besides_rank.filter_map(|(name, _)| layers.origin(&format!("model.{name}")));
    let idle: Vec<&str> = origins.filter(|origin| origin.starts_with("--set ")).collect();
    let is_told = settings.lora_r == 0 && !idle.is_empty();
    is_told.then(|| format!("{}: no effect, every weight is trained; --lora-r 16 trains adapters", idle.join("; ")))
}

/// Whether a setting of new adapters is that of an adapter.
fn is_alike(given: &Value, own: &Value) -> bool {
    match (given.as_array(), own.as_array()) {
        // The names of all layers are those of the model.
        (Some(given), _) if given.iter().any(|layer| layer == "all-linear") => true,
        (Some(given), Some(own)) => {
            given.iter().all(|layer| own.contains(layer)) && own.iter().all(|layer| given.contains(layer))
        }
        _ => given.as_f64().zip(own.as_f64()).map_or_else(|| given == own, |(given, own)| given == own),
    }
}

/// Says that a command which writes to `dir` passes over the directory that a configuration gives to a run, as files of TRL do:
/// training with the same file would find it taken.
pub fn tell_own_dir(command: &str, dir: &Path, config: &Config, console: &Console) {
    let of_runs = &config.train.output_dir;
    if !of_runs.as_os_str().is_empty() {
        let (of_runs, dir) = (of_runs.display(), dir.display());
        console.print(&format!(
            "train.output_dir = {of_runs}: is for `train`; `{command}` writes to {dir} (--output-dir)"
        ));
    }
}

/// Whether a directory is that of a run.
pub fn is_run(dir: &Path) -> bool {
    is_named_run("", dir).unwrap_or(false)
}

/// The same of what the user named with `flag`. What may not be looked into is refused: it may be one.
pub fn is_named_run(flag: &str, dir: &Path) -> Result<bool, CliError> {
    // Whatever opens the others says more about them.
    if !fs::metadata(dir).is_ok_and(|found| found.is_dir()) {
        return Ok(false);
    }
    let is_there = |name: &str| {
        let path = dir.join(name);
        files::is_file(&path).map_err(|error| CliError::user(format!("{flag} {}: {error}", path.display())))
    };
    Ok(is_there(CONFIG)? && !is_there("config.json")?)
}

/// Whether a directory is that of a search by `evolve`.
pub fn is_search(dir: &Path) -> bool {
    dir.join("evolve.json").is_file() && !is_run(dir)
}

/// The error of reading a run. Where the user named a wrong directory, the hint lists the runs that exist.
pub fn report_error(error: ReportError) -> CliError {
    if !error.is_user() {
        return CliError::run(error);
    }
    if let ReportError::Missing { path } = &error
        && let Some(hint) = near::path_hint(path)
    {
        return CliError::user_hint(error, hint);
    }
    if let ReportError::NoRun { path } = &error
        && is_search(path)
    {
        return CliError::user_hint(error, OF_A_SEARCH);
    }
    let runs = fs::read_dir(run_dir::RUNS).into_iter().flatten().flatten();
    let mut there: Vec<String> =
        runs.map(|entry| entry.path()).filter(|path| is_run(path)).map(|path| path.display().to_string()).collect();
    there.sort();
    match there.is_empty() {
        true => CliError::user_hint(error, "name a directory that `grpo-2048 train` wrote, as in runs/train-001"),
        false => CliError::user_hint(error, format!("there are: {}", there.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TurnsReward;

    #[test]
    fn a_rank_beside_an_adapter_is_told_to_have_no_effect() {
        let mut flags = Flags::default();
        flags.add("lora_r", Some(0_i64));
        assert_eq!(idle_rank(&flags), None);
        // In place of the one of a file, which takes none.
        flags.add("adapter", Some(""));
        assert_eq!(idle_rank(&flags), None);
        flags.add("adapter", Some("warm"));
        assert!(idle_rank(&flags).unwrap().starts_with("--lora-r: has no effect, --adapter warm has a rank"));
        assert_eq!(idle_rank(&flags.without(&["lora_r"])), None);
    }

    #[test]
    fn a_checkpoint_is_sampled_and_tried_as_the_evaluations_of_its_run_do() {
        let dir = tempfile::tempdir().unwrap();
        let recorded = "[environment]\nenv = \"tasks.jsonl\"\n[rollout]\nturns = 3\ntemperature = 0.9\n[train]\neval_temperature = 0.5\n\
            [reward]\nturns = \"best\"\nturns_gamma = 0.9\nexponent = 0.7\n\
            [sandbox]\ngame_seconds = 5.0\n[arena]\nmoves_max = 2077\ngames = 3\n";
        fs::write(dir.path().join("config.toml"), recorded).unwrap();
        let sampling = Sampling::of(&dir.path().join("checkpoint-4")).unwrap().unwrap();
        let mut layers = Layers::default();
        layers.text("run", &sampling.settings(true)).unwrap();
        let Config { environment, rollout, reward, sandbox, arena, .. } = layers.resolve().unwrap();
        assert_eq!(environment.env, "tasks.jsonl");
        assert_eq!((rollout.turns, rollout.temperature), (3, 0.5));
        assert_eq!((reward.turns, reward.turns_gamma), (TurnsReward::Best, 0.9), "the same turn is the answer");
        assert_eq!((sandbox.game_seconds, arena.moves_max), (5.0, 2077), "scores are those of the same budget");
        assert!(reward.exponent != 0.7 && arena.games != 3, "rewards and games are those of the command");
        assert!(!sampling.settings(false).contains("game_seconds"));
    }

    #[test]
    fn settings_of_adapters_beside_one_that_is_loaded_and_has_others_are_told_to_have_no_effect() {
        let dir = tempfile::tempdir().unwrap();
        let own = r#"{"r": 4, "lora_alpha": 16, "lora_dropout": 0.0, "target_modules": ["q_proj", "v_proj"]}"#;
        fs::write(dir.path().join(ADAPTER_CONFIG), own).unwrap();
        let named = dir.path().display().to_string();
        let told = |trl: &str, assignment: &str, adapter: &str| {
            let mut layers = Layers::default();
            layers.preset("llm").unwrap();
            layers.trl("run.yaml", trl).unwrap();
            layers.assignment(assignment).unwrap();
            layers.value("--adapter", "model.adapter", adapter).unwrap();
            let config = layers.clone().resolve().unwrap();
            idle_adapters(&layers, &config.model)
        };
        let differing = told("use_peft: false\nlora_target_modules: [q_proj]\n", "model.lora_alpha=8", &named).unwrap();
        let expected =
            "run.yaml: use_peft; --set model.lora_alpha=8; run.yaml: lora_target_modules: no effect, --adapter ";
        assert!(differing.starts_with(expected), "{differing}");
        let same = "lora_r: 4\nuse_rslora: false\nlora_target_modules: [v_proj, q_proj]\n";
        assert_eq!(told(same, "model.lora_alpha=16", &named), None);
        assert_eq!(told("lora_target_modules: all-linear\n", "model.lora_alpha=16", &named), None);
        assert_eq!(told("lora_r: 8\n", "model.lora_alpha=8", ""), None, "new ones have them");
        let twice = told("use_peft: true\n", "model.lora_dropout=0.0", &named).unwrap();
        assert!(twice.starts_with("run.yaml: use_peft: no effect"), "{twice}");
    }

    #[test]
    fn settings_of_adapters_where_every_weight_is_trained_are_told_to_have_no_effect() {
        let told = |assignments: &[&str]| {
            let mut layers = Layers::default();
            assignments.iter().for_each(|assignment| layers.assignment(assignment).unwrap());
            let config = layers.clone().resolve().unwrap();
            idle_adapters(&layers, &config.model)
        };
        let words = told(&["model.lora_alpha=8", "model.use_rslora=true"]).unwrap();
        let expected = "--set model.lora_alpha=8; --set model.use_rslora=true: no effect, every weight is trained; ";
        assert!(words.starts_with(expected), "{words}");
        assert_eq!(told(&["model.lora_alpha=8", "model.lora_r=4"]), None);
        assert_eq!(told(&["model.lora_r=0", "grpo.beta=0.1"]), None);
    }

    #[test]
    fn a_checkpoint_where_a_run_is_asked_for_is_answered_with_its_run() {
        let dir = tempfile::tempdir().unwrap();
        let (run, checkpoint) = (dir.path().to_owned(), dir.path().join("checkpoint-4"));
        fs::create_dir(&checkpoint).unwrap();
        let hint = |error: CliError| match error {
            CliError::User { hint, .. } => hint.unwrap_or_default(),
            other => panic!("not the user's mistake: {other}"),
        };
        let opened = |dir: &Path| hint(Trained::open("--run", dir, &Console::for_log()).err().unwrap());
        assert_eq!(opened(&checkpoint), "train writes the first one", "nothing beside it is a run");
        fs::write(run.join("config.toml"), "").unwrap();
        let expected = format!("name its run, {}, whose", shell::quoted(run.display()));
        for found in [opened(&checkpoint), hint(recorded_text(&checkpoint).unwrap_err())] {
            assert!(found.contains(&expected), "{found}");
        }
    }
}
