//! The report of an evaluation on games, as tables.

use std::collections::BTreeSet;

use super::report::{EvalReport, Games, verdicts};
use crate::cli::said::output::{NOTHING, aligned};
use crate::environment::Labels;
use crate::evaluation::{Estimate, Interval, Single, StyleSummary, THRESHOLDS};
use crate::plural::{counted, percent};

/// A best of n is shown with its interval where there are at least so many times n samples.
const SURE_SHARE: usize = 4;

/// All tables.
pub fn text(report: &EvalReport) -> String {
    let mut text = heading(report);
    text.push_str(&players(report));
    if report.games.report > 0 {
        text.push_str(&best_of(report));
    }
    text.push_str(&styles(report));
    text.push_str(&verdicts(report.models.iter().map(|model| (model.name.as_str(), &model.verdicts))));
    text
}

fn heading(report: &EvalReport) -> String {
    let Games { selection, report: others, game_seconds } = report.games;
    let samples = report.models.first().map_or(0, |model| model.summary.samples);
    let mut text = format!(
        "{} a model, {} each, {game_seconds} s of a reference core a game",
        counted(samples, "program"),
        counted(selection, "held-out game")
    );
    if !report.salt.is_empty() {
        text.push_str(&format!("\nboards: {}", report.salt));
    }
    if report.labels.has_tiles() {
        let [cycle, greedy, search] = THRESHOLDS;
        text.push_str(&format!(
            "\n>=N: programs with a mean score of N or more, where a fixed cycle of moves\
             \nmakes {cycle}, greedy merging less than {greedy} and a good one-ply search {search}"
        ));
    }
    if others > 0 {
        let native = if report.labels.has_tiles() { "\nnative strategies: on all" } else { "" };
        text.push_str(&format!(
            "\nbest@n: chosen on those, played on up to {}; best@1: on those{native}",
            counted(others, "other board")
        ));
    }
    text.push_str("\n\n");
    text
}

/// A row for each model and native strategy.
fn players(report: &EvalReport) -> String {
    let labels = report.labels;
    let mut head = vec!["".to_owned(), "mean score".into(), "median".into(), "plays".into(), "unique".into()];
    if labels.has_tiles() {
        head.extend(THRESHOLDS.map(|threshold| format!(">={threshold}")));
        head.push("best tile".into());
    }
    let columns = head.len();
    let mut rows = vec![head];
    for model in &report.models {
        let summary = &model.summary;
        let median = labels.written(summary.median_score.value);
        let mut row = vec![model.name.clone(), score(summary.mean_score, labels), median];
        row.extend([percent(summary.plays.value), percent(summary.unique)]);
        row.extend(summary.reaches.values().map(|share| percent(share.value)));
        row.extend(summary.max_tile.map(|tile| tile.to_string()));
        rows.push(row);
    }
    let lucky = report.best_of.iter().map(|best| (best.name.as_str(), best.winner.as_ref().map(|(.., single)| single)));
    let native = report.baselines.iter().map(|single| (single.name.as_str(), Some(single)));
    let singles = lucky.filter(|_| report.games.report > 0).chain(native);
    rows.extend(singles.map(|(name, single)| row_of_one(name, single, labels, columns)));
    aligned(&rows)
}

fn row_of_one(name: &str, single: Option<&Single>, labels: Labels, columns: usize) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    match single {
        Some(single) => row.extend([score(single.mean_score, labels), labels.written(single.median_score.value)]),
        None => row.extend(["no program".to_owned(), NOTHING.into()]),
    }
    row.resize(columns, NOTHING.to_owned());
    if let (Some(tile), Some(last)) = (single.and_then(|single| single.max_tile), row.last_mut()) {
        *last = tile.to_string();
    }
    row
}

/// The expected best of n, a column for each n.
fn best_of(report: &EvalReport) -> String {
    let sizes: BTreeSet<usize> = report.models.iter().flat_map(|model| model.summary.best_of.keys().copied()).collect();
    let head = std::iter::once("best@n".to_owned()).chain(sizes.iter().map(|n| format!("best@{n}")));
    let mut rows = vec![head.collect::<Vec<_>>()];
    for model in &report.models {
        // The best of nearly all samples depends on one or two programs, for which resampling gives no honest interval.
        let is_sure = |n: usize| SURE_SHARE * n <= model.summary.samples;
        let cell = |n: &usize| match model.summary.best_of.get(n) {
            Some(best) if is_sure(*n) => score(*best, report.labels),
            Some(best) => report.labels.written(best.value),
            None => NOTHING.into(),
        };
        rows.push(std::iter::once(model.name.clone()).chain(sizes.iter().map(cell)).collect());
    }
    format!("\n{}", aligned(&rows))
}

/// Mean score and share of programs that play, by style; a column for each model.
fn styles(report: &EvalReport) -> String {
    let names: BTreeSet<&String> = report.models.iter().flat_map(|model| model.summary.styles.keys()).collect();
    let head =
        std::iter::once("mean score by style".to_owned()).chain(report.models.iter().map(|model| model.name.clone()));
    let mut rows = vec![head.collect::<Vec<_>>()];
    for style in names {
        let cell = |of: Option<&StyleSummary>| match of {
            Some(of) => {
                let score = report.labels.written(of.mean_score);
                format!("{score}  {:>4} of {:>3} play", percent(of.plays), of.samples)
            }
            None => NOTHING.into(),
        };
        let cells = report.models.iter().map(|model| cell(model.summary.styles.get(style)));
        rows.push(std::iter::once(style.clone()).chain(cells).collect());
    }
    format!("\n{}", aligned(&rows))
}

/// `1234 (1100 to 1350)`, or `1234` of a single game.
fn score(Estimate { value, interval: Interval { low, high } }: Estimate, labels: Labels) -> String {
    format!("{}{}", labels.written(value), labels.bracketed(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::game2048::scored;
    use crate::environment::{Ending, Floor, Outcome};

    #[test]
    fn what_a_single_game_came_to_has_no_interval() {
        let games = [100, 900].map(|points| scored(points, 64, Ending::GameOver));
        let of = |games: &[Outcome]| score(Single::new("", Floor::of([]), games).mean_score, Labels::Board);
        assert_eq!([of(&games[..1]), of(&games)], ["100", "500 (0 to 3761)"], "two games say little of others");
    }
}
