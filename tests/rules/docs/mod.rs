//! Tests that everything named in the documents exists: files, settings, flags, commands, metrics, functions and the
//! targets of links; and that the commands in them work.

mod blocks;
mod help;
mod markdown;
mod names;
mod running;
mod transcripts;
mod tree;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use grpo_2048::config::{self, DEFAULT_TOML};
use toml::Table;

use crate::{assert_none, read};
use markdown::{Document, Piece};
use names::NAMES;
use tree::TREE;

/// How many invariants the program has.
const INVARIANTS: usize = 14;

/// The documents that describe the present program. The changelog describes the past, and prompts are texts for models.
static DOCUMENTS: LazyLock<Vec<Document>> = LazyLock::new(|| {
    let all = TREE.files().filter(|path| path.ends_with(".md"));
    let ours = all.filter(|path| *path != "CHANGELOG.md" && !path.starts_with("prompts/"));
    ours.map(Document::read).collect()
});

/// What `check` finds wrong with pieces of a document.
fn refused(document: &Document, pieces: &[Piece], check: impl Fn(&str) -> Result<(), String>) -> Vec<String> {
    let wrong = pieces.iter().filter_map(|piece| Some((piece, check(&piece.text).err()?)));
    wrong.map(|(piece, why)| format!("{}:{}: `{}`: {why}", document.path, piece.line, piece.text)).collect()
}

#[test]
fn what_code_spans_name_exists() {
    let of = |document: &Document| refused(document, &document.spans, |span| NAMES.look_up(span, &document.path));
    assert_none(DOCUMENTS.iter().flat_map(of).collect());
}

#[test]
fn commands_in_blocks_are_taken() {
    let of = |document: &Document| refused(document, &document.commands(), |line| NAMES.command(line, false));
    assert_none(DOCUMENTS.iter().flat_map(of).collect());
}

/// Every `key = value` in docs/algorithm.md is a default, and all sections about the algorithm are documented.
#[test]
fn the_algorithm_has_every_default() {
    let defaults: Table = DEFAULT_TOML.parse().unwrap();
    let document = Document::read("docs/algorithm.md");
    let mut wrong = Vec::new();
    let mut told = BTreeSet::new();
    for span in &document.spans {
        let Some((key, value)) = span.text.split_once(" = ") else { continue };
        let Some((section, name)) = key.split_once('.') else { continue };
        let written: Table = format!("value = {value}").parse().unwrap();
        if defaults[section].get(name) != Some(&written["value"]) {
            wrong.push(format!("docs/algorithm.md:{}: `{}` is not the default", span.line, span.text));
        }
        told.insert(key.to_owned());
    }
    let sections = ["rollout.", "reward.", "grpo."];
    let keys = config::keys().into_iter().filter(|key| sections.iter().any(|section| key.starts_with(section)));
    wrong.extend(keys.filter(|key| !told.contains(key)).map(|key| format!("docs/algorithm.md: {key} is missing")));
    assert_none(wrong);
}

/// The table of invariants in docs/algorithm.md names all tests that begin with an invariant's number, and at least one of
/// each.
#[test]
fn every_invariant_has_a_test_with_its_number() {
    let text = read("docs/algorithm.md");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| I")).collect();
    assert_eq!(rows.len(), INVARIANTS);
    let mut wrong = Vec::new();
    for (number, row) in (1..).zip(rows) {
        let told: BTreeSet<&str> = row.split('`').skip(1).step_by(2).collect();
        let written = NAMES.items().filter(|name| name.starts_with(&format!("i{number}_"))).collect();
        if !row.starts_with(&format!("| I{number} ")) || told.is_empty() || told != written {
            wrong.push(format!("I{number}: the table names {told:?}, the tests are {written:?}"));
        }
    }
    assert_none(wrong);
}

