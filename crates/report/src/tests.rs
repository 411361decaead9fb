use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::frames::{Frames, LoggedGame};
use super::*;
use crate::environment::game2048::{Board, Choice, GameLimits, Move, Strategy, play};
use crate::seed::Seed;

mod document;
mod hall_of_fame;
mod tasks_of_runs;

/// A player that chooses the four moves in turn.
struct Cycle(usize);

impl Strategy for Cycle {
    type Error = std::convert::Infallible;

    fn choose(&mut self, _: &Board) -> Result<Choice, Self::Error> {
        self.0 += 1;
        Ok(Choice::Move(Move::ALL[self.0 * self.0 % 7 % 4]))
    }
}

fn logged_game(seed: u64) -> Value {
    let limits = GameLimits { freeze_after: 9, moves_max: 100_000 };
    serde_json::to_value(play(&mut Cycle(0), Seed::root(seed), &limits).unwrap()).unwrap()
}

fn completion(step: usize, text: &str, seed: u64) -> Value {
    json!({"step": step, "index": 0, "style": "snake", "prompt": "<|style:snake|>def strategy(board", "completion": text,
        "reward": 0.25, "reward_parts": {"game": 0.25}, "advantage": 1.0, "program": format!("digest-{seed}"),
        "version": 2, "verdict": "played", "reason": null, "became": "succeeded", "games": [logged_game(seed)]})
}

/// A run of two steps with one evaluation and one completion `text` per step.
fn write_run(parent: &Path, name: &str, text: &str) -> PathBuf {
    let run = parent.join(name);
    fs::create_dir_all(run.join("completions")).unwrap();
    fs::write(run.join("config.toml"), "[run]\nversion = \"0.1.0\"\n\n[train]\nseed = 7\n").unwrap();
    let metrics = [
        json!({"step": 0, "eval_game/mean_score": 900.5, "eval_style/snake": 900.5}),
        json!({"step": 1, "reward": 0.1, "verdict/played": 1.0, "ending/game_over": 1.0}),
        json!({"step": 2, "reward": 0.2, "verdict/played": 1.0, "ending/game_over": 1.0}),
    ];
    fs::write(run.join("metrics.jsonl"), metrics.map(|line| format!("{line}\n")).concat()).unwrap();
    for step in 1..=2 {
        let line = completion(step, text, step as u64);
        fs::write(run.join(format!("completions/step_{step:05}.jsonl")), format!("{line}\n")).unwrap();
    }
    run
}

/// A run of which a test says the rest, and the directory that it is removed with.
fn plain_run() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let run = write_run(dir.path(), "run", ")");
    (dir, run)
}

fn view(run: &Path) -> RunView {
    RunReader::open(run).unwrap().read().unwrap()
}

/// The source of the first sample of the first run, from the JSON of the page.
fn first_source(page: &str) -> String {
    let (_, rest) = page.split_once(r#"<script type="application/json" id="runs">"#).unwrap();
    let contents: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    contents["runs"][0]["samples"][0]["source"].as_str().unwrap().to_owned()
}

#[test]
fn hostile_text_of_a_program_stays_text() {
    let dir = tempfile::tempdir().unwrap();
    let hostile =
        "):\n    return '</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>&lt; \u{2028} @@RUNS@@'";
    let page = html(&[view(&write_run(dir.path(), "<b>run&", hostile))], Refresh::Never);
    // The page has its own two scripts only; the program's tags are escaped.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("alert(1)</") && !page.contains("<b>"));
    assert_eq!(first_source(&page), format!("def strategy(board{hostile}"));
}

#[test]
fn text_that_would_look_like_another_is_shown_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let run = write_run(dir.path(), "run", "): # \u{202e}\u{200b}");
    let page = html(&[view(&run)], Refresh::Never);
    assert!(!page.contains(['\u{202e}', '\u{200b}']));
    let shown = "def strategy(board): # \\u{202e}\\u{200b}";
    assert_eq!(first_source(&page), shown);
    // The list of all completions, which is unpacked or fetched, has the same text.
    let mut reader = RunReader::open(&run).unwrap();
    reader.read().unwrap();
    let listed: Value = serde_json::from_str(&reader.completions_json()).unwrap();
    assert_eq!(listed[0]["source"], shown);
}

