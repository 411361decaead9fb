//! Loads the model and the prompts of a configuration.

use std::path::{Path, PathBuf};
use std::sync::Once;

use super::runs;
use crate::cli::said::{CliError, near};
use crate::config::{Config, ModelConfig};
use crate::environment::Environment;
use crate::metrics::Console;
use crate::plural::prefixed;
use crate::policy::{self, Device, Location, Policy, PolicyError, Precision};
use crate::preflight::{self, CheckFinding, Room};
use crate::prompt::{PromptError, PromptKind, PromptSet};
use crate::seed::{Purpose, Seed};
use crate::shell;
use crate::train::memory::megabytes;
use crate::train::{self, run_dir};

/// The file by which a directory is known to hold a PEFT adapter.
pub const ADAPTER_CONFIG: &str = "adapter_config.json";

/// Seconds of loading kernels that a user may wonder at.
const WORTH_SAYING: f64 = 2.0;

/// The device that `--device` names. Where a GPU cannot be used, a message says so once.
pub fn device(name: &str, console: &Console) -> Result<Device, CliError> {
    static SAID: Once = Once::new();
    static LOADED: Once = Once::new();
    let refused = |error: PolicyError| match error {
        PolicyError::Device { reason, .. } => CliError::user(format!("--device {name}: {reason}")),
        other => CliError::run(other),
    };
    let (device, fallback) = policy::open_device(name).map_err(refused)?;
    if let Some(unusable) = fallback {
        SAID.call_once(|| console.print(&format!("device: cpu, since no GPU can be used: {unusable}")));
    }
    if let Some(seconds) = policy::loading_seconds().filter(|seconds| *seconds >= WORTH_SAYING) {
        LOADED.call_once(|| {
            console.print(&format!(
                "device: the driver took {seconds:.0} s to load the kernels for this GPU; it keeps what it translates in \
                 ~/.nv/ComputeCache, or where CUDA_CACHE_PATH says"
            ));
        });
    }
    Ok(device)
}

/// Refuses a `.gguf` file or an adapter that does not exist, and a run or a search in place of one, so that a command can do so
/// before any other work. The user named the model with `flag`.
pub fn check_files(flag: &str, config: &Config) -> Result<(), CliError> {
    let ModelConfig { model, adapter, .. } = &config.model;
    if model.is_empty() {
        return Err(CliError::user_hint(
            format!("{flag} is empty"),
            "expected `builtin`, a directory, a .gguf file or owner/name of the Hub",
        ));
    }
    // The word is no path, whatever lies there.
    let path = Some(Path::new(model)).filter(|_| model != "builtin");
    let run = path.map(|path| runs::is_named_run(flag, path)).transpose()?.unwrap_or(false);
    if let Some(checkpoint) = path.filter(|_| run).and_then(run_dir::latest_checkpoint) {
        let [checkpoint, run] = [checkpoint.display().to_string(), model.clone()].map(shell::path);
        return Err(CliError::user_hint(
            format!("{flag} {model}: is the directory of a run, not a model"),
            format!(
                "its newest checkpoint is {checkpoint}: {flag} {checkpoint}, or --adapter {run} where adapters were trained"
            ),
        ));
    }
    let adapters = Some(Path::new(adapter)).filter(|_| !adapter.is_empty()).map(|adapter| ("--adapter", adapter));
    let named = path.map(|path| (flag, path)).into_iter().chain(adapters);
    if let Some((flag, dir)) = named.into_iter().find(|(_, dir)| runs::is_search(dir)) {
        let message = format!("{flag} {}: is the directory of a search, and has no weights itself", dir.display());
        return Err(CliError::user_hint(message, runs::weights_of_a_search()));
    }
    let gguf = model.ends_with(".gguf").then(|| PathBuf::from(model));
    let adapter = (!adapter.is_empty()).then(|| Path::new(adapter).join(ADAPTER_CONFIG));
    for path in gguf.into_iter().chain(adapter) {
        std::fs::metadata(&path)
            .map_err(|source| model_error(flag, config, PolicyError::File { path: path.clone(), source }))?;
    }
    Ok(())
}

/// The model of `config`, which the user named with `flag`.
pub fn policy_of(flag: &str, config: &Config, device: &Device) -> Result<Policy, CliError> {
    let seed = Seed::root(config.train.seed).child(Purpose::Init, 0);
    Policy::load(&config.model, seed, device).map_err(|error| model_error(flag, config, error))
}

