//! `grpo-2048 export`: what was trained, as files for other programs.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tempfile::TempDir;

use crate::cli::arguments::{Flags, SourceArgs, settled, text_path};
use crate::cli::opened::model;
use crate::cli::opened::runs::{self, Trained, report_error};
use crate::cli::said::{CliError, output};
use crate::config::{Config, ModelConfig};
use crate::files;
use crate::metrics::Console;
use crate::plural::{counted, prefixed};
use crate::policy::{self, Exported, HubRepo, Origin, PolicyError, Precision, PushError, Visibility};
use crate::report::{CardSubject, Training, card};
use crate::train::run_dir::{self, RunDirError};

/// File name of the model card, which the Hugging Face Hub shows.
const CARD: &str = "README.md";

/// Files that come last where files get their place one by one: nothing loads a directory without its configuration,
/// and the card stands for all of it.
const LAST: &[&str] = &["config.json", "adapter_config.json", CARD];

/// Write a trained model as files that transformers, PEFT and vLLM load
///
/// With --merge the adapter is added into the weights of its model, and the whole model is written in Hugging Face
/// layout: weights, config.json, tokenizer, chat template. Without it only the adapter is written, as PEFT reads it. A
/// .gguf file or the built-in model becomes a Hugging Face directory in the same way. A model card (README.md) says what it
/// was trained from, how well it does and how it is loaded. With --push all of it goes to the Hugging Face Hub.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 export --run latest --merge --output-dir player
  grpo-2048 export --run runs/train-001 --output-dir player-adapter
  grpo-2048 export --model Qwen/Qwen2.5-Coder-0.5B-Instruct --dtype bf16 \\
      --adapter runs/train-001/checkpoint-100 --merge --output-dir player
  grpo-2048 export --model smollm2.gguf --merge --output-dir smollm2
  grpo-2048 export --run latest --merge --output-dir player --push me/player

In Python:
  AutoModelForCausalLM.from_pretrained(\"player\")
  PeftModel.from_pretrained(base, \"player-adapter\")")]
pub struct ExportArgs {
    #[command(flatten)]
    flags: Flags,
    /// Newest checkpoint of the run in DIR, or of the newest run ("latest")
    #[arg(long, value_name = "DIR", value_parser = text_path(), conflicts_with_all = ["model", "revision", "adapter"], help_heading = "What")]
    run: Option<PathBuf>,
    /// "builtin", a Hugging Face id, a local directory in its layout, or a .gguf file
    #[arg(long, value_name = "M", help_heading = "What")]
    model: Option<String>,
    /// Branch, tag or commit of a Hugging Face model
    #[arg(long, value_name = "R", help_heading = "What")]
    revision: Option<String>,
    /// PEFT adapter on the model, or the run that trained it
    #[arg(long, value_name = "DIR", help_heading = "What", value_parser = text_path())]
    adapter: Option<PathBuf>,
    /// Add the adapter into the weights and write the whole model
    #[arg(long, help_heading = "As what")]
    merge: bool,
    /// Number format of the weights; auto: as the model's own files have them, else f32
    #[arg(long, value_name = "D", default_value = "auto", requires = "merge", help_heading = "As what")]
    dtype: Dtype,
    /// A directory that is not there yet, or empty
    #[arg(id = "written_to", long = "output-dir", value_name = "DIR", help_heading = "As what")]
    output_dir: PathBuf,
    /// Push the directory to this model repository of the Hugging Face Hub, made where it is not there yet; the token is
    /// HF_TOKEN or that of `hf auth login`
    #[arg(long, value_name = "OWNER/NAME", value_parser = hub_repo, help_heading = "To where")]
    push: Option<HubRepo>,
    /// A repository that --push makes is its owner's alone
    #[arg(long, requires = "push", help_heading = "To where")]
    private: bool,
    #[command(flatten)]
    source: SourceArgs,
}

fn hub_repo(text: &str) -> Result<HubRepo, String> {
    HubRepo::parse(text).ok_or_else(|| "expected OWNER/NAME, as in me/player".to_owned())
}

