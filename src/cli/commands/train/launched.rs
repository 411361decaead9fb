//! Runs the training loop, with all that records it: files, TensorBoard, a trace, the terminal, and the summary at its
//! end.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use super::summary;
use super::trace::Traced;
use crate::cli::commands::NAME;
use crate::cli::opened::gpu_watch::GpuWatch;
use crate::cli::opened::machine::{MachineMemory, build_features, cores_and_model};
use crate::cli::opened::model::ADAPTER_CONFIG;
use crate::cli::opened::peers::log_name;
use crate::cli::said::{CliError, output};
use crate::config::Workers;
use crate::metrics::{
    Console, Event, JsonlSink, LaunchEnd, LaunchSink, Process, Show, Sink, Sinks, StepRecord, TensorBoardSink,
    TerminalSink,
};
use crate::policy::{self, Device};
use crate::shell;
use crate::train::run_dir::{self, Reopened};
use crate::train::{Run, RunSummary, TrainError};

/// What the command line says about a run, besides its configuration.
pub(super) struct Launched<'a> {
    pub resumed: bool,
    /// The resumed run, in the process that has opened it.
    pub reopened: Option<Reopened>,
    pub traced: Option<Traced>,
    pub commit: Option<&'a str>,
    pub started: Instant,
    /// Gets the directory of the run when it begins.
    pub begun: &'a OnceLock<PathBuf>,
}

impl Launched<'_> {
    /// Trains, records it, and prints the summary.
    pub fn train(self, run: Run<'_>, console: &Console) -> Result<(), CliError> {
        let (config, peers, device) = (run.config, run.peers, run.policy.decoder().device().clone());
        let show = if config.arena.parallel_rewards == Workers::Inline { Show::Completions } else { Show::Steps };
        let mut terminal = TerminalSink::new(console.clone(), show);
        let mut launches = LaunchSink::new(process(self.commit, &device), &unix_seconds);
        let warn = |words: &str| console.print(words);
        let mut file = JsonlSink::new(&warn);
        let mut tensorboard = TensorBoardSink::new(&unix_seconds);
        let mut trace = self.traced.as_ref().map(|traced| traced.sink(&Instant::now));
        let mut sinks = Sinks::default();
        if let (Some(trace), true) = (&mut trace, peers.leads()) {
            sinks.push(trace);
        }
        if peers.leads() {
            sinks.push(&mut launches);
            sinks.push(&mut file);
        }
        if config.train.tensorboard && peers.leads() {
            sinks.push(&mut tensorboard);
        }
        sinks.push(&mut terminal);
        let gpu = RefCell::new(GpuWatch::new(&device, console));
        let measure = |record: &StepRecord| gpu.borrow_mut().measure(record);
        let (begun, stop, mut failure) = (self.begun, run.stop, None);
        let mut observer = |event: Event<'_>| {
            if let Event::RunStarted(header) = event {
                let _ = console.log_to(&header.output_dir.join(log_name(peers.rank())));
                let _ = begun.set(header.output_dir.clone());
                gpu.borrow_mut().begin(header);
            }
            // When a sink fails, the run is asked to stop, with a checkpoint.
            if let Err(error) = sinks.note(&event) {
                stop.store(true, Ordering::SeqCst);
                failure.get_or_insert(error);
            }
        };
        let run = Run { measure: &measure, ..run };
        let ended = if self.resumed {
            run.resume(self.reopened, &mut observer)
        } else {
            run.start(&about(&device), &mut observer)
        };
        let busy = gpu.borrow().verdict();
        drop(terminal);
        // The first process alone writes the trace.
        if let (Some(traced), Some(trace), true) = (&self.traced, &trace, peers.leads()) {
            traced.report(trace, console);
        }
        let noted = launches.ended(end(&ended));
        if let (Err(error), Some(dir), true) = (&ended, begun.get(), peers.leads())
            && let Some(words) = kept(dir, error, config.grpo.learning_rate)
        {
            console.print(&words);
        }
        let summary = ended?;
        noted.map_err(CliError::run)?;
        failure.map_or(Ok(()), |failure| Err(CliError::run(failure)))?;
        if !peers.leads() {
            return Ok(());
        }
        output::tell(&summary::text(&summary, self.started.elapsed(), self.resumed))?;
        output::tell(&busy)?;
        match &summary.stopped {
            Some(stopped) => Err(summary::stopped(stopped, &summary.output_dir)),
            None if summary.interrupted => Err(CliError::Interrupted),
            None => Ok(()),
        }
    }
}

