//! What the author of a program is told of it.
//!
//! Takes the evaluation of a program; gives the text by which a policy is asked to write again, or which `judge` answers
//! beside a reward. Pure: equal evaluations always get equal texts. Of tests only public ones speak, those that the prompt
//! shows among them; the others decide, and no word of a text depends on them. What a program wrote itself, such as the
//! message of an exception, stays within its line.

use crate::arena::{Evaluation, Start};
use crate::config::Feedback;
use crate::environment::{
    BoardTrace, Case, Ending, Environment, FailedTest, Outcome, Points, TestsTrace, Trace, Transcript, Value,
};
use crate::program::Rejection;

/// Characters of the longest text.
pub const FEEDBACK_MAX: usize = 800;
/// Characters of the longest reason.
const REASON_MAX: usize = 300;
/// Games that are told of, each in a sentence.
const GAMES_TOLD: usize = 4;
/// Last moves that are told of a game of 2048.
const MOVES_TOLD: usize = 8;

/// What the author of the program is told of its evaluation on `cases`, under `kind`.
pub fn feedback(environment: &Environment, cases: &[Case], evaluation: &Evaluation, kind: Feedback) -> String {
    let passed = environment.has_tests() && evaluation.plays();
    let told = match kind {
        _ if passed => return "The program passes every test.".to_owned(),
        Feedback::Shown => found(environment, cases, evaluation),
        Feedback::Verdict => verdict(environment, evaluation).to_owned(),
    };
    let again = match environment.has_tests() {
        true => "Write the whole program again, so that it passes every test.",
        false => "Write the whole program again, so that it scores more.",
    };
    let room = FEEDBACK_MAX - again.len() - 1;
    format!("{}\n{again}", cut(&told, room))
}

fn verdict(environment: &Environment, evaluation: &Evaluation) -> &'static str {
    match (&evaluation.start, environment.has_tests()) {
        (Start::Rejected(Rejection::NoFunction { .. }), _) => "There is no program in the answer.",
        (Start::Rejected(Rejection::NotCompiled { .. } | Rejection::TooLong { .. }), _) => {
            "The program does not compile."
        }
        // Where it has come to a test, it may have come to a hidden one, so that no word depends on how it fails.
        (Start::Faulted(_), true) if failed(evaluation).is_some() => "The program is wrong.",
        (Start::Faulted(_), _) => "The program fails.",
        (Start::Played, true) => "The program is wrong.",
        // It has broken off a game or an evaluation, after a beginning that went well.
        (Start::Played, false) if !evaluation.plays() => "The program fails.",
        (Start::Played, false) if matches!(environment, Environment::Evaluator(_)) => "The program was evaluated.",
        (Start::Played, false) => "The program played.",
    }
}

fn found(environment: &Environment, cases: &[Case], evaluation: &Evaluation) -> String {
    match &evaluation.start {
        Start::Rejected(rejection @ Rejection::NoFunction { .. }) => {
            format!("There is no program in the answer: {}.", quoted(&rejection.to_string()))
        }
        Start::Rejected(rejection) => {
            format!("The program does not compile: {}.", quoted(&rejection.to_string()))
        }
        Start::Faulted(_) | Start::Played if environment.has_tests() => {
            let task = match (environment.tasks(), cases.first()) {
                (Some(tasks), Some(Case::Task(task))) => Some(&tasks.tasks()[*task as usize]),
                _ => None,
            };
            // Of a task without tests, its checker says what fails: nothing of that is told.
            let (shown, public) = task.map_or((0, 0), |task| (task.examples().end, task.hidden().start));
            of_tests(evaluation, shown, public)
        }
        // An evaluator calls what it likes, and the reason may be about the score that it gives.
        Start::Faulted(fault) if matches!(environment, Environment::Evaluator(_)) => {
            format!("The evaluation fails: {}.", quoted(&fault.reason))
        }
        Start::Faulted(fault) => format!("The program fails at its first call: {}.", quoted(&fault.reason)),
        Start::Played => of_games(&evaluation.games, matches!(environment, Environment::Evaluator(_))),
    }
}

/// `public`: number of tests that may be told of, which are the first ones; the prompt shows the first `shown` of them.
fn of_tests(evaluation: &Evaluation, shown: usize, public: usize) -> String {
    match (failed(evaluation), &evaluation.start) {
        (Some(failed), _) if failed.test as usize <= public => {
            format!("The program fails a test: {}.", quoted(&failed.reason))
        }
        // Hidden tests come after the public ones, so that these are passed.
        (Some(_), _) if public > shown => "The program passes the public tests, and fails others.".to_owned(),
        (Some(_), _) if public > 0 => "The program passes the tests that were shown, and fails others.".to_owned(),
        // Without a failed test the program has not come to any: the reason is that it cannot be loaded.
        (None, Start::Faulted(fault)) => format!("The program fails as it is loaded: {}.", quoted(&fault.reason)),
        (Some(_) | None, _) => "The program fails tests, which are not shown.".to_owned(),
    }
}

