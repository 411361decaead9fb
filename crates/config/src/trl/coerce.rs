//! Converts values of YAML to the types of settings, as tolerantly as TRL's own parser.

use serde_json::Value;
use toml::Value as Toml;

/// Converts `found` to the type of `slot`.
pub(super) fn as_of(slot: &Toml, found: &Value) -> Result<Toml, String> {
    Ok(match slot {
        Toml::Boolean(_) => truth(found)?.into(),
        // All integer settings are counts.
        Toml::Integer(_) => match whole(number(found)?)? {
            count @ 0.. => count.into(),
            _ => return Err("expected a whole number, 0 or more".into()),
        },
        Toml::Float(_) => number(found)?.into(),
        Toml::Array(_) => match found {
            Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().into(),
            one => vec![text(one)].into(),
        },
        _ => match found {
            Value::String(_) | Value::Number(_) => text(found).into(),
            _ => return Err("expected a word".into()),
        },
    })
}

/// A finite number. Text such as `1e-6`, which YAML 1.1 does not read as a number, is accepted.
pub(super) fn number(found: &Value) -> Result<f64, String> {
    let number = match found {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite()).ok_or_else(|| "expected a number".into())
}

/// A number without a fraction.
pub(super) fn whole(number: f64) -> Result<i64, String> {
    // Above 2^53 not every whole number has a float.
    let fits = number.fract() == 0.0 && number.abs() <= 9e15;
    if fits { Ok(number as i64) } else { Err("expected a whole number".into()) }
}

/// A boolean, in the notations of YAML 1.1 and of argparse.
pub(super) fn truth(found: &Value) -> Result<bool, String> {
    match text(found).to_lowercase().as_str() {
        "true" | "yes" | "on" | "t" | "y" | "1" => Ok(true),
        "false" | "no" | "off" | "f" | "n" | "0" => Ok(false),
        _ => Err("expected true or false".into()),
    }
}

/// The value without quotes.
pub(super) fn text(found: &Value) -> String {
    found.as_str().map_or_else(|| found.to_string(), str::to_owned)
}

/// Whether `found` is equal to the value with the notation `expected`.
pub(super) fn says(found: &Value, expected: &str) -> bool {
    match (found, expected.parse::<f64>()) {
        (_, Ok(expected)) => number(found) == Ok(expected),
        (Value::Array(items), _) if expected == "{}" => items.is_empty(),
        _ if matches!(expected, "true" | "false") => truth(found).is_ok_and(|found| found.to_string() == expected),
        _ => text(found) == expected,
    }
}