/// Replays a game from its drops as the page does. Returns the last board and the score.
fn shown(frames: &Frames) -> ([[u32; 4]; 4], u64) {
    let mut letters = frames.drops.bytes();
    let mut drop = |board: Board| {
        let letter = letters.next().unwrap();
        let (cell, tile) = if letter >= b'a' { (letter - b'a', 2) } else { (letter - b'A', 4) };
        let mut cells = board.cells();
        cells[usize::from(cell / 4)][usize::from(cell % 4)] = tile;
        Board::from_cells(&cells).unwrap()
    };
    let mut board = drop(Board::default());
    board = drop(board);
    let mut score = 0;
    for letter in frames.moves.chars() {
        let (pushed, gain) = board.slide(Move::from_text(&letter.to_string()).unwrap());
        if pushed != board {
            score += u64::from(gain);
            board = drop(pushed);
        }
    }
    assert_eq!(letters.next(), None);
    (board.cells(), score)
}

#[test]
fn a_replay_ends_on_the_logged_board() {
    for seed in 0..40 {
        let game: LoggedGame = serde_json::from_value(logged_game(seed)).unwrap();
        let frames = Frames::of(&game).unwrap();
        assert!(frames.verified && frames.moves.len() > 20, "{frames:?}");
        assert_eq!(shown(&frames), (game.final_board, game.score as u64));
    }
}

#[test]
fn a_forged_game_is_shown_as_such() {
    let mut game: LoggedGame = serde_json::from_value(logged_game(3)).unwrap();
    game.score += 4.0;
    assert!(!Frames::of(&game).unwrap().verified);
    game.moves_text.push('X');
    assert_eq!(Frames::of(&game), None);
}

#[test]
fn a_run_of_which_little_plays_says_what_to_change() {
    let (_dir, run) = plain_run();
    let mut config = grpo_learn::config::Config::preset("llm").unwrap();
    (config.model.model, config.rollout.max_completion_length) = ("m.gguf".into(), 128);
    let recorded = |config: &grpo_learn::config::Config| {
        let settings = format!("[run]\nversion = \"0.1.0\"\n\n{}", toml::to_string(config).unwrap());
        fs::write(run.join("config.toml"), settings).unwrap();
    };
    recorded(&config);
    let record = |played: f64| json!({"step": 1, "reward": 0.1, "verdict/succeeded": played, "verdict/cut": 30.0});
    let note = |played: f64| {
        fs::write(run.join("metrics.jsonl"), format!("{}\n", record(played))).unwrap();
        view(&run).notes.join("\n")
    };
    let found = note(2.0);
    for words in [
        "of 32 completions 6% play, 94% are cut at 128 tokens",
        "rollout.max_completion_length=256",
        "sft --model m.gguf",
    ] {
        assert!(found.contains(words), "{words} in {found}");
    }
    assert!(!note(90.0).contains("completions"), "many play");
    // A warm-up teaches players of 2048, which no other game asks for.
    config.environment.env = "nim.py".into();
    recorded(&config);
    let found = note(2.0);
    assert!(found.contains("rollout.max_completion_length=256") && !found.contains("sft"), "{found}");
}

