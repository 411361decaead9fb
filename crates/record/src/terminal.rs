//! Shows a run to its user: bars with the progress of run and step, or one line per step without a terminal.

use console::Style;
use indicatif::{ProgressBar, ProgressStyle};

use super::board::{Stream, TileSize, board_lines, numbered, visible};
use super::console::TICK;
use super::event::{EvaluationRecord, RunHeader, ScoredCompletion};
use super::headline::{duration, headline};
use super::pace::Pace;
use super::phase::Phase;
use super::{Console, Event, Progress, Sink, SinkError, StepRecord};
use crate::plural::{counted, decimal, percent};
use grpo_environment::{Labels, Verdict};

/// Columns of the line of a step above the bar.
const STEP_COLUMNS: usize = 80;

/// What is shown of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Its metrics.
    Steps,
    /// Its metrics, and every scored completion: source, verdict, reward, final board (`--sequential`).
    Completions,
}

/// Shows a run on standard error.
pub struct TerminalSink {
    console: Console,
    show: Show,
    bars: Option<Bars>,
    labels: Labels,
    max_steps: usize,
    pace: Pace,
    /// What the newest step came to, beside the bar of the run.
    came_to: String,
    /// Number of the current step.
    step: usize,
    phase: Phase,
    /// The next step, if it is sampled ahead.
    next: Phase,
    /// Completions of the next step, which are shown when that step starts.
    early: Vec<ScoredCompletion>,
}

/// The bar of the run and the spinner of the step.
struct Bars {
    run: ProgressBar,
    step: ProgressBar,
}

impl TerminalSink {
    /// A sink that shows a run on `console`. Bars appear when the run starts.
    pub fn new(console: Console, show: Show) -> TerminalSink {
        TerminalSink {
            console,
            show,
            bars: None,
            labels: Labels::default(),
            max_steps: 0,
            pace: Pace::default(),
            came_to: String::new(),
            step: 0,
            phase: Phase::default(),
            next: Phase::default(),
            early: Vec::new(),
        }
    }

    fn run_started(&mut self, header: &RunHeader) {
        (self.max_steps, self.labels, self.pace) = (header.max_steps, header.labels, Pace::of(header));
        self.console.print(&headline(header));
        if self.console.progress() != Progress::Bar {
            return;
        }
        let step = ProgressStyle::with_template("  {spinner} {wide_msg}").expect("a fixed template");
        let run = self.console.add(ProgressBar::new(header.max_steps as u64).with_style(run_style()));
        let step = self.console.add(ProgressBar::new_spinner().with_style(step));
        run.set_position(header.resumed_from as u64);
        run.set_prefix(format!("step {}/{}", header.resumed_from, header.max_steps));
        step.enable_steady_tick(TICK);
        self.bars = Some(Bars { run, step });
    }

    fn step_started(&mut self, step: usize) {
        self.step = step;
        let next = std::mem::take(&mut self.next);
        self.phase = if next.step == step { next } else { Phase::begin(step) };
        if let Some(bars) = &self.bars {
            // Terminals are resized while a run goes on.
            bars.run.set_style(of_stderr(run_style()));
            bars.run.set_prefix(format!("step {step}/{}", self.max_steps));
            bars.step.set_message("drawing prompts");
        }
        if self.show == Show::Completions {
            self.console.print(&format!("step {step}/{}", self.max_steps));
        }
        std::mem::take(&mut self.early).iter().for_each(|completion| self.completion(completion));
    }

    /// The phase of this step: the current or the next one. An evaluation has the current one.
    fn phase(&mut self, step: usize) -> &mut Phase {
        if step > self.step { &mut self.next } else { &mut self.phase }
    }

    fn sampling(&self) {
        self.tell(|| self.phase.words(self.phase.seconds(), &self.next));
    }

    /// Shows words beside the spinner of the step.
    fn tell(&self, words: impl FnOnce() -> String) {
        if let Some(bars) = &self.bars {
            bars.step.set_message(words());
        }
    }

