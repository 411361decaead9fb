//! `metrics.jsonl`: one line per step and one per evaluation, written immediately.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::{EvaluationRecord, Event, Sink, SinkError};
use crate::files;
use crate::json_line;
use crate::plural::counted;

/// Name of the file in the output directory.
pub const METRICS_FILE: &str = "metrics.jsonl";

/// Appends [`StepRecord`](super::StepRecord)s and evaluations to a file of the output directory, one line each.
#[derive(Default)]
pub struct JsonlSink<'a> {
    open: Option<Opened>,
    /// The step after which the file is continued. Evaluations of later ones are in no file yet.
    after: usize,
    /// Tells the user what somebody else did to the file.
    warn: Option<&'a dyn Fn(&str)>,
}

struct Opened {
    path: PathBuf,
    file: File,
    /// The directory that the file was opened in. Another that has come to its path is another run's.
    directory: File,
}

impl<'a> JsonlSink<'a> {
    /// Where nothing is open yet. `warn` tells the user what somebody else did to the file.
    pub fn new(warn: &'a dyn Fn(&str)) -> Self {
        JsonlSink { warn: Some(warn), ..JsonlSink::default() }
    }

    /// Continues the file `path` after `step` steps. Lines of later steps and an incomplete last line are removed. A
    /// file that does not exist is created.
    pub fn open(path: &Path, step: usize) -> Result<Self, SinkError> {
        let text = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(SinkError::at(path)(error)),
        };
        let file = keep(path, &text, &lines_up_to(&text, step))?;
        let directory = File::open(files::directory_of(path)).map_err(SinkError::at(path))?;
        Ok(JsonlSink { open: Some(Opened { path: path.to_owned(), file, directory }), after: step, warn: None })
    }

    /// Goes on in the file that is at the path by now. One that was removed is written again, with all its lines.
    fn follow(&mut self) -> Result<(), SinkError> {
        let Some(Opened { path, file, directory }) = &mut self.open else { return Ok(()) };
        let is_at = |open: &File, path: &Path| files::is_at(open, path).map_err(SinkError::at(path));
        // A directory that has gone is told of by those who write whole files there.
        if is_at(file, path)? || !is_at(directory, files::directory_of(path))? {
            return Ok(());
        }
        let mut held = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut held)).map_err(SinkError::at(path))?;
        let what = match fs::read(&*path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *file = keep(path, &[], &held)?;
                "removed while the run was writing it; it was written again".to_owned()
            }
            found => {
                let found = found.map_err(SinkError::at(path))?;
                // Somebody else wrote it: all of it stays, and its last line is ended.
                let kept = if found.last().is_none_or(|&byte| byte == b'\n') {
                    found.clone()
                } else {
                    [&found[..], b"\n"].concat()
                };
                *file = keep(path, &found, &kept)?;
                let [had, has] = [&held, &kept].map(|text| text.iter().filter(|&&byte| byte == b'\n').count());
                format!(
                    "replaced while the run was writing it ({had} lines before, {has} now); the run goes on in the new file"
                )
            }
        };
        if let Some(warn) = self.warn {
            warn(&format!("warning: {}: was {what}", path.display()));
        }
        Ok(())
    }

    /// Removes the line of an evaluation after `step`, if the file was continued with one: a process that made it and ended
    /// before it was in a checkpoint has left it, and it is made again.
    fn forget_evaluation(&mut self, step: usize) -> Result<(), SinkError> {
        let Some(Opened { path, file, .. }) = self.open.as_mut().filter(|_| step <= self.after) else {
            return Ok(());
        };
        let text = fs::read(&*path).map_err(SinkError::at(path))?;
        let lines = text.split_inclusive(|&byte| byte == b'\n').filter(|line| !is_evaluation(line, step));
        *file = keep(path, &text, &lines.flatten().copied().collect::<Vec<u8>>())?;
        Ok(())
    }

    fn line(&mut self, record: &impl serde::Serialize) -> Result<(), SinkError> {
        let Some(Opened { path, file, .. }) = &mut self.open else { return Ok(()) };
        let line = json_line(record).map_err(|error| SinkError::at(path)(error.into()))?;
        // Each line is one unbuffered write, so that readers and a kill -9 find complete lines and at most one
        // incomplete at the end.
        file.write_all(line.as_bytes()).map_err(SinkError::at(path))
    }
}

