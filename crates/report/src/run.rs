//! Reads a run directory, which may still be written to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::columns::{self, Columns};
use super::completions::{self, ShownSample, StepSummary};
use super::frames::Frames;
use super::log::{self, Failures, LogEntry, PackedLog};
use super::tasks::AskedTasks;
use super::{ReportError, configuration};
use crate::metrics::{LAUNCHES_FILE, LaunchRecord, METRICS_FILE};
use crate::plural::counted;
use crate::train::guard::Symptom;
use crate::train::hall_of_fame::{HallOfFame, Member, SIZE};
use crate::train::{advice, run_dir};

/// Most parts of a path by which runs are told apart; the same run twice never is.
const PARTS_MAX: usize = 32;
/// Maximum number of steps whose programs are shown.
const SAMPLED_STEPS: usize = 24;
/// Maximum number of bytes of programs and games of one run on the page.
const SAMPLE_BYTES: usize = 1_500_000;

/// Says what became of the completions of the last step and what to change, if few of them succeed.
fn what_to_change(steps: &Columns, settings: &str) -> Option<String> {
    let last = |key: &str| steps.get(key)?.last().copied().flatten();
    let has_tests = last("tasks/frac_tests").is_some();
    let count = |verdict: &str| last(&format!("verdict/{verdict}")).unwrap_or(0.0) as usize;
    Some(format!("In the last step, {}.", advice::of_recorded(settings, count, has_tests)?))
}

/// Says what the guard warns of in the last step, since when, and what to change.
fn what_the_guard_found(steps: &Columns) -> Vec<String> {
    let numbers = steps.get("step").map_or(&[][..], Vec::as_slice);
    let since = |symptom: Symptom| {
        let levels = steps.get(&format!("guard/{}", symptom.name()))?;
        let standing = levels.iter().rev().take_while(|level| level.is_some_and(|level| level > 0.0)).count();
        numbers.get(levels.len() - standing).copied().flatten()
    };
    let found: Vec<(Symptom, f64)> =
        Symptom::ALL.into_iter().filter_map(|symptom| Some((symptom, since(symptom)?))).collect();
    let standing: Vec<Symptom> = found.iter().map(|(symptom, _)| *symptom).collect();
    let line = |(symptom, since): &(Symptom, f64)| {
        let (described, remedy) = (symptom.described(), symptom.remedy_among(&standing));
        format!("Since step {since} the guard warns of {described}: {remedy}.")
    };
    found.iter().map(line).collect()
}

/// Says at which temperature held-out programs are sampled, if not at that of training, or if it changed as the run went on.
fn sampled_at(settings: &BTreeMap<String, String>, evaluations: &Columns) -> Option<String> {
    let column = |key: &str| evaluations.get(key).into_iter().flatten().copied();
    let recorded = column("step").zip(column("eval_temperature"));
    let mut recorded: Vec<(f64, f64)> = recorded.filter_map(|(step, value)| Some((step?, value?))).collect();
    recorded.dedup_by_key(|(_, value)| *value);
    if recorded.len() > 1 {
        let parts: Vec<String> = recorded.iter().map(|(step, value)| format!("{value:?} from step {step}")).collect();
        let parts = parts.join(", ");
        return Some(format!(
            "Held-out programs were sampled at several temperatures, whose figures do not compare: {parts}."
        ));
    }
    // The settings are those of the newest launch, which may not have evaluated yet.
    let held_out = configuration::evaluated_at(|section, key| match recorded.first() {
        Some((_, value)) if key == "eval_temperature" => Some(format!("{value:?}")),
        _ => settings.get(&format!("{section}.{key}")).cloned(),
    })?;
    let training = settings.get("rollout.temperature")?;
    Some(format!("Held-out programs are sampled at a temperature of {held_out}, those of training at {training}."))
}

