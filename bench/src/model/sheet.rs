//! The figures of models and how they are shown: one column of the text a way, one line of the CSV a way.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::rates::RateSpreads;
use super::{Basis, Round};
use crate::Spread;

/// Stands where a figure could not be measured.
const UNMEASURED: &str = "unmeasured";
/// Stands where there is nothing to measure.
const NOTHING: &str = "-";

/// How a figure is written for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// Of a second.
    Rate,
    /// Seconds, or milliseconds.
    Seconds,
    /// MiB.
    Bytes,
    /// Percent of a share.
    Share,
    /// Percent as it is.
    Percent,
    /// Times as fast.
    Ratio,
}

/// A kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// For people.
    pub head: &'static str,
    /// For programs; says the unit.
    pub key: &'static str,
    pub(super) show: Show,
    /// Whether a peer does not say it.
    pub(super) is_own: bool,
}

impl Column {
    pub(super) const fn of_all(head: &'static str, key: &'static str, show: Show) -> Column {
        Column { head, key, show, is_own: false }
    }

    pub(super) const fn own(head: &'static str, key: &'static str, show: Show) -> Column {
        Column { head, key, show, is_own: true }
    }
}

/// One figure of one way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Over all rounds.
    Measured(Spread),
    /// Asked for, and not to be had.
    Unmeasured,
    /// Without meaning here.
    Nothing,
}

impl Figure {
    pub(super) fn of(rounds: &[Round], key: &str) -> Figure {
        let values: Option<Vec<f64>> = rounds.iter().map(|round| round.get(key).copied()).collect();
        values.and_then(Spread::of).map_or(Figure::Unmeasured, Figure::Measured)
    }

    /// What only we say of ourselves, unless a peer says it too.
    pub(super) fn of_peer(rounds: &[Round], key: &str) -> Figure {
        match Figure::of(rounds, key) {
            Figure::Unmeasured => Figure::Nothing,
            measured => measured,
        }
    }

    /// How many times as fast as the other, taken in each round; nothing where there is no other.
    pub(super) fn ratio(own: &[Round], other: Option<&[Round]>, rate: &str) -> Figure {
        let Some(other) = other else { return Figure::Nothing };
        let pairs = own.iter().zip(other);
        let ratios: Option<Vec<f64>> = pairs.map(|(own, other)| Some(own.get(rate)? / other.get(rate)?)).collect();
        ratios.and_then(Spread::of).map_or(Figure::Unmeasured, Figure::Measured)
    }

    fn text(&self, show: Show) -> String {
        match self {
            Figure::Measured(spread) => shown(*spread, show),
            Figure::Unmeasured => UNMEASURED.into(),
            Figure::Nothing => NOTHING.into(),
        }
    }

    fn csv(&self) -> String {
        match self {
            Figure::Measured(Spread { median, low, high }) => format!("{median},{low},{high}"),
            Figure::Unmeasured => [UNMEASURED; 3].join(","),
            Figure::Nothing => ",,".into(),
        }
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Figure::Measured(spread) => spread.serialize(serializer),
            Figure::Unmeasured => serializer.serialize_str(UNMEASURED),
            Figure::Nothing => serializer.serialize_none(),
        }
    }
}

/// All figures of one way.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetRow {
    /// The way.
    pub way: String,
    /// In the order of the columns.
    pub figures: Vec<Figure>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Kinds of figures.
    pub columns: &'static [Column],
    /// The model as it is, its changes, the peers.
    pub rows: Vec<SheetRow>,
    /// Where the model lived.
    pub device: String,
    /// What kind of number its weights are.
    pub dtype: &'static str,
    /// Threads of the processor.
    pub threads: usize,
    /// Which clock.
    pub basis: Basis,
    /// How often everything was measured.
    pub rounds: usize,
    /// What the device does alone.
    pub rates: RateSpreads,
}

impl Sheet {
    /// Cells for people: a column a way, below its name, and a row a figure.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let mut lines = vec![[String::new()].into_iter().chain(self.rows.iter().map(|row| row.way.clone())).collect()];
        for (place, column) in self.columns.iter().enumerate() {
            let figures = self.rows.iter().map(|row| row.figures[place].text(column.show));
            lines.push([column.head.to_owned()].into_iter().chain(figures).collect::<Vec<String>>());
        }
        lines
    }

    /// What the device did alone, in words.
    pub fn rates_text(&self) -> String {
        let RateSpreads { copied_bytes_per_s: copied, matmul_flops_per_s: product } = self.rates;
        let scaled = |Spread { median, low, high }: Spread| {
            format!("{:.1} ({:.1} to {:.1})", median / 1e9, low / 1e9, high / 1e9)
        };
        format!("a large copy {} GB/s, a large square product {} GFLOP/s", scaled(copied), scaled(product))
    }

    /// One line a way below a line of names; median, lowest and highest of every figure.
    pub fn csv(&self) -> String {
        let names = self.columns.iter().map(|Column { key, .. }| format!("{key},{key}_low,{key}_high"));
        let mut text = format!("way,device,threads,rounds,{}\n", names.collect::<Vec<_>>().join(","));
        for row in &self.rows {
            let figures: Vec<String> = row.figures.iter().map(Figure::csv).collect();
            // A change may hold a comma, as in a list.
            let way = row.way.replace(',', ";");
            let (device, threads, rounds) = (&self.device, self.threads, self.rounds);
            text.push_str(&format!("{way},{device},{threads},{rounds},{}\n", figures.join(",")));
        }
        text
    }
}

impl Serialize for Sheet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Named<'a>(&'a Sheet, &'a SheetRow);
        impl Serialize for Named<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("way", &self.1.way)?;
                for (column, figure) in self.0.columns.iter().zip(&self.1.figures) {
                    map.serialize_entry(column.key, figure)?;
                }
                map.end()
            }
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("device", &self.device)?;
        map.serialize_entry("dtype", &self.dtype)?;
        map.serialize_entry("threads", &self.threads)?;
        map.serialize_entry("clock", &self.basis)?;
        map.serialize_entry("rounds", &self.rounds)?;
        map.serialize_entry("rates", &self.rates)?;
        map.serialize_entry("rows", &self.rows.iter().map(|row| Named(self, row)).collect::<Vec<_>>())?;
        map.end()
    }
}

fn shown(Spread { median, low, high }: Spread, show: Show) -> String {
    let (scale, unit, digits) = match show {
        Show::Rate if median >= 1000.0 => (1.0, "", 0),
        Show::Rate => (1.0, "", 1),
        Show::Seconds if median < 0.1 => (1000.0, " ms", 2),
        Show::Seconds => (1.0, " s", 2),
        Show::Bytes => (1.0 / f64::from(1 << 20), " MiB", 0),
        Show::Share => (100.0, " %", 1),
        Show::Percent => (1.0, " %", 1),
        Show::Ratio => (1.0, "x", 2),
    };
    let [median, low, high] = [median, low, high].map(|value| value * scale);
    format!("{median:.digits$}{unit} ({low:.digits$} to {high:.digits$})")
}
