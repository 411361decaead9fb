//! The files of a search: its database, from which it goes on, the best program, and the database in the form of OpenEvolve.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::database::{Candidate, Cell, Database};
use super::error::EvolveError;
use crate::config::GrpoConfig;
use crate::environment::Environment;
use crate::files;
use crate::grpo::{self, Division, EntropyController};
use crate::train::run_dir::{self, BEST, Fingerprint, RunDirError};

const STATE: &str = "evolve.json";
/// The key of the BLAKE3 digest of the file as it is with an empty text there.
const DIGEST: &str = "blake3";
/// The directory below which OpenEvolve's visualiser looks for a checkpoint, which it knows by its name.
const OPEN_EVOLVE: &str = "openevolve";

/// What a search goes on from, beside the weights.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    /// The settings that must be equal to go on: an object, or the text of an earlier version.
    pub settings: Value,
    pub database: Database,
    /// How updates are divided into parts, if there are updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub division: Option<Division>,
    /// The controller of the entropy bonus, if there are updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropy: Option<EntropyController>,
    /// The round that was to be the last, by which a schedule of the learning rate falls, if there are updates; none is known of
    /// a search that an earlier version began.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    let state = unsealed(&text).map_err(|reason| EvolveError::Damaged { path: path.clone(), reason })?;
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
    write_json(&dir.join(STATE), &sealed(state))?;
    let path = dir.join(BEST);
    match state.database.ranked().first() {
        Some(best) => write_text(&path, &best.source),
        None if path.exists() => fs::remove_file(&path).map_err(RunDirError::io(&path)),
        None => Ok(()),
    }
}

/// A state with the digest by which [`unsealed`] knows it.
fn sealed(state: &State) -> Value {
    let mut value = json!(state);
    value[DIGEST] = "".into();
    value[DIGEST] = blake3::hash(format!("{value:#}").as_bytes()).to_hex().as_str().into();
    value
}

/// The state in a file, or why it is none that was written. What an earlier version wrote has no digest and passes.
fn unsealed(text: &str) -> Result<State, String> {
    #[derive(Deserialize)]
    struct Seal {
        blake3: Option<String>,
    }
    let parsed = serde_json::from_str(text).and_then(|seal: Seal| Ok((seal, serde_json::from_str(text)?)));
    let (seal, state) = parsed.map_err(|error| error.to_string())?;
    let is_written = |digest: &str| blake3::hash(text.replacen(digest, "", 1).as_bytes()).to_hex().as_str() == digest;
    match seal.blake3.is_none_or(|digest| is_written(&digest)) {
        true => Ok(state),
        false => Err("is not what was written".into()),
    }
}