/// The model that is exported, by its configuration and run.
struct Source {
    config: Config,
    /// The run and the steps of its checkpoint.
    run: Option<(PathBuf, usize)>,
    /// The model that the run began with.
    base: ModelConfig,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Dtype {
    Auto,
    F32,
    F16,
    Bf16,
}

impl Dtype {
    fn format(self) -> Option<Precision> {
        match self {
            Dtype::Auto => None,
            Dtype::F32 => Some(Precision::F32),
            Dtype::F16 => Some(Precision::F16),
            Dtype::Bf16 => Some(Precision::Bf16),
        }
    }
}

impl ExportArgs {
    /// The directory appears whole or not at all. One that is there stays, and gets its files when all are written.
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        check_vacant(&self.output_dir)?;
        let Source { config, run, base } = self.source(console)?;
        model::check_files("--model", &config)?;
        model::warn_of_another_base(&config, console);
        // A run has the revision of the model that it began with, also where its checkpoint is a whole model.
        if run.is_none() {
            model::warn_of_revision(&config, console);
        }
        let origin = Origin::of(&base);
        if let Some(repo) = &self.push {
            policy::check_push(repo).map_err(push_error)?;
            self.check_loadable(&base)?;
        }
        let (model, adapter) = (&config.model.model, &config.model.adapter);
        if adapter.is_empty() && !self.merge {
            return Err(CliError::user_hint(
                format!("{model} has no adapter, so there is nothing to write without its weights"),
                "give --merge to write the whole model, or --adapter DIR",
            ));
        }
        let unwritten = |error: io::Error| self.unwritten(&error);
        let existing = self.existing().map_err(unwritten)?;
        let partial = self.partial(existing.as_deref())?;
        let wait = console.wait(&format!("exporting {model}"));
        let exported = match self.merge {
            true => policy::export_merged(&config.model, self.dtype.format(), partial.path()),
            false => policy::export_adapter(&config.model, partial.path()),
        };
        let exported = exported.map_err(|error| self.unexported(error, &config, partial.path()))?;
        drop(wait);
        let training = run.map(|(run, steps)| Training::read(&run, steps)).transpose().map_err(report_error)?;
        let text = card(&self.subject(origin, &config, partial.path()), training.as_ref());
        std::fs::write(partial.path().join(CARD), text).map_err(unwritten)?;
        let names = names(partial.path()).map_err(unwritten)?;
        match &existing {
            Some(dir) => files::publish_files(partial.path(), &in_order(&names), dir).map_err(unwritten)?,
            None => files::publish_dir(partial.path(), &self.output_dir).map_err(unwritten)?,
        }
        drop(partial);
        output::print(&self.summary(&config, &exported))?;
        let Some(repo) = &self.push else { return Ok(()) };
        let wait = console.wait(&format!("pushing to {repo}"));
        let visibility = if self.private { Visibility::Private } else { Visibility::Default };
        let pushed =
            policy::push(&self.output_dir, &names, repo, visibility).map_err(|error| match push_error(error) {
                CliError::User { message, hint } => {
                    let kept = format!("what was exported stays in {}", self.output_dir.display());
                    CliError::User { message, hint: hint.map(|hint| format!("{hint}; {kept}")) }
                }
                other => other,
            })?;
        drop(wait);
        output::print(&format!("pushed {}  ({})\n", pushed.url, pushed.commit_url))
    }

    /// The directory that is there already, by its own name. It may be the current directory, what a link leads to, or
    /// a volume, none of which another directory can take the place of.
    fn existing(&self) -> io::Result<Option<PathBuf>> {
        self.output_dir.is_dir().then(|| self.output_dir.canonicalize()).transpose()
    }

    /// An unfinished directory on the same disk: in the one that is there, or beside the one to come.
    fn partial(&self, existing: Option<&Path>) -> Result<TempDir, CliError> {
        let place = existing.unwrap_or_else(|| files::directory_of(&self.output_dir));
        std::fs::create_dir_all(place).map_err(|error| self.unwritten(&error))?;
        let made = tempfile::Builder::new().prefix(files::PARTIAL).tempdir_in(place);
        // Its kind alone: the words would name the unfinished directory.
        made.map_err(|error| self.unwritten(&io::Error::from(error.kind())))
    }

    fn unwritten(&self, error: &io::Error) -> CliError {
        let named = format!("--output-dir {}", self.output_dir.display());
        let other = || CliError::user_hint(format!("{named}: {error}"), "name another directory");
        output::full(&named, error).unwrap_or_else(other)
    }

