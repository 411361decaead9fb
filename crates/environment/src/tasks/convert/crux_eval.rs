//! CRUXEval: what a function returns for an input, or an input for which it returns an output. A program is the answer as a
//! literal, so that nothing is left to compute.

use super::draft::{Draft, Row};
use crate::tasks::source;
use crate::value::Value;

/// The function that an answer to a row defines, by what is asked for.
const OUTPUT: &str = "output";
const ARGUMENTS: &str = "arguments";

/// What `f` returns for the row's input.
pub(super) fn outputs(row: &Row) -> Result<Draft, String> {
    let (code, input, output) = parts(*row)?;
    let words = format!(
        "Write a function `{OUTPUT}()` that returns what `f({input})` returns, as a literal: without calls and without operators."
    );
    Ok(Draft { tests: vec![("()".to_owned(), output.to_owned())], ..draft(code, &words, OUTPUT, Some(output)) })
}

/// Arguments for which `f` returns the row's output.
pub(super) fn inputs(row: &Row) -> Result<Draft, String> {
    let (code, input, output) = parts(*row)?;
    let words = format!(
        "Write a function `{ARGUMENTS}()` that returns a list of arguments for which `f` returns `{output}`, as a literal: without \
         calls and without operators."
    );
    let check = format!(
        "def check():\n    arguments = yield (\"{ARGUMENTS}\",)\n    return type(arguments) is list and f(*arguments) == {output}\n"
    );
    // A row's own input may have keywords, which a list has no place for.
    let reference = Value::from_literal(&format!("[{input}]")).ok().map(|value| value.to_string());
    Ok(Draft { checker: Some(format!("{code}\n\n\n{check}")), ..draft(code, &words, ARGUMENTS, reference.as_deref()) })
}

fn parts<'a>(row: Row<'a>) -> Result<(&'a str, &'a str, &'a str), String> {
    let (code, input, output) = (row.need("code")?, row.get("input"), row.need("output")?);
    // A function without parameters has an empty input.
    let input = match input {
        Some(Value::Str(text)) => text.as_str(),
        _ => return Err("no text in `input`".into()),
    };
    source::signature_of(code, "f").map_err(|why| format!("code: {why}"))?;
    Value::from_literal(output).map_err(|error| format!("output: {error}"))?;
    Ok((code, input, output))
}

fn draft(code: &str, words: &str, name: &str, answer: Option<&str>) -> Draft {
    Draft {
        prompt: format!(
            "Here is a function in Python, which may be wrong:\n\n```python\n{}\n```\n\n{words}",
            code.trim_end()
        ),
        entry_point: Some(name.to_owned()),
        reference: answer.map(|answer| format!("def {name}():\n    return {answer}\n")),
        literal: true,
        shows_none: true,
        ..Draft::default()
    }
}
