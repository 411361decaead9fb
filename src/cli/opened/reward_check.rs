//! The reward check as `train`, `check` and `doctor` show it.

use std::thread::JoinHandle;
use std::time::Instant;

use grpo_sandbox::THREAD_STACK;

use crate::arena::{Arena, ArenaError, Rules};
use crate::cli::said::CliError;
use crate::cli::said::findings::{self, placed};
use crate::config::Config;
use crate::metrics::Console;
use crate::plural::counted;
use crate::preflight::{self, Check, CheckFinding, Level, Report, TrainingPath};

/// Problems that are printed before a refusal.
const TOLD_MAX: usize = 8;

/// Judges the references of the environment as a run under `config` would, and shows the progress.
pub fn examine(config: &Config, arena: &Arena, console: &Console) -> Result<Report, ArenaError> {
    let wait = console.wait("checking the reward");
    let told = |what, done, of| wait.say(format!("checking the reward: {what} {done}/{of}"));
    preflight::examine(config, arena.environment(), &TrainingPath { arena, reward: &config.reward }, &told)
}

/// Refuses a run whose reward is out of order; otherwise prints a line that it is in order.
pub fn require(config: &Config, arena: &Arena, console: &Console) -> Result<(), CliError> {
    if !config.train.preflight {
        console.print("reward check: skipped (train.preflight = false)");
        return Ok(());
    }
    let started = Instant::now();
    let report = examine(config, arena, console).map_err(CliError::run)?;
    for finding in findings::of_report(&report, "reward ").iter().filter(|finding| finding.level == Level::Warning) {
        console.print(&format!("warning: {}: {}", finding.subject, finding.finding));
    }
    let problems: Vec<&CheckFinding> = report.of_level(Level::Problem).collect();
    // The refusal names a problem that a setting or the environment's author can mend: others may follow from it.
    let is_mendable = |finding: &&&CheckFinding| finding.setting.is_some() || finding.remedy.is_some();
    let Some(worst) = problems.iter().find(is_mendable).or(problems.first()) else {
        console.print(&line(&report, started.elapsed().as_secs_f64()));
        if let Some(boards) = report.finding(Check::Boards).filter(|_| config.train.board_salt.is_empty()) {
            console.print(&format!("reward check: {}", boards.text));
        }
        return Ok(());
    };
    for finding in problems.iter().filter(|finding| *finding != worst).take(TOLD_MAX) {
        console.print(&format!("reward {}: {}", finding.check.name(), placed(finding)));
    }
    if problems.len() > TOLD_MAX + 1 {
        console.print(&format!("and {} more; `grpo-2048 check` tells of all of them", problems.len() - TOLD_MAX - 1));
    }
    Err(refusal(worst))
}

/// The reward check on a thread of its own.
pub struct RewardCheck(JoinHandle<Result<Arena, CliError>>);

impl RewardCheck {
    /// Starts the check, under the rules of training games.
    pub fn start(config: &Config, arena: &Arena, console: &Console) -> Result<Self, CliError> {
        let (config, arena, console) = (config.clone(), arena.under(Rules::training(config)), console.clone());
        let thread = std::thread::Builder::new().name("reward-check".into()).stack_size(2 * THREAD_STACK);
        let check = move || {
            require(&config, &arena, &console)?;
            Ok(arena)
        };
        thread.spawn(check).map(RewardCheck).map_err(CliError::run)
    }

