//! The sheet of models: one column per way in the text, one object per way in JSON.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::rates::RateSpreads;
use super::{Basis, Round};
use crate::Spread;
use crate::table::Show;

/// The text of a figure that could not be measured.
const UNMEASURED: &str = "unmeasured";
/// The text of a figure without a meaning.
const NOTHING: &str = "-";

/// A kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name for people.
    pub head: &'static str,
    /// Its name for programs, with the unit.
    pub key: &'static str,
    pub(super) show: Show,
    /// Whether only this program has it, and not peers.
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
    /// Its distribution over all rounds.
    Measured(Spread),
    /// It could not be measured.
    Unmeasured,
    /// It has no meaning here.
    Nothing,
}

impl Figure {
    pub(super) fn of(rounds: &[Round], key: &str) -> Figure {
        let values: Option<Vec<f64>> = rounds.iter().map(|round| round.get(key).copied()).collect();
        values.and_then(Spread::of).map_or(Figure::Unmeasured, Figure::Measured)
    }

    /// The figure of a peer in a column of this program only: without a meaning, unless the peer has it too.
    pub(super) fn of_peer(rounds: &[Round], key: &str) -> Figure {
        match Figure::of(rounds, key) {
            Figure::Unmeasured => Figure::Nothing,
            measured => measured,
        }
    }

    /// The rate divided by that of `other`, computed in each round; without a meaning if there is no other.
    pub(super) fn ratio(own: &[Round], other: Option<&[Round]>, rate: &str) -> Figure {
        let Some(other) = other else { return Figure::Nothing };
        let pairs = own.iter().zip(other);
        let ratios: Option<Vec<f64>> = pairs.map(|(own, other)| Some(own.get(rate)? / other.get(rate)?)).collect();
        ratios.and_then(Spread::of).map_or(Figure::Unmeasured, Figure::Measured)
    }

    fn text(&self, show: Show) -> String {
        match self {
            Figure::Measured(spread) => spread.shown(show),
            Figure::Unmeasured => UNMEASURED.into(),
            Figure::Nothing => NOTHING.into(),
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
    pub way: String,
    /// In the order of the columns.
    pub figures: Vec<Figure>,
}

/// The whole sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    pub columns: &'static [Column],
    /// The model without a change, its changes, the peers.
    pub rows: Vec<SheetRow>,
    pub device: String,
    /// The number format of the weights.
    pub dtype: &'static str,
    /// Number of threads of the processor.
    pub threads: usize,
    /// The clock of times.
    pub basis: Basis,
    pub rounds: usize,
    pub rates: RateSpreads,
    /// The peer that ratios are of.
    pub peer: Option<String>,
    /// Peers that could not do the work, and why.
    pub failures: Vec<(String, String)>,
}

impl Sheet {
    /// The cells for people: a column per way, with its name, and a row per figure.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let mut lines = vec![[String::new()].into_iter().chain(self.rows.iter().map(|row| row.way.clone())).collect()];
        for (place, column) in self.columns.iter().enumerate() {
            let figures = self.rows.iter().map(|row| row.figures[place].text(column.show));
            lines.push([column.head.to_owned()].into_iter().chain(figures).collect::<Vec<String>>());
        }
        lines
    }

    /// The rates of the device, in words.
    pub fn rates_text(&self) -> String {
        let RateSpreads { copied_bytes_per_s: copied, matmul_flops_per_s: product } = self.rates;
        let scaled = |Spread { median, low, high }: Spread| {
            format!("{:.1} ({:.1} to {:.1})", median / 1e9, low / 1e9, high / 1e9)
        };
        format!("a large copy {} GB/s, a large square product {} GFLOP/s", scaled(copied), scaled(product))
    }
}

impl Serialize for Sheet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = |SheetRow { way, figures }: &SheetRow| {
            let figures = self.columns.iter().zip(figures).map(|(column, figure)| (column.key, json!(figure)));
            [("way", json!(way))].into_iter().chain(figures).collect::<Value>()
        };
        let sheet = json!({
            "device": self.device,
            "dtype": self.dtype,
            "threads": self.threads,
            "clock": self.basis,
            "rounds": self.rounds,
            "rates": self.rates,
            "peer": self.peer,
            "failures": self.failures.iter().map(|(peer, why)| (peer.as_str(), json!(why))).collect::<Value>(),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        });
        sheet.serialize(serializer)
    }
}
