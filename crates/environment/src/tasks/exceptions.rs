//! Exceptions that a test may expect, by the names of their types: no more of an exception leaves the sandbox.

use std::collections::{BTreeMap, BTreeSet};

use crate::program;

/// Exceptions of Python and its library that are under others, after the one above them. What is not here is under
/// `Exception` alone.
const BELOW: [(&str, &str); 46] = [
    ("ArithmeticError", "DecimalException FloatingPointError OverflowError ZeroDivisionError"),
    ("AttributeError", "FrozenInstanceError"),
    ("BadOptionError", "AmbiguousOptionError"),
    ("BaseException", "BaseExceptionGroup GeneratorExit KeyboardInterrupt SystemExit"),
    ("BaseExceptionGroup", "ExceptionGroup"),
    ("ConnectionError", "BrokenPipeError ConnectionAbortedError ConnectionRefusedError ConnectionResetError"),
    ("DecimalException", "Clamped DivisionByZero FloatOperation Inexact InvalidOperation Rounded Subnormal"),
    ("EOFError", "IncompleteReadError"),
    // That of configparser.
    (
        "Error",
        "DuplicateOptionError DuplicateSectionError InterpolationError NoOptionError NoSectionError ParsingError",
    ),
    ("Exception", "ExceptionGroup"),
    ("ImportError", "ModuleNotFoundError ZipImportError"),
    ("IndentationError", "TabError"),
    ("IndexError", "AxisError IllegalMonthError"),
    ("Inexact", "Overflow Underflow"),
    ("InterpolationError", "InterpolationDepthError InterpolationMissingOptionError InterpolationSyntaxError"),
    ("InvalidOperation", "ConversionSyntax DivisionImpossible DivisionUndefined InvalidContext"),
    ("KeyError", "ZoneInfoNotFoundError"),
    ("LookupError", "IndexError KeyError"),
    ("MessageError", "CharsetError HeaderWriteError MessageParseError MultipartConversionError"),
    ("MessageParseError", "BoundaryError HeaderParseError"),
    ("ModuleNotFoundError", "PackageNotFoundError"),
    ("NameError", "UnboundLocalError"),
    (
        "OSError",
        "BadGzipFile BlockingIOError ChildProcessError ConnectionError FileExistsError FileNotFoundError \
         InterruptedError IsADirectoryError NotADirectoryError PermissionError ProcessLookupError TimeoutError URLError \
         UnsupportedOperation gaierror herror",
    ),
    ("OptParseError", "BadOptionError OptionError OptionValueError"),
    ("OptionError", "OptionConflictError"),
    ("ParsingError", "MissingSectionHeaderError MultilineContinuationError"),
    ("PickleError", "PicklingError UnpicklingError"),
    ("Rounded", "Overflow Underflow"),
    ("RuntimeError", "BrokenBarrierError BrokenExecutor NotImplementedError PythonFinalizationError RecursionError"),
    ("RuntimeWarning", "InvalidTZPathWarning"),
    ("SAXException", "SAXNotRecognizedException SAXNotSupportedException SAXParseException"),
    ("SubprocessError", "CalledProcessError TimeoutExpired"),
    ("Subnormal", "Underflow"),
    ("SyntaxError", "IndentationError ParseError"),
    ("TarError", "CompressionError ExtractError FilterError HeaderError StreamError"),
    ("TypeError", "FloatOperation"),
    ("URLError", "ContentTooShortError HTTPError"),
    ("UnicodeError", "UnicodeDecodeError UnicodeEncodeError UnicodeTranslateError"),
    (
        "ValueError",
        "AddressValueError AxisError CycleError IllegalMonthError IllegalWeekdayError InvalidFileException \
         JSONDecodeError LinAlgError NetmaskValueError StatisticsError TOMLDecodeError UnicodeError \
         UnsupportedDigestmodError UnsupportedOperation",
    ),
    (
        "Warning",
        "BytesWarning DeprecationWarning EncodingWarning FutureWarning ImportWarning PendingDeprecationWarning \
         ResourceWarning RuntimeWarning SyntaxWarning UnicodeWarning UserWarning",
    ),
    ("ZeroDivisionError", "DivisionByZero DivisionUndefined"),
    // Other names of the same type.
    ("EnvironmentError", "OSError"),
    ("IOError", "OSError"),
    ("OSError", "EnvironmentError IOError"),
    ("PatternError", "error"),
    ("error", "PatternError"),
];
/// Built-in exceptions right under `Exception` that have none below them.
const RIGHT_BELOW: [&str; 6] =
    ["AssertionError", "BufferError", "ReferenceError", "StopAsyncIteration", "StopIteration", "SystemError"];
