//! The two instances of a game, and what passes between them.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::convert::Infallible;

use grpo_sandbox::{FUEL_PER_SECOND, Failure, Fault, FuelScope, HostError, Limits, Sandbox, Session};
use serde::de::IgnoredAny;

use crate::arena::play::{self, ended};
use crate::environment::tasks::ExceptionTypes;
use crate::environment::{Ending, ScriptGame, Transcript, Value};
use crate::seed::{Purpose, Seed};

/// What a game may use, as a multiple of what a program may.
const GAME_SHARE: u64 = 10;
/// And for each move that a game may have, so that nobody stops a run by playing on.
const MOVE_FUEL: u64 = FUEL_PER_SECOND / 1000;
/// Bytes of the largest observation, as it crosses.
const OBSERVATION_MAX: usize = 256 << 10;
/// Bytes of the largest action, as it crosses.
const ACTION_MAX: usize = 64 << 10;
/// Bytes of the actions of a game, each counted once, beyond which they are not usual.
const ACTIONS_MAX: usize = 1 << 20;
/// Bytes of actions, and of the last observation, that an outcome keeps.
const KEPT_MAX: usize = 1000;
/// The largest score of a game, above 0 or below: a reward has 32 bits.
const SCORE_MAX: f64 = 1e30;
/// Characters of a value that a message shows.
const SHOWN_MAX: usize = 60;

/// A game and its player, each in an instance of its own.
pub(super) struct Seats<'a> {
    game: &'a ScriptGame,
    /// What the exceptions of the rules are under; most games raise none but Python's own.
    lineage: OnceCell<ExceptionTypes>,
    rules: Session,
    player: Session,
    limits: Limits,
    score: f64,
    /// As they will be told.
    actions: Option<BTreeSet<String>>,
    actions_bytes: usize,
    transcript: Transcript,
}

/// What a game came to.
pub(super) struct Played {
    pub stop: Stop,
    pub score: f64,
    /// What the program spent.
    pub fuel: u64,
    /// Whether the program ran compiled to the end.
    pub compiled: bool,
    /// Each action once; none when they are too many to be told apart.
    pub actions: Option<BTreeSet<String>>,
    pub transcript: Transcript,
}

/// Why a game does not go on.
pub(super) enum Stop {
    /// By the rules, or by the program's doing.
    Ended { ending: Ending, reason: Option<String> },
    /// By nobody's move.
    Broken(Broken),
}

/// Why a game cannot go on.
pub(super) enum Broken {
    /// Something is wrong in it.
    Mistake(Mistake),
    /// The sandbox failed.
    Host(HostError),
}

/// Something that went wrong in a game.
pub(super) struct Mistake {
    /// What was asked of it.
    pub call: String,
    /// For which move, from 1; 0 before the first one.
    pub moves: u32,
    /// What it did.
    pub message: String,
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        Stop::Broken(broken)
    }
}

/// What `step` returned.
#[derive(Debug, PartialEq)]
struct Turn {
    observation: String,
    reward: f64,
    done: bool,
}

