//! Each way in which tasks teach the wrong thing is found where it is, and tasks in order are not accused.

use std::path::Path;
use std::sync::LazyLock;

use super::*;
use crate::arena::{self, Rules};
use crate::config::{Feedback, TestsReward};
use crate::environment::Environment;
use crate::environment::tasks::{TasksError, honeypot};
use crate::preflight::planted::{SANDBOX, planted};
use crate::preflight::tasks::examination::SAMPLE;
use crate::preflight::{Check, CheckFinding, Level, TaskCount};
use crate::seed::Seed;

static CONFIG: LazyLock<Config> = LazyLock::new(|| {
    let mut config = Config::preset("llm").unwrap();
    config.train.game_seconds = 0.1;
    config
});

const DOUBLE: &str = r#"{"id":"double","prompt":"Double.","entry_point":"double","inputs":["(1,)","(2,)","(3,)","(4,)","(5,)"],"reference":"def double(x):\n    return 2 * x"}"#;
const SUM: &str = r#"{"id":"sum","prompt":"Read numbers, print their sum.","inputs":["1 2\n","3 4\n","5 6\n","7 8\n"],"reference":"print(sum(map(int, input().split())))"}"#;

/// A task of numbers; `more` goes behind it.
fn task(id: &str, reference: &str, more: &str) -> String {
    let reference = serde_json::to_string(reference).unwrap();
    format!(
        r#"{{"id":"{id}","prompt":"Do.","entry_point":"f","inputs":["(1,)","(2,)","(3,)","(4,)","(5,)"],"reference":{reference}{more}}}"#
    )
}

fn completed(tasks: Result<Tasks, TasksError>) -> Environment {
    let mut environment = Environment::Tasks(tasks.unwrap_or_else(|error| panic!("{error}")));
    arena::complete(&SANDBOX, &mut environment, &Rules::training(&CONFIG), 2).unwrap();
    environment
}

fn written(lines: &[&str]) -> Environment {
    completed(Tasks::of_rows(Path::new("tasks.jsonl"), "tasks", &lines.join("\n")))
}

fn checked(lines: &[&str]) -> Report {
    planted(&CONFIG, written(lines), |_, _| ()).0
}

fn rewarded(tests: TestsReward, lines: &[&str]) -> Report {
    let mut config = CONFIG.clone();
    config.reward.tests = tests;
    planted(&config, written(lines), |_, _| ()).0
}

/// What is found of a run that asks for programs this often.
fn in_turns(turns: usize, feedback: Feedback, lines: &[&str]) -> Report {
    let mut config = CONFIG.clone();
    (config.rollout.turns, config.rollout.feedback) = (turns, feedback);
    planted(&config, written(lines), |_, _| ()).0
}

/// Where and what `check` found that is not as it should be: level, line, text, remedy.
fn found(report: &Report, check: Check) -> (Level, usize, String, String) {
    let found: Vec<&CheckFinding> =
        report.findings.iter().filter(|finding| finding.check == check && finding.level > Level::Ok).collect();
    let [finding] = found.as_slice() else { panic!("{check:?}: {:#?}", report.findings) };
    let line = finding.place.as_ref().map_or(0, |place| place.line);
    (finding.level, line, finding.text.clone(), finding.remedy.clone().unwrap_or_default())
}

fn only(report: &Report, check: Check) -> (Level, usize, String, String) {
    let others = report.findings.iter().filter(|finding| finding.check != check);
    others.for_each(|other| assert_eq!(other.level, Level::Ok, "{other:?}"));
    found(report, check)
}

#[test]
fn our_own_examples_are_in_order() {
    assert_tasks_are_in_order(&[("micro.jsonl", 16), ("told.jsonl", 72)]);
}

#[test]
#[ignore = "the dearest tasks too; `make proofs` runs it"]
fn all_our_own_examples_are_in_order() {
    assert_tasks_are_in_order(&[("micro.jsonl", 16), ("basics.jsonl", 40), ("told.jsonl", 72)]);
}

