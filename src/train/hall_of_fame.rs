//! The best distinct programs of a run: ranked by what they scored in training, chosen on some held-out boards, and
//! the best of them reported on others.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::elites::Elites;
use super::run_dir::HALL_OF_FAME;
use crate::arena::Evaluation;
use crate::evaluation::{HeldOut, Single};
use crate::program::Program;
use crate::seed::Seed;

/// Programs that the end of a run keeps.
pub const SIZE: usize = 12;
/// Candidates that are kept until then: what leads after its one game in training was lucky too, and the best may be some
/// places behind.
const CANDIDATES: usize = 36;
/// Held-out games that a program has played at the end of each round of the choice. What is known by several games
/// already begins with the second.
const ROUNDS: [usize; 3] = [2, 4, 8];
/// Training games from which a mean says something of a program; fewer are luck.
const SEVERAL: u64 = 4;

/// One program that played well.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Digest of the program, comments and spacing aside.
    pub program: String,
    /// Its text.
    pub source: String,
    /// Step that first wrote it; the first is 1.
    pub step: usize,
    /// Style of the prompt it answered.
    pub style: String,
    /// Mean score in training games.
    pub mean_score: f64,
    /// How many those are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub games: Option<u64>,
    /// Best tile in those games; on held-out boards once settled. Of 2048 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
    /// Mean score on the held-out boards that it was chosen on, once settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_mean_score: Option<f64>,
    /// How many boards those are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_games: Option<usize>,
    /// Mean score on held-out boards that nothing was chosen on; of the best program only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_mean_score: Option<f64>,
    /// How many boards those are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_games: Option<usize>,
    /// Lower end of the 95 % bootstrap interval of that mean, over games.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_mean_score_low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_mean_score_high: Option<f64>,
}

impl Member {
    /// Whether its mean score in training is one of several games.
    pub fn is_known(&self) -> bool {
        self.games.is_some_and(|games| games >= SEVERAL)
    }

    /// The same with what it was chosen by.
    fn settled(self, held_out: &Evaluation) -> Member {
        Member {
            held_out_mean_score: Some(held_out.mean_score()),
            held_out_games: Some(held_out.games.len()),
            max_tile: best_tile(held_out),
            ..self
        }
    }
}

/// The best so far, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HallOfFame {
    members: Vec<Member>,
}

/// Plays members on boards, and gives what came of each in their order.
pub type Play<'a, E> = dyn FnMut(&[Member], &[Seed]) -> Result<Vec<Evaluation>, E> + 'a;

impl HallOfFame {
    /// Lets the program of a step's episode in if it is new and good enough. Earlier programs win ties.
    pub fn consider(&mut self, step: usize, style: &str, program: &Program, evaluation: &Evaluation) {
        let mean_score = evaluation.mean_score();
        let digest = program.digest_text();
        let rank = self.members.partition_point(|member| member.mean_score >= mean_score);
        if rank >= CANDIDATES || mean_score <= 0.0 || self.members.iter().any(|member| member.program == digest) {
            return;
        }
        let member = Member {
            program: digest,
            source: program.source().to_owned(),
            step,
            style: style.to_owned(),
            mean_score,
            games: Some(evaluation.games.len() as u64),
            max_tile: best_tile(evaluation),
            ..Member::default()
        };
        self.members.insert(rank, member);
        self.members.truncate(CANDIDATES);
    }

    /// Lets the best elites in as candidates: what scored well in many games, where a step's episode may have been
    /// lucky.
    pub fn nominate(&mut self, elites: &Elites) {
        let mut elites: Vec<_> = elites.members().collect();
        elites.sort_by(|(_, _, a), (_, _, b)| b.mean_reward().total_cmp(&a.mean_reward()));
        for (style, elite, tally) in elites.into_iter().take(SIZE) {
            if let Some(known) = self.members.iter_mut().find(|member| member.program == elite.program) {
                if Some(tally.games) > known.games {
                    (known.mean_score, known.games) = (tally.mean_score(), Some(tally.games));
                }
                continue;
            }
            self.members.push(Member {
                program: elite.program.clone(),
                source: elite.source.clone(),
                step: elite.step,
                style: style.to_owned(),
                mean_score: tally.mean_score(),
                games: Some(tally.games),
                ..Member::default()
            });
        }
    }