/// The error of loading the model of `config`, which the user named with `flag`. Nearly all of them are about files
/// that the user named.
pub fn model_error(flag: &str, config: &Config, error: PolicyError) -> CliError {
    match error {
        PolicyError::Tensor(_) => CliError::run(error),
        other => {
            let adapter = Path::new(&config.model.adapter);
            let hint = near::model_hint(&config.model.model).or_else(|| near::path_hint(adapter));
            let hint = hint.or_else(|| adapter_hint(adapter));
            let base = base_of(adapter).filter(|base| is_another(base, &config.model.model));
            // No other model helps where the adapter's own settings are refused.
            let named = base.as_ref().filter(|_| !matches!(other, PolicyError::Adapter { .. }));
            let hint = hint.or_else(|| named.map(|base| format!("say --model {}", shell::quoted(base))));
            let message = match &other {
                // Tensors of another model say nothing to who took the wrong one.
                PolicyError::AdapterTensors { .. } if base.is_some() => {
                    format!(
                        "--adapter {}: belongs to {}; found {flag} {}",
                        adapter.display(),
                        base.unwrap_or_default(),
                        config.model.model
                    )
                }
                // Fresh adapters have no directory: the message names their setting.
                PolicyError::Adapter { message } if adapter.as_os_str().is_empty() => message.clone(),
                PolicyError::Adapter { message } | PolicyError::AdapterTensors { message } => {
                    format!("--adapter {}: {message}", adapter.display())
                }
                other
                    if !adapter.as_os_str().is_empty() && place_of(other).is_some_and(|at| at.starts_with(adapter)) =>
                {
                    format!("--adapter {}: {other}", adapter.display())
                }
                _ => format!("{flag} {}", named_once(&config.model.model, &other.to_string())),
            };
            CliError::User { message, hint }
        }
    }
}

/// The file that an error is about, where it names one.
fn place_of(error: &PolicyError) -> Option<&Path> {
    match error {
        PolicyError::File { path, .. } | PolicyError::Corrupt { path, .. } | PolicyError::Incomplete { path, .. } => {
            Some(path)
        }
        PolicyError::NotFinite { place, .. } => Some(Path::new(place)),
        _ => None,
    }
}

/// The error of a model behind its name, which errors of files and of the Hub begin with.
fn named_once(model: &str, error: &str) -> String {
    let error = error.strip_prefix(&format!("model `{model}`: ")).unwrap_or(error);
    let is_named = error.strip_prefix(model).is_some_and(|rest| rest.starts_with([':', ' ']));
    if is_named { error.to_owned() } else { format!("{model}: {error}") }
}

/// The model that the adapter in `dir` was trained on, as the adapter names it.
pub fn base_of(dir: &Path) -> Option<String> {
    Some(adapter_setting(dir, "base_model_name_or_path")?.as_str()?.to_owned())
}

/// The revision of that model which the adapter names.
pub fn base_revision_of(dir: &Path) -> Option<String> {
    Some(adapter_setting(dir, "revision")?.as_str()?.to_owned())
}

/// Says that an adapter was trained on another model: its factors may fit all the same, and their numbers mean nothing.
pub fn warn_of_another_base(config: &Config, console: &Console) {
    let (model, adapter) = (&config.model.model, &config.model.adapter);
    // An empty path would be the current directory, which may hold an adapter.
    let Some(base) = base_of(Path::new(adapter)).filter(|_| !adapter.is_empty()) else { return };
    if is_another(&base, model) {
        console.warn(&format!("--adapter {adapter}: was trained on {base}, and is put on {model}"));
        return;
    }
    if let Some(changed) = runs::changed_model(Path::new(adapter), &config.model) {
        console.warn(&format!("warning: {changed}"));
    }
}

/// Says that a revision was given of what has none.
pub fn warn_of_revision(config: &Config, console: &Console) {
    if let Some(words) = idle_revision(&config.model) {
        console.print(&format!("warning: {words}"));
    }
}

/// Why the revision of a model has no effect, if it has none.
fn idle_revision(ModelConfig { model, revision, .. }: &ModelConfig) -> Option<String> {
    let is_of_hub = model != "builtin" && !model.ends_with(".gguf") && !Path::new(model).exists();
    let is_idle = revision != "main" && !is_of_hub;
    is_idle.then(|| {
        format!(
            "model.revision = {revision}: has no effect, models of the Hub alone have revisions; found --model {model}"
        )
    })
}

