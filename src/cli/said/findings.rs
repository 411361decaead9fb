//! Findings of `doctor`, `check` and the reward check, with advice; as lines and as JSON.

use std::borrow::Cow;

use serde::Serialize;

use super::output;
use crate::metrics::Stream;
use crate::preflight::{self, Level, Report, Standing};

/// Columns of the word that says how serious a finding is.
const LEVEL_WIDTH: usize = 8;
/// Findings of one check that are printed one by one.
const TOLD_MAX: usize = 8;
/// Columns of the longest bar.
const BAR_WIDTH: f32 = 32.0;

#[derive(Debug, Serialize)]
pub struct Finding {
    pub subject: Cow<'static, str>,
    pub level: Level,
    pub finding: String,
    /// What to do about it; `None` where nothing is to be done.
    pub advice: Option<String>,
}

impl Finding {
    pub fn ok(subject: &'static str, finding: impl Into<String>) -> Finding {
        Finding { subject: subject.into(), level: Level::Ok, finding: finding.into(), advice: None }
    }

    pub fn warning(subject: &'static str, finding: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { level: Level::Warning, advice: Some(advice.into()), ..Finding::ok(subject, finding) }
    }

    /// A warning where `is_wrong`, and otherwise all is well.
    pub fn warning_if(is_wrong: bool, subject: &'static str, finding: String, advice: &str) -> Finding {
        if is_wrong { Finding::warning(subject, finding, advice) } else { Finding::ok(subject, finding) }
    }

    pub fn problem(subject: &'static str, finding: impl std::fmt::Display, advice: impl Into<String>) -> Finding {
        Finding { level: Level::Problem, advice: Some(advice.into()), ..Finding::ok(subject, finding.to_string()) }
    }
}

/// Findings of the reward check, with `prefix` before the names of the checks. Each check has its first few, and the
/// number of the others.
pub fn of_report(report: &Report, prefix: &str) -> Vec<Finding> {
    let mut lines: Vec<Finding> = Vec::new();
    for group in report.findings.chunk_by(|a, b| (a.check, a.level) == (b.check, b.level)) {
        let (told, more) = group.split_at(group.len().min(TOLD_MAX));
        for finding in told {
            let subject = format!("{prefix}{}", finding.check.name()).into();
            let (level, words) = (finding.level, placed(finding));
            lines.push(Finding { subject, level, finding: words, advice: advice(finding) });
        }
        if let Some(last) = lines.last_mut().filter(|_| !more.is_empty()) {
            last.finding.push_str(&format!("\nand {} more", more.len()));
        }
    }
    lines
}

/// What to do about a finding: its remedy, or the setting that explains it.
fn advice(finding: &preflight::CheckFinding) -> Option<String> {
    match (&finding.remedy, &finding.setting, finding.level) {
        (_, _, Level::Ok) => None,
        (Some(remedy), _, _) => Some(remedy.clone()),
        (None, Some(setting), _) => {
            Some(format!("{} = {} explains it; the default is {}", setting.key, setting.found, setting.default))
        }
        (None, None, Level::Problem) => Some("no setting explains it: a bug of grpo-2048, please report it".to_owned()),
        (None, None, Level::Warning) => Some("a run may start; look at its rewards now and then".to_owned()),
    }
}

/// The text of a finding after its place.
pub fn placed(finding: &preflight::CheckFinding) -> String {
    match &finding.place {
        Some(place) => format!("{place}: {}", finding.text),
        None => finding.text.clone(),
    }
}

/// All findings, each with its advice below it, in lines of at most `columns` where there is such a limit.
pub fn text(findings: &[Finding], columns: Option<usize>) -> String {
    let width = findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
    let indent = LEVEL_WIDTH + 2 + width + 2;
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent).max(20));
    let wrapped = |text: &str| output::wrapped(text, room);
    let mut text = String::new();
    for (at, finding) in findings.iter().enumerate() {
        let (word, style) = match finding.level {
            Level::Ok => ("ok", Stream::Stdout.style().green()),
            Level::Warning => ("warning", Stream::Stdout.style().yellow()),
            Level::Problem => ("problem", Stream::Stdout.style().red().bold()),
        };
        let mut lines: Vec<String> = finding.finding.lines().flat_map(wrapped).collect();
        // Advice that several findings share is printed once, below the last of them.
        let is_said = |next: &Finding| next.subject == finding.subject && next.advice == finding.advice;
        if let Some(advice) = finding.advice.as_ref().filter(|_| !findings.get(at + 1).is_some_and(is_said)) {
            lines.extend(wrapped(&format!("-> {advice}")));
        }
        for (number, line) in lines.iter().enumerate() {
            text.push_str(&match number {
                0 => format!(
                    "{}  {:<width$}  {line}\n",
                    style.apply_to(format!("{word:<LEVEL_WIDTH$}")),
                    finding.subject
                ),
                _ => format!("{:indent$}{line}\n", ""),
            });
        }
    }
    text
}

