//! Audits somebody else's grader: what does it give for cheats, for doing nothing, and for the references?
//!
//! The same programs as those of the reward check, on a smaller sample, because a grader may take seconds for one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::examination::{counted_tasks, place, sample};
use super::probes::{Role, attempts};
use crate::environment::Labels;
use crate::environment::tasks::{Answer, Kind, Task, Tasks};
use crate::grader::{Asked, Grade, Grader};
use crate::plural::counted;
use crate::preflight::finding::{Check, CheckFinding, Level};
use crate::preflight::{Report, Told, Trial};

/// Tasks of each kind on which stubs and cheats are tried.
const SAMPLE: usize = 8;
/// Completions that are asked about at once.
const BATCH: usize = 16;
/// Share of the full reward that a program which does nothing may earn: as in the check of our own reward.
const STUB_EXPECTED: f64 = 0.7;
/// Tolerated difference between equal rewards.
const ROUNDING: f64 = 1e-6;
/// Completions without a program: what doing nothing earns.
const TEXTS: [(&str, &str); 2] = [("an empty completion", ""), ("words without a program", "I cannot solve this.\n")];

/// What one attempt earned on all tasks that it was tried on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Earned {
    pub attempt: &'static str,
    /// Whether it cheats; otherwise it does nothing.
    pub is_cheat: bool,
    /// Tasks that it was tried on.
    pub tasks: usize,
    /// The most that it earned above doing nothing, or at all if that is nowhere above; absent without a number.
    pub reward: Option<f64>,
    /// What doing nothing earns on that task.
    pub nothing: Option<f64>,
    /// Number of tasks on which it earned more than doing nothing.
    pub paid: usize,
    /// Number of tasks on which no reward came back.
    pub lost: usize,
    /// Why none came back, the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    #[serde(flatten)]
    pub report: Report,
    pub completions: usize,
    /// The most that a reference earned, which is taken for the full reward.
    pub full: Option<f64>,
    /// Every attempt, in the order in which it was made.
    pub earned: Vec<Earned>,
}

/// Why there is no audit.
#[derive(Debug, thiserror::Error)]
pub enum Ungraded {
    /// No reward came back for the first references.
    #[error("no reward for the reference of {task}: {why}")]
    Lost {
        /// The first task.
        task: String,
        /// What became of its reward, in words.
        why: String,
    },
    /// A grader would be handed empty lists of tests.
    #[error("no task has tests that a grader is told: checkers and expected exceptions are not")]
    Untold,
}

/// A program that solves nothing, and its grades by task.
struct Tried {
    name: &'static str,
    is_cheat: bool,
    asked: Vec<(usize, String)>,
    grades: Vec<Grade>,
}

/// Has the references, stubs and cheats graded. The answers of all tests must be known.
pub fn audit(tasks: &Tasks, grader: &Grader, told: Told<'_>) -> Result<Audit, Ungraded> {
    let untold = untold(tasks);
    if untold > 0 && !tasks.tasks().iter().any(|task| !task.is_honeypot && has_tests(task)) {
        return Err(Ungraded::Untold);
    }
    let references = references(tasks, grader, told)?;
    let mut tried = attempts_of(tasks);
    let all: usize = tried.iter().map(|tried| tried.asked.len()).sum();
    let mut done = 0;
    for tried in &mut tried {
        told("stubs and cheats", done, all);
        tried.grades = graded(tasks, grader, &tried.asked);
        done += tried.asked.len();
    }
    let full = references.iter().filter_map(|(_, grade)| number(grade)).reduce(f64::max);
    let nothing = nothing(&tried);
    let earned: Vec<Earned> = tried.iter().map(|tried| earned(tried, &nothing)).collect();
    let mut findings = of_references(tasks, &references, full, &nothing);
    findings.push(of_numbers(&tried, &references));
    findings.extend(of_stubs(&earned, full, &nothing));
    findings.push(of_cheats(&earned));
    findings.extend(of_losses(&earned));
    findings.extend(of_untold(untold));
    findings.sort_by_key(|finding| (finding.check, Reverse(finding.level)));
    let tasks = Some(counted_tasks(tasks, &findings));
    let report = Report { players: Vec::new(), tasks, findings, labels: Labels::Tests };
    Ok(Audit { report, completions: all + references.len(), full, earned })
}

/// Whether a grader is told one of the tests: a checker is not handed over, and neither is an expected exception.
fn has_tests(task: &Task) -> bool {
    task.tests.iter().any(|test| !matches!(test.expected, Some(Answer::Raised(_))))
}

/// Number of tasks of which a grader is told no test, so that it can say nothing of their programs.
fn untold(tasks: &Tasks) -> usize {
    tasks.tasks().iter().filter(|task| !task.is_honeypot && !has_tests(task)).count()
}

