//! What a run records about the process that trains it.

use crate::cli::commands::NAME;
use crate::cli::opened::machine::{MachineMemory, cores_and_model};
use crate::metrics::{LaunchEnd, Process};
use crate::policy::{self, Device};
use crate::train::{RunSummary, TrainError};

pub fn process(commit: Option<&str>, device: &Device) -> Process {
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

pub fn end(ended: &Result<RunSummary, TrainError>) -> LaunchEnd {
    match ended {
        Err(_) => LaunchEnd::Failed,
        Ok(summary) if summary.stopped.is_some() => LaunchEnd::Guard,
        Ok(summary) if summary.interrupted => LaunchEnd::Interrupted,
        Ok(_) => LaunchEnd::Finished,
    }
}