/// What the sandbox calls its limits and traps, and exceptions that end a program: none is an answer.
const NO_ANSWER: [&str; 8] = [
    "RecursionError", "MemoryError", "Trap", "Spent", "BaseException", "SystemExit", "KeyboardInterrupt",
    "GeneratorExit",
];
/// Those of them that are not under `Exception`.
const NO_EXCEPTION: [&str; 4] = ["BaseException", "SystemExit", "KeyboardInterrupt", "GeneratorExit"];
/// Most types above one that are looked at, right above it and in all: a program may have many classes, and a class many bases.
const LINE_MAX: usize = 100;

/// Whether a test may expect an exception of this name.
pub(super) fn is_expectable(name: &str) -> bool {
    super::source::is_identifier(name) && !NO_ANSWER.contains(&name)
}

/// Python's or its library's exception that a name misspells by capitals alone: a program may define any other.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let below = BELOW.iter().flat_map(|(above, below)| below.split(' ').chain([*above]));
    let known = || below.clone().chain(RIGHT_BELOW).filter(|known| is_expectable(known));
    known().all(|known| known != name).then(|| known().find(|known| known.eq_ignore_ascii_case(name)))?
}

/// Whether a text is the name of an exception, by the custom of naming them.
pub(super) fn is_exception(text: &str) -> bool {
    super::source::is_identifier(text) && (text.ends_with("Error") || text.ends_with("Exception"))
}

/// Whether an exception of the type `raised` is one of the type `expected`, which may be above it.
pub(super) fn is_a(raised: &str, expected: &str) -> bool {
    ExceptionTypes::default().is_a(raised, expected)
}

/// What each type of exception is under: Python's own and those of its library, and the classes of a program.
#[derive(Debug, Clone, Default)]
pub struct ExceptionTypes {
    /// By name, the names of what a class of the program is under.
    bases: BTreeMap<String, Vec<String>>,
}

impl ExceptionTypes {
    /// That of a program, of which the source is all that was loaded.
    pub fn of(source: &str) -> ExceptionTypes {
        let mut bases = program::bases(source);
        bases.values_mut().for_each(|of| of.truncate(LINE_MAX));
        // Several modules have an `Error`; the one for base64 is a ValueError, and the others are under Exception alone.
        if ["base64", "binascii"].iter().any(|module| source.contains(module)) {
            bases.entry("Error".into()).or_insert_with(|| vec!["ValueError".into()]);
        }
        ExceptionTypes { bases }
    }

    /// The name of a type, then those above it, the nearest first.
    pub fn line(&self, kind: &str) -> Vec<String> {
        let (mut line, mut seen) = (vec![kind], BTreeSet::from([kind]));
        let mut at = 0;
        while at < line.len() && line.len() < LINE_MAX {
            let above: Vec<&str> = match self.bases.get(line[at]) {
                Some(bases) => bases.iter().map(String::as_str).collect(),
                None => above(line[at]).collect(),
            };
            let room = LINE_MAX - line.len();
            line.extend(above.into_iter().filter(|one| seen.insert(*one)).take(room));
            at += 1;
        }
        line.into_iter().map(str::to_owned).collect()
    }

    /// Whether an exception of the type `raised` is one of the type `expected`.
    pub fn is_a(&self, raised: &str, expected: &str) -> bool {
        if NO_ANSWER.contains(&raised) {
            return false;
        }
        let line = self.line(raised);
        let has = |name: &str| line.iter().any(|one| one == name);
        has(expected) || expected == "Exception" && !NO_EXCEPTION.iter().any(|name| has(name))
    }
}