    /// Ranks without playing: what was settled first, then what several training games say, then what one does.
    pub fn rank(&mut self) {
        let of = |member: &Member| (member.held_out_mean_score, member.is_known(), member.mean_score);
        self.members.sort_by(|a, b| {
            let ((settled, known, score), (than_settled, than_known, than)) = (of(b), of(a));
            let by_settled = settled.unwrap_or(-1.0).total_cmp(&than_settled.unwrap_or(-1.0));
            by_settled.then(known.cmp(&than_known)).then(score.total_cmp(&than))
        });
        self.members.truncate(SIZE);
    }

    /// Lets those in as candidates that an earlier end of the run in `run` had settled: what was chosen by many games stays
    /// known, though the checkpoint that the run went on from knew it by one.
    pub fn readmit(&mut self, run: &Path) {
        let settled = fs::read(run.join(HALL_OF_FAME)).ok();
        let settled = settled.and_then(|text| serde_json::from_slice::<Vec<Member>>(&text).ok());
        for member in settled.unwrap_or_default() {
            let is_known = self.members.iter().any(|known| known.program == member.program);
            if member.held_out_mean_score.is_some() && !is_known {
                self.members.push(member);
            }
        }
    }

    /// Ranks by held-out games and keeps the best, by successive halving: many candidates play few games, and those who do
    /// well in them more.
    ///
    /// Source: Karnin, Koren and Somekh 2013.
    pub fn settle<E>(&mut self, held_out: &HeldOut, play: &mut Play<'_, E>) -> Result<(), E> {
        let mut waiting = std::mem::take(&mut self.members);
        let mut field: Vec<(Member, Evaluation)> = Vec::new();
        for (round, &games) in ROUNDS.iter().enumerate() {
            let boards = held_out.selection(games);
            let (members, played): (Vec<_>, Vec<_>) = field.into_iter().unzip();
            let so_far = played.first().map_or(0, |evaluation: &Evaluation| evaluation.games.len());
            let more = play(&members, &boards[so_far..])?;
            let joined = played.into_iter().zip(more).map(|(played, more)| joined(played, more));
            field = members.into_iter().zip(joined).collect();
            // All come in by the second round.
            let joins = |member: &Member| round > 0 || !(member.is_known() || member.held_out_games.is_some());
            let (joining, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(joins);
            waiting = later;
            let evaluations = play(&joining, boards)?;
            field.extend(joining.into_iter().zip(evaluations));
            field.sort_by(|(_, a), (_, b)| b.mean_score().total_cmp(&a.mean_score()));
            field.truncate(SIZE);
        }
        self.members = field.into_iter().map(|(member, evaluation)| member.settled(&evaluation)).collect();
        Ok(())
    }

    /// Records what the best program scores on boards that it was not chosen on.
    pub fn report(&mut self, evaluation: &Evaluation) {
        if let Some(best) = self.members.first_mut() {
            let interval = Single::new("", &evaluation.games).mean_score.interval;
            (best.report_mean_score, best.report_games) = (Some(evaluation.mean_score()), Some(evaluation.games.len()));
            (best.report_mean_score_low, best.report_mean_score_high) = (Some(interval.low), Some(interval.high));
            best.max_tile = best.max_tile.max(best_tile(evaluation));
        }
    }

    /// The programs, best first.
    pub fn members(&self) -> &[Member] {
        &self.members
    }
}

/// Games of one program, and more of them.
fn joined(played: Evaluation, more: Evaluation) -> Evaluation {
    Evaluation { games: [played.games, more.games].concat(), ..played }
}

/// Where games have tiles.
fn best_tile(evaluation: &Evaluation) -> Option<u32> {
    evaluation.games.iter().any(|game| game.board().is_some()).then(|| evaluation.max_tile())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Usage, Verdict};
    use crate::environment::Ending;
    use crate::environment::game2048::{entry, scored};

    fn member(name: &str, mean_score: f64) -> Member {
        Member {
            program: name.into(),
            source: name.into(),
            step: 1,
            style: "plain".into(),
            mean_score,
            max_tile: Some(8),
            ..Member::default()
        }
    }

    fn games(scores: &[u64]) -> Evaluation {
        let game = |&score| scored(score, 64, Ending::GameOver);
        Evaluation { verdict: Verdict::Played, games: scores.iter().map(game).collect(), usage: Usage::default() }
    }

