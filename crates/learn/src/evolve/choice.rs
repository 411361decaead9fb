//! Which program a search has found.

use super::database::{Candidate, Database};
use super::{Discovery, Ended, EvolveError, Search};
use crate::arena::Evaluation;
use crate::environment::Environment;
use crate::evaluation::{self, EarlierGames, FailedGames, HeldOut, REPORT, SELECTION, Sample, Single};
use crate::metrics::Event;
use crate::plural::counted;
use crate::program::{Program, Rejection};
use crate::seed::Seed;
use crate::train::TrainError;

/// The best programs of a search, which held-out games choose from.
const FINALISTS: usize = 32;

impl Search<'_> {
    /// The best program: of a game by its games of the search and on held-out boards, on others of which its score is estimated.
    /// That takes a while: a search that is asked to stop leaves it to the same command again.
    pub(super) fn settle(
        &self,
        database: &Database,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, EvolveError> {
        let ranked = database.ranked();
        if self.arena.environment().has_tests() {
            let best = ranked.first().map(|best| Discovery { best: (*best).clone(), report: None });
            return Ok(Ended::Done(best.map(Box::new)));
        }
        if self.is_asked_to_stop() {
            return Ok(Ended::Stopped);
        }
        let finalists = &ranked[..ranked.len().min(FINALISTS)];
        let held_out = HeldOut::salted(&self.config.train.board_salt);
        if finalists.len() > 1 {
            let words = format!("choosing the best of {} on held-out boards", counted(finalists.len(), "program"));
            observer(Event::Message(&words));
        }
        let mut samples = self.first_games(finalists, held_out.selection(1))?;
        let mean_scores: Vec<f64> = finalists.iter().map(|candidate| candidate.score).collect();
        let failed: Vec<FailedGames> = finalists.iter().map(|candidate| candidate.failed).collect();
        let earlier = EarlierGames { mean_scores: &mean_scores, failed: &failed, games: self.settings.boards };
        let chosen = evaluation::choose_best(self.arena, &held_out, &mut samples, earlier, &mut |_, _| ());
        let Some(halving) = chosen.map_err(TrainError::from)? else { return Ok(Ended::Done(None)) };
        if self.is_asked_to_stop() {
            return Ok(Ended::Stopped);
        }
        let mut games = vec![0; samples.len()];
        games[halving.winner] = report_games(self.arena.environment(), &samples[halving.winner]);
        let played = evaluation::play_report(self.arena, &held_out, &mut samples, &games, &mut |_, _| ());
        played.map_err(TrainError::from)?;
        let best = finalists[halving.winner].clone();
        let name = format!("program {}", best.id);
        let report = Single::new(name, evaluation::floor(&samples), &samples[halving.winner].report);
        Ok(Ended::Done(Some(Box::new(Discovery { best, report: Some(report) }))))
    }

    fn first_games(&self, finalists: &[&Candidate], boards: &[Seed]) -> Result<Vec<Sample>, EvolveError> {
        let programs = || finalists.iter().map(|candidate| self.arena.program(&candidate.source, boards[0].into()));
        let played = self.arena.evaluate_all(programs().map(|program| (program, boards)), &mut |_, _| ());
        let played = played.map_err(TrainError::from)?;
        Ok(programs().zip(played).map(|(program, selection)| sample(program, selection)).collect())
    }
}

fn sample(program: Result<Program, Rejection>, selection: Evaluation) -> Sample {
    Sample {
        style: String::new(),
        program,
        reward: 0.0,
        tokens: 0,
        cut: false,
        surprise: 0.0,
        turns: Vec::new(),
        selection,
        report: Vec::new(),
    }
}

/// An evaluator without chance, which gives a program the same score for every seed, is not asked two hundred times. Chance is what either
/// file names, be it in a comment.
fn report_games(environment: &Environment, chosen: &Sample) -> usize {
    let Environment::Evaluator(evaluator) = environment else { return REPORT };
    let draws = [evaluator.source(), chosen.program.as_ref().map_or("", Program::source)]
        .iter()
        .any(|text| ["random", "secrets", "uuid"].iter().any(|chance| text.contains(chance)));
    let mut scores = chosen.selection.games.iter().map(|game| game.score);
    let first = scores.next();
    let is_fixed = !draws && scores.all(|score| Some(score) == first);
    if is_fixed { SELECTION } else { REPORT }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::arena::{Start, Usage};
    use crate::environment::Ending;
    use crate::environment::game2048::scored;
    use crate::program::Entry;

    #[test]
    fn an_evaluator_without_chance_reports_few_evaluations_and_any_other_judge_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("evaluator.py");
        let rules = "def evaluate(program_path):\n    return {}\n";
        let evaluator = |more: &str| {
            fs::write(&path, format!("{rules}{more}")).unwrap();
            Environment::open(path.to_str().unwrap()).unwrap()
        };
        let games = |environment: &Environment, more: &str, scores: [u64; 3]| {
            let program = Program::from_text(&format!("def answer():\n    return 1\n{more}"), &Entry::Module);
            let games = scores.iter().map(|&score| scored(score, 2, Ending::GameOver)).collect();
            report_games(
                environment,
                &sample(program, Evaluation { start: Start::Played, games, usage: Usage::default() }),
            )
        };
        let (fixed, one) = (evaluator(""), [7, 7, 7]);
        assert_eq!(games(&fixed, "", one), SELECTION);
        assert_eq!(games(&fixed, "", [7, 7, 8]), REPORT);
        assert_eq!(games(&fixed, "import uuid\n", one), REPORT, "the program draws");
        assert_eq!(games(&evaluator("import secrets\n"), "", one), REPORT);
        assert_eq!(games(&evaluator("# no randomness\n"), "", one), REPORT);
        assert_eq!(games(&Environment::Game2048, "", one), REPORT);
    }
}
