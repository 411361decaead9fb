//! The files of a search: its database, from which it goes on, the best program, and the database in the form of OpenEvolve.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::database::{Candidate, Cell, Database};
use super::error::EvolveError;
use crate::config::GrpoConfig;
use crate::files;
use crate::grpo::{self, Division, EntropyController};
use crate::train::run_dir::{self, BEST, Fingerprint, RunDirError};

const STATE: &str = "evolve.json";
/// The directory below which OpenEvolve's visualiser looks for a checkpoint, which it knows by its name.
const OPEN_EVOLVE: &str = "openevolve";

/// What a search goes on from, beside the weights.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    /// The settings that must be equal to go on: an object, or the text of an earlier version.
    pub settings: Value,
    pub database: Database,
    /// How updates are divided into parts, if there are updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<Division>,
    /// The controller of the entropy bonus, if there are updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<EntropyController>,
    /// The round that was to be the last, by which a schedule of the learning rate falls, if there are updates; none is known of
    /// a search that an earlier version began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_round: Option<usize>,
}

impl State {
    /// Takes note that `rounds` is the last round. Returns what to say where a schedule of the learning rate falls otherwise than
    /// it did so far.
    pub(super) fn rescheduled(&mut self, config: &GrpoConfig, rounds: usize) -> Option<String> {
        let had = self.last_round.replace(rounds).unwrap_or(rounds);
        grpo::rescheduled(config, "round", self.database.rounds, had, rounds)
    }
}

/// Refuses a directory with something in it that no search has written, as `train` does. Leaves nothing behind.
///
/// # Errors
/// [`EvolveError::Foreign`], or [`EvolveError::Dir`] where nothing can be created.
pub fn check_dir(dir: &Path) -> Result<(), EvolveError> {
    if dir.join(STATE).exists() {
        return Ok(());
    }
    if run_dir::is_free(dir)? { Ok(()) } else { Err(EvolveError::Foreign { path: dir.to_owned() }) }
}

/// The state of a search that was stopped; none in a new directory.
pub(super) fn read(dir: &Path, settings: &Fingerprint) -> Result<Option<State>, EvolveError> {
    let path = dir.join(STATE);
    if !path.exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path).map_err(RunDirError::io(&path))?;
    let state: State = serde_json::from_str(&text)
        .map_err(|error| EvolveError::Damaged { path: path.clone(), reason: error.to_string() })?;
    match settings.differing(&state.settings) {
        None => Ok(Some(state)),
        // One that was stopped in its first round has nothing to lose.
        Some(_) if state.database.rounds == 0 => Ok(None),
        Some(differing) => Err(EvolveError::OtherSearch { path, differing }),
    }
}

/// Writes the state of the search and the best program so far. Without one, that of a search with other settings, which was stopped
/// in its first round, is removed: it would pass for this one's.
pub(super) fn write(dir: &Path, state: &State) -> Result<(), RunDirError> {
    write_json(&dir.join(STATE), &json!(state))?;
    let path = dir.join(BEST);
    match state.database.ranked().first() {
        Some(best) => write_text(&path, &best.source),
        None if path.exists() => fs::remove_file(&path).map_err(RunDirError::io(&path)),
        None => Ok(()),
    }
}

/// Writes the program that was chosen at the end, and the database as OpenEvolve has it.
pub(super) fn write_best(dir: &Path, database: &Database, best: &Candidate) -> Result<(), RunDirError> {
    write_text(&dir.join(BEST), &best.source)?;
    let all = dir.join(OPEN_EVOLVE);
    if all.exists() {
        // It is that of fewer rounds, or of an earlier version.
        fs::remove_dir_all(&all).map_err(RunDirError::io(&all))?;
    }
    let checkpoint = all.join(format!("checkpoint_{}", database.rounds));
    let programs = checkpoint.join("programs");
    fs::create_dir_all(&programs).map_err(RunDirError::io(&programs))?;
    for candidate in database.candidates() {
        write_json(&programs.join(format!("{}.json", name(candidate.id))), &program(candidate))?;
    }
    let islands = database.islands();
    let names = |members: &[&Candidate]| members.iter().map(|member| name(member.id)).collect::<Vec<_>>();
    let map = |members: &Vec<&Candidate>| -> Value {
        let cells = members.iter().map(|member| (Cell::of(member), member.id));
        cells.map(|(cell, id)| (format!("{}-{}", cell.length, cell.fuel), json!(name(id)))).collect()
    };
    // An island of OpenEvolve has all its programs, and a map of the best: only what is on one is drawn, with its parents.
    let inhabitants = (0..islands.len()).map(|island| names(&database.inhabitants(island)));
    let ranked = database.ranked();
    let metadata = json!({
        "island_feature_maps": islands.iter().map(map).collect::<Vec<_>>(),
        "islands": inhabitants.collect::<Vec<_>>(),
        "archive": names(&ranked[..ranked.len().min(100)]),
        "best_program_id": name(best.id),
        "island_best_programs": islands.iter().map(|members| members.first().map(|best| name(best.id))).collect::<Vec<_>>(),
        "last_iteration": database.rounds,
        "current_island": 0,
        "island_generations": vec![database.rounds; islands.len()],
        "last_migration_generation": 0,
        "feature_stats": {},
    });
    write_json(&checkpoint.join("metadata.json"), &metadata)
}

