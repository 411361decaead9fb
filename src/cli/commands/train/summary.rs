//! The summary of a run: first steps beside last ones, held-out scores before and after, and the best program.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::cli::said::{CliError, output};
use crate::environment::Labels;
use crate::metrics::{EvaluationRecord, METRICS_FILE, StepRecord, Stream, duration, numbered, sparkline};
use crate::plural::{counted, decimal, percent};
use crate::shell;
use crate::stats;
use crate::train::hall_of_fame::Member;
use crate::train::run_dir::{BEST, ELITES, HALL_OF_FAME};
use crate::train::{RunSummary, Stopped};

/// Steps averaged at either end; a single step is mostly chance.
const WINDOW: usize = 5;
/// Columns of a name, and of the figures of a run's beginning and end beside it.
const WIDTHS: [usize; 3] = [20, 16, 18];
/// The same on a terminal that has no room for those.
const NARROW: [usize; 3] = [19, 14, 16];
/// Characters of the curve of a run, so that it ends where the columns above it do.
const CURVE: usize = 34;
/// Label of the interval below a mean.
const INTERVAL: &str = "  95% interval";
/// Characters of a style or task beside its figures.
const NAME: usize = 17;
/// Styles that a summary has room for.
const STYLES_SHOWN: usize = 12;

/// The summary of a run as text. `elapsed` is what this process took, which may have `resumed` the run.
pub fn text(summary: &RunSummary, elapsed: Duration, resumed: bool) -> String {
    let mut text = String::new();
    let last = summary.steps.last().map_or(0, |last| last.step);
    let how = match (&summary.stopped, summary.interrupted) {
        (Some(_), _) => "stopped by the guard after",
        (None, true) => "interrupted after",
        (None, false) => "done:",
    };
    let since = if resumed { " since it was resumed" } else { "" };
    text.push_str(&format!("\n{how} step {last}, {}{since}\n\n", duration(elapsed.as_secs_f64())));
    if summary.control {
        text.push_str("CONTROL: rewards were shuffled inside each step; a difference below is chance\n\n");
    }
    text.push_str(&steps_table(&summary.steps, summary.labels));
    text.push_str(&held_out_table(&summary.evaluations, summary.labels));
    if let Some(best) = summary.hall_of_fame.first() {
        text.push_str(&best_text(best, summary.labels));
    }
    let dir = shell::path(summary.output_dir.display());
    text.push_str(&format!("\nmetrics     {}\n", summary.output_dir.join(METRICS_FILE).display()));
    let programs = if summary.hall_of_fame.is_empty() { ELITES } else { HALL_OF_FAME };
    text.push_str(&format!("programs    {}\n", summary.output_dir.join(programs).display()));
    if !summary.hall_of_fame.is_empty() {
        text.push_str(&format!("best        {}\n", summary.output_dir.join(BEST).display()));
    }
    text.push_str(&format!("checkpoint  {}\n", summary.checkpoint.display()));
    text.push_str(&format!("report      grpo-2048 report {dir}\n"));
    if summary.stopped.is_none() {
        // What was interrupted goes on to the end that it had; what is done, for as long again.
        let further = match summary.steps.last() {
            Some(last) if !summary.interrupted => format!(" --steps {}", 2 * last.step),
            _ => String::new(),
        };
        text.push_str(&format!("go on       grpo-2048 train --resume {dir}{further}\n"));
    }
    text
}

/// Why the guard stopped a run, the last good checkpoint, and how to go on from there.
pub fn stopped(stopped: &Stopped, run: &Path) -> CliError {
    let Stopped { collapse, last_good, adapters } = stopped;
    let mut message = format!("the guard stopped the run after step {}", collapse.step);
    for reason in &collapse.reasons {
        message.push_str(&format!("\n  {reason}"));
    }
    let Some(good) = last_good else {
        message.push_str(&format!("\nno checkpoint is left from before it began, at step {}", collapse.began));
        return CliError::Stopped { message, hint: format!("{}, and start again", collapse.remedy) };
    };
    message.push_str(&format!("\nlast good checkpoint: {}; it began at step {}", good.display(), collapse.began));
    let start = starting_from(good, *adapters, run);
    CliError::Stopped { message, hint: format!("{}; start from there with\n  {start}", collapse.remedy) }
}

