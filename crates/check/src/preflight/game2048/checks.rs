//! Checks of the reward of 2048 beyond those of every ladder of players: outcomes are compared with the engine's
//! result for the logged moves.

use super::boards;
use crate::arena::{Rules, Start};
use crate::config::Config;
use crate::environment::game2048::ladder::{BLIND, CHEATS, CONSTANT, CYCLE, RUNGS, SINGLE_GAMES, STRONG, TARGET_TILE};
use crate::environment::game2048::{Board, Game, Move};
use crate::environment::{Case, Ending, Labels, Outcome};
use crate::plural::counted;
use crate::preflight::finding::{Check, CheckFinding, Level};
use crate::preflight::ladder::{self, JudgedCheat, Ladder, ReferencePlayer, SHAPE, rises};
use crate::preflight::{JudgedTrial, Trial};
use crate::seed::Seed;
use crate::stats;

/// Settings that end games early.
const LIMITS: &[&str] =
    &["train.game_seconds", "sandbox.call_share", "sandbox.memory_mib", "arena.moves_max", "arena.freeze_after"];

pub(super) fn findings(config: &Config, trials: &[Trial], judged: &[JudgedTrial]) -> Vec<CheckFinding> {
    let (rungs, others) = judged.split_at(RUNGS.len());
    let players =
        RUNGS.iter().zip(rungs).map(|(rung, judged)| ReferencePlayer { name: rung.name, rank: rung.rank, judged });
    let players: Vec<ReferencePlayer> = players.collect();
    let cheats = CHEATS.iter().zip(others);
    let cheats =
        cheats.map(|(cheat, judged)| JudgedCheat { name: cheat.name, honest: players[cheat.honest], judged }).collect();
    let evidence = Evidence {
        ladder: Ladder { config, players, cheats, limits: LIMITS, limit, labels: Labels::Board },
        trials,
        judged,
    };
    vec![
        evidence.replay(),
        evidence.ladder.failures(),
        evidence.ladder.order(BLIND),
        evidence.ladder.spread(CYCLE),
        evidence.single_games(),
        evidence.target(),
        evidence.ladder.cheats(),
        evidence.no_op(),
        evidence.boards(),
    ]
}

struct Evidence<'a> {
    ladder: Ladder<'a>,
    trials: &'a [Trial],
    judged: &'a [JudgedTrial],
}

