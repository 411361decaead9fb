//! Programs that do not play, and programs that cheat, for any game.

use crate::environment::ScriptGame;
use crate::program::Program;

/// Name of a program that does not play, and the body of its function.
pub const BROKEN_PLAYERS: [(&str, &str); 3] =
    [("syntax error", "return ("), ("crash", "return 1 / 0"), ("no action", "return object()")];
/// Index of the broken player whose answer is no action.
pub const NO_ACTION: usize = 2;

/// What plays as the player does and is no cheat: the cheats are compared with it, which draws what they draw.
pub const HONEST: &str = "def cheat(observation, honest):\n    return honest(observation)\n";
/// A line that lets players whose texts differ draw the same: the `random` of a program is seeded by its text.
const SAME_CHANCE: &str = "__import__('random').seed(0)\n";

/// Body of the function of a player that returns a value which is surely no action, and crosses as one could.
pub const STRAY: &str = "return {'no': ['action']}";

/// Bodies of players that return values of many types, most of which are an action of no game.
pub const ODD: [&str; 5] = [STRAY, "return None", "return 'no action'", "return 2 ** 64", "return [0, 0]"];

/// A program that plays as another one does, and tries to earn more.
#[derive(Debug, Clone, Copy)]
pub struct Wrapper {
    /// What it does, in messages.
    pub name: &'static str,
    /// Python with a function `cheat` of an observation and the honest player.
    pub source: &'static str,
    pub is_no_action: bool,
    /// Whether it says what the player says many times over, in one text.
    pub is_long_text: bool,
}

const fn cheat(name: &'static str, source: &'static str) -> Wrapper {
    Wrapper { name, source, is_no_action: false, is_long_text: false }
}

pub const CHEATS: [Wrapper; 7] = [
    cheat("changing its observation", include_str!("cheats/changes_its_observation.py")),
    cheat("a list of many actions", include_str!("cheats/list_of_actions.py")),
    Wrapper { is_long_text: true, ..cheat("a text of many actions", include_str!("cheats/text_of_actions.py")) },
    cheat("a number that is none", include_str!("cheats/no_number.py")),
    cheat("an action that equals everything", include_str!("cheats/action_that_equals_everything.py")),
    cheat("replacing the rules in its own instance", include_str!("cheats/replaces_the_rules.py")),
    Wrapper {
        is_no_action: true,
        ..cheat("an object that equals everything", include_str!("cheats/equals_everything.py"))
    },
];

/// The source of a program that does not play.
pub fn broken(game: &ScriptGame, body: &str) -> String {
    format!("{} {body}\n", game.entry().opening())
}

/// The source of a player with a cheat around it. What it draws while it loads, and in its calls, does not depend on the cheat.
pub fn wrapped(game: &ScriptGame, player: &str, cheat: &str) -> String {
    let name = game.function();
    let place = Program::from_text(player, game.entry()).map_or(0, |program| program.first_place());
    let (future, player) = player.split_at(place);
    let end = if future.is_empty() || future.ends_with('\n') { "" } else { "\n" };
    format!(
        "{future}{end}{SAME_CHANCE}{player}\n\n__honest = {name}\n\n\n{cheat}\n\n{SAME_CHANCE}\n\n\
         def {name}(observation):\n    return cheat(observation, __honest)\n"
    )
}
