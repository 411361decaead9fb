//! Checks on a sample of the tasks that programs which solve nothing earn nothing: the best constant, stubs and
//! cheats.

use std::collections::{BTreeMap, BTreeSet};

use super::cheats::{self, Attempt, FUNCTION_CHEATS, FUNCTION_STUBS, SCRIPT_CHEATS, SCRIPT_STUBS};
use super::examination::{Examination, SAMPLE, sample};
use super::suite::{NOTHING_LEARNT, shown};
use crate::arena::ArenaError;
use crate::config::TestsReward;
use crate::environment::Outcome;
use crate::environment::tasks::{Answer, Kind, Task};
use crate::environment::{Int, Value};
use crate::plural::counted;
use crate::preflight::Told;
use crate::preflight::finding::{Check, CheckFinding};
use crate::preflight::ladder::{exceeds, rises};
use crate::preflight::trial::JudgedTrial;

/// Most that a stub may earn, because a task in which doing nothing is half the work is still a task. Chosen: among the
/// tasks of `examples/tasks` the best stub earns 0.55, by returning the argument of `absolute`.
const STUB_EXPECTED: f32 = 0.7;
/// Tolerated difference of a full reward from 1, in f32.
pub(super) const ROUNDING: f32 = 1e-5;
/// The end of what is said of a checker that gives no verdict.
const NO_VERDICT: &str = "; expected True or False";
/// Name of the best constant answer in messages.
const CONSTANT: &str = "the best constant";

/// The role of a program in the check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Constant,
    Stub,
    Cheat,
}

/// A program that solves nothing, with its task and its reward.
struct Probe {
    task: usize,
    role: Role,
    name: &'static str,
    reward: f32,
}

