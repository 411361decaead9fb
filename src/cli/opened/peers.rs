//! The processes of a job that was started by MPI: joining them, checking that they agree, and leaving.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::machine::processor_features;
use crate::cli::said::CliError;
use crate::config::Config;
use crate::metrics::Console;
use crate::parallel::{OnLost, ParallelError, Peers, local_rank};
use crate::policy;

/// Settings in which processes may differ: they suit the machine, and change no result.
const OF_THE_MACHINE: &[&str] =
    &["arena.parallel_rewards", "model.device", "train.memory_mib", "train.gpu_memory_fraction", "train.preflight"];

/// The value of an environment variable.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs `work` together with the other processes of the job. Where one fails, all of them end. Only the first one
/// prints to the terminal.
pub fn with_peers(
    console: &Console,
    work: impl FnOnce(&Peers, &Console) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let peers = Peers::join(&environment).map_err(parallel_error)?;
    let console = if peers.leads() { console.clone() } else { Console::for_log() };
    let done = peers.watch(&on_lost(&peers, &console)).map_err(parallel_error).and_then(|()| work(&peers, &console));
    match &done {
        Err(error @ (CliError::User { .. } | CliError::Run(_))) if !peers.all_know() => {
            eprintln!("rank {} of {}:", peers.rank(), peers.size());
            error.report();
            peers.abort(error.code());
        }
        _ => peers.leave(),
    }
    // An error that all processes have is printed by the first one alone.
    if peers.leads() { done } else { Ok(()) }
}

/// The value of the first process, given the value of each process as `mine`.
pub fn first_of(peers: &Peers, mine: String) -> Result<String, CliError> {
    Ok(peers.gather_values(mine).map_err(parallel_error)?.swap_remove(0))
}

/// Ends this process at once when another one is lost. That is safe at any time, since files appear whole or not at
/// all.
fn on_lost(peers: &Peers, console: &Console) -> OnLost {
    let (size, console) = (peers.size(), console.clone());
    Arc::new(move |rank, known| {
        let words =
            format!("error: rank {rank} of {size} is gone ({known}); the run ends, its newest checkpoint is whole");
        console.print(&words);
        #[expect(clippy::disallowed_methods, reason = "whatever this process waits for will never come")]
        std::process::exit(1);
    })
}

pub fn parallel_error(error: ParallelError) -> CliError {
    if error.is_user() { CliError::user(error) } else { CliError::run(error) }
}

/// The device that `name` means for this process: the processes of a machine take its GPUs in turn.
pub fn device_of(name: &str, peers: &Peers) -> String {
    let gpus = || policy::examine_cuda().and_then(|found| found.driver.ok()).map_or(0, |driver| driver.gpus.len());
    match (local_rank(&environment), name) {
        (Some(local), "cuda" | "auto") if peers.size() > 1 && gpus() > 0 => format!("cuda:{}", local % gpus()),
        _ => name.to_owned(),
    }
}

/// Refuses to start where processes differ in program, configuration, environment or processor.
pub fn agree(peers: &Peers, config: &Config) -> Result<(), CliError> {
    if peers.size() == 1 {
        return Ok(());
    }
    let mut on = vec![("program".to_owned(), program()), ("environment".to_owned(), contents(&config.environment.env))];
    on.extend(settings(config));
    if !config.parallel.allow_other_processors {
        on.push(("processor (see parallel.allow_other_processors)".to_owned(), processor_features().join(" ")));
    }
    peers.agree(on).map_err(parallel_error)
}

/// Version and digest of the program.
fn program() -> String {
    let bytes = std::env::current_exe().and_then(fs::read).unwrap_or_default();
    format!("{} ({})", env!("CARGO_PKG_VERSION"), short(blake3::hash(&bytes)))
}

/// Name of an environment, with a digest of the files that it is read from.
fn contents(name: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in files(Path::new(name)) {
        hasher.update(&fs::read(file).unwrap_or_default());
    }
    format!("{name} ({})", short(hasher.finalize()))
}

fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

/// Every setting that all processes must have.
fn settings(config: &Config) -> Vec<(String, String)> {
    let table = toml::Table::try_from(config).expect("a configuration is TOML");
    let of_section = |(section, values): (String, toml::Value)| {
        let values = values.as_table().cloned().unwrap_or_default();
        values.into_iter().map(move |(key, value)| (format!("{section}.{key}"), value.to_string()))
    };
    let all = table.into_iter().flat_map(of_section);
    all.filter(|(key, _)| !OF_THE_MACHINE.contains(&key.as_str())).collect()
}

fn short(digest: blake3::Hash) -> String {
    digest.to_hex()[..12].to_owned()
}
