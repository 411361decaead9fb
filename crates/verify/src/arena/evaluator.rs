//! One program under an evaluator in Python, in one instance of the sandbox.

use grpo_sandbox::{Failure, Limits, Sandbox};
use serde::Deserialize;

use super::Rules;
use super::play::{GameError, Play, Unplayed, ending, to_be_done, unplayed};
use crate::environment::{Case, EVALUATED, Ending, Evaluator, Outcome, PREPARED, Trace, Transcript};
use crate::program::Program;
use crate::seed::{Purpose, Seed};

/// What the harness answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    /// What the program did wrong.
    Failed(String),
    /// What is wrong with the evaluator, whatever the program.
    Broken(String),
    /// The program's score, and its metrics as JSON, cut when they are long.
    #[serde(untagged)]
    Scored { score: f64, metrics: String },
}

/// Has the evaluator try a program, which draws from the stream of `seed`. Its two calls share the whole budget.
///
/// An evaluator that fails by itself is its author's fault and stops the run; whatever happens once it has the program is the
/// program's, as in OpenEvolve.
pub(super) fn evaluate(
    sandbox: &Sandbox,
    rules: &Rules,
    evaluator: &Evaluator,
    program: &Program,
    seed: Seed,
) -> Result<Play, Unplayed> {
    let limits = Limits { call_fuel: rules.limits.game_fuel, ..rules.limits };
    let stream = seed.child(Purpose::Script, 0).get();
    let loaded = sandbox.interpreting().load(&evaluator.instance(program), stream, &limits);
    let mut session = loaded.map_err(|unloaded| unplayed(unloaded, program))?;
    let broken = |message| {
        let game = evaluator.path().to_owned();
        Err(Unplayed::Broken(GameError::Environment { game, message }))
    };
    match session.call(PREPARED, "[]") {
        Ok(text) => {
            if let Ok(Answer::Broken(message)) = serde_json::from_str(&text) {
                return broken(message);
            }
        }
        Err(Failure::Program(fault)) => return broken(format!("{fault} before it has a program")),
        Err(Failure::Host(error)) => return Err(error.into()),
    }
    let answer = session.call(EVALUATED, "[]");
    let fuel = session.fuel_used();
    let outcome = |score, ending, metrics: String| {
        let trace = Trace::Transcript(Transcript { last_observation: metrics, ..Transcript::default() });
        Outcome { case: Case::Seed(seed), score, ending, fuel, trace, reason: None }
    };
    let failed = |ending, reason| (outcome(0.0, ending, String::new()), Some(reason));
    let (outcome, reason) = match answer {
        Ok(text) => match serde_json::from_str(&text) {
            Ok(Answer::Scored { score, metrics }) => (outcome(score, Ending::GameOver, metrics), None),
            Ok(Answer::Failed(reason)) => failed(Ending::Raised, reason),
            // The program has changed the harness, with which it shares an interpreter.
            Ok(Answer::Broken(_)) | Err(_) => {
                failed(Ending::BadMove, "its evaluation came back as something else than a score".into())
            }
        },
        Err(Failure::Program(fault)) => failed(to_be_done(ending(&fault)), fault.to_string()),
        Err(Failure::Host(error)) => return Err(error.into()),
    };
    Ok(Play::Game { outcome, reason, compiled: false })
}
