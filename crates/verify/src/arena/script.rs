//! One program in one game whose rules are Python: each in an instance of its own, values crossing between them.
//!
//! The program is shown observations and gives actions; the host adds up rewards. What goes wrong in the program ends its
//! game. What goes wrong in the game is its author's fault: it stops the run, and no reward comes of it.
//!
//! A move that the rules forbid is a ValueError of `step`. Whatever else goes wrong there may still be a move's doing, one
//! that the author did not think of, and no program may stop the run of its user. So a game answers for the moves that its
//! reference players make: where nothing else was played, its failure is its own; where something else was, it is a bad
//! move. Their moves in one game each are known, and where a reference player is played itself, all of that game. A game
//! without reference players answers for every move.

mod seats;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use grpo_sandbox::{FUEL_PER_SECOND, Failure, HostError, Limits, Sandbox, Session, Unloaded};
use parking_lot::Mutex;

use super::Rules;
use super::play::{GameError, Play, Unplayed};
use crate::environment::{Case, Ending, Outcome, ScriptGame, Trace};
use crate::program::Program;
use crate::seed::{Purpose, Seed};
use seats::{Broken, Mistake, Played, Seats, Stop};

/// What reference players may use while their actions are found out: the same, whatever a program may.
const TRIAL: Limits = Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND, memory_bytes: 256 << 20 };

/// A program in the instance that it is loaded in.
pub(super) struct LoadedPlayer<'a> {
    pub program: &'a Program,
    pub session: Session,
}

/// Plays the game of `seed` with a program. The game and the program draw from streams of their own.
pub(super) fn play_script(
    sandbox: &Sandbox,
    rules: &Rules,
    game: &ScriptGame,
    player: LoadedPlayer<'_>,
    seed: Seed,
) -> Result<Play, Unplayed> {
    let broken = |broken| match broken {
        Broken::Mistake(mistake) => {
            GameError::Environment { game: game.path().to_owned(), message: in_words(mistake, seed) }
        }
        Broken::Host(error) => GameError::Host(error),
    };
    let LoadedPlayer { program, session } = player;
    let seats = Seats::taken(sandbox, &rules.limits, game, session, seed).map_err(broken).map_err(Unplayed::Broken)?;
    let Played { stop, score, fuel, actions, transcript, compiled } = seats.play();
    let (ending, reason) = match stop {
        Stop::Ended { ending, reason } => (ending, reason),
        Stop::Broken(Broken::Mistake(mistake)) if !answers_for(sandbox, game, program, actions.as_ref())? => {
            let reason = format!("after moves that no reference player makes, {}: {}", mistake.call, mistake.message);
            (Ending::BadMove, Some(reason))
        }
        Stop::Broken(cause) => return Err(Unplayed::Broken(broken(cause))),
    };
    let trace = Trace::Transcript(transcript);
    let outcome = Outcome { case: Case::Seed(seed), score, ending, fuel, trace, reason: None };
    Ok(Play::Game { outcome, reason, compiled })
}

/// A mistake in words that the author of the game can act on.
fn in_words(mistake: Mistake, seed: Seed) -> String {
    let Mistake { call, moves, message } = mistake;
    match moves {
        0 => format!("{call} of the game with seed {seed}: {message}"),
        _ => format!(
            "{call}, move {moves} of the game with seed {seed}: {message}; a move that the rules forbid is a ValueError, \
             all else a mistake in the game"
        ),
    }
}

/// Whether a failure after these actions of a program is the game's own.
fn answers_for(
    sandbox: &Sandbox,
    game: &ScriptGame,
    program: &Program,
    actions: Option<&BTreeSet<String>>,
) -> Result<bool, HostError> {
    let references = game.references();
    // Where actions are many, a reference player makes others in each game, and is still one in all of them.
    let is_reference = || references.iter().any(|player| player.source.trim_end() == program.source().trim_end());
    if references.is_empty() || is_reference() {
        return Ok(true);
    }
    let Some(actions) = actions else { return Ok(false) };
    // What fails before the first move needs no reference player, each of which might hang as long.
    Ok(actions.is_empty() || actions.is_subset(found_once(game.usual_actions(), || found_usual(sandbox, game))?))
}

/// What `cell` holds, or what `find` finds for it. Where several workers ask, one finds it and the others wait.
fn found_once<T, E>(cell: &OnceLock<T>, find: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
    static FINDING: Mutex<()> = Mutex::new(());
    let _turn = FINDING.lock();
    if let Some(found) = cell.get() {
        return Ok(found);
    }
    let found = find()?;
    Ok(cell.get_or_init(|| found))
}