/// The command that starts another run from a checkpoint of `run`. `adapters`: whether the checkpoint holds LoRA adapters.
pub fn starting_from(checkpoint: &Path, adapters: bool, run: &Path) -> String {
    let start = match adapters {
        true => format!("--set {}", shell::quoted(format_args!("model.adapter={}", checkpoint.display()))),
        false => format!("--model {}", shell::path(checkpoint.display())),
    };
    // The recorded configuration comes along because a directory alone would be taken for a language model.
    let config = shell::path(run.join("config.toml").display());
    format!("grpo-2048 train --config {config} {start} --output-dir DIR")
}

fn steps_table(steps: &[StepRecord], labels: Labels) -> String {
    if steps.len() < 2 {
        return String::new();
    }
    let window = WINDOW.min(steps.len() / 2);
    let (first, last) = (&steps[..window], &steps[steps.len() - window..]);
    let mut text = row("", &span(first), &span(last), "");
    let mut compare = |name: &str, number: fn(&StepRecord) -> f64, show: &dyn Fn(f64) -> String| {
        let mean = |steps: &[StepRecord]| show(stats::mean(steps.iter().map(number)));
        text.push_str(&row(name, &mean(first), &mean(last), ""));
    };
    let score = labels.mean_score();
    compare("mean reward", |step| step.reward, &|value| decimal(value, 3));
    compare(&format!("programs that {}", labels.succeed()), StepRecord::succeeded, &percent);
    compare(score, StepRecord::score, &|value| labels.written(value));
    if labels.has_tiles() {
        let best =
            |steps: &[StepRecord]| steps.iter().map(|step| step.max_tile).max().flatten().unwrap_or(0).to_string();
        text.push_str(&row("best tile", &best(first), &best(last), ""));
    }
    let scores: Vec<f64> = steps.iter().map(StepRecord::score).collect();
    text.push_str(&format!("{:<20}{}\n", format!("{score}, curve "), sparkline(&scores, CURVE)));
    text
}

fn held_out_table(evaluations: &[EvaluationRecord], labels: Labels) -> String {
    let [before, .., after] = evaluations else {
        return String::new();
    };
    let mut text = String::from("\n");
    // Where a file of tasks holds none out, evaluations ask those that are trained on.
    let cases = match after.held_out {
        Some(0) => format!("{} trained on", labels.cases()),
        _ => format!("held-out {}", labels.cases()),
    };
    text.push_str(&row(&cases, &format!("step {}", before.step), &format!("step {}", after.step), ""));
    let is_mixed = before.is_sampled_otherwise(after);
    let ratio = match before.score() > 0.0 && after.score() >= 0.0 && !is_mixed {
        true => format!("  x {:.2}", after.score() / before.score()),
        false => String::new(),
    };
    let scores = [before, after].map(|record| labels.written(record.score()));
    text.push_str(&row(labels.mean_score(), &scores[0], &scores[1], &ratio));
    let mut compare = |name: &str, show: &dyn Fn(&EvaluationRecord) -> Option<String>| {
        if let (Some(left), Some(right)) = (show(before), show(after)) {
            text.push_str(&row(name, &left, &right, ""));
        }
    };
    let interval = |(low, high)| labels.range(low, high).unwrap_or_else(|| output::NOTHING.to_owned());
    compare(INTERVAL, &|record| record.score_interval().map(interval));
    compare(&format!("median {}", labels.score()), &|record| record.median_score.map(|score| labels.written(score)));
    compare(&format!("programs that {}", labels.succeed()), &|record| Some(percent(record.succeeded())));
    compare(INTERVAL, &|record| Some(interval((record.frac_passed_low?, record.frac_passed_high?))));
    compare("distinct programs", &|record| record.frac_unique.map(percent));
    if is_mixed {
        compare("temperature", &|record| record.temperature.map(|value| format!("{value:?}")));
    }
    if labels.has_tiles() {
        let best = |record: &EvaluationRecord| record.max_tile.unwrap_or(0).to_string();
        text.push_str(&row("best tile", &best(before), &best(after), ""));
    }
    text.push_str(&highest_between(evaluations, labels));
    text.push_str(&styles_table(before, after, labels));
    text
}