/// The grades of all references, but for honeypots, which no reference solves, and tasks of which no test is told. One of the
/// first must have a reward: a grader that cannot be asked is no finding.
fn references(tasks: &Tasks, grader: &Grader, told: Told<'_>) -> Result<Vec<(usize, Grade)>, Ungraded> {
    let asked: Vec<(usize, String)> = tasks
        .tasks()
        .iter()
        .enumerate()
        .filter(|(_, task)| !task.is_honeypot && has_tests(task))
        .filter_map(|(number, task)| Some((number, Trial::new(task.reference.as_ref()?, Vec::new()).text)))
        .collect();
    let mut grades = Vec::with_capacity(asked.len());
    for batch in asked.chunks(BATCH) {
        told("references", grades.len(), asked.len());
        grades.extend(graded(tasks, grader, batch));
        if let Some(Grade::Lost(why)) =
            grades.first().filter(|_| grades.iter().all(|grade| matches!(grade, Grade::Lost(_))))
        {
            return Err(Ungraded::Lost { task: tasks.tasks()[asked[0].0].id.clone(), why: why.clone() });
        }
    }
    Ok(asked.into_iter().map(|(task, _)| task).zip(grades).collect())
}

fn graded(tasks: &Tasks, grader: &Grader, asked: &[(usize, String)]) -> Vec<Grade> {
    let asked = asked.iter().map(|(task, text)| Asked { task: &tasks.tasks()[*task], completion: text.clone() });
    grader.grade(&asked.collect::<Vec<_>>())
}

/// All attempts, each with the tasks that it is tried on: grades of different attempts are asked for apart, because one
/// that replaces a part of the grader changes those of others beside it.
fn attempts_of(tasks: &Tasks) -> Vec<Tried> {
    let mut order: Vec<Tried> = Vec::new();
    let mut places: BTreeMap<(bool, &'static str), usize> = BTreeMap::new();
    let mut kinds = BTreeSet::new();
    for number in sample(tasks, SAMPLE, has_tests) {
        let task: &Task = &tasks.tasks()[number];
        let with_costly = kinds.insert(task.kind == Kind::Script);
        let texts = TEXTS.iter().map(|(name, text)| (Role::Stub, *name, (*text).to_owned()));
        let programs = attempts(task, with_costly).into_iter();
        let programs = programs.map(|(role, name, source)| (role, name, Trial::new(&source, Vec::new()).text));
        for (role, name, text) in texts.chain(programs) {
            let is_cheat = role == Role::Cheat;
            let place = *places.entry((is_cheat, name)).or_insert_with(|| {
                order.push(Tried { name, is_cheat, asked: Vec::new(), grades: Vec::new() });
                order.len() - 1
            });
            order[place].asked.push((number, text));
        }
    }
    order.sort_by_key(|tried| tried.is_cheat);
    order
}

/// The number of a grade, if it is one.
fn number(grade: &Grade) -> Option<f64> {
    match grade {
        Grade::Reward(reward) if reward.is_finite() => Some(*reward),
        _ => None,
    }
}

/// The most that doing nothing earns on each task.
fn nothing(tried: &[Tried]) -> BTreeMap<usize, f64> {
    let mut most = BTreeMap::new();
    for tried in tried.iter().filter(|tried| !tried.is_cheat) {
        for ((task, _), grade) in tried.asked.iter().zip(&tried.grades) {
            if let Some(reward) = number(grade) {
                let most = most.entry(*task).or_insert(reward);
                *most = f64::max(*most, reward);
            }
        }
    }
    most
}

fn earned(tried: &Tried, nothing: &BTreeMap<usize, f64>) -> Earned {
    let rewards = tried.asked.iter().zip(&tried.grades);
    let rewards: Vec<(f64, Option<f64>)> =
        rewards.filter_map(|((task, _), grade)| Some((number(grade)?, nothing.get(task).copied()))).collect();
    let above = |(reward, nothing): &(f64, Option<f64>)| reward - nothing.unwrap_or(0.0);
    let best = rewards.iter().copied().reduce(|best, next| if above(&next) > above(&best) { next } else { best });
    let why = tried.grades.iter().find_map(|grade| match grade {
        Grade::Lost(why) => Some(why.clone()),
        _ => None,
    });
    Earned {
        attempt: tried.name,
        is_cheat: tried.is_cheat,
        tasks: tried.asked.len(),
        reward: best.map(|(reward, _)| reward),
        nothing: best.and_then(|(_, nothing)| nothing),
        paid: rewards.iter().filter(|reward| above(reward) > ROUNDING).count(),
        lost: tried.grades.iter().filter(|grade| matches!(grade, Grade::Lost(_))).count(),
        why,
    }
}

/// References that do not earn what the best of them does.
fn of_references(
    tasks: &Tasks,
    references: &[(usize, Grade)],
    full: Option<f64>,
    nothing: &BTreeMap<usize, f64>,
) -> Vec<CheckFinding> {
    if references.is_empty() {
        let has_others = tasks.tasks().iter().any(|task| !task.is_honeypot && task.reference.is_some());
        let which = if has_others { "no task of which a grader is told a test" } else { "no task" };
        let text = format!("{which} has a reference, so that nobody knows the full reward");
        return vec![CheckFinding::warning(Check::References, text).mend("give tasks a \"reference\"")];
    }
    // A grader that pays nothing to anybody is clean of cheats, and says nothing of them.
    let most = nothing.values().copied().fold(f64::NEG_INFINITY, f64::max);
    if let Some(full) = full.filter(|full| *full <= most + ROUNDING) {
        let (full, most) = (told_reward(full), told_reward(most));
        let text = format!("references earn {full} at most, doing nothing {most}: that says nothing of cheats");
        return vec![
            CheckFinding::problem(Check::References, text)
                .mend("hand the tests over in the form that the grader reads"),
        ];
    }
    let problem = |(task, grade): &(usize, Grade)| {
        let text = match grade {
            Grade::Lost(why) => format!("no reward for the reference: {why}"),
            Grade::Abstained => "no reward for the reference, on purpose".to_owned(),
            Grade::Reward(reward) if !reward.is_finite() => format!("the reference earns {reward}, which is no number"),
            Grade::Reward(reward) => match full? {
                full if *reward >= full - ROUNDING => return None,
                full => format!("the reference earns {}, others {}", told_reward(*reward), told_reward(full)),
            },
        };
        let key = number(grade).and_then(|_| untold_key(&tasks.tasks()[*task]));
        let remedy = match key {
            None => "look at what the grader does with this task: right programs are not paid".to_owned(),
            Some(key) => format!("have the grader heed \"{key}\", of which no column tells: it has the task's id"),
        };
        Some(CheckFinding::problem(Check::References, text).at(place(tasks, *task)).mend(remedy))
    };
    let problems: Vec<CheckFinding> = references.iter().filter_map(problem).collect();
    match full.filter(|_| problems.is_empty()) {
        None => problems,
        Some(full) => {
            let text = format!("{}, each of which earns {}", counted(references.len(), "reference"), told_reward(full));
            vec![CheckFinding::ok(Check::References, text)]
        }
    }
}

/// The key of a task by which its answers are compared otherwise than by `==`, if one is. No column tells of it, so that a
/// sound grader may pay nothing for what passes.
fn untold_key(task: &Task) -> Option<&'static str> {
    let keys = [
        ("tolerance", task.equality.tolerance > 0.0),
        ("tuples_are_lists", task.equality.tuples_are_lists),
        ("array_types", task.array_types),
    ];
    keys.into_iter().find_map(|(key, is_said)| is_said.then_some(key))
}