/// Every action of a game of each reference player. All of them are interpreted: a choice of the compiled tier is one for the
/// program that is tried, and a budget ends at another move in each tier.
fn found_usual(sandbox: &Sandbox, game: &ScriptGame) -> Result<BTreeSet<String>, HostError> {
    let sandbox = sandbox.interpreting();
    let mut usual = BTreeSet::new();
    for (index, reference) in game.references().iter().enumerate() {
        let seed = Seed::root(0).child(Purpose::Script, index as u64);
        let player = match sandbox.load(&reference.source, seed.child(Purpose::Game, 0).get(), &TRIAL) {
            Ok(player) => player,
            Err(Unloaded { failure: Failure::Program(_), .. }) => continue,
            Err(Unloaded { failure: Failure::Host(error), .. }) => return Err(error),
        };
        let seats = match Seats::taken(&sandbox, &TRIAL, game, player, seed) {
            Ok(seats) => seats,
            Err(Broken::Mistake(_)) => continue,
            Err(Broken::Host(error)) => return Err(error),
        };
        let Played { stop, actions, .. } = seats.play();
        if let Stop::Broken(Broken::Host(error)) = stop {
            return Err(error);
        }
        usual.extend(actions.unwrap_or_default());
    }
    Ok(usual)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use grpo_sandbox::TierChoice;

    use super::*;
    use crate::arena::{Arena, ArenaError, Evaluation, Workers};
    use crate::config::Config;
    use crate::environment::Environment;

    /// Rules that no compiled tier takes.
    const GAME: &str = "\"\"\"Say 1.\"\"\"\nENTRY, SCALE, MOVES = 'say(seen)', 3, 3\nclass Rules:\n    left = 3\n\
        def reset():\n    global rules\n    rules = Rules()\n    return [1]\n\
        def step(action):\n    rules.left -= 1\n    return [1], action, rules.left == 0\n";

    fn sandbox() -> Sandbox {
        Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap()
    }

    /// What comes of a program that has to run compiled in the game with this source.
    fn compiled(game: &str, program: &str) -> Result<Evaluation, ArenaError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("game.py");
        std::fs::write(&path, game).unwrap();
        let environment = Environment::open(&path.display().to_string()).unwrap();
        let rules = Rules::training(&Config::preset("llm").unwrap());
        let sandbox = sandbox().with_tiers(TierChoice::Compiled, 0);
        let arena = Arena::new(sandbox, environment, rules, Workers::Inline).unwrap();
        let case = Case::Seed(Seed::root(1));
        let program: Program = arena.program(program, case).unwrap();
        arena.evaluate_all([(Ok(program), &[case][..])], &mut |_, _| ()).map(|mut played| played.remove(0))
    }

    #[test]
    fn what_several_workers_ask_for_is_found_by_one_of_them_and_again_only_after_a_failure() {
        let (cell, finds) = (OnceLock::new(), AtomicUsize::new(0));
        assert_eq!(found_once(&cell, || Err(7)), Err(7));
        let find = || {
            std::thread::sleep(Duration::from_millis(20));
            Ok::<_, u32>(finds.fetch_add(1, Ordering::SeqCst))
        };
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| assert_eq!(found_once(&cell, find), Ok(&0)))));
        });
        assert_eq!(finds.into_inner(), 1);
    }

    #[test]
    fn the_rules_of_a_game_leave_the_tier_and_only_its_player_is_told_of() {
        assert!(sandbox().outside(GAME).unwrap().is_some(), "a class is outside");
        let played = compiled(GAME, "def say(seen):\n    return seen[0]\n").unwrap();
        assert_eq!((played.games[0].ending, played.games[0].score), (Ending::GameOver, 3.0));
        assert!(played.usage.games.iter().all(|game| game.compiled));
        let left = compiled(GAME, "class One: pass\ndef say(seen):\n    return 1\n").unwrap_err();
        assert!(matches!(left, ArenaError::Host { source: HostError::LeftTier(_), .. }), "{left}");
    }

    #[test]
    fn no_program_is_told_of_for_a_reference_player_that_leaves_the_tier() {
        let references = "REFERENCES = {1: 'class One: pass\\ndef say(seen):\\n    return 1\\n'}\n";
        let careless = GAME.replace("[1], action,", "[1], {1: 1}[action],");
        let played = compiled(&format!("{careless}{references}"), "def say(seen):\n    return 7\n").unwrap();
        let reason = played.start.reason().unwrap_or_default();
        assert_eq!(played.games[0].ending, Ending::BadMove, "{reason}");
        assert!(reason.starts_with("after moves that no reference player makes, step(7): KeyError: 7"), "{reason}");
    }
}