/// The highest evaluation of a run that was better in between than it is at its ends.
fn highest_between(evaluations: &[EvaluationRecord], labels: Labels) -> String {
    let [before, between @ .., after] = evaluations else { return String::new() };
    let ends = before.score().max(after.score());
    let higher = between.iter().filter(|record| record.score() > ends && !record.is_sampled_otherwise(after));
    let Some(highest) = higher.max_by(|one, other| one.score().total_cmp(&other.score())) else {
        return String::new();
    };
    let interval = highest.score_interval().map(|(low, high)| labels.bracketed(low, high)).unwrap_or_default();
    let score = labels.written(highest.score());
    format!("higher after step {}: {} {score}{interval}\n", highest.step, labels.mean_score())
}

/// Mean scores by style of the prompt, when there are few enough for a summary.
fn styles_table(before: &EvaluationRecord, after: &EvaluationRecord, labels: Labels) -> String {
    let earlier: BTreeMap<&str, f64> = before.styles().collect();
    let both: Vec<(&str, f64, f64)> =
        after.styles().filter_map(|(style, score)| Some((style, *earlier.get(style)?, score))).collect();
    if both.is_empty() || both.len() > STYLES_SHOWN {
        return String::new();
    }
    let rows = both.into_iter().map(|(style, left, right)| {
        row(&format!("  {style:.NAME$}"), &labels.written(left), &labels.written(right), "")
    });
    std::iter::once(format!("{} by {}\n", labels.mean_score(), labels.group())).chain(rows).collect()
}

fn best_text(best: &Member, labels: Labels) -> String {
    let tile = best.max_tile.map(|tile| format!(", best tile {tile}")).unwrap_or_default();
    let mean = |score: f64| format!("mean score {}", labels.written(score));
    let of = |games: Option<usize>, kind| match games {
        Some(games) => counted(games, kind),
        None => format!("{kind}s"),
    };
    let (figure, games) = match (best.report_mean_score, best.held_out_mean_score) {
        (Some(score), _) => {
            let ends = best.report_mean_score_low.zip(best.report_mean_score_high);
            let interval = ends.map(|(low, high)| labels.bracketed(low, high)).unwrap_or_default();
            let sure = if interval.is_empty() { "" } else { "; 95% interval" };
            let figure = format!("{}{interval}{tile}", mean(score));
            (figure, format!("{} that it was not chosen on{sure}", of(best.report_games, "held-out game")))
        }
        (None, Some(score)) => (
            format!("{}{tile}", mean(score)),
            format!("{}, among which it was chosen", of(best.held_out_games, "held-out game")),
        ),
        (None, None) if best.is_known() => {
            let games = of(best.games.map(|games| games as usize), "training game");
            (mean(best.mean_score), format!("{games}; not settled on held-out ones"))
        }
        (None, None) => (
            "not settled".to_owned(),
            "few training games, which say little; with train.settle a run plays held-out ones at its end".into(),
        ),
    };
    let source = numbered(&best.source, Stream::Stdout);
    format!("\nbest program, written at step {}\n{figure}\n({games})\n{source}", best.step)
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
    let [names, lefts, rights] = widths(output::columns());
    format!("{name:<names$}{left:>lefts$}{right:>rights$}{note}\n")
}