    /// Waits for the check, and returns the arena where the reward is in order.
    pub fn finish(self) -> Result<Arena, CliError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn refusal(finding: &CheckFinding) -> CliError {
    let text = format!("{}: {}", finding.check.name(), placed(finding));
    match (&finding.setting, &finding.remedy) {
        (Some(setting), _) => CliError::user_hint(
            format!("{} = {}: the reward check refuses to start, {text}", setting.key, setting.found),
            format!("the default is {}; train.preflight=false starts a run all the same", setting.default),
        ),
        (None, Some(remedy)) => CliError::user_hint(
            format!("the reward check refuses to start, {text}"),
            format!("{remedy}; train.preflight=false starts a run all the same"),
        ),
        (None, None) => CliError::Run(format!("reward check: {text}; this is a bug in grpo-2048").into()),
    }
}

/// The result in one line.
fn line(report: &Report, seconds: f64) -> String {
    if let Some(count) = report.tasks {
        let cheats = report.finding(Check::Cheats).map_or("", |finding| &finding.text);
        return format!(
            "reward check: {} with {} in order, {cheats} ({seconds:.1} s)",
            counted(count.tasks, "task"),
            counted(count.tests, "test")
        );
    }
    let order = report.finding(Check::Order).map_or("", |finding| &finding.text);
    let players = counted(report.players.len(), "reference player");
    format!("reward check: {players} in order, {order} ({seconds:.1} s)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Labels;
    use crate::preflight::{Setting, Standing, TaskCount, TaskPlace};

    fn standing(name: &str, mean_score: f64, reward: f32) -> Standing {
        Standing { name: name.into(), rank: 3, games: 2, mean_score, max_tile: Some(256), reward }
    }

    fn finding(check: Check, level: Level, setting: Option<Setting>) -> CheckFinding {
        let text = "cycle 0.20 < greedy 0.40".into();
        CheckFinding { check, level, place: None, text, setting, remedy: None }
    }

    #[test]
    fn a_good_reward_is_told_in_one_line() {
        let players = vec![standing("cycle", 1600.0, 0.2), standing("greedy", 6400.0, 0.4)];
        let report = Report {
            players,
            tasks: None,
            findings: vec![finding(Check::Order, Level::Ok, None)],
            labels: Labels::Board,
        };
        assert_eq!(line(&report, 1.94), "reward check: 2 reference players in order, cycle 0.20 < greedy 0.40 (1.9 s)");
    }

    #[test]
    fn what_the_author_of_tasks_can_mend_is_said_with_the_task() {
        let place = Some(TaskPlace { file: "tasks.jsonl".into(), line: 7, task: "gcd".into() });
        let text = "the reference fails".to_owned();
        let remedy = Some("correct it".to_owned());
        let found = CheckFinding { text, place, remedy, ..finding(Check::References, Level::Problem, None) };
        let CliError::User { message, hint } = refusal(&found) else { panic!("the user's mistake") };
        assert!(message.ends_with("references: tasks.jsonl:7 (gcd): the reference fails"), "{message}");
        assert!(hint.is_some_and(|hint| hint.starts_with("correct it; train.preflight=false")));
        let cheats = CheckFinding {
            text: "22 cheats earn nothing on 9 tasks".into(),
            ..finding(Check::Cheats, Level::Ok, None)
        };
        let tasks = Some(TaskCount { tasks: 9, tests: 90, to_mend: 0 });
        let report = Report { players: Vec::new(), tasks, findings: vec![cheats], labels: Labels::Tests };
        let expected = "reward check: 9 tasks with 90 tests in order, 22 cheats earn nothing on 9 tasks (0.5 s)";
        assert_eq!(line(&report, 0.5), expected);
    }

    #[test]
    fn a_setting_is_the_users_to_mend_and_anything_else_is_ours() {
        let setting = Setting { key: "reward.exponent", found: "0.1".into(), default: "0.5".into() };
        let CliError::User { message, hint } = refusal(&finding(Check::Spread, Level::Problem, Some(setting))) else {
            panic!("the user's mistake")
        };
        assert!(message.starts_with("reward.exponent = 0.1: "), "{message}");
        assert!(hint.is_some_and(|hint| hint.contains("the default is 0.5") && hint.contains("train.preflight=false")));
        let ours = refusal(&finding(Check::Cheats, Level::Problem, None));
        assert!(matches!(&ours, CliError::Run(error) if error.to_string().contains("cheats: ")), "{ours}");
    }
}
