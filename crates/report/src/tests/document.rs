//! The scripts and the style of the page, which are the same for all runs.

use std::collections::BTreeSet;

use super::super::{Refresh, html};

#[test]
fn the_page_never_turns_text_into_markup_and_asks_nobody_for_anything() {
    let page = html(&[], Refresh::Never);
    for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
        assert!(!page.contains(way), "{way}");
    }
    let addresses: BTreeSet<&str> = page.match_indices("http").map(|(at, _)| &page[at..at + 26]).collect();
    // The only matches are the name space of SVG and the attribute `http-equiv`.
    assert!(addresses.iter().all(|one| one.starts_with("http://www.w3.org/2000/svg") || one.starts_with("http-equiv")));
    assert!(page.contains("default-src 'none'"));
}

/// The arguments of a call, from what stands behind its opening parenthesis.
fn arguments(call: &str) -> Vec<&str> {
    let (mut depth, mut begun, mut found) = (0, 0, Vec::new());
    for (at, letter) in call.char_indices() {
        match letter {
            ',' if depth == 0 => {
                found.push(call[begun..at].trim());
                begun = at + 1;
            }
            ')' if depth == 0 => {
                found.push(call[begun..at].trim());
                break;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

#[test]
fn the_page_hands_no_values_of_a_run_to_a_function_as_its_arguments() {
    assert_eq!(arguments("0, ...all.map((one) => [one, 1]), 2); next(3)"), ["0", "...all.map((one) => [one, 1])", "2"]);
    let page = html(&[], Refresh::Never);
    // A browser takes about 125,000 arguments, which a curve of 42,000 steps with both ends of its intervals exceeds.
    let calls =
        ["Math.max(", "Math.min(", ".fromCharCode(", ".push(", ".append(", ".concat(", "canvas.replaceChildren("];
    for call in calls {
        let is_spread = |rest: &&str| arguments(rest).iter().any(|argument| argument.starts_with("..."));
        let behind = page.match_indices(call).map(|(at, _)| &page[at + call.len()..]);
        let found: Vec<&str> = behind.filter(is_spread).filter_map(|rest| rest.lines().next()).collect();
        assert!(found.is_empty(), "{call}{found:?}");
    }
    assert!(!page.contains(".apply("));
}

/// Contrast ratio of two colours, 1 to 21 (WCAG 2.2, relative luminance).
fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| {
        let linear = |at: usize| {
            let share = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(0) + 0.7152 * linear(2) + 0.0722 * linear(4)
    };
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

#[test]
fn text_of_every_colour_can_be_read_in_light_and_dark() {
    assert!((contrast("000000", "ffffff") - 21.0).abs() < 1e-9 && (contrast("767676", "ffffff") - 4.54).abs() < 0.01);
    let style = include_str!("../style.css");
    let schemes: Vec<&str> = style.split(":root {").skip(1).take(2).collect();
    for scheme in &schemes {
        let colour = |name: &str| {
            let (_, rest) = scheme.split_once(&format!("--{name}: #")).unwrap();
            &rest[..6]
        };
        for text in ["ink", "soft", "keyword", "string", "number", "comment", "good", "bad", "s0"] {
            for ground in ["paper", "card"] {
                let found = contrast(colour(text), colour(ground));
                assert!(found >= 4.5, "--{text} on --{ground}: {found:.2}, WCAG AA asks for 4.5");
            }
        }
    }
    // Partly transparent text has less contrast than its colour.
    let thinned: Vec<&str> = style.lines().filter(|line| line.contains("opacity:")).collect();
    assert!(thinned.is_empty(), "{thinned:?}");
}