impl Evidence<'_> {
    /// Checks that every outcome follows from its moves, on the requested board.
    fn replay(&self) -> CheckFinding {
        let (mut games, mut wrong) = (0, Vec::new());
        for (at, (trial, judged)) in self.trials.iter().zip(self.judged).enumerate() {
            if matches!(judged.evaluation.start, Start::Rejected(_)) {
                continue;
            }
            if judged.evaluation.games.len() != trial.cases.len() {
                let (found, asked) = (judged.evaluation.games.len(), trial.cases.len());
                wrong.push(format!("{}: {} of {asked}", counted(found, "game"), subject(at)));
            }
            for (number, (outcome, &case)) in judged.evaluation.games.iter().zip(&trial.cases).enumerate() {
                games += 1;
                wrong.extend(lie(outcome, case).map(|lie| format!("{}, game {}: {lie}", subject(at), number + 1)));
            }
        }
        let played = counted(games, "game");
        match wrong.first() {
            None => {
                let replay = if games == 1 { "replays" } else { "replay" };
                CheckFinding::ok(Check::Replay, format!("{played} {replay} to the score, tile and board reported"))
            }
            Some(first) => {
                let text = format!("{} of {played} are not what was played; {first}", wrong.len());
                CheckFinding::problem(Check::Replay, text)
            }
        }
    }

    /// Checks that of two games of one player the better one earns more, so that the reward depends on the game and
    /// not on the program.
    fn single_games(&self) -> CheckFinding {
        let singles = &self.judged[RUNGS.len() + CHEATS.len()..][..SINGLE_GAMES];
        let full = |judged: &&JudgedTrial| judged.evaluation.games.iter().all(|game| game.ending == Ending::GameOver);
        let games: Vec<(u64, f32)> =
            singles.iter().filter(full).map(|judged| (played_score(judged), judged.reward.value)).collect();
        let better = games.iter().flat_map(|&low| games.iter().map(move |&high| (low, high)));
        let pairs: Vec<_> = better.filter(|(low, high)| low.0 < high.0).collect();
        let wrong: Vec<_> = pairs.iter().filter(|(low, high)| !rises(low.1, high.1)).collect();
        match wrong.first() {
            None => CheckFinding::ok(
                Check::Games,
                format!("the better of two games earns more, in {}", counted(pairs.len(), "pair")),
            ),
            Some((low, high)) => {
                let text = format!(
                    "in {} of {} the better game does not earn more: {} points {:.3}, {} points {:.3}",
                    wrong.len(),
                    counted(pairs.len(), "pair"),
                    low.0,
                    low.1,
                    high.0,
                    high.1
                );
                CheckFinding::problem(Check::Games, text).blame(self.ladder.config, SHAPE)
            }
        }
    }

    /// Checks that the strong players reach the target tile, and that no limit stops them before.
    fn target(&self) -> CheckFinding {
        let strong = || (0..RUNGS.len()).filter(|&at| RUNGS[at].rank >= STRONG);
        let games: Vec<&Outcome> = strong().flat_map(|at| &self.judged[at].evaluation.games).collect();
        let reached = games.iter().filter(|game| game.max_tile() >= TARGET_TILE).count();
        let (key, cut) = commonest_cut(&games);
        if reached == 0 {
            let best = games.iter().map(|game| game.max_tile()).max().unwrap_or(0);
            let text = format!(
                "no reference player reaches {TARGET_TILE} in {}, {cut} of them cut by a limit; the best tile is {best}",
                counted(games.len(), "game")
            );
            return CheckFinding::problem(Check::Target, text).blame(self.ladder.config, &[key]);
        }
        let text = format!("{TARGET_TILE} is reached in {reached} of {}", counted(games.len(), "game"));
        let of_player = |at: usize| {
            let games = &self.judged[at].evaluation.games;
            let cut = games.iter().filter(|game| limit(game).is_some() && game.max_tile() < TARGET_TILE).count();
            let mean = self.judged[at].evaluation.mean_score();
            (cut > 0).then(|| {
                format!("{key} cuts {} in {cut} of {}, mean {mean:.0}", RUNGS[at].name, counted(games.len(), "game"))
            })
        };
        let cuts: Vec<String> = strong().filter_map(of_player).collect();
        if cuts.is_empty() {
            return CheckFinding::ok(Check::Target, format!("{text}; {}", self.spending()));
        }
        let finding = CheckFinding::warning(Check::Target, format!("{text}; before that {}", cuts.join("; ")));
        let finding = finding.blame(self.ladder.config, &[key]);
        // It is known, and needs no warning, that the default limits cut some games.
        match finding.setting {
            None => CheckFinding { level: Level::Ok, ..finding },
            Some(_) => finding,
        }
    }

    /// The share of its budget that the most expensive player uses.
    fn spending(&self) -> String {
        let budget = Rules::training(self.ladder.config).limits.game_fuel as f64;
        let at = RUNGS.len() - 1;
        let games = &self.judged[at].evaluation.games;
        let mean = stats::mean(games.iter().map(|game| game.fuel as f64));
        format!("{} uses {:.0}% of its budget", RUNGS[at].name, 100.0 * mean / budget)
    }

    /// Nobody knows the boards of a run that has a salt.
    fn boards(&self) -> CheckFinding {
        let (_, both) = self.judged.split_last_chunk().expect("trials end with who knows boards");
        boards::finding(self.ladder.config, both)
    }

    /// Checks that a player that always pushes in one direction freezes, and earns less than one that cycles.
    fn no_op(&self) -> CheckFinding {
        let problem =
            |text| CheckFinding::problem(Check::NoOp, text).blame(self.ladder.config, &["arena.freeze_after"]);
        let judged = &self.judged[CONSTANT];
        let games = &judged.evaluation.games;
        let frozen = games.iter().filter(|game| game.ending == Ending::Freeze).count();
        let idle = games.iter().map(|game| game.moves_text().len()).sum::<usize>();
        let moves = games.iter().map(|game| game.moves() as usize).sum::<usize>();
        if frozen < games.len() || moves >= idle {
            return problem(format!(
                "pushing one way only ends as a freeze in {frozen} of {}; {moves} of {idle} pushes count as moves",
                counted(games.len(), "game")
            ));
        }
        let text = format!("{} against {}", self.ladder.earns(CONSTANT), self.ladder.earns(CYCLE));
        match rises(self.ladder.reward(CONSTANT), self.ladder.reward(CYCLE)) {
            true => CheckFinding::ok(Check::NoOp, format!("pushing one way only freezes: {text}")),
            false => problem(format!("freezing pays: {text}")),
        }
    }
}