    /// What could not be written is no fault of the model. `partial` is the unfinished directory, which nobody knows.
    fn unexported(&self, error: PolicyError, config: &Config, partial: &Path) -> CliError {
        match error {
            PolicyError::File { path, source } if path.starts_with(partial) => self.unwritten(&source),
            // A copy of a file of the model's names that file, whichever of both the fault is in.
            PolicyError::File { source, .. } if output::full("", &source).is_some() => self.unwritten(&source),
            other => model::model_error("--model", config, other),
        }
    }

    /// Refuses to push an adapter that names files of this machine as its model: nobody else could load it.
    fn check_loadable(&self, base: &ModelConfig) -> Result<(), CliError> {
        let elsewhere = !Path::new(&base.model).exists() && base.model != "builtin";
        match self.merge || elsewhere {
            true => Ok(()),
            false => Err(CliError::user_hint(
                format!("--push: the adapter's model is {}, which is no model of the Hub", base.model),
                "add --merge to push the whole model, or train from a model of the Hub",
            )),
        }
    }

    /// `written`: the directory with the files of the export.
    fn subject(&self, origin: Origin, config: &Config, written: &Path) -> CardSubject {
        let directory = || {
            // The current directory has no name of its own in `.`.
            let whole = self.output_dir.canonicalize().ok();
            let name = self.output_dir.file_name().or_else(|| whole.as_deref()?.file_name())?;
            Some(name.to_string_lossy().into_owned())
        };
        CardSubject {
            name: self.push.as_ref().map(HubRepo::to_string).or_else(directory).unwrap_or_default(),
            base: origin.name,
            // What a model was made from, as the files of a copy say, is not the model that an adapter goes on.
            base_id: match self.merge {
                true => origin.hub_id,
                false => model::base_of(written).filter(|base| HubRepo::parse(base).is_some()),
            },
            base_revision: (!self.merge).then(|| model::base_revision_of(written)).flatten(),
            license: origin.license,
            is_adapter: !self.merge,
            rank: model::rank_of(Path::new(&config.model.adapter)),
        }
    }

    fn source(&self, console: &Console) -> Result<Source, CliError> {
        let Some(run) = &self.run else {
            let flags = runs::with_trained_adapter(&self.flags, console)?;
            let config = self.source.resolve(&flags, console)?;
            let base = config.model.clone();
            return Ok(Source { config, run: None, base });
        };
        let trained = Trained::open("--run", run, console)?;
        let run = trained.dir.clone();
        let recorded = runs::recorded_text(&run)?;
        let over = |flags: &Flags| settled(self.source.layers_over(&recorded, &run, flags)?, console);
        let base = over(&Flags::default())?.model;
        let mut flags = Flags::default();
        trained.name_in(&mut flags);
        if trained.is_adapter() {
            flags.add("revision", Some(trained.revision()));
        }
        let config = over(&flags)?;
        let steps = run_dir::steps_done(&run).map_err(CliError::run)?;
        Ok(Source { config, run: Some((run, steps)), base })
    }

    fn summary(&self, config: &Config, exported: &Exported) -> String {
        let dir = self.output_dir.display();
        // A text of JSON is one of Python: quotes and backslashes of a path are escaped.
        let quoted = serde_json::Value::String(dir.to_string());
        let parameters = prefixed(exported.parameters);
        let format = exported.format.torch_name();
        let template = if exported.chat_template { "with" } else { "without" };
        if !self.merge {
            return format!(
                "{dir}  ({parameters} adapter weights on {} of {})\nload   \
                 PeftModel.from_pretrained(base, {quoted})\n",
                counted(exported.adapted, "layer"),
                config.model.model
            );
        }
        let merged = match exported.adapted {
            0 => String::new(),
            count => format!(", an adapter on {} added in", counted(count, "layer")),
        };
        format!(
            "{dir}  ({parameters} weights, {format}{merged}, {template} a chat template)\nload   \
             AutoModelForCausalLM.from_pretrained({quoted})\n"
        )
    }
}

