//! The reward check of a game whose rules are a file of Python.

mod cheats;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use self::cheats::{BROKEN_PLAYERS, CHEATS, HONEST, NO_ACTION, ODD, STRAY};
use super::finding::{Check, CheckFinding, Level};
use super::ladder::{CLIMB_EXPECTED, JudgedCheat, Ladder, ReferencePlayer, limit};
use super::report::{Report, Standing, fine_percent};
use super::trial::{BUDGET_EXPECTED, JudgedTrial, REWARD_EXPECTED, Told, Trial, TrialJudge, judged, seeds};
use crate::arena::{ArenaError, FUEL_PER_SECOND, Rules, Start};
use crate::config::Config;
use crate::environment::game2048::ladder::BROKEN;
use crate::environment::{Ending, Labels, MOVES, Outcome, Reference, ScriptGame, Trace};
use crate::plural::counted;

/// Games of each reference player; its cheats play the same games.
const GAMES: usize = 12;
/// Games that are played again, by the same text, which seeds what a player draws: fewer than its other games, so that no
/// verdict is reused.
const REPEATED: usize = 2;
/// Settings that end games early; the number of moves is set by the game's own file.
const LIMITS: &[&str] = &["train.game_seconds", "sandbox.call_share", "sandbox.memory_mib"];

/// Judges the reference players and the cheats, and reports what their rewards show about the game.
pub(super) fn examine(
    config: &Config,
    game: &ScriptGame,
    judge: &dyn TrialJudge,
    told: Told<'_>,
) -> Result<Report, ArenaError> {
    let opening = opening(game);
    // What is wrong with a game is told by the first of these: an endless `step` would be waited for in every trial.
    for trial in first_trials(game) {
        judged(judge, &[trial])?;
    }
    told("games", 0, opening.len());
    let mut all = judged(judge, &opening)?;
    let copied = copied(&all[BROKEN_PLAYERS.len()..]);
    all.extend(judged(judge, &closing(game, copied))?);
    let evidence = Evidence { config, game, copied, judged: &all };
    let (players, mut findings) = (evidence.standings(), evidence.findings());
    findings.extend(game.misspelt().iter().map(|(name, meant)| {
        let text = format!("nothing reads `{name}`, and `{meant}` has its default");
        CheckFinding::warning(Check::Rules, text).mend(format!("call it `{meant}` if that is meant"))
    }));
    Ok(Report { players, tasks: None, findings, labels: Labels::Game })
}

/// The broken players, then the reference players.
fn opening(game: &ScriptGame) -> Vec<Trial> {
    let broken = BROKEN_PLAYERS.iter().map(|(_, body)| Trial::new(&cheats::broken(game, body), seeds(1)));
    let references = game.references().iter().map(|reference| Trial::new(&reference.source, seeds(GAMES)));
    broken.chain(references).collect()
}

/// The reference player that the cheats copy: the weakest one that earns something, since many times nothing is nothing.
fn copied(references: &[JudgedTrial]) -> usize {
    references.iter().position(|one| one.reward.value > 0.0).unwrap_or(0)
}

/// If there are reference players, the cheats of the `copied` one, their honest twin, the player whose answer is no action, and the
/// strongest one again.
fn closing(game: &ScriptGame, copied: usize) -> Vec<Trial> {
    let cheats = game.references().get(copied).map(|player| {
        let sources = CHEATS.iter().map(|cheat| cheat.source).chain([HONEST]);
        sources.map(|source| Trial::new(&cheats::wrapped(game, &player.source, source), seeds(GAMES)))
    });
    let again = game.references().last().map(|strongest| Trial::new(&strongest.source, seeds(REPEATED)));
    let stray = again.is_some().then(|| Trial::new(&cheats::broken(game, STRAY), seeds(1)));
    cheats.into_iter().flatten().chain(stray).chain(again).collect()
}

/// What is played alone, one after another: a game of the weakest reference player. A game without references answers for every
/// move, so that odd ones are its mistakes, of which a model's first programs make all kinds.
fn first_trials(game: &ScriptGame) -> Vec<Trial> {
    let sources = match game.references().first() {
        Some(weakest) => vec![weakest.source.clone()],
        None => ODD.iter().map(|body| cheats::broken(game, body)).collect(),
    };
    sources.iter().map(|source| Trial::new(source, seeds(1))).collect()
}

struct Evidence<'a> {
    config: &'a Config,
    game: &'a ScriptGame,
    /// The place of the reference player that the cheats copy.
    copied: usize,
    judged: &'a [JudgedTrial],
}