impl Sink for JsonlSink<'_> {
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::RunStarted(header) => {
                let opened = JsonlSink::open(&header.output_dir.join(METRICS_FILE), header.resumed_from)?;
                *self = JsonlSink { warn: self.warn, ..opened };
                Ok(())
            }
            Event::StepDone(record) => {
                self.follow()?;
                self.line(record)
            }
            Event::Evaluated(record) => {
                self.follow()?;
                self.forget_evaluation(record.step)?;
                self.line(record)
            }
            _ => Ok(()),
        }
    }
}

/// Continues the file `path`, which has `text`, after the part of it that is kept.
fn keep(path: &Path, text: &[u8], kept: &[u8]) -> Result<File, SinkError> {
    if kept.len() != text.len() {
        files::write_whole(path, kept).map_err(SinkError::at(path))?;
    }
    OpenOptions::new().read(true).append(true).create(true).open(path).map_err(SinkError::at(path))
}

/// The complete lines that belong to steps up to `step`.
fn lines_up_to(text: &[u8], step: usize) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let number = serde_json::from_slice::<serde_json::Value>(line).ok().and_then(|value| value["step"].as_u64());
        if line.ends_with(b"\n") && number.is_some_and(|number| number <= step as u64) {
            kept.extend_from_slice(line);
        }
    }
    kept
}

/// What to say of a file `path` that lacks lines of steps up to `step` or of these evaluations, which nothing writes again; none
/// where it has them all.
pub fn missing_lines(path: &Path, step: usize, evaluations: &[EvaluationRecord]) -> Option<String> {
    let text = fs::read(path).unwrap_or_default();
    let lines = text.split(|&byte| byte == b'\n');
    let values: Vec<serde_json::Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let missing = |key: &str, mut due: BTreeSet<usize>| {
        for of in values.iter().filter(|value| value.get(key).is_some()).filter_map(|value| value["step"].as_u64()) {
            due.remove(&(of as usize));
        }
        due
    };
    let kinds = [
        ("step", "log_history", missing("reward", (1..=step).collect())),
        ("evaluation", "evaluations", missing("eval_reward", evaluations.iter().map(|record| record.step).collect())),
    ];
    let told = kinds.into_iter().filter_map(|(what, kept_in, steps)| {
        Some(format!(
            "warning: {}: has no line of {} up to step {step}, the first of them {}; {kept_in} in the checkpoint's \
             trainer_state.json has what they came to",
            path.display(),
            counted(steps.len(), what),
            steps.first()?
        ))
    });
    Some(told.collect::<Vec<String>>().join("\n")).filter(|told| !told.is_empty())
}