/// The content of the page for one run.
#[derive(Debug, Serialize)]
pub struct RunView {
    /// Name of the directory.
    pub name: String,
    /// The directory as the user named it.
    pub path: String,
    pub steps: Columns,
    pub evaluations: Columns,
    /// The distribution of scores of each step.
    pub scores: Vec<StepSummary>,
    pub hall_of_fame: Vec<Famous>,
    /// The best, median and worst programs of some steps; with tasks, many programs of these steps.
    pub samples: Vec<ShownSample>,
    pub failures: Failures,
    /// The prompts that were asked, as tasks.
    pub tasks: AskedTasks,
    /// All completions, if the page contains them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<PackedLog>,
    /// When processes worked on the run, and how they ended.
    pub launches: Vec<LaunchRecord>,
    pub configuration: BTreeMap<String, String>,
    /// Notes for the reader about missing information.
    pub notes: Vec<String>,
    /// Those of them that tell of what is damaged, or what the guard found.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// A member of the hall of fame with the games of the step that sampled it.
#[derive(Debug, Serialize)]
pub struct Famous {
    /// Without its number of training games, whose key is that of the games here.
    #[serde(flatten)]
    member: Member,
    /// Number of training games that its mean score is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    training_games: Option<u64>,
    games: Vec<Frames>,
}

/// Reads one run repeatedly, but files of completions again only if their length has changed.
pub struct RunReader {
    path: PathBuf,
    /// What the page calls the run.
    name: String,
    /// The completions of each step that have been read.
    seen: BTreeMap<usize, StepRead>,
}

/// The completions of one step in the form that the page needs.
struct StepRead {
    /// Length of their file when it was read, in bytes.
    length: u64,
    /// Number of its lines that cannot be read.
    unreadable: usize,
    summary: Option<StepSummary>,
    entries: Vec<LogEntry>,
}

impl RunReader {
    /// Readers of runs, with names that tell them apart: as many last parts of each path as that takes.
    pub fn open_all(paths: &[PathBuf]) -> Result<Vec<RunReader>, ReportError> {
        let mut readers = paths.iter().map(|path| RunReader::open(path)).collect::<Result<Vec<_>, _>>()?;
        let named = |parts| paths.iter().map(move |path| last_parts(path, parts));
        let distinct = |parts: &usize| named(*parts).collect::<BTreeSet<_>>().len() == paths.len();
        let parts = (1..PARTS_MAX).find(distinct).unwrap_or(1);
        readers.iter_mut().zip(named(parts)).for_each(|(reader, name)| reader.name = name);
        Ok(readers)
    }