impl Evidence<'_> {
    fn references(&self) -> impl Iterator<Item = (&Reference, &JudgedTrial)> {
        self.game.references().iter().zip(&self.judged[BROKEN_PLAYERS.len()..])
    }

    fn players(&self) -> Vec<ReferencePlayer<'_>> {
        let broken = BROKEN_PLAYERS.iter().zip(self.judged);
        let broken = broken.map(|((name, _), judged)| ReferencePlayer { name, rank: BROKEN, judged });
        let references = self.references();
        let references = references.map(|(reference, judged)| ReferencePlayer {
            name: &reference.name,
            rank: reference.rank,
            judged,
        });
        broken.chain(references).collect()
    }

    fn standings(&self) -> Vec<Standing> {
        self.players().iter().map(|player| Standing::new(player.name, player.rank, player.judged)).collect()
    }

    fn findings(&self) -> Vec<CheckFinding> {
        let players = self.players();
        let simplest = BROKEN_PLAYERS.len();
        let remedy =
            "add REFERENCES to the file: the texts of players by rank, {1: \"...\", 2: \"...\"}, the weakest first";
        let ranks: Vec<u8> = self.game.references().iter().map(|reference| reference.rank).collect();
        let (Some(weakest), Some(strongest)) = (ranks.first(), ranks.last()) else {
            let text = "no reference players: nobody has shown that playing well earns more, and no cheat is tried";
            return vec![CheckFinding::warning(Check::References, text).mend(remedy)];
        };
        let others = &self.judged[players.len()..];
        let twin = ReferencePlayer { judged: &others[CHEATS.len()], ..players[simplest + self.copied] };
        // A game may ask for one text of many moves, which may be of any length.
        let is_one_text = self.is_one_text();
        let cheats = CHEATS.iter().zip(others).filter(|(cheat, _)| !(cheat.is_long_text && is_one_text));
        let cheats = cheats.map(|(cheat, judged)| {
            // A cheat whose answer is no action must earn no more than a player without actions.
            let honest = if cheat.is_no_action { players[NO_ACTION] } else { twin };
            (cheat.is_long_text, JudgedCheat { name: cheat.name, honest, judged })
        });
        let (doubtful, cheats): (Vec<_>, Vec<_>) =
            cheats.partition(|(is_long_text, _)| *is_long_text && self.has_joined_texts());
        let cheats = cheats.into_iter().map(|(_, cheat)| cheat).collect();
        let ladder = Ladder { config: self.config, players, cheats, limits: LIMITS, limit, labels: Labels::Game };
        let mut findings = vec![ladder.failures()];
        match weakest == strongest {
            true => {
                let text = "all reference players have one rank: nobody has shown that playing well earns more";
                findings.push(CheckFinding::warning(Check::References, text).mend(remedy));
            }
            false => findings.extend([ladder.order(*weakest), ladder.spread(simplest)]),
        }
        findings.extend(self.scale());
        findings.extend(self.below_zero());
        findings.extend(self.endless());
        findings.extend(self.broken_off(*strongest));
        findings.extend([self.repeats(), self.budget(), ladder.cheats()]);
        findings.extend(doubtful.iter().filter_map(|(_, cheat)| ladder.paid(cheat)).map(long_text));
        findings.extend(self.stray());
        findings.into_iter().map(|finding| self.with_remedy(finding)).collect()
    }

    /// Whether all that a player does in a game is to give one text.
    fn is_one_text(&self) -> bool {
        self.references().all(|(_, judged)| judged.evaluation.games.iter().all(ends_with_one_text))
    }

    /// Whether a text that a player answers with is several of the players' other texts in a row: then one answer may be many moves.
    fn has_joined_texts(&self) -> bool {
        let games = self.references().flat_map(|(_, judged)| &judged.evaluation.games);
        let transcripts = games.filter_map(|game| match &game.trace {
            Trace::Transcript(transcript) => Some(transcript),
            _ => None,
        });
        let actions = transcripts.flat_map(|transcript| &transcript.actions);
        let texts = actions.filter_map(|action| serde_json::from_str::<String>(action).ok());
        let texts: BTreeSet<String> = texts.filter(|text| !text.is_empty()).collect();
        // A number in a text has the digits of others, and is one answer.
        texts.iter().any(|text| text.parse::<f64>().is_err() && is_joined(text, &texts))
    }

    /// Whether a player of the highest rank breaks games off, by a mistake of its own or by a ValueError of `step` that is not
    /// meant for its move.
    fn broken_off(&self, strongest: u8) -> Option<CheckFinding> {
        let is_broken = |game: &&Outcome| !game.ending.is_well() && limit(game).is_none();
        self.references().filter(|(reference, _)| reference.rank == strongest).find_map(|(reference, judged)| {
            let JudgedTrial { evaluation, .. } = judged;
            let first = evaluation.games.iter().find(is_broken).filter(|_| matches!(evaluation.start, Start::Played))?;
            let broken = evaluation.games.iter().filter(is_broken).count();
            let text = format!(
                "{} breaks off {broken} of {}: {} after {}{}{}",
                reference.name,
                counted(evaluation.games.len(), "game"),
                first.ending,
                counted(first.moves() as usize, "move"),
                first.seed().map(|seed| format!(" of the game with seed {seed}")).unwrap_or_default(),
                first.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default(),
            );
            let remedy = "correct the player, or `step` where it raises a ValueError that its move is not to blame for, as \
                          max([]) does";
            Some(CheckFinding::warning(Check::References, text).mend(remedy))
        })
    }

    /// Whether every game goes on to the number of moves that a file has by saying nothing of it.
    fn endless(&self) -> Option<CheckFinding> {
        let mut games = self.references().flat_map(|(_, judged)| &judged.evaluation.games);
        let is_endless = !self.game.says_moves() && games.all(|game| game.ending == Ending::MoveLimit);
        let text = format!("no game of a reference player is ever done: all are cut at {MOVES} moves, the default");
        let remedy = "have `step` return True as `done` when the game is over, or say with MOVES how long it is";
        is_endless.then(|| CheckFinding::warning(Check::Rules, text).mend(remedy))
    }

    /// Whether scores are far beyond what is said to earn 1, to which penalties and losses are relative.
    fn scale(&self) -> Option<CheckFinding> {
        let best = self.references().max_by(|(_, a), (_, b)| a.reward.value.total_cmp(&b.reward.value));
        let (reference, judged) = best.filter(|(_, judged)| judged.reward.value > REWARD_EXPECTED)?;
        let (reward, score) = (judged.reward.value, Labels::Game.written(judged.evaluation.mean_score()));
        let text = format!("{} scores {score} and earns {reward:.0}; a good player earns about 1", reference.name);
        Some(CheckFinding::warning(Check::Order, text).mend(format!("SCALE = {score}, or whatever score is to earn 1")))
    }

    /// Whether a game that a reference player plays to its end scores below 0, where what fails has 0.
    fn below_zero(&self) -> Option<CheckFinding> {
        let games = self.references().flat_map(|(reference, judged)| {
            let games = judged.evaluation.games.iter().filter(|game| game.ending.is_well());
            games.map(move |game| (game.score, &reference.name))
        });
        let (score, name) = games.min_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(score, _)| *score < 0.0)?;
        let text = format!("{name} scores {} in a game; all scores below 0 earn the same", Labels::Game.written(score));
        let remedy = "rewards that come to 0 or more in every game, such as all of them at its end: what is lost by then is \
                      not paid";
        Some(CheckFinding::warning(Check::Order, text).mend(remedy))
    }

    /// Whether `step` takes a value for an action that is surely none.
    fn stray(&self) -> Option<CheckFinding> {
        // The last is the strongest player again.
        let [.., stray, _] = self.judged else { return None };
        let game = stray.evaluation.games.first().filter(|game| limit(game).is_none())?;
        let text = format!("`step` takes every value for an action: also what `{STRAY}` answers with");
        let finding = CheckFinding::warning(Check::Rules, text);
        let is_accepted = game.moves() > 0 || game.ending != Ending::BadMove;
        is_accepted
            .then(|| finding.mend("have `step` raise a ValueError for whatever is not exactly one action of the game"))
    }

    /// Compares the strongest player's first games with their repetition.
    fn repeats(&self) -> CheckFinding {
        let first = &self.judged[BROKEN_PLAYERS.len() + self.game.references().len() - 1].evaluation;
        let again = self.judged.last().map_or(&[][..], |judged| &judged.evaluation.games);
        let differ = first
            .games
            .iter()
            .zip(again)
            .find(|(a, b)| limit(a).is_none() && limit(b).is_none() && (a.score, &a.trace) != (b.score, &b.trace));
        match differ {
            None if self.is_one_game() => {
                let text = format!("the {GAMES} games of every reference player are the same, whatever the seed");
                let remedy =
                    "have only the host seed `random`: after random.seed(1), as in Random(1), all games are one";
                CheckFinding::warning(Check::Repeats, text).mend(remedy)
            }
            None => CheckFinding::ok(Check::Repeats, "the same player on the same seed does the same again"),
            Some((a, b)) => {
                let text = format!("the same player on the same seed scores {} and then {}", a.score, b.score);
                CheckFinding::problem(Check::Repeats, text)
                    .mend("draw chance from `random` alone, which is seeded; no time, no `id()`, no order of a set")
            }
        }
    }

    /// Whether a game that asks for chance is the same one whatever its seed: a program could know it by heart.
    fn is_one_game(&self) -> bool {
        let is_one = |judged: &JudgedTrial| {
            let games = &judged.evaluation.games;
            games.len() == GAMES && games.windows(2).all(|two| are_alike(&two[0], &two[1]))
        };
        let draws = ["random.", "from random"].iter().any(|words| self.game.source().contains(words));
        draws && self.references().all(|(_, judged)| is_one(judged))
    }

    /// Checks that the players have enough time.
    fn budget(&self) -> CheckFinding {
        let limits = Rules::training(self.config).limits;
        let seconds = limits.game_fuel as f64 / FUEL_PER_SECOND as f64;
        let cut = self.references().map(|(reference, judged)| {
            let games = &judged.evaluation.games;
            (games.iter().filter(|game| limit(game).is_some()).count(), games.len(), reference)
        });
        if let Some((cut, games, reference)) = cut.max_by_key(|(cut, ..)| *cut).filter(|(cut, ..)| *cut > 0) {
            let games = counted(games, "game");
            let text = format!("limits cut {} short in {cut} of {games}; a game has {seconds} s", reference.name);
            return CheckFinding::warning(Check::Budget, text).mend("a larger train.game_seconds, or a faster player");
        }
        let shares = self.references().map(|(reference, judged)| {
            let most = judged.evaluation.games.iter().map(|game| game.fuel).max().unwrap_or(0);
            (most as f64 / limits.game_fuel.max(1) as f64, reference)
        });
        let (share, reference) = shares.max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are references");
        let text = format!("{} uses at most {} of its budget of {seconds} s", reference.name, fine_percent(share));
        match share > BUDGET_EXPECTED {
            true => CheckFinding::warning(Check::Budget, text).mend("a larger train.game_seconds, or a faster player"),
            false => CheckFinding::ok(Check::Budget, text),
        }
    }

    /// Adds what the author of the game can do, if no setting explains a problem.
    fn with_remedy(&self, finding: CheckFinding) -> CheckFinding {
        if finding.level < Level::Problem || finding.setting.is_some() || finding.remedy.is_some() {
            return finding;
        }
        let remedy = match finding.check {
            Check::Order | Check::Spread if self.is_below_zero() => {
                "scores above 0 for whoever plays better than the simplest: all scores below 0 earn the same"
            }
            Check::Spread if self.is_small() => {
                "SCALE as what a good player scores: beside it these scores are nothing"
            }
            Check::Failures => "correct the player in REFERENCES, or raise the scores of those who play",
            Check::Order => "correct the ranks in REFERENCES, or what the game pays for",
            Check::Spread => "a score that grows with how well a player plays",
            Check::Cheats => "have `step` raise a ValueError for whatever is not exactly one action of the game",
            _ => return finding,
        };
        finding.mend(remedy)
    }

    /// Whether players that are not the weakest have scores below 0.
    fn is_below_zero(&self) -> bool {
        let weakest = self.game.references().first().map(|reference| reference.rank);
        let mut others = self.references().filter(|(reference, _)| Some(reference.rank) != weakest);
        others.any(|(_, JudgedTrial { evaluation, .. })| evaluation.plays() && evaluation.mean_score() < 0.0)
    }

    /// Whether rewards grow with how well players play, and are all small beside what failing costs.
    fn is_small(&self) -> bool {
        let rewards = || self.references().map(|(_, judged)| judged.reward.value);
        let (weakest, best) = (rewards().next().unwrap_or(0.0), rewards().fold(0.0, f32::max));
        best > 0.0 && best - weakest >= CLIMB_EXPECTED * best
    }
}

