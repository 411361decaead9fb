//! The trace of one step on a time axis, for Perfetto (<https://ui.perfetto.dev>) and chrome://tracing.
//!
//! The trace covers the time of the step. With `steps_ahead` it also shows the sampling and games of the next step
//! during this time; their names begin with its number.
//!
//! The spans are not those of `tracing`, because a game is reported after it ended, with its completion, score and
//! ending, which its worker thread does not know, and a `tracing` span can begin only now and on its own thread.
//! `tracing-chrome` would also trace all steps, one track per OS thread in an order that varies, into a file that is
//! incomplete until the end.
//!
//! Source: "Trace Event Format", Google: complete events (`X`), instants (`i`) and names of tracks (`M`); times in
//! microseconds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use super::event::{Activity, GamePlayed, Period, Player};
use super::{Event, Sink, SinkError, StepRecord};
use crate::files;
use grpo_environment::Points;

/// The process id of all events.
const PROCESS: u32 = 1;
/// Number of digits of a program's digest, enough to distinguish the programs of a step.
const DIGEST_DIGITS: usize = 12;

/// Writes the trace of one step to a file when the step is done. In other steps it does nothing and does not read the
/// clock.
pub struct TraceSink<'a> {
    path: PathBuf,
    step: usize,
    clock: &'a dyn Fn() -> Instant,
    recording: Option<Recording>,
    written: bool,
}

/// The tracks of a trace, from top to bottom. Spans of one track do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    Step,
    Decoding,
    DecodingPart(usize),
    /// Games on the thread of the loop.
    Inline,
    Worker(usize),
    RewardWait,
    Update,
}

impl<'a> TraceSink<'a> {
    /// A sink that records `step`. `clock` must be the clock that the periods of events are measured by.
    pub fn new(path: PathBuf, step: usize, clock: &'a dyn Fn() -> Instant) -> Self {
        TraceSink { path, step, clock, recording: None, written: false }
    }

    /// Whether the trace was written.
    pub fn written(&self) -> bool {
        self.written
    }
}

impl Sink for TraceSink<'_> {
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        if let Event::StepStarted { step } = event {
            self.recording = (*step == self.step).then(|| Recording::begin((self.clock)()));
        }
        let Some(recording) = &mut self.recording else { return Ok(()) };
        let whose = |step: usize| if step == self.step { String::new() } else { format!("step {step} ") };
        match *event {
            Event::CompletionEnded { step, index, tokens } => {
                recording.written(format!("{}completion {index}", whose(step)), tokens, (self.clock)());
            }
            Event::GamePlayed(game) => recording.game(&whose(game.step), game),
            Event::ActivityDone { step, activity, period } => recording.activity(&whose(step), activity, period),
            Event::StepDone(record) => {
                let text = recording.end(record, (self.clock)()).to_string();
                self.recording = None;
                files::write_whole(&self.path, text.as_bytes()).map_err(SinkError::at(&self.path))?;
                self.written = true;
            }
            _ => (),
        }
        Ok(())
    }
}

/// The events of the step so far.
struct Recording {
    begin: Instant,
    tracks: BTreeMap<Track, Vec<Value>>,
}

impl Recording {
    fn begin(begin: Instant) -> Recording {
        Recording { begin, tracks: BTreeMap::new() }
    }

    /// Microseconds since the step began.
    fn micros(&self, instant: Instant) -> f64 {
        instant.saturating_duration_since(self.begin).as_nanos() as f64 / 1000.0
    }

    fn written(&mut self, name: String, tokens: usize, at: Instant) {
        let instant = json!({"name": name, "ph": "i", "s": "t", "ts": self.micros(at), "args": {"tokens": tokens}});
        self.tracks.entry(Track::Decoding).or_default().push(instant);
    }

    fn activity(&mut self, whose: &str, activity: Activity, period: Period) {
        let (track, name) = match activity {
            Activity::Decoding => (Track::Decoding, format!("{whose}decode")),
            Activity::DecodingPart(part) => (Track::DecodingPart(part), format!("{whose}decode part {part}")),
            Activity::RewardWait => (Track::RewardWait, "waiting for rewards".to_owned()),
            Activity::Update => (Track::Update, "update".to_owned()),
        };
        self.span(track, name, period, json!({}));
    }

