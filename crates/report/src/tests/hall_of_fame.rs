//! The best programs of runs that have ended and of those that go on.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{plain_run, view};

fn member(program: &str, mean_score: f64, games: u64) -> Value {
    json!({"program": program, "source": "def strategy(board):\n    return 'W'", "step": 1, "style": "snake",
        "mean_score": mean_score, "games": games})
}

fn shown(run: &Path) -> Value {
    serde_json::to_value(&view(run).hall_of_fame).unwrap()
}

#[test]
fn a_member_has_the_number_of_its_training_games_and_the_games_to_watch() {
    let (_dir, run) = plain_run();
    fs::write(run.join("hall_of_fame.json"), json!([member("digest-1", 9.0, 5)]).to_string()).unwrap();
    // The text of the page has each key once, which a value of JSON would hide.
    let text = serde_json::to_string(&view(&run).hall_of_fame).unwrap();
    assert_eq!((text.matches("\"games\":").count(), text.matches("\"training_games\":5").count()), (1, 1), "{text}");
    assert_eq!(shown(&run)[0]["games"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_that_goes_on_shows_what_it_has_found_since_it_ended() {
    let (_dir, run) = plain_run();
    let mut settled = member("settled", 50.0, 5);
    settled["held_out_mean_score"] = json!(40.0);
    fs::write(run.join("hall_of_fame.json"), json!([settled, member("earlier", 30.0, 5)]).to_string()).unwrap();
    fs::create_dir(run.join("checkpoint-2")).unwrap();
    let state = json!({"global_step": 2, "hall_of_fame": [member("lucky", 90.0, 1), member("later", 60.0, 8)]});
    fs::write(run.join("checkpoint-2/trainer_state.json"), state.to_string()).unwrap();
    let programs = |launches: &[Value]| -> Vec<String> {
        let lines: String = launches.iter().map(|launch| format!("{launch}\n")).collect();
        fs::write(run.join("launches.jsonl"), lines).unwrap();
        let hall = shown(&run);
        hall.as_array().unwrap().iter().map(|member| member["program"].as_str().unwrap().to_owned()).collect()
    };
    let begun = |step: usize| json!({"event": "begun", "at": 1.0, "step": step});
    let ended = json!({"event": "ended", "at": 2.0, "step": 2, "how": "finished"});
    assert_eq!(programs(&[begun(0), ended.clone()]), ["settled", "earlier"]);
    assert_eq!(programs(&[begun(0), ended, begun(2)]), ["settled", "earlier"], "nothing was found since");
    assert_eq!(programs(&[begun(1)]), ["settled", "later", "lucky"]);
}