#[test]
fn what_the_guard_warns_of_stands_on_the_page_with_what_to_change() {
    let (_dir, run) = plain_run();
    let notes = |entropy: [Option<f64>; 4]| {
        let records = entropy.into_iter().zip(1..).map(|(level, step)| {
            let mut record = json!({"step": step, "reward": 0.1, "guard/level": level.unwrap_or(0.0)});
            record.as_object_mut().unwrap().extend(level.map(|level| ("guard/entropy".to_owned(), json!(level))));
            format!("{record}\n")
        });
        fs::write(run.join("metrics.jsonl"), records.collect::<String>()).unwrap();
        view(&run).notes.join("\n")
    };
    let found = notes([Some(1.0), None, Some(1.0), Some(2.0)]);
    for words in ["Since step 3 the guard warns of an entropy far below", "grpo.elite_free_nats=0.5"] {
        assert!(found.contains(words), "{words} in {found}");
    }
    let alike = json!({"step": 1, "reward": 0.1, "guard/tied": 1, "guard/entropy": 1});
    fs::write(run.join("metrics.jsonl"), format!("{alike}\n")).unwrap();
    let found = view(&run).notes.join("\n");
    assert!(found.contains("all equal: set grpo.elite_free_nats=0.5") && !found.contains("num_generations"), "{found}");
    for gone in [[None; 4], [Some(1.0), Some(1.0), Some(1.0), None]] {
        assert!(!notes(gone).contains("guard"), "{gone:?}");
    }
}

#[test]
fn what_is_no_run_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let words = |path: &Path| RunReader::open(path).map(|_| ()).unwrap_err().to_string();
    assert!(words(&dir.path().join("nowhere")).contains("no such directory"));
    assert!(words(dir.path()).contains("neither metrics.jsonl nor config.toml"));
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(words(&dir.path().join("file")).contains("is a file"));
    // What may not be looked for is not called missing. The system gives up a link to itself, also for root.
    let metrics = dir.path().join("metrics.jsonl");
    std::os::unix::fs::symlink(&metrics, &metrics).unwrap();
    assert!(words(dir.path()).starts_with(&format!("{}: ", metrics.display())), "{}", words(dir.path()));
}

#[test]
fn an_empty_run_and_a_half_written_one_say_what_is_lacking() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("begun");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("config.toml"), "[train]\nseed = 1\n").unwrap();
    let empty = view(&run);
    assert!(empty.notes[0].contains("No step has been recorded yet"), "{:?}", empty.notes);
    assert!(html(&[empty], Refresh::Never).contains("No step has been recorded yet"));

    fs::write(run.join("metrics.jsonl"), "{\"step\":1,\"reward\":0.5}\n{\"step\":2,\"rew").unwrap();
    fs::create_dir(run.join("completions")).unwrap();
    fs::write(run.join("completions/step_00001.jsonl"), format!("{}\n{{\"step\":1,", completion(1, ")", 1))).unwrap();
    fs::write(run.join("config.toml"), "[train\nse").unwrap();
    let torn = view(&run);
    assert_eq!((torn.steps["step"].len(), torn.samples.len()), (1, 1));
    let notes = torn.notes.join("\n");
    assert!(
        notes.contains("completions: 1 line left out") && notes.contains("config.toml is missing or cannot be read"),
        "{notes}"
    );
}

#[test]
fn lines_that_cannot_be_read_are_told_of_at_every_reading_and_a_file_that_goes_is_none() {
    let (_dir, run) = plain_run();
    let file = run.join("completions/step_00002.jsonl");
    fs::write(&file, format!("{}\nrubbish\n", completion(2, ")", 2))).unwrap();
    let mut reader = RunReader::open(&run).unwrap();
    let mut read = || {
        let RunView { notes, warnings, scores, .. } = reader.read().unwrap();
        assert!(warnings.iter().all(|warning| notes.contains(warning) && warning.contains("left out")));
        (notes.iter().filter(|note| note.starts_with("completions: 1 line left out")).count(), scores.len())
    };
    assert_eq!([read(), read()], [(1, 2), (1, 2)]);
    // As where a run that is resumed removes a file after the directory was listed.
    #[cfg(unix)]
    {
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("nowhere", &file).unwrap();
        assert_eq!(read(), (0, 1));
    }
}