/// What is said of a chat template beside an adapter that is another one than the model's, `own`, which alone is read.
fn idle_template(settings: &ModelConfig, own: Option<&str>) -> Option<String> {
    let ModelConfig { model, adapter, raw_prompt, .. } = settings;
    if adapter.is_empty() || *raw_prompt {
        return None;
    }
    let beside = policy::Tokenizer::chat_template_in(Path::new(adapter)).ok()??;
    (Some(beside.trim_end()) != own.map(str::trim_end)).then(|| {
        format!(
            "--adapter {adapter}: comes with another chat template than {model}, and that of the model is read; if the \
             adapter was trained with its own, put that into a copy of the model, as chat_template.jinja"
        )
    })
}

pub fn rank_of(dir: &Path) -> Option<u64> {
    adapter_setting(dir, "r")?.as_u64()
}

/// A setting of the adapter in `dir`, as its file has it.
pub fn adapter_setting(dir: &Path, key: &str) -> Option<serde_json::Value> {
    let text = std::fs::read_to_string(dir.join(ADAPTER_CONFIG)).ok()?;
    serde_json::from_str::<serde_json::Value>(&text).ok()?.get(key).cloned()
}

/// Whether two names of models or environments are one, or one place.
pub fn is_same(one: &str, other: &str) -> bool {
    let place = |name: &str| std::fs::canonicalize(name).ok();
    one == other || place(one).is_some_and(|found| Some(found) == place(other))
}

/// Whether two names are those of different models. A copy of a model has its name, wherever it lies.
fn is_another(one: &str, other: &str) -> bool {
    let name = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
    !is_same(one, other) && name(one) != name(other)
}

fn adapter_hint(dir: &Path) -> Option<String> {
    let is_adapter = dir.as_os_str().is_empty() || dir.join(ADAPTER_CONFIG).exists();
    (!is_adapter).then(|| match run_dir::latest_checkpoint(dir) {
        Some(checkpoint) => format!("did you mean `{}`?", checkpoint.display()),
        None => "expected a PEFT adapter, as `sft` and the checkpoints of runs with LoRA are: adapter_config.json and \
                 adapter_model.safetensors"
            .into(),
    })
}

/// The same, with a message while the model is loaded, and one about it afterwards.
pub fn policy_shown(config: &Config, device: &Device, console: &Console) -> Result<Policy, CliError> {
    warn_of_another_base(config, console);
    warn_of_revision(config, console);
    let name = &config.model.model;
    if name == "builtin" {
        return policy_of("--model", config, device);
    }
    let wait = console.wait(&format!("loading {name}"));
    let loaded = policy_of("--model", config, device)?;
    drop(wait);
    if let Some(words) = idle_template(&config.model, loaded.tokenizer().chat_template()) {
        console.warn(&words);
    }
    let adapter = match config.model.adapter.as_str() {
        "" => String::new(),
        adapter => {
            let rank = loaded.rank().unwrap_or_default();
            let dropout = match loaded.dropout() {
                0.0 => String::new(),
                dropout => format!(", lora_dropout {dropout}"),
            };
            format!(", with the adapter {adapter} (rank {rank}{dropout})")
        }
    };
    let format = match (loaded.packed_bytes(), loaded.decoder().precision()) {
        (Some(bytes), _) => format!(" in {}", megabytes(bytes)),
        (None, Precision::F32) => String::new(),
        (None, half) => format!(" in {half}"),
    };
    let parameters = prefixed(loaded.decoder().config().parameters());
    console.print(&format!("model: {name}, {parameters} weights{format}, from {}{adapter}", place(config)));
    Ok(loaded)
}

/// The place of a model that has been loaded, in words.
pub fn place(config: &Config) -> String {
    Location::of(&config.model).map(|place| place.to_string()).unwrap_or_default()
}

/// The prompts that suit the model. Those that leave no room for a completion are refused.
pub fn prompts(config: &Config, policy: &Policy, environment: &Environment) -> Result<PromptSet, CliError> {
    let prompts = prompts_of_any_length(config, policy, environment)?;
    fit(config, policy, environment, &prompts)?;
    for prompts in [prompts.prompts(), prompts.held_out()] {
        train::check_length(policy, prompts, &config.rollout).map_err(|error| {
            match PromptKind::of(policy.tokenizer(), config.model.raw_prompt) {
                PromptKind::Builtin => {
                    CliError::user_hint(error, "this is the built-in model; --model M names a language model")
                }
                _ => CliError::user(error),
            }
        })?;
    }
    Ok(prompts)
}

