//! The check of an evaluator: the program to begin with earns more than none, the same each time, within its budget.

use super::finding::{Check, CheckFinding};
use super::report::{Report, Standing, fine_percent};
use super::trial::{BUDGET_EXPECTED, JudgedTrial, REWARD_EXPECTED, Told, Trial, TrialJudge, judged, seeds};
use crate::arena::{ArenaError, FUEL_PER_SECOND, Rules};
use crate::config::Config;
use crate::environment::{Evaluator, Labels, Outcome};

/// Evaluations of the program to begin with.
const GAMES: usize = 2;
/// A program without anything that an evaluator could call.
const NOTHING: &str = "pass";
/// Comment before a program that does the same as without it, and lies elsewhere in memory.
const COMMENT: &str = "# The same with a comment.\n";

/// Judges the program to begin with, and one that does nothing.
pub(super) fn examine(
    config: &Config,
    evaluator: &Evaluator,
    judge: &dyn TrialJudge,
    told: Told<'_>,
) -> Result<Report, ArenaError> {
    let report = |players, findings| Ok(Report { players, tasks: None, findings, labels: Labels::Game });
    let initial = evaluator.initial();
    let mut trials = vec![Trial::new(NOTHING, seeds(GAMES))];
    trials.extend(initial.into_iter().flat_map(|source| {
        // An identical program of its own would be told what this one came to; the same cases are tried again.
        [(source.to_owned(), 2), (format!("{COMMENT}{source}"), 1)]
            .map(|(source, times)| Trial::new(&source, seeds(GAMES).repeat(times)))
    }));
    told("evaluations", 0, trials.len());
    let mut judged = judged(judge, &trials)?;
    let again = judged.get_mut(1).map(|first| second_half(&mut first.evaluation.games)).unwrap_or_default();
    let [nothing, begins @ ..] = &judged[..] else { unreachable!("a program that does nothing is judged") };
    let [first, commented] = begins else {
        let text = "no initial_program.py beside it: nobody has shown that a program earns anything";
        let finding = CheckFinding::warning(Check::References, text);
        return report(
            vec![Standing::new("no program", 0, nothing)],
            vec![finding.mend("write one that the evaluator takes; models are shown it")],
        );
    };
    let players = vec![Standing::new("no program", 0, nothing), Standing::new("initial program", 1, first)];
    let findings = [works(first), order(nothing, first), repeats(first, &again, commented), budget(config, first)];
    report(players, findings.into_iter().chain(scale(first)).collect())
}

/// Whether the program to begin with has a score.
fn works(first: &JudgedTrial) -> CheckFinding {
    let evaluation = &first.evaluation;
    match evaluation.plays() {
        true => CheckFinding::ok(Check::References, format!("initial_program.py scores {}", written(first))),
        false => {
            let reason = evaluation.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
            let text = format!("initial_program.py counts as {}{reason}", evaluation.verdict(false).name());
            CheckFinding::problem(Check::References, text).mend("correct it, or the evaluator")
        }
    }
}

fn order(nothing: &JudgedTrial, first: &JudgedTrial) -> CheckFinding {
    let text = format!("no program earns {:.3}, initial_program.py {:.3}", nothing.reward.value, first.reward.value);
    match nothing.reward.value < first.reward.value {
        // It earns more than what fails, and as much as whatever else is below 0.
        true if first.evaluation.mean_score() < 0.0 => {
            let text = format!("initial_program.py scores {}, and all scores below 0 earn the same", written(first));
            CheckFinding::warning(Check::Order, text)
                .mend("a combined_score above 0 for programs that work: of an error, 1 / (1 + error) and not -error")
        }
        true => CheckFinding::ok(Check::Order, text),
        false => CheckFinding::problem(Check::Order, text)
            .mend("a combined_score above 0 for programs that work, and SCALE as what a good one reaches"),
    }
}

