//! Tests of the trace of a training step, in whole runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::done;
use crate::runs::lines;

/// Trains a tiny run in `run` below `directory`, with two games per program.
fn train(directory: &Path, more: &[&str]) -> Output {
    let small = [
        &["train", "--output-dir", "run", "--groups", "2", "--games", "2", "--seed", "11"][..],
        &["--max-completion-length", "160", "--set", "train.eval_samples=0", "--set", "train.preflight=false"],
        &["--set", "train.settle=false", "--set", "train.game_seconds=0.05"],
        &["--set", "rollout.resample_tied=0", "--trace", "step.json"],
    ];
    done(directory, &[&small.concat(), more].concat())
}

/// The events of a trace by the names of their tracks.
struct Trace {
    tracks: BTreeMap<String, Vec<Value>>,
}

impl Trace {
    fn read(path: &Path) -> Trace {
        let whole: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let events = whole["traceEvents"].as_array().unwrap();
        let names: BTreeMap<u64, String> = events
            .iter()
            .filter(|event| event["name"] == "thread_name")
            .map(|event| (event["tid"].as_u64().unwrap(), event["args"]["name"].as_str().unwrap().to_owned()))
            .collect();
        let mut tracks: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for event in events.iter().filter(|event| event["ph"] != "M") {
            let name = &names[&event["tid"].as_u64().unwrap()];
            tracks.entry(name.clone()).or_default().push(event.clone());
        }
        Trace { tracks }
    }

    /// Begin and end of the spans of a track in microseconds, in order.
    fn spans(&self, track: &str) -> Vec<(f64, f64)> {
        let spans = self.tracks[track].iter().filter(|event| event["ph"] == "X");
        let mut spans: Vec<(f64, f64)> = spans
            .map(|event| {
                let begin = event["ts"].as_f64().unwrap();
                (begin, begin + event["dur"].as_f64().unwrap())
            })
            .collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        spans
    }

    /// The tracks of games.
    fn arena(&self) -> BTreeSet<&str> {
        self.tracks.keys().map(String::as_str).filter(|name| name.starts_with("arena")).collect()
    }

    /// Every game: its name, with score, ending and program.
    fn games(&self) -> Games {
        let events = self.arena().into_iter().flat_map(|track| &self.tracks[track]);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        events
            .map(|event| {
                let args = &event["args"];
                let game = (args["score"].as_u64().unwrap(), text(&args["ending"]), text(&args["program"]));
                (text(&event["name"]), game)
            })
            .collect()
    }

    /// Asserts what holds for any timing: all spans are within the step, spans of a track do not overlap, and
    /// everything comes after what it depends on.
    fn check(&self, step: &str) {
        self.check_tracks(step);
        let [decode] = self.spans("decoding")[..] else { panic!("one batch") };
        for event in self.tracks["decoding"].iter().filter(|event| event["ph"] == "i") {
            let at = event["ts"].as_f64().unwrap();
            assert!(decode.0 <= at && at <= decode.1, "{event} outside {decode:?}");
        }
        let [update] = self.spans("update")[..] else { panic!("one update") };
        assert!(decode.1 <= update.0);
        let waits = self.spans("waiting for rewards");
        assert!(waits[0].0 >= decode.1 - 5e-4 && waits.last().unwrap().1 <= update.0, "{waits:?}");
    }

    /// Asserts that all spans are within the step and that spans of a track do not overlap.
    fn check_tracks(&self, step: &str) {
        let [whole] = self.spans("step")[..] else { panic!("one step") };
        assert_eq!((whole.0, &self.tracks["step"][0]["name"]), (0.0, &Value::from(step)));
        for track in self.tracks.keys() {
            let spans = self.spans(track);
            // The unit is a microsecond; the tolerance is half a nanosecond.
            assert!(spans.iter().all(|&(begin, end)| begin >= 0.0 && end <= whole.1 + 5e-4), "{track}: {spans:?}");
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 5e-4), "{track}: {spans:?}");
        }
    }
}

/// Games by their names: score, ending and program.
type Games = BTreeMap<String, (u64, String, String)>;

