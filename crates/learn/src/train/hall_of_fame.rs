//! The best distinct programs of a run: candidates are ranked by their scores in training, the best are chosen on some
//! held-out boards, and the score of the first is estimated on others.

use std::fs;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::elites::{Elites, best_tile};
use super::run_dir::HALL_OF_FAME;
use crate::arena::Evaluation;
use crate::environment::Floor;
use crate::evaluation::{Estimate, Single};
use crate::program::Program;

/// Number of programs that are kept at the end of a run.
pub const SIZE: usize = 12;
/// Number of candidates that are kept until then. It is larger, because ranks by a single training game depend on luck
/// and the best program may have a low rank.
const CANDIDATES: usize = 36;
/// Held-out games that a program has played at the end of each round of successive halving. Programs with several
/// training games enter in the second round.
const ROUNDS: [usize; 3] = [2, 4, 8];
/// Number of training games from which their mean is trusted.
const SEVERAL: u64 = 4;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Digest of the program without comments and spacing.
    pub program: String,
    pub source: String,
    /// The step that first sampled it, from 1.
    pub step: usize,
    /// The style of the prompt that it answered.
    pub style: String,
    /// Mean score in training games.
    pub mean_score: f64,
    /// Number of these games.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub games: Option<u64>,
    /// Largest tile in these games, or on held-out boards once it was chosen on them. For 2048 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
    /// Mean score on the held-out boards that it was chosen on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_mean_score: Option<f64>,
    /// Number of these boards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_games: Option<usize>,
    /// Mean score on other held-out boards, an unbiased estimate. Only the best program has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_mean_score: Option<f64>,
    /// Number of these boards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_games: Option<usize>,
    /// Lower end of the 95 % bootstrap interval of this mean, over games.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_mean_score_low: Option<f64>,
    /// Upper end of the interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_mean_score_high: Option<f64>,
}

impl Member {
    /// Whether its mean score in training is that of several games.
    pub fn is_known(&self) -> bool {
        self.games.is_some_and(|games| games >= SEVERAL)
    }

    /// The same with its results on the held-out boards that it was chosen on, where failing counted as `floor` says: a run
    /// that goes on ranks by them again.
    fn settled(self, held_out: &Evaluation, floor: Floor) -> Member {
        Member {
            held_out_mean_score: Some(floor.mean_score(&held_out.games)),
            held_out_games: Some(held_out.games.len()),
            max_tile: best_tile(held_out),
            ..self
        }
    }
}

/// The best programs so far, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HallOfFame {
    members: Vec<Member>,
}

/// Plays members on the held-out boards of these numbers and returns their evaluations in the order of the members.
pub type Play<'a, E> = dyn FnMut(&[Member], Range<usize>) -> Result<Vec<Evaluation>, E> + 'a;

