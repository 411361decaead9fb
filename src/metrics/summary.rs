//! What came of a run: the first steps against the last, held-out scores before and after, and the best program.

use std::path::PathBuf;
use std::time::Instant;

use super::board::{Stream, numbered};
use super::event::{EvaluationRecord, ScoredCompletion};
use super::terminal::duration;
use super::{Event, Sink, SinkError, StepRecord};

/// Steps averaged at either end; one step alone is mostly chance.
const WINDOW: usize = 5;

/// Listens to a run and sums it up.
pub struct Summary {
    started: Instant,
    output_dir: PathBuf,
    steps: Vec<StepRecord>,
    evaluations: Vec<EvaluationRecord>,
    best: Option<ScoredCompletion>,
    checkpoint: Option<PathBuf>,
}

impl Default for Summary {
    fn default() -> Self {
        Summary {
            started: Instant::now(),
            output_dir: PathBuf::new(),
            steps: Vec::new(),
            evaluations: Vec::new(),
            best: None,
            checkpoint: None,
        }
    }
}

impl Sink for Summary {
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        match *event {
            Event::RunStarted(header) => self.output_dir = header.output_dir.clone(),
            Event::CompletionScored(completion) => {
                let best = self.best.as_ref().map_or(0.0, |best| best.mean_score);
                if completion.mean_score > best {
                    self.best = Some(completion.clone());
                }
            }
            Event::StepDone(record) => self.steps.push(record.clone()),
            Event::Evaluated(record) => self.evaluations.push(record.clone()),
            Event::Saved { path } => self.checkpoint = Some(path.to_owned()),
            _ => {}
        }
        Ok(())
    }
}

impl Summary {
    /// The program with the highest mean score so far.
    pub fn best(&self) -> Option<&ScoredCompletion> {
        self.best.as_ref()
    }

    /// The whole summary, for standard output. Empty when nothing was done.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(last) = self.steps.last() {
            let elapsed = duration(self.started.elapsed().as_secs_f64());
            text.push_str(&format!("\n{} steps done, {} of them in {elapsed}\n", last.step, self.steps.len()));
            text.push_str(&self.steps_table());
        }
        text.push_str(&self.held_out_table());
        text.push_str(&self.best_text());
        text.push_str(&self.places());
        text
    }

    fn steps_table(&self) -> String {
        let window = WINDOW.min(self.steps.len());
        let (first, last) = (&self.steps[..window], &self.steps[self.steps.len() - window..]);
        if self.steps.len() < 2 {
            return String::new();
        }
        let mut text = row("", &span(first), &span(last), "");
        let mean = |steps: &[StepRecord], number: fn(&StepRecord) -> f64| {
            steps.iter().map(number).sum::<f64>() / steps.len() as f64
        };
        let mut compare = |name: &str, number: fn(&StepRecord) -> f64, show: fn(f64) -> String| {
            text.push_str(&row(name, &show(mean(first, number)), &show(mean(last, number)), ""));
        };
        compare("mean reward", |step| step.reward, |value| format!("{value:.3}"));
        compare("programs that play", |step| step.frac_played, percent);
        compare("mean score", |step| step.mean_score, |value| format!("{value:.0}"));
        let best = |steps: &[StepRecord]| steps.iter().map(|step| step.max_tile).max().unwrap_or(0).to_string();
        text.push_str(&row("best tile", &best(first), &best(last), ""));
        text
    }

    fn held_out_table(&self) -> String {
        let [before, .., after] = self.evaluations.as_slice() else {
            return String::new();
        };
        let mut text = String::from("\n");
        text.push_str(&row("held-out games", &format!("step {}", before.step), &format!("step {}", after.step), ""));
        let ratio = if before.mean_score > 0.0 {
            format!("  x {:.2}", after.mean_score / before.mean_score)
        } else {
            String::new()
        };
        let scores = [before, after].map(|record| format!("{:.0}", record.mean_score));
        text.push_str(&row("mean score", &scores[0], &scores[1], &ratio));
        text.push_str(&row("programs that play", &percent(before.frac_played), &percent(after.frac_played), ""));
        text.push_str(&row("best tile", &before.max_tile.to_string(), &after.max_tile.to_string(), ""));
        text
    }

    fn best_text(&self) -> String {
        let Some(best) = &self.best else {
            return String::new();
        };
        let games = if best.games == 1 { "1 game".to_owned() } else { format!("{} games", best.games) };
        format!(
            "\nbest program: {:.0} points a game over {games}, best tile {}, written at step {}\n{}",
            best.mean_score,
            best.max_tile,
            best.step,
            numbered(&best.source, Stream::Stdout)
        )
    }

    fn places(&self) -> String {
        if self.steps.is_empty() {
            return String::new();
        }
        let mut text = format!("\nmetrics     {}\n", self.output_dir.join("metrics.jsonl").display());
        if let Some(checkpoint) = &self.checkpoint {
            text.push_str(&format!("checkpoint  {}\n", checkpoint.display()));
        }
        text.push_str(&format!("go on       grpo-2048 train --resume {} --steps N\n", self.output_dir.display()));
        text
    }
}

/// `step 7` or `steps 56-60`.
fn span(steps: &[StepRecord]) -> String {
    match steps {
        [] => String::new(),
        [only] => format!("step {}", only.step),
        [first, .., last] => format!("steps {}-{}", first.step, last.step),
    }
}

fn row(name: &str, left: &str, right: &str, note: &str) -> String {
    format!("{:<20}{left:>14}{right:>14}{note}\n", name)
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_compares_the_ends_and_shows_the_best_program() {
        let mut summary = Summary::default();
        for step in 1..=12 {
            let record = StepRecord { step, mean_score: 100.0 * step as f64, ..StepRecord::default() };
            summary.note(&Event::StepDone(&record)).unwrap();
        }
        for (step, mean_score) in [(0, 500.0), (12, 1250.0)] {
            summary.note(&Event::Evaluated(&EvaluationRecord { step, mean_score, ..Default::default() })).unwrap();
        }
        for (source, mean_score) in [("good()", 900.0), ("better()", 1400.0), ("worse()", 20.0)] {
            let completion = ScoredCompletion { source: source.into(), mean_score, games: 2, ..Default::default() };
            summary.note(&Event::CompletionScored(&completion)).unwrap();
        }
        let text = summary.text();
        for expected in
            ["steps 1-5", "steps 8-12", "300", "1000", "x 2.50", "better()", "1400 points a game over 2 games"]
        {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        assert!(!text.contains("worse()"));
    }

    #[test]
    fn nothing_done_says_nothing() {
        assert_eq!(Summary::default().text(), "");
    }
}
