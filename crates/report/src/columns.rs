//! `metrics.jsonl` as columns, with any keys, because records of earlier versions lack some.

use std::collections::BTreeMap;

use serde_json::Value;

/// Prefix of every key of a held-out evaluation.
const EVALUATION: &str = "eval_";

/// Numbers by key, one per record, `None` if the record lacks the key.
pub type Columns = BTreeMap<String, Vec<Option<f64>>>;

/// The records of a run.
#[derive(Debug, Default, PartialEq)]
pub struct Records {
    /// One row per step.
    pub steps: Columns,
    /// One row per held-out evaluation.
    pub evaluations: Columns,
    /// Number of lines that are no records. An incomplete last line does not count, because the run may be writing it.
    pub unreadable: usize,
}

/// Sorts the lines of the file into steps and evaluations.
pub fn read(text: &str) -> Records {
    let mut records = Records::default();
    let (mut steps, mut evaluations) = (0, 0);
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let Ok(Value::Object(record)) = serde_json::from_str::<Value>(line) else {
            let torn = index + 1 == lines.len() && !text.ends_with('\n');
            records.unreadable += usize::from(!torn);
            continue;
        };
        let (columns, rows) = match record.keys().any(|key| key.starts_with(EVALUATION)) {
            true => (&mut records.evaluations, &mut evaluations),
            false => (&mut records.steps, &mut steps),
        };
        for (key, value) in &record {
            let Some(number) = value.as_f64() else { continue };
            // Earlier versions had another name for the counts of verdicts.
            let verdict = key.strip_prefix("became/").map(|verdict| format!("verdict/{verdict}"));
            let column = columns.entry(verdict.unwrap_or_else(|| key.clone())).or_default();
            column.resize(*rows, None);
            column.push(Some(rounded(number)));
        }
        *rows += 1;
    }
    pad(&mut records.steps, steps);
    pad(&mut records.evaluations, evaluations);
    records
}

/// Extends all columns to `rows` rows.
fn pad(columns: &mut Columns, rows: usize) {
    columns.values_mut().for_each(|column| column.resize(rows, None));
}

/// Rounds to seven digits, which is enough for a curve and halves the size. Whole numbers stay exact.
pub fn rounded(number: f64) -> f64 {
    match number == number.trunc() && number.abs() < 1e15 {
        true => number,
        false => format!("{number:.6e}").parse().unwrap_or(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_verdicts_continue_those_that_had_an_earlier_name() {
        let text = "{\"became/cut\":3,\"mine/became/cut\":5}\n{\"verdict/cut\":2,\"mine/became/cut\":6}\n";
        let steps = read(text).steps;
        assert_eq!(steps["verdict/cut"], [Some(3.0), Some(2.0)]);
        assert_eq!(steps["mine/became/cut"], [Some(5.0), Some(6.0)], "only the family has another name");
    }

    #[test]
    fn records_of_all_versions_become_columns_of_equal_length() {
        let text = "{\"step\":0,\"eval_reward\":0.5}\n{\"step\":1,\"reward\":0.123456789}\nrubbish\n\
                    {\"step\":2,\"reward\":1,\"entropy\":0.5}\n{\"step\":3,\"rew";
        let records = read(text);
        assert_eq!(records.steps["step"], [Some(1.0), Some(2.0)]);
        assert_eq!(records.steps["reward"], [Some(0.1234568), Some(1.0)]);
        assert_eq!(records.steps["entropy"], [None, Some(0.5)]);
        assert_eq!(records.evaluations["eval_reward"], [Some(0.5)]);
        // The last line is incomplete; the third is damaged.
        assert_eq!(records.unreadable, 1);
    }
}