/// The first test that the program fails, if it has come to any.
fn failed(evaluation: &Evaluation) -> Option<&FailedTest> {
    evaluation.games.iter().filter_map(Outcome::tests).find_map(|tests: &TestsTrace| tests.failed.as_ref())
}

/// What became of the first games, or of the first evaluations by an evaluator, which have neither moves nor rules.
fn of_games(games: &[Outcome], is_evaluated: bool) -> String {
    let (one, each) = if is_evaluated { ("The evaluation", "Evaluation") } else { ("The game", "Game") };
    let told = games.iter().take(GAMES_TOLD).enumerate().map(|(number, outcome)| {
        let name = if games.len() > 1 { format!("{each} {}", number + 1) } else { one.to_owned() };
        let points = serde_json::to_string(&Points(outcome.score)).expect("a score is JSON");
        let why = outcome.reason.as_ref().map(|reason| format!(" ({})", quoted(reason))).unwrap_or_default();
        let how = format!("{}{why}", ended(outcome.ending, &outcome.trace));
        let line = match (is_evaluated, outcome.ending) {
            (false, _) => format!("{name} ended after {} moves with {points} points: {how}.", outcome.moves()),
            (true, Ending::GameOver) => format!("{name} gives {points} points."),
            (true, Ending::BadMove) => format!("{name} gives {points} points: it came to no score."),
            // The whole evaluation is one call, which has all of the time.
            (true, Ending::Hung) => {
                format!("{name} gives {points} points: {}.", ended(Ending::OutOfFuel, &outcome.trace))
            }
            (true, _) => format!("{name} gives {points} points: {how}."),
        };
        // The boards of several games would fill the text.
        if number == 0 { format!("{line}{}", course(&outcome.trace, outcome.ending, is_evaluated)) } else { line }
    });
    told.collect::<Vec<_>>().join("\n")
}

fn course(trace: &Trace, ending: Ending, is_evaluated: bool) -> String {
    match trace {
        Trace::Board(BoardTrace { moves_text, final_board, .. }) => {
            let letters: Vec<char> = moves_text.chars().collect();
            let last: String = letters[letters.len().saturating_sub(MOVES_TOLD)..].iter().collect();
            let row = |row: &[u32; 4]| row.map(|tile| tile.to_string()).join(" ");
            let rows: Vec<String> = final_board.iter().map(row).collect();
            let moved = if last.is_empty() { String::new() } else { format!(" Its last moves were {last}.") };
            format!("{moved} The board at its end:\n{}", rows.join("\n"))
        }
        Trace::Transcript(Transcript { last_observation, .. }) if !last_observation.is_empty() => {
            let what = match ending {
                _ if is_evaluated => return format!(" Its metrics: {}", quoted(last_observation)),
                // Nobody was asked what to do then.
                Ending::GameOver | Ending::MoveLimit => "The state at its end",
                _ => "What the program saw last",
            };
            // As the program sees it; what was cut is no JSON.
            let seen =
                Value::from_json(last_observation).map_or_else(|_| last_observation.clone(), |value| value.to_string());
            format!(" {what}: {}", quoted(&seen))
        }
        Trace::Transcript(_) | Trace::Tests(_) => String::new(),
    }
}

/// Why a game ended, in words.
fn ended(ending: Ending, trace: &Trace) -> &'static str {
    match ending {
        Ending::GameOver if matches!(trace, Trace::Board(_)) => "no move was left",
        // A game in Python says that it is over, and not why: it may be won.
        Ending::GameOver => "it was over by its rules",
        Ending::OutOfFuel => "the time of the program was used up",
        Ending::Hung => "a call of the program took too long",
        Ending::Freeze => "its last moves changed nothing",
        Ending::BadMove => "an answer of the program was no move",
        Ending::Raised => "the program raised an exception",
        Ending::OutOfMemory => "the program needed too much memory",
        Ending::StackOverflow => "calls were nested too deeply",
        Ending::MoveLimit => "it was at the largest number of moves",
        Ending::Passed | Ending::WrongAnswer => "it is over",
    }
}

/// Words that a program may have chosen: on one line, without control characters and what else changes how a line is read, cut.
fn quoted(words: &str) -> String {
    let plain = |one: char| match one.is_control() || is_unseen(one) {
        true => one.escape_default().to_string(),
        false => one.to_string(),
    };
    cut(&words.chars().map(plain).collect::<String>(), REASON_MAX)
}

/// Whether a character is not seen itself, but ends a line, turns its direction, or hides in it.
fn is_unseen(one: char) -> bool {
    matches!(one, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn cut(text: &str, most: usize) -> String {
    const CUT: &str = "...";
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - CUT.len()).collect::<String>() + CUT,
    }
}

#[cfg(test)]
mod tests;
