//! One test of a line, or one input whose answer the reference computes.

use super::{Row, named};
use crate::tasks::{Answer, Kind, Test, exceptions};
use crate::value::{ANSWER_DEPTH_MAX, Dict, Value, ValueError};

/// Keys of a test.
const CALL: [&str; 2] = ["args", "expected"];
/// Key of a test that expects an exception, in place of a value.
const RAISES: &str = "raises";
const RUN: [&str; 2] = ["stdin", "stdout"];

impl Row<'_> {
    pub(super) fn test(&mut self, place: &str, test: &Value, kind: &Kind) -> Option<Test> {
        let (keys, others) = if *kind == Kind::Script { (RUN, CALL) } else { (CALL, RUN) };
        let [given, wanted] = keys;
        let Value::Dict(dict) = test else {
            let found = named(test);
            self.fault(place, format!("found {found}; expected an object with `{given}` and `{wanted}`"));
            return None;
        };
        if let Some(other) = others.into_iter().find(|other| said(dict, other).is_some()) {
            let why = match kind {
                Kind::Script => "the task has no `entry_point`, so its tests have `stdin` and `stdout`",
                Kind::Function(_) => "the task has an `entry_point`, so its tests have `args` and `expected`",
            };
            self.fault(place, format!("found `{other}`; {why}"));
            return None;
        }
        let is_null = |key: &&str| matches!(dict.get(key), Some(Value::None));
        let raises = (*kind != Kind::Script || is_null(&RAISES)).then_some(RAISES);
        let known: Vec<&str> = keys.into_iter().chain(raises).chain(others.into_iter().filter(is_null)).collect();
        self.know(dict, &known, &format!("{place}: "));
        // A function may be given and return None; no text is one.
        let of = |key: &str| if *kind == Kind::Script { said(dict, key) } else { dict.get(key) };
        let input = self.input(&format!("{place}.{given}"), of(given), kind);
        let expected = match raises.and_then(|key| said(dict, key)) {
            Some(raised) => self.raised(place, raised, said(dict, wanted)),
            None => self.expected(&format!("{place}.{wanted}"), of(wanted), kind),
        };
        Some(Test { input: input?, expected: Some(expected?) })
    }

    /// Reads an input: text for a script, arguments for a function. Records the smallest number of arguments.
    pub(super) fn input(&mut self, place: &str, value: Option<&Value>, kind: &Kind) -> Option<String> {
        let Some(value) = value else {
            self.fault(place, "missing");
            return None;
        };
        if *kind == Kind::Script {
            return self.printable(place, value, "the text of standard input");
        }
        match self.value(place, value)? {
            Value::List(arguments) | Value::Tuple(arguments) => {
                self.fewest = Some(self.fewest.map_or(arguments.len(), |fewest| fewest.min(arguments.len())));
                Some(Value::List(arguments).to_json())
            }
            other => {
                let expected = match other.to_string().starts_with("{'args': ") {
                    true => "expected what stands behind `args` alone".to_owned(),
                    false => format!("expected all arguments in a tuple, such as `({other},)`, or a JSON array"),
                };
                self.fault(place, format!("found {}; {expected}", named(&other)));
                None
            }
        }
    }

    fn expected(&mut self, place: &str, value: Option<&Value>, kind: &Kind) -> Option<Answer> {
        let Some(value) = value else {
            self.fault(place, "missing; to have a `reference` compute the answers, write `inputs` in place of `tests`");
            return None;
        };
        if *kind == Kind::Script {
            return self.printable(place, value, "the text that is printed").map(Answer::Printed);
        }
        let value = self.value(place, value)?;
        if value.depth() > ANSWER_DEPTH_MAX {
            self.fault(place, ValueError::DeepAnswer { found: value.depth() });
        }
        Some(Answer::Value(value))
    }

    /// What a script is given or prints.
    fn printable(&mut self, place: &str, value: &Value, expected: &str) -> Option<String> {
        if let Value::Str(text) = value {
            return Some(text.clone());
        }
        self.fault(place, format!("found {}; expected {expected}", named(value)));
        None
    }

    /// The exception that a test expects in place of a value.
    fn raised(&mut self, place: &str, raised: &Value, value: Option<&Value>) -> Option<Answer> {
        let place = format!("{place}.{RAISES}");
        match raised {
            _ if value.is_some() => self.fault(&place, "beside `expected`; a call returns or raises"),
            Value::Str(name) if exceptions::is_expectable(name) => {
                match exceptions::meant(name).filter(|_| !self.is_said_elsewhere(name)) {
                    Some(meant) => self.fault(&place, format!("no exception `{name}`; did you mean `{meant}`?")),
                    None => return Some(Answer::Raised(name.clone())),
                }
            }
            other => {
                let dotted = if let Value::Str(name) = other { name.rsplit_once('.') } else { None };
                let expected = match dotted.filter(|(_, last)| exceptions::is_expectable(last)) {
                    Some((_, last)) => format!("expected its last word, `{last}`: types are compared by name"),
                    None => "expected the name of an exception, such as `ValueError`; no limit of the sandbox is one, nor what \
                             ends a program, as SystemExit does"
                        .to_owned(),
                };
                self.fault(&place, format!("found {}; {expected}", named(other)));
            }
        }
        None
    }

    /// Whether programs may know an exception of this name, which may be a class of their own.
    fn is_said_elsewhere(&self, name: &str) -> bool {
        let says = |key: &&str| matches!(self.get(key), Some(Value::Str(text)) if text.contains(name));
        ["prompt", "reference", "prelude", "opening"].iter().any(says)
    }

    /// A value, or the value of a text that contains a Python literal.
    fn value(&mut self, place: &str, value: &Value) -> Option<Value> {
        let Value::Str(text) = value else { return Some(value.clone()) };
        match Value::from_literal(text) {
            Ok(value) => Some(value),
            Err(_) if exceptions::is_exception(text) && place.ends_with(CALL[1]) => {
                let say = format!("for an exception write \"{RAISES}\": \"{text}\" in place of it");
                self.fault(place, format!("`{text}` is no Python literal; {say}"));
                None
            }
            Err(error) => {
                self.fault(place, error);
                None
            }
        }
    }
}

/// What a test has under a key. Null counts as missing: so `datasets` writes what only other tests of a file have.
fn said<'t>(dict: &'t Dict, key: &str) -> Option<&'t Value> {
    dict.get(key).filter(|value| !matches!(value, Value::None))
}
