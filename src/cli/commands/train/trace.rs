//! `train --trace`: the step that is traced, and the file of its trace.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::Value;

use crate::cli::said::{CliError, output};
use crate::metrics::{Console, TraceSink};

/// Step of a session that is traced by default. The first step is not typical, because it warms up.
const USUAL_STEP: usize = 2;

#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub struct TraceArgs {
    /// Write who did what when in one step, to open in https://ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Step to trace [default: the second of this session]
    #[arg(long, value_name = "N", requires = "trace", value_parser = clap::value_parser!(u32).range(1..))]
    trace_step: Option<u32>,
}

/// The step that is traced, and the file of its trace.
#[derive(Debug, PartialEq, Eq)]
pub struct Traced {
    path: PathBuf,
    step: usize,
}

impl TraceArgs {
    /// The trace that was asked for, in a session of the steps after `done` up to `last`.
    pub fn chosen(&self, done: usize, last: usize) -> Result<Option<Traced>, CliError> {
        let Some(path) = self.trace.clone() else { return Ok(None) };
        let shown = path.display();
        CliError::refuse_unwritable(format!("--trace {shown}"), &path, "trace.json")?;
        output::refuse_other(format!("--trace {shown}"), &path, |there| {
            serde_json::from_slice::<Value>(there).is_ok_and(|trace| trace["traceEvents"].is_array())
        })?;
        if done >= last {
            return Err(CliError::user_hint(
                format!("--trace {shown}: {done} of {last} steps are done, none is left to trace"),
                "raise --steps",
            ));
        }
        let usual = (done + USUAL_STEP).min(last);
        let step = self.trace_step.map_or(usual, |step| step as usize);
        if !(done + 1..=last).contains(&step) {
            let message = format!("--trace-step {step}: no step of this session; expected {} to {last}", done + 1);
            return Err(CliError::user_hint(message, "name one of these, or raise --steps"));
        }
        Ok(Some(Traced { path, step }))
    }
}

impl Traced {
    pub fn sink<'a>(&self, clock: &'a dyn Fn() -> Instant) -> TraceSink<'a> {
        TraceSink::new(self.path.clone(), self.step, clock)
    }

    /// Says where the trace is, or that the run ended before the step.
    pub fn report(&self, sink: &TraceSink<'_>, console: &Console) {
        let Traced { path, step } = self;
        console.print(&match sink.written() {
            true => format!("trace of step {step}: {}; open it in https://ui.perfetto.dev", path.display()),
            false => format!("warning: --trace {}: not written, the run ended before step {step} did", path.display()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(trace_step: Option<u32>, done: usize, last: usize) -> Result<usize, String> {
        let args = TraceArgs { trace: Some("trace.json".into()), trace_step };
        args.chosen(done, last).map(|traced| traced.unwrap().step).map_err(|error| error.to_string())
    }

    #[test]
    fn the_second_step_of_a_session_is_traced_unless_another_is_named() {
        assert_eq!([chosen(None, 0, 200), chosen(None, 100, 200), chosen(None, 0, 1)], [Ok(2), Ok(102), Ok(1)]);
        assert_eq!([chosen(Some(1), 0, 200), chosen(Some(200), 100, 200)], [Ok(1), Ok(200)]);
        for (step, done) in [(Some(201), 0), (Some(100), 100)] {
            let message = chosen(step, done, 200).unwrap_err();
            assert!(message.contains(&format!("expected {} to 200", done + 1)), "{message}");
        }
        assert!(chosen(None, 200, 200).unwrap_err().contains("200 of 200 steps are done"));
        let untraced = TraceArgs { trace: None, trace_step: None };
        assert_eq!(untraced.chosen(200, 200).unwrap(), None);
    }
}