/// An empty line, and a table of the reference players with their rewards as bars; empty where there are none. The
/// column of the best tile is left out in games without tiles.
pub fn chart(report: &Report) -> String {
    if report.players.is_empty() {
        return String::new();
    }
    let most = report.players.iter().map(|player| player.reward).fold(0.0, f32::max);
    let has_tiles = report.players.iter().any(|player| player.max_tile.is_some());
    let more = report.labels.finer(&report.players.iter().map(|player| player.mean_score).collect::<Vec<_>>());
    let row = |player: &Standing| {
        let share = if most > 0.0 { (player.reward / most).clamp(0.0, 1.0) } else { 0.0 };
        let bar = "━".repeat((BAR_WIDTH * share).round() as usize);
        let tile = player.max_tile.map(|tile| tile.to_string()).unwrap_or_default();
        let score = report.labels.written_finer(player.mean_score, more);
        let mut row = vec![player.name.clone(), player.games.to_string(), score];
        row.extend(has_tiles.then_some(tile));
        row.extend([format!("{:.3}", player.reward), Stream::Stdout.style().cyan().apply_to(bar).to_string()]);
        row
    };
    let head = ["player", "games", "score", "tile", "reward", ""];
    let head = head.into_iter().filter(|name| has_tiles || *name != "tile").map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(report.players.iter().map(row)).collect();
    format!("\n{}", output::remarked(&rows, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Labels;
    use crate::preflight::{Check, TaskPlace};

    #[test]
    fn advice_stands_below_what_was_found_and_lines_keep_within_the_screen() {
        let findings = [
            Finding::ok("disk", "12.0 GB free"),
            Finding::warning("processor", "1 core, which games and decoding share", "wait longer"),
        ];
        let expected = "ok        disk       12.0 GB free\n\
                        warning   processor  1 core, which games\n                     and decoding share\n                     -> wait longer\n";
        assert_eq!(console::strip_ansi_codes(&text(&findings, Some(42))), expected);
        assert_eq!(text(&findings, None).lines().count(), 3);
    }

    #[test]
    fn many_findings_of_a_check_are_counted_and_their_advice_is_said_once() {
        let finding = |line| preflight::CheckFinding {
            check: Check::Constants,
            level: Level::Problem,
            place: Some(TaskPlace { file: "tasks.jsonl".into(), line, task: format!("t{line}") }),
            text: "one test only".into(),
            setting: None,
            remedy: Some("add tests".into()),
        };
        let findings = (1..=142).map(finding).collect();
        let report = Report { players: Vec::new(), tasks: None, findings, labels: Labels::Tests };
        let findings = of_report(&report, "");
        assert!(findings.iter().all(|finding| finding.advice.is_some()));
        let text = console::strip_ansi_codes(&text(&findings, None)).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines[0], "problem   constants  tasks.jsonl:1 (t1): one test only");
        assert_eq!(
            lines[7..],
            ["problem   constants  tasks.jsonl:8 (t8): one test only", "and 134 more", "-> add tests"]
        );
    }

    fn standing(name: &str, mean_score: f64, reward: f32) -> Standing {
        Standing { name: name.into(), rank: 3, games: 2, mean_score, max_tile: Some(256), reward }
    }

    #[test]
    fn bars_are_as_long_as_rewards_and_failures_have_none() {
        let players =
            vec![standing("crash", 0.0, -0.24), standing("cycle", 1600.0, 0.2), standing("greedy", 6400.0, 0.4)];
        let text = chart(&Report { players, tasks: None, findings: Vec::new(), labels: Labels::Board });
        let bars: Vec<usize> = text.lines().skip(2).map(|line| line.matches('━').count()).collect();
        assert_eq!(bars, [0, 16, 32], "{text}");
        assert!(text.contains("cycle       2   1600   256   0.200  ━━"), "{text}");
    }

    #[test]
    fn scores_of_a_game_that_differ_look_different() {
        let players = vec![standing("one", 0.9912, 0.2), standing("other", 0.9948, 0.4)];
        let text = chart(&Report { players, tasks: None, findings: Vec::new(), labels: Labels::Game });
        assert!(text.contains(" 0.991 ") && text.contains(" 0.995 "), "{text}");
    }
}