/// Rewards that are no numbers, those of references too.
fn of_numbers(tried: &[Tried], references: &[(usize, Grade)]) -> CheckFinding {
    let of_tried = tried.iter().flat_map(|tried| tried.grades.iter().map(move |grade| (tried.name, grade)));
    let of_references = references.iter().map(|(_, grade)| ("a reference", grade));
    let grades: Vec<(&str, &Grade)> = of_tried.chain(of_references).collect();
    let completions = grades.len();
    let no_number = |(name, grade)| match grade {
        &Grade::Reward(reward) if !reward.is_finite() => Some((name, reward)),
        _ => None,
    };
    let found: Vec<(&str, f64)> = grades.into_iter().filter_map(no_number).collect();
    match found.first() {
        Some((name, reward)) => {
            let text = format!("{name} earns {reward}, as in {} of {completions} completions", found.len());
            CheckFinding::problem(Check::Numbers, text).mend("a mean with such a reward is none either: give a number")
        }
        None => CheckFinding::ok(Check::Numbers, format!("no reward of {completions} is nan or infinite")),
    }
}

fn of_stubs(earned: &[Earned], full: Option<f64>, nothing: &BTreeMap<usize, f64>) -> Option<CheckFinding> {
    let best = earned.iter().filter(|earned| !earned.is_cheat).filter(|earned| earned.reward.is_some());
    let best = best.reduce(|best, next| if next.reward > best.reward { next } else { best })?;
    let (reward, least) = (best.reward?, nothing.values().copied().fold(0.0, f64::min));
    let text = format!("doing nothing earns {} at most: {}", told_reward(reward), best.attempt);
    let is_paid = full.is_some_and(|full| reward > ROUNDING && reward - least >= STUB_EXPECTED * (full - least));
    let has_no_program = TEXTS.iter().any(|(name, _)| *name == best.attempt);
    Some(match (is_paid, has_no_program) {
        (true, true) => CheckFinding::problem(Check::Stubs, text).mend("pay nothing where there is no program"),
        (true, false) => CheckFinding::warning(Check::Stubs, text)
            .mend("add tests that this does not pass, unless it is what a task asks for"),
        (false, _) => CheckFinding::ok(Check::Stubs, text),
    })
}