/// The name of a trial in messages.
fn subject(trial: usize) -> &'static str {
    let cheat = || CHEATS.get(trial - RUNGS.len()).map(|cheat| cheat.name);
    let last = if trial < RUNGS.len() + CHEATS.len() + SINGLE_GAMES { "single game" } else { "knowing boards" };
    RUNGS.get(trial).map(|rung| rung.name).or_else(cheat).unwrap_or(last)
}

/// The setting whose limit ended this game.
fn limit(game: &Outcome) -> Option<&'static str> {
    let is_longest = game.ending == Ending::MoveLimit;
    ladder::limit(game).or(is_longest.then_some("arena.moves_max"))
}

/// The limit that ended most games before the target tile, and how many games any limit ended.
fn commonest_cut(games: &[&Outcome]) -> (&'static str, usize) {
    let cut: Vec<&str> =
        games.iter().filter(|game| game.max_tile() < TARGET_TILE).filter_map(|game| limit(game)).collect();
    let most = LIMITS.iter().max_by_key(|&&key| cut.iter().filter(|&&other| other == key).count());
    (most.copied().unwrap_or("train.game_seconds"), cut.len())
}

/// The engine's result for the logged moves.
struct Replayed {
    score: u64,
    board: Board,
    moves: u32,
}

fn replayed(board: Seed, moves_text: &str) -> Option<Replayed> {
    let mut game = Game::new(board);
    let mut moves = 0;
    for letter in moves_text.chars() {
        let direction = Move::from_text(letter.encode_utf8(&mut [0; 4]))?;
        moves += u32::from(game.play(direction));
    }
    Some(Replayed { score: game.score(), board: game.board(), moves })
}

/// The true score of a single game, whatever was reported.
fn played_score(judged: &JudgedTrial) -> u64 {
    let game = judged.evaluation.games.first();
    game.and_then(|game| replayed(game.seed()?, game.moves_text())).map_or(0, |replayed| replayed.score)
}

/// The first claim of an outcome that its moves do not support.
fn lie(outcome: &Outcome, case: Case) -> Option<String> {
    let (Some(seed), Some(trace)) = (outcome.seed(), outcome.board()) else {
        return Some("no game of 2048".into());
    };
    if outcome.case != case {
        return Some("played another board than it was asked for".into());
    }
    let Some(replayed) = replayed(seed, &trace.moves_text) else {
        return Some("logged moves that are none".into());
    };
    let tile = replayed.board.max_tile();
    if (outcome.score, trace.max_tile, trace.moves) != (replayed.score as f64, tile, replayed.moves) {
        return Some(format!(
            "{} points, tile {} and {} reported; its moves make {} points, tile {tile}, {}",
            outcome.score,
            trace.max_tile,
            counted(trace.moves as usize, "move"),
            replayed.score,
            counted(replayed.moves as usize, "move")
        ));
    }
    if trace.final_board != replayed.board.cells() {
        return Some("another final board than its moves make".into());
    }
    let over = outcome.ending == Ending::GameOver && !replayed.board.is_stuck();
    over.then(|| "reported as over with moves left".into())
}