/// The same with those that are too long, for who looks at one of them.
pub fn prompts_of_any_length(
    config: &Config,
    policy: &Policy,
    environment: &Environment,
) -> Result<PromptSet, CliError> {
    let kind = PromptKind::of(policy.tokenizer(), config.model.raw_prompt);
    if kind == PromptKind::Builtin && !environment.suits_builtin_model() {
        return Err(CliError::user_hint(
            format!(
                "--model {}: writes functions strategy(board) of a 4x4 board, and nothing else; something else is asked for",
                config.model.model
            ),
            "name a language model with --model, such as Qwen/Qwen2.5-Coder-0.5B-Instruct or a .gguf file",
        ));
    }
    PromptSet::load(kind, policy.tokenizer(), &environment.briefing())
        .and_then(|prompts| prompts.with_turns(config.rollout.turns, kind, policy.tokenizer()))
        .map_err(|error| prompt_error(config, error))
}

/// What prompts and completions share.
pub fn room(config: &Config, policy: &Policy) -> Room {
    let context = policy.decoder().config().max_position_embeddings;
    Room { context, completion: config.rollout.max_completion_length }
}

/// Refuses tasks whose prompts leave no room for a completion; the first one is named.
fn fit(config: &Config, policy: &Policy, environment: &Environment, prompts: &PromptSet) -> Result<(), CliError> {
    let Environment::Tasks(tasks) = environment else { return Ok(()) };
    let mut tokens = vec![0; tasks.tasks().len()];
    for prompt in prompts.prompts().iter().chain(prompts.held_out()) {
        prompt.task.into_iter().for_each(|task| tokens[task as usize] = prompt.ids.len());
    }
    let long = preflight::long_prompts(tasks, &tokens, room(config, policy));
    let Some(CheckFinding { place: Some(place), text, remedy, .. }) = long.first() else { return Ok(()) };
    let others = match long.len() - 1 {
        0 => String::new(),
        1 => "; 1 more is too long".to_owned(),
        others => format!("; {others} more are too long"),
    };
    Err(CliError::User { message: format!("--env {place}: {text}{others}"), hint: remedy.clone() })
}