/// Whether a line is that of the evaluation after `step`. Lines begin with their step, so that others need not be read.
fn is_evaluation(line: &[u8], step: usize) -> bool {
    let begins = format!("{{\"step\":{step},");
    line.starts_with(begins.as_bytes()) && serde_json::from_slice::<EvaluationRecord>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::{RunHeader, StepRecord};
    use super::*;
    use std::cell::RefCell;

    fn step(step: usize) -> StepRecord {
        StepRecord { step, reward: step as f64 / 10.0, ..StepRecord::default() }
    }

    #[test]
    fn a_resumed_file_equals_an_unbroken_one() {
        let dir = tempfile::tempdir().unwrap();
        let (unbroken, broken) = (dir.path().join("unbroken.jsonl"), dir.path().join("broken.jsonl"));
        let mut sink = JsonlSink::open(&unbroken, 0).unwrap();
        (1..=4).for_each(|n| sink.note(&Event::StepDone(&step(n))).unwrap());
        let mut sink = JsonlSink::open(&broken, 0).unwrap();
        (1..=3).for_each(|n| sink.note(&Event::StepDone(&step(n))).unwrap());
        sink.open.as_mut().unwrap().file.write_all(b"{\"step\":4,\"rew").unwrap();
        let mut sink = JsonlSink::open(&broken, 2).unwrap();
        (3..=4).for_each(|n| sink.note(&Event::StepDone(&step(n))).unwrap());
        assert_eq!(fs::read(&broken).unwrap(), fs::read(&unbroken).unwrap());
    }

    #[test]
    fn a_torn_last_line_is_dropped_even_when_no_step_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        fs::write(&path, "{\"step\":1}\n{\"step\":2").unwrap();
        drop(JsonlSink::open(&path, 2).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"step\":1}\n");
    }

    #[test]
    fn a_file_that_somebody_removes_or_replaces_gets_all_that_comes_later() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(METRICS_FILE);
        let told = RefCell::new(Vec::new());
        let warn = |words: &str| told.borrow_mut().push(words.to_owned());
        let mut sink = JsonlSink::new(&warn);
        let header = RunHeader { output_dir: dir.path().to_owned(), ..RunHeader::default() };
        sink.note(&Event::RunStarted(&header)).unwrap();
        let mut steps_after = |number: usize| -> Vec<u64> {
            sink.note(&Event::StepDone(&step(number))).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
            lines.filter_map(|line| line["step"].as_u64()).collect()
        };
        assert_eq!([steps_after(1), steps_after(2)], [vec![1], vec![1, 2]]);
        fs::remove_file(&path).unwrap();
        assert_eq!(steps_after(3), [1, 2, 3]);
        let text = fs::read_to_string(&path).unwrap();
        // What another wrote stays as it is, but for the end of its last line.
        let replaced = text.replacen("{\"step\":2,", "a note: {\"step\":2,", 1);
        files::write_whole(&path, replaced.trim_end().as_bytes()).unwrap();
        assert_eq!(steps_after(4), [1, 3, 4]);
        assert!(fs::read_to_string(&path).unwrap().starts_with(&replaced));
        let told = told.borrow();
        assert!(told[0].ends_with("was removed while the run was writing it; it was written again"), "{told:?}");
        assert!(told[1].contains("(3 lines before, 3 now)") && told.len() == 2, "{told:?}");
    }

    #[test]
    fn nothing_is_written_into_the_directory_that_has_come_to_the_place_of_the_runs_own() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        fs::create_dir(&dir).unwrap();
        let mut sink = JsonlSink::open(&dir.join(METRICS_FILE), 0).unwrap();
        fs::rename(&dir, root.path().join("moved")).unwrap();
        fs::create_dir(&dir).unwrap();
        sink.note(&Event::StepDone(&step(1))).unwrap();
        assert!(!dir.join(METRICS_FILE).exists());
        assert!(fs::read_to_string(root.path().join("moved").join(METRICS_FILE)).is_ok_and(|text| !text.is_empty()));
    }

    #[test]
    fn lines_that_a_file_lacks_are_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(METRICS_FILE);
        let evaluations = [2, 4].map(|step| EvaluationRecord { step, ..EvaluationRecord::default() });
        let missing = |count: usize| missing_lines(&path, 4, &evaluations[..count]);
        assert!(missing(0).is_some_and(|words| words.contains("no line of 4 steps")), "there is no file");
        let mut sink = JsonlSink::open(&path, 0).unwrap();
        (1..=4).for_each(|n| sink.note(&Event::StepDone(&step(n))).unwrap());
        sink.note(&Event::Evaluated(&evaluations[0])).unwrap();
        assert_eq!(missing(1), None);
        let words = missing(2).unwrap();
        assert!(
            words.contains("no line of 1 evaluation up to step 4, the first of them 4; evaluations in "),
            "{words}"
        );
        let text = fs::read_to_string(&path).unwrap();
        let broken = text.replacen("{\"step\":2,", "{\"step\":\0,", 1);
        let left: Vec<&str> = broken.lines().filter(|line| !line.starts_with("{\"step\":3,")).collect();
        fs::write(&path, left.join("\n")).unwrap();
        let words = missing(0).unwrap();
        assert!(words.contains("no line of 2 steps up to step 4, the first of them 2;"), "{words}");
    }

    #[test]
    fn an_evaluation_that_no_checkpoint_has_is_replaced_when_it_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let header = RunHeader { output_dir: dir.path().to_owned(), resumed_from: 1, ..RunHeader::default() };
        let evaluation = |step, reward| EvaluationRecord { step, reward, ..EvaluationRecord::default() };
        for reward in [0.25, 0.5] {
            let mut sink = JsonlSink::default();
            sink.note(&Event::RunStarted(&header)).unwrap();
            sink.note(&Event::Evaluated(&evaluation(0, 0.0))).unwrap();
            sink.note(&Event::Evaluated(&evaluation(1, reward))).unwrap();
            sink.note(&Event::StepDone(&step(1))).unwrap();
        }
        let text = fs::read_to_string(dir.path().join(METRICS_FILE)).unwrap();
        let of = |key: &str| -> Vec<f64> {
            let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            lines.filter_map(|line| line[key].as_f64()).collect()
        };
        assert_eq!(of("eval_reward"), [0.0, 0.5], "{text}");
        assert_eq!(of("reward"), [0.1, 0.1], "steps stay: {text}");
    }
}