/// Whether two games went the same way, whatever their seeds.
fn are_alike(one: &Outcome, other: &Outcome) -> bool {
    let (Trace::Transcript(a), Trace::Transcript(b)) = (&one.trace, &other.trace) else { return false };
    one.score == other.score && (a.moves, &a.actions, &a.last_observation) == (b.moves, &b.actions, &b.last_observation)
}

/// What is said of a longer text that pays, where answers may be texts of many moves: how many, only the author of the game knows.
fn long_text(paid: String) -> CheckFinding {
    let text = format!("{paid}; a reference player answers with several moves in one text, too");
    CheckFinding::warning(Check::Cheats, text)
        .mend("if a text may have only so many moves, have `step` raise a ValueError for a longer one")
}

/// Whether a text is at least two of `texts` in a row.
fn is_joined(text: &str, texts: &BTreeSet<String>) -> bool {
    let mut is_end = vec![false; text.len() + 1];
    is_end[0] = true;
    for start in 0..text.len() {
        if is_end[start] {
            let parts = texts.iter().filter(|part| part.len() < text.len() && text[start..].starts_with(part.as_str()));
            parts.for_each(|part| is_end[start + part.len()] = true);
        }
    }
    is_end[text.len()]
}

/// Whether a game was over with one action, which was a text.
fn ends_with_one_text(game: &Outcome) -> bool {
    let Trace::Transcript(transcript) = &game.trace else { return false };
    game.moves() <= 1 && transcript.actions.iter().all(|action| action.starts_with('"'))
}