#[test]
fn a_log_of_an_earlier_version_is_shown_as_far_as_it_goes() {
    let (_dir, run) = plain_run();
    let early = json!({"step": 1, "completion": "x", "evaluation": {"verdict": {"rejected": "no_function"}}});
    fs::write(run.join("completions/step_00001.jsonl"), early.to_string()).unwrap();
    let view = view(&run);
    let sample = view.samples.iter().find(|sample| sample.step == 1).unwrap();
    assert_eq!((sample.verdict.as_str(), sample.reason.as_str()), ("no_function", ""));
    assert_eq!((sample.advantage, sample.games.len()), (None, 0));
}

#[test]
fn a_log_of_a_later_version_says_which_version_it_has() {
    let (_dir, run) = plain_run();
    let late = json!({"version": 4, "step": 1, "completion": "x"});
    fs::write(run.join("completions/step_00001.jsonl"), late.to_string()).unwrap();
    let error = RunReader::open(&run).unwrap().read().unwrap_err();
    assert!(error.is_user() && error.to_string().contains("version 4; this program reads up to 3"), "{error}");
}

#[test]
fn members_of_the_hall_of_fame_bring_their_games() {
    let (_dir, run) = plain_run();
    let member = json!([{"program": "digest-2", "source": "def strategy(board):\n    return 'W'", "step": 2,
        "style": "snake", "mean_score": 10.0, "max_tile": 8, "held_out_mean_score": 9.0}]);
    // Before the end of a run they are read from the newest checkpoint.
    fs::create_dir(run.join("checkpoint-2")).unwrap();
    fs::write(run.join("checkpoint-2/trainer_state.json"), json!({"hall_of_fame": member}).to_string()).unwrap();
    let shown = |view: &RunView| serde_json::to_value(&view.hall_of_fame).unwrap();
    let hall = shown(&view(&run));
    assert_eq!(
        (&hall[0]["games"][0]["seed"], &hall[0]["held_out_mean_score"]),
        (&json!("0000000000000002"), &json!(9.0))
    );
    fs::write(run.join("hall_of_fame.json"), "[]").unwrap();
    assert_eq!(shown(&view(&run)), json!([]));
}

#[test]
fn the_shape_of_the_embedded_json_stands() {
    let dir = tempfile::tempdir().unwrap();
    let runs = [view(&write_run(dir.path(), "a", ")")), view(&write_run(dir.path(), "b", ")"))];
    let contents: Value = serde_json::from_str(&super::json(&runs, Refresh::Follow)).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&contents), "format version follow runs");
    assert_eq!(contents["follow"], true);
    let run = &contents["runs"][1];
    assert_eq!(run["name"], "b");
    assert_eq!(
        keys(run),
        "name path steps evaluations scores hall_of_fame samples failures tasks launches configuration notes"
    );
    assert_eq!(run["steps"]["reward"], json!([0.1, 0.2]));
    assert_eq!(run["evaluations"]["eval_style/snake"], json!([900.5]));
    assert_eq!(run["configuration"]["train.seed"], "7");
    assert_eq!(keys(&run["scores"][0]), "step completions succeeded quantiles best");
    assert_eq!(keys(&run["samples"][0]), "step place style verdict reason reward advantage score source games");
    assert_eq!(keys(&run["samples"][0]["games"][0]), "seed score max_tile ending moves drops verified");
}