pub fn prompt_error(config: &Config, error: PromptError) -> CliError {
    let message = format!("--model {}: {error}", config.model.model);
    let plain = "--raw-prompt sends the words as plain text, without a template";
    match error {
        PromptError::NoChatTemplate => CliError::user_hint(message, format!("name an instruct model; or {plain}")),
        PromptError::Template { .. } => CliError::user_hint(message, plain),
        PromptError::NoTurns { .. } => CliError::user(message),
        other => CliError::run(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_that_was_trained_on_another_model_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::preset("llm").unwrap();
        config.model.model = "builtin".into();
        config.model.adapter = dir.path().display().to_string();
        let told = |config: &Config| {
            let error = PolicyError::AdapterTensors { message: "`q_proj` has shape [2]".into() };
            let CliError::User { message, hint } = model_error("--model", config, error) else { panic!("a user's") };
            (message, hint.unwrap_or_default())
        };
        assert!(told(&config).1.starts_with("expected a PEFT adapter"), "no adapter");
        let text = r#"{"peft_type": "LORA", "base_model_name_or_path": "models/smollm2.gguf"}"#;
        std::fs::write(dir.path().join(ADAPTER_CONFIG), text).unwrap();
        let (message, hint) = told(&config);
        assert!(message.ends_with(": belongs to models/smollm2.gguf; found --model builtin"), "{message}");
        assert_eq!(hint, "say --model models/smollm2.gguf");
        config.model.model = "models/smollm2.gguf".into();
        let adapter = dir.path().display();
        let fault = format!("--adapter {adapter}: `q_proj` has shape [2]");
        assert_eq!(told(&config).0, fault, "its own model");
        let here = dir.path().canonicalize().unwrap();
        let base = serde_json::json!({"peft_type": "LORA", "base_model_name_or_path": here});
        std::fs::write(dir.path().join(ADAPTER_CONFIG), base.to_string()).unwrap();
        config.model.model = format!("{adapter}/.");
        assert_eq!(told(&config).0, fault, "the same place by another name");
    }

    #[test]
    fn a_target_of_fresh_adapters_is_told_without_an_adapter() {
        let config = Config::preset("llm").unwrap();
        let message = "model.lora_target_modules names q_proj".to_owned();
        let error = PolicyError::Adapter { message: message.clone() };
        assert_eq!(model_error("--model", &config, error).to_string(), message);
    }

    #[test]
    fn a_fault_of_an_adapter_itself_is_told_as_it_is_and_no_other_model_is_advised() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"peft_type": "LORA", "base_model_name_or_path": "owner/tiny"}"#;
        std::fs::write(dir.path().join(ADAPTER_CONFIG), text).unwrap();
        let mut config = Config::preset("llm").unwrap();
        config.model.adapter = dir.path().display().to_string();
        let told = |model: &str, error: PolicyError| {
            let mut config = config.clone();
            config.model.model = dir.path().join(model).display().to_string();
            let CliError::User { message, hint } = model_error("--model", &config, error) else { panic!("a user's") };
            (message, hint)
        };
        let adapter = format!("--adapter {}: ", dir.path().display());
        let setting = || PolicyError::Adapter { message: "use_dora = true is not supported".into() };
        let expected = (format!("{adapter}use_dora = true is not supported"), None);
        assert_eq!(told("another", setting()), expected);
        let tensors = || PolicyError::AdapterTensors { message: "`lm_head` does not sit on a linear layer".into() };
        let (message, _) = told("tiny", tensors());
        assert_eq!(message, format!("{adapter}`lm_head` does not sit on a linear layer"), "a copy of its own model");
        assert!(told("another", tensors()).0.starts_with(&format!("{adapter}belongs to owner/tiny; found --model ")));
        let path = dir.path().join(ADAPTER_CONFIG);
        let torn = PolicyError::Corrupt { path, format: "adapter configuration", message: "EOF".into() };
        let (message, _) = told("tiny", torn);
        assert!(message.starts_with(&adapter), "{message}");
        let place = dir.path().join("adapter_model.safetensors").display().to_string();
        let (message, _) = told("tiny", PolicyError::NotFinite { place, name: "lora_A".into() });
        assert!(message.starts_with(&adapter) && message.contains("`lora_A` holds numbers"), "{message}");
    }

    #[test]
    fn an_adapter_that_comes_with_another_chat_template_than_its_model_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Config::preset("llm").unwrap().model;
        settings.adapter = dir.path().display().to_string();
        let idle = |own: Option<&str>| idle_template(&settings, own);
        assert_eq!(idle(Some("the same")), None, "PEFT itself writes none");
        let tokenizer = r#"{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}"#;
        std::fs::write(dir.path().join("tokenizer.json"), tokenizer).unwrap();
        assert_eq!(idle(Some("the same")), None);
        std::fs::write(dir.path().join("chat_template.jinja"), "the same\n").unwrap();
        assert_eq!(idle(Some("the same")), None);
        for own in [None, Some("another")] {
            assert!(idle(own).unwrap().contains("comes with another chat template"));
        }
        assert_eq!(idle_template(&ModelConfig { raw_prompt: true, ..settings.clone() }, None), None);
    }

    #[test]
    fn a_revision_of_what_has_none_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().display().to_string();
        let told = |model: &str, revision: &str| {
            let mut settings = Config::preset("llm").unwrap().model;
            (settings.model, settings.revision) = (model.into(), revision.into());
            idle_revision(&settings)
        };
        for model in ["builtin", "nowhere/m.gguf", &here] {
            let words = told(model, "v1").unwrap();
            assert!(words.starts_with("model.revision = v1: has no effect") && words.ends_with(model), "{words}");
            assert_eq!(told(model, "main"), None);
        }
        assert_eq!(told("owner/name-of-nothing-here", "v1"), None);
    }

    #[test]
    fn a_model_is_named_once() {
        assert_eq!(named_once("/m", "model `/m`: no such file"), "/m: no such file");
        assert_eq!(named_once("a/b", "a/b (revision main): offline"), "a/b (revision main): offline");
        assert_eq!(named_once("m", "model.safetensors: torn"), "m: model.safetensors: torn");
    }
}
