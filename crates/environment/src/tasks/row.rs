//! Parses one line of a file of tasks. Every key must be known and every value valid, or the line is refused.

mod test;

use std::sync::OnceLock;

use super::error::RowFault;
use super::task::SHOWN;
use super::{Function, Kind, SECONDS_MAX, Split, TESTS_MAX, Task, Test, replay, source};
use crate::config::nearest;
use crate::value::{Dict, Equality, Value};
use grpo_base::plural::cut;

const KEYS: &str = "id prompt entry_point tests inputs reference checker apart literal opening shown public tolerance \
                    tuples_are_lists array_types split group seconds honeypot modules prelude";
/// Characters of the longest id, which is a label in tables and logs.
const ID_MAX: usize = 100;
/// Characters of a value that are shown in a message.
const SHOWN_CHARACTERS: usize = 40;

/// Whether a row has what every task has, and no key that no task has. Its values may be wrong all the same.
pub(super) fn is_of_task(row: &Dict) -> bool {
    let is_key = |key: &Value| matches!(key, Value::Str(key) if KEYS.split_whitespace().any(|known| known == key));
    ["id", "prompt"].iter().all(|key| row.get(key).is_some()) && row.pairs().iter().all(|(key, _)| is_key(key))
}

/// The task of a line, or all its errors.
pub(super) fn task(value: &Value) -> Result<Task, Vec<RowFault>> {
    let Value::Dict(dict) = value else {
        return Err(vec![RowFault(format!("found {}; expected a JSON object", named(value)))]);
    };
    let mut row = Row { dict, fewest: None, faults: Vec::new() };
    row.know(dict, &KEYS.split_whitespace().collect::<Vec<_>>(), "");
    let id = row.id();
    let prompt = row.prompt();
    let reference = row.text("reference");
    let kind = row.kind(reference.as_deref());
    let shown = row.shown();
    let mut task = Task {
        id,
        line: 0,
        split: row.split(),
        is_honeypot: row.honeypot(),
        group: row.text("group").filter(|group| !group.is_empty()),
        prompt,
        kind,
        opening: row.text("opening").filter(|opening| !opening.is_empty()),
        prelude: row.text("prelude").filter(|prelude| !prelude.is_empty()),
        tests: Vec::new(),
        shown,
        public: row.public(shown),
        equality: row.equality(),
        array_types: row.truth("array_types"),
        numpy: row.numpy(),
        seconds: row.number("seconds", "a number above 0, at most 60", |s| s > 0.0 && s <= SECONDS_MAX),
        reference,
        constant: OnceLock::new(),
    };
    if task.array_types && task.kind == Kind::Script {
        row.fault("array_types", "without an `entry_point`; what a whole program prints has no type");
    }
    row.compiles("prelude", task.prelude.as_deref());
    row.tests(&mut task);
    if row.faults.is_empty() { Ok(task) } else { Err(row.faults) }
}

struct Row<'a> {
    dict: &'a Dict,
    /// Fewest arguments of a test.
    fewest: Option<usize>,
    faults: Vec<RowFault>,
}

