//! The table of rewards: medians over rounds, their spread, and ratios that are computed within each round.

use grpo_2048::stats;
use serde::Serialize;

use super::Cost;
use super::programs::is_spinning;

/// The text of a cell without a value.
const NOTHING: &str = "-";
/// Number of columns with words, which come first.
pub const WORDS: usize = 2;

/// The result of one program in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// The text of everything that must be equal in every run of a way.
    pub result: String,
    /// Whether it exceeded its time or budget.
    pub stopped: bool,
    /// Number of its moves.
    pub moves: u64,
}

/// One round of one way.
#[derive(Debug, Clone, PartialEq)]
pub struct WayRun {
    pub cost: Cost,
    /// The results of the programs; empty if none plays.
    pub played: Vec<Played>,
}

/// The notation of a figure for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// Per second.
    Rate,
    /// Seconds, or milliseconds.
    Seconds,
    /// MiB.
    Bytes,
    /// A share (0 to 1) in percent.
    Share,
    /// A percentage.
    Percent,
    /// A ratio of rates.
    Ratio,
}

/// The distribution of a number over all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// The distribution of `values`; none if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        Some(Spread { median: stats::quantile(&values, 0.5), low, high })
    }

    /// `2.31 s (2.20 to 2.50)`: the median, then the lowest and the highest.
    pub(super) fn shown(self, show: Show) -> String {
        let (scale, unit, digits) = match show {
            Show::Rate if self.median >= 1000.0 => (1.0, "", 0),
            Show::Rate => (1.0, "", 1),
            Show::Seconds if self.median < 0.1 => (1000.0, " ms", 2),
            Show::Seconds => (1.0, " s", 2),
            Show::Bytes => (1.0 / f64::from(1 << 20), " MiB", 0),
            Show::Share => (100.0, " %", 1),
            Show::Percent => (1.0, " %", 1),
            Show::Ratio => (1.0, "x", 2),
        };
        let [median, low, high] = [self.median, self.low, self.high].map(|value| value * scale);
        format!("{median:.digits$}{unit} ({low:.digits$} to {high:.digits$})")
    }
}

/// The results of programs that do not loop forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Innocents {
    /// Number of these programs.
    pub count: usize,
    /// Number of them that had another result in any round than in the first run with healthy programs.
    pub changed: usize,
    /// Number of them that exceeded time or budget in any round.
    pub stopped: usize,
    /// Number of all their moves, in the median round.
    pub moves: u64,
}

/// What a row is compared with.
#[derive(Clone, Copy)]
pub(super) struct Reference<'a> {
    /// The rounds of the way that ratios are relative to.
    pub peer: Option<&'a [WayRun]>,
    /// The expected result of each program.
    pub results: &'a [Played],
    /// One of so many programs loops forever; none if no program does.
    pub spinning_share: Option<usize>,
}

/// One way of doing one piece of work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub work: &'static str,
    pub way: String,
    /// Wall-clock seconds.
    pub wall_s: Spread,
    /// Processor seconds.
    pub cpu_s: Spread,
    /// Wall-clock time of the peer divided by that of this way, computed in each round. None without a peer.
    pub wall_ratio: Option<Spread>,
    /// The same for processor time.
    pub cpu_ratio: Option<Spread>,
    /// None if no program plays.
    pub innocents: Option<Innocents>,
}

impl Row {
    /// # Panics
    /// If there is no round.
    pub(super) fn new(work: &'static str, way: String, runs: &[WayRun], reference: Reference<'_>) -> Row {
        let spread = |seconds: fn(&Cost) -> f64| {
            Spread::of(runs.iter().map(|run| seconds(&run.cost))).expect("at least one round")
        };
        let ratio = |seconds: fn(&Cost) -> f64| {
            let pairs = reference.peer?.iter().zip(runs);
            Spread::of(pairs.map(|(peer, run)| seconds(&peer.cost) / seconds(&run.cost)))
        };
        Row {
            work,
            way,
            wall_s: spread(|cost| cost.wall_s),
            cpu_s: spread(|cost| cost.cpu_s),
            wall_ratio: ratio(|cost| cost.wall_s),
            cpu_ratio: ratio(|cost| cost.cpu_s),
            innocents: Innocents::of(runs, reference),
        }
    }
}

impl Innocents {
    fn of(runs: &[WayRun], Reference { results, spinning_share, .. }: Reference<'_>) -> Option<Innocents> {
        let innocent = |index: &usize| !spinning_share.is_some_and(|share| is_spinning(*index, share));
        let indices: Vec<usize> = (0..results.len()).filter(innocent).collect();
        let ever = |holds: &dyn Fn(&WayRun, usize) -> bool| {
            indices.iter().filter(|&&index| runs.iter().any(|run| holds(run, index))).count()
        };
        let moves = |run: &WayRun| indices.iter().map(|&index| run.played[index].moves).sum::<u64>() as f64;
        (!indices.is_empty()).then(|| Innocents {
            count: indices.len(),
            changed: ever(&|run, index| run.played[index].result != results[index].result),
            stopped: ever(&|run, index| run.played[index].stopped),
            moves: Spread::of(runs.iter().map(moves)).map_or(0, |spread| spread.median as u64),
        })
    }
}

/// The whole table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Number of programs of the batch.
    pub completions: usize,
    pub rounds: usize,
    /// The rows, ordered by work.
    pub rows: Vec<Row>,
}

impl Table {
    /// The cells for people, with a row of names. The name of the work is in its first row only.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let head = ["work", "way", "wall", "CPU", "wall ratio", "CPU ratio", "innocent", "changed", "stopped", "moves"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let mut work = "";
        let seconds = |spread: Spread| spread.shown(Show::Seconds);
        for row in &self.rows {
            let name = if row.work == work { "" } else { row.work };
            work = row.work;
            let mut cells = vec![name.to_owned(), row.way.clone(), seconds(row.wall_s), seconds(row.cpu_s)];
            let ratio = |spread: Option<Spread>| spread.map_or(NOTHING.into(), |spread| spread.shown(Show::Ratio));
            cells.extend([row.wall_ratio, row.cpu_ratio].map(ratio));
            cells.extend(match row.innocents {
                Some(Innocents { count, changed, stopped, moves }) => {
                    [count.to_string(), changed.to_string(), stopped.to_string(), moves.to_string()]
                }
                None => [NOTHING; 4].map(str::to_owned),
            });
            rows.push(cells);
        }
        rows
    }
}
