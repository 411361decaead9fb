//! Numbers of things in words, shares of them, and texts cut short.

use std::fmt::{self, Display, Write};

/// `1 game`, `2 games`: so many of what one is called `what`.
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A share from 0 to 1 as whole percent. Halves go up, as on the page of a run; 0% is none, and 100% is all.
pub fn percent(share: f64) -> String {
    match (100.0 * share).round() {
        0.0 if share > 0.0 => "<1%".to_owned(),
        100.0 if share < 1.0 => ">99%".to_owned(),
        whole => format!("{whole}%"),
    }
}

/// A number with so many decimals. Halves go away from zero and nothing is less than zero, as on the page of a run: by itself
/// Rust takes the even digit.
pub fn decimal(number: f64, decimals: usize) -> String {
    let unit = 10_f64.powi(decimals as i32);
    let rounded = (number * unit).round() / unit + 0.0;
    format!("{:.decimals$}", if rounded.is_finite() { rounded } else { number })
}

/// `1.250e-5`, if a number is one of which four decimals would leave hardly a digit.
pub fn small(number: f64) -> Option<String> {
    (number != 0.0 && number.abs() < 1e-3).then(|| format!("{number:.3e}"))
}

/// A number with a unit prefix: `950`, `12.3 k`, `1.4 M`, `135 M`.
pub fn prefixed(number: usize) -> String {
    let number = number as f64;
    match number {
        number if number >= 1e8 => format!("{:.0} M", number / 1e6),
        number if number >= 1e6 => format!("{:.1} M", number / 1e6),
        number if number >= 1e3 => format!("{:.1} k", number / 1e3),
        _ => format!("{number}"),
    }
}

/// The first `most` characters of a text, with `...` behind them where it has more.
pub fn cut(text: &str, most: usize) -> String {
    cut_display(&text, most)
}

/// The same of what is displayed as a text, of which no more is written than is kept.
pub fn cut_display(of: &dyn Display, most: usize) -> String {
    let mut head = Head { text: String::new(), room: most };
    if write!(head, "{of}").is_err() {
        head.text += "...";
    }
    head.text
}

/// The beginning of what is written, which ends in an error where there is more.
struct Head {
    text: String,
    /// Characters that may come yet.
    room: usize,
}

impl Write for Head {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = part.char_indices().nth(self.room).map(|(at, _)| at);
        let kept = &part[..end.unwrap_or(part.len())];
        self.room -= kept.chars().count();
        self.text += kept;
        if end.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::{self, Display, Formatter};

    use super::{cut, cut_display, decimal, percent, prefixed};

    #[test]
    fn of_what_is_cut_no_more_is_written_than_is_kept() {
        struct Endless;
        impl Display for Endless {
            fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
                loop {
                    formatter.write_str("äb")?;
                }
            }
        }
        assert_eq!(cut_display(&Endless, 3), "äbä...");
        assert_eq!(["", "ab", "abc", "abcd"].map(|text| cut(text, 3)), ["", "ab", "abc", "abc..."]);
    }

    #[test]
    fn a_number_has_the_prefix_that_leaves_it_digits() {
        assert_eq!([0, 950, 12_345, 1_400_000, 134_515_008].map(prefixed), ["0", "950", "12.3 k", "1.4 M", "135 M"]);
    }

    #[test]
    fn a_few_are_not_none_and_most_are_not_all() {
        let shares = [0.0, 0.004, 0.005, 0.625, 0.994, 0.996, 1.0, 1.004];
        assert_eq!(shares.map(percent), ["0%", "<1%", "1%", "63%", "99%", ">99%", "100%", "100%"]);
    }

    #[test]
    fn halves_go_away_from_zero_whatever_the_digit_before() {
        let numbers =
            [(3140.5, 0), (3141.5, 0), (-2.5, 0), (-0.2, 0), (0.0625, 3), (0.1875, 3), (47.34, 1), (1e300, 0)];
        let found = numbers.map(|(number, decimals)| decimal(number, decimals));
        assert_eq!(found[..7], ["3141", "3142", "-3", "0", "0.063", "0.188", "47.3"]);
        assert_eq!(found[7].parse::<f64>(), Ok(1e300));
        assert_eq!(decimal(f64::MAX, 3).parse::<f64>(), Ok(f64::MAX));
    }
}