fn of_cheats(earned: &[Earned]) -> CheckFinding {
    let cheats = || earned.iter().filter(|earned| earned.is_cheat);
    let paid: Vec<&Earned> = cheats().filter(|earned| earned.paid > 0).collect();
    let number = counted(cheats().count(), "cheat");
    if paid.is_empty() {
        return CheckFinding::ok(Check::Cheats, format!("none of {number} earns more than doing nothing"));
    }
    let text = format!("{} of {number} earn more than doing nothing", paid.len());
    let remedy = "run programs apart from what judges them, and compare the values that they answer with, outside";
    CheckFinding::problem(Check::Cheats, text).mend(remedy)
}

/// Completions that leave a grader without an answer.
fn of_losses(earned: &[Earned]) -> Vec<CheckFinding> {
    let lost = earned.iter().filter(|earned| earned.lost > 0);
    let told = lost.map(|earned| {
        let why = earned.why.as_deref().unwrap_or_default();
        let text = format!(
            "{} leaves {} of {} without a reward: {why}",
            earned.attempt,
            earned.lost,
            counted(earned.tasks, "task")
        );
        CheckFinding::problem(Check::Answers, text)
            .mend("a completion must not end what judges it: a run would stop there")
    });
    let told: Vec<CheckFinding> = told.collect();
    match told.is_empty() {
        true => vec![CheckFinding::ok(Check::Answers, "every completion has an answer")],
        false => told,
    }
}

/// Tasks that the grader was not asked about.
fn of_untold(untold: usize) -> Option<CheckFinding> {
    let tasks = counted(untold, "task");
    let text = format!("{tasks} left out: a checker or exceptions alone, of which no grader is told");
    let finding = CheckFinding::warning(Check::Tests, text).mend("give tasks tests with values beside the checker");
    (untold > 0).then_some(finding)
}

/// A reward as messages show it.
fn told_reward(reward: f64) -> String {
    format!("{reward:.2}")
}

impl Audit {
    pub fn level(&self) -> Level {
        self.report.level()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const CHECKED: &str = r#"{"id":"any","prompt":"Write `f(x)`.","entry_point":"f","checker":"def check():\n    x = yield ('f', 1)\n    return x == 1\n","reference":"def f(x):\n    return x"}"#;
    const WITHOUT: &str = r#"{"id":"double","prompt":"Write `f(x)`.","entry_point":"f","tests":[{"args":"(1,)","expected":"2"},{"args":"(2,)","expected":"4"}]}"#;

    #[test]
    fn references_of_tasks_that_no_grader_is_told_a_test_of_are_no_missing_ones() {
        let told = |lines: &str| {
            let tasks = Tasks::of_rows(Path::new("tasks.jsonl"), "tasks", lines).unwrap();
            of_references(&tasks, &[], None, &BTreeMap::new()).remove(0).text
        };
        let unknown = "has a reference, so that nobody knows the full reward";
        assert_eq!(told(WITHOUT), format!("no task {unknown}"));
        let expected = format!("no task of which a grader is told a test {unknown}");
        assert_eq!(told(&format!("{CHECKED}\n{WITHOUT}\n")), expected);
    }

    #[test]
    fn a_reference_that_is_not_paid_is_named_with_the_key_that_no_column_tells() {
        let remedy = |keys: &str| {
            let line = WITHOUT.replace("\"entry_point\"", &format!("{keys}\"entry_point\""));
            let tasks = Tasks::of_rows(Path::new("tasks.jsonl"), "tasks", &line).unwrap();
            let finding = of_references(&tasks, &[(0, Grade::Reward(0.0))], Some(1.0), &BTreeMap::new()).remove(0);
            assert_eq!((finding.level, &*finding.text), (Level::Problem, "the reference earns 0.00, others 1.00"));
            finding.remedy.unwrap()
        };
        assert_eq!(remedy(""), "look at what the grader does with this task: right programs are not paid");
        for (key, value) in [("tolerance", "0.01"), ("tuples_are_lists", "true"), ("array_types", "true")] {
            let told = remedy(&format!("\"{key}\":{value},"));
            assert!(told.contains(&format!("heed \"{key}\", of which no column tells")), "{told}");
        }
    }
}