impl HallOfFame {
    /// Adds the program of an episode if it is new and scores well enough to be a candidate. Earlier programs come
    /// first among equals.
    pub fn consider(&mut self, step: usize, style: &str, program: &Program, evaluation: &Evaluation) {
        let mean_score = evaluation.mean_score();
        let digest = program.digest_text();
        let rank = self.members.partition_point(|member| member.mean_score >= mean_score);
        // Below zero, whoever breaks games off may have more than honest players. Zero is a score where others have less.
        let lowest = self.members.last().map_or(0.0, |member| member.mean_score);
        let is_candidate = mean_score > 0.0 || mean_score.min(lowest) < 0.0 && evaluation.plays();
        if rank >= CANDIDATES || !is_candidate || self.members.iter().any(|member| member.program == digest) {
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

    /// Adds the best elites as candidates, in the order of their race: they scored well in many games and not only in those
    /// of one step.
    pub fn nominate(&mut self, elites: &Elites) {
        for (place, (elite, tally)) in elites.members().enumerate() {
            if let Some(known) = self.members.iter_mut().find(|member| member.program == elite.program) {
                if Some(tally.games) > known.games {
                    (known.mean_score, known.games) = (tally.mean_score(), Some(tally.games));
                    known.max_tile = known.max_tile.max(tally.max_tile);
                }
                continue;
            }
            if place >= SIZE {
                continue;
            }
            self.members.push(Member {
                program: elite.program.clone(),
                source: elite.source.clone(),
                step: elite.step,
                style: elite.style.clone(),
                mean_score: tally.mean_score(),
                games: Some(tally.games),
                max_tile: tally.max_tile,
                ..Member::default()
            });
        }
    }

    /// Ranks without playing: first programs with held-out games, then those with several training games, then the
    /// others.
    pub fn rank(&mut self) {
        // Scores of a game of one's own may be below zero.
        let settled = |member: &Member| member.held_out_mean_score.unwrap_or(f64::NEG_INFINITY);
        self.members.sort_by(|a, b| {
            let by_settled = settled(b).total_cmp(&settled(a));
            by_settled.then(b.is_known().cmp(&a.is_known())).then(b.mean_score.total_cmp(&a.mean_score))
        });
        self.members.truncate(SIZE);
    }

    /// Adds the members of an earlier hall of fame of the directory `run` as candidates. They were chosen by many
    /// games, which the checkpoint that the run continued from does not have.
    pub fn readmit(&mut self, run: &Path) {
        let settled = fs::read(run.join(HALL_OF_FAME)).ok();
        let settled = settled.and_then(|text| serde_json::from_slice::<Vec<Member>>(&text).ok());
        for member in settled.unwrap_or_default().into_iter().filter(|member| member.held_out_mean_score.is_some()) {
            match self.members.iter_mut().find(|known| known.program == member.program) {
                Some(known) => *known = member,
                None => self.members.push(member),
            }
        }
    }

    /// Ranks by held-out games and keeps the best [`SIZE`], by successive halving: many candidates play few games, and
    /// only the best of them play more.
    ///
    /// Source: Karnin, Koren and Somekh 2013.
    pub fn settle<E>(&mut self, play: &mut Play<'_, E>) -> Result<(), E> {
        let mut waiting = std::mem::take(&mut self.members);
        let (mut field, mut floor) = (Vec::<(Member, Evaluation)>::new(), Floor::of([]));
        for (round, &games) in ROUNDS.iter().enumerate() {
            let (members, played): (Vec<_>, Vec<_>) = field.into_iter().unzip();
            let so_far = played.first().map_or(0, |evaluation: &Evaluation| evaluation.games.len());
            let more = play(&members, so_far..games)?;
            let joined = played.into_iter().zip(more).map(|(played, more)| joined(played, more));
            field = members.into_iter().zip(joined).collect();
            // From the second round on, all candidates take part.
            let joins = |member: &Member| round > 0 || !(member.is_known() || member.held_out_games.is_some());
            let (joining, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(joins);
            waiting = later;
            let evaluations = play(&joining, 0..games)?;
            field.extend(joining.into_iter().zip(evaluations));
            floor = Floor::of_games(field.iter().flat_map(|(_, played)| &played.games));
            field.sort_by(|(_, a), (_, b)| floor.better_first(&a.games, &b.games));
            field.truncate(SIZE);
        }
        self.members = field.into_iter().map(|(member, evaluation)| member.settled(&evaluation, floor)).collect();
        Ok(())
    }

    /// Records the score of the best program on boards that it was not chosen on.
    pub fn report(&mut self, evaluation: &Evaluation) {
        if let Some(best) = self.members.first_mut() {
            let floor = Floor::of_games(&evaluation.games);
            let Estimate { value, interval } = Single::new("", floor, &evaluation.games).mean_score;
            (best.report_mean_score, best.report_games) = (Some(value), Some(evaluation.games.len()));
            (best.report_mean_score_low, best.report_mean_score_high) = (Some(interval.low), Some(interval.high));
            best.max_tile = best.max_tile.max(best_tile(evaluation));
        }
    }

    pub fn members(&self) -> &[Member] {
        &self.members
    }
}

/// The evaluation of one program with more games.
fn joined(played: Evaluation, more: Evaluation) -> Evaluation {
    Evaluation { games: [played.games, more.games].concat(), ..played }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Start, Usage};
    use crate::environment::game2048::{entry, scored};
    use crate::environment::{Ending, Outcome};

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
        Evaluation { start: Start::Played, games: scores.iter().map(game).collect(), usage: Usage::default() }
    }

    /// Settles with programs whose score in every game is `score`. Returns the number of members and games of each
    /// round.
    fn settle(hall: &mut HallOfFame, score: impl Fn(&str) -> u64) -> Vec<(usize, usize)> {
        let mut rounds = Vec::new();
        let mut play = |members: &[Member], boards: Range<usize>| {
            rounds.push((members.len(), boards.len()));
            let evaluation = |member: &Member| games(&vec![score(&member.program); boards.len()]);
            Ok::<_, std::convert::Infallible>(members.iter().map(evaluation).collect())
        };
        let Ok(()) = hall.settle(&mut play);
        rounds.retain(|&(members, _)| members > 0);
        rounds
    }

    #[test]
    fn games_of_a_later_round_follow_those_of_the_earlier_ones() {
        let mut hall = HallOfFame { members: vec![member("known", 1.0)] };
        hall.members[0].games = Some(SEVERAL);
        hall.members.push(member("new", 1.0));
        let mut ranges = Vec::new();
        let mut play = |members: &[Member], boards: Range<usize>| {
            ranges.extend(members.iter().map(|member| (member.program.clone(), boards.clone())));
            Ok::<_, std::convert::Infallible>(members.iter().map(|_| games(&vec![1; boards.len()])).collect())
        };
        let Ok(()) = hall.settle(&mut play);
        for name in ["known", "new"] {
            let own: Vec<usize> = ranges.iter().filter(|(of, _)| of == name).flat_map(|(_, own)| own.clone()).collect();
            assert_eq!(own, Vec::from_iter(0..ROUNDS[ROUNDS.len() - 1]), "{name}");
        }
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
        // The same number of games as 24 candidates with eight games each.
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
        // Two games say little of others: Student's interval is some twelve times the distance of each from their mean.
        let ends = [best.report_mean_score_low, best.report_mean_score_high].map(Option::unwrap);
        assert!(ends[0] > 2800.0 && ends[0] < 3500.0 && ends[1] > 4900.0 && ends[1] < 5600.0, "{ends:?}");
        assert_eq!((best.max_tile, hall.members()[1].report_mean_score), (Some(64), None));
    }

    #[test]
    fn without_held_out_games_several_training_games_outrank_a_lucky_one() {
        let known = |name: &str, mean_score, games| Member { games: Some(games), ..member(name, mean_score) };
        let settled = |name: &str, mean_score| Member { held_out_mean_score: Some(mean_score), ..member(name, 10.0) };
        let members = vec![
            known("lucky", 9000.0, 1),
            settled("in debt", -50.0),
            known("steady", 5000.0, 6),
            known("steadier", 5500.0, 4),
            settled("settled", 100.0),
        ];
        let mut hall = HallOfFame { members };
        hall.rank();
        let names: Vec<&str> = hall.members().iter().map(|member| member.program.as_str()).collect();
        assert_eq!(names, ["settled", "in debt", "steadier", "steady", "lucky"]);
    }

    #[test]
    fn a_settled_program_keeps_its_held_out_games_whether_the_checkpoint_has_it_or_not() {
        let root = tempfile::tempdir().unwrap();
        let settled = |name: &str, score| Member { held_out_mean_score: Some(score), ..member(name, 10.0) };
        let known = [settled("champion", 900.0), settled("elite", 800.0), member("lucky", 9000.0)];
        fs::write(root.path().join(HALL_OF_FAME), serde_json::to_vec(&known).unwrap()).unwrap();
        let mut hall = HallOfFame { members: vec![member("lucky", 9000.0), member("champion", 10.0)] };
        hall.readmit(root.path());
        hall.rank();
        let found = hall.members().iter().map(|member| (member.program.as_str(), member.held_out_mean_score));
        assert_eq!(found.collect::<Vec<_>>(), [("champion", Some(900.0)), ("elite", Some(800.0)), ("lucky", None)]);
    }

    #[test]
    fn an_elite_of_many_games_is_a_candidate_whatever_luck_others_had_in_one() {
        // As the race ranks them: the mean of twenty games says more than a single one that went better.
        let lucky = (0..SIZE).map(|n| format!("lucky {n}"));
        let named: Vec<String> = std::iter::once("steady".to_owned()).chain(lucky).collect();
        let elite =
            |name: &String| serde_json::json!({"program": name, "source": "", "prompt": 0, "ids": [], "step": 1});
        let tally = |name: &String| match name.as_str() {
            "steady" => serde_json::json!({"games": 20, "reward": 12.0, "score": 120_000.0, "max_tile": 1024}),
            _ => serde_json::json!({"games": 1, "reward": 0.9, "score": 9000.0}),
        };
        let tallies: serde_json::Map<String, serde_json::Value> =
            named.iter().map(|name| (name.clone(), tally(name))).collect();
        let pool: Vec<serde_json::Value> = named.iter().map(elite).collect();
        let elites = serde_json::json!({"pools": {"": pool}, "tallies": tallies, "levels": {"": 0.2}});
        let mut hall = HallOfFame::default();
        hall.nominate(&serde_json::from_value(elites).unwrap());
        let steady = &hall.members()[0];
        assert_eq!((steady.program.as_str(), steady.games, steady.mean_score), ("steady", Some(20), 6000.0));
        assert_eq!(steady.max_tile, Some(1024), "of the same games as the mean");
        assert_eq!(hall.members().len(), SIZE);
    }

    #[test]
    fn below_zero_whoever_plays_is_a_candidate_and_whoever_breaks_games_off_comes_last() {
        let evaluation = |score, ending| {
            let outcome = Outcome { score, ..scored(0, 64, ending) };
            Evaluation { start: Start::Played, games: vec![outcome; 2], usage: Usage::default() }
        };
        let mut hall = HallOfFame::default();
        for (word, score, ending) in [
            ("D", 0.0, Ending::GameOver),
            ("W", -5.0, Ending::GameOver),
            ("A", -1.0, Ending::Raised),
            ("S", 0.0, Ending::GameOver),
            ("D", -7.0, Ending::GameOver),
        ] {
            let source = format!("def strategy(board):\n    return '{word}'\n");
            let program = Program::from_text(&source, &entry()).unwrap();
            hall.consider(1, "plain", &program, &evaluation(score, ending));
        }
        assert_eq!(hall.members().iter().map(|member| member.mean_score).collect::<Vec<_>>(), [0.0, -5.0, -7.0]);
        // On held-out boards the first raises at once.
        let [raising, lowest] = [0, 2].map(|place| hall.members()[place].program.clone());
        let mut play = |members: &[Member], boards: Range<usize>| {
            let played = |member: &Member| {
                let (score, ending) = match &member.program {
                    program if *program == raising => (0.0, Ending::Raised),
                    program if *program == lowest => (-7.0, Ending::GameOver),
                    _ => (-3.0, Ending::GameOver),
                };
                let games = vec![Outcome { score, ..scored(0, 64, ending) }; boards.len()];
                Evaluation { start: Start::Played, games, usage: Usage::default() }
            };
            Ok::<_, std::convert::Infallible>(members.iter().map(played).collect())
        };
        let Ok(()) = hall.settle(&mut play);
        let last = &hall.members()[2];
        assert_eq!((&last.program, last.held_out_mean_score), (&raising, Some(-7.0)));
        // A run that goes on and is stopped ranks without playing.
        hall.rank();
        hall.report(&joined(evaluation(-7.0, Ending::GameOver), evaluation(0.0, Ending::Raised)));
        let best = &hall.members()[0];
        assert_eq!((best.held_out_mean_score, best.report_mean_score), (Some(-3.0), Some(-7.0)));
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
