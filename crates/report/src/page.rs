//! The page: a fixed document that contains the runs as JSON.

use serde::Serialize;

use super::RunView;
use crate::metrics::in_page;
use crate::metrics::visible;

const DOCUMENT: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPTS: [&str; 8] = [
    include_str!("elements.js"),
    include_str!("charts.js"),
    include_str!("player.js"),
    include_str!("sections.js"),
    include_str!("attempts.js"),
    include_str!("browse.js"),
    include_str!("groups.js"),
    include_str!("page.js"),
];

/// Whether the page reloads its runs while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// Never, in a file.
    Never,
    /// Every few seconds, from `runs.json` of the server.
    Follow,
}

#[derive(Serialize)]
struct Contents<'a> {
    /// Version of this JSON.
    format: u32,
    version: &'a str,
    follow: bool,
    runs: &'a [RunView],
}

/// The whole page.
pub fn html(runs: &[RunView], refresh: Refresh) -> String {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    // Only the fixed document is searched for place holders, and not the text that is inserted.
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

/// The runs as JSON for a script element: `<`, `>` and `&` are escaped, so no text of a program can end the element or
/// begin another.
pub fn json(runs: &[RunView], refresh: Refresh) -> String {
    let contents = Contents { format: 1, version: env!("CARGO_PKG_VERSION"), follow: refresh == Refresh::Follow, runs };
    in_page(&serde_json::to_string(&contents).expect("string keys and finite numbers"))
}

fn markup_escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
