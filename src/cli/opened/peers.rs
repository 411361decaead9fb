//! The processes of a job that was started by MPI: joining them, checking that they agree, and leaving.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::machine::processor_features;
use crate::cli::said::{CliError, output};
use crate::config::Config;
use crate::environment::Environment;
use crate::metrics::Console;
use crate::parallel::{Launched, OnLost, ParallelError, Peers};
use crate::policy::{self, CudaExamination};
use crate::train::run_dir;

/// Settings in which processes may differ: they suit the machine, and change no result.
const OF_THE_MACHINE: &[&str] =
    &["arena.parallel_rewards", "model.device", "train.memory_mib", "train.gpu_memory_fraction", "train.preflight"];

/// For how long a process keeps a mistake of the user to itself. The first one most likely has the same one, tells it, and ends
/// all of them meanwhile.
const FIRST_TELLS: Duration = Duration::from_secs(3);

/// The value of an environment variable.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs `work` together with the other processes of the job. Where one fails, all of them end. Only the first one
/// prints to the terminal. `work` sets the directory of the run when the run has begun.
pub fn with_peers(
    console: &Console,
    work: impl FnOnce(&Peers, &Console, &OnceLock<PathBuf>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let peers = Peers::join(&environment).map_err(parallel_error)?;
    let console = if peers.leads() { console.clone() } else { Console::for_log() };
    let begun: Arc<OnceLock<PathBuf>> = Arc::default();
    let watched = peers.watch(&on_lost(&peers, &console, &begun)).map_err(parallel_error);
    let done = watched.and_then(|()| work(&peers, &console, &begun));
    match &done {
        Err(error @ (CliError::User { .. } | CliError::Run(_))) if !peers.all_know() => {
            if !peers.leads() && matches!(error, CliError::User { .. }) {
                thread::sleep(FIRST_TELLS);
            }
            output::complain(&format!("rank {} of {}:\n", peers.rank(), peers.size()));
            error.report();
            peers.abort(error.code());
        }
        _ => peers.leave(),
    }
    // An error that all processes have is printed by the first one alone.
    if peers.leads() { done } else { Ok(()) }
}

/// Refuses a `command` that does not divide its work where a launcher has started several processes, since each would do all of
/// it. A launcher that does not say how many there are may have started one.
pub fn refuse_several(command: &str) -> Result<(), CliError> {
    let Some((launched, size)) = Launched::by(&environment).and_then(|found| Some((found, found.size?))) else {
        return Ok(());
    };
    let Launched { launcher, variable, .. } = launched;
    Err(CliError::user_hint(
        format!(
            "{command} was started by {launcher} in {size} processes, and only train divides its work over processes"
        ),
        format!("start it without the launcher, or where each process is to do all of it, by `env -u {variable}`"),
    ))
}

/// The value of the first process, given the value of each process as `mine`. All processes call this together.
pub fn first_of<T: Serialize + DeserializeOwned>(peers: &Peers, mine: T) -> Result<T, CliError> {
    Ok(peers.gather_values(mine).map_err(parallel_error)?.swap_remove(0))
}

/// Whether any process was asked to stop; `asked` says it of this one. All processes call this together.
pub fn any_stops(peers: &Peers, asked: bool) -> Result<bool, CliError> {
    let all = peers.gather_values(asked).map_err(parallel_error)?;
    Ok(all.contains(&true))
}

/// Name of the log of a process other than the first, in the directory of the run.
pub fn log_name(rank: usize) -> String {
    format!("rank-{rank}.log")
}

/// Ends this process at once when another one is lost. That is safe at any time, since files appear whole or not at
/// all.
fn on_lost(peers: &Peers, console: &Console, begun: &Arc<OnceLock<PathBuf>>) -> OnLost {
    let (own, size, console, begun) = (peers.rank(), peers.size(), console.clone(), Arc::clone(begun));
    Arc::new(move |rank, known| {
        let run = begun.get().map(PathBuf::as_path);
        let words = gone(rank, size, known, run);
        // Shown with --quiet too: it is why the run ends.
        console.warn(&words);
        // Before the log is a file, nobody would read there what the first process can no longer say.
        if own > 0 && run.is_none_or(|run| !run.join(log_name(own)).is_file()) {
            output::complain(&format!("{words}\n"));
        }
        #[expect(clippy::disallowed_methods, reason = "whatever this process waits for will never come")]
        std::process::exit(1);
    })
}

/// The words about a lost process, with what is left of the run: of the one in the directory `run`, if it has begun.
fn gone(rank: usize, size: usize, known: &str, run: Option<&Path>) -> String {
    let left = match run.map(run_dir::latest_checkpoint) {
        None => "it had not begun",
        Some(None) => "it has no checkpoint yet",
        Some(Some(_)) => "its newest checkpoint is whole",
    };
    format!("error: rank {rank} of {size} is gone ({known}); the run ends, {left}")
}

pub fn parallel_error(error: ParallelError) -> CliError {
    if error.is_user() { CliError::user(error) } else { CliError::run(error) }
}

/// The device that `name` means for this process: processes that are shown the same GPUs take them in turn. All processes
/// call this together.
pub fn device_of(name: &str, peers: &Peers) -> Result<String, CliError> {
    let takes = peers.size() > 1 && matches!(name, "cuda" | "auto");
    // All take part, since some may be given a device by its name and others not.
    let shown = if takes { policy::gpu_identities() } else { Vec::new() };
    let own = peers.own_gpu(shown).map_err(parallel_error)?;
    let found = if takes { policy::examine_cuda() } else { None };
    Ok(found.map_or_else(|| name.to_owned(), |found| in_turn(name, own, &found)))
}

/// The device of the process that takes the GPU with index `own`. It is `name` itself where there is no GPU, and "auto"
/// where that one cannot be used, so that a run goes on without it, as one process does.
fn in_turn(name: &str, own: Option<usize>, found: &CudaExamination) -> String {
    match own {
        Some(own) if name != "auto" || found.check(own).is_ok() => format!("cuda:{own}"),
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
    for file in Environment::files(name) {
        hasher.update(&fs::read(file).unwrap_or_default());
    }
    format!("{name} ({})", short(hasher.finalize()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{DriverFound, LibraryFound, Version};

    #[test]
    fn processes_take_the_gpus_of_their_machine_in_turn_unless_none_can_be_used() {
        let version = |major| Version { major, minor: 0 };
        let gpus = vec![("NVIDIA H200".to_owned(), version(9)); 2];
        let mut found = CudaExamination {
            built_with: version(13),
            kernels: None,
            driver: Ok(DriverFound { cuda: version(13), gpus }),
            libraries: Vec::new(),
            nccl: LibraryFound { name: "NCCL", expected: 2, found: Err("libnccl.so.2: not found".into()) },
        };
        let devices = |name, found: &CudaExamination| [Some(0), Some(1), None].map(|own| in_turn(name, own, found));
        assert_eq!(devices("auto", &found), ["cuda:0", "cuda:1", "auto"]);
        found.built_with = version(14);
        assert_eq!(devices("auto", &found), ["auto"; 3], "the driver is too old, which ends no run on \"auto\"");
        assert_eq!(devices("cuda", &found), ["cuda:0", "cuda:1", "cuda"], "who insists on a GPU is told what it lacks");
        found.driver = Err("libcuda.so.1: no such file".into());
        assert_eq!(["auto", "cuda"].map(|name| in_turn(name, None, &found)), ["auto", "cuda"]);
    }

    #[test]
    fn a_lost_process_is_told_with_what_is_left_of_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let told = |run: Option<&Path>| gone(2, 3, "process 7 on pod-1: it has ended", run);
        let lost = "error: rank 2 of 3 is gone (process 7 on pod-1: it has ended); the run ends, ";
        assert_eq!(told(None), format!("{lost}it had not begun"));
        assert_eq!(told(Some(dir.path())), format!("{lost}it has no checkpoint yet"));
        fs::create_dir(dir.path().join("checkpoint-0")).unwrap();
        assert_eq!(told(Some(dir.path())), format!("{lost}its newest checkpoint is whole"));
    }
}
