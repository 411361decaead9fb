//! The figures, and how they are shown: medians over rounds, their spread, and ratios taken within each round.

use grpo_2048::stats;
use serde::Serialize;

use super::Cost;
use super::programs::is_spinning;

/// Stands where a number would mean nothing.
const NOTHING: &str = "-";
/// Columns that hold words, the first ones.
pub const WORDS: usize = 2;

/// What one program came to in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// All that must be the same in every run of a way.
    pub result: String,
    /// Whether its time or its budget was up.
    pub stopped: bool,
    /// Moves it made.
    pub moves: u64,
}

/// One round of one way.
#[derive(Debug, Clone, PartialEq)]
pub struct WayRun {
    /// What it took.
    pub cost: Cost,
    /// What each program came to; empty when none plays.
    pub played: Vec<Played>,
}

/// A number over all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the rounds are below.
    pub median: f64,
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

impl Spread {
    /// Of at least one value.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        Some(Spread { median: stats::quantile(&values, 0.5), low, high })
    }
}

/// Programs that do not spin, and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Innocents {
    /// How many there are.
    pub count: usize,
    /// Of these, how many had another verdict or score in any round than in the first healthy one of their way.
    pub changed: usize,
    /// Of these, how many were stopped for time or budget in any round.
    pub stopped: usize,
    /// Moves they made together, in the median round.
    pub moves: u64,
}

/// What a row is held against.
#[derive(Clone, Copy)]
pub(super) struct Reference<'a> {
    /// Rounds of the way that ratios are taken to.
    pub peer: Option<&'a [WayRun]>,
    /// What each program comes to, left alone.
    pub results: &'a [Played],
    /// One in so many spins.
    pub spinning_share: Option<usize>,
}

/// One way of doing one piece of work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The work.
    pub work: &'static str,
    /// The way.
    pub way: String,
    /// Seconds on the wall.
    pub wall_s: Spread,
    /// Seconds of processors.
    pub cpu_s: Spread,
    /// How many times as long, on the wall, the peer takes; taken in each round. None without a peer.
    pub wall_ratio: Option<Spread>,
    /// The same of processors.
    pub cpu_ratio: Option<Spread>,
    /// None where no program plays.
    pub innocents: Option<Innocents>,
}

impl Row {
    /// # Panics
    /// Without a round, which is a bug of the caller.
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

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Programs of a batch.
    pub completions: usize,
    /// How often everything was done.
    pub rounds: usize,
    /// In the order of the work.
    pub rows: Vec<Row>,
}

impl Table {
    /// Cells for people, below their names; the work's name at its first row only.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let head = ["work", "way", "wall", "CPU", "wall ratio", "CPU ratio", "innocent", "changed", "stopped", "moves"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let mut work = "";
        for row in &self.rows {
            let name = if row.work == work { "" } else { row.work };
            work = row.work;
            let mut cells = vec![name.to_owned(), row.way.clone(), seconds(row.wall_s), seconds(row.cpu_s)];
            cells.extend([row.wall_ratio, row.cpu_ratio].map(|spread| spread.map_or(NOTHING.into(), ratio)));
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

    /// One line a row below a line of names. Names of work and ways hold no comma and no quote.
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "work,way,rounds,wall_s,wall_s_low,wall_s_high,cpu_s,cpu_s_low,cpu_s_high,wall_ratio,cpu_ratio,\
             innocents,changed,stopped,moves\n",
        );
        for row in &self.rows {
            let Row { work, way, wall_s, cpu_s, .. } = row;
            let times = [wall_s, cpu_s].map(|it| format!("{},{},{}", it.median, it.low, it.high)).join(",");
            let ratios = [row.wall_ratio, row.cpu_ratio].map(|it| it.map_or(String::new(), |it| it.median.to_string()));
            let innocents = row
                .innocents
                .map_or(",,,".to_owned(), |it| format!("{},{},{},{}", it.count, it.changed, it.stopped, it.moves));
            text.push_str(&format!("{work},{way},{},{times},{},{innocents}\n", self.rounds, ratios.join(",")));
        }
        text
    }
}

/// `2.31 s (2.20 to 2.50)`, or in milliseconds when that is below a tenth of a second.
fn seconds(spread: Spread) -> String {
    let (scale, unit) = if spread.median < 0.1 { (1000.0, "ms") } else { (1.0, "s") };
    let [median, low, high] = [spread.median, spread.low, spread.high].map(|value| value * scale);
    format!("{median:.2} {unit} ({low:.2} to {high:.2})")
}

/// `3.1x (2.9 to 3.4)`.
fn ratio(spread: Spread) -> String {
    format!("{:.2}x ({:.2} to {:.2})", spread.median, spread.low, spread.high)
}