    fn game(&mut self, whose: &str, game: &GamePlayed<'_>) {
        let (who, index, digest) = match game.player {
            Player::Completion { index, digest } => {
                ("completion", index, blake3::Hash::from_bytes(*digest).to_hex()[..DIGEST_DIGITS].to_owned())
            }
            Player::Elite { index, digest } => ("elite", index, digest.chars().take(DIGEST_DIGITS).collect()),
        };
        let track = game.worker.map_or(Track::Inline, Track::Worker);
        let args = json!({"score": Points(game.score), "ending": game.ending, "fuel": game.fuel, "program": digest});
        self.span(track, format!("{whose}{who} {index} game {}", game.game), game.period, args);
    }

    /// Adds the part of a span that is within the step. Games of completions that were sampled ahead may begin, or even
    /// end, before it.
    fn span(&mut self, track: Track, name: String, period: Period, args: Value) {
        let period = Period { begin: period.begin.max(self.begin), ..period };
        if period.end < period.begin {
            return;
        }
        let span = json!({
            "name": name, "ph": "X", "ts": self.micros(period.begin),
            "dur": (period.end - period.begin).as_nanos() as f64 / 1000.0, "args": args,
        });
        self.tracks.entry(track).or_default().push(span);
    }

    /// Returns the whole trace as JSON.
    fn end(&mut self, record: &StepRecord, end: Instant) -> Value {
        let args = json!({"reward": record.reward, "groups_tied": record.groups_tied});
        let period = Period { begin: self.begin, end };
        self.span(Track::Step, format!("step {}", record.step), period, args);
        let mut events = vec![named("process_name", 0, &format!("grpo-2048, step {}", record.step))];
        for (number, (track, spans)) in std::mem::take(&mut self.tracks).into_iter().enumerate() {
            let thread = number + 1;
            events.push(named("thread_name", thread, &track.name()));
            events.push(json!({
                "name": "thread_sort_index", "ph": "M", "pid": PROCESS, "tid": thread, "args": {"sort_index": thread},
            }));
            events.extend(spans.into_iter().map(|mut span| {
                span["pid"] = PROCESS.into();
                span["tid"] = thread.into();
                span
            }));
        }
        json!({"displayTimeUnit": "ms", "traceEvents": events})
    }
}

impl Track {
    fn name(self) -> String {
        match self {
            Track::Step => "step".into(),
            Track::Decoding => "decoding".into(),
            Track::DecodingPart(part) => format!("decoding, part {part}"),
            Track::Inline => "arena, inline".into(),
            Track::Worker(worker) => format!("arena worker {worker}"),
            Track::RewardWait => "waiting for rewards".into(),
            Track::Update => "update".into(),
        }
    }
}