/// Writes the program that was chosen at the end, and the database as OpenEvolve has it.
pub(super) fn write_best(
    dir: &Path,
    database: &Database,
    best: &Candidate,
    judge: &Environment,
) -> Result<(), RunDirError> {
    write_text(&dir.join(BEST), &best.source)?;
    let all = dir.join(OPEN_EVOLVE);
    if all.exists() {
        // A database of fewer rounds, or of an earlier version, is there: replace it.
        fs::remove_dir_all(&all).map_err(RunDirError::io(&all))?;
    }
    let checkpoint = all.join(format!("checkpoint_{}", database.rounds));
    let programs = checkpoint.join("programs");
    fs::create_dir_all(&programs).map_err(RunDirError::io(&programs))?;
    let islands = database.islands();
    // An island of OpenEvolve has all its programs, and a map of the best: only what is on one is drawn, with its parents.
    let mut inhabitants = vec![Vec::new(); islands.len()];
    for (island, names) in inhabitants.iter_mut().enumerate() {
        for candidate in database.inhabitants(island) {
            let name = name_on(island, candidate);
            write_json(&programs.join(format!("{name}.json")), &program(candidate, island, judge))?;
            names.push(name);
        }
    }
    let map = |(island, members): (usize, &Vec<&Candidate>)| -> Value {
        let cells = members.iter().map(|member| (Cell::of(member), name_on(island, member)));
        cells.map(|(cell, name)| (format!("{}-{}", cell.length, cell.fuel), json!(name))).collect()
    };
    let first = |(island, members): (usize, &Vec<&Candidate>)| members.first().map(|best| name_on(island, best));
    let ranked = database.ranked();
    let metadata = json!({
        "island_feature_maps": islands.iter().enumerate().map(map).collect::<Vec<_>>(),
        "islands": inhabitants,
        "archive": ranked.iter().take(100).map(|candidate| name(candidate.id)).collect::<Vec<_>>(),
        "best_program_id": name(best.id),
        "island_best_programs": islands.iter().enumerate().map(first).collect::<Vec<_>>(),
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

/// The name of a program on an island. Where it has settled from another one, there is a copy of it, as OpenEvolve makes one,
/// which has no program on two islands.
fn name_on(island: usize, candidate: &Candidate) -> String {
    let own = name(candidate.id);
    if candidate.island == island { own } else { format!("{own}-island{island}") }
}

/// A program on an island as OpenEvolve writes one; its time stamp is the round, because a clock would make two searches differ.
/// OpenEvolve ranks by `combined_score`, in the evaluator's units: those of the programs that it adds when it goes on.
fn program(candidate: &Candidate, island: usize, judge: &Environment) -> Value {
    let Candidate { reward, score, fuel, .. } = candidate;
    let combined = if matches!(judge, Environment::Evaluator(_)) { score } else { reward };
    let migrant = candidate.island != island;
    let parent = if migrant { Some(candidate.id) } else { candidate.parent };
    json!({
        "id": name_on(island, candidate),
        "code": candidate.source,
        "language": "python",
        "parent_id": parent.map(name),
        "generation": candidate.round,
        "timestamp": candidate.round as f64,
        "iteration_found": candidate.round,
        "metrics": { "combined_score": combined, "reward": reward, "score": score, "fuel": fuel },
        "complexity": candidate.source.len() as f64,
        "diversity": 0.0,
        "metadata": { "island": island, "migrant": migrant, "reached": candidate.reached },
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
    use super::super::database::{JudgedProgram, Lineage};
    use super::*;
    use crate::config::{Config, LrScheduler};
    use crate::evaluation::FailedGames;

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

    /// As OpenEvolve validates it: no program is on two islands, and each says on which it is.
    #[test]
    fn openevolve_has_scores_in_the_evaluator_s_units_and_a_copy_of_a_program_on_every_other_island() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = Database::new(2);
        let judged = |name: &str, score: f64| {
            let (digest, source) = (name.to_owned(), format!("def answer():\n    return {score}\n"));
            JudgedProgram { digest, source, reward: score / 1000.0, score, failed: FailedGames::default(), fuel: 1000 }
        };
        database.begin_with(judged("a", 749.5));
        database.take_in(judged("b", 5.0), &Lineage { island: 1, parent: Some(0), inspirations: Vec::new() }, 1);
        let checkpoint = dir.path().join("openevolve/checkpoint_0");
        let read = |path: &str| -> Value { serde_json::from_slice(&fs::read(checkpoint.join(path)).unwrap()).unwrap() };
        let of = |name: &str| {
            let program = read(&format!("programs/{name}.json"));
            assert_eq!(program["id"], name);
            [&program["parent_id"], &program["metadata"]["island"], &program["metadata"]["migrant"]].map(Value::clone)
        };
        let path = dir.path().join("evaluator.py");
        fs::write(&path, "SCALE = 1000\ndef evaluate(program_path):\n    return {}\n").unwrap();
        let evaluator = Environment::open(path.to_str().unwrap()).unwrap();
        let worth = |judge: &Environment| {
            write_best(dir.path(), &database, &database.candidates()[0], judge).unwrap();
            read("programs/program-00000-island1.json")["metrics"]["combined_score"].as_f64().unwrap()
        };
        assert_eq!((worth(&Environment::Game2048), worth(&evaluator)), (0.7495, 749.5));
        let metadata = read("metadata.json");
        let copy = "program-00000-island1";
        assert_eq!(metadata["islands"], json!([["program-00000"], [copy, "program-00001"]]));
        assert_eq!(metadata["island_best_programs"], json!(["program-00000", copy]));
        assert!(metadata["island_feature_maps"][1].as_object().unwrap().values().any(|name| name == copy));
        assert_eq!(of("program-00000"), [Value::Null, json!(0), json!(false)]);
        assert_eq!(of(copy), [json!("program-00000"), json!(1), json!(true)]);
        assert_eq!(of("program-00001"), [json!("program-00000"), json!(1), json!(false)]);
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
    fn a_database_in_which_a_letter_or_a_digit_was_changed_is_refused_and_one_without_a_digest_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (settings, mut database) = (json!({}), Database::new(2));
        let source = "def answer():\n    return x\n".to_owned();
        let failed = FailedGames { games: 1, mean_score: 0.5 };
        database.begin_with(JudgedProgram { digest: "a".into(), source, reward: 1.0, score: 0.1, failed, fuel: 1000 });
        write(dir.path(), &State { settings, database, division: None, entropy: None, last_round: None }).unwrap();
        let path = dir.path().join(STATE);
        let text = fs::read_to_string(&path).unwrap();
        let again = |text: &str| {
            fs::write(&path, text).unwrap();
            read(dir.path(), &Fingerprint { named: serde_json::Map::new(), unnamed: String::new() })
        };
        assert_eq!(again(&text).unwrap().unwrap().database.candidates()[0].failed, failed);
        for (written, changed) in
            [("\"reward\": 1.0", "\"reward\": 3.0"), ("return x", "return y"), ("e3\": \"", "e3\": \"0")]
        {
            assert_eq!(text.matches(written).count(), 1, "{written}");
            let words = again(&text.replace(written, changed)).err().unwrap().to_string();
            assert!(words.contains("evolve.json: is not what was written; the search cannot go on"), "{words}");
        }
        let mut earlier: Value = serde_json::from_str(&text).unwrap();
        earlier.as_object_mut().unwrap().remove(DIGEST).unwrap();
        assert!(again(&earlier.to_string()).unwrap().is_some());
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
