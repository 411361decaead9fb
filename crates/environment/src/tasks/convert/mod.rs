//! Converts rows of public data sets to tasks.
//!
//! Takes a row as it is stored; gives a line of a file of tasks, or the reason why there is none. Nothing is unpickled
//! and nothing runs: if a data set has only a reference solution and inputs, so has the line.

mod asserts;
mod cases;
mod checker;
mod crux_eval;
mod draft;
mod evalplus;
mod formats;
mod functional;
mod kod_code;
mod live_code_bench;
mod opening;
mod solution;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::error::RowFault;
use super::row;
use crate::in_one_line;
use crate::value::Value;
use draft::Row;

/// Characters of an id that are kept.
const ID_MAX: usize = 90;
/// Why a row is dropped that a file of tasks may have.
pub const A_TASK: &str = "a task already, which --env takes as it is";

/// Converts rows to the lines of one file.
#[derive(Debug, Default)]
pub struct Converter {
    rows: usize,
    /// Rows of no known set.
    unknown: usize,
    /// Every id that is taken, with the number that the next row of this id is tried with: a table may give all rows one id.
    ids: HashMap<String, usize>,
}

/// A line of a file of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub id: String,
    /// The line, without its end.
    pub text: String,
    /// Name of the data set's format.
    pub format: &'static str,
    /// Whether its tests need a checker, because they are more than calls with literal arguments and answers.
    pub has_checker: bool,
}

/// A row that was not converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The row's id, or its number.
    pub id: String,
    /// The reason, worded so that equal reasons can be counted.
    pub why: String,
}

/// The format that a row seems to have.
pub(super) fn format_of(value: &Value) -> Option<&'static str> {
    let Value::Dict(dict) = value else { return None };
    formats::of(&Row(dict)).map(|format| format.name)
}

impl Converter {
    /// Converts the next row.
    pub fn convert(&mut self, value: &Value) -> Result<Line, Dropped> {
        let mut is_unknown = false;
        let converted = self.convert_by(value, |row| {
            formats::of(row).ok_or_else(|| {
                is_unknown = !row::is_of_task(row.0);
                if is_unknown { formats::unknown(row) } else { A_TASK.to_owned() }
            })
        });
        self.unknown += usize::from(is_unknown);
        converted
    }

    /// Counts the next row, which cannot be read, for this reason.
    pub fn unread(&mut self, why: String) -> Dropped {
        self.rows += 1;
        Dropped { id: format!("row {}", self.rows), why }
    }

    /// Counts the next row, which nobody asks for.
    pub(super) fn pass_over(&mut self) {
        self.rows += 1;
    }

    /// The known sets with their fields, where rows of others were dropped. The reasons leave them out: there is one for every
    /// set of fields.
    pub fn known_sets(&self) -> Option<String> {
        (self.unknown > 0).then(formats::known)
    }

    /// Converts the next row, which has to be one of the format `name`.
    ///
    /// # Panics
    /// When there is no such format.
    pub(super) fn convert_as(&mut self, name: &str, value: &Value) -> Result<Line, Dropped> {
        let format = formats::named(name).expect("the name of a format");
        self.convert_by(value, |row| if format.has(row) { Ok(format) } else { Err(format.wanted()) })
    }

    /// Converts the next row by its format, or drops it for the reason that it has none.
    fn convert_by(
        &mut self,
        value: &Value,
        format: impl FnOnce(&Row) -> Result<&'static formats::Format, String>,
    ) -> Result<Line, Dropped> {
        self.rows += 1;
        let number = format!("row {}", self.rows);
        let Value::Dict(dict) = value else {
            return Err(Dropped { id: number, why: format!("a {} and no object", value.kind()) });
        };
        let row = Row(dict);
        let format = format(&row).map_err(|why| Dropped { id: row.id().unwrap_or(number), why })?;
        let id = self.free_id(row.id().unwrap_or_else(|| format!("{}-{}", format.name, self.rows)));
        let draft = (format.convert)(&row).map_err(|why| Dropped { id: id.clone(), why })?;
        let has_checker = draft.checker.is_some();
        let text = in_one_line(&draft.line(&id));
        // The line is parsed again, so that no file is written which this program would refuse.
        let read = match RowFault::of_length(text.len()) {
            None => Value::from_json(&text).map_err(|error| error.to_string()),
            Some(RowFault(why)) => Err(why),
        };
        let read = read.and_then(|value| row::task(&value).map(drop).map_err(|faults| faults[0].0.clone()));
        match read {
            Ok(()) => Ok(Line { id, text, format: format.name, has_checker }),
            Err(why) => Err(Dropped { id, why }),
        }
    }

    /// This id on one line, with a number if it is already taken.
    fn free_id(&mut self, id: String) -> String {
        let id: String = id.chars().map(|c| if c.is_control() { ' ' } else { c }).take(ID_MAX).collect();
        let mut free = id.clone();
        if let Some(&next) = self.ids.get(&id) {
            let mut number = next;
            loop {
                free = format!("{id}-{number}");
                number += 1;
                if !self.ids.contains_key(&free) {
                    break;
                }
            }
            self.ids.insert(id, number);
        }
        self.ids.insert(free.clone(), 2);
        free
    }
}