fn named(what: &str, thread: usize, name: &str) -> Value {
    json!({"name": what, "ph": "M", "pid": PROCESS, "tid": thread, "args": {"name": name}})
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;

    /// The event of that name.
    fn find<'a>(trace: &'a Value, name: &str) -> &'a Value {
        let events = trace["traceEvents"].as_array().unwrap();
        events.iter().find(|event| event["name"] == name).unwrap_or_else(|| panic!("{name} in {trace}"))
    }

    fn track(trace: &Value, event: &Value) -> String {
        let is_name = |other: &&Value| other["name"] == "thread_name" && other["tid"] == event["tid"];
        trace["traceEvents"].as_array().unwrap().iter().find(is_name).unwrap()["args"]["name"].as_str().unwrap().into()
    }

    /// A game of a completion, on worker 3.
    fn game(step: usize, index: usize, game: usize, [begin, end]: [Instant; 2]) -> GamePlayed<'static> {
        GamePlayed {
            step,
            player: Player::Completion { index, digest: &[0xab; 32] },
            game,
            worker: Some(3),
            period: Period { begin, end },
            score: 1024.0,
            ending: "game_over",
            fuel: 77,
        }
    }

    #[test]
    fn only_the_step_asked_for_is_written_and_its_times_are_those_of_the_clock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.json");
        let (start, readings) = (Instant::now(), Cell::new(0_u32));
        // Each reading is a second after the one before.
        let clock = || {
            readings.set(readings.get() + 1);
            start + Duration::from_secs(u64::from(readings.get()))
        };
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut sink = TraceSink::new(path.clone(), 2, &clock);
        for step in [1, 2, 3] {
            sink.note(&Event::StepStarted { step }).unwrap();
            sink.note(&Event::CompletionEnded { step, index: 12, tokens: 40 }).unwrap();
            sink.note(&Event::GamePlayed(&game(step, 12, 0, [at(1250), at(1750)]))).unwrap();
            let period = Period { begin: at(2000), end: at(2001) };
            sink.note(&Event::ActivityDone { step, activity: Activity::Update, period }).unwrap();
            sink.note(&Event::StepDone(&StepRecord { step, ..StepRecord::default() })).unwrap();
            assert_eq!((sink.written(), path.exists()), (step >= 2, step >= 2));
        }
        assert_eq!(readings.get(), 3, "begin, completion and end of step 2 alone");

        let trace: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let played = find(&trace, "completion 12 game 0");
        assert_eq!((played["ts"].as_f64(), played["dur"].as_f64()), (Some(250_000.0), Some(500_000.0)));
        let args = json!({"score": 1024, "ending": "game_over", "fuel": 77, "program": "abababababab"});
        assert_eq!((&played["args"], track(&trace, played).as_str()), (&args, "arena worker 3"));
        let written = find(&trace, "completion 12");
        assert_eq!((written["ph"].as_str(), written["ts"].as_f64()), (Some("i"), Some(1e6)));
        assert_eq!(track(&trace, written), "decoding");
        let step = find(&trace, "step 2");
        assert_eq!((step["ts"].as_f64(), step["dur"].as_f64()), (Some(0.0), Some(2e6)));
        let order: Vec<u64> = ["step 2", "completion 12", "completion 12 game 0", "update"]
            .map(|name| find(&trace, name)["tid"].as_u64().unwrap())
            .into();
        assert_eq!(order, [1, 2, 3, 4], "from top to bottom");
    }

    #[test]
    fn what_is_done_ahead_carries_its_step_and_what_began_before_the_step_is_cut_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.json");
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let clock = || at(1000);
        let mut sink = TraceSink::new(path.clone(), 2, &clock);
        let period = Period { begin: at(1000), end: at(1600) };
        sink.note(&Event::StepStarted { step: 2 }).unwrap();
        sink.note(&Event::GamePlayed(&game(2, 0, 0, [at(100), at(900)]))).unwrap();
        sink.note(&Event::GamePlayed(&game(2, 0, 1, [at(900), at(1100)]))).unwrap();
        sink.note(&Event::GamePlayed(&game(3, 0, 0, [at(1200), at(1300)]))).unwrap();
        sink.note(&Event::CompletionEnded { step: 3, index: 0, tokens: 7 }).unwrap();
        sink.note(&Event::ActivityDone { step: 3, activity: Activity::Decoding, period }).unwrap();
        sink.note(&Event::StepDone(&StepRecord { step: 2, ..StepRecord::default() })).unwrap();
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let names: Vec<&str> =
            trace["traceEvents"].as_array().unwrap().iter().filter_map(|event| event["name"].as_str()).collect();
        assert!(!names.contains(&"completion 0 game 0"), "it was over before the step began: {names:?}");
        let cut = find(&trace, "completion 0 game 1");
        assert_eq!((cut["ts"].as_f64(), cut["dur"].as_f64()), (Some(0.0), Some(100_000.0)));
        let next = find(&trace, "step 3 completion 0 game 0");
        assert_eq!((next["ts"].as_f64(), track(&trace, next).as_str()), (Some(200_000.0), "arena worker 3"));
        assert_eq!(track(&trace, find(&trace, "step 3 decode")), "decoding");
        assert_eq!(find(&trace, "step 3 completion 0")["args"]["tokens"], 7);
    }
}
