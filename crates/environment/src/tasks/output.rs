//! Compares outputs as the graders of programming contests do.

/// Whether a script printed the expected output: the same number of lines, each with the same text or the same
/// numbers. Space around lines and around the whole output does not count. This is the rule of LiveCodeBench. With a
/// tolerance, numbers are numbers in lines that have words, too: it is for all floats of an output.
pub(super) fn same(printed: &str, expected: &str, tolerance: f64) -> bool {
    first_wrong_line(printed, expected, tolerance).is_none()
}

/// The first line that is not right, with its number, counted from 1 without the blank lines that the output begins with: as
/// it was printed, and as it is expected. One of the two may be missing.
pub(super) fn first_wrong_line<'t>(
    printed: &'t str,
    expected: &'t str,
    tolerance: f64,
) -> Option<(usize, Option<&'t str>, Option<&'t str>)> {
    let (mut printed, mut expected) = (printed.trim().split('\n'), expected.trim().split('\n'));
    let mut line = 0;
    loop {
        line += 1;
        match (printed.next(), expected.next()) {
            (None, None) => return None,
            (Some(a), Some(b)) if a.trim() == b.trim() || same_words(a, b, tolerance) => {}
            (a, b) => return Some((line, a, b)),
        }
    }
}

/// Whether two lines have the same numbers; with a tolerance, the same words and numbers.
fn same_words(printed: &str, expected: &str, tolerance: f64) -> bool {
    let (mut printed, mut expected) = (printed.split_whitespace(), expected.split_whitespace());
    loop {
        match (printed.next(), expected.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if same_number(a, b, tolerance) || tolerance > 0.0 && a == b => {}
            _ => return false,
        }
    }
}

/// Whether two words are the same number. A tolerance is one of floats: two whole numbers are compared exactly, as in
/// what functions return.
fn same_number(printed: &str, expected: &str, tolerance: f64) -> bool {
    let (Some(a), Some(b)) = (Decimal::read(printed), Decimal::read(expected)) else { return false };
    let is_whole = |number: &str| !number.contains(['.', 'e', 'E']);
    if a == b || tolerance == 0.0 || is_whole(printed) && is_whole(expected) {
        return a == b;
    }
    let (Ok(a), Ok(b)) = (printed.parse::<f64>(), expected.parse::<f64>()) else { return false };
    a.is_finite() && b.is_finite() && (a - b).abs() <= tolerance * b.abs().max(1.0)
}

/// An exact decimal number, with no more digits than were written.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    /// Digits without zeros at either end; empty for zero, and a word for infinity.
    digits: String,
    /// Power of ten of the last digit.
    exponent: i64,
}

impl Decimal {
    fn read(text: &str) -> Option<Decimal> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if ["inf", "infinity"].iter().any(|word| unsigned.eq_ignore_ascii_case(word)) {
            return Some(Decimal { negative: text.starts_with('-'), digits: "inf".to_owned(), exponent: 0 });
        }
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            // Larger exponents are not read as numbers; none is near any other number.
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