/// Files of tasks, each with how many there are.
fn assert_tasks_are_in_order(files: &[(&str, usize)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tasks");
    for &(name, tasks) in files {
        let (report, _) = planted(&CONFIG, completed(Tasks::open(&folder.join(name))), |_, _| ());
        assert_ne!(report.level(), Level::Problem, "{name}: {:#?}", report.findings);
        let count = report.tasks.unwrap();
        assert_eq!((count.tasks, count.to_mend), (tasks, 0));
    }
}

#[test]
fn tasks_of_every_kind_are_in_order() {
    let method =
        task("method", "class Box:\n    def get(self, x):\n        return x * 3", "").replace("\"f\"", "\"Box.get\"");
    let checker = r#","checker":"def check():\n    a = yield ('f', 20)\n    return a == 40""#;
    let with_checker = task("checker", "def f(x):\n    return x * 2", checker);
    let with_random = task("chance", "import random\ndef f(x):\n    random.seed(x)\n    return random.random()", "");
    let report = checked(&[DOUBLE, SUM, &method, &with_checker, &with_random]);
    assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
    let cheats = &report.findings.last().unwrap().text;
    assert!(cheats.starts_with("33 cheats") || cheats.contains("cheats earn nothing on 5 tasks"), "{cheats}");
}

#[test]
fn an_opening_of_another_program_is_a_problem() {
    let opened =
        |id: &str, opening: &str| task(id, "def f(x):\n    return x * 2", &format!(r#","opening":"{opening}""#));
    let right = [
        r"import math\n",
        r"import math\n\ndef f(x):",
        r"def g(x):\n    return x\n\ndef f(",
        r"def f(x):\n    if x:",
        r"import functools\n\n@functools.cache\n",
        "def f(x: list[",
        "def f(x: int) ->",
        r"def f(x):\n    return sum(",
        r"def f(x):\n    return max(x, ",
        r#"def f(x):\n    \"\"\"Doubles"#,
        r"def f(x):\n    return f'",
        r"def f(x):\n    try:\n        y = x\n",
        "TABLE = {",
        "from math import ",
    ];
    let right: Vec<String> =
        right.iter().enumerate().map(|(number, opening)| opened(&number.to_string(), opening)).collect();
    let report = checked(&right.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
    let own = task("own", "def g(x):\n    return x * 2\ndef f(x):\n    return g(x)", r#","opening":"def g(x):""#);
    assert_eq!(checked(&[&own]).level(), Level::Ok, "the reference begins like it");
    for (expected, wrong, said) in [
        (Level::Warning, "def g(x):", "\"opening\": it begins `g`, and `f` is asked for"),
        (Level::Warning, "class f_:", "\"opening\": it begins `f_`, and `f` is asked for"),
        (Level::Problem, "def f(x:)", "\"opening\": no program of Python begins like it"),
        (Level::Problem, "Here is the program:", "\"opening\": no program of Python begins like it"),
    ] {
        let (level, line, text, remedy) = only(&checked(&[DOUBLE, &opened("opened", wrong)]), Check::Prompts);
        assert_eq!((level, line, text.as_str()), (expected, 2, said));
        assert!(remedy.contains("leave it out"), "{remedy}");
    }
}

#[test]
fn a_checker_that_fails_before_it_has_an_answer_is_its_own_problem() {
    let broken = r#","checker":"def check():\n    a = yield ('f', word)\n    return a == 40""#;
    let report = checked(&[DOUBLE, &task("broken", "def f(x):\n    return x * 2", broken)]);
    let (level, _, text, remedy) = only(&report, Check::Rules);
    assert_eq!(level, Level::Problem);
    assert!(text.contains("tasks.jsonl: line 2 (broken): the checker, ") && text.contains("'word'"), "{text}");
    assert!(remedy.contains("correct the checker"), "{remedy}");
}

#[test]
fn a_reference_that_fails_by_a_checker_without_a_verdict_is_answered_with_what_ends_one() {
    let asserts = r#","checker":"def check():\n    a = yield ('f', 20)\n    assert a == 40""#;
    let report = checked(&[DOUBLE, &task("asserts", "def f(x):\n    return x * 2", asserts)]);
    let (level, _, text, remedy) = found(&report, Check::References);
    assert_eq!(level, Level::Problem);
    assert!(text.contains("checker: ") && text.contains("returned None; expected True or False"), "{text}");
    assert_eq!(remedy, "correct the reference, or the checker");
}

#[test]
fn what_the_bonus_for_few_instructions_pays_references_is_told() {
    let mut config = CONFIG.clone();
    let told = |config: &Config, lines: &[&str]| {
        let (report, _) = planted(config, written(lines), |_, _| ());
        assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
        report.finding(Check::FuelBonus).map(|finding| finding.text.clone())
    };
    assert_eq!(told(&config, &[DOUBLE, SUM]), None);
    config.reward.fuel_bonus = 0.5;
    let text = told(&config, &[DOUBLE, SUM]).unwrap();
    let paid =
        |id: &str| text.split([':', ',']).find_map(|one| one.trim().strip_suffix(&format!(" for {id}"))?.parse().ok());
    let (double, sum): (f64, f64) = (paid("double").unwrap(), paid("sum").unwrap());
    assert!(0.5 > double && double > sum && sum > 0.2, "{text}");
}

#[test]
fn a_reference_that_gives_no_answer_is_named_and_the_others_are_checked_all_the_same() {
    let raises = task("raises", "def f(x):\n    return [1, 2, 3][x]", "");
    let does_not_load = task("loads", "import pandas\ndef f(x):\n    return x", "");
    let needs_more = task("needs", "def f(x):\n    import pandas.core, socket\n    return x", "");
    let chooses =
        task("chooses", "try:\n    import pandas\nexcept ImportError:\n    pandas = None\ndef f(x):\n    return x", "");
    let report = checked(&[&raises, &does_not_load, DOUBLE, &needs_more, &chooses]);
    let problems: Vec<(usize, &str)> = report
        .of_level(Level::Problem)
        .map(|finding| (finding.place.as_ref().unwrap().line, finding.text.as_str()))
        .collect();
    let [(2, modules), (1, first), (2, second), (4, third)] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!(*modules, "references import what the sandbox lacks: `pandas` (2 references)");
    assert_eq!(*first, "the reference fails test 3 of 5: f(3): IndexError: list index out of range (line 2)");
    assert!(second.contains("does not run: ModuleNotFoundError"), "{second}");
    assert!(third.contains("fails test 1 of 5: f(1): ModuleNotFoundError"), "{third}");
    assert_eq!(report.tasks.unwrap(), TaskCount { tasks: 5, tests: 25, to_mend: 3 });
}

#[test]
fn a_prelude_that_raises_in_a_call_is_named_with_its_line() {
    let raises = task("raises", "def f(x):\n    return half(x)", r#","prelude":"def half(x):\n    return 1 / 0""#);
    let report = checked(&[DOUBLE, &raises]);
    let (level, line, text, mend) = only(&report, Check::References);
    assert_eq!((level, line), (Level::Problem, 2));
    assert!(text.ends_with("ZeroDivisionError: division by zero (line 2 of the prelude)"), "{text}");
    assert_eq!(mend, "correct the reference, or the prelude of the task");
}

#[test]
fn tasks_without_a_reference_are_told_of_once() {
    let without = |id: &str| {
        format!(
            r#"{{"id":"{id}","prompt":"Do.","entry_point":"f","tests":[{{"args":"(1,)","expected":"7"}},{{"args":"(2,)","expected":"8"}},{{"args":"(3,)","expected":"9"}}]}}"#
        )
    };
    let report = checked(&[DOUBLE, &without("one"), &without("two")]);
    let (level, line, text, _) = only(&report, Check::References);
    assert_eq!((level, line), (Level::Warning, 2));
    assert!(text.contains("as in 2 of 3 tasks"), "{text}");
}

#[test]
fn a_reference_that_has_too_little_time_is_named() {
    let slow = |turns: usize, seconds: f64| {
        let source = format!("def f(x):\n    n = 0\n    for i in range({turns}):\n        n += x\n    return n");
        task("slow", &source, &format!(r#","seconds":{seconds}"#))
    };
    let report = checked(&[&slow(10_000_000, 0.02)]);
    let (level, line, text, remedy) = found(&report, Check::References);
    assert_eq!((level, line), (Level::Problem, 1));
    assert!(text.contains("one call used more than a call may") || text.contains("budget used up"), "{text}");
    assert!(remedy.contains("\"seconds\" above 0.02"), "{remedy}");
    assert!(remedy.ends_with("of which one call may use sandbox.call_share = 0.25"), "{remedy}");

    let report = checked(&[&slow(2000, 1.0)]);
    assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
    let used = report.finding(Check::Budget).unwrap().text.clone();
    let share: f64 = used.split("the costliest ").nth(1).unwrap().split('%').next().unwrap().parse().unwrap();
    // With room for three halves of what it used.
    let report = checked(&[&slow(2000, share / 100.0 * 1.5)]);
    let (level, _, text, _) = only(&report, Check::Budget);
    assert_eq!(level, Level::Warning);
    assert!(text.starts_with("the reference uses 6") || text.starts_with("the reference uses 7"), "{text}");
}

#[test]
fn a_reference_has_the_time_in_which_its_task_is_asked() {
    let mut config = CONFIG.clone();
    (config.train.game_seconds, config.sandbox.game_seconds) = (0.4, 0.004);
    let source =
        "def f(x):\n    n = 0\n    for i in range(100_000 if x == 3 else 1):\n        n += i\n    return x + n * 0";
    let inputs = r#""inputs":["(1,)","(2,)","(3,)","(4,)","(5,)"]"#;
    let tests = [1, 2, 3].map(|x| format!(r#"{{"args":"({x},)","expected":"{x}"}}"#)).join(",");
    let known = |id, more| task(id, source, more).replace(inputs, &format!(r#""tests":[{tests}]"#));
    let lines = [known("trained", ""), known("held", r#","split":"held_out""#), task("computed", source, "")];
    let tasks = Tasks::of_rows(Path::new("tasks.jsonl"), "tasks", &lines.join("\n"));
    let mut environment = Environment::Tasks(tasks.unwrap());
    arena::complete(&SANDBOX, &mut environment, &Rules::of(&config), 2).unwrap();
    let report = planted(&config, environment, |_, _| ()).0;
    let problems = report.of_level(Level::Problem).filter(|finding| finding.check == Check::References);
    let problems: Vec<(usize, &str, &str)> = problems
        .map(|found| (found.place.as_ref().unwrap().line, found.text.as_str(), found.remedy.as_deref().unwrap()))
        .collect();
    let [(2, held, more), (3, computed, key)] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(held.starts_with("the reference fails test 3 of 3: f(3): took too long"), "{held}");
    assert!(more.contains("\"seconds\" above 0.004 for the task"), "{more}");
    let expected =
        "nobody knows what test 3 of 5 expects: the reference did not answer it within sandbox.game_seconds = 0.004";
    assert_eq!(*computed, expected);
    assert!(key.starts_with("a larger sandbox.game_seconds"), "{key}");
}

#[test]
fn tests_with_one_answer_teach_nothing() {
    let zero = task("zero", "def f(x):\n    return 0", "");
    let report = checked(&[DOUBLE, &zero]);
    let (level, line, text, remedy) = found(&report, Check::Constants);
    assert_eq!((level, line), (Level::Problem, 2));
    assert_eq!(text, "all 5 tests are passed by the constant 0: nothing can be learnt");
    assert_eq!(remedy, "add tests with other answers");
    let single =
        task("single", "def f(x):\n    return 7", r#","shown":0"#).replace(r#""(1,)","(2,)","(3,)","(4,)","#, "");
    let (level, _, text, _) = found(&checked(&[&single]), Check::Constants);
    assert_eq!(
        (level, text.as_str()),
        (Level::Problem, "one test only, which the constant 7 passes: nothing can be learnt")
    );
    let (level, ..) = found(&rewarded(TestsReward::All, &[&single]), Check::Constants);
    assert_eq!(level, Level::Warning, "where all tests pay, one may do");
}

#[test]
fn of_a_literal_the_one_answer_is_no_constant() {
    let line = |more: &str| {
        let reference = r#""reference":"def f():\n    return [3, 'x']""#;
        format!(
            r#"{{"id":"literal","prompt":"Write.","entry_point":"f","inputs":["()"],{reference},"literal":true{more}}}"#
        )
    };
    for tests in [TestsReward::AboveConstant, TestsReward::Share, TestsReward::All] {
        let report = rewarded(tests, &[DOUBLE, &line(r#","shown":0"#)]);
        let others = report.findings.iter().filter(|finding| finding.text.contains("literal"));
        assert_eq!(others.count(), 0, "{:#?}", report.findings);
        let share = report.finding(Check::Constants).unwrap();
        assert!(share.text.starts_with("the best constant passes 10% of a task's tests"), "{share:?}");
    }
    let (level, line, text, _) = only(&checked(&[DOUBLE, &line("")]), Check::Shown);
    assert_eq!((level, line, &*text), (Level::Problem, 2, "the prompt shows the only test: copying its answer passes"));
}

#[test]
fn one_exception_of_all_types_is_a_constant_and_earns_nothing_above_it() {
    let source = "def f(x):\n    if x is None:\n        raise TypeError\n    if not x:\n        raise ValueError\n    return {'a': 2, 'b': 4}[x]";
    let reference = serde_json::to_string(source).unwrap();
    let raised = [("(None,)", "TypeError"), ("('',)", "ValueError"), ("('k',)", "KeyError")];
    let raised = raised.map(|(args, kind)| format!(r#"{{"args":"{args}","raises":"{kind}"}}"#)).join(",");
    let line = |values: &str| {
        format!(
            r#"{{"id":"parse","prompt":"Parse.","entry_point":"f","shown":0,"reference":{reference},"tests":[{raised}{values}]}}"#
        )
    };
    let values = r#",{"args":"('a',)","expected":"2"},{"args":"('b',)","expected":"4"}"#;
    let (report, trials) = planted(&CONFIG, written(&[&line(values)]), |_, _| ());
    assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
    assert!(trials.iter().any(|trial| trial.text.contains("class Everything(")));
    let constant = &report.finding(Check::Constants).unwrap().text;
    assert!(constant.contains("passes 60% of a task's tests on average and earns nothing"), "{constant}");
    // Where a share pays, it pays the best constant just as much.
    let report = rewarded(TestsReward::Share, &[&line(values)]);
    let constant = &found(&report, Check::Constants).2;
    assert!(constant.contains("passes 60% of a task's tests on average and earns 0.60"), "{constant}");
    assert_eq!(report.finding(Check::Cheats).unwrap().level, Level::Ok, "{:#?}", report.findings);
    let (level, _, text, _) = found(&checked(&[&line("")]), Check::Constants);
    let expected = "all 3 tests are passed by raising one exception that is under all the types which they expect";
    assert_eq!((level, text), (Level::Problem, format!("{expected}: nothing can be learnt")));
}

#[test]
fn a_checker_that_is_weaker_than_the_tests_is_its_authors_to_mend() {
    let checker = r#","checker":"def check():\n    a = yield ('f', 20)\n    return type(a) is int""#;
    let of = |source: &str| task("weak", source, checker);
    let remedy = "have the checker refuse it, or add tests with other answers";
    let text = |constant: &str, earns: &str| {
        format!("the checker takes the constant {constant} for right, which earns {earns}")
    };
    let told = |level, text| (level, 1, text, remedy.to_owned());
    let weak = checked(&[&of("def f(x):\n    return 2 * x")]);
    // Two of six tests, where one of them is counted.
    assert_eq!(only(&weak, Check::Constants), told(Level::Warning, text("2", "0.20")));
    let whole = checked(&[&of("def f(x):\n    return 7")]);
    let all = format!("{}: nothing can be learnt", text("7", "1.00"));
    assert_eq!(found(&whole, Check::Constants), told(Level::Problem, all));
    let report = checked(&[DOUBLE, &of("def f(x):\n    return 2 * x")]);
    let of_others = report.findings.iter().find(|one| one.check == Check::Constants && one.level == Level::Ok).unwrap();
    assert!(of_others.text.ends_with("earns nothing on 1 task"), "{}", of_others.text);
}

#[test]
fn a_checker_that_counts_is_told_of_where_no_reference_shows_it() {
    let counting = r#"{"id":"counts","prompt":"Double.","entry_point":"f","checker":"def check():\n    a = yield ('f', 1)\n    b = yield ('f', 2)\n    return (a == 2) + (b == 4)"}"#;
    let report = checked(&[DOUBLE, counting]);
    let told: Vec<_> = report.findings.iter().filter(|one| one.text.ends_with("; expected True or False")).collect();
    assert_eq!(told.len(), 1, "{:#?}", report.findings);
    assert_eq!((told[0].check, told[0].level), (Check::Rules, Level::Warning));
    assert!(told[0].text.contains("returned int "), "{}", told[0].text);
}

#[test]
fn of_a_checker_alone_some_constants_are_tried() {
    let alone = r#"{"id":"divisor","prompt":"Any divisor.","entry_point":"f","reference":"def f(n):\n    return n","checker":"def check():\n    for n in (6, 7, 12):\n        r = yield ('f', n)\n        if type(r) is not int or r < 1 or n % r:\n            return False\n    return True"}"#;
    let report = checked(&[alone]);
    // It may be what the task asks for, as here.
    let (level, _, text, _) = found(&report, Check::Constants);
    assert_eq!((level, &*text), (Level::Warning, "the checker takes the constant 1 for right, which earns 1.00"));
}

#[test]
fn a_cheat_that_a_checker_takes_for_right_is_its_authors_to_mend() {
    let alone = r#"{"id":"alone","prompt":"Do.","entry_point":"f","reference":"def f(x):\n    return {x: 1}","checker":"def check():\n    a = yield ('f', 20)\n    return type(a) is dict"}"#;
    let (level, line, text, remedy) = only(&checked(&[alone]), Check::Cheats);
    assert_eq!((level, line), (Level::Problem, 1));
    assert!(text.starts_with("a dict that equals everything earns 1.00"), "{text}");
    assert!(remedy.starts_with("have the checker refuse what this returns"), "{remedy}");
}

#[test]
fn a_share_of_tests_pays_the_constant_and_says_how_much() {
    let half = task("half", "def f(x):\n    return 0 if x < 4 else x", "");
    let report = rewarded(TestsReward::Share, &[&half]);
    let finding = report.findings.iter().find(|finding| finding.setting.is_some()).unwrap();
    assert_eq!((finding.check, finding.level), (Check::Constants, Level::Warning));
    // Three of five tests.
    assert!(finding.text.contains("passes 60% of a task's tests on average and earns 0.60"), "{}", finding.text);
    assert_eq!(finding.setting.as_ref().unwrap().key, "reward.tests");
    assert_eq!(report.finding(Check::Cheats).unwrap().level, Level::Ok);
    let default = checked(&[&half]);
    assert!(default.finding(Check::Constants).unwrap().text.contains("and earns nothing"), "{:?}", default.findings);
}

#[test]
fn tests_that_the_prompt_gives_away_are_found() {
    let (level, _, text, remedy) =
        found(&checked(&[&task("all", "def f(x):\n    return x * x", r#","shown":5"#)]), Check::Shown);
    assert_eq!(level, Level::Problem);
    assert_eq!(text, "the prompt shows all 5 tests: copying their answers passes");
    assert!(remedy.contains("\"shown\": 2"), "{remedy}");
    // One of two answers is the right one for the three tests that are hidden.
    let parity = task("parity", "def f(x):\n    return x if x == 1 else 0", "");
    let report = checked(&[&parity]);
    let (level, _, text, _) = found(&report, Check::Shown);
    assert_eq!(level, Level::Problem);
    assert_eq!(text, "repeating the 2 answers in the prompt passes 5 of 5 tests");
}

#[test]
fn public_tests_that_give_the_others_away_are_found_with_a_number_that_a_file_may_have() {
    // As many stay public as the prompt shows, at least.
    for (more, fewer) in [(r#","shown":0,"public":5"#, 2), (r#","shown":3,"public":5"#, 3)] {
        let all = task("all", "def f(x):\n    return x * x", more);
        let (level, _, text, remedy) = found(&in_turns(2, Feedback::Shown, &[&all]), Check::Shown);
        assert_eq!(level, Level::Problem);
        let expected = "all 5 tests are public: no hidden one finds a program that copies what later turns are told";
        assert_eq!(text, expected);
        // Where nothing is told of them, there is nothing to copy.
        for (turns, feedback) in [(1, Feedback::Shown), (2, Feedback::Verdict)] {
            let report = in_turns(turns, feedback, &[&all]);
            assert_eq!(found(&report, Check::Shown), (Level::Warning, 1, expected.to_owned(), remedy.clone()));
            assert_eq!(report.tasks.unwrap().to_mend, 0);
        }
        assert!(remedy.ends_with(&format!("\"public\": {fewer}")), "{remedy}");
    }
    let parity = task("parity", "def f(x):\n    return x if x == 1 else 0", r#","shown":0,"public":2"#);
    let (level, _, text, remedy) = found(&in_turns(2, Feedback::Shown, &[&parity]), Check::Shown);
    assert_eq!(level, Level::Problem);
    assert_eq!(text, "repeating the 2 answers of public tests passes 5 of 5 tests");
    assert_eq!(remedy, "add tests with answers that no public test has");
    assert_eq!(in_turns(1, Feedback::Shown, &[&parity]).finding(Check::Shown).unwrap().level, Level::Ok);
}

#[test]
fn a_test_that_is_asked_twice_is_found() {
    let asked = |second: &str| {
        format!(
            r#"{{"id":"two","prompt":"Do.","entry_point":"f","tests":[{{"args":"(1,)","expected":"2"}},{{"args":"(2,)","expected":"4"}},{{"args":"(1,)","expected":"{second}"}},{{"args":"(3,)","expected":"6"}},{{"args":"(4,)","expected":"8"}}],"reference":"def f(x):\n    return 2 * x"}}"#
        )
    };
    let (level, _, text, _) = only(&checked(&[&asked("2")]), Check::Tests);
    assert_eq!((level, text.as_str()), (Level::Warning, "tests 1 and 3 ask the same"));
    let (level, _, text, _) = found(&checked(&[&asked("5")]), Check::Tests);
    assert_eq!(level, Level::Problem);
    assert!(text.starts_with("tests 1 and 3 ask the same and expect different answers"), "{text}");
}

#[test]
fn a_honeypot_that_an_honest_program_passes_is_found_and_no_other_check_looks_at_it() {
    let trapped = DOUBLE.replacen('{', r#"{"honeypot":true,"#, 1);
    let (level, line, text, remedy) = only(&checked(&[SUM, &trapped]), Check::Honeypots);
    assert_eq!((level, line), (Level::Problem, 2));
    assert!(text.starts_with("its reference passes a hidden test") && remedy.contains("tasks honeypot"), "{text}");
    // Written as such, it fails every test that its task has, which is no finding.
    let twice = r#"{"id":"twice","prompt":"Double.","entry_point":"double","tests":[{"args":"(1,)","expected":"2"},{"args":"(2,)","expected":"4"},{"args":"(3,)","expected":"6"}],"reference":"def double(x):\n    return 2 * x"}"#;
    let Environment::Tasks(tasks) = written(&[twice]) else { unreachable!() };
    let trapped = honeypot(&tasks.tasks()[0], Seed::root(1)).unwrap();
    let report = checked(&[DOUBLE, SUM, &trapped]);
    assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
    assert_eq!(
        report.finding(Check::Honeypots).unwrap().text,
        "1 honeypot, of which no reference passes a hidden test"
    );
}

#[test]
fn a_reference_that_draws_chance_is_found() {
    let chance = task("chance", "import random\ndef f(x):\n    return random.randrange(10 ** 6)", "");
    let (level, line, text, _) = only(&checked(&[DOUBLE, &chance]), Check::Repeats);
    assert_eq!((level, line), (Level::Problem, 2));
    assert!(text.contains("when `random` is seeded otherwise: f(1) gave "), "{text}");
}

#[test]
fn doing_nothing_that_is_nearly_all_of_a_task_is_found() {
    let (level, _, text, _) = only(&checked(&[&task("echo", "def f(x):\n    return x", "")]), Check::Stubs);
    assert_eq!((level, text.as_str()), (Level::Warning, "returning the first argument earns 1.00"));
}

#[test]
fn a_cheat_that_is_paid_is_found_on_each_of_its_tasks() {
    let (report, _) = planted(&CONFIG, written(&[DOUBLE, SUM]), |trial, judged| {
        if trial.text.contains("class Same(list)") || trial.text.contains("class Output") {
            judged.reward.value = 1.0;
        }
    });
    let paid: Vec<&CheckFinding> = report.of_level(Level::Problem).collect();
    let lines = paid.iter().map(|finding| (finding.check, finding.place.as_ref().map(|place| place.line)));
    assert_eq!(lines.collect::<Vec<_>>(), [(Check::Cheats, Some(1)), (Check::Cheats, Some(2))]);
    let said = "a list that equals everything earns 1.00, doing nothing 0.00, as in 1 of 38 attempts";
    assert_eq!((paid[0].text.as_str(), report.tasks.unwrap().to_mend), (said, 2));
}

#[test]
fn a_constant_and_a_reference_that_are_paid_wrongly_are_found() {
    let (report, _) = planted(&CONFIG, written(&[DOUBLE]), |_, judged| judged.reward.value = 0.5);
    assert!(found(&report, Check::References).2.contains("passes all tests and earns 0.500"));
    let (level, _, text, remedy) = found(&report, Check::Constants);
    assert_eq!((level, remedy.as_str()), (Level::Problem, ""), "a bug of ours");
    assert!(text.contains("earns 0.50 on 1 task"), "{text}");
    let (report, _) = planted(&CONFIG, written(&[DOUBLE]), |_, judged| judged.reward.value = f32::NAN);
    for check in [Check::References, Check::Constants, Check::Cheats] {
        assert_eq!(found(&report, check).0, Level::Problem);
    }
}

#[test]
fn references_run_on_all_tasks_and_cheats_on_the_first() {
    let lines: Vec<String> = (0..100).map(|id| DOUBLE.replace("\"double\",\"p", &format!("\"{id}\",\"p"))).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (report, trials) = planted(&CONFIG, written(&lines), |_, _| ());
    assert_eq!(report.level(), Level::Ok, "{:#?}", report.findings);
    assert_eq!(trials.iter().filter(|trial| trial.text.contains("2 * x")).count(), 100);
    assert_eq!(trials.iter().filter(|trial| trial.text.contains("os._exit")).count(), SAMPLE);
    assert_eq!(trials.iter().filter(|trial| trial.text.contains("while True")).count(), 1);
}

#[test]
fn prompts_that_do_not_fit_are_named() {
    let Environment::Tasks(tasks) = written(&[DOUBLE, SUM]) else { unreachable!() };
    let room = Room { context: 5001, completion: 4901 };
    assert_eq!(long_prompts(&tasks, &[100, 100], room), []);
    let [long] = long_prompts(&tasks, &[100, 5000], room).try_into().unwrap();
    assert_eq!((long.level, long.place.unwrap().line), (Level::Problem, 2));
    let context = "the model's context is 5001 tokens, of which a completion takes up to 4901";
    assert_eq!(long.text, format!("a prompt of 5000 tokens; {context}"));
    assert!(long.remedy.unwrap().ends_with("or lower rollout.max_completion_length"));
    // No completion has room beside these.
    for longer in long_prompts(&tasks, &[5001, 7000], room) {
        assert!(longer.remedy.unwrap().ends_with("or take a model with a longer context"));
    }
}