impl<'a> Seats<'a> {
    /// Seats a program that is loaded, and loads the game, which is not begun.
    pub fn taken(
        sandbox: &Sandbox,
        limits: &Limits,
        game: &'a ScriptGame,
        player: Session,
        seed: Seed,
    ) -> Result<Seats<'a>, Broken> {
        let moves_fuel = u64::from(game.moves_max()) * MOVE_FUEL;
        let call_fuel = GAME_SHARE.saturating_mul(limits.game_fuel);
        let limits = Limits { game_fuel: call_fuel.saturating_add(moves_fuel), call_fuel, ..*limits };
        // A choice of the compiled tier is one for programs: rules are a user's own, which no program may be blamed for.
        let loaded = sandbox.of_rules().load(game.source(), seed.child(Purpose::Script, 0).get(), &limits);
        let rules = loaded.map_err(|unloaded| match unloaded.failure {
            Failure::Program(fault) => {
                Broken::Mistake(Mistake { call: "loading".into(), moves: 0, message: said(&fault, &limits) })
            }
            Failure::Host(error) => Broken::Host(error),
        })?;
        Ok(Seats {
            game,
            lineage: OnceCell::new(),
            rules,
            player,
            limits,
            score: 0.0,
            actions: Some(BTreeSet::new()),
            actions_bytes: 0,
            transcript: Transcript::default(),
        })
    }

    /// Plays until something ends it.
    pub fn play(mut self) -> Played {
        let Err(stop) = self.play_on();
        let transcript = Transcript { game_fuel: self.rules.fuel_used(), ..self.transcript };
        let (fuel, compiled) = (self.player.fuel_used(), self.player.is_compiled());
        Played { stop, score: self.score, fuel, compiled, actions: self.actions, transcript }
    }

    fn play_on(&mut self) -> Result<Infallible, Stop> {
        let mut observation = self.reset()?;
        loop {
            self.transcript.last_observation = kept(&observation);
            if self.transcript.moves == self.game.moves_max() {
                return Err(Stop::Ended { ending: Ending::MoveLimit, reason: None });
            }
            let action = self.ask(&observation)?;
            let turn = self.step(&action)?;
            self.transcript.moves += 1;
            self.score += turn.reward;
            if turn.done {
                self.transcript.last_observation = kept(&turn.observation);
                return Err(Stop::Ended { ending: Ending::GameOver, reason: None });
            }
            observation = turn.observation;
        }
    }

    fn reset(&mut self) -> Result<String, Stop> {
        let answer = self.rules.call("reset", "[]");
        let text = answer.map_err(|failure| self.failed("reset()".into(), failure))?;
        let value = Value::from_json(&text).map_err(|error| format!("returned {}: {error}", shown(&text)));
        Ok(value.and_then(|value| observation(&value)).map_err(|message| self.mistake("reset()".into(), message))?)
    }

    /// The program's action.
    fn ask(&mut self, observation: &str) -> Result<String, Stop> {
        let answer = self.player.call(self.game.function(), &format!("[{observation}]"));
        let reason = match answer {
            Ok(action) if action.len() > ACTION_MAX => {
                format!("returned {} bytes of JSON; expected at most {ACTION_MAX}", action.len())
            }
            // A program may have taken over the interpreter that writes its values.
            Ok(action) if serde_json::from_str::<IgnoredAny>(&action).is_err() => no_value(&action),
            Ok(action) => {
                self.remember(&action);
                return Ok(action);
            }
            Err(Failure::Program(fault)) => {
                let (ending, reason) = ended(&fault, &self.player);
                return Err(Stop::Ended { ending, reason: Some(reason) });
            }
            Err(Failure::Host(error)) => return Err(Broken::Host(error).into()),
        };
        Err(Stop::Ended { ending: Ending::BadMove, reason: Some(reason) })
    }

    fn remember(&mut self, action: &str) {
        let kept: usize = self.transcript.actions.iter().map(String::len).sum();
        if self.transcript.actions.len() == self.transcript.moves as usize && kept + action.len() <= KEPT_MAX {
            self.transcript.actions.push(action.to_owned());
        }
        if let Some(actions) = &mut self.actions
            && !actions.contains(action)
        {
            self.actions_bytes += action.len();
            actions.insert(action.to_owned());
        }
        if self.actions_bytes > ACTIONS_MAX {
            self.actions = None;
        }
    }

    fn step(&mut self, action: &str) -> Result<Turn, Stop> {
        let bad_move = |reason| Stop::Ended { ending: Ending::BadMove, reason: Some(reason) };
        let call = || format!("step({})", play::python(action, SHOWN_MAX));
        let text = match self.rules.call("step", &format!("[{action}]")) {
            Ok(text) => text,
            Err(Failure::Program(Fault::Raised { kind, message, .. })) if self.is_value_error(&kind) => {
                return Err(bad_move(format!("returned {}: {message}", play::python(action, SHOWN_MAX))));
            }
            Err(Failure::Host(HostError::Arguments(_))) => return Err(bad_move(no_value(action))),
            Err(failure) => return Err(self.failed(call(), failure).into()),
        };
        let turn = turn(&text).map_err(|message| self.mistake(call(), message))?;
        if (self.score + turn.reward).abs() <= SCORE_MAX {
            return Ok(turn);
        }
        let message = format!("returned the reward {:?}, with which the score is beyond {SCORE_MAX:e}", turn.reward);
        Err(self.mistake(call(), message).into())
    }

    /// Whether an exception of this type is a ValueError, by which `step` forbids a move.
    fn is_value_error(&self, kind: &str) -> bool {
        let lineage = || ExceptionTypes::of(self.game.source());
        kind == "ValueError" || self.lineage.get_or_init(lineage).is_a(kind, "ValueError")
    }

    fn failed(&self, call: String, failure: Failure) -> Broken {
        match failure {
            Failure::Program(fault) => self.mistake(call, said(&fault, &self.limits)),
            Failure::Host(error) => Broken::Host(error),
        }
    }

    fn mistake(&self, call: String, message: String) -> Broken {
        let moves = if call == "reset()" { 0 } else { self.transcript.moves + 1 };
        Broken::Mistake(Mistake { call, moves, message })
    }
}

