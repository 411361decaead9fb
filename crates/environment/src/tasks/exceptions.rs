//! Exceptions that a test may expect, by the names of their types.

/// Built-in exceptions under others that a test may expect, each with the one above it. What is not here is under
/// `Exception` alone.
const ABOVE: [(&str, &str); 24] = [
    ("BlockingIOError", "OSError"),
    ("ConnectionError", "OSError"),
    ("FileExistsError", "OSError"),
    ("FileNotFoundError", "OSError"),
    ("FloatingPointError", "ArithmeticError"),
    ("IndentationError", "SyntaxError"),
    ("IndexError", "LookupError"),
    ("IsADirectoryError", "OSError"),
    ("JSONDecodeError", "ValueError"),
    ("KeyError", "LookupError"),
    ("ModuleNotFoundError", "ImportError"),
    ("NotADirectoryError", "OSError"),
    ("NotImplementedError", "RuntimeError"),
    ("OverflowError", "ArithmeticError"),
    ("PermissionError", "OSError"),
    ("PythonFinalizationError", "RuntimeError"),
    ("StatisticsError", "ValueError"),
    ("TabError", "IndentationError"),
    ("TimeoutError", "OSError"),
    ("UnboundLocalError", "NameError"),
    ("UnicodeDecodeError", "UnicodeError"),
    ("UnicodeEncodeError", "UnicodeError"),
    ("UnicodeError", "ValueError"),
    ("ZeroDivisionError", "ArithmeticError"),
];
/// What the sandbox calls its limits and traps, and exceptions that end a program: none is an answer.
const NO_ANSWER: [&str; 8] = [
    "RecursionError",
    "MemoryError",
    "Trap",
    "Spent",
    "BaseException",
    "SystemExit",
    "KeyboardInterrupt",
    "GeneratorExit",
];

/// Whether a test may expect an exception of this name.
pub(super) fn is_expectable(name: &str) -> bool {
    super::source::is_identifier(name) && !NO_ANSWER.contains(&name)
}

/// Whether an exception of the type `raised` is one of the type `expected`, which may be above it.
pub(super) fn is_a(raised: &str, expected: &str) -> bool {
    let above = |name: &str| ABOVE.iter().find(|(below, _)| *below == name).map(|(_, above)| *above);
    let mut line = std::iter::successors(Some(raised), |name| above(name));
    !NO_ANSWER.contains(&raised) && (expected == "Exception" || line.any(|name| name == expected))
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
            ("Mine", "Exception"),
        ] {
            assert!(is_a(raised, expected), "{raised} is a {expected}");
        }
        for (raised, expected) in
            [("LookupError", "KeyError"), ("KeyError", "ValueError"), ("SystemExit", "Exception"), ("Trap", "Trap")]
        {
            assert!(!is_a(raised, expected), "{raised} is no {expected}");
        }
        assert!(["RecursionError", "Trap", "not a name", ""].iter().all(|name| !is_expectable(name)));
    }
}