#[test]
fn a_followed_page_grows_with_its_run_and_speaks_to_this_machine_only() {
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicBool, Ordering};

    let (_dir, run) = plain_run();
    let mut follower = Follower::bind(0, vec![RunReader::open(&run).unwrap()]).unwrap();
    let (port, stop) = (follower.port().unwrap(), AtomicBool::new(false));
    let ask = |path: &str, host: &str| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let steps = || {
        let answer = ask("/runs.json", "localhost:2048");
        let contents: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        contents["runs"][0]["steps"]["step"].as_array().unwrap().len()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| follower.serve(&stop).unwrap());
        let before = steps();
        let mut file = fs::OpenOptions::new().append(true).open(run.join("metrics.jsonl")).unwrap();
        file.write_all(b"{\"step\":3,\"reward\":0.3}\n").unwrap();
        let after = steps();
        let (listed, none) = (ask("/completions/0.json", "localhost"), ask("/completions/1.json", "localhost"));
        let (page, stranger, lost) = (ask("/", "127.0.0.1"), ask("/", "evil.example"), ask("/etc/passwd", "localhost"));
        stop.store(true, Ordering::SeqCst);
        assert_eq!((before, after), (2, 3));
        let listed: Value = serde_json::from_str(listed.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!((listed[0]["step"].as_u64(), listed[1]["source"].as_str()), (Some(2), Some("def strategy(board)")));
        assert!(none.starts_with("HTTP/1.1 404"));
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("\"follow\":true"));
        assert!(stranger.starts_with("HTTP/1.1 403") && lost.starts_with("HTTP/1.1 404"));
    });
}

#[test]
fn of_a_game_in_python_what_it_told_is_shown() {
    let (_dir, run) = plain_run();
    let told = json!({"moves": 2, "actions": ["1", "2"], "last_observation": "[0]", "game_fuel": 77});
    let game = json!({"seed": 5, "score": -1.5, "ending": "game_over", "fuel": 9, "transcript": told});
    let line = json!({"step": 1, "completion": "x", "evaluation": {"verdict": "played", "games": [game]}});
    fs::write(run.join("completions/step_00001.jsonl"), line.to_string()).unwrap();
    let view = view(&run);
    let sample = view.samples.iter().find(|sample| sample.step == 1).unwrap();
    assert_eq!((sample.score, sample.games.len(), sample.tests.is_none()), (-1.5, 0, true));
    let shown = serde_json::to_value(&sample.transcripts[0]).unwrap();
    assert_eq!(
        (&shown["seed"], &shown["last_observation"], &shown["moves"]),
        (&json!("0000000000000005"), &json!("[0]"), &json!(2))
    );
}

#[test]
fn a_conversation_is_shown_as_one_with_the_verdict_of_each_turn() {
    let turn = |told: &str, completion: &str, became: &str, reward: f64| json!({"told": told, "completion": completion, "became": became, "reward": reward});
    let turns = [turn("", " 1\n```", "wrong_answer", 0.25), turn("It fails.\nAgain.", " 2\n```", "succeeded", 1.0)];
    let logged = json!({"prompt": "```python\ndef f(): return", "completion": " 2\n```", "turns": turns});
    let shown = serde_json::from_value::<super::LoggedCompletion>(logged).unwrap().source();
    let expected = "# turn 1: wrong_answer, reward 0.25\ndef f(): return 1\n\n# > It fails.\n# > Again.\n# turn 2: succeeded, reward 1\ndef f(): return 2\n";
    assert_eq!(shown, expected);
}

#[test]
fn fences_of_a_completion_are_no_lines_of_its_program() {
    let source = |prompt: &str, completion: &str| {
        let logged = json!({"prompt": prompt, "completion": completion});
        serde_json::from_value::<super::LoggedCompletion>(logged).unwrap().source()
    };
    let program = "def strategy(board):\n    return 'W'\n";
    let prefilled = "Play.\n```python\ndef strategy(board):";
    for closing in ["", "```", "```\n", "```\n\n```", "\n```  \n"] {
        let shown = source(prefilled, &format!("\n    return 'W'\n{closing}"));
        assert_eq!(shown.trim_end(), program.trim_end(), "{closing:?}");
    }
    for opening in ["```python\n", "```\n", "\n```py\n"] {
        assert_eq!(source("Play.", &format!("{opening}{program}```\n")), program);
    }
    assert_eq!(
        source("<|style:snake|>def strategy(board", "):\n    return '```'"),
        "def strategy(board):\n    return '```'"
    );
}