/// Asserts that completions have the games of the log. A program that the interpreter rejects has a span but no outcome.
fn assert_logged(games: &Games, logged: &Games) {
    for (name, game) in games.iter().filter(|(name, _)| name.starts_with("completion")) {
        let is_rejected = ["not_compiled", "no_function"].contains(&game.1.as_str());
        assert!(is_rejected || logged.get(name) == Some(game), "{name}: {game:?}");
    }
}

/// The games of a step's completions, from the log of the run.
fn logged(directory: &Path, step: &str) -> Games {
    let mut games = BTreeMap::new();
    for line in lines(&directory.join("run/completions").join(step)) {
        for (game, outcome) in line["games"].as_array().unwrap().iter().enumerate() {
            let digest = line["program"].as_str().unwrap()[..12].to_owned();
            let ending = outcome["ending"].as_str().unwrap().to_owned();
            let name = format!("completion {} game {game}", line["index"]);
            games.insert(name, (outcome["score"].as_u64().unwrap(), ending, digest));
        }
    }
    games
}

#[test]
fn a_trace_shows_every_worker_and_part_of_the_step_that_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    // A group of 17 completions is a part. Elites play again from the second step on.
    let more = ["--steps", "2", "--num-generations", "17", "--parallel-rewards", "2"];
    let output = train(dir.path(), &[&more[..], &["--set", "grpo.elite_from_step=2"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("trace of step 2: step.json"), "{said}");

    let trace = Trace::read(&dir.path().join("step.json"));
    trace.check("step 2");
    assert_eq!(trace.arena().into_iter().collect::<Vec<_>>(), ["arena worker 0", "arena worker 1"]);
    let parts = [trace.spans("decoding, part 0"), trace.spans("decoding, part 1")];
    assert!(parts.iter().all(|part| part.len() == 1), "{parts:?}");
    let written = trace.tracks["decoding"].iter().filter(|event| event["ph"] == "i").count();
    assert_eq!(written, 34, "an instant for each completion");

    let (games, logged) = (trace.games(), logged(dir.path(), "step_00002.jsonl"));
    let of = |who: &str| games.iter().filter(|(name, _)| name.starts_with(who)).count();
    assert!(of("completion") > 10 && of("elite") > 0, "{games:?}");
    assert_logged(&games, &logged);
    assert!(trace.tracks.values().flatten().all(|event| event["args"].is_object()));
}

#[test]
fn without_workers_games_are_on_the_loops_own_track() {
    let dir = tempfile::tempdir().unwrap();
    train(dir.path(), &["--steps", "1", "--num-generations", "4", "--sequential"]);
    let trace = Trace::read(&dir.path().join("step.json"));
    trace.check("step 1");
    assert_eq!(trace.arena().into_iter().collect::<Vec<_>>(), ["arena, inline"]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "the run and the trace, and nothing half written");
}

#[test]
fn a_trace_of_a_step_that_was_written_ahead_shows_its_games_beside_the_writing_of_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--steps", "3", "--num-generations", "4", "--parallel-rewards", "2", "--steps-ahead", "1"];
    train(dir.path(), &more);
    let trace = Trace::read(&dir.path().join("step.json"));
    trace.check_tracks("step 2");
    let named = |track: &str, name: &str| trace.tracks[track].iter().filter(|event| event["name"] == name).count();
    assert_eq!([named("decoding", "decode"), named("decoding", "step 3 decode")], [0, 1]);
    let [decode] = trace.spans("decoding")[..] else { panic!("one batch") };
    let [update] = trace.spans("update")[..] else { panic!("one update") };
    let waits = trace.spans("waiting for rewards");
    assert!(decode.1 <= waits[0].0 && waits.last().unwrap().1 <= update.0 && waits[0].1 < update.1);
    let written = trace.tracks["decoding"].iter().filter(|event| event["ph"] == "i");
    assert!(written.clone().all(|event| event["name"].as_str().unwrap().starts_with("step 3 completion ")));
    assert_eq!(written.count(), 8);
    // The trace has games of this step that had not ended before it, and games of the next step that have begun.
    assert_logged(&trace.games(), &logged(dir.path(), "step_00002.jsonl"));
    assert!(trace.games().keys().any(|name| name.starts_with("step 3 completion ")), "{:?}", trace.games());
}