/// Whether scores are far beyond what is said to earn 1, to which penalties and losses are relative.
fn scale(first: &JudgedTrial) -> Option<CheckFinding> {
    let (reward, score) = (first.reward.value, first.evaluation.mean_score());
    let text =
        format!("initial_program.py scores {} and earns {reward:.0}; a good program earns about 1", written(first));
    let remedy =
        format!("SCALE = {score} in the evaluator, or whatever score is to earn 1; it is 1 where it says nothing");
    (reward > REWARD_EXPECTED).then(|| CheckFinding::warning(Check::Order, text).mend(remedy))
}

/// What the same cases came to when they were tried again, which is taken out.
fn second_half(games: &mut Vec<Outcome>) -> Vec<Outcome> {
    games.split_off(games.len() / 2)
}

/// Whether the first program scores the same again, and the same with a comment before it, which some evaluators are right to
/// see: those that read the program's text.
fn repeats(first: &JudgedTrial, again: &[Outcome], commented: &JudgedTrial) -> CheckFinding {
    let [once, again, commented] = [&first.evaluation.games, again, &commented.evaluation.games]
        .map(|games| games.iter().map(|game| game.score).collect::<Vec<_>>());
    if once != again {
        let text = format!("the same program scores {once:?} and then {again:?}");
        return CheckFinding::problem(Check::Repeats, text)
            .mend("draw chance from `random` and numpy's default, which are seeded");
    }
    match once == commented {
        true => CheckFinding::ok(Check::Repeats, "the same program scores the same again"),
        false => {
            let text = format!("initial_program.py scores {once:?}, and {commented:?} with a comment before it");
            CheckFinding::warning(Check::Repeats, text)
                .mend("no `id()` and no order of a set of objects, unless the program's text is what counts")
        }
    }
}

fn budget(config: &Config, first: &JudgedTrial) -> CheckFinding {
    let limits = Rules::training(config).limits;
    let seconds = limits.game_fuel as f64 / FUEL_PER_SECOND as f64;
    let most = first.evaluation.games.iter().map(|game| game.fuel).max().unwrap_or(0);
    let share = most as f64 / limits.game_fuel.max(1) as f64;
    let text = format!("an evaluation of initial_program.py uses {} of its budget of {seconds} s", fine_percent(share));
    match share > BUDGET_EXPECTED {
        true => CheckFinding::warning(Check::Budget, text)
            .mend("a larger train.game_seconds (evolve: sandbox.game_seconds)"),
        false => CheckFinding::ok(Check::Budget, text),
    }
}

fn written(trial: &JudgedTrial) -> String {
    Labels::Game.written(trial.evaluation.mean_score())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Evaluation, Start};
    use crate::environment::{Ending, Trace, Transcript};
    use crate::preflight::Level;
    use crate::reward::Reward;

    fn scored(scores: &[f64]) -> JudgedTrial {
        let games = seeds(scores.len()).into_iter().zip(scores).map(|(case, &score)| {
            let trace = Trace::Transcript(Transcript::default());
            Outcome { case, score, ending: Ending::GameOver, fuel: 0, trace, reason: None }
        });
        let evaluation = Evaluation { start: Start::Played, games: games.collect(), usage: Default::default() };
        JudgedTrial { evaluation, reward: Reward { value: 1.0, parts: Vec::new() } }
    }

    #[test]
    fn a_program_is_compared_with_itself_and_apart_from_that_with_a_comment_before_it() {
        for (both, commented, level, text) in [
            (&[1.0, 2.0, 1.0, 2.0], &[1.0, 2.0], Level::Ok, "the same program scores the same again"),
            (
                &[1.0, 2.0, 1.0, 3.0],
                &[1.0, 2.0],
                Level::Problem,
                "the same program scores [1.0, 2.0] and then [1.0, 3.0]",
            ),
            (
                &[1.0, 2.0, 1.0, 2.0],
                &[1.0, 3.0],
                Level::Warning,
                "initial_program.py scores [1.0, 2.0], and [1.0, 3.0] with a comment before it",
            ),
        ] {
            let mut first = scored(both);
            let again = second_half(&mut first.evaluation.games);
            let found = repeats(&first, &again, &scored(commented));
            assert_eq!((found.level, &*found.text), (level, text));
        }
    }
}