    /// A reader of a directory that holds a run.
    pub fn open(path: &Path) -> Result<RunReader, ReportError> {
        let named = || path.to_owned();
        match fs::metadata(path) {
            Ok(found) if !found.is_dir() => return Err(ReportError::File { path: named() }),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ReportError::Missing { path: named() });
            }
            Err(source) => return Err(ReportError::Io { path: named(), source }),
        }
        let is_there = |name: &str| {
            let file = path.join(name);
            ReportError::if_there(&file, fs::metadata(&file).map(|found| found.is_file()))
        };
        match is_there(METRICS_FILE)? || is_there("config.toml")? {
            true => Ok(RunReader { path: named(), name: last_parts(path, 1), seen: BTreeMap::new() }),
            false => Err(ReportError::NoRun { path: named() }),
        }
    }

    /// Lengths of the files that grow with the run, in bytes, which differ whenever there is more to read.
    pub fn extent(&self) -> [u64; 3] {
        [METRICS_FILE, "hall_of_fame.json", LAUNCHES_FILE]
            .map(|name| fs::metadata(self.path.join(name)).map_or(0, |found| found.len()))
    }

    /// The current state of the run.
    pub fn read(&mut self) -> Result<RunView, ReportError> {
        let (mut notes, mut warnings) = (Vec::new(), Vec::new());
        let text = self.text(METRICS_FILE)?.unwrap_or_default();
        let records = columns::read(&text);
        if records.steps.is_empty() {
            notes.push("No step has been recorded yet: a run writes its first line after its first step.".to_owned());
        }
        if records.unreadable > 0 {
            warnings.push(format!("{METRICS_FILE}: {} left out: no records.", counted(records.unreadable, "line")));
        }
        let settings = self.text("config.toml")?;
        notes.extend(settings.as_deref().and_then(|settings| what_to_change(&records.steps, settings)));
        warnings.extend(what_the_guard_found(&records.steps));
        let configuration = settings.and_then(|text| configuration::flat(&text));
        if configuration.is_none() {
            warnings.push("config.toml is missing or cannot be read: settings are not shown.".to_owned());
        }
        self.summarise()?;
        let damaged: usize = self.seen.values().map(|step| step.unreadable).sum();
        if damaged > 0 {
            warnings.push(format!("completions: {} left out: unreadable.", counted(damaged, "line")));
        }
        let summaries: Vec<&StepSummary> = self.seen.values().filter_map(|step| step.summary.as_ref()).collect();
        if summaries.is_empty() && !records.steps.is_empty() {
            notes.push("No completions were logged: there are no programs and games to show.".to_owned());
        }
        let launches = self.launches()?;
        let (members, note) = self.members(&launches)?;
        // Of tasks, whose solutions do not compare, the page has no hall of fame.
        let note = note.filter(|_| !records.steps.contains_key("tasks/frac_tests"));
        let is_damage = note.as_ref().is_some_and(|note| note.contains("cannot be read"));
        let told = if is_damage { &mut warnings } else { &mut notes };
        told.extend(note);
        let samples = samples(&summaries);
        if records.evaluations.get("eval_tasks/held_out").is_some_and(|counts| counts.contains(&Some(0.0))) {
            notes.push("No task is held out: evaluations ask tasks that the run trains on.".to_owned());
        }
        notes.extend(configuration.as_ref().and_then(|settings| sampled_at(settings, &records.evaluations)));
        notes.extend_from_slice(&warnings);
        Ok(RunView {
            name: self.name.clone(),
            path: self.path.display().to_string(),
            tasks: AskedTasks::of(&self.entries(), &samples),
            samples,
            scores: summaries.into_iter().cloned().collect(),
            hall_of_fame: members.into_iter().map(|member| self.famous(member)).collect(),
            failures: Failures::of(&self.entries()),
            completions: None,
            launches,
            configuration: configuration.unwrap_or_default(),
            steps: records.steps,
            evaluations: records.evaluations,
            notes,
            warnings,
        })
    }

    /// The current state of the run with all its completions, as far as they fit on a page.
    pub fn read_whole(&mut self) -> Result<RunView, ReportError> {
        let mut view = self.read()?;
        let packed = log::packed(&self.entries(), log::PACKED_BYTES).map_err(ReportError::io(&self.path))?;
        view.completions = (packed.count > 0).then_some(packed);
        Ok(view)
    }

    /// All completions as they were last read, as JSON, the newest step first.
    pub fn completions_json(&self) -> String {
        log::listed(&self.entries().into_iter().rev().flatten().collect::<Vec<_>>())
    }

    fn entries(&self) -> Vec<&[LogEntry]> {
        self.seen.values().map(|step| step.entries.as_slice()).collect()
    }

    fn launches(&self) -> Result<Vec<LaunchRecord>, ReportError> {
        let text = self.text(LAUNCHES_FILE)?.unwrap_or_default();
        // Lines of a later version and incomplete lines are skipped.
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    fn text(&self, name: &str) -> Result<Option<String>, ReportError> {
        let path = self.path.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ReportError::Io { path, source }),
        }
    }

    /// Reads the files of completions that are new or have changed.
    fn summarise(&mut self) -> Result<(), ReportError> {
        let files = completions::completion_files(&self.path)?;
        self.seen.retain(|step, _| files.iter().any(|(present, _)| present == step));
        for (step, path) in files {
            let length = fs::metadata(&path).map_or(0, |found| found.len());
            if self.seen.get(&step).is_some_and(|known| known.length == length) {
                continue;
            }
            let (logged, unreadable) = match completions::read_completions(&path) {
                Ok(read) => read,
                // A run that is resumed removes the steps behind its checkpoint, also after they were listed here.
                Err(ReportError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    self.seen.remove(&step);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let entries = LogEntry::of_step(&logged);
            let summary = completions::summarise(step, logged);
            self.seen.insert(step, StepRead { length, unreadable, summary, entries });
        }
        Ok(())
    }

    /// The members of the hall of fame, from its file at the end of a run, or else from the newest checkpoint; and a
    /// note for the reader if there are none.
    fn members(&self, launches: &[LaunchRecord]) -> Result<(Vec<Member>, Option<String>), ReportError> {
        let unreadable = |name: &str| Some(format!("{name}: the hall of fame cannot be read and is left out."));
        if let Some(text) = self.text("hall_of_fame.json")? {
            // Of a run that goes on, the file is from an earlier end.
            if let Some(members) = self.members_since(launches.last()) {
                return Ok((members, None));
            }
            return Ok(match serde_json::from_str(&text) {
                Ok(members) => (members, None),
                Err(_) => (Vec::new(), unreadable("hall_of_fame.json")),
            });
        }
        let Some(state) = self.newest_state() else {
            return Ok((Vec::new(), Some("The hall of fame appears with the first checkpoint.".to_owned())));
        };
        Ok(match Vec::<Member>::deserialize(&state["hall_of_fame"]) {
            // The others are candidates.
            Ok(members) => (members.into_iter().take(SIZE).collect(), None),
            Err(_) => (Vec::new(), unreadable("trainer_state.json")),
        })
    }

    /// The members of a run that goes on, if it has a checkpoint of its newest launch: those of the checkpoint, and
    /// those that were settled at an earlier end, ranked as at the end of the run.
    fn members_since(&self, newest: Option<&LaunchRecord>) -> Option<Vec<Member>> {
        let Some(LaunchRecord::Begun { step, .. }) = newest else { return None };
        let state = self.newest_state()?;
        let is_newer = state["global_step"].as_u64().is_some_and(|saved| saved > *step as u64);
        let mut hall = HallOfFame::deserialize(&state["hall_of_fame"]).ok().filter(|_| is_newer)?;
        hall.readmit(&self.path);
        hall.rank();
        Some(hall.members().to_vec())
    }

    /// The state in the newest checkpoint; null if it cannot be read, as a run that is still training may remove the
    /// checkpoint meanwhile.
    fn newest_state(&self) -> Option<Value> {
        let path = run_dir::latest_checkpoint(&self.path)?.join("trainer_state.json");
        Some(fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default())
    }

    fn famous(&self, mut member: Member) -> Famous {
        let path = self.path.join(format!("completions/step_{:05}.jsonl", member.step));
        let logged = completions::read_completions(&path).map(|(logged, _)| logged).unwrap_or_default();
        let seen = logged.iter().find(|logged| logged.program.as_deref() == Some(&member.program));
        let games = seen.map(|logged| logged.evaluation.games.iter().filter_map(Frames::of).collect());
        let training_games = member.games.take();
        Famous { member, training_games, games: games.unwrap_or_default() }
    }
}

/// The last parts of a run's path, at most so many.
fn last_parts(path: &Path, parts: usize) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let all: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    all[all.len().saturating_sub(parts)..].join("/")
}

