//! EvalPlus. Its rows are JSON, which has no tuples; of MBPP+ its own program makes them again by the numbers of the tasks, and so
//! does this one (evalplus/data/mbpp.py, `mbpp_deserialize_inputs`, 0.3.1).

use super::draft::{Draft, Row};
use super::formats::completion_of;
use super::opening;
use crate::tasks::source;
use crate::value::Value;

/// What an argument was before it was JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    AsItIs,
    Tuple,
    /// A list whose lists are tuples.
    ListOfTuples,
    /// A tuple whose lists are tuples.
    TupleOfTuples,
    /// A dict whose values are tuples.
    DictOfTuples,
    /// Lists at any depth are tuples.
    Tuples,
}

use Shape::{AsItIs, DictOfTuples, ListOfTuples, Tuple, TupleOfTuples, Tuples};

/// Tasks of MBPP+, with the shapes of their first argument and of the others.
const SHAPES: [(&[u32], [Shape; 2]); 9] = [
    (
        &[2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630, 726, 740, 744, 809],
        [Tuple, Tuple],
    ),
    (&[63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780], [ListOfTuples, ListOfTuples]),
    (&[75, 413, 444, 753], [ListOfTuples, AsItIs]),
    (&[106, 750], [AsItIs, Tuple]),
    (&[250, 307, 405, 446, 617, 720, 763, 808], [Tuple, AsItIs]),
    (&[259, 401, 445], [TupleOfTuples, TupleOfTuples]),
    (&[278], [TupleOfTuples, AsItIs]),
    (&[722], [DictOfTuples, AsItIs]),
    (&[580, 615, 791], [Tuples, Tuples]),
];
/// Tasks whose inputs are complex numbers, or sets and dicts by their length.
const OTHERS: [u32; 3] = [115, 124, 252];

/// Functions of MBPP+ whose answers EvalPlus compares by rules of their own (evalplus/eval/_special_oracle.py, 0.3.1): as sets,
/// whether there is a match at all, or with a second right answer.
const OWN_RULES: &[&str] = &[
    "similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly", "larg_nnum",
    "intersection_array", "find_dissimilar", "Diff", "check_str", "text_match_three", "text_starta_endb",
    "are_equivalent", "sum_div", "surface_Area", "digit_distance_nums",
];

/// How near a float has to be where a row's `atol` is 0 (evalplus/eval/__init__.py, `unsafe_execute`, 0.3.1).
const OF_FLOATS: f64 = 1e-6;

/// The task of a row: a function, and inputs that the canonical solution answers.
pub(super) fn draft(row: &Row) -> Result<Draft, String> {
    let name = row.need("entry_point")?;
    let prompt = row.need("prompt")?;
    let reference = format!("{prompt}{}", row.need("canonical_solution")?);
    source::signature_of(&reference, name).map_err(|why| format!("canonical solution: {why}"))?;
    if name == "find_zero" {
        return Err("any root is right, which needs a checker; HumanEval's own row converts to one".into());
    }
    if OWN_RULES.contains(&name) {
        return Err("EvalPlus compares its answers by a rule of their own".into());
    }
    let shapes = row.text("task_id").map_or(Ok(None), shapes)?;
    let mut inputs = Vec::new();
    for key in ["base_input", "plus_input"] {
        match row.get(key).map(|_| row.json(key)).transpose()? {
            Some(Value::List(items)) => inputs.extend(items.iter().map(|input| restored(input, shapes).to_string())),
            None => {}
            // So has MBPP+ v0.2.0 a task without more inputs.
            Some(Value::Dict(none)) if none.pairs().is_empty() => {}
            Some(other) => return Err(format!("a {} in `{key}`", other.kind())),
        }
    }
    let tolerance = match row.get("atol") {
        Some(Value::Float(float)) if *float > 0.0 => *float,
        _ => OF_FLOATS,
    };
    Ok(Draft {
        prompt: completion_of(prompt),
        entry_point: Some(name.to_owned()),
        opening: opening::of_code(prompt, name),
        inputs,
        reference: Some(opening::without_words_before(&reference).to_owned()),
        tolerance,
        shows_none: true,
        ..Draft::default()
    })
}

/// The shapes of a task's arguments, if they are other than JSON has them.
fn shapes(id: &str) -> Result<Option<[Shape; 2]>, String> {
    let Some(number) = id.strip_prefix("Mbpp/").and_then(|number| number.parse().ok()) else { return Ok(None) };
    match OTHERS.contains(&number) {
        true => Err("inputs that are complex numbers or sets, which its JSON has not".into()),
        false => Ok(SHAPES.iter().find(|(numbers, _)| numbers.contains(&number)).map(|(_, shapes)| *shapes)),
    }
}

/// The arguments of one call as they were.
fn restored(arguments: &Value, shapes: Option<[Shape; 2]>) -> Value {
    match (arguments, shapes) {
        (Value::List(arguments), Some([first, others])) => {
            let shaped =
                arguments.iter().enumerate().map(|(at, one)| shaped(one, if at == 0 { first } else { others }));
            Value::List(shaped.collect())
        }
        _ => arguments.clone(),
    }
}

fn shaped(value: &Value, shape: Shape) -> Value {
    let each = |items: &[Value], shape| items.iter().map(|item| shaped(item, shape)).collect();
    match (value, shape) {
        (Value::List(items), Tuple) => Value::Tuple(items.clone()),
        (Value::List(items), ListOfTuples) => Value::List(each(items, Tuple)),
        (Value::List(items), TupleOfTuples) => Value::Tuple(each(items, Tuple)),
        (Value::List(items), Tuples) => Value::Tuple(each(items, Tuples)),
        (Value::Dict(dict), DictOfTuples) => {
            let pairs = dict.pairs().iter().map(|(key, value)| (key.clone(), shaped(value, Tuple)));
            Value::dict(pairs.collect()).expect("the keys are those of a dict")
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_has_as_lists_is_what_it_was() {
        let restored = |id: &str, arguments: &str| {
            let arguments = Value::from_plain_json(arguments).unwrap();
            restored(&arguments, shapes(&format!("Mbpp/{id}")).unwrap()).to_string()
        };
        for (id, json, expected) in [
            ("2", "[[3, 4], [5]]", "[(3, 4), (5,)]"),
            ("3", "[[3, 4]]", "[[3, 4]]"),
            ("63", "[[[3, 5], [1, 7]]]", "[[(3, 5), (1, 7)]]"),
            ("75", "[[[6, 24]], 6]", "[[(6, 24)], 6]"),
            ("106", "[[5, 6], [9, 10]]", "[[5, 6], (9, 10)]"),
            ("250", "[[10, 8], 4]", "[(10, 8), 4]"),
            ("259", "[[[1, 3], [4, 5]], [[6, 7], [3, 9]]]", "[((1, 3), (4, 5)), ((6, 7), (3, 9))]"),
            ("278", "[[1, 5, [1, 2], 3]]", "[(1, 5, (1, 2), 3)]"),
            ("307", "[[\"HELLO\", 5, []], 2, 50]", "[('HELLO', 5, []), 2, 50]"),
            ("722", r#"[{"Ann": [6.2, 70]}, 6.0, 70]"#, "[{'Ann': (6.2, 70)}, 6.0, 70]"),
            ("580", "[[4, [7, [2]]]]", "[(4, (7, (2,)))]"),
        ] {
            assert_eq!(restored(id, json), expected, "{id}");
        }
        assert!(shapes("Mbpp/252").unwrap_err().contains("complex numbers"));
        assert_eq!(shapes("HumanEval/2"), Ok(None));
    }
}