/// Sorted names of the files in a directory.
fn names(dir: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The names with those of [`LAST`] behind the others.
fn in_order(names: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_by_key(|name| LAST.iter().position(|last| last == name));
    names
}

fn push_error(error: PushError) -> CliError {
    match &error {
        PushError::Hub { advice, .. } => {
            let advice = advice.clone();
            CliError::user_hint(format!("--push {error}"), advice)
        }
        PushError::Io { .. } => CliError::run(error),
    }
}

fn check_vacant(dir: &Path) -> Result<(), CliError> {
    if runs::is_latest(dir) {
        return Err(CliError::user(RunDirError::Newest { path: dir.to_owned() }));
    }
    let taken = |what: &str| {
        let hint = "name a directory that is not there yet";
        Err(CliError::user_hint(format!("--output-dir {}: {what}", dir.display()), hint))
    };
    match std::fs::read_dir(dir).map(|mut entries| entries.next().is_some()) {
        Ok(true) => taken("is not empty"),
        // A link to nowhere is in the way, though it does not exist.
        Err(_) if dir.exists() || dir.is_symlink() => taken("is not a directory"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(output_dir: &str) -> ExportArgs {
        ExportArgs {
            flags: Flags::default(),
            run: None,
            model: None,
            revision: None,
            adapter: None,
            merge: true,
            dtype: Dtype::Auto,
            output_dir: output_dir.into(),
            push: None,
            private: false,
            source: SourceArgs::default(),
        }
    }

    #[test]
    fn the_line_of_python_that_loads_an_export_names_any_directory() {
        let exported = Exported { parameters: 1_000_000, format: Precision::F32, adapted: 0, chat_template: false };
        let config = Config::preset("builtin").unwrap();
        let line = |merge| ExportArgs { merge, ..args(r#"a"b\c"#) }.summary(&config, &exported);
        assert!(line(true).contains(r#"AutoModelForCausalLM.from_pretrained("a\"b\\c")"#), "{}", line(true));
        assert!(line(false).contains(r#"PeftModel.from_pretrained(base, "a\"b\\c")"#), "{}", line(false));
    }

    #[test]
    fn a_full_disk_is_the_machines_fault_and_named_by_the_directory_that_was_asked_for() {
        let args = args("player");
        let config = Config::preset("builtin").unwrap();
        let told = |path: &str, kind: io::ErrorKind| {
            let error = PolicyError::File { path: path.into(), source: kind.into() };
            let told = args.unexported(error, &config, Path::new(".partial-a"));
            (told.code(), told.to_string())
        };
        let (written, copied) = (".partial-a/model.safetensors", "model/tokenizer.json");
        for (path, kind, expected, named) in [
            (written, io::ErrorKind::StorageFull, 1, "--output-dir player: "),
            (copied, io::ErrorKind::StorageFull, 1, "--output-dir player: "),
            (written, io::ErrorKind::PermissionDenied, 2, "--output-dir player: "),
            (copied, io::ErrorKind::PermissionDenied, 2, "--model builtin: "),
        ] {
            let (code, words) = told(path, kind);
            assert!(code == expected && words.starts_with(named), "{code} {words}");
        }
    }

    #[test]
    fn files_get_their_place_in_an_order_in_which_a_part_is_no_model_and_replace_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let filled = dir.path().join("filled");
        std::fs::create_dir(&filled).unwrap();
        for name in ["README.md", "adapter_config.json", "config.json", "model.safetensors", "tokenizer.json"] {
            std::fs::write(filled.join(name), name).unwrap();
        }
        let listed = names(&filled).unwrap();
        let ordered = ["model.safetensors", "tokenizer.json", "config.json", "adapter_config.json", "README.md"];
        assert_eq!(in_order(&listed), ordered);
        std::fs::write(dir.path().join("README.md"), "of somebody else").unwrap();
        let error = files::publish_files(&filled, &in_order(&listed), dir.path()).unwrap_err();
        assert_eq!(error.to_string(), "README.md has come there meanwhile");
        assert_eq!(names(dir.path()).unwrap(), ["README.md", "filled"]);
        std::fs::remove_file(dir.path().join("README.md")).unwrap();
        files::publish_files(&filled, &in_order(&listed), dir.path()).unwrap();
        std::fs::remove_dir(&filled).unwrap();
        assert_eq!(names(dir.path()).unwrap(), listed);
    }
}