impl Row<'_> {
    fn fault(&mut self, field: &str, message: impl std::fmt::Display) {
        self.faults.push(RowFault::at(field, message));
    }

    /// Refuses keys of `dict` that are not among `known`.
    fn know(&mut self, dict: &Dict, known: &[&str], place: &str) {
        for (key, _) in dict.pairs() {
            let Value::Str(key) = key else { continue };
            if !known.contains(&key.as_str()) {
                let meant = match nearest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are: {}", known.join(", ")),
                };
                self.faults.push(RowFault(format!("{place}unknown key `{key}`; {meant}")));
            }
        }
    }

    /// The value of a key; null counts as missing.
    fn get(&self, key: &str) -> Option<&Value> {
        self.dict.get(key).filter(|value| !matches!(value, Value::None))
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.get(key)? {
            Value::Str(text) => Some(text.clone()),
            other => {
                let found = named(other);
                self.fault(key, format!("found {found}; expected text"));
                None
            }
        }
    }

    fn compiles(&mut self, key: &str, python: Option<&str>) {
        if let Some(Err(message)) = python.map(source::check) {
            self.fault(key, message);
        }
    }

    fn number(&mut self, key: &str, expected: &str, allowed: impl Fn(f64) -> bool) -> Option<f64> {
        let value = self.get(key)?;
        let number = value.real().filter(|&number| allowed(number));
        if number.is_none() {
            let found = named(value);
            self.fault(key, format!("found {found}; expected {expected}"));
        }
        number
    }

    fn id(&mut self) -> String {
        let id = match self.get("id") {
            Some(Value::Int(int)) => int.to_string(),
            None => {
                self.fault("id", "missing; expected a name that no other task has");
                return String::new();
            }
            Some(_) => match self.text("id") {
                Some(id) => id,
                None => return String::new(),
            },
        };
        if id.is_empty() || id.chars().count() > ID_MAX || id.chars().any(char::is_control) {
            self.fault("id", format!("found {id:?}; expected 1 to {ID_MAX} characters on one line"));
        }
        id
    }

    fn prompt(&mut self) -> String {
        match self.get("prompt") {
            None => self.fault("prompt", "missing; expected words that say what the program should do"),
            Some(Value::Str(words)) if words.trim().is_empty() => self.fault("prompt", "empty"),
            _ => return self.text("prompt").unwrap_or_default(),
        }
        String::new()
    }

    fn split(&mut self) -> Split {
        let Some(name) = self.text("split") else { return Split::Train };
        match [Split::Train, Split::HeldOut].into_iter().find(|split| split.name() == name) {
            Some(split) => split,
            None => {
                self.fault("split", format!("found `{name}`; expected `train` or `held_out`"));
                Split::Train
            }
        }
    }

    fn shown(&mut self) -> usize {
        self.count_of_tests("shown", 0, "0").unwrap_or(SHOWN)
    }

    fn public(&mut self, shown: usize) -> usize {
        self.count_of_tests("public", shown, &format!("`shown`, which is {shown},")).unwrap_or(shown)
    }

    /// A number of tests that is at least `fewest`, which messages name as `least`.
    fn count_of_tests(&mut self, key: &str, fewest: usize, least: &str) -> Option<usize> {
        let expected = format!("a whole number from {least} to {TESTS_MAX}");
        let whole = |number: f64| (fewest as f64..=TESTS_MAX as f64).contains(&number) && number.fract() == 0.0;
        self.number(key, &expected, whole).map(|number| number as usize)
    }

    fn equality(&mut self) -> Equality {
        let tolerance = self.number("tolerance", "a number from 0 to below 1", |number| (0.0..1.0).contains(&number));
        Equality { tolerance: tolerance.unwrap_or(0.0), tuples_are_lists: self.truth("tuples_are_lists") }
    }

    fn honeypot(&mut self) -> bool {
        let is_honeypot = self.truth("honeypot");
        if is_honeypot && self.get("split").is_some() {
            self.fault("split", "a honeypot is for training alone");
        }
        is_honeypot
    }

    /// Whether a key is true; missing, it is false.
    fn truth(&mut self, key: &str) -> bool {
        match self.get(key) {
            Some(Value::Bool(truth)) => *truth,
            None => false,
            Some(other) => {
                let found = named(other);
                self.fault(key, format!("found {found}; expected true or false"));
                false
            }
        }
    }

    /// Whether `modules` names numpy, the one module that it may name.
    fn numpy(&mut self) -> bool {
        let modules = self.list("modules");
        if let Some(other) = modules.iter().find(|module| !matches!(module, Value::Str(name) if name == "numpy")) {
            let found = named(other);
            self.fault("modules", format!("found {found}; expected `numpy`: what else there is needs no key"));
        }
        !modules.is_empty()
    }

    fn kind(&mut self, reference: Option<&str>) -> Kind {
        let (entry_point, checker, literal) = (self.text("entry_point"), self.text("checker"), self.truth("literal"));
        let apart = self.truth("apart");
        if apart && checker.is_none() {
            self.fault("apart", "without a `checker`; the calls of one are kept apart");
        }
        let Some(entry_point) = entry_point else {
            self.compiles("reference", reference);
            if checker.is_some() {
                self.fault("checker", "without an `entry_point`; a checker calls functions");
            }
            if literal {
                self.fault("literal", "without an `entry_point`; a literal is what a function returns");
            }
            return Kind::Script;
        };
        let names = entry_point.split('.');
        if names.clone().count() > 2 || !names.into_iter().all(source::is_identifier) {
            let expected = "expected the name of a function, such as `add`, or `Class.method`";
            self.fault("entry_point", format!("found `{entry_point}`; {expected}"));
            let (signature, parameters, replayed) = (None, Vec::new(), None);
            return Kind::Function(Function { entry_point, signature, parameters, checker, apart, literal, replayed });
        }
        if literal && entry_point.contains('.') {
            let expected = "expected the name of a function, which returns the literal";
            self.fault("literal", format!("found `{entry_point}`; {expected}"));
        }
        let (mut signature, mut parameters) = (None, Vec::new());
        match reference.map(|reference| source::signature_of(reference, &entry_point)) {
            Some(Err(message)) => self.fault("reference", message),
            Some(Ok(Some(found))) => (signature, parameters) = (Some(found.text), found.names),
            Some(Ok(None)) | None => {}
        }
        match checker.as_deref().map(|checker| (source::signature_of(checker, "check"), checker.contains("yield"))) {
            Some((Err(message), _)) => self.fault("checker", message),
            Some((Ok(_), false)) => self.fault("checker", "`check` yields nothing; expected a generator of calls"),
            _ => {}
        }
        let replayed = checker.as_deref().and_then(replay::replayed);
        Kind::Function(Function { entry_point, signature, parameters, checker, apart, literal, replayed })
    }

    /// Reads `tests` and `inputs`.
    fn tests(&mut self, task: &mut Task) {
        let mut tests = Vec::new();
        for (place, test) in self.list("tests").iter().enumerate() {
            tests.extend(self.test(&format!("tests[{place}]"), test, &task.kind));
        }
        let inputs = self.list("inputs");
        for (place, input) in inputs.iter().enumerate() {
            let input = self.input(&format!("inputs[{place}]"), Some(input), &task.kind);
            tests.extend(input.map(|input| Test { input, expected: None }));
        }
        if !inputs.is_empty() && task.reference.is_none() {
            self.fault("inputs", "found no `reference` that computes their answers; add one, or write `tests`");
        }
        if tests.len() > TESTS_MAX {
            self.fault("tests", format!("found {}; at most {TESTS_MAX}", tests.len()));
        }
        let (fewest, mut checked) = (self.fewest.unwrap_or(0), false);
        if let Kind::Function(function) = &mut task.kind {
            checked = function.checker.is_some();
            let named = function.parameters.len();
            function
                .parameters
                .extend((named..).map(|place| format!("arg{}", place + 1)).take(fewest.saturating_sub(named)));
            function.parameters.truncate(fewest);
        }
        if tests.is_empty() && !checked && self.faults.is_empty() {
            self.fault("tests", "none; expected `tests`, or `inputs` with a `reference`, or a `checker`");
        }
        task.tests = tests;
    }

    fn list(&mut self, key: &str) -> Vec<Value> {
        match self.get(key) {
            Some(Value::List(items)) => items.clone(),
            None => Vec::new(),
            Some(other) => {
                let found = named(other);
                self.fault(key, format!("found {found}; expected a list"));
                Vec::new()
            }
        }
    }
}

/// Type and beginning of a value, for messages.
fn named(value: &Value) -> String {
    format!("{} {}", value.kind(), cut(&value.to_string(), SHOWN_CHARACTERS))
}