impl Examination<'_> {
    /// Judges the probes. `constant`: mean share of a task's tests that the best constant passes.
    pub(super) fn probes(&self, constant: f64, told: Told<'_>) -> Result<Vec<CheckFinding>, ArenaError> {
        let sample = sample(self.tasks, SAMPLE, |_| true);
        let (mut probes, mut programs) = (Vec::new(), Vec::new());
        let mut kinds = BTreeSet::new();
        for &task in &sample {
            let is_first = kinds.insert(self.task(task).kind == Kind::Script);
            for (role, name, program) in attempts(self.task(task), is_first) {
                probes.push(Probe { task, role, name, reward: 0.0 });
                programs.push((task, program));
            }
        }
        let judged = self.judged("stubs and cheats", &programs, told)?;
        let unsaid = self.no_verdicts(&probes, &judged);
        probes.iter_mut().zip(judged).for_each(|(probe, judged)| probe.reward = judged.reward.value);
        let tasks = counted(sample.len(), "task");
        let mut findings = self.constants(&probes, constant, sample.len());
        findings.extend(self.stubs(&probes, &tasks));
        findings.extend(self.cheats(&probes, &tasks));
        findings.extend(unsaid);
        Ok(findings)
    }

    /// Reports checkers that gave a probe no verdict, of tasks without a reference, which would show it.
    fn no_verdicts(&self, probes: &[Probe], judged: &[JudgedTrial]) -> Vec<CheckFinding> {
        let mut seen = BTreeSet::new();
        let told = probes.iter().zip(judged).filter_map(|(probe, judged)| {
            let task = self.task(probe.task);
            let tests = judged.evaluation.games.first().and_then(Outcome::tests)?;
            let failed = tests.failed.as_ref().filter(|failed| failed.reason.ends_with(NO_VERDICT))?;
            let is_first = task.has_checker() && task.reference.is_none() && seen.insert(probe.task);
            is_first.then(|| CheckFinding::warning(Check::Rules, failed.reason.clone()).at(self.place(probe.task)))
        });
        told.map(|finding| finding.mend("have the checker return True or False, and add a reference")).collect()
    }

    /// Reports what constants earn: on the tasks whose checkers take them for right one by one, and on all others together.
    fn constants(&self, probes: &[Probe], passed: f64, tasks: usize) -> Vec<CheckFinding> {
        let best = best_of(probes, Role::Constant).into_values();
        let (lenient, others): (Vec<&Probe>, Vec<&Probe>) = best.partition(|probe| self.is_by_checker(probe));
        let mut findings: Vec<CheckFinding> = lenient.iter().map(|probe| self.lenient_checker(probe)).collect();
        if lenient.is_empty() || lenient.len() < tasks {
            let tasks = counted(tasks - lenient.len(), "task");
            findings.push(self.counted_constants(&others, passed, &tasks));
        }
        findings
    }

    /// Whether a constant is paid because the checker of its task takes it for right. What a checker says is known only by
    /// running it, so that it is none of the tests that are counted for a constant.
    fn is_by_checker(&self, probe: &Probe) -> bool {
        let counted = if self.config.reward.tests == TestsReward::AboveConstant { 0.0 } else { 1.0 - ROUNDING };
        self.task(probe.task).has_checker() && probe.reward > counted
    }

    fn lenient_checker(&self, probe: &Probe) -> CheckFinding {
        let task = self.task(probe.task);
        let commonest = task.commonest_answer(0..task.tests.len());
        // One that was guessed may be what the task asks for.
        let is_guess = commonest.is_none();
        let constant = commonest.map_or_else(|| probe.name.to_owned(), |(answer, _)| shown(answer));
        let text = format!("the checker takes the constant {constant} for right, which earns {:.2}", probe.reward);
        let is_all = probe.reward > 1.0 - ROUNDING;
        let finding = match (is_all && !is_guess, self.config.reward.tests) {
            (true, TestsReward::AboveConstant) => {
                CheckFinding::problem(Check::Constants, format!("{text}: {NOTHING_LEARNT}"))
            }
            _ => CheckFinding::warning(Check::Constants, text),
        };
        finding.at(self.place(probe.task)).mend("have the checker refuse it, or add tests with other answers")
    }

    fn counted_constants(&self, probes: &[&Probe], passed: f64, tasks: &str) -> CheckFinding {
        let earned = || probes.iter().map(|probe| probe.reward);
        let count = earned().count().max(1);
        let (mean, most) = (earned().sum::<f32>() / count as f32, earned().fold(f32::NEG_INFINITY, f32::max));
        let is_paid = earned().any(|reward| exceeds(reward, 0.0));
        let passes = format!("the best constant passes {:.0}% of a task's tests on average and earns", 100.0 * passed);
        let text = format!("{passes} {mean:.2} on {tasks}");
        match (is_paid, self.config.reward.tests) {
            (false, _) => CheckFinding::ok(Check::Constants, format!("{passes} nothing on {tasks}")),
            // Tasks in which the constant passes every test are reported one by one elsewhere.
            (true, TestsReward::All) => CheckFinding::ok(Check::Constants, format!("{text}, {most:.2} at most")),
            (true, TestsReward::Share) => {
                CheckFinding::warning(Check::Constants, format!("{text}: a run may learn `return 0`"))
                    .blame(self.config, &["reward.tests"])
            }
            (true, TestsReward::AboveConstant) => CheckFinding::problem(Check::Constants, text),
        }
    }

    /// Reports the best stub of each task.
    fn stubs(&self, probes: &[Probe], tasks: &str) -> Vec<CheckFinding> {
        let best = best_of(probes, Role::Stub);
        let paid = best.values().filter(|probe| probe.reward >= STUB_EXPECTED);
        let findings: Vec<CheckFinding> = paid
            .map(|probe| {
                let text = format!("{} earns {:.2}", probe.name, probe.reward);
                let finding = CheckFinding::warning(Check::Stubs, text).at(self.place(probe.task));
                finding.mend("add tests that this does not pass, unless it is what the task asks for")
            })
            .collect();
        if !findings.is_empty() {
            return findings;
        }
        let most =
            best.values().copied().reduce(|most, probe| if rises(most.reward, probe.reward) { probe } else { most });
        let text = match most.filter(|most| most.reward > 0.0) {
            None => format!("stubs earn nothing on {tasks}"),
            Some(most) => {
                format!("stubs earn at most {:.2} on {tasks}: {} ({})", most.reward, most.name, self.task(most.task).id)
            }
        };
        vec![CheckFinding::ok(Check::Stubs, text)]
    }

    /// Checks that a cheat earns no more than the best program that does nothing. Each task in which one does is reported, so
    /// that none of them passes for one in order.
    fn cheats(&self, probes: &[Probe], tasks: &str) -> Vec<CheckFinding> {
        let mut honest: BTreeMap<usize, f32> = BTreeMap::new();
        for probe in probes.iter().filter(|probe| probe.role != Role::Cheat) {
            let most = honest.entry(probe.task).or_insert(0.0);
            *most = most.max(probe.reward);
        }
        let cheats = || probes.iter().filter(|probe| probe.role == Role::Cheat);
        let limit = |probe: &Probe| honest.get(&probe.task).copied().unwrap_or(0.0);
        let mut paid: BTreeMap<usize, Vec<&Probe>> = BTreeMap::new();
        for probe in cheats().filter(|probe| exceeds(probe.reward, limit(probe))) {
            paid.entry(probe.task).or_default().push(probe);
        }
        let mut names: Vec<&str> = cheats().map(|probe| probe.name).collect();
        names.sort_unstable();
        names.dedup();
        if paid.is_empty() {
            let text = format!("{} earn nothing on {tasks}", counted(names.len(), "cheat"));
            return vec![CheckFinding::ok(Check::Cheats, text)];
        }
        let finding = |(&task, paid): (&usize, &Vec<&Probe>)| {
            let (first, tried) = (paid[0], cheats().filter(|probe| probe.task == task).count());
            let text = format!(
                "{} earns {:.2}, doing nothing {:.2}, as in {} of {}",
                first.name,
                first.reward,
                limit(first),
                paid.len(),
                counted(tried, "attempt")
            );
            let finding = CheckFinding::problem(Check::Cheats, text).at(self.place(task));
            match self.task(task).has_checker() {
                true => finding
                    .mend("have the checker refuse what this returns; if it does, please report a bug of grpo-2048"),
                false => finding,
            }
        };
        paid.iter().map(finding).collect()
    }
}