/// The samples of steps at equal distances over the run, including the first and the last, up to [`SAMPLE_BYTES`]. A step
/// has all its samples or none; of the last one, which may be too large alone, there are as many as fit.
fn samples(summaries: &[&StepSummary]) -> Vec<ShownSample> {
    let count = summaries.len().min(SAMPLED_STEPS);
    let place = |index: usize| index * (summaries.len() - 1) / (count - 1).max(1);
    let chosen: Vec<usize> = (0..count).map(place).collect();
    let mut bytes = 0;
    let mut kept: Vec<ShownSample> = Vec::new();
    // Steps are chosen from the last one backwards, because the newest are the most interesting.
    for &index in chosen.iter().rev() {
        let step = &summaries[index].samples;
        bytes += step.iter().map(size).sum::<usize>();
        match bytes <= SAMPLE_BYTES {
            true => kept.extend(step.iter().cloned()),
            false if kept.is_empty() => kept.extend(fitting(step).cloned()),
            false => break,
        }
    }
    kept
}

/// The first samples of a step that fit into [`SAMPLE_BYTES`].
fn fitting(step: &[ShownSample]) -> impl Iterator<Item = &ShownSample> {
    let mut bytes = 0;
    step.iter().take_while(move |sample| {
        bytes += size(sample);
        bytes <= SAMPLE_BYTES
    })
}

/// About how many bytes a sample takes on the page.
fn size(sample: &ShownSample) -> usize {
    let failed = sample.tests.as_ref().and_then(|tests| tests.failed.as_ref());
    let transcripts = sample.transcripts.iter().map(|told| &told.transcript);
    sample.source.len()
        + sample.reason.len()
        + failed.map_or(0, |failed| failed.reason.len())
        + sample.games.iter().map(|game| 2 * game.moves.len() + 200).sum::<usize>()
        + transcripts.map(|told| told.last_observation.len() + told.actions.concat().len()).sum::<usize>()
}