    fn step_done(&mut self, record: &StepRecord) {
        self.pace.step_done(record.step, record.step_time);
        let numbers = format!(
            "reward {}  {} {}  {} {}",
            decimal(record.reward, 3),
            self.labels.succeeds(),
            percent(record.succeeded()),
            if self.labels == Labels::Tests { "tests" } else { self.labels.score() },
            self.labels.written(record.score()),
        );
        let (tile, mark) = (self.tile("tile ", record.max_tile.unwrap_or(0)), mark(record));
        let speed = speed(record);
        let mut step = format!("step {}/{}  {numbers}{mark}", record.step, self.max_steps);
        let learnt = [by_turn(record), tile].into_iter().chain(learnt(record));
        learnt.filter(|words| !words.is_empty()).for_each(|words| append(&mut step, &words));
        self.came_to = format!("{mark}  {numbers}{speed}");
        match &self.bars {
            Some(bars) => {
                bars.run.set_position(record.step as u64);
                self.show_left(bars);
                if record.step.is_multiple_of(lines_every(self.max_steps)) {
                    self.console.print(&step);
                }
            }
            None if self.console.progress() == Progress::Plain => {
                let left = self.left().map(|left| format!("  {left}")).unwrap_or_default();
                self.console.print(&format!("{step}{speed}  {:.1} s{left}", record.step_time));
            }
            None => (),
        }
    }

    /// The time until all steps and evaluations are done, if it is known and there are any.
    fn left(&self) -> Option<String> {
        self.pace.left().map(|seconds| format!("{} left", duration(seconds)))
    }

    /// Shows the time that is left beside the bar of the run, and what the newest step came to.
    fn show_left(&self, bars: &Bars) {
        // A narrow terminal truncates the end of the line, so the most important words come first.
        let words = format!("{}{}", self.left().unwrap_or_default(), self.came_to);
        bars.run.set_message(words.trim_start().to_owned());
    }

    fn evaluated(&mut self, record: &EvaluationRecord) {
        self.pace.evaluated(record.step, record.runtime);
        if let Some(bars) = &self.bars {
            self.show_left(bars);
        }
        let interval = interval(record, self.labels);
        self.console.print(&format!(
            "{}, after step {}: {} {}{interval}, {} of {} {}{}, reward {}",
            if record.held_out == Some(0) { "trained on" } else { "held out" },
            record.step,
            self.labels.score(),
            self.labels.written(record.score()),
            percent(record.succeeded()),
            counted(record.samples, "program"),
            self.labels.succeed(),
            self.tile(", best tile ", record.max_tile.unwrap_or(0)),
            decimal(record.reward, 3)
        ));
    }

    /// The words and the tile, if the environment has tiles.
    fn tile(&self, words: &str, tile: u32) -> String {
        if self.labels.has_tiles() { format!("{words}{tile}") } else { String::new() }
    }

    fn completion(&mut self, completion: &ScoredCompletion) {
        match self.show {
            Show::Steps => (),
            Show::Completions if completion.step > self.step => self.early.push(completion.clone()),
            Show::Completions => self.console.print_as_is(&completion_text(completion, self.labels)),
        }
    }
}

impl Sink for TerminalSink {
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        match *event {
            Event::RunStarted(header) => self.run_started(header),
            Event::StepStarted { step } => self.step_started(step),
            Event::Decoding { step, turn, tokens, finished, total } => {
                let phase = self.phase(step);
                // Evaluations count from 0.
                if phase.started.is_none() || phase.step != step || tokens < phase.tokens {
                    *phase = Phase::begin(step);
                }
                // Where fewer have ended than are scored, groups are sampled again.
                if phase.turn != turn || finished < phase.scored {
                    phase.begin_turn(turn, tokens, finished);
                }
                (phase.tokens, phase.finished, phase.total) = (tokens, finished, total);
                self.sampling();
            }
            Event::Scored { step, done, total } => {
                let phase = self.phase(step);
                (phase.scored, phase.total) = (done, total);
                self.sampling();
            }
            Event::CompletionScored(completion) => self.completion(completion),
            Event::Updating { done, total } => self.tell(|| format!("update: {done}/{total} micro-batches")),
            Event::Settling { done, total } => self.tell(|| settling(done, total)),
            Event::StepDone(record) => self.step_done(record),
            Event::Evaluated(record) => self.evaluated(record),
            Event::Saved { path } => self.console.print(&format!("saved {}", path.display())),
            Event::Message(message) => self.console.print(message),
            Event::CompletionEnded { .. } | Event::GamePlayed(_) | Event::ActivityDone { .. } => (),
        }
        Ok(())
    }
}

impl Drop for TerminalSink {
    fn drop(&mut self) {
        if let Some(bars) = &self.bars {
            bars.step.finish_and_clear();
            bars.run.finish_and_clear();
        }
    }
}

/// A style whose colours are those of standard error: a bar that is drawn already takes those of standard output.
fn of_stderr(style: ProgressStyle) -> ProgressStyle {
    ProgressBar::new(0).with_style(style).style()
}