/// By task, the probe of this role that earns most, the first among equals.
fn best_of(probes: &[Probe], role: Role) -> BTreeMap<usize, &Probe> {
    let mut best = BTreeMap::new();
    for probe in probes.iter().filter(|probe| probe.role == role) {
        let best: &mut &Probe = best.entry(probe.task).or_insert(probe);
        if rises(best.reward, probe.reward) {
            *best = probe;
        }
    }
    best
}

/// All programs that are run on a task.
pub(super) fn attempts(task: &Task, with_costly: bool) -> Vec<(Role, &'static str, String)> {
    let (stubs, cheats): (&[Attempt], &[Attempt]) = match task.kind {
        Kind::Function(_) => (&FUNCTION_STUBS, &FUNCTION_CHEATS),
        Kind::Script => (&SCRIPT_STUBS, &SCRIPT_CHEATS),
    };
    let constants: Vec<(&str, Answer)> = match task.commonest_answer(0..task.tests.len()) {
        // It is the right answer.
        Some(_) if task.is_literal() => Vec::new(),
        Some((answer, _)) => vec![(CONSTANT, answer.clone())],
        None => guesses().into_iter().map(|(name, guess)| (name, Answer::Value(guess))).collect(),
    };
    let constants =
        constants.iter().filter_map(|(name, answer)| Some((Role::Constant, *name, cheats::constant(task, answer)?)));
    let stubs = stubs.iter().map(|stub| (Role::Stub, stub));
    let cheats = cheats.iter().filter(|cheat| with_costly || !cheat.is_costly).map(|cheat| (Role::Cheat, cheat));
    let program = |attempt: &Attempt| cheats::program(task, attempt.source);
    let attempts = stubs.chain(cheats).map(|(role, attempt)| (role, attempt.name, program(attempt)));
    constants.chain(attempts).collect()
}

/// Constants that a checker without tests beside it may take for right, beside what stubs return.
fn guesses() -> [(&'static str, Value); 2] {
    [("1", Value::Int(Int::from(1_i64))), ("True", Value::Bool(true))]
}