/// Reads what `step` returned; what is wrong with it, otherwise.
fn turn(text: &str) -> Result<Turn, String> {
    const EXPECTED: &str = "expected (observation, reward, done)";
    let value = Value::from_json(text).map_err(|error| format!("returned {}: {error}", shown(text)))?;
    let (Value::Tuple(items) | Value::List(items)) = &value else {
        return Err(format!("returned {}; {EXPECTED}", shown(&value.to_string())));
    };
    let [seen, reward, done] = items.as_slice() else {
        return Err(format!("returned {} items; {EXPECTED}", items.len()));
    };
    let number = match reward {
        Value::Int(int) => int.to_f64(),
        Value::Float(float) => *float,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        _ => f64::NAN,
    };
    if !number.is_finite() {
        return Err(format!("returned the reward {}; expected a finite number", shown(&reward.to_string())));
    }
    let Value::Bool(done) = done else {
        return Err(format!("returned {} as `done`; expected True or False", shown(&done.to_string())));
    };
    Ok(Turn { observation: observation(seen)?, reward: number, done: *done })
}

/// An observation as it crosses to the program.
fn observation(value: &Value) -> Result<String, String> {
    let text = value.to_json();
    if text.len() > OBSERVATION_MAX {
        return Err(format!("showed an observation of {} bytes; expected at most {OBSERVATION_MAX}", text.len()));
    }
    Ok(text)
}

/// What a game did, in words that its author can act on.
fn said(fault: &Fault, limits: &Limits) -> String {
    let seconds = |fuel: u64| fuel as f64 / FUEL_PER_SECOND as f64;
    match fault {
        Fault::OutOfFuel { scope: FuelScope::Call } => {
            format!("did not end within {:.1} seconds of a reference core", seconds(limits.call_fuel))
        }
        Fault::OutOfFuel { scope: FuelScope::Game } => {
            let seconds = seconds(limits.game_fuel);
            format!(
                "all calls took more than {seconds:.1} seconds of a reference core; make them faster or lower MOVES"
            )
        }
        Fault::BadValue { found } => format!("returned {found}, which cannot leave the sandbox"),
        Fault::Raised { kind, .. } if kind == "ModuleNotFoundError" => {
            format!(
                "{fault}; a game is one file, and may import what programs may: Python's standard library, numpy and \
                 sortedcontainers, no file beside it"
            )
        }
        fault => fault.to_string(),
    }
}

fn no_value(action: &str) -> String {
    format!("returned {}, which is no value", shown(action))
}

fn shown(text: &str) -> String {
    play::shown(text, SHOWN_MAX)
}

fn kept(observation: &str) -> String {
    observation[..observation.floor_char_boundary(KEPT_MAX)].to_owned()
}