/// The bar of the run, as wide as the terminal leaves room for now.
fn run_style() -> ProgressStyle {
    let columns = usize::from(console::Term::stderr().size().1);
    let template = format!("{{prefix}} {{bar:{}.cyan/white.dim}} {{wide_msg}}", bar_columns(columns));
    ProgressStyle::with_template(&template).expect("a fixed template").progress_chars("━╸─")
}

/// Columns of the bar of the run: what the longest line beside it leaves free, 6 to 40.
fn bar_columns(columns: usize) -> usize {
    columns.saturating_sub(STEP_COLUMNS - 6).clamp(6, 40)
}

/// Number of steps between two lines above the bar, which makes about twenty lines per run.
fn lines_every(steps: usize) -> usize {
    steps.div_ceil(20).max(1)
}

fn settling(done: usize, total: usize) -> String {
    match done < total {
        true => format!("settling the best: {done}/{total} programs have played held-out games"),
        false => "settling the best: the one that was chosen plays on other boards".to_owned(),
    }
}

/// Shares of completions that have succeeded by each turn, if there are several.
fn by_turn(record: &StepRecord) -> String {
    let shares: Vec<String> = record.succeeded_by_turn().into_iter().map(percent).collect();
    if shares.is_empty() { String::new() } else { format!("by turn {}", shares.join(" ")) }
}

/// How long completions are, how far the policy is from its reference, and how fast it moves.
fn learnt(record: &StepRecord) -> impl Iterator<Item = String> {
    let kl = record.update.kl.map(|kl| format!("kl {kl:.3}"));
    let length = format!("{:.0} tok", record.mean_length);
    [Some(length), kl, Some(format!("lr {:.0e}", record.update.learning_rate))].into_iter().flatten()
}

/// Adds words to the line of a step where they fit.
fn append(line: &mut String, words: &str) {
    if console::measure_text_width(line) + 2 + words.len() <= STEP_COLUMNS {
        line.push_str("  ");
        line.push_str(words);
    }
}

/// The symptoms that the guard found, to be shown beside the metrics.
fn mark(record: &StepRecord) -> String {
    match record.symptoms().as_slice() {
        [] => String::new(),
        names => format!("  {}", Stream::Stderr.style().yellow().apply_to(format!("! {}", names.join(", ")))),
    }
}

/// Tokens per second, unless all were read from a checkpoint, and what the GPU did.
fn speed(record: &StepRecord) -> String {
    let tokens = if record.tokens_per_s > 0.0 { format!("  {:.0} tok/s", record.tokens_per_s) } else { String::new() };
    format!("{tokens}{}", gpu(record))
}

/// Utilisation and power of the GPU in the step, if they were measured.
fn gpu(record: &StepRecord) -> String {
    let told = |name: &str| record.families.get(name);
    let power = told("gpu/power_w").map(|power| format!(" {power:.0} W")).unwrap_or_default();
    told("gpu/util").map(|util| format!("  gpu {util:.0}%{power}")).unwrap_or_default()
}

/// The style of a verdict: green where a program succeeded, yellow where there is none, red otherwise.
pub fn verdict_style(verdict: Verdict, stream: Stream) -> Style {
    match verdict {
        Verdict::Succeeded => stream.style().green(),
        Verdict::NoFunction | Verdict::NotCompiled | Verdict::Cut => stream.style().yellow(),
        _ => stream.style().red(),
    }
}

/// The text about one completion for `--sequential`.
fn completion_text(completion: &ScoredCompletion, labels: Labels) -> String {
    let stream = Stream::Stderr;
    let verdict = verdict_style(completion.verdict, stream).apply_to(completion.verdict.name());
    // A reason quotes what the program raised.
    let reason =
        if completion.reason.is_empty() { String::new() } else { format!(" ({})", visible(&completion.reason)) };
    let parts: Vec<String> = completion.parts.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
    let mut text = format!("completion {}\n{}", completion.index + 1, numbered(&completion.source, stream));
    text.push_str(&format!("  {verdict}{reason}"));
    if completion.games > 0 {
        text.push_str(&format!("   {} {}", labels.score(), labels.written(completion.mean_score)));
        if labels.has_tiles() {
            text.push_str(&format!(", best tile {}", completion.max_tile));
        }
    }
    text.push_str(&format!("\n  reward {:.3} = {}\n", completion.reward, parts.join(" + ")));
    if let Some(board) = &completion.final_board {
        for line in board_lines(board, stream, TileSize::Small).lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text.push('\n');
    text
}

/// ` (1100 to 1350)`, if there is an interval.
fn interval(record: &EvaluationRecord, labels: Labels) -> String {
    record.score_interval().map(|(low, high)| labels.bracketed(low, high)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