    /// Settles with programs that score so much in every game; gives who played how many games in each round.
    fn settle(hall: &mut HallOfFame, score: impl Fn(&str) -> u64) -> Vec<(usize, usize)> {
        let mut rounds = Vec::new();
        let mut play = |members: &[Member], boards: &[Seed]| {
            rounds.push((members.len(), boards.len()));
            let evaluation = |member: &Member| games(&vec![score(&member.program); boards.len()]);
            Ok::<_, std::convert::Infallible>(members.iter().map(evaluation).collect())
        };
        let Ok(()) = hall.settle(&HeldOut::published(), &mut play);
        rounds.retain(|&(members, _)| members > 0);
        rounds
    }

    #[test]
    fn the_best_is_found_behind_many_that_were_luckier_in_their_one_game() {
        let mut hall = HallOfFame::default();
        let prompt = |number: usize| format!("def strategy(board):\n    return {number} * \"W\"\n");
        for number in 0..40 {
            let program = Program::from_text(&prompt(number), &entry()).unwrap();
            hall.consider(number + 1, "plain", &program, &games(&[5000 - number as u64]));
        }
        assert_eq!(hall.members().len(), CANDIDATES);
        let known = (0..SIZE).map(|n| Member { games: Some(40), ..member(&format!("known {n}"), 3000.0) });
        hall.members.extend(known);
        let steady = hall.members()[30].program.clone();
        let rounds = settle(&mut hall, |name| if name == steady { 4000 } else { 1000 });
        // As many games as 24 candidates of eight games each.
        assert_eq!(rounds, [(36, 2), (12, 2), (12, 4), (12, 4)]);
        assert_eq!(rounds.iter().map(|(members, games)| members * games).sum::<usize>(), 24 * 8);
        assert_eq!(hall.members().len(), SIZE);
        assert_eq!((&hall.members()[0].program, hall.members()[0].held_out_mean_score), (&steady, Some(4000.0)));
        assert!(hall.members().iter().all(|member| member.held_out_games == Some(8)));
    }

    #[test]
    fn held_out_games_overrule_luck_in_training_and_the_best_is_reported_on_others() {
        let mut hall = HallOfFame { members: vec![member("lucky", 9000.0), member("steady", 5000.0)] };
        settle(&mut hall, |name| if name == "lucky" { 2000 } else { 4500 });
        let names: Vec<&str> = hall.members().iter().map(|member| member.program.as_str()).collect();
        assert_eq!(names, ["steady", "lucky"]);
        hall.report(&games(&[4100, 4300]));
        let best = &hall.members()[0];
        assert_eq!((best.held_out_mean_score, best.report_mean_score), (Some(4500.0), Some(4200.0)));
        assert_eq!((best.held_out_games, best.report_games), (Some(8), Some(2)));
        assert!(best.report_mean_score_low >= Some(4100.0) && best.report_mean_score_high <= Some(4300.0), "{best:?}");
        assert_eq!((best.max_tile, hall.members()[1].report_mean_score), (Some(64), None));
    }

    #[test]
    fn without_held_out_games_several_training_games_outrank_a_lucky_one() {
        let known = |name: &str, mean_score, games| Member { games: Some(games), ..member(name, mean_score) };
        let settled = Member { held_out_mean_score: Some(100.0), ..member("settled", 10.0) };
        let members =
            vec![known("lucky", 9000.0, 1), known("steady", 5000.0, 6), known("steadier", 5500.0, 4), settled];
        let mut hall = HallOfFame { members };
        hall.rank();
        let names: Vec<&str> = hall.members().iter().map(|member| member.program.as_str()).collect();
        assert_eq!(names, ["settled", "steadier", "steady", "lucky"]);
    }

    #[test]
    fn no_more_are_kept_than_there_is_room_for() {
        let count = SIZE + 3;
        let mut hall = HallOfFame { members: (0..count).map(|n| member(&n.to_string(), 0.0)).collect() };
        settle(&mut hall, |name| name.parse().unwrap());
        assert_eq!(hall.members().len(), SIZE);
        assert_eq!(hall.members()[0].held_out_mean_score, Some((count - 1) as f64));
    }
}