fn name(id: usize) -> String {
    format!("program-{id:05}")
}

/// A program as OpenEvolve writes one; its time stamp is the round, because a clock would make two searches differ.
fn program(candidate: &Candidate) -> Value {
    json!({
        "id": name(candidate.id),
        "code": candidate.source,
        "language": "python",
        "parent_id": candidate.parent.map(name),
        "generation": candidate.round,
        "timestamp": candidate.round as f64,
        "iteration_found": candidate.round,
        "metrics": { "combined_score": candidate.reward, "score": candidate.score, "fuel": candidate.fuel },
        "complexity": candidate.source.len() as f64,
        "diversity": 0.0,
        "metadata": { "island": candidate.island, "reached": candidate.reached },
        "artifacts_json": null,
    })
}

fn write_json(path: &Path, value: &Value) -> Result<(), RunDirError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| RunDirError::io(path)(error.into()))?;
    write_text(path, &text)
}

fn write_text(path: &Path, text: &str) -> Result<(), RunDirError> {
    files::write_whole(path, text.as_bytes()).map_err(RunDirError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, LrScheduler};

    #[test]
    fn a_search_that_goes_on_to_another_round_says_that_its_schedule_is_stretched() {
        let grpo = GrpoConfig {
            learning_rate: 1.0,
            warmup_steps: 0,
            lr_scheduler_type: LrScheduler::Linear,
            ..Config::preset("llm").unwrap().grpo
        };
        let (settings, database) = (json!({}), Database::new(2));
        let mut state = State { settings, database, division: None, entropy: None, last_round: None };
        assert_eq!(state.rescheduled(&grpo, 4), None, "it begins");
        state.database.rounds = 4;
        let mut read: State = serde_json::from_value(json!(state)).unwrap();
        // The last of four rounds has a quarter of the peak, and the fifth of eight a half.
        let words = read.rescheduled(&grpo, 8).unwrap();
        assert!(words.contains("at round 8 now, no longer at round 4: "), "{words}");
        assert!(words.ends_with("2.50e-1 in round 4, 5.00e-1 in round 5"), "{words}");
        assert_eq!(read.rescheduled(&grpo, 8), None, "as it was told");
        let mut earlier = State { last_round: None, ..state };
        assert_eq!(earlier.rescheduled(&grpo, 8), None, "an earlier version told no last round");
    }

    #[test]
    fn a_database_that_was_cut_is_named_with_what_is_left_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let (settings, database) = (json!({}), Database::new(2));
        write(dir.path(), &State { settings, database, division: None, entropy: None, last_round: None }).unwrap();
        let path = dir.path().join(STATE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        let settings = Fingerprint { named: serde_json::Map::new(), unnamed: String::new() };
        let Err(refused) = read(dir.path(), &settings) else { panic!("it is half a database") };
        let words = refused.to_string();
        assert!(words.contains("evolve.json: EOF while parsing") && words.contains("another --output-dir"), "{words}");
    }

    #[test]
    fn the_best_program_of_a_search_with_other_settings_is_not_left_for_one_without_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let best = dir.path().join(BEST);
        fs::write(&best, "def strategy(board):\n    return 'W'\n").unwrap();
        let (settings, database) = (json!({}), Database::new(2));
        let state = State { settings, database, division: None, entropy: None, last_round: None };
        write(dir.path(), &state).unwrap();
        assert!(!best.exists() && dir.path().join(STATE).exists());
        // There is nothing to remove any more.
        write(dir.path(), &state).unwrap();
    }
}
