//! When two outputs are the same, as the graders of programming contests have it.

/// Whether a script printed what is expected: as many lines, and each the same text or the same numbers. Space around
/// lines and around all of them does not count. The rule of LiveCodeBench; the tolerance is that of values.
pub(super) fn same(printed: &str, expected: &str, tolerance: f64) -> bool {
    let (mut printed, mut expected) = (printed.trim().split('\n'), expected.trim().split('\n'));
    loop {
        match (printed.next(), expected.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a.trim() == b.trim() || same_numbers(a, b, tolerance) => {}
            _ => return false,
        }
    }
}

fn same_numbers(printed: &str, expected: &str, tolerance: f64) -> bool {
    let (mut printed, mut expected) = (printed.split_whitespace(), expected.split_whitespace());
    loop {
        match (printed.next(), expected.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if same_number(a, b, tolerance) => {}
            _ => return false,
        }
    }
}

fn same_number(printed: &str, expected: &str, tolerance: f64) -> bool {
    let (Some(a), Some(b)) = (Decimal::read(printed), Decimal::read(expected)) else { return false };
    if a == b || tolerance == 0.0 {
        return a == b;
    }
    let (Ok(a), Ok(b)) = (printed.parse::<f64>(), expected.parse::<f64>()) else { return false };
    a.is_finite() && b.is_finite() && (a - b).abs() <= tolerance * b.abs().max(1.0)
}

/// A decimal number as it is, whatever its size: never more digits than were written.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    /// Without zeros at either end; none for zero.
    digits: String,
    /// Power of ten of the last digit.
    exponent: i64,
}

impl Decimal {
    fn read(text: &str) -> Option<Decimal> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            // So far from any other number that none is missed.
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_end_matches('0');
        let exponent = i64::from(exponent) - fraction.len() as i64 + (digits.len() - significant.len()) as i64;
        let significant = significant.trim_start_matches('0');
        let is_zero = significant.is_empty();
        Some(Decimal {
            negative: !is_zero && text.starts_with('-'),
            digits: significant.to_owned(),
            exponent: if is_zero { 0 } else { exponent },
        })
    }
}
