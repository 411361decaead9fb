//! The report as tables for people.

use std::collections::BTreeSet;

use super::report::{Games, Report};
use crate::evaluation::{Estimate, Single, StyleSummary, THRESHOLDS};
use crate::metrics::Stream;

/// Stands where a number would mean nothing.
const NOTHING: &str = "-";
/// Samples for one of n, from which a best of n is shown with its interval.
const SURE_SHARE: usize = 4;

/// All tables.
pub fn text(report: &Report) -> String {
    let mut text = heading(report);
    text.push_str(&players(report));
    if report.games.report > 0 {
        text.push_str(&best_of(report));
    }
    text.push_str(&styles(report));
    text
}

fn heading(report: &Report) -> String {
    let Games { selection, report: others, game_seconds } = report.games;
    let samples = report.models.first().map_or(0, |model| model.summary.samples);
    let mut text = format!(
        "{samples} programs a model, {selection} held-out games each, {game_seconds} s of a reference core a game"
    );
    if others > 0 {
        text.push_str(&format!(
            "\nbest@n: chosen on those, played on {others} other boards; native strategies: on all"
        ));
    }
    text.push_str("\n\n");
    text
}

/// Everybody's mean and shares.
fn players(report: &Report) -> String {
    let mut head = vec!["".to_owned(), "mean score".into(), "median".into(), "plays".into(), "unique".into()];
    head.extend(THRESHOLDS.map(|threshold| format!(">={threshold}")));
    head.push("best tile".into());
    let mut rows = vec![head];
    for model in &report.models {
        let summary = &model.summary;
        let mut row = vec![model.name.clone(), score(summary.mean_score), format!("{:.0}", summary.median_score.value)];
        row.extend([percent(summary.plays.value), percent(summary.unique)]);
        row.extend(summary.reaches.values().map(|share| percent(share.value)));
        row.push(summary.max_tile.to_string());
        rows.push(row);
    }
    let lucky = report.best_of.iter().map(|best| (best.name.as_str(), best.winner.as_ref().map(|(.., single)| single)));
    let native = report.baselines.iter().map(|single| (single.name.as_str(), Some(single)));
    rows.extend(lucky.filter(|_| report.games.report > 0).chain(native).map(|(name, single)| row_of_one(name, single)));
    aligned(&rows)
}

fn row_of_one(name: &str, single: Option<&Single>) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    match single {
        Some(single) => row.extend([score(single.mean_score), format!("{:.0}", single.median_score.value)]),
        None => row.extend(["no program".to_owned(), NOTHING.into()]),
    }
    row.extend(std::iter::repeat_n(NOTHING.to_owned(), 2 + THRESHOLDS.len()));
    row.push(single.map_or_else(|| NOTHING.into(), |single| single.max_tile.to_string()));
    row
}

/// The expected best of n, a column for each n.
fn best_of(report: &Report) -> String {
    let sizes: BTreeSet<usize> = report.models.iter().flat_map(|model| model.summary.best_of.keys().copied()).collect();
    let head = std::iter::once("best@n".to_owned()).chain(sizes.iter().map(|n| format!("best@{n}")));
    let mut rows = vec![head.collect::<Vec<_>>()];
    for model in &report.models {
        // The best of nearly all there are rests on one or two programs, and no resampling says how sure those are.
        let is_sure = |n: usize| SURE_SHARE * n <= model.summary.samples;
        let cell = |n: &usize| match model.summary.best_of.get(n) {
            Some(best) if is_sure(*n) => score(*best),
            Some(best) => format!("{:.0}", best.value),
            None => NOTHING.into(),
        };
        rows.push(std::iter::once(model.name.clone()).chain(sizes.iter().map(cell)).collect());
    }
    format!("\n{}", aligned(&rows))
}

/// Mean score and share that plays by style, a column for each model.
fn styles(report: &Report) -> String {
    let names: BTreeSet<&String> = report.models.iter().flat_map(|model| model.summary.styles.keys()).collect();
    let head =
        std::iter::once("mean score by style".to_owned()).chain(report.models.iter().map(|model| model.name.clone()));
    let mut rows = vec![head.collect::<Vec<_>>()];
    for style in names {
        let cell = |of: Option<&StyleSummary>| match of {
            Some(of) => format!("{:.0}  {:>4} of {:>3} play", of.mean_score, percent(of.plays), of.samples),
            None => NOTHING.into(),
        };
        let cells = report.models.iter().map(|model| cell(model.summary.styles.get(style)));
        rows.push(std::iter::once(style.clone()).chain(cells).collect());
    }
    format!("\n{}", aligned(&rows))
}

/// `1234 (1100 to 1350)`.
fn score(estimate: Estimate) -> String {
    format!("{:.0} ({:.0} to {:.0})", estimate.value, estimate.interval.low, estimate.interval.high)
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// Columns two spaces apart, the first to the left and the others to the right; the first row is in bold.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    let bold = Stream::Stdout.style().bold();
    let mut lines = rows.iter().map(line);
    let head = lines.next().unwrap_or_default();
    std::iter::once(format!("{}\n", bold.apply_to(head))).chain(lines.map(|line| format!("{line}\n"))).collect()
}