#[test]
fn links_lead_somewhere() {
    let changelog = Document::read("CHANGELOG.md");
    let of = |document: &Document| refused(document, &document.links, |link| follow(link, document));
    assert_none(DOCUMENTS.iter().chain([&changelog]).flat_map(of).collect());
}

/// The first page of the library says which function of which type comes after which.
#[test]
fn functions_that_the_map_of_the_library_names_are_those_of_their_types() {
    let map = read("src/lib.rs");
    let sources: Vec<String> = TREE.files().filter(|path| path.ends_with(".rs")).map(read).collect();
    let lines = map.lines().filter(|line| line.starts_with("//!"));
    let words = lines.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || "_:".contains(c))));
    let paths = words.filter_map(|word| word.trim_end_matches(':').rsplit_once("::"));
    let functions: BTreeSet<(&str, &str)> = paths
        .map(|(path, item)| (path.rsplit("::").next().unwrap(), item))
        .filter(|(of, item)| of.starts_with(char::is_uppercase) && item.starts_with(char::is_lowercase))
        .collect();
    assert!(functions.len() >= 15, "{functions:?}");
    let is_there = |(of, item): &(&str, &str)| {
        sources.iter().any(|source| {
            let mut heads = source.lines().filter(|line| line.starts_with("impl"));
            heads.any(|line| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == *of))
                && ["(", "<"].iter().any(|next| source.contains(&format!("fn {item}{next}")))
        })
    };
    let missing = functions.iter().filter(|&function| !is_there(function));
    assert_none(missing.map(|(of, item)| format!("src/lib.rs: {of} has no {item}")).collect());
}

/// A document that no page leads to is found by nobody, and `make site` refuses it.
#[test]
fn every_document_is_in_the_table_of_the_readme_and_on_the_site() {
    let site = read("scripts/site.py");
    let readme = read("README.md");
    let table = readme.split("## Where to read on").nth(1).unwrap().split("## ").next().unwrap();
    let mut wrong = Vec::new();
    for path in TREE.files().filter(|path| path.starts_with("docs/") && path.ends_with(".md")) {
        let places = [
            ("scripts/site.py", site.contains(&format!("\"{path}\""))),
            ("README.md", table.contains(&format!("({path})"))),
        ];
        wrong.extend(places.iter().filter(|(_, has)| !has).map(|(place, _)| format!("{path}: not in {place}")));
    }
    assert_none(wrong);
}

/// Checks a link to a file of the repository and to a heading in it.
fn follow(link: &str, from: &Document) -> Result<(), String> {
    if link.starts_with("https://") {
        return Ok(());
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { from.path.clone() } else { tree::join(&from.path, file) };
    if !TREE.has(&path) {
        return Err(format!("no {path}"));
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let headings = Document::read(&path).anchors;
    if headings.iter().any(|heading| heading == anchor) { Ok(()) } else { Err(format!("{path} has only {headings:?}")) }
}

/// The tests above are meaningful only if their look-ups can fail.
#[test]
fn what_does_not_exist_is_found() {
    let unknown = [
        "train.resample_tied", "grpo.beta = many", "tests/gpu.rs", "src/nowhere/*.rs", "nowhere.rs", "no-such-folder/",
        "--no-such-flag", "train --no-such-flag", "grpo-2048 trian", "make nothing", "game/mean_scores",
        "grpo::clipped_surrogat", "Session::no_such_call", "no_test_has_a_name_like_this", "[grpoo]",
        "GRPO_2048_NOTHING",
    ];
    for span in unknown {
        assert!(NAMES.look_up(span, "docs/faq.md").is_err(), "`{span}` passes");
    }
    let page = Document::parse("docs/faq.md", "# One thing\n\n[a](#one-thing) [b](#another) [c](nowhere.md)\n");
    let followed: Vec<bool> = page.links.iter().map(|link| follow(&link.text, &page).is_ok()).collect();
    // The first heading is searched in the file, which does not have it.
    assert_eq!(followed, [false, false, false]);
    assert_eq!(page.anchors, ["one-thing"]);
}