/// What is kept of the run in `dir`, which an error ended, and the way on; none without a checkpoint. `learning_rate`: that of
/// the run.
fn kept(dir: &Path, error: &TrainError, learning_rate: f64) -> Option<String> {
    let checkpoint = run_dir::latest_checkpoint(dir)?;
    let start = || summary::starting_from(&checkpoint, checkpoint.join(ADAPTER_CONFIG).exists(), dir);
    // Settings and environment are those of a run for good: with the same settings the same numbers come again, and a game that is
    // mended is another one.
    let way_on = if error.has_diverged() {
        let lower = learning_rate / 2.0;
        format!(
            "`train --resume` would end alike; with a lower learning rate, such as half of it, start from there with\n  \
             {} --learning-rate {lower:?}",
            start()
        )
    } else if error.is_of_environment() {
        format!("once the game is mended, start from there with\n  {}", start())
    } else {
        format!("once what failed is mended, `train --resume {}` goes on", shell::path(dir.display()))
    };
    Some(format!("{} is kept; {way_on}", checkpoint.display()))
}

/// What a run records about the process that trains it.
fn process(commit: Option<&str>, device: &Device) -> Process {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let memory = MachineMemory::of_this_process().map(|memory| format!("{} GiB", memory.total.div_ceil(1 << 30)));
    Process {
        command: std::iter::once(NAME.to_owned()).chain(arguments).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit.map(str::to_owned),
        machine: std::iter::once(cores_and_model()).chain(memory).collect::<Vec<_>>().join(", "),
        device: policy::device_name(device),
    }
}

fn end(ended: &Result<RunSummary, TrainError>) -> LaunchEnd {
    match ended {
        Err(_) => LaunchEnd::Failed,
        Ok(summary) if summary.stopped.is_some() => LaunchEnd::Guard,
        Ok(summary) if summary.interrupted => LaunchEnd::Interrupted,
        Ok(_) => LaunchEnd::Finished,
    }
}

/// Seconds since 1970.
fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// What the recorded configuration says about the program and the machine.
fn about(device: &Device) -> Vec<(&'static str, String)> {
    vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("target", format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)),
        ("features", build_features().join(",")),
        ("device", policy::device_name(device)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::ArenaError;
    use crate::policy::PolicyError;

    #[test]
    fn a_run_that_has_diverged_is_not_to_be_resumed_but_started_again_from_its_checkpoint() {
        let dir = tempfile::tempdir().unwrap();
        let told = |error: PolicyError| kept(dir.path(), &error.into(), 3e-5);
        let diverged = || PolicyError::NotFinite { place: "weights".into(), name: "w".into() };
        assert_eq!(told(diverged()), None);
        let checkpoint = dir.path().join("checkpoint-2");
        std::fs::create_dir(&checkpoint).unwrap();
        let again = format!("--model {} --output-dir DIR --learning-rate 1.5e-5", shell::quoted(checkpoint.display()));
        assert!(told(diverged()).unwrap().ends_with(&again), "{:?}", told(diverged()));
        std::fs::write(checkpoint.join(ADAPTER_CONFIG), "{}").unwrap();
        assert!(told(diverged()).unwrap().contains("--set model.adapter="), "{:?}", told(diverged()));
        let game = ArenaError::Environment { completion: 0, game: "bad.py".into(), message: "step(7): raised".into() };
        let mended = kept(dir.path(), &game.into(), 3e-5).unwrap();
        assert!(
            mended.contains("once the game is mended, start from there with\n  grpo-2048 train --config "),
            "{mended}"
        );
        let other = told(PolicyError::UnknownModel { found: "m".into() }).unwrap();
        assert!(other.contains("once what failed is mended, `train --resume "), "{other}");
    }
}