/// The widths of a row on a terminal of so many columns.
fn widths(columns: Option<usize>) -> [usize; 3] {
    if columns.is_some_and(|columns| columns < WIDTHS.iter().sum::<usize>()) { NARROW } else { WIDTHS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::guard::Collapse;

    fn evaluation(step: usize, score: f64) -> EvaluationRecord {
        let [mean_score, mean_score_low, mean_score_high] = [score, score - 90.0, score + 110.0].map(Some);
        EvaluationRecord { step, mean_score, mean_score_low, mean_score_high, ..EvaluationRecord::default() }
    }

    #[test]
    fn a_summary_compares_the_ends_and_shows_the_best_program() {
        let step = |step: usize| StepRecord { step, mean_score: Some(100.0 * step as f64), ..StepRecord::default() };
        let in_styles = |(step, mean_score): (usize, f64)| {
            let mut record = evaluation(step, mean_score);
            record.set_style("snake", 2.0 * mean_score);
            record
        };
        let best = Member {
            program: String::new(),
            source: "def strategy(board):\n    return 'W'".into(),
            step: 9,
            style: "plain".into(),
            mean_score: 39412.0,
            max_tile: Some(256),
            held_out_mean_score: Some(1500.0),
            report_mean_score: Some(1400.0),
            report_games: Some(32),
            report_mean_score_low: Some(1310.0),
            report_mean_score_high: Some(1490.0),
            ..Member::default()
        };
        let lucky = Member { games: Some(1), mean_score: 39412.0, ..Member::default() };
        let unsettled = best_text(&lucky, Labels::Board);
        assert!(!unsettled.contains("39412") && unsettled.contains("with train.settle"), "{unsettled}");
        let steady = best_text(&Member { games: Some(6), ..lucky }, Labels::Board);
        assert!(steady.contains("\nmean score 39412\n(6 training games;"), "{steady}");
        let summary = RunSummary {
            output_dir: "runs/train-001".into(),
            steps: (1..=12).map(step).collect(),
            evaluations: [(0, 500.0), (12, 1250.0)].map(in_styles).to_vec(),
            hall_of_fame: vec![best],
            checkpoint: "runs/train-001/checkpoint-12".into(),
            interrupted: false,
            control: false,
            labels: Labels::Board,
            stopped: None,
        };
        let resumed = super::text(&summary, Duration::from_secs(75), true);
        assert!(resumed.starts_with("\ndone: step 12, 1:15 since it was resumed\n"), "{resumed}");
        // A command does not take it for a flag.
        let dashed = RunSummary { output_dir: "-dash".into(), ..summary.clone() };
        let dashed = super::text(&dashed, Duration::from_secs(75), false);
        assert!(dashed.contains("grpo-2048 report ./-dash\n") && dashed.contains("--resume ./-dash "), "{dashed}");
        let text = text(&summary, Duration::from_secs(75), false);
        let expected = [
            "done: step 12, 1:15\n",
            "steps 1-5",
            "steps 8-12",
            "300",
            "1000",
            "mean score, curve   ▁▂▂▃▄▄▅▅▆▇▇█\n",
            "x 2.50",
            "410 to 610      1160 to 1360",
            "  snake                         1000              2500",
            "return 'W'",
            "go on       grpo-2048 train --resume runs/train-001 --steps 24\n",
            "written at step 9\nmean score 1400 (1310 to 1490), best tile 256\n(32 held-out games that it was not chosen on; 95% interval)",
            "runs/train-001/metrics.jsonl",
        ];
        for words in expected {
            assert!(text.contains(words), "{words} in {text}");
        }
    }

    #[test]
    fn both_ends_of_a_run_stand_beside_each_other_in_fifty_columns() {
        assert_eq!([None, Some(80), Some(54)].map(widths), [WIDTHS; 3]);
        assert!(widths(Some(53)).iter().sum::<usize>() <= 50);
    }

    #[test]
    fn a_run_that_was_better_before_its_end_says_when() {
        let table = |scores: [f64; 4]| {
            let evaluations = scores.into_iter().zip([0, 10, 20, 30]).map(|(score, step)| evaluation(step, score));
            held_out_table(&evaluations.collect::<Vec<_>>(), Labels::Board)
        };
        let fell = table([4286.0, 18277.0, 12000.0, 11619.0]);
        assert!(fell.contains("\nhigher after step 10: mean score 18277 (18187 to 18387)\n"), "{fell}");
        for rising in [[500.0, 700.0, 900.0, 1250.0], [900.0, 500.0, 600.0, 700.0]] {
            assert!(!table(rising).contains("higher"), "{rising:?}");
        }
    }

    #[test]
    fn evaluations_at_two_temperatures_have_no_ratio_and_say_at_which() {
        let table = |temperatures: [f64; 3]| {
            let evaluations = [(0, 500.0), (10, 1500.0), (20, 1250.0)].into_iter().zip(temperatures);
            let evaluations = evaluations.map(|((step, score), temperature)| EvaluationRecord {
                temperature: Some(temperature),
                ..evaluation(step, score)
            });
            held_out_table(&evaluations.collect::<Vec<_>>(), Labels::Board)
        };
        let mixed = table([0.7, 0.7, 0.3]);
        assert!(mixed.contains(&row("temperature", "0.7", "0.3", "")), "{mixed}");
        assert!(!mixed.contains("x 2.50") && !mixed.contains("higher after"), "{mixed}");
        let same = table([0.3; 3]);
        assert!(!same.contains("temperature"), "{same}");
        assert!(same.contains("x 2.50") && same.contains("higher after step 10"), "{same}");
    }

    #[test]
    fn tasks_that_were_trained_on_are_not_called_held_out() {
        let table = |held_out| {
            let record = EvaluationRecord { held_out, ..EvaluationRecord::default() };
            held_out_table(&[record.clone(), record], Labels::Tests)
        };
        assert!(table(Some(0)).starts_with("\ntasks trained on  "), "{}", table(Some(0)));
        for held_out in [Some(2), None] {
            assert!(table(held_out).starts_with("\nheld-out tasks  "), "{}", table(held_out));
        }
    }

    #[test]
    fn a_stop_names_what_collapsed_the_checkpoint_of_before_and_the_way_on() {
        let reason = "8.6% of the programs distinct over steps 46-53, 98% at best (stops below 10%)";
        let collapse = Collapse { step: 53, began: 36, reasons: vec![reason.into()], remedy: "set grpo.beta=0.02" };
        let message = |last_good: Option<&str>, adapters| {
            let stop = Stopped { collapse: collapse.clone(), last_good: last_good.map(Into::into), adapters };
            let CliError::Stopped { message, hint } = stopped(&stop, Path::new("run")) else { panic!("a stop") };
            format!("{message}\nhint: {hint}")
        };
        let full = message(Some("runs/train-001/checkpoint-30"), false);
        for words in [
            "the guard stopped the run after step 53",
            reason,
            "last good checkpoint: runs/train-001/checkpoint-30; it began at step 36",
        ] {
            assert!(full.contains(words), "{words} in {full}");
        }
        assert!(full.contains("hint: set grpo.beta=0.02; start from there with\n"), "{full}");
        assert!(full.ends_with("train --config run/config.toml --model runs/train-001/checkpoint-30 --output-dir DIR"));
        let adapters = message(Some("c-30"), true);
        assert!(adapters.contains("--config run/config.toml --set model.adapter=c-30"), "{adapters}");
        let spaced = message(Some("my run/c-30"), true);
        assert!(spaced.contains("--set 'model.adapter=my run/c-30'"), "{spaced}");
        let dashed = message(Some("-dash/c-30"), false);
        assert!(dashed.contains("--config run/config.toml --model ./-dash/c-30 "), "{dashed}");
        assert!(message(None, false).contains("no checkpoint is left"));
    }
}