/// The types right above one of Python's or its library's.
fn above(name: &str) -> impl Iterator<Item = &'static str> {
    BELOW.iter().filter(move |(_, below)| below.split(' ').any(|one| one == name)).map(|(above, _)| *above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_one_of_each_type_above_it_and_no_limit_is_an_answer() {
        for (raised, expected) in [
            ("KeyError", "KeyError"),
            ("KeyError", "LookupError"),
            ("UnicodeDecodeError", "ValueError"),
            ("JSONDecodeError", "ValueError"),
            ("DivisionByZero", "ZeroDivisionError"),
            ("InvalidOperation", "ArithmeticError"),
            ("ConnectionResetError", "OSError"),
            ("FileNotFoundError", "IOError"),
            ("OSError", "EnvironmentError"),
            ("UnsupportedOperation", "ValueError"),
            ("ZoneInfoNotFoundError", "LookupError"),
            ("ExceptionGroup", "Exception"),
            ("PatternError", "error"),
            ("Mine", "Exception"),
            ("NoSectionError", "Error"),
            ("MultilineContinuationError", "ParsingError"),
            ("SAXParseException", "SAXException"),
            ("OptionConflictError", "OptParseError"),
            ("ReadError", "Exception"),
        ] {
            assert!(is_a(raised, expected), "{raised} is a {expected}");
        }
        for (raised, expected) in [
            ("LookupError", "KeyError"),
            ("KeyError", "ValueError"),
            ("Error", "ValueError"),
            ("SystemExit", "Exception"),
            ("Trap", "Trap"),
        ] {
            assert!(!is_a(raised, expected), "{raised} is no {expected}");
        }
        assert_eq!(["typeerror", "stopiteration"].map(meant), [Some("TypeError"), Some("StopIteration")]);
        assert_eq!(["TypeError", "Error", "error", "ParserError", "Trap"].map(meant), [None; 5]);
        assert!(["RecursionError", "Trap", "not a name", ""].iter().all(|name| !is_expectable(name)));
    }

    #[test]
    fn a_class_of_a_program_is_what_its_bases_are() {
        let lineage = ExceptionTypes::of(
            "import json\nfrom decimal import InvalidOperation as Invalid\nclass NegativeAge(ValueError): pass\n\
             class Older(NegativeAge, Mixin[int], metaclass=M): pass\nBase = json.JSONDecodeError\n\
             def f(x):\n    if x:\n        class Within(Base): pass\n        raise Within\n    class Digits(Invalid): pass\n\
             class KeyError(TypeError): pass\nclass Exit(SystemExit): pass\nclass Trap(ValueError): pass\n\
             class Round(Trip): pass\nclass Trip(Round): pass\nMade = type('Made', (ValueError,), {})\n",
        );
        for (raised, expected) in [
            ("NegativeAge", "ValueError"),
            ("Older", "ValueError"),
            ("Older", "NegativeAge"),
            ("Within", "ValueError"),
            ("Digits", "ArithmeticError"),
            ("KeyError", "TypeError"),
            ("Round", "Exception"),
            ("Made", "Exception"),
        ] {
            assert!(lineage.is_a(raised, expected), "{raised} is a {expected}");
        }
        for (raised, expected) in [
            ("NegativeAge", "TypeError"),
            ("KeyError", "LookupError"),
            ("Exit", "Exception"),
            ("Trap", "ValueError"),
            ("Round", "ValueError"),
            // What no statement says, nobody has computed.
            ("Made", "ValueError"),
        ] {
            assert!(!lineage.is_a(raised, expected), "{raised} is no {expected}");
        }
        assert!(ExceptionTypes::of("import base64\n").is_a("Error", "ValueError"));
        let many: String = (0..2000).map(|n| format!("class C{n}(C{}): pass\n", n + 1)).collect();
        assert!(!ExceptionTypes::of(&many).is_a("C0", "C1999"));
        let wide = (0..2000).map(|n| format!("A{n}")).collect::<Vec<_>>().join(", ");
        let wide = ExceptionTypes::of(&format!("class E({wide}): pass\nclass A0(ValueError): pass\n"));
        assert_eq!(wide.line("E").len(), LINE_MAX);
        assert!(wide.is_a("E", "A9") && !wide.is_a("E", "A1999"));
        let deep = format!("x = {}1\n", "-".repeat(60_000));
        assert!(std::thread::spawn(move || ExceptionTypes::of(&deep).is_a("E", "Exception")).join().unwrap());
    }
}
