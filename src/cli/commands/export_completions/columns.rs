//! The columns of a table of completions.

use std::collections::BTreeSet;

use parquet::basic::Type as Physical;
use serde_json::Value;

use crate::environment::Floor;
use crate::report::LoggedCompletion;

/// The value of a completion, where what fails counts as the floor of its step.
type Cell = fn(&LoggedCompletion, Floor) -> Value;

/// Columns before and after those of the reward's parts. All columns up to `advantage` are those of TRL, in its order.
const BEFORE: [(&str, Physical, Cell); 3] = [
    ("step", Physical::INT64, |logged, _| logged.step.into()),
    ("prompt", Physical::BYTE_ARRAY, |logged, _| logged.prompt.clone().into()),
    ("completion", Physical::BYTE_ARRAY, |logged, _| logged.completion.clone().into()),
];
const AFTER: [(&str, Physical, Cell); 6] = [
    ("advantage", Physical::DOUBLE, |logged, _| logged.advantage.into()),
    ("reward", Physical::DOUBLE, |logged, _| logged.reward.into()),
    ("style", Physical::BYTE_ARRAY, |logged, _| logged.style.clone().into()),
    ("verdict", Physical::BYTE_ARRAY, |logged, _| logged.evaluation.verdict.clone().into()),
    ("mean_score", Physical::DOUBLE, |logged, floor| logged.evaluation.mean_score(floor).into()),
    ("max_tile", Physical::INT64, |logged, _| {
        logged.evaluation.games.iter().filter_map(|game| game.max_tile).max().into()
    }),
];

pub struct TableColumn {
    pub name: String,
    /// How a parquet file holds its values.
    pub kind: Physical,
    /// Its value of a completion; none for a part of the reward.
    cell: Option<Cell>,
}

impl TableColumn {
    /// Its value of a completion of a step with this floor; null where the completion has none.
    pub fn value(&self, logged: &LoggedCompletion, floor: Floor) -> Value {
        match self.cell {
            Some(cell) => cell(logged, floor),
            None => logged.reward_parts.get(&self.name).cloned().unwrap_or(Value::Null),
        }
    }
}

/// All columns, with one for each of the reward's `parts`.
pub fn columns(parts: &BTreeSet<String>) -> Vec<TableColumn> {
    let fixed = |(name, kind, cell): (&str, Physical, Cell)| TableColumn { name: name.into(), kind, cell: Some(cell) };
    let parts = parts.iter().map(|part| TableColumn { name: part.clone(), kind: Physical::DOUBLE, cell: None });
    BEFORE.map(fixed).into_iter().chain(parts).chain(AFTER.map(fixed)).collect()
}
