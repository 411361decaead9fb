//! The page: a fixed document with the runs as JSON inside.

use serde::Serialize;

use super::RunView;
use crate::metrics::{is_hidden, visible};

const DOCUMENT: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPTS: [&str; 7] = [
    include_str!("elements.js"),
    include_str!("charts.js"),
    include_str!("player.js"),
    include_str!("sections.js"),
    include_str!("attempts.js"),
    include_str!("browse.js"),
    include_str!("page.js"),
];

/// Whether the page asks for more while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// A file: what it holds is all there is.
    Never,
    /// Served: asks `runs.json` beside it every few seconds.
    Follow,
}

#[derive(Serialize)]
struct Contents<'a> {
    format: u32,
    version: &'a str,
    follow: bool,
    runs: &'a [RunView],
}

/// The whole page.
pub fn html(runs: &[RunView], refresh: Refresh) -> String {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    // One pass over the document: what is put in is never searched for places again.
    let mut page = String::new();
    for part in DOCUMENT.split("@@") {
        match part {
            "TITLE" => page.push_str(&markup_escaped(&names.join(", "))),
            "STYLE" => page.push_str(STYLE),
            "SCRIPT" => SCRIPTS.iter().for_each(|script| page.push_str(script)),
            "RUNS" => page.push_str(&json(runs, refresh)),
            fixed => page.push_str(fixed),
        }
    }
    page
}

/// The runs as JSON that may stand inside a script element: `<`, `>` and `&` are written as escapes, so no text of a
/// program can end the element or begin another.
pub fn json(runs: &[RunView], refresh: Refresh) -> String {
    let contents = Contents { format: 1, version: env!("CARGO_PKG_VERSION"), follow: refresh == Refresh::Follow, runs };
    let text = serde_json::to_string(&contents).expect("string keys and finite numbers");
    let mut escaped = String::with_capacity(text.len() + text.len() / 16);
    for letter in text.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            // What would make a program look like another one is shown; serde_json has escaped the rest.
            letter if is_hidden(letter) => escaped.push_str(&format!("\\{}", letter.escape_default())),
            letter => escaped.push(letter),
        }
    }
    escaped
}

fn markup_escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
